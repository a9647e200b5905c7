"""The pictures of the book: an audit of the small GPT, a trace, and a tensor as a notebook shows it.

`python examples/pictures.py --folder book/src/images` writes them. They are SVG, made by the library
itself; the tensor's is its HTML within an SVG, which browsers show.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gpt
import precision

import allotrope as al
from allotrope.inspection.findings import Audit
from allotrope.nn import functional as F


def audit_of_gpt(steps: int, sizes: gpt.Sizes = gpt.Sizes(layers=2)) -> Audit:
    """What float16 makes of a GPT that was trained for so many steps, and of its gradients."""
    model, text, _ = gpt.train(precision.of_all(), steps, sizes=sizes)
    tokens, following = text.batch(8, sizes.context)

    def loss(logits: al.Tensor) -> al.Tensor:
        return F.cross_entropy(logits.flatten(0, 1), following.flatten())

    return al.audit(model, tokens, to=al.float16, loss=loss)


def trace_of_attention() -> al.trace_dtypes:
    """Attention under autocast, with a mask and a scale of other dtypes."""
    x = al.randn(4, 16)
    weight = al.randn(48, 16)
    with al.trace_dtypes() as trace, al.autocast("cpu", al.bfloat16):
        q, k, v = F.linear(x, weight).chunk(3, -1)
        scores = (q @ k.T) / 4
        scores = scores + al.arange(4, dtype=al.int8)
        hidden = al.ones(4, 4).triu(1) > 0
        weights = F.softmax(scores.masked_fill(hidden, -al.inf), -1)
        (weights @ v).to(al.float8_e4m3fn)
    return trace


def tensor() -> al.Tensor:
    """A matrix with structure, and with a few numbers that are none."""
    rows, columns = al.linspace(-3, 3, 64)[:, None], al.linspace(-3, 3, 96)
    x = (al.exp(-(rows**2 + columns**2) / 3) * al.cos(3 * columns)).to(al.bfloat16)
    x[40, 70] = al.nan
    x[8:12, 10] = al.inf
    return x


def html_as_svg(page: str, width: int, height: int) -> str:
    """A page as a picture that browsers show."""
    # Within a page of XML a drawing has to say what it is.
    page = page.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
        f'<foreignObject width="{width}" height="{height}">'
        f'<div xmlns="http://www.w3.org/1999/xhtml" style="padding:10px;color:#24292f">{page}</div>'
        "</foreignObject></svg>\n"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--folder", type=Path, default=Path("target/pictures"))
    arguments.add_argument("--steps", type=int, default=100)
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    al.manual_seed(0)
    trace_of_attention().save(given.folder / "trace.svg")
    (given.folder / "tensor.svg").write_text(html_as_svg(tensor()._repr_html_(), 640, 300))
    report = audit_of_gpt(given.steps)
    report.save(given.folder / "audit.svg")
    print(report)
    print(f"\nThe pictures are in {given.folder}.")


if __name__ == "__main__":
    main()
