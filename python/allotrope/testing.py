"""Comparisons for tests, with torch's names: tensors that should be close, and tensors to try.

Tolerances follow the dtype; what differs is told element by element, in units in the last place.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core

__all__ = ["assert_close", "make_tensor"]

Tensor = _core.Tensor

# How many elements are told of.
_SHOWN = 5

# torch's relative and absolute tolerances; of other floats, one unit of 1 and torch's absolute one.
_TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Raise an AssertionError unless both have the same shape, dtype, device and close values.

    Values are close if `abs(actual - expected) <= atol + rtol * abs(expected)`, computed in float64.
    Without tolerances these are torch's for the wider of the two dtypes, and nothing for integers and
    bool, which are compared exactly. Numbers, arrays and lists of numbers are taken as tensors;
    sequences and mappings of tensors are compared member by member. `msg` is a text, or a function of
    the text that would have been.

    >>> al.testing.assert_close(al.tensor([1.0, 2.0]), al.tensor([1.0, 2.0 + 1e-7]))
    >>> al.testing.assert_close(al.tensor([1, 2]), al.tensor([1, 3]))
    Traceback (most recent call last):
    AssertionError: 1 of 2 elements differ (50.0 %)
    greatest absolute difference: 1 at (1,), 0 allowed
    at (1,): 2 instead of 3
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: one tolerance alone; both rtol and atol, or none, are accepted")
    rules = _Rules(rtol, atol, equal_nan, check_device, check_dtype, check_stride)
    what = _difference(actual, expected, rules, "")
    if what is None:
        return
    if msg is not None:
        what = msg(what) if callable(msg) else str(msg)
    raise AssertionError(what)


class _Rules:
    """What counts as a difference."""

    def __init__(
        self, rtol: float | None, atol: float | None, equal_nan: bool, device: bool, dtype: bool, stride: bool
    ) -> None:
        self.given = None if rtol is None or atol is None else (float(rtol), float(atol))
        self.equal_nan = equal_nan
        self.device = device
        self.dtype = dtype
        self.stride = stride

    def tolerances(self, first: _core.dtype, second: _core.dtype) -> tuple[float, float]:
        if self.given is not None:
            return self.given
        both = [_tolerance(first), _tolerance(second)]
        return max(rtol for rtol, _ in both), max(atol for _, atol in both)


def _tolerance(dtype: _core.dtype) -> tuple[float, float]:
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0, 0.0
    real = dtype.to_real()
    return _TOLERANCES.get(real.name) or (float(_core.finfo(real).eps), 1e-5)


def _is_container(value: Any) -> bool:
    """Whether members are compared one by one: sequences of anything but numbers."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return False
    return not all(isinstance(x, (bool, int, float, complex)) for x in value) or len(value) == 0


def _difference(actual: Any, expected: Any, rules: _Rules, where: str) -> str | None:
    """What differs, in words; nothing if nothing does."""
    prefix = f"{where}: " if where else ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing = sorted(map(repr, expected.keys() - actual.keys()))
            more = sorted(map(repr, actual.keys() - expected.keys()))
            return f"{prefix}keys differ: missing {', '.join(missing) or 'none'}; unexpected {', '.join(more) or 'none'}"
        members = [(f"{where}[{key!r}]", actual[key], expected[key]) for key in expected]
    elif _is_container(actual) and _is_container(expected):
        if len(actual) != len(expected):
            return f"{prefix}lengths differ: {len(actual)} instead of {len(expected)}"
        members = [(f"{where}[{i}]", *pair) for i, pair in enumerate(zip(actual, expected))]
    elif actual is None or expected is None or isinstance(actual, (str, bytes)):
        same = actual is expected or (isinstance(actual, (str, bytes)) and actual == expected)
        return None if same else f"{prefix}{actual!r} instead of {expected!r}"
    else:
        found = _tensor_difference(_as_tensor(actual), _as_tensor(expected), rules)
        return found and prefix + found
    for place, one, other in members:
        found = _difference(one, other, rules, place)
        if found is not None:
            return found
    return None


def _as_tensor(value: Any) -> Tensor:
    return value.detach() if isinstance(value, Tensor) else _core.as_tensor(value)


def _tensor_difference(actual: Tensor, expected: Tensor, rules: _Rules) -> str | None:
    if actual.shape != expected.shape:
        return f"shapes differ: {list(actual.shape)} instead of {list(expected.shape)}"
    if rules.dtype and actual.dtype != expected.dtype:
        return f"dtypes differ: {actual.dtype.name} instead of {expected.dtype.name} (hint: check_dtype=False)"
    if rules.device and actual.device != expected.device:
        return f"devices differ: {actual.device} instead of {expected.device} (hint: check_device=False)"
    if rules.stride and actual.stride() != expected.stride():
        return f"strides differ: {actual.stride()} instead of {expected.stride()}"
    dtypes = actual.dtype, expected.dtype
    rtol, atol = rules.tolerances(*dtypes)
    actual, expected = actual.cpu(), expected.cpu()
    is_exact = not any(d.is_floating_point or d.is_complex for d in dtypes) and rtol == atol == 0
    if is_exact:
        # Comparisons are exact across dtypes.
        differs = actual != expected
    else:
        wide = _core.complex128 if any(d.is_complex for d in dtypes) else _core.float64
        differs = ~_core.isclose(actual.to(wide), expected.to(wide), rtol, atol, rules.equal_nan)
    return _report(actual, expected, differs, rtol, atol) if bool(differs.any()) else None


def _report(actual: Tensor, expected: Tensor, differs: Tensor, rtol: float, atol: float) -> str:
    places = differs.nonzero()
    count, total = len(places), actual.numel()
    lines = [f"{count} of {total} elements differ ({100 * count / total:.1f} %)"]
    wide = _core.complex128 if actual.dtype.is_complex or expected.dtype.is_complex else _core.float64
    size = expected[differs].to(wide).abs()
    error = (actual[differs].to(wide) - expected[differs].to(wide)).abs()
    for name, values, allowed in (("absolute", error, atol), ("relative", error / size, rtol)):
        values = values.where(values.isfinite(), -1.0)
        most, worst = values.max().item(), values.argmax()
        if most > 0 and (allowed > 0 or name == "absolute"):
            lines.append(f"greatest {name} difference: {most:g} at {_place(places[worst])}, {allowed:g} allowed")
    for place in map(_place, places[:_SHOWN]):
        got, want = actual[place].item(), expected[place].item()
        units = _units(got, want, expected.dtype)
        behind = "" if units is None else f", {units:.3g} units in the last place"
        lines.append(f"at {place}: {got!r} instead of {want!r}{behind}")
    if count > _SHOWN:
        lines.append(f"and {count - _SHOWN} more")
    return "\n".join(lines)


def _place(index: Tensor) -> tuple[int, ...]:
    return tuple(index.tolist())


def _units(actual: Any, expected: Any, dtype: _core.dtype) -> float | None:
    """How many units in the last place of the expected float lie between the two."""
    if not dtype.is_floating_point or not (math.isfinite(actual) and math.isfinite(expected)):
        return None
    info = _core.finfo(dtype)
    least = math.frexp(float(info.smallest_normal))[1]
    exponent = max(math.frexp(expected)[1], least)
    return float(abs(actual - expected)) / math.ldexp(float(info.eps), exponent - 1)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
) -> Tensor:
    """A tensor of random numbers to test with, of any dtype.

    Numbers lie between `low` and below `high`: by default -9 and 9 for floats and the parts of complex
    numbers, -9 and 10 for integers, from 0 on for unsigned ones and bool, and never beyond what the
    dtype holds. `noncontiguous` gives every second element of a longer tensor, `exclude_zero` the
    smallest normal number, or one, in the place of zeros.

    >>> x = al.testing.make_tensor(2, 3, dtype=al.int8, low=0, high=4)
    >>> x.shape, x.dtype, bool((x < 4).all())
    ((2, 3), allotrope.int8, True)
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    kind = _core.dtype(dtype)
    is_float = kind.is_floating_point or kind.is_complex
    info = _core.finfo(kind.to_real()) if is_float else None if kind == _core.bool else _core.iinfo(kind)
    smallest, largest = (0, 2) if info is None else (info.min, info.max)
    if low is None:
        low = -9 if is_float or kind.is_signed else 0
    if high is None:
        high = 9 if is_float else 2 if kind == _core.bool else 10
    # The upper bound of integers is itself no result.
    low, high = max(low, smallest), min(high, largest + (0 if is_float or info is None else 1))
    if not low < high:
        raise ValueError(f"make_tensor: no numbers between the bounds: {low} and {high}")
    if noncontiguous and shape:
        shape = (*shape[:-1], 2 * shape[-1])
    if is_float:
        from . import random

        x = random.uniform(low, high, shape, dtype=kind, device=device)
    else:
        x = _core.randint(int(low), int(high), shape, dtype=kind, device=device)
    if exclude_zero:
        one = info.smallest_normal if isinstance(info, _core.finfo) else info is None or 1
        x = x.masked_fill(x == 0, one)
    if noncontiguous and shape:
        x = x[..., ::2]
    return x.requires_grad_(True) if requires_grad else x
