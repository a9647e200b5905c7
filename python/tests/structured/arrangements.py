"""Tensors of every dtype whose elements lie in memory in every way a view can have them."""

import numpy as np
from reference import to_float64

import allotrope as al

LAYOUTS = ["contiguous", "transposed", "sliced", "reversed", "broadcast"]


def numbers(dtype, *shape, seed=0, low=-3):
    """Small numbers which every dtype holds, halves among them, with many ties."""
    random = np.random.default_rng([seed, *shape])
    values = random.integers(low, 4, shape)
    if dtype == al.bool:
        return al.tensor(values > 0)
    if dtype.is_integer:
        return al.tensor(values if dtype.is_signed else abs(values)).to(dtype)
    if dtype.is_complex:
        return al.tensor(values / 2 + 1j * random.integers(low, 4, shape)).to(dtype)
    return al.tensor(values / 2).to(dtype)


def laid(x, layout):
    """A view with the elements of x, or the first of them along one dimension ("broadcast")."""
    if x.dim() == 0 or layout == "contiguous":
        return x
    if layout == "transposed":
        axes = list(range(x.dim()))[::-1]
        return x.permute(*axes).contiguous().permute(*axes)
    if layout == "sliced":
        return al.stack([x, x], -1).flatten(-2)[..., ::2]
    if layout == "reversed":
        return x.flip(-1)[..., ::-1]
    return x[..., :1].expand(*x.shape)


def wide(x):
    """The elements in NumPy: int64, float64 or complex128, which hold them all exactly."""
    array = x.detach().numpy()
    if x.dtype == al.bool or x.dtype.is_integer:
        return array.astype(np.int64)
    return array.astype(np.complex128) if x.dtype.is_complex else to_float64(array)


def narrow(array, dtype):
    """Exact numbers in a dtype: integers modulo two to the width, others rounded once."""
    if dtype == al.bool:
        return np.asarray(array) != 0
    if dtype.is_integer:
        return np.asarray(array).astype(np.int64).astype(dtype.numpy_dtype)
    return np.asarray(al.tensor(np.asarray(array)).to(dtype).numpy())


def assert_close(got, want, ulps=1):
    """Within so many units in the last place of the largest number of the answer."""
    want = np.asarray(want)
    assert tuple(got.shape) == want.shape
    if got.dtype == al.bool or got.dtype.is_integer:
        np.testing.assert_array_equal(got.numpy(), narrow(want, got.dtype))
        return
    largest = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    real = got.dtype.to_real() if got.dtype.is_complex else got.dtype
    atol = ulps * float(al.finfo(real).eps) * max(largest, 1e-30)
    np.testing.assert_allclose(wide(got), want, rtol=0, atol=atol)
