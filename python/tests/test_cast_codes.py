"""Every code of every 8- and 16-bit dtype to every other dtype."""

import numpy as np
import pytest

import allotrope as al
from reference import (
    DTYPES,
    FLOATS,
    INTEGERS,
    SMALL,
    SMALL_FLOATS,
    all_codes,
    assert_same,
    bits_of,
    clip_to,
    is_nan,
    named,
    numpy_cast,
    saturate,
    saturates,
    to_float64,
    truncate_to_integer,
)

SMALL_INTEGERS = [d for d in SMALL if d.is_integer]
COMPLEX = [d for d in DTYPES if d.is_complex]
each_small = pytest.mark.parametrize("source", SMALL, ids=named)
each_small_float = pytest.mark.parametrize("source", SMALL_FLOATS, ids=named)
each_float = pytest.mark.parametrize("target", FLOATS, ids=named)
each_integer = pytest.mark.parametrize("target", INTEGERS, ids=named)


def codes_of(dtype):
    """Every code; of bool only those that NumPy defines."""
    return all_codes(dtype)[:2] if dtype == "bool" else all_codes(dtype)


@each_small
@each_float
def test_to_float_as_ieee(source, target):
    codes = codes_of(source)
    assert_same(al.cast(codes, target, overflow="ieee"), numpy_cast(codes, target), codes)


@each_small
@each_float
def test_to_float_by_default(source, target):
    codes = codes_of(source)
    wanted = clip_to(codes, target) if saturates(target) else codes
    assert_same(al.cast(codes, target), numpy_cast(wanted, target), codes)


@each_small
@each_float
def test_to_float_saturating(source, target):
    codes = codes_of(source)
    wanted = numpy_cast(saturate(codes, source, target), target)
    assert_same(al.cast(codes, target, overflow="saturate"), wanted, codes)


@pytest.mark.parametrize("source", SMALL_INTEGERS, ids=named)
@each_integer
def test_integer_to_integer(source, target):
    codes = all_codes(source)
    assert_same(al.cast(codes, target), codes.astype(target.numpy_dtype), codes)
    assert_same(al.cast(codes, target, overflow="wrap"), codes.astype(target.numpy_dtype), codes)
    low, high = max(al.iinfo(target).min, -(2**63)), min(al.iinfo(target).max, 2**63 - 1)
    clipped = np.clip(codes.astype(np.int64), low, high).astype(target.numpy_dtype)
    assert_same(al.cast(codes, target, overflow="saturate"), clipped, codes)


@each_small_float
@each_integer
@pytest.mark.parametrize("overflow", [None, "saturate", "wrap"])
def test_float_to_integer(source, target, overflow):
    codes = all_codes(source)
    wanted = [truncate_to_integer(x, target, overflow) for x in to_float64(codes).tolist()]
    wanted = np.array(wanted, dtype=target.numpy_dtype)
    assert_same(al.cast(codes, target, overflow=overflow), wanted, codes)


@each_small
def test_to_bool(source):
    codes = codes_of(source)
    assert_same(al.cast(codes, al.bool), to_float64(codes) != 0, codes)


@pytest.mark.parametrize("target", DTYPES, ids=named)
def test_any_non_zero_byte_is_true(target):
    codes = all_codes(al.bool)
    wanted = (np.arange(256) != 0).astype(target.numpy_dtype)
    assert_same(al.cast(codes, target), wanted)


@each_small
@pytest.mark.parametrize("target", COMPLEX, ids=named)
def test_to_complex(source, target):
    codes = codes_of(source)
    assert_same(al.cast(codes, target), numpy_cast(to_float64(codes), target), codes)


@each_small_float
def test_to_itself_keeps_every_bit(source):
    codes = all_codes(source)
    got = al.cast(codes, source)
    numbers = ~is_nan(codes)
    assert (bits_of(got)[numbers] == bits_of(codes)[numbers]).all()
    assert is_nan(got)[~numbers].all()


@each_small_float
@each_float
def test_towards_zero(source, target):
    """The nearest answer, or the one before it if that is larger than the value."""
    codes = all_codes(source)
    got = to_float64(al.cast(codes, target, rounding="zero", overflow="saturate"))
    value = saturate(codes, source, target)
    nearest = numpy_cast(value, target)
    too_large = np.abs(to_float64(nearest)) > np.abs(value)
    wanted = bits_of(nearest).copy()
    wanted[too_large] -= 1
    if not target.finfo.has_negative_zero:
        wanted[too_large & (wanted == 2 ** (target.bits - 1))] = 0
    wanted = to_float64(wanted.view(target.numpy_dtype))
    assert ((got == wanted) | is_nan(got) & is_nan(wanted)).all()
