"""One rounding, at and around every midpoint."""

import ml_dtypes
import numpy as np
import pytest

import allotrope as al
from reference import (
    FLOATS,
    INTEGERS,
    SMALL_FLOATS,
    assert_same,
    clip_to,
    dense_float32,
    is_nan,
    named,
    numpy_cast,
    positive_values,
    round_integer,
    saturates,
    to_float64,
)

WIDE_INTEGERS = [d for d in INTEGERS if d.bits >= 32]
each_small_float = pytest.mark.parametrize("target", SMALL_FLOATS, ids=named)


@each_small_float
def test_dense_float32(target):
    values = dense_float32()
    assert_same(al.cast(values, target, overflow="ieee"), numpy_cast(values, target), values)
    wanted = numpy_cast(clip_to(values, target), target)
    assert_same(al.cast(values, target, overflow="saturate"), wanted, values)
    if not saturates(target):
        wanted = numpy_cast(values, target)
    assert_same(al.cast(values, target), wanted, values)


@each_small_float
@pytest.mark.parametrize("sign", [1, -1])
def test_float64_midpoints(target, sign):
    """A float64 next to a midpoint goes to its own side: through float32 it would go to even."""
    below = positive_values(target)
    codes = np.arange(below.size, dtype=f"uint{target.bits}")
    middle = (below[:-1] + below[1:]) / 2
    even = codes[:-1] + (codes[:-1] & 1)
    for value, wanted in [
        (middle, even),
        (np.nextafter(middle, 0), codes[:-1]),
        (np.nextafter(middle, np.inf), codes[1:]),
        (below, codes),
    ]:
        wanted = sign * to_float64(wanted.astype(codes.dtype).view(target.numpy_dtype))
        got = to_float64(al.cast(sign * value, target))
        assert (got == wanted).all()
        keeps_sign = target.finfo.has_negative_zero
        assert (np.signbit(got) == (np.signbit(wanted) & (keeps_sign | (wanted != 0)))).all()


@each_small_float
def test_float64_at_the_end_of_the_range(target):
    largest = positive_values(target)[-1]
    middle = largest + (largest - positive_values(target)[-2]) / 2
    inside, outside = np.nextafter(middle, 0), np.nextafter(middle, np.inf)
    values = np.array([inside, -inside, outside, -outside, 1e300, -1e300, np.inf, -np.inf])
    got = to_float64(al.cast(values, target))
    assert got[:2].tolist() == [largest, -largest]
    if target.finfo.has_inf:
        assert got[2:].tolist() == [np.inf, -np.inf] * 3
    elif saturates(target):
        assert got[2:].tolist() == [largest, -largest] * 3
    else:
        assert np.isnan(got[2:]).all()
    saturated = to_float64(al.cast(values, target, overflow="saturate"))
    assert saturated.tolist() == [largest, -largest] * 4


def test_float64_to_float32_and_float16_as_numpy():
    random = np.random.default_rng(0)
    values = random.integers(0, 2**64, 200_000, dtype=np.uint64).view(np.float64)
    exponents = np.exp2(random.uniform(-160, 140, 200_000))
    values = np.concatenate([values, exponents, -exponents, to_float64(dense_float32())])
    for target in (al.float32, al.float16):
        assert_same(al.cast(values, target), numpy_cast(values, target), values)


@pytest.mark.parametrize("source", [d for d in FLOATS if d.bits >= 32], ids=named)
@pytest.mark.parametrize("target", [d for d in FLOATS if d.bits >= 32], ids=named)
def test_wide_floats(source, target):
    values = numpy_cast(dense_float32(), source)
    assert_same(al.cast(values, target), numpy_cast(values, target), values)


def hard_integers(source, precision):
    """Integers of every length at and around the midpoints of so many significant bits."""
    random = np.random.default_rng(precision)
    low, high = al.iinfo(source).min, al.iinfo(source).max
    found = {0, 1, low, high, high - 1}
    for length in range(1, 65):
        shift = max(length - precision, 0)
        for top in random.integers(2 ** (precision - 1), 2**precision, 12).tolist():
            centre = (top << shift) + (1 << shift) // 2
            found |= {centre + d for d in (-1, 0, 1, -((1 << shift) // 2))}
    found |= {-value for value in found}
    return [value for value in sorted(found) if low <= value <= high]


@pytest.mark.parametrize("source", WIDE_INTEGERS, ids=named)
@pytest.mark.parametrize("target", FLOATS, ids=named)
def test_integers_to_floats(source, target):
    info = ml_dtypes.finfo(target.numpy_dtype)
    precision, largest = info.nmant + 1, int(float(info.max))
    values = hard_integers(source, precision)
    got = to_float64(al.cast(np.array(values, dtype=source.numpy_dtype), target)).tolist()
    for value, answer in zip(values, got, strict=True):
        wanted = round_integer(value, precision)
        if abs(wanted) <= largest:
            assert answer == wanted, value
        elif target.finfo.has_inf:
            assert answer == np.copysign(np.inf, value), value
        elif saturates(target):
            assert answer == np.copysign(largest, value), value
        else:
            assert np.isnan(answer), value


@pytest.mark.parametrize("target", [d for d in FLOATS if d.bits < 64], ids=named)
def test_stochastic(target):
    """One of the two neighbours, the same for a seed, and right on average."""
    step = target.finfo.eps
    for fraction in (0.0, 0.125, 0.5, 0.875):
        values = np.full(40_000, 1 + fraction * step)
        got = to_float64(al.cast(values, target, rounding="stochastic", seed=7))
        assert set(got.tolist()) <= {1.0, 1 + step}
        share = (got > 1).mean()
        deviation = np.sqrt(fraction * (1 - fraction) / values.size)
        assert abs(share - fraction) <= 5 * deviation
        again = to_float64(al.cast(values, target, rounding="stochastic", seed=7))
        assert (got == again).all()
        other = to_float64(al.cast(values, target, rounding="stochastic", seed=8))
        assert fraction == 0 or (got != other).any()


@each_small_float
def test_stochastic_keeps_what_is_exact(target):
    values = positive_values(target)
    got = to_float64(al.cast(values, target, rounding="stochastic", seed=3))
    assert (got == values).all()
    assert is_nan(al.cast(np.array([np.nan]), target, rounding="stochastic")).all()
