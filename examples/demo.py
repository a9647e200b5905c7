"""One network, trained in six precisions: `make demo`.

Each setting is a plan that differs in one line. The last line of the table is what the options are for: the
same bfloat16 weights without them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import curves
import digits
from precision import of_all

import allotrope as al

SETTINGS = {
    "float64": of_all("float64"),
    "float32": of_all("float32"),
    "bfloat16 autocast": of_all("float32", compute="bfloat16"),
    "float16 + GradScaler": of_all("float32", compute="float16"),
    "bfloat16, stochastic": of_all("bfloat16", state="float32", rounding="stochastic"),
    "float8, masters": of_all("float8_e4m3fn", compute="float32", master="float32"),
    "bfloat16, nothing else": of_all("bfloat16", state="bfloat16"),
}
HEADER = ("setting", "weights", "accuracy", "loss", "ms/epoch", "weights, KB", "optimizer, KB")


def table(runs: dict[str, digits.Run]) -> str:
    """What became of every setting."""
    rows: list[tuple[str, ...]] = [HEADER]
    for name, run in runs.items():
        rows.append(
            (
                name,
                str(SETTINGS[name].of("")["store"]),
                f"{run.accuracies[-1]:.2%}",
                f"{run.losses[-1]:.5f}",
                f"{run.seconds_per_epoch * 1e3:.0f}",
                f"{run.weight_bytes / 1e3:.0f}",
                f"{run.optimizer_bytes / 1e3:.0f}",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    lines = []
    for row in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(row[:2], widths[:2]))
        right = "  ".join(cell.rjust(width) for cell, width in zip(row[2:], widths[2:]))
        lines.append(f"{left}  {right}")
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=44 * 40)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--picture", type=Path, default=Path("target/demo.svg"))
    given = arguments.parse_args()

    settings = {name: al.plan({"*": {**plan["*"], "device": given.device}}) for name, plan in SETTINGS.items()}
    print("1,437 handwritten digits, a network of 51,000 weights, AdamW; 360 other digits are the test.\n")
    runs = {name: digits.train(plan, given.steps, title=name) for name, plan in settings.items()}
    print(f"\n{table(runs)}")
    curves.draw(
        given.picture,
        {name: run.losses for name, run in runs.items()},
        "Training loss in seven precisions",
        "epoch",
        "loss",
        logarithmic=True,
    )
    print(f"\nThe curves are in {given.picture}.")


if __name__ == "__main__":
    main()
