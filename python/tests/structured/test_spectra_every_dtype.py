"""Transforms and linear algebra of every dtype, wherever the elements lie, against NumPy."""

import numpy as np
import pytest
from arrangements import LAYOUTS, assert_close, laid, numbers, wide
from reference import DTYPES, REALS, named

import allotrope as al

NORMS = ["backward", "ortho", "forward"]
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
GRIDS = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
REAL_ONLY = ("rfft", "ihfft")


def transforms(dtype):
    """What is defined for a dtype."""
    for name in LINES + GRIDS:
        if not (dtype.is_complex and name.startswith(REAL_ONLY)):
            yield name


def answer(dtype, name):
    """Narrow numbers are transformed in float32, and complex answers are complex64."""
    double = dtype in (al.float64, al.complex128)
    if name.startswith(("irfft", "hfft")):
        return al.float64 if double else None
    return al.complex128 if double else al.complex64


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_transforms(dtype, layout):
    x = laid(numbers(dtype, 4, 3, 5), layout)
    array = wide(x)
    for name in transforms(dtype):
        expected = answer(dtype, name)
        for norm in NORMS:
            got = getattr(al.fft, name)(x, norm=norm)
            assert expected is None or got.dtype == expected
            assert_close(got, getattr(np.fft, name)(array, norm=norm), ulps=16)
        if name in LINES:
            for n in (3, 8):
                got = getattr(al.fft, name)(x, n, -3)
                assert_close(got, getattr(np.fft, name)(array, n, -3), ulps=16)
        else:
            got = getattr(al.fft, name)(x, (3, 6), (-1, 0))
            assert_close(got, getattr(np.fft, name)(array, (3, 6), (-1, 0)), ulps=16)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_hermitian_transforms_of_grids(dtype, layout):
    """hfft over several dimensions is fft over all but the last, which is hfft."""
    x = laid(numbers(dtype, 4, 3, 5), layout)
    array = wide(x)
    want = np.fft.hfft(np.fft.fftn(array, axes=(0, 1)), axis=-1)
    assert_close(al.fft.hfftn(x), want, ulps=32)
    assert_close(al.fft.hfft2(x), np.fft.hfft(np.fft.fft(array, axis=-2), axis=-1), ulps=32)
    if not dtype.is_complex:
        want = np.fft.ifftn(np.fft.ihfft(array, axis=-1), axes=(0, 1))
        assert_close(al.fft.ihfftn(x), want, ulps=32)
        assert_close(al.fft.ihfft2(x), np.fft.ifft(np.fft.ihfft(array, axis=-1), axis=-2), ulps=32)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_transforms_of_no_lines(dtype):
    x = al.zeros((0, 4), dtype=dtype)
    for name in transforms(dtype):
        if name in LINES:
            got = getattr(al.fft, name)(x)
            size = {"rfft": 3, "ihfft": 3, "irfft": 6, "hfft": 6}.get(name, 4)
            assert tuple(got.shape) == (0, size)


def regular(dtype, layout, *shape):
    """Matrices far from singular."""
    n = shape[-1]
    x = numbers(dtype, *shape, seed=11)
    if dtype == al.bool:
        return laid(al.eye(n, dtype=al.bool).expand(*shape).contiguous(), layout)
    heavy = 4 if dtype.is_floating_point and dtype.bits == 8 else 12
    return laid(
        (x.to(al.complex128 if dtype.is_complex else al.float64) + heavy * al.eye(n)).to(dtype),
        layout,
    )


def tolerance(got):
    """Errors are those of float32 for narrow numbers, which are rounded once at the end."""
    return 64 if got.dtype in (al.float32, al.float64, al.complex64, al.complex128) else 2


@pytest.mark.parametrize("layout", LAYOUTS[:-1])
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_solutions(dtype, layout):
    a, b = regular(dtype, layout, 2, 3, 3), laid(numbers(dtype, 2, 3, 4), layout)
    wide_a = wide(a).astype(complex if dtype.is_complex else float)
    for got, want in [
        (al.linalg.solve(a, b), np.linalg.solve(wide_a, wide(b))),
        (al.linalg.inv(a), np.linalg.inv(wide_a)),
        (al.linalg.det(a), np.linalg.det(wide_a)),
        (al.linalg.slogdet(a)[1], np.linalg.slogdet(wide_a)[1]),
        (al.linalg.pinv(a), np.linalg.pinv(wide_a)),
        (al.linalg.svdvals(a), np.linalg.svd(wide_a, compute_uv=False)),
        (al.linalg.lstsq(a, b)[0], np.linalg.solve(wide_a, wide(b))),
        (al.linalg.matrix_power(a, -1), np.linalg.inv(wide_a)),
    ]:
        assert_close(got, want, tolerance(got))
    np.testing.assert_array_equal(al.linalg.matrix_rank(a).numpy(), [3, 3])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_norms_and_small_products(dtype, layout):
    x, y = laid(numbers(dtype, 4, 3), layout), laid(numbers(dtype, 4, 3, seed=4), layout)
    array = wide(x).astype(complex if dtype.is_complex else float)
    for order in (1, 2, 3, np.inf, -np.inf, 0):
        got = al.linalg.vector_norm(x, order, dim=-1)
        assert_close(got, np.linalg.norm(array, order, axis=-1), 16)
    for order in ("fro", "nuc", 1, -1, 2, np.inf, -np.inf):
        got = al.linalg.matrix_norm(x, order)
        assert_close(got, np.linalg.norm(array, order), tolerance(got))
    if dtype == al.bool:
        return
    got = al.linalg.cross(x, y, dim=-1)
    assert got.dtype == dtype
    assert_close(got, np.cross(wide(x), wide(y)), 2)
    got = al.linalg.vecdot(x, y, dim=-2)
    assert got.dtype == dtype
    assert_close(got, (wide(x).conj() * wide(y)).sum(-2), 2)


@pytest.mark.parametrize("layout", LAYOUTS[:-1])
@pytest.mark.parametrize(
    "dtype", [d for d in DTYPES if d.bits > 8 or not d.is_floating_point], ids=named
)
def test_factors(dtype, layout):
    a = regular(dtype, layout, 3, 3)
    array = wide(a).astype(complex if dtype.is_complex else float)
    hermitian = laid(al.tensor(array + array.conj().T).to(dtype), layout)
    whole = wide(hermitian).astype(array.dtype)
    ulps = 400 if dtype.bits > 16 or not dtype.is_floating_point else 12

    q, r = al.linalg.qr(a)
    assert_close(q.to(r.dtype) @ r, array, ulps)
    u, s, vh = al.linalg.svd(a)
    assert_close((u * s.to(u.dtype)) @ vh, array, ulps)
    values, vectors = al.linalg.eigh(hermitian)
    assert_close(values, np.linalg.eigvalsh(whole), ulps)
    lower = al.linalg.cholesky(hermitian)
    assert_close(lower @ lower.mH, whole, ulps)
    values, vectors = al.linalg.eig(a)
    vectors = wide(vectors)
    np.testing.assert_allclose(
        array @ vectors, vectors * wide(values), atol=0.1 if ulps == 12 else 1e-3
    )


@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_matrices_of_nothing(dtype):
    none = al.zeros((2, 0, 0), dtype=dtype)
    assert al.linalg.det(none).tolist() == [1, 1]
    assert tuple(al.linalg.inv(none).shape) == (2, 0, 0)
    assert tuple(al.linalg.solve(none, al.zeros((2, 0, 3), dtype=dtype)).shape) == (2, 0, 3)
    assert [tuple(part.shape) for part in al.linalg.svd(none)] == [(2, 0, 0), (2, 0), (2, 0, 0)]
    assert tuple(al.linalg.eigh(none)[0].shape) == (2, 0)
    assert tuple(al.linalg.cholesky(none).shape) == (2, 0, 0)
    assert al.linalg.matrix_norm(none).tolist() == [0, 0]
