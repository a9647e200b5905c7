"""Every operation of two operands, for every dtype: result dtype, values, refusals."""

import math

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
    pairs_of,
    rule_of,
    values_of,
    widen,
)
from elementwise_rows import BINARY, SEVERAL, UNARY
from reference import DTYPES, assert_same, is_nan, named

DIVISIONS = ["floor_divide", "trunc_divide", "remainder", "fmod"]
CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype.name}") for name in BINARY for dtype in DTYPES
]


def test_no_operation_is_forgotten():
    names = set(al._core._elementwise_methods())
    assert names == {*UNARY, *BINARY, *SEVERAL}
    for name in names:
        assert callable(getattr(al, name)), name
        assert callable(getattr(al.Tensor, name + "_")), name


def operands(name, dtype):
    """Pairs on which an operation has an answer."""
    x, y = pairs_of(dtype)
    if not dtype.is_floating_point and not dtype.is_complex:
        keep = np.ones(x.shape, dtype=bool)
        if name in DIVISIONS:
            keep = y != 0
        if name.endswith("shift"):
            keep = (y >= 0) & (y < (64 if dtype == al.bool else dtype.bits))
        if name == "pow":
            keep = y >= 0
            x, y = x[keep], (y[keep] % 40).astype(y.dtype)
            return x, y
        if name in ("gcd", "lcm", *DIVISIONS):
            keep &= np.arange(keep.size) % 7 == 0
        if name == "lcm":
            most = np.iinfo(np.int64 if dtype == al.bool else x.dtype).max
            keep &= [math.lcm(a, b) <= most for a, b in zip(x.tolist(), y.tolist())]
        x, y = x[keep], y[keep]
    if name in ("nextafter", "copysign") and dtype.name.endswith("fnuz"):
        # Their NaN has no sign.
        keep = ~(is_nan(x) | is_nan(y))
        x, y = x[keep], y[keep]
    if dtype.is_complex and name == "pow":
        y = y / 3
    if name in ("igamma", "igammac") and not dtype.is_complex:
        # Beside each other large numbers cost the reference its digits: the special tests have mpmath's.
        a, z = np.broadcast_arrays(widen(x), widen(y))
        with np.errstate(all="ignore"):
            keep = ~((a > 1e5) & (a != z) & (np.abs(z - a) < 60 * np.sqrt(a)))
        x, y = x[keep], y[keep]
    if name == "zeta" and not dtype.is_complex:
        # Sums that take too long to form, and where terms on both sides of zero cancel.
        s, q = np.broadcast_arrays(widen(x), widen(y))
        with np.errstate(invalid="ignore"):
            is_whole = q == np.floor(q)
            cancels = (np.abs(q - np.floor(q) - 0.5) < 0.2) & (np.fmod(s, 2) == 1)
            keep = ~(q < 0) | is_whole | (q > -2000) & ~cancels
        x, y = x[keep], y[keep]
    return x, y


def expect(row, name, dtype, x, y):
    rule = rule_of(row, dtype)
    if dtype.is_complex:
        if rule == "b" or name in ("add", "sub"):
            return row.of_complex(x, y)
        return row.of_complex(x.astype(np.clongdouble), y.astype(np.clongdouble))
    if rule == "f":
        x, y = x.astype(np.float32), y.astype(np.float32)
        return row.wide(x, y) if row.exact else row.wide(x.astype(np.longdouble), y.astype(np.longdouble))
    if not dtype.is_floating_point:
        if rule == "i":
            x, y = x.astype(np.int64), y.astype(np.int64)
        return row.whole(x, y)
    if name == "nextafter":
        return row.wide(x, y)
    if row.exact:
        kind = compute_dtype(dtype)
        return row.wide(x.astype(kind), y.astype(kind))
    return row.wide(widen(x), widen(y))


@pytest.mark.parametrize("name, dtype", CASES)
def test_values(name, dtype):
    row = BINARY[name]
    out = expected_dtype(row, dtype)
    if out is None:
        x = al.zeros(3, dtype=dtype)
        with pytest.raises(TypeError, match=rf"^{name}: .*{dtype.name}"):
            getattr(al, name)(x, x)
        with pytest.raises(TypeError, match=rf"^{name}: .*{dtype.name}"):
            getattr(x, name)(x)
        return
    x, y = operands(name, dtype)
    got = getattr(al, name)(al.from_numpy(x), al.from_numpy(y))
    assert got.dtype == out
    got, want = got.numpy(), expect(row, name, dtype, x, y)
    if out.is_complex and row.rules[3] == "=" and name not in ("add", "sub"):
        scale = 1e-30
        if name == "logaddexp":
            # Near roots of the sum of exponentials their errors count more.
            slope = 1 / np.abs(1 + np.exp(-np.abs(x.real - y.real) + 1j * np.abs(x.imag - y.imag)))
            scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), slope)
        assert_near_complex(got, want, out, [x, y], 40 if name == "pow" else 8, scale)
    elif not out.is_floating_point or name == "nextafter" and dtype.is_floating_point:
        assert_same(got, want.astype(out.numpy_dtype), x)
    elif row.exact:
        assert_same(got, narrow(want, out), x)
    else:
        assert_near(got, want, out, 1 if out.bits <= 16 else row.ulp, [x, y], row.absolute)


@pytest.mark.parametrize("name", list(BINARY))
@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.int16], ids=named)
def test_forms_shapes_and_layouts(name, dtype):
    """Methods, forms in place, broadcast, strided, 0-d and empty operands give the same codes."""
    row = BINARY[name]
    out = expected_dtype(row, dtype)
    if out is None:
        return
    array = values_of(dtype)[:240]
    if dtype.is_integer:
        array = np.where(array % 9 <= 0, 1, array % 9).astype(array.dtype)
    function, method = getattr(al, name), getattr(al.Tensor, name)
    x, y = al.from_numpy(array), al.from_numpy(array[::-1].copy())
    want = function(x, y).numpy()
    assert_same(method(x, y).numpy(), want)
    assert_written(x.to(dtype, copy=True), name, [y], want)
    # The same pairs from memory that runs backwards, in steps, and across.
    assert_same(function(x, x[::-1]).numpy(), want)
    assert_same(function(x[2::5], y[2::5]).numpy(), want[2::5].copy())
    grid, other = x.reshape(12, 20), y.reshape(12, 20)
    assert_same(function(grid.T, other.T).numpy(), want.reshape(12, 20).T.copy())
    assert_same(
        function(grid[:, 1::2], other.T.contiguous().T[:, 1::2]).numpy(),
        want.reshape(12, 20)[:, 1::2].copy(),
    )
    table = function(x[:12].reshape(12, 1), y[:20])
    assert table.shape == (12, 20)
    rows = x[:12].reshape(12, 1).expand(12, 20).contiguous()
    columns = y[:20].expand(12, 20).contiguous()
    assert_same(table.numpy(), function(rows, columns).numpy())
    scalar = function(x[7], y[7])
    assert scalar.shape == () and scalar.dtype == out
    assert_same(scalar.numpy(), want[7:8].reshape(()))
    empty = function(x[:0].reshape(0, 1), y[:3])
    assert empty.shape == (0, 3) and empty.dtype == out
    with pytest.raises(ValueError, match=rf"^{name}: "):
        function(x[:3], y[:4])


@pytest.mark.parametrize("name", list(BINARY))
def test_wrong_arguments(name):
    for arguments in (("x", al.ones(2)), (al.ones(2), "x"), (al.ones(2), None), (al.ones(2), {})):
        with pytest.raises(TypeError, match=rf"^{name}: .*(str|NoneType|dict)"):
            getattr(al, name)(*arguments)
    with pytest.raises(TypeError):
        getattr(al, name)(al.ones(2))
