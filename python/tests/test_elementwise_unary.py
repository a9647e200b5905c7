"""Every operation of one operand, for every dtype: result dtype, values, refusals."""

import numpy as np
import pytest

import allotrope as al

from elementwise import (
    assert_written,
    assert_near,
    assert_near_complex,
    compute_dtype,
    expected_dtype,
    narrow,
    rule_of,
    values_of,
    widen,
)
from elementwise_rows import UNARY
from reference import DTYPES, assert_same, is_nan, named

CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype.name}") for name in UNARY for dtype in DTYPES
]


def expect(row, dtype, array):
    """What an operation should give, as wide floats or as an array of the result's dtype."""
    rule = rule_of(row, dtype)
    if dtype.is_complex:
        wide = array.astype(np.clongdouble)
        return row.of_complex(array if row.exact and rule == "b" else wide)
    if rule == "f":
        array = array.astype(np.float32)
        return row.wide(array if row.exact else array.astype(np.longdouble))
    if not dtype.is_floating_point:
        return row.whole(array)
    if row.exact:
        return row.wide(array.astype(compute_dtype(dtype)))
    return row.wide(widen(array))


def check(name, row, dtype, got, array):
    out = expected_dtype(row, dtype)
    assert got.dtype == out
    got, want = got.numpy(), expect(row, dtype, array)
    if out.is_complex or (dtype.is_complex and out.is_floating_point):
        # x - tanh(x) has roots, near which it is a difference of numbers of about its size.
        scale = np.abs(array).astype(float) if name == "tanhshrink" else 1e-30
        assert_near_complex(got, want, out, [array], scale=scale)
    elif not out.is_floating_point:
        assert_same(got, want.astype(out.numpy_dtype), array)
    elif row.exact:
        assert_same(got, narrow(want, out), array)
    else:
        # Half precision rounds once what is near the truth, which can be one code aside.
        ulp = 1 if out.bits <= 16 else row.ulp
        assert_near(got, want, out, ulp, [array], row.absolute)


@pytest.mark.parametrize("name, dtype", CASES)
def test_values(name, dtype):
    row, array = UNARY[name], values_of(dtype)
    if name == "signbit" and dtype.name.endswith("fnuz"):
        # Their NaN has no sign.
        array = array[~is_nan(array)]
    x = al.from_numpy(array)
    if expected_dtype(row, dtype) is None:
        with pytest.raises(TypeError, match=rf"^{name}: .*{dtype.name}"):
            getattr(al, name)(x)
        with pytest.raises(TypeError, match=rf"^{name}: .*{dtype.name}"):
            getattr(x, name)()
        return
    check(name, row, dtype, getattr(al, name)(x), array)


@pytest.mark.parametrize("name", list(UNARY))
@pytest.mark.parametrize("dtype", [al.float32, al.float16, al.int16], ids=named)
def test_forms_shapes_and_layouts(name, dtype):
    """The method, the form in place, 0-d, empty and strided operands all give the same codes."""
    row = UNARY[name]
    if expected_dtype(row, dtype) is None:
        return
    array = values_of(dtype)[:240]
    function, method = getattr(al, name), getattr(al.Tensor, name)
    x = al.from_numpy(array)
    want = function(x).numpy()
    assert_same(method(x).numpy(), want)
    y = x.to(dtype, copy=True)
    assert_written(y, name, [], want)
    assert_same(function(x[::-1]).numpy(), want[::-1].copy())
    assert_same(function(x[3::7]).numpy(), want[3::7].copy())
    grid = x.reshape(12, 20)
    assert_same(function(grid.T).numpy(), want.reshape(12, 20).T.copy())
    assert_same(function(grid[2:9, ::-3]).numpy(), want.reshape(12, 20)[2:9, ::-3].copy())
    wide = function(x[5].expand(3, 4))
    assert wide.shape == (3, 4)
    assert_same(wide.numpy(), np.broadcast_to(want[5], (3, 4)).copy())
    scalar = function(x[5])
    assert scalar.shape == ()
    assert_same(scalar.numpy(), want[5:6].reshape(()))
    empty = function(x[:0].reshape(0, 3))
    assert empty.shape == (0, 3)
    assert empty.dtype == expected_dtype(row, dtype)


@pytest.mark.parametrize("name", list(UNARY))
def test_default_dtype_is_honoured(name):
    row = UNARY[name]
    if row.rules[1] != "f":
        return
    for default in (al.float64, al.bfloat16):
        with al.set_default_dtype(default):
            got = getattr(al, name)(al.tensor([0, 1], dtype=al.int8))
            assert got.dtype == default
            want = getattr(al, name)(al.tensor([0, 1], dtype=default))
            assert_same(got.numpy(), want.numpy())


@pytest.mark.parametrize("name", list(UNARY))
def test_wrong_arguments(name):
    function = getattr(al, name)
    with pytest.raises(TypeError, match="^" + name + ": .*str"):
        function("x")
    with pytest.raises(TypeError):
        function()
    with pytest.raises(TypeError):
        function(al.ones(2), al.ones(2), al.ones(2), al.ones(2), al.ones(2))


def test_lists_and_numbers_are_operands():
    assert al.exp([0.0, 0.0]).tolist() == [1.0, 1.0]
    assert al.abs([-1, 2]).tolist() == [1, 2]
    assert al.abs(-3).item() == 3
    assert al.neg(np.int8(3)).dtype == al.int8
    assert al.sqrt(4).dtype == al.float32


def test_operators():
    x = al.tensor([-1, 2], dtype=al.int16)
    assert (-x).tolist() == [1, -2]
    assert (+x).tolist() == [-1, 2]
    assert abs(x).tolist() == [1, 2]
    assert (~x).tolist() == [0, -3]
    assert (~al.tensor([True, False])).tolist() == [False, True]
    for operation in (lambda b: -b, lambda b: +b):
        with pytest.raises(TypeError, match="bool"):
            operation(al.tensor([True]))
    with pytest.raises(TypeError, match="float32"):
        ~al.ones(2)
