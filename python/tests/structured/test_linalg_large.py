"""Matrices so large that their products are shared out over threads, a few rows to each."""

import numpy
import pytest

import allotrope as al
from matrices import EXACT, adjoint, assert_close, assert_orthonormal, hermitian, positive, random, wide
from reference import named

N = 300


def residual(given, expected, dtype):
    """Products of such matrices have rounding errors of their own."""
    assert_close(given, expected, dtype, 10 * N)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_factors(dtype):
    a = random((N, N), dtype)
    p, l, u = map(wide, al.linalg.lu(al.tensor(a)))
    residual(p @ l @ u, a, dtype)
    q, r = al.linalg.qr(al.tensor(a))
    residual(wide(q) @ wide(r), a, dtype)
    assert_orthonormal(q, dtype, 10 * N)
    square = positive((N, N), dtype)
    root = wide(al.linalg.cholesky(al.tensor(square)))
    residual(root @ adjoint(root), square, dtype)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", [(20, 4000), (4000, 20)])
def test_long_and_flat(shape, dtype):
    a = random(shape, dtype)
    q, r = al.linalg.qr(al.tensor(a))
    residual(wide(q) @ wide(r), a, dtype)
    u, s, vh = al.linalg.svd(al.tensor(a), full_matrices=False)
    residual((wide(u) * wide(s)) @ wide(vh), a, dtype)
    wide_a = a.astype("complex128")
    assert_close(s, numpy.linalg.svd(wide_a, compute_uv=False), dtype.to_real(), 10 * N)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_spectra(dtype):
    a = random((N, N), dtype)
    values, vectors = map(wide, al.linalg.eig(al.tensor(a)))
    scale = numpy.abs(values).max()
    assert_close(a @ vectors, vectors * values, dtype, 10 * N, scale=scale)
    trace = numpy.trace(a.astype("complex128"))
    assert_close(values.sum(), trace, dtype, 10 * N, scale=scale)
    a = hermitian((N, N), dtype)
    values, vectors = al.linalg.eigh(al.tensor(a))
    residual((wide(vectors) * wide(values)) @ adjoint(wide(vectors)), a, dtype)
    assert_close(values, numpy.linalg.eigvalsh(a.astype("complex128")), dtype.to_real(), 10 * N)
    a = random((N, N), dtype, 1)
    u, s, vh = al.linalg.svd(al.tensor(a))
    residual((wide(u) * wide(s)) @ wide(vh), a, dtype)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_solutions(dtype):
    a, b = positive((N, N), dtype), random((N, 700), dtype, 1)
    residual(a @ wide(al.linalg.solve(al.tensor(a), al.tensor(b))), b, dtype)
    residual(a @ wide(al.linalg.inv(al.tensor(a))), numpy.eye(N), dtype)
    lower = numpy.tril(a)
    x = wide(al.linalg.solve_triangular(al.tensor(lower), al.tensor(b), upper=False))
    residual(lower @ x, b, dtype)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_exponential(dtype):
    a = hermitian((N, N), dtype) / 20
    values, vectors = numpy.linalg.eigh(a.astype("complex128"))
    expected = (vectors * numpy.exp(values)) @ adjoint(vectors)
    residual(al.linalg.matrix_exp(al.tensor(a)), expected, dtype)
