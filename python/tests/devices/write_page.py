"""Writes book/src/gpu.md: how far a GPU's results are from the CPU's, and how it comes to them.

    ALLOTROPE_GPU=software python python/tests/devices/write_page.py

Operands are drawn from the domains in book/src/accuracy.md; structured operations make the calls of
`structured/cells`.
"""

import re
import sys
from pathlib import Path

import numpy as np

import allotrope as al

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(ROOT / "python/tests/structured"))
import test_every_operation as every  # noqa: E402

COUNT = 4096
DTYPES = ["float32", "float64", "bfloat16", "float16"]
OTHER_FORMS = {
    "trunc_divide": lambda x, y: al.div(x, y, rounding_mode="trunc"),
    "gelu_tanh": lambda x: al.nn.functional.gelu(x, approximate="tanh"),
    "log_sigmoid": lambda x: al.nn.functional.logsigmoid(x),
}
HEAD = """# The GPU

```python,gpu
import allotrope as al

al.gpu.is_available(), al.gpu.get_device_name()
print(al.devices())  # what is native, emulated or demoted there, and what its arithmetic is like
x = al.randn(64, 64, device="gpu")  # or x.to("gpu"), model.to("gpu"), dataset.to("gpu")
with al.autocast("gpu", al.bfloat16):
    y = (x @ x).softmax(-1)
al.gpu.memory_allocated(), al.gpu.synchronize()
```

`"gpu"`, `"gpu:1"` are devices of any maker, through Vulkan, Metal and DX12. In Rust they are there with the
feature `gpu`, after `allotrope::gpu::register()`. An exact dtype stays what it is where a device stores
narrower; a tensor of a family takes the device's best width ([the contract](semantics.md)).

| variable | what it does |
|---|---|
| `ALLOTROPE_GPU=software` | drivers that compute on the CPU, such as Mesa's, count as devices |
| `ALLOTROPE_GPU_FEATURES=portable` | no optional feature is used: float64 is demoted, int64 emulated |
| `ALLOTROPE_GPU_LEVEL=portable` or `strict` | by what means arithmetic is kept as it is written |
| `ALLOTROPE_GPU_MEMORY` | the bytes that tensors may take |

## Measured
What a GPU's results are like beside the CPU's, measured on {name} ({kind}, {backend}; {driver}).
Dtypes of results are always the same. Integers, comparisons, casts, movement and random draws are the
same bit for bit. This page is written by `python/tests/devices/write_page.py`, on the device it finds.

## Elementwise functions of floats
The greatest difference of {count} results in units in the last place of the CPU's; `=` where all are the
same. Both are within the bound of [the page of accuracy](accuracy.md) of the exact result.

"""
STRUCTURED = """
## Structured operations
How each comes to its result on this device, for the calls that the tests make: *native*, by a kernel of
its own; *composed*, of other operations there; *hosted*, on the CPU, which is reported once. The
difference is in units of the last place of the largest element.

"""


def domains():
    """The domain of each operand, by function."""
    for line in (ROOT / "book/src/accuracy.md").read_text().splitlines():
        found = re.match(r"\| `(\w+)` \| ([^|]+) \|", line)
        if found:
            parts = [part.split(" to ") for part in found[2].strip().split(", ")]
            yield found[1], [(float(low), float(high)) for low, high in parts]


def function(name):
    for place in (al, al.nn.functional, al.special):
        if name in OTHER_FORMS:
            return OTHER_FORMS[name]
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(name)


def distance(here, there):
    """The greatest difference in units in the last place."""
    assert here.dtype == there.dtype and here.shape == there.shape
    there = there.detach().cpu()
    if not (here.dtype.is_floating_point or here.dtype.is_complex):
        return 0.0 if al.equal(here, there) else float("inf")
    real = here.dtype.to_real()
    wide = [np.asarray(x.to(al.complex128).numpy()).ravel() for x in (here, there)]
    a, b = (np.concatenate([x.real, x.imag]) for x in wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    info = al.finfo(real)
    size = np.maximum(np.abs(np.where(np.isfinite(a), a, 0)), float(info.tiny))
    unit = np.exp2(np.floor(np.log2(size))) * float(info.eps)
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(a - b) / unit)
    return float(off.max()) if off.size else 0.0


def operands(bounds, dtype):
    g = al.Generator().manual_seed(1)
    for low, high in bounds:
        yield al.uniform(low, high, (COUNT,), generator=g).to(dtype)


def elementwise(name, bounds, dtype):
    call, given = function(name), list(operands(bounds, dtype))
    try:
        here = call(*given)
    except (TypeError, ValueError):
        # Parameters are numbers.
        given = [given[0], *(float(x[0].item()) for x in given[1:])]
        here = call(*given)
    there = call(*(x.to("gpu") if isinstance(x, al.Tensor) else x for x in given))
    return distance(here, there)


class Patch:
    """What tests have as `monkeypatch`."""

    def __init__(self):
        self.kept = []

    def setattr(self, place, name, value):
        self.kept.append((place, name, getattr(place, name)))
        setattr(place, name, value)

    def undo(self):
        for place, name, value in reversed(self.kept):
            setattr(place, name, value)


def structured(name):
    """The greatest difference beside the largest element, for float32 or the first dtype that has it."""
    for dtype in ("float32", "complex64", "int64"):
        here = every.call(name, dtype)
        if isinstance(here, Exception):
            continue
        patch = Patch()
        every.on("gpu", patch)
        try:
            there = every.call(name, dtype)
        finally:
            patch.undo()
        if isinstance(there, Exception):
            raise there
        return max((beside_largest(*pair) for pair in zip(here, there)), default=0.0)
    return 0.0


def beside_largest(here, there):
    here, there = here.detach(), there.detach().cpu()
    if not (here.dtype.is_floating_point or here.dtype.is_complex):
        return 0.0 if al.equal(here, there) else float("inf")
    eps = float(al.finfo(here.dtype.to_real() if here.dtype.is_complex else here.dtype).eps)
    a, b = (np.asarray(x.to(al.complex128).numpy()).ravel() for x in (here, there))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    largest = max(1e-30, float(np.abs(np.where(np.isfinite(a), a, 0)).max(initial=0)))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(a - b) / (eps * largest))
    return float(off.max(initial=0))


def shown(value):
    return "=" if value == 0 else f"{value:.1f}"


def main():
    found = al.gpu.get_device_properties()
    dtypes = [dtype for dtype in DTYPES if al.supports(dtype, "gpu") != "demoted"]
    text = HEAD.format(**found._asdict(), count=f"{COUNT:,}")
    text += f"| function | {' | '.join(dtypes)} |\n|---|{'---|' * len(dtypes)}\n"
    with al.fallback("silent"), al.demotion("silent"):
        for name, bounds in domains():
            cells = []
            for dtype in dtypes:
                try:
                    cells.append(shown(elementwise(name, bounds, dtype)))
                except TypeError:
                    cells.append("")
            text += f"| `{name}` | {' | '.join(cells)} |\n"
        text += STRUCTURED + "| operation | how | difference |\n|---|---|---|\n"
        differences = {name: structured(name) for name in every.NAMES}
    ways = al.support(device="gpu")
    for name in every.NAMES:
        # What is made of primitives alone was never offered as a task.
        way = ways[name] if ways[name] != "unknown" else "composed"
        text += f"| `{name}` | {way} | {shown(differences[name])} |\n"
    counts = {way: sum(1 for name in every.NAMES if ways[name] == way) for way in ("native", "hosted")}
    print(f"{len(every.NAMES)} structured operations: {counts}")
    (ROOT / "book/src/gpu.md").write_text(text)


if __name__ == "__main__":
    main()
