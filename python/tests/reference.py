"""What the tests compare with: NumPy, ml_dtypes, the oracle tables and plain Python integers."""

import csv
import math
from pathlib import Path

import ml_dtypes
import numpy as np

import allotrope as al

ORACLE = Path(__file__).parents[2] / "tests" / "oracle"

DTYPES = al.dtypes()
FLOATS = [d for d in DTYPES if d.is_floating_point]
INTEGERS = [d for d in DTYPES if d.is_integer]
REALS = [d for d in DTYPES if not d.is_complex]
SMALL = [d for d in DTYPES if d.bits <= 16]
SMALL_FLOATS = [d for d in SMALL if d.is_floating_point]


def named(dtype):
    """The id of a test case."""
    return getattr(dtype, "name", str(dtype))


def read_oracle(name):
    """The rows of an oracle table as dicts."""
    with open(ORACLE / name, newline="") as file:
        return list(csv.DictReader(file))


def answer_or_error(function, *arguments):
    """The name of the dtype that a promotion gives, or "error" as the oracle tables say it."""
    try:
        return function(*arguments).name
    except TypeError:
        return "error"


def all_codes(dtype):
    """An array with every bit pattern of a dtype of at most 16 bits."""
    codes = np.arange(2**dtype.bits, dtype=f"uint{dtype.bits}")
    return codes.view(dtype.numpy_dtype)


def bits_of(array):
    """The bit patterns of an array of any dtype but complex."""
    return array.view(f"uint{8 * array.dtype.itemsize}")


def is_nan(array):
    with np.errstate(invalid="ignore"):
        return array != array


def to_float64(array):
    """An array of bool, integers or floats as float64, by NumPy or ml_dtypes."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def saturates(dtype):
    """Whether casts to a float dtype saturate by default: the formats with NaN but no infinity
    whose zero has a sign (`fn`, not `fnuz`)."""
    info = dtype.finfo
    return not info.has_inf and info.has_negative_zero


def assert_same(got, want, source=None):
    """Equal dtypes, shapes and bits, where any NaN equals any NaN. Prints the first five."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if got.dtype.kind == "c":
        assert_same(got.real.copy(), want.real.copy(), source)
        assert_same(got.imag.copy(), want.imag.copy(), source)
        return
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    differ = bits_of(got) != bits_of(want)
    if got.dtype.kind not in "biu":
        differ &= ~(is_nan(got) & is_nan(want))
    if differ.any():
        first = np.flatnonzero(differ)[:5]
        lines = [
            f"[{i}] {'' if source is None else repr(source.flat[i])} got {got.flat[i]!r} "
            f"({bits_of(got).flat[i]:#x}), want {want.flat[i]!r} ({bits_of(want).flat[i]:#x})"
            for i in first
        ]
        raise AssertionError(f"{differ.sum()} of {differ.size} differ\n" + "\n".join(lines))


def numpy_cast(array, dtype):
    """NumPy's or ml_dtypes' own conversion, without its warnings."""
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy_dtype)


def clip_to(array, dtype):
    """The array as float64, limited to the finite range of a float dtype; NaN stays."""
    limit = float(ml_dtypes.finfo(dtype.numpy_dtype).max)
    return np.clip(to_float64(array), -limit, limit)


def saturate(array, source, target):
    """What overflow="saturate" rounds: nothing is out of range where the target holds the source,
    its infinities included."""
    if al.can_cast(source, target, "exact"):
        return to_float64(array)
    return clip_to(array, target)


def truncate_to_integer(value, dtype, overflow):
    """A float converted to an integer dtype, in Python integers. None where it must be refused."""
    low, high = al.iinfo(dtype).min, al.iinfo(dtype).max
    if overflow == "raise":
        fits = math.isfinite(value) and low <= math.trunc(value) <= high
        return math.trunc(value) if fits else None
    if math.isnan(value) or (overflow == "wrap" and math.isinf(value)):
        return 0
    if overflow == "wrap":
        return wrap_to_integer(math.trunc(value), dtype)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def wrap_to_integer(value, dtype):
    """An integer modulo two to the width."""
    low = al.iinfo(dtype).min
    return (value - low) % 2**dtype.bits + low


def round_integer(value, precision):
    """An integer rounded to so many significant bits, ties to even, in Python integers."""
    magnitude = abs(value)
    shift = max(magnitude.bit_length() - precision, 0)
    quotient, rest = divmod(magnitude, 1 << shift)
    half = (1 << shift) // 2
    if shift and (rest > half or (rest == half and quotient & 1)):
        quotient += 1
    return math.copysign(1, value) * (quotient << shift) if value else 0


def positive_values(dtype):
    """Every finite value from 0 up of a float of at most 16 bits, as float64, in order of code."""
    values = to_float64(all_codes(dtype)[: 2 ** (dtype.bits - 1)])
    return values[np.isfinite(values)]


def dense_float32():
    """Every exponent with mantissas at and around the midpoints of all narrower formats."""
    mantissas = {0, 1, 2**23 - 1}
    random = np.random.default_rng(0)
    for kept in range(1, 13):
        tops = range(2**kept) if kept <= 4 else random.integers(0, 2**kept, 24).tolist()
        centres = {(top << (23 - kept)) for top in tops}
        mantissas |= {m + d for m in centres for d in (-1, 0, 1) if 0 <= m + d < 2**23}
    mantissas = np.array(sorted(mantissas), dtype=np.uint32)
    exponents = np.arange(256, dtype=np.uint32) << 23
    positive = (exponents[:, None] | mantissas[None, :]).ravel()
    return np.concatenate([positive, positive | 0x80000000]).view(np.float32)
