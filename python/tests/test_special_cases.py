"""The special cases of the array API standard 2024.12, and complex functions against cmath."""

import cmath
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al

from reference import FLOATS, named

INF, NAN = math.inf, math.nan
WITH_INF = [d for d in FLOATS if d.finfo.has_inf]


def same(got, want):
    """Equal numbers with equal signs of zero, or both NaN."""
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1, got) == math.copysign(1, want)


# (function, first, second, result); the rows of the standard's text.
BINARY = [
    ("floor_divide", INF, INF, NAN), ("floor_divide", INF, -INF, NAN), ("floor_divide", 0.0, 0.0, NAN),
    ("floor_divide", 0.0, 2.0, 0.0), ("floor_divide", -0.0, 2.0, -0.0), ("floor_divide", 0.0, -2.0, -0.0),
    ("floor_divide", -0.0, -2.0, 0.0), ("floor_divide", 2.0, 0.0, INF), ("floor_divide", 2.0, -0.0, -INF),
    ("floor_divide", -2.0, 0.0, -INF), ("floor_divide", -2.0, -0.0, INF), ("floor_divide", INF, 2.0, INF),
    ("floor_divide", INF, -2.0, -INF), ("floor_divide", -INF, 2.0, -INF), ("floor_divide", -INF, -2.0, INF),
    # Python's answer to the next two is -1; the standard rounds the quotient, which is -0.
    ("floor_divide", 2.0, -INF, -0.0), ("floor_divide", -2.0, INF, -0.0), ("floor_divide", 2.0, INF, 0.0),
    ("floor_divide", -2.0, -INF, 0.0), ("floor_divide", NAN, 1.0, NAN),
    ("remainder", INF, 2.0, NAN), ("remainder", 2.0, 0.0, NAN), ("remainder", NAN, 1.0, NAN),
    ("remainder", 0.0, 2.0, 0.0), ("remainder", -0.0, 2.0, 0.0), ("remainder", 0.0, -2.0, -0.0),
    ("remainder", -0.0, -2.0, -0.0), ("remainder", 2.0, INF, 2.0), ("remainder", 2.0, -INF, -INF),
    ("remainder", -2.0, INF, INF), ("remainder", -2.0, -INF, -2.0), ("remainder", 4.0, 2.0, 0.0),
    ("remainder", 4.0, -2.0, -0.0), ("remainder", -4.0, 2.0, 0.0), ("remainder", 3.0, -2.0, -1.0),
    ("pow", 1.0, NAN, 1.0), ("pow", NAN, 0.0, 1.0), ("pow", NAN, -0.0, 1.0), ("pow", NAN, 1.0, NAN),
    ("pow", 2.0, INF, INF), ("pow", 2.0, -INF, 0.0), ("pow", 1.0, INF, 1.0), ("pow", -1.0, INF, 1.0),
    ("pow", 0.5, INF, 0.0), ("pow", 0.5, -INF, INF), ("pow", INF, 2.0, INF), ("pow", INF, -2.0, 0.0),
    ("pow", -INF, 3.0, -INF), ("pow", -INF, 2.0, INF), ("pow", -INF, -3.0, -0.0), ("pow", -INF, -2.0, 0.0),
    ("pow", 0.0, 2.0, 0.0), ("pow", 0.0, -2.0, INF), ("pow", -0.0, 3.0, -0.0), ("pow", -0.0, 2.0, 0.0),
    ("pow", -0.0, -3.0, -INF), ("pow", -0.0, -2.0, INF), ("pow", -2.0, 0.5, NAN), ("pow", -2.0, 3.0, -8.0),
    ("hypot", INF, NAN, INF), ("hypot", NAN, -INF, INF), ("hypot", 1.0, NAN, NAN), ("hypot", -0.0, -0.0, 0.0),
    ("copysign", 1.0, -0.0, -1.0), ("copysign", -1.0, 0.0, 1.0), ("copysign", NAN, 1.0, NAN),
    ("maximum", NAN, 1.0, NAN), ("maximum", 1.0, NAN, NAN), ("minimum", NAN, 1.0, NAN), ("minimum", 1.0, NAN, NAN),
    ("fmax", NAN, 1.0, 1.0), ("fmin", 1.0, NAN, 1.0), ("logaddexp", -INF, -INF, -INF), ("logaddexp", INF, INF, INF),
    ("logaddexp", NAN, 1.0, NAN), ("nextafter", NAN, 1.0, NAN), ("nextafter", 1.0, 1.0, 1.0), ("nextafter", 0.0, -0.0, -0.0),
    ("div", 1.0, -0.0, -INF), ("div", 0.0, 0.0, NAN), ("mul", INF, 0.0, NAN), ("add", INF, -INF, NAN),
    ("add", -0.0, -0.0, -0.0), ("add", -0.0, 0.0, 0.0), ("sub", 0.0, 0.0, 0.0), ("sub", -0.0, 0.0, -0.0),
]
UNARY = [
    ("sign", -0.0, 0.0), ("sign", NAN, NAN), ("sign", -INF, -1.0), ("abs", -0.0, 0.0), ("abs", -INF, INF),
    ("round", 0.5, 0.0), ("round", 1.5, 2.0), ("round", 2.5, 2.0), ("round", -0.5, -0.0), ("round", -0.0, -0.0),
    ("round", INF, INF), ("ceil", -0.5, -0.0), ("ceil", -0.0, -0.0), ("floor", -0.0, -0.0), ("trunc", -0.5, -0.0),
    ("trunc", -0.0, -0.0), ("sqrt", -0.0, -0.0), ("sqrt", -1.0, NAN), ("sqrt", INF, INF), ("exp", -INF, 0.0),
    ("exp", -0.0, 1.0), ("exp", INF, INF), ("expm1", -0.0, -0.0), ("expm1", -INF, -1.0), ("log", 0.0, -INF),
    ("log", -0.0, -INF), ("log", 1.0, 0.0), ("log", -1.0, NAN), ("log1p", -1.0, -INF), ("log1p", -0.0, -0.0),
    ("log1p", -2.0, NAN), ("log2", 1.0, 0.0), ("log10", 1.0, 0.0), ("sin", -0.0, -0.0), ("sin", INF, NAN),
    ("cos", -0.0, 1.0), ("cos", INF, NAN), ("tan", -0.0, -0.0), ("tan", -INF, NAN), ("asin", -0.0, -0.0),
    ("asin", 2.0, NAN), ("acos", 1.0, 0.0), ("acos", 2.0, NAN), ("atan", -0.0, -0.0), ("sinh", -0.0, -0.0),
    ("sinh", -INF, -INF), ("cosh", -INF, INF), ("tanh", -0.0, -0.0), ("tanh", INF, 1.0), ("asinh", -0.0, -0.0),
    ("asinh", -INF, -INF), ("acosh", 1.0, 0.0), ("acosh", 0.5, NAN), ("acosh", INF, INF), ("atanh", -0.0, -0.0),
    ("atanh", 1.0, INF), ("atanh", -1.0, -INF), ("atanh", 2.0, NAN), ("reciprocal", -0.0, -INF), ("square", -0.0, 0.0),
    ("relu", NAN, NAN), ("neg", 0.0, -0.0), ("cbrt", -0.0, -0.0), ("cbrt", -8.0, -2.0), ("rsqrt", 0.0, INF),
    ("erf", -0.0, -0.0), ("erf", -INF, -1.0), ("erfc", INF, 0.0), ("lgamma", 0.0, INF), ("lgamma", -1.0, INF),
    ("lgamma", INF, INF), ("erfinv", 1.0, INF), ("erfinv", -1.0, -INF), ("erfinv", 2.0, NAN), ("sigmoid", -INF, 0.0),
    ("sigmoid", INF, 1.0), ("exp2", -INF, 0.0), ("exp2", 3.0, 8.0),
]


def sizes():
    """Lengths that end in a SIMD register and in its tail."""
    return (1, 5, 64, 77)


@pytest.mark.parametrize("dtype", WITH_INF, ids=named)
@pytest.mark.parametrize("name, x, y, want", BINARY)
def test_binary(dtype, name, x, y, want):
    for size in sizes():
        left, right = al.full(size, x, dtype=dtype), al.full(size, y, dtype=dtype)
        for got in (getattr(al, name)(left, right), getattr(al, name)(left, y)):
            values = got.tolist()
            assert all(same(value, want) for value in values), (name, x, y, values[:3])


@pytest.mark.parametrize("dtype", WITH_INF, ids=named)
@pytest.mark.parametrize("name, x, want", UNARY)
def test_unary(dtype, name, x, want):
    for size in sizes():
        values = getattr(al, name)(al.full(size, x, dtype=dtype)).tolist()
        assert all(same(value, want) for value in values), (name, x, values[:3])


@pytest.mark.parametrize("dtype", [al.float32, al.float64], ids=named)
def test_atan2(dtype):
    values = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN]
    for y, x in itertools.product(values, values):
        got = al.atan2(al.tensor([y], dtype=dtype), al.tensor([x], dtype=dtype)).item()
        want = float(dtype.numpy_dtype.type(math.atan2(y, x)))
        assert same(got, want) or abs(got - want) <= 4 * al.finfo(dtype).eps


@given(st.floats(), st.floats())
def test_float64_remainders_as_in_python(x, y):
    got = al.remainder(al.tensor([x], dtype=al.float64), al.tensor([y], dtype=al.float64)).item()
    if y == 0 or math.isinf(x) or math.isnan(x) or math.isnan(y):
        assert math.isnan(got)
    else:
        assert same(got, x % y)
    got = al.fmod(al.tensor([x], dtype=al.float64), al.tensor([y], dtype=al.float64)).item()
    try:
        assert same(got, math.fmod(x, y))
    except ValueError:
        assert math.isnan(got)


# cmath's functions by our names.
COMPLEX = {
    "exp": cmath.exp, "log": cmath.log, "sqrt": cmath.sqrt, "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan,
    "asin": cmath.asin, "acos": cmath.acos, "atan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh,
    "tanh": cmath.tanh, "asinh": cmath.asinh, "acosh": cmath.acosh, "atanh": cmath.atanh, "log10": cmath.log10,
    "abs": abs, "angle": cmath.phase,
}


def close(got, want, eps):
    """Within eps of the magnitude; equal where infinite; NaN in the same parts."""
    got, want = complex(got), complex(want)
    if cmath.isnan(want) or cmath.isinf(want):
        parts = zip((got.real, got.imag), (want.real, want.imag))
        if cmath.isinf(want) and cmath.isinf(got):
            # The sign of the other part is free where the standard leaves it open.
            parts = [(g, w) for g, w in parts if math.isinf(w)]
        return all(math.isnan(g) if math.isnan(w) else abs(g) == abs(w) or abs(g - w) < 1e-6 for g, w in parts)
    return abs(got - want) <= eps * abs(want) + 1e-300


@pytest.mark.parametrize("name", list(COMPLEX))
@pytest.mark.parametrize("dtype", [al.complex64, al.complex128], ids=named)
def test_complex_functions_as_in_cmath(name, dtype):
    parts = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, INF, -INF, NAN]
    numbers = [complex(a, b) for a, b in itertools.product(parts, parts)]
    got = getattr(al, name)(al.tensor(numbers, dtype=dtype)).tolist()
    eps = 8 * al.finfo(dtype).eps
    for number, value in zip(numbers, got):
        if cmath.isnan(number) and 0 in (number.real, number.imag) and name in ("tan", "tanh", "acosh"):
            # C changed its mind here, and the array API with it.
            continue
        try:
            want = COMPLEX[name](number)
        except (ValueError, OverflowError):
            continue
        assert close(value, want, eps), (number, value, want)
        if name not in ("abs", "angle") and cmath.isfinite(want) and cmath.isfinite(number):
            # Branch cuts are told apart by the sign of zero.
            if want.imag and want.real:
                assert math.copysign(1, value.imag) == math.copysign(1, want.imag), number


@given(st.complex_numbers(max_magnitude=50, allow_nan=False), st.complex_numbers(max_magnitude=50, allow_nan=False))
def test_complex_arithmetic(a, b):
    x, y = al.tensor([a], dtype=al.complex128), al.tensor([b], dtype=al.complex128)
    eps = 4 * 2.0**-52
    size = abs(a) * abs(b)
    assert (x + y).item() == a + b and (x - y).item() == a - b
    assert abs((x * y).item() - a * b) <= eps * size + 1e-300
    assert x.conj().item() == a.conjugate()
    assert al.equal(x == y, al.tensor([a == b]))
    if abs(b) > 1e-100 and (abs(a) > 1e-100 or a == 0):
        quotient = (x / y).item()
        assert abs(quotient - a / b) <= eps * abs(a / b) + 1e-300


def test_parts():
    x = al.tensor([1 + 2j, -3 - 4j])
    assert x.real.tolist() == [1.0, -3.0] and x.imag.tolist() == [2.0, -4.0]
    assert al.real(x).dtype == al.float32 and al.imag(x.to(al.complex128)).dtype == al.float64
    assert al.tensor([1, 2]).real.tolist() == [1, 2] and al.tensor([1, 2]).imag.tolist() == [0, 0]
    assert al.complex(x.real, x.imag).tolist() == x.tolist()
    assert abs(x).tolist() == pytest.approx([math.sqrt(5), 5.0])
    assert al.isreal(al.tensor([1 + 0j, 1j])).tolist() == [True, False]
    signed = al.complex(al.tensor([0.0, -0.0]), al.tensor([-0.0, 0.0]))
    assert np.signbit(signed.imag.numpy()).tolist() == [True, False]
    assert np.signbit(signed.real.numpy()).tolist() == [False, True]


def test_complex_of_parts():
    parts = [0.0, -0.0, 1.5, INF, -INF, NAN]
    re, im = (al.tensor(list(side)) for side in zip(*itertools.product(parts, parts)))
    got = al.complex(re, im)
    assert got.dtype == al.complex64
    for value, (a, b) in zip(got.tolist(), itertools.product(parts, parts)):
        assert same(value.real, a) and same(value.imag, b)
    assert al.complex(al.ones((2, 1)), al.zeros(3)).shape == (2, 3)
    assert al.complex(al.ones(2, dtype=al.float64), 0).dtype == al.complex128
    assert al.complex(al.ones(2, dtype=al.float16), al.ones(2)).dtype == al.complex64
    assert al.complex(1, 2).item() == 1 + 2j
    assert al.complex(al.ones(0), al.ones(0)).shape == (0,)
    with pytest.raises(TypeError, match="^complex: complex to real"):
        al.complex(al.ones(2, dtype=al.complex64), al.ones(2))
    with pytest.raises(ValueError, match="^complex: "):
        al.complex(al.ones(2), al.ones(3))


def test_magnitudes_do_not_overflow():
    assert al.tensor([3e30 + 4e30j]).abs().item() == pytest.approx(5e30)
    assert al.hypot(al.tensor(3e30), al.tensor(4e30)).item() == pytest.approx(5e30)
    assert al.tensor([1e-30 + 1e-30j]).abs().item() == pytest.approx(math.sqrt(2) * 1e-30)
