"""How elementwise operations are tested: what a row says, values of every dtype, and distances.

The rows themselves are in `elementwise_rows.py`.
"""

import math
from typing import Callable, NamedTuple, Optional

import numpy as np
import pytest

import allotrope as al

from reference import all_codes, assert_same, bits_of, clip_to, is_nan, numpy_cast, saturates

WIDE = np.longdouble
PI = WIDE("3.14159265358979323846264338327950288")


class Row(NamedTuple):
    """An operation.

    rules: a letter for each of bool, integers, floats and complex numbers: `=` the dtype stays,
    `f` the default float, `i` int64, `b` bool, `r` the real dtype, `x` a TypeError.
    wide: the function of floats. Where it is exact, of the dtype that is computed in.
    whole: the function of integers and bools that are not promoted.
    of_complex: the function of complex numbers.
    """

    rules: str
    wide: Optional[Callable] = None
    whole: Optional[Callable] = None
    of_complex: Optional[Callable] = None
    ulp: float = 3
    absolute: float = 0
    exact: bool = False


def rule_of(row, dtype):
    kinds = [dtype == al.bool, dtype.is_integer, dtype.is_floating_point, dtype.is_complex]
    return row.rules[kinds.index(True)]


def expected_dtype(row, dtype):
    """The dtype of a result, None for a TypeError."""
    answers = {
        "=": dtype,
        "f": al.get_default_dtype(),
        "i": al.int64,
        "b": al.bool,
        "r": dtype.to_real(),
        "x": None,
    }
    return answers[rule_of(row, dtype)]


def quietly(function):
    """A function without NumPy's warnings."""

    def call(*arrays):
        with np.errstate(all="ignore"):
            return function(*arrays)

    return call


def each(function, pole=math.nan):
    """A function of Python floats over an array; `pole` is what stands for a ValueError."""

    def call(*arrays):
        def one(*values):
            try:
                return function(*(float(value) for value in values))
            except ValueError:
                return pole
            except OverflowError:
                return math.inf

        if arrays[0].size == 0:
            return arrays[0].copy()
        return np.vectorize(one, otypes=[np.float64])(*arrays)

    return call


# Values.


def floats_of(dtype, count=400, seed=0):
    """Every code of a narrow float; of the others special values, ordinary ones and random bits."""
    if dtype.bits <= 16:
        return all_codes(dtype)
    kind = dtype.numpy_dtype
    info = np.finfo(kind)
    random = np.random.default_rng(seed)
    limits = [info.max, info.smallest_normal, info.smallest_subnormal, info.eps, info.max / 2]
    special = [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 6, 10, 20, 20.5, 88.5, 89, 100, 104, 709, 710, 745]
    special += [math.pi, math.pi / 2, 1 - info.eps, 1 + info.eps, 1e-4, 1e-9, 1e5, 1e10, math.inf]
    positive = np.array(special + limits, dtype=kind)
    bits = random.integers(0, 2**dtype.bits - 1, count, dtype=f"uint{dtype.bits}", endpoint=True)
    parts = [positive, -positive, [np.nan], random.uniform(-10, 10, count)]
    parts += [random.uniform(-1, 1, count), bits.view(kind)]
    return np.concatenate([np.asarray(part, dtype=kind) for part in parts])


def integers_of(dtype, count=200, seed=0):
    """Every code of a narrow integer; of the others the ends of the range, small ones and random ones."""
    if dtype == al.bool:
        return np.array([False, True])
    if dtype.bits == 8:
        return all_codes(dtype)
    info = np.iinfo(dtype.numpy_dtype)
    random = np.random.default_rng(seed)
    ends = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2]
    small = [v for v in range(-20, 21) if v >= info.min]
    values = random.integers(info.min, info.max, count, dtype=dtype.numpy_dtype, endpoint=True)
    return np.concatenate([np.array(ends + small, dtype=dtype.numpy_dtype), values])


def complex_of(dtype, count=400, seed=0):
    """Complex numbers of moderate size."""
    random = np.random.default_rng(seed)
    size = 10.0 ** random.uniform(-2, 1, (2, count))
    signs = random.choice([-1.0, 1.0], (2, count))
    re, im = size * signs
    return (re + 1j * im).astype(dtype.numpy_dtype)


def values_of(dtype, count=200, seed=0):
    """An array of any dtype."""
    if dtype.is_complex:
        return complex_of(dtype, count, seed)
    if dtype.is_floating_point:
        return floats_of(dtype, count, seed)
    return integers_of(dtype, count, seed)


def pairs_of(dtype, seed=0):
    """Two arrays of a dtype: all pairs of 8-bit codes, else of special values and random ones."""
    random = np.random.default_rng(seed)
    values = values_of(dtype, 150, seed)
    if dtype.bits > 8:
        take = 120 if dtype.bits == 16 and dtype.is_floating_point else 60
        ordinary = values[random.integers(0, len(values), take)]
        first = values[: min(len(values), 60)]
        if dtype.is_floating_point and dtype.bits == 16:
            near = np.concatenate([random.uniform(-10, 10, 60), [0.0, -0.0, np.inf, -np.inf, np.nan]])
            first = near.astype(dtype.numpy_dtype)
        values = np.concatenate([first, ordinary])
    x, y = np.meshgrid(values, values)
    return x.ravel().copy(), y.ravel().copy()


# Comparison.


def compute_dtype(dtype):
    """What floats are computed in."""
    return np.float64 if dtype.bits == 64 else np.float32


def widen(array):
    """An array of integers or floats as long doubles, 8-bit formats included."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64 if array.dtype.kind == "V" else WIDE).astype(WIDE)


def narrow(wide, dtype):
    """Wide floats rounded once to a dtype, by NumPy or ml_dtypes, with our rule for overflow."""
    if dtype.numpy_dtype in (np.float16, np.float32, np.float64):
        return numpy_cast(wide, dtype)
    with np.errstate(all="ignore"):
        if saturates(dtype):
            return numpy_cast(clip_to(wide, dtype), dtype)
        return numpy_cast(wide.astype(np.float64), dtype)


def ulps_apart(got, want):
    """How many codes lie between two arrays of a float dtype, as far as both are numbers."""
    width = 8 * got.dtype.itemsize
    sign = np.uint64(1 << (width - 1))

    def split(array):
        bits = bits_of(array).astype(np.uint64)
        return bits & sign != 0, bits & (sign - np.uint64(1))

    (got_sign, got_size), (want_sign, want_size) = split(got), split(want)
    apart = np.where(got_size > want_size, got_size - want_size, want_size - got_size)
    return np.where(got_sign == want_sign, apart, got_size + want_size)


def assert_near(got, wide, dtype, ulp, sources=(), absolute=0.0):
    """Results within so many ulp of wide floats that are rounded once; NaN where those are NaN.

    `absolute` is a distance that passes as well, for functions with roots: in units of the epsilon
    of the dtype that is computed in.
    """
    assert got.dtype == dtype.numpy_dtype
    assert got.shape == wide.shape
    want = narrow(wide, dtype)
    got, want, wide = (np.atleast_1d(a).ravel() for a in (got, want, wide))
    apart = ulps_apart(got, want).astype(np.float64)
    got_nan, want_nan = is_nan(got), is_nan(want)
    wrong = (apart > ulp) & ~(got_nan | want_nan)
    if absolute:
        with np.errstate(all="ignore"):
            distance = np.abs(widen(got) - wide).astype(np.float64)
        eps = np.finfo(compute_dtype(dtype)).eps
        wrong &= ~(distance <= absolute * eps)
    wrong |= got_nan != want_nan
    if wrong.any():
        places = np.flatnonzero(wrong)[:5]
        lines = [
            f"{[source.flat[i] for source in sources]} gives {got[i]!r}, not {want[i]!r} ({wide[i]!r})"
            for i in places
        ]
        raise AssertionError(f"{wrong.sum()} of {wrong.size} differ\n" + "\n".join(lines))


def assert_near_complex(got, wide, dtype, sources=(), eps=8.0, scale=1e-30):
    """Complex results within `eps` units of the magnitude of wide ones, or of `scale` above that."""
    assert got.dtype == dtype.numpy_dtype
    assert got.shape == wide.shape
    unit = np.finfo(got.real.dtype).eps
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.clongdouble) - wide) / np.maximum(np.abs(wide), scale)
    wrong = ~(error <= eps * unit)
    if wrong.any():
        places = np.flatnonzero(wrong)[:5]
        lines = [
            f"{[source.flat[i] for source in sources]} gives {got.flat[i]!r}, not {wide.flat[i]!r}"
            for i in places
        ]
        raise AssertionError(f"{wrong.sum()} of {wrong.size} differ\n" + "\n".join(lines))


def assert_written(x, name, operands, want):
    """In place a tensor keeps its dtype: truth values are numbers of it, a higher kind is refused."""
    before, dtype = x.numpy().copy(), x.dtype
    in_place = getattr(x, name + "_")
    if al.can_cast(al.from_numpy(want).dtype, dtype, "same_kind"):
        assert in_place(*operands) is x
        assert_same(x.numpy(), want.astype(before.dtype))
    else:
        with pytest.raises(TypeError, match=f"^{name}: a higher kind: "):
            in_place(*operands)
        assert_same(x.numpy(), before)
    assert x.dtype == dtype
