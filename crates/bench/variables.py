"""Views and writes: what they cost beside NumPy's and torch's, where that is installed.

Each figure is how many times as fast we are as the peer, from the best of several rounds in which
all take turns. `python crates/bench/variables.py [elements of a large tensor]`
"""

import os
import sys
import timeit

import numpy as np

import allotrope as al

try:
    import torch

    torch.set_num_threads(os.cpu_count() or 1)
except ImportError:
    torch = None

ROUNDS = 7
LARGE = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24

# What is timed, whether the tensor is large, and whether NumPy spells it so.
LINES = [
    ("x[3]", False, True),
    ("x[2:5]", False, True),
    ("m.T", False, True),
    ("m[1]", False, True),
    ("m.reshape(-1)", False, True),
    ("x + x", False, True),
    ("row + row", False, True),
    ("x += 1.0", False, True),
    ("x[3] = 1.0", False, True),
    ("m[1, 1] = 3.0", False, True),
    ("row.fill_(1.0)", False, False),
    ("m.T.copy_(m)", False, False),
    ("x.add_(x, alpha=0.5)", False, False),
    ("x += 1.0", True, True),
    ("x *= x", True, True),
    ("x.sqrt_()", True, False),
    ("x.clamp_(0.0, 1.0)", True, False),
    ("x[::2] += 1.0", True, True),
    ("x[5:].copy_(x[:-5])", True, False),
]


def best(line, names, large):
    """Seconds of a line."""
    timer = timeit.Timer(line, setup="global x, m, row", globals=names)
    number = 1 if large else 20_000
    return min(timer.repeat(3, number)) / number


def objects(library, large):
    count = LARGE if large else 16
    x = library.ones(count, dtype=library.float32)
    m = library.ones((4, 4), dtype=library.float32)
    return {"x": x, "m": m, "row": m[1]}


def main():
    libraries = {"us": al, "numpy": np} | ({"torch": torch} if torch else {})
    print(f"{'':24}{'elements':>10}{'us':>12}" + "".join(f"{name:>8}" for name in [*libraries][1:]))
    for line, large, in_numpy in LINES:
        used = {name: objects(lib, large) for name, lib in libraries.items() if in_numpy or name != "numpy"}
        times = dict.fromkeys(used, float("inf"))
        for _ in range(ROUNDS):
            for name, names in used.items():
                times[name] = min(times[name], best(line, names, large))
        ratios = [f"{times[name] / times['us']:8.2f}" if name in times else f"{'':8}" for name in [*libraries][1:]]
        print(f"{line:24}{LARGE if large else 16:>10}{times['us'] * 1e6:>10.2f}us" + "".join(ratios))


if __name__ == "__main__":
    main()
