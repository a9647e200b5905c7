"""What decompositions are, at every size: parts that multiply to the matrix, bases that are orthonormal."""

import numpy as np
import pytest

import allotrope as al

linalg = al.linalg
DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [*range(1, 71), 128, 257]
SHAPES = [(1, 1), (5, 2), (2, 5), (63, 63), (64, 64), (65, 64), (64, 65), (200, 64), (66, 190), (300, 257), (30, 300)]


def draw(rows, columns, dtype, rank=None):
    rng = np.random.default_rng(rows * 1000 + columns)

    def part(*shape):
        x = rng.standard_normal(shape)
        return x + 1j * rng.standard_normal(shape) if "complex" in dtype else x

    a = part(rows, columns) if rank is None else part(rows, rank) @ part(rank, columns)
    return a.astype(dtype)


def near(x, y, dtype, size):
    bound = (2e-6 if dtype in ("float32", "complex64") else 4e-15) * (size + 10)
    scale = max(np.abs(y).max(initial=0), 1e-30)
    assert np.isfinite(x).all() and np.abs(x - y).max(initial=0) <= bound * scale, np.abs(x - y).max()


def orthonormal(q, dtype):
    near(q.conj().T @ q, np.eye(q.shape[1]), dtype, q.shape[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_hermitian_matrices(dtype):
    for n in SIZES:
        for rank in (None, 1) if n in (30, 70) else (None,):
            a = draw(n, n, dtype, rank)
            a = a + a.conj().T
            values, vectors = (x.numpy() for x in linalg.eigh(al.tensor(a)))
            assert (np.diff(values) >= 0).all()
            orthonormal(vectors, dtype)
            near(vectors * values @ vectors.conj().T, a, dtype, n)
            near(linalg.eigvalsh(al.tensor(a)).numpy(), values, dtype, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values(dtype):
    for rows, columns in [*SHAPES, *((n, n) for n in SIZES[::5])]:
        for rank in (None, min(rows, columns) // 2 + 1):
            a = draw(rows, columns, dtype, rank)
            for full in (False, True):
                u, s, v = (x.numpy() for x in linalg.svd(al.tensor(a), full_matrices=full))
                assert (np.diff(s) <= 0).all() and (s >= 0).all()
                orthonormal(u, dtype)
                orthonormal(v.conj().T, dtype)
                near(u[:, : len(s)] * s @ v[: len(s)], a, dtype, max(rows, columns))
            near(linalg.svdvals(al.tensor(a)).numpy(), s, dtype, max(rows, columns))


@pytest.mark.parametrize("dtype", DTYPES)
def test_orthogonal_bases(dtype):
    for rows, columns in [*SHAPES, *((n, n) for n in SIZES[::5])]:
        for rank in (None, min(rows, columns) // 2 + 1):
            a = draw(rows, columns, dtype, rank)
            for mode in ("reduced", "complete"):
                q, r = (x.numpy() for x in linalg.qr(al.tensor(a), mode=mode))
                orthonormal(q, dtype)
                near(q @ r, a, dtype, max(rows, columns))
                assert (np.tril(r, -1) == 0).all() and (np.diagonal(r).imag == 0).all()
            if rank is None:
                # The signs are LAPACK's.
                near(r, np.linalg.qr(a, mode="complete")[1], dtype, 10 * max(rows, columns))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors_of_any_matrix(dtype):
    for n in SIZES:
        a = draw(n, n, dtype)
        values, vectors = (x.numpy() for x in linalg.eig(al.tensor(a)))
        near(np.linalg.norm(vectors, axis=0), np.ones(n), dtype, n)
        near(a @ vectors, vectors * values, dtype, 10 * n)
        if "complex" not in dtype:
            first = np.flatnonzero(values.imag > 0)
            assert (values[first + 1] == values[first].conj()).all()
            assert (vectors[:, first + 1] == vectors[:, first].conj()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_least_squares(dtype):
    for rows, columns in [(64, 64), (100, 66), (300, 65), (66, 100), (20, 7)]:
        for rank in (None, 5):
            a, b = draw(rows, columns, dtype, rank), draw(rows, 3, dtype)
            x, _, found, _ = linalg.lstsq(al.tensor(a), al.tensor(b), driver="gelsd")
            assert found.item() == (rank or min(rows, columns))
            wanted = np.linalg.lstsq(a.astype("complex128"), b.astype("complex128"), rcond=1e-4 if rank else None)[0]
            error = np.abs(x.numpy() - wanted).max() / np.abs(wanted).max()
            assert error < (2e-2 if dtype in ("float32", "complex64") else 1e-10), error


@pytest.mark.parametrize("n", [20, 70, 300])
def test_nothing_and_what_is_no_number(n):
    zero = al.zeros(n, n, dtype=al.float64)
    assert (linalg.eigh(zero)[0] == 0).all().item() and (linalg.svdvals(zero) == 0).all().item()
    orthonormal(linalg.svd(zero)[0].numpy(), "float64")
    orthonormal(linalg.qr(zero)[0].numpy(), "float64")
    assert (linalg.eigvals(zero) == 0).all().item()
    for bad in (float("nan"), float("inf")):
        a = zero.clone()
        a[n // 2, 0] = bad
        for work in (linalg.eigh, linalg.svd, linalg.eig):
            with pytest.raises(linalg.LinAlgError, match="not finite"):
                work(a)
        assert linalg.qr(a)[1].isnan().any().item()
