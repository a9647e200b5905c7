"""Integers: wrapping overflow, division and remainders by Python's rules, shifts, divisors, powers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al

from reference import INTEGERS, named, wrap_to_integer

DTYPE = st.sampled_from(INTEGERS)
SIGNED = [d for d in INTEGERS if d.is_signed]


def numbers(dtype):
    info = al.iinfo(dtype)
    ends = st.sampled_from([info.min, info.max, info.min + 1, 0, 1, 2, 3])
    return ends | st.integers(info.min, info.max)


def pair(data):
    dtype = data.draw(DTYPE)
    return dtype, data.draw(numbers(dtype)), data.draw(numbers(dtype))


@given(st.data())
def test_arithmetic_wraps(data):
    dtype, a, b = pair(data)
    x, y = al.tensor([a], dtype=dtype), al.tensor([b], dtype=dtype)
    for got, want in [
        (x + y, a + b),
        (x - y, a - b),
        (x * y, a * b),
        (-x, -a),
        (abs(x), abs(a)),
        (x.square(), a * a),
        (x.add(y, alpha=3), a + 3 * b),
        (al.addcmul(x, x, y), a + a * b),
    ]:
        assert got.dtype == dtype
        assert got.item() == wrap_to_integer(want, dtype)


@given(st.data())
def test_division_as_in_python(data):
    dtype, a, b = pair(data)
    x, y = al.tensor([a], dtype=dtype), al.tensor([b], dtype=dtype)
    if b == 0:
        for divide in (al.floor_divide, al.remainder, al.fmod, al.trunc_divide):
            with pytest.raises(ZeroDivisionError, match=f"^{divide.__name__}: "):
                divide(x, y)
            with pytest.raises(ZeroDivisionError):
                divide(x, 0)
        return
    quotient, rest = divmod(a, b)
    towards_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    for got, want in [
        (x // y, quotient),
        (x % y, rest),
        (al.div(x, y, rounding_mode="floor"), quotient),
        (al.div(x, y, rounding_mode="trunc"), towards_zero),
        (al.trunc_divide(x, y), towards_zero),
        (al.fmod(x, y), a - b * towards_zero),
    ]:
        assert got.dtype == dtype
        assert got.item() == wrap_to_integer(want, dtype)


@given(st.data())
def test_divisors(data):
    dtype, a, b = pair(data)
    x, y = al.tensor([a], dtype=dtype), al.tensor([b], dtype=dtype)
    assert al.gcd(x, y).item() == wrap_to_integer(math.gcd(a, b), dtype)
    assert al.gcd(x, y).dtype == dtype
    small = [v % 12 for v in (a, b)]
    x, y = al.tensor([small[0]], dtype=dtype), al.tensor([small[1]], dtype=dtype)
    assert al.lcm(x, y).item() == wrap_to_integer(math.lcm(*small), dtype)


@given(st.data(), st.integers(0, 127))
def test_powers_wrap(data, exponent):
    dtype, a, _ = pair(data)
    x = al.tensor([a], dtype=dtype)
    got = x ** al.tensor([exponent], dtype=dtype)
    assert got.dtype == dtype
    assert got.item() == wrap_to_integer(pow(a, exponent), dtype)
    assert (x**exponent).item() == wrap_to_integer(pow(a, exponent), dtype)


@given(st.data())
def test_shifts(data):
    dtype, a, _ = pair(data)
    count = data.draw(st.integers(0, dtype.bits - 1))
    x, n = al.tensor([a], dtype=dtype), al.tensor([count], dtype=dtype)
    assert (x << n).item() == wrap_to_integer(a << count, dtype)
    assert (x >> n).item() == a >> count
    assert (x << count).dtype == dtype


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_shifts_beyond_the_width(dtype):
    """As array API leaves open and Python says: zero, or the sign."""
    x = al.tensor([1, 100], dtype=dtype)
    n = al.full(2, dtype.bits, dtype=dtype)
    assert (x << n).tolist() == [0, 0]
    assert (x >> n).tolist() == [0, 0]
    if dtype.is_signed:
        assert (al.tensor([-5], dtype=dtype) >> n).tolist() == [-1, -1]


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_bits(dtype):
    info = al.iinfo(dtype)
    values = [info.min, info.max, 0, 1, 85]
    x = al.tensor(values, dtype=dtype)
    assert (~x).tolist() == [wrap_to_integer(~v, dtype) for v in values]
    assert al.bitwise_count(x).tolist() == [abs(v).bit_count() for v in values]
    for other in values:
        assert (x & other).tolist() == [v & other for v in values]
        assert (x | other).tolist() == [v | other for v in values]
        assert (x ^ other).tolist() == [v ^ other for v in values]
        assert (other ^ x).tolist() == [v ^ other for v in values]


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_division_by_zero_names_the_operation_and_changes_nothing(dtype):
    x = al.tensor([1, 2], dtype=dtype)
    for name in ("floor_divide", "remainder", "fmod", "trunc_divide"):
        with pytest.raises(ZeroDivisionError, match=f"^{name}: "):
            getattr(x, name + "_")(al.tensor([1, 0], dtype=dtype))
    with pytest.raises(ZeroDivisionError, match="^floor_divide: "):
        x //= 0
    assert x.tolist() == [1, 2]
    assert (x / al.zeros(2, dtype=dtype)).tolist() == [math.inf, math.inf]
    assert (al.zeros(0, dtype=dtype) // al.zeros(0, dtype=dtype)).shape == (0,)


@pytest.mark.parametrize("dtype", SIGNED, ids=named)
def test_the_least_number(dtype):
    least = al.iinfo(dtype).min
    x = al.tensor([least], dtype=dtype)
    assert (-x).item() == least and abs(x).item() == least
    assert (x // -1).item() == least
    assert (x % -1).item() == 0 and x.fmod(-1).item() == 0
    assert x.sign().item() == -1
    assert x.gcd(x).item() == least


def test_negative_exponents():
    """They have no integer value, and the error says where."""
    x = al.tensor([1, -1, 2, -3])
    with pytest.raises(ValueError, match="^pow: integer to a negative power at index 1; floats"):
        x ** al.tensor([1, -1, 1, 2])
    with pytest.raises(ValueError, match="^pow: integer to a negative power"):
        x**-1
    assert (x**-1.0).tolist() == pytest.approx([1.0, -1.0, 0.5, -1 / 3])


def test_true_division_is_the_default_float():
    x = al.tensor([7, -7], dtype=al.int8)
    assert (x / 2).dtype == al.float32 and (x / 2).tolist() == [3.5, -3.5]
    with al.set_default_dtype(al.float64):
        assert (x / 2).dtype == al.float64
        assert (x / x).dtype == al.float64
        assert (3 / x).dtype == al.float64
        third = np.float64(7) / 3
        assert (x / 3).tolist() == [third, -third]
