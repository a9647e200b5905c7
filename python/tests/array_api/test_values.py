"""The same code over NumPy's namespace and ours: the same values, shapes, dtypes and kinds of results."""

import itertools

import numpy as np
import pytest

import allotrope as al
from allotrope import array_api

from . import standard

X = [[3.0, -1.5, 2.0], [0.5, 4.0, -0.25]]
N = [[3, 1, 2], [5, 4, 6]]
S = [[4.0, 1.0], [1.0, 3.0]]

CALLS = """
xp.arange(5) | xp.arange(1, 7, 2) | xp.arange(5, 0, -2) | xp.arange(3, dtype=xp.float64)
xp.eye(3) | xp.eye(2, 4, k=1) | xp.eye(3, k=-1, dtype=xp.int8) | xp.eye(2, k=9)
xp.linspace(0, 1, 5) | xp.linspace(0, 1, 5, endpoint=False) | xp.linspace(2, 2, 1) | xp.linspace(0, 1j, 3)
xp.full((2, 3), 7) | xp.full_like(x, 2) | xp.ones_like(n) | xp.zeros((2, 0)) | xp.ones(3)
xp.meshgrid(n[0, :], n[1, :2]) | xp.meshgrid(n[0, :], n[1, :2], indexing="ij")
xp.tril(x) | xp.triu(x, k=1) | xp.tril(n, k=-1)
xp.astype(x, xp.int32) | xp.astype(n, xp.bool) | xp.astype(x, xp.complex128)
xp.clip(x, 0, 2) | xp.clip(n, min=2) | xp.clip(x, max=xp.asarray([0.0, 1.0, 2.0], dtype=xp.float32))
xp.where(x > 0, x, 0) | xp.where(x > 0, 1, x) | xp.where(n > 2, n, -n)
xp.take(x, xp.asarray([1, 0]), axis=0) | xp.take(n[0, :], xp.asarray([-1, 0])) | xp.take_along_axis(x, xp.argsort(x))
xp.matmul(x, x.T) | xp.matrix_transpose(x) | xp.tensordot(x, x) | xp.tensordot(x, x, axes=((1,), (1,)))
xp.vecdot(x, x) | xp.vecdot(z, z) | xp.vecdot(n, n, axis=-2) | x @ x.T
xp.broadcast_arrays(x, n[:1, :]) | xp.broadcast_to(n[0, :], (2, 3)) | xp.broadcast_shapes((2, 1), (3,))
xp.concat([x, x]) | xp.concat([n, n[:, :1]], axis=1) | xp.concat([n, n], axis=None) | xp.stack([x, x], axis=-1)
xp.expand_dims(x, 1) | xp.expand_dims(x, -1) | xp.flip(x) | xp.flip(x, axis=0) | xp.flip(x, axis=(0, 1))
xp.moveaxis(x, 0, 1) | xp.permute_dims(x, (1, 0)) | xp.repeat(n, 2) | xp.repeat(n, 2, axis=0)
xp.repeat(n[0, :], xp.asarray([0, 1, 2])) | xp.reshape(x, (3, 2)) | xp.reshape(x, (-1,), copy=True)
xp.roll(n, 1) | xp.roll(n, (1, 2), axis=(0, 1)) | xp.squeeze(x[:1, :], 0) | xp.squeeze(x[:1, :1], (0, 1))
xp.tile(n, (2,)) | xp.tile(n, (2, 1, 1)) | xp.unstack(n) | xp.unstack(n, axis=1)
xp.argmax(x) | xp.argmin(x, axis=1) | xp.argmax(n, axis=0, keepdims=True) | xp.count_nonzero(n, axis=1)
xp.nonzero(n > 2) | xp.searchsorted(n[0, :], n[1, :], sorter=xp.argsort(n[0, :]))
xp.searchsorted(xp.asarray([1, 2, 4]), xp.asarray([0, 2, 9]), side="right") | xp.searchsorted(xp.asarray([1, 2]), 2)
xp.unique_all(n % 3) | xp.unique_counts(n % 3) | xp.unique_inverse(n % 3) | xp.unique_values(n % 3)
xp.argsort(x, axis=0) | xp.argsort(n % 2, descending=True) | xp.sort(x) | xp.sort(n, axis=0, descending=True)
xp.cumulative_sum(x, axis=1) | xp.cumulative_sum(n[0, :], include_initial=True) | xp.cumulative_prod(n, axis=0)
xp.cumulative_sum(xp.astype(n, xp.uint8), axis=0) | xp.cumulative_prod(x, axis=1, dtype=xp.float64)
xp.max(x) | xp.min(n, axis=(0, 1)) | xp.max(x, axis=0, keepdims=True) | xp.mean(x, axis=1) | xp.mean(z)
xp.sum(x) | xp.sum(xp.astype(n, xp.int8)) | xp.sum(xp.astype(n, xp.uint16), axis=0) | xp.prod(n, axis=1)
xp.std(x) | xp.std(x, axis=0, correction=1) | xp.var(x, axis=(0, 1), keepdims=True) | xp.var(x, correction=0.5)
xp.all(n > 1) | xp.any(n > 5, axis=1) | xp.all(x, axis=0, keepdims=True)
xp.diff(n) | xp.diff(x, axis=0) | xp.diff(n, n=2) | xp.diff(n, prepend=n[:, :1], append=n)
xp.isin(n, xp.asarray([1, 5])) | xp.isin(n, xp.asarray([1, 5]), invert=True)
xp.linalg.cholesky(s) | xp.linalg.cholesky(s, upper=True) | xp.linalg.det(s) | xp.linalg.inv(s)
xp.linalg.cross(n[0, :], n[1, :]) | xp.linalg.diagonal(x) | xp.linalg.diagonal(x, offset=1)
xp.linalg.eigvalsh(s) | xp.linalg.eigh(s).eigenvalues | xp.linalg.matrix_norm(s) | xp.linalg.matrix_norm(s, ord=1)
xp.linalg.matrix_norm(s, ord="nuc") | xp.linalg.matrix_norm(s, ord=-xp.inf, keepdims=True) | xp.linalg.matrix_power(s, 3)
xp.linalg.matrix_rank(s) | xp.linalg.outer(n[0, :], n[1, :]) | xp.linalg.pinv(x) | xp.linalg.slogdet(s)
xp.linalg.solve(s, s) | xp.linalg.solve(s, s[0, :]) | xp.linalg.svdvals(x) | xp.linalg.svd(x).S | xp.linalg.trace(s)
xp.linalg.svd(x, full_matrices=False).Vh.shape | xp.linalg.qr(x.T, mode="complete").Q.shape | xp.linalg.trace(n, offset=1)
xp.linalg.vector_norm(x) | xp.linalg.vector_norm(x, axis=1, ord=1) | xp.linalg.vector_norm(x, ord=xp.inf, keepdims=True)
xp.fft.fft(z) | xp.fft.ifft(z, axis=0) | xp.fft.rfft(x, n=4) | xp.fft.irfft(z, n=4, norm="ortho") | xp.fft.hfft(z)
xp.fft.ihfft(x, norm="forward") | xp.fft.fftn(z) | xp.fft.ifftn(z, axes=(0,)) | xp.fft.rfftn(x, s=(2, 2), axes=(0, 1))
xp.fft.irfftn(z, axes=(0, 1)) | xp.fft.fftfreq(5, d=0.1) | xp.fft.rfftfreq(6) | xp.fft.fftshift(n) | xp.fft.ifftshift(n, axes=1)
x[0, ...] | x[:, xp.newaxis, 1] | x[x > 0] | n[xp.asarray([0, 1]), xp.asarray([2, 0])] | x[::-1, 1:]
xp.can_cast(xp.int8, xp.int16) | xp.can_cast(xp.float64, xp.float32) | xp.isdtype(xp.uint8, "unsigned integer")
xp.finfo(xp.float32).eps | xp.iinfo(xp.uint16).max | xp.finfo(xp.complex128).bits | x.size | x.ndim
abs(x) + 1 - n * 2 | -x / 2 // 0.3 | n ** 2 % 4 | (n & 3) | xp.bitwise_or(n, 1) ^ 2 | n << 2 >> 1 | ~n | x >= 1 | n != 3
"""
CALLS = [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")]

# What NumPy has in another order, or no keyword for.
UNLIKE_NUMPY = {
    "xp.argsort(n % 2, descending=True)": "xp.argsort(-(n % 2), stable=True)",
    "xp.sort(n, axis=0, descending=True)": "xp.flip(xp.sort(n, axis=0), axis=0)",
    "xp.unique_values(n % 3)": "xp.sort(xp.unique_values(n % 3))",
}


def operands(xp):
    x, n, s = (xp.asarray(values) for values in (X, N, S))
    x, s = xp.astype(x, xp.float32), xp.astype(s, xp.float32)
    z = xp.astype(x, xp.complex64) + 1j * xp.flip(x)
    return {"xp": xp, "x": x, "n": n, "s": s, "z": z}


def compare(got, want, tolerance=2e-6):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        if hasattr(want, "_fields"):
            assert got._fields == want._fields
        for pair in zip(got, want):
            compare(*pair)
    elif isinstance(want, (np.ndarray, np.generic)) and isinstance(got, al.Tensor):
        assert got.shape == want.shape
        kind = got.dtype.kind
        # NumPy's defaults are of 64 bits.
        is_default = (got.dtype, want.dtype.name) in ((al.float32, "float64"), (al.complex64, "complex128"))
        assert got.dtype == want.dtype or is_default, (got.dtype, want.dtype)
        if kind in ("real floating", "complex floating"):
            np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance * 8, atol=tolerance)
        else:
            assert np.asarray(got).tolist() == want.tolist()
    else:
        assert type(got) is not al.Tensor and got == want


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    compare(eval(call, operands(array_api)), eval(UNLIKE_NUMPY.get(call, call), operands(np)))


def test_lists_and_tuples():
    """2024.12 has lists where 2025.12 has tuples."""
    xp = array_api
    x = xp.ones(2)
    assert type(xp.meshgrid(x, x)) is list and type(xp.broadcast_arrays(x, x)) is list
    assert type(xp.unstack(x)) is tuple and type(xp.nonzero(x)) is tuple
    assert type(xp.__array_namespace_info__().devices()) is list


@pytest.mark.parametrize("name", standard.BINARY)
def test_python_numbers_take_the_dtype_of_the_array(name):
    xp = array_api
    function = getattr(xp, name)
    if name.startswith("bitwise"):
        x, number = xp.asarray([1, 2], dtype=xp.int16), 1
    elif name.startswith("logical"):
        x, number = xp.asarray([True, False]), True
    else:
        x, number = xp.asarray([1.0, 2.0], dtype=xp.float64), 2
    array = xp.asarray(number, dtype=x.dtype)
    for got, want in ((function(x, number), function(x, array)), (function(number, x), function(array, x))):
        assert got.dtype == want.dtype and xp.all(got == want)
    assert function(x, number).dtype in (x.dtype, xp.bool)
    with pytest.raises(TypeError):
        function(x1=x, x2=x)


def is_decided(first, second):
    kinds = {np.dtype(first).kind, np.dtype(second).kind}
    return len(kinds) == 1 or kinds <= set("iu") or kinds <= set("fc")


PAIRS = [pair for pair in itertools.product(standard.DTYPES, repeat=2) if is_decided(*pair)]


@pytest.mark.parametrize("one, other", PAIRS)
def test_promotion_within_kinds(one, other):
    """By the standard's tables, which are NumPy's within a kind and of signed with unsigned integers."""
    xp, first, second = array_api, getattr(array_api, one), getattr(array_api, other)
    if "uint64" in (one, other) and "int" in (one.rstrip("123468"), other.rstrip("123468")):
        with pytest.raises(TypeError):
            xp.result_type(first, second)
        return
    want = np.result_type(one, other).name
    assert xp.result_type(first, second).name == want
    a, b = xp.ones(2, dtype=first), xp.ones((), dtype=second)
    assert xp.result_type(a, b).name == xp.where(xp.asarray([True, False]), a, b).dtype.name == want
    assert xp.concat([a, xp.ones(1, dtype=second)]).dtype.name == want
    assert xp.can_cast(first, second) == (want == second.name)
