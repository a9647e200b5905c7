"""Writes book/src/primitives.md: how a device that has primitives alone comes to every result.

    ALLOTROPE_TEST_DEVICE=1 python python/tests/devices/write_ways.py [--check]

The device is the second one of the tests. `test_ways.py` holds the page to what it does.
"""

import importlib
import sys
from pathlib import Path

import allotrope as al
from allotrope import _core, _probes

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "book/src/primitives.md"
DEVICE = "apart"
FAMILIES = {
    "matrix": "Products of matrices",
    "neural": "Softmax, norms, losses, attention",
    "convolution": "Convolution, pooling, interpolation",
    "movement": "Movement",
    "indexing": "Indices and masks",
    "order": "Order",
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
}
HEAD = """# A device with primitives alone

What a new device does with the {count} structured operations before it has a kernel for any of them:
{composed} are *composed* of its primitives there, {hosted} are *hosted* on the CPU, which is reported.
Elementwise operations, casts, reductions and scans are primitives, which every device has. Constants,
intermediates and gradients are on the device wherever an operation is not hosted, but for a few tables
and numbers: `python/tests/devices/test_transfers.py` counts them, and says why.

A kernel is a matter of speed. With one an operation is *native*, as many are on [the GPU](gpu.md);
`al.support(device=)` says it of any device. This page is written by
`python/tests/devices/write_ways.py`, from what the second device of the tests does.

| family | composed | hosted |
|---|---|---|
"""


def listed(names):
    return ", ".join(f"`{name}`" for name in names) or "none"


def page():
    names = _core._structured_operations()
    ways = al.support(device=DEVICE)
    text, seen = "", []
    for family in sorted(_probes._FAMILIES, key=list(FAMILIES).index):
        calls = importlib.import_module(f"allotrope._probes.{family}").CALLS
        own = [name for name in names if name in calls]
        seen += own
        both = [listed(name for name in own if ways[name] == way) for way in ("composed", "hosted")]
        text += f"| {FAMILIES[family]} | {both[0]} | {both[1]} |\n"
    assert sorted(seen) == sorted(names)
    counts = {way: sum(ways[name] == way for name in names) for way in ("composed", "hosted")}
    assert sum(counts.values()) == len(names), "a device of primitives has no kernels"
    return HEAD.format(count=len(names), **counts) + text


def main():
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit(f"{PAGE.name} is not what {DEVICE} does: python python/tests/devices/write_ways.py writes it")


if __name__ == "__main__":
    main()
