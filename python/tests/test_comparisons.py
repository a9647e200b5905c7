"""Comparisons are exact whatever the dtypes: against Python, which compares ints and floats exactly."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al

from elementwise import values_of
from reference import DTYPES, INTEGERS, REALS, named, to_float64

OPERATORS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

INTEGER_DTYPES = st.sampled_from(INTEGERS)
FLOAT_DTYPES = st.sampled_from([al.float32, al.float64, al.float16, al.bfloat16])


def integer_of(dtype):
    info = al.iinfo(dtype)
    near = [info.min, info.max, 0, 2**24 + 1, 2**53 + 1, 2**63]
    near = [v for v in near if info.min <= v <= info.max]
    return st.sampled_from(near) | st.integers(info.min, info.max)


def exactly(array):
    """The elements as Python numbers, which hold them all."""
    return array.tolist() if array.dtype.kind in "biu" else to_float64(array).tolist()


@pytest.mark.parametrize("name", list(OPERATORS))
@pytest.mark.parametrize("left", REALS, ids=named)
def test_every_pair_of_dtypes(left, name):
    compare = OPERATORS[name]
    for right in REALS:
        x, y = values_of(left, 12)[::-1], values_of(right, 12)
        step_x, step_y = max(len(x) // 60, 1), max(len(y) // 60, 1)
        x, y = x[::step_x][:90].copy(), y[::step_y][:90].copy()
        if left.bits > 8:
            x = np.concatenate([x, values_of(left, 12)[:60]])
        table = compare(al.from_numpy(x).reshape(-1, 1), al.from_numpy(y))
        assert table.dtype == al.bool
        want = [[compare(a, b) for b in exactly(y)] for a in exactly(x)]
        assert table.numpy().tolist() == want, (left, right)


@given(st.data())
def test_integers_with_integers(data):
    left, right = data.draw(INTEGER_DTYPES), data.draw(INTEGER_DTYPES)
    a, b = data.draw(integer_of(left)), data.draw(integer_of(right))
    for compare in OPERATORS.values():
        got = compare(al.tensor(a, dtype=left), al.tensor(b, dtype=right))
        assert got.item() is compare(a, b)


@given(st.data())
def test_integers_with_floats(data):
    left, right = data.draw(INTEGER_DTYPES), data.draw(FLOAT_DTYPES)
    a = data.draw(integer_of(left))
    near = st.sampled_from([float(a), math.nextafter(float(a), math.inf), math.nan, math.inf, -math.inf])
    y = al.tensor(data.draw(near | st.floats()), dtype="float64").to(right)
    b = y.item()
    for compare in OPERATORS.values():
        assert compare(al.tensor(a, dtype=left), y).item() is compare(a, b)
        assert compare(y, al.tensor(a, dtype=left)).item() is compare(b, a)


@given(st.integers(-(2**70), 2**70), INTEGER_DTYPES, st.data())
def test_python_ints_are_compared_as_they_are(b, dtype, data):
    a = data.draw(integer_of(dtype))
    x = al.tensor([a], dtype=dtype)
    for compare in OPERATORS.values():
        assert compare(x, b).tolist() == [compare(a, b)]
        assert compare(b, x).tolist() == [compare(b, a)]


@given(st.floats(), INTEGER_DTYPES, st.data())
def test_python_floats_are_compared_as_they_are(b, dtype, data):
    a = data.draw(integer_of(dtype))
    x = al.tensor([a], dtype=dtype)
    for compare in OPERATORS.values():
        assert compare(x, b).tolist() == [compare(a, b)]


def test_facts():
    assert not (al.tensor([0, 255], dtype=al.uint8) < -1).any().item()
    assert (al.tensor([0, 255], dtype=al.uint8) > -1).all().item()
    assert not (al.tensor(16777217) == al.tensor(16777216.0)).item()
    assert (al.tensor(16777216) == al.tensor(16777216.0)).item()
    assert (al.tensor(2**63, dtype=al.uint64) > al.tensor(-1)).item()
    assert not (al.tensor(2**64 - 1, dtype=al.uint64) == al.tensor(-1)).item()
    assert (al.tensor(2**63 - 1) < al.tensor(2.0**63, dtype=al.float64)).item()
    assert not (al.tensor([math.nan]) == al.tensor([math.nan])).item()
    assert (al.tensor([math.nan]) != math.nan).item()
    assert (al.tensor([0.0]) == -0.0).item()
    assert (al.tensor([True]) == 1).item()
    assert (al.tensor([1 + 2j]) == al.tensor([1 + 2j], dtype=al.complex128)).item()
    assert (al.tensor([1 + 0j]) == 1).item()
    assert (al.tensor([1 + 1j]) != 1).item()


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge"])
def test_complex_numbers_have_no_order(name):
    x = al.tensor([1 + 2j])
    for other in (x, 1.0, al.ones(1), 1j):
        with pytest.raises(TypeError, match=rf"^{name}: .*complex64"):
            OPERATORS[name](x, other)


def test_objects_of_other_kinds():
    x = al.ones(2)
    for other in ("x", None, object(), {}, {1.0}):
        assert (x == other) is False
        assert (x != other) is True
        with pytest.raises(TypeError):
            x < other


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_equal_and_truth(dtype):
    x = al.ones((2, 3), dtype=dtype)
    assert al.equal(x, x) is True and x.equal(x) is True
    assert al.equal(x, al.zeros((2, 3), dtype=dtype)) is False
    assert al.equal(x, al.ones((3, 2), dtype=dtype)) is False
    assert al.equal(x[:0], x[:0]) is True
    assert al.equal(x, al.ones((2, 3), dtype=al.float64)) is True
    assert bool(x[0, 0] == 1)
