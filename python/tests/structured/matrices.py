"""Matrices of every kind, and how far results may be from what they stand for."""

import numpy

import allotrope as al

EXACT = [al.float32, al.float64, al.complex64, al.complex128]
EPSILON = {"float32": 1.2e-7, "float64": 2.3e-16, "complex64": 1.2e-7, "complex128": 2.3e-16}


def random(shape, dtype, seed=0):
    """Normal numbers of a dtype as an array."""
    generator = numpy.random.default_rng([seed, *shape])
    x = generator.standard_normal(shape)
    if dtype.is_complex:
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype.numpy_dtype)


def wide(x):
    """A tensor as an array of float64 or complex128."""
    dtype = al.complex128 if x.dtype.is_complex else al.float64
    return x.to(dtype).numpy()


def adjoint(x):
    return numpy.swapaxes(x, -2, -1).conj()


def positive(shape, dtype, seed=0):
    """Positive definite matrices."""
    a = random(shape, dtype, seed)
    return (a @ adjoint(a) + shape[-1] * numpy.eye(shape[-1])).astype(a.dtype)


def hermitian(shape, dtype, seed=0):
    a = random(shape, dtype, seed)
    return ((a + adjoint(a)) / 2).astype(a.dtype)


def assert_close(given, expected, dtype, factor=50.0, scale=None):
    """Within so many rounding errors of the largest."""
    given = wide(given) if isinstance(given, al.Tensor) else numpy.asarray(given)
    expected = numpy.asarray(expected)
    assert given.shape == expected.shape, (given.shape, expected.shape)
    if expected.size == 0:
        return
    if scale is None:
        scale = max(numpy.abs(expected).max(), 1e-30)
    assert numpy.isfinite(given).all()
    error = numpy.abs(given - expected).max() / scale
    assert error <= factor * EPSILON[dtype.name], (error / EPSILON[dtype.name], factor)


def assert_orthonormal(q, dtype, factor=50.0):
    """Columns of norm one, at right angles."""
    q = wide(q)
    identity = numpy.broadcast_to(numpy.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1]))
    assert_close(adjoint(q) @ q, identity, dtype, factor, scale=1.0)
