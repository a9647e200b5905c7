"""Where the standard's answer or error is not the library's, and the special cases found by its own suite."""

import math

import numpy as np
import pytest

import allotrope as al
from allotrope import array_api as xp


def signs(z):
    return math.copysign(1, z.real), math.copysign(1, z.imag)


def test_complex_zeros_have_the_standards_signs():
    for dtype in (xp.complex64, xp.complex128):
        for b in (1.0, 2.5, 1e20):
            for z, want in ((complex(math.inf, b), (1, 1)), (complex(math.inf, -b), (1, -1))):
                assert signs(complex(xp.tanh(xp.asarray(z, dtype=dtype)))) == want
                assert signs(complex(xp.tanh(xp.asarray(-z, dtype=dtype)))) == (-1, -want[1])
        for a in (0.0, -0.0):
            assert signs(complex(xp.expm1(xp.asarray(complex(a, 0.0), dtype=dtype)))) == (1, 1)
            assert signs(complex(xp.expm1(xp.asarray(complex(a, -0.0), dtype=dtype)))) == (1, -1)


def test_products_alone_keep_the_sign_of_zero():
    zero, less = xp.asarray([0.0]), xp.asarray([-0.0])
    for product in (xp.linalg.outer(zero, less), xp.tensordot(zero, less, axes=0), al.kron(zero, less)):
        assert bool(xp.all(xp.signbit(product)))


def test_nothing_left_to_divide_by_is_nan():
    x = xp.asarray([[1.0, 2.0], [3.0, 5.0]])
    for function in (xp.std, xp.var):
        assert xp.all(xp.isnan(function(x, axis=0, correction=2)))
        assert xp.isnan(function(x, correction=4)) and xp.isnan(function(x, correction=5.5))
        assert not xp.isnan(function(x, correction=3.5))
        assert function(xp.ones((0, 2)), axis=0).shape == (2,)
        assert xp.all(xp.isnan(function(xp.ones((0, 2)), axis=0)))


def test_masks_with_sizes_of_zero():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert x[xp.zeros((0,), dtype=xp.bool)].shape == (0, 3)
    assert x[xp.zeros((2, 0), dtype=xp.bool)].shape == (0,)
    assert x[xp.asarray(True)].shape == (1, 2, 3) and x[xp.asarray(False)].shape == (0, 2, 3)
    for shape in ((1,), (3,), (2, 2), (2, 3, 1)):
        with pytest.raises(IndexError):
            x[xp.ones(shape, dtype=xp.bool)]


def test_unique_nans_are_distinct():
    values, indices, inverse, counts = xp.unique_all(xp.asarray([xp.nan, 1.0, xp.nan, 0.0, -0.0]))
    assert counts.tolist() == [2, 1, 1, 1] and indices.tolist() == [3, 1, 0, 2]
    assert inverse.tolist() == [2, 1, 3, 0, 0] and bool(xp.all(xp.isnan(values[2:])))


def test_solve_takes_only_one_dimension_for_a_vector():
    a = xp.stack([xp.eye(2), 2 * xp.eye(2)])
    b = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert xp.linalg.solve(a, b).shape == (2, 2, 2)
    assert xp.linalg.solve(a, b)[1, ...].tolist() == (b / 2).tolist()
    assert xp.linalg.solve(a, b[0, :]).shape == (2, 2)


def test_decompositions_of_extreme_numbers():
    """Columns that vanish in the middle of a reduction, and squares beyond the range."""
    for dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128):
        for n in range(2, 12):
            for value in (1.0, 3.0, 0.1, 7.0):
                x = xp.full((n, n), value, dtype=dtype)
                values = xp.linalg.svdvals(x)
                assert abs(float(values[0]) - n * value) <= n * n * value * 1e-6
                assert xp.max(values[1:]) <= n * n * value * 1e-6 and int(xp.linalg.matrix_rank(x)) == 1
                assert xp.max(xp.abs(xp.linalg.pinv(x) - 1 / (n * n * value))) < 1e-5 / value
        for big in (1.57e19, 1e37) if dtype in (xp.float32, xp.complex64) else (1e154, 1e307):
            x = xp.asarray([[big, 0.0], [big * 0.98, 0.0]], dtype=dtype)
            for matrix in (x, 1j * x if xp.isdtype(dtype, "complex floating") else -x):
                q, r = xp.linalg.qr(matrix)
                assert bool(xp.all(xp.isfinite(q))) and bool(xp.all(r == xp.triu(r)))
                assert xp.max(xp.abs(q @ r / big - matrix / big)) < 1e-6


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: xp.squeeze(xp.ones((2, 1)), 0), ValueError, "squeeze: size 2 along axis 0; 1 is accepted"),
        (lambda: xp.squeeze(xp.ones((2, 1)), (1, 0)), ValueError, "squeeze: size 2 along axis 0"),
        (lambda: xp.nonzero(xp.ones(())), ValueError, r"nonzero: no dimensions: \[\]; one or more"),
        (lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])), ValueError, "take: no axis: 2 dimensions"),
        (lambda: xp.vecdot(xp.ones(1), xp.ones(2)), ValueError, "vecdot: sizes differ along axis -1: 1 and 2"),
        (lambda: xp.reshape(xp.ones((2, 3)).T, (6,), copy=False), ValueError, "not without a copy"),
        (lambda: xp.asarray([1], copy=False), ValueError, "asarray: a copy is needed"),
        (lambda: xp.astype(xp.asarray([1j]), xp.float32), TypeError, "complex to real"),
        (lambda: xp.cumulative_sum(xp.ones((2, 2))), ValueError, "cumulative_sum"),
        (lambda: xp.isdtype(xp.int8, "float point"), ValueError, "isdtype: unknown kind"),
        (lambda: xp.sum(xp.ones(2), 0), TypeError, "positional"),
        (lambda: xp.concat([xp.ones(1)], 0), TypeError, "positional"),
        (lambda: xp.ones(2, xp.int8), TypeError, "positional"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_copies_and_views():
    x = xp.ones((2, 2))
    assert xp.astype(x, xp.float32, copy=False) is x or np.shares_memory(xp.astype(x, xp.float32, copy=False).numpy(), x.numpy())
    for copied in (xp.astype(x, xp.float32), xp.asarray(x, copy=True), xp.reshape(x, (4,), copy=True)):
        copied[...] = 5
    assert xp.all(x == 1)
    for shared in (xp.asarray(x, copy=False), xp.reshape(x, (4,), copy=False), xp.from_dlpack(x, copy=False)):
        shared[...] = shared[...] + 1
    assert xp.all(x == 4)


def test_dlpack():
    x = xp.asarray([1.0, 2.0])
    assert x.__dlpack_device__() == (1, 0)
    for keywords in ({}, {"copy": False}, {"copy": True}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}):
        assert xp.from_dlpack(x.__dlpack__(**keywords)).tolist() == [1.0, 2.0]
    array = np.asarray([1, 2, 3])
    shared = xp.from_dlpack(array, copy=False)
    array[0] = 9
    assert shared.tolist() == [9, 2, 3] and xp.from_dlpack(array, device="cpu", copy=True).tolist() == [9, 2, 3]
    read_only = np.asarray([1.0, 2.0])
    read_only.flags.writeable = False
    with pytest.raises(BufferError, match="cannot say read-only"):
        al.from_numpy(read_only).__dlpack__(copy=False)


def test_gradients_go_through():
    x = al.tensor([1.0, 2.0, 4.0], requires_grad=True)
    xp.sum(xp.where(x > 1, xp.log(x), 0) * xp.maximum(x, 3)).backward()
    assert np.allclose(x.grad.numpy(), [0.0, 1.5, 1 + math.log(4)])
