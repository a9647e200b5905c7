"""QR, eigenvalues, singular values, least squares, powers."""

import numpy
import pytest

import allotrope as al
from matrices import EXACT, adjoint, assert_close, assert_orthonormal, hermitian, random, wide
from reference import DTYPES, named

SHAPES = [(1, 1), (3, 3), (7, 4), (4, 7), (40, 33), (33, 40), (3, 5, 2), (2, 2, 6, 6)]
EMPTY = [(0, 0), (0, 3), (3, 0), (0, 4, 4), (2, 0, 3)]


def spread(values, dtype, seed=0):
    """A matrix with these singular values."""
    n = len(values)
    u, _ = numpy.linalg.qr(random((n, n), dtype, seed))
    v, _ = numpy.linalg.qr(random((n, n), dtype, seed + 1))
    return (u * numpy.asarray(values)) @ v


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", SHAPES + EMPTY + [(100, 70), (70, 100)])
def test_qr(shape, dtype):
    a = random(shape, dtype)
    m, n = shape[-2:]
    for mode, width in [("reduced", min(m, n)), ("complete", m)]:
        q, r = al.linalg.qr(al.tensor(a), mode)
        assert q.shape == (*shape[:-1], width) and r.shape == (*shape[:-2], width, n)
        assert q.dtype == r.dtype == dtype
        assert_close(wide(q) @ wide(r), a, dtype, 50 + m)
        assert_orthonormal(q, dtype, 50 + m)
        assert (numpy.tril(wide(r), -1) == 0).all()
    empty, r = al.linalg.qr(al.tensor(a), "r")
    assert empty.shape == (0,) and r.shape == (*shape[:-2], min(m, n), n)


def test_qr_of_zeros_and_repeated_columns():
    for a in [numpy.zeros((4, 3)), numpy.ones((5, 4)), numpy.diag([1e-300, 1e300, 1.0])]:
        q, r = al.linalg.qr(al.tensor(a))
        assert_orthonormal(q, al.float64)
        assert_close(wide(q) @ wide(r), a, al.float64)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_householder_product(dtype):
    vectors, taus = random((2, 6, 4), dtype), random((2, 3), dtype, 1)
    result = wide(al.linalg.householder_product(al.tensor(vectors), al.tensor(taus)))
    for k in range(2):
        product = numpy.eye(6)
        for j in range(3):
            v = vectors[k, :, j].astype("complex128")
            v[:j], v[j] = 0, 1
            product = product @ (numpy.eye(6) - taus[k, j] * numpy.outer(v, v.conj()))
        assert_close(result[k], product[:, :4], dtype, 200)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", SHAPES + EMPTY + [(90, 90), (120, 20)])
def test_svd(shape, dtype):
    a = random(shape, dtype)
    m, n = shape[-2:]
    k = min(m, n)
    expected = numpy.linalg.svd(a.astype("complex128"), compute_uv=False)
    for full in [True, False]:
        u, s, vh = al.linalg.svd(al.tensor(a), full)
        assert u.shape == (*shape[:-2], m, m if full else k)
        assert vh.shape == (*shape[:-2], n if full else k, n)
        assert s.dtype == dtype.to_real() and u.dtype == vh.dtype == dtype
        assert_close(s, expected, s.dtype, 20 + m + n)
        assert_orthonormal(u, dtype, 50 + 3 * (m + n))
        assert_orthonormal(al.tensor(adjoint(wide(vh))), dtype, 50 + 3 * (m + n))
        product = wide(u)[..., :k] * wide(s)[..., None, :] @ wide(vh)[..., :k, :]
        assert_close(product, a, dtype, 50 + 3 * (m + n))
        assert (numpy.diff(wide(s)) <= 0).all() and (wide(s) >= 0).all()
    assert_close(al.linalg.svdvals(al.tensor(a)), expected, dtype.to_real(), 20 + m + n)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize(
    "values",
    [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [1, 1, 1, 1],
        [3, 2, 0, 0],
        [1, 1e-4, 1e-8, 1e-12],
        [5, 1e-5, 1e-5, 1e-5],
        [1, 1, 1e-9, 0, 0, 0, 0, 0],
    ],
)
def test_svd_of_deficient_matrices(values, dtype):
    a = spread(values, dtype).astype(dtype.numpy_dtype)
    u, s, vh = al.linalg.svd(al.tensor(a))
    assert_close(s, values, s.dtype, 60, scale=max(values) or 1)
    assert_orthonormal(u, dtype, 100)
    assert_orthonormal(vh, dtype, 100)
    assert_close(wide(u) * wide(s) @ wide(vh), a, dtype, 100, scale=max(values) or 1)


@pytest.mark.parametrize(
    "a",
    [
        numpy.zeros((5, 3)),
        numpy.ones((6, 6)),
        numpy.eye(5),
        numpy.diag([1.0, 0.0, 2.0, 0.0]),
        numpy.triu(numpy.ones((20, 20))),
        numpy.eye(6, k=1),
        numpy.diag([1e-200, 1e-210, 0.0]),
        numpy.diag([1e200, 1e190]),
        numpy.full((3, 3), 5e-324),
        numpy.array([[1e-160, 1e160], [1e150, 1e-150]]),
    ],
    ids=range(10),
)
def test_special_matrices(a):
    t = al.tensor(a)
    scale = numpy.abs(a).max() or 1.0
    u, s, vh = al.linalg.svd(t, full_matrices=False)
    assert_orthonormal(u, al.float64, 200)
    assert_close(wide(u) * (wide(s) / scale) @ wide(vh), a / scale, al.float64, 200, scale=1)
    if a.shape[0] == a.shape[1]:
        symmetric = (a + a.T) / 2
        values, vectors = al.linalg.eigh(al.tensor(symmetric))
        assert_orthonormal(vectors, al.float64, 200)
        near = symmetric / scale @ wide(vectors) - wide(vectors) * (wide(values) / scale)
        assert numpy.abs(near).max() < 1e-13
        values, vectors = al.linalg.eig(t)
        # By parts: a complex quotient of tiny numbers is NaN in NumPy.
        small = wide(values).real / scale + 1j * (wide(values).imag / scale)
        near = a / scale @ wide(vectors) - wide(vectors) * small
        assert numpy.abs(near).max() < 1e-13


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (17, 17), (90, 90), (3, 5, 5), (0, 0), (0, 3, 3)])
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigh(shape, triangle, dtype):
    a = hermitian(shape, dtype)
    n = shape[-1]
    noise = random(shape, dtype, 4)
    noise = numpy.triu(noise, 1) if triangle == "L" else numpy.tril(noise, -1)
    t = al.tensor((a + noise).astype(a.dtype))
    values, vectors = al.linalg.eigh(t, triangle)
    assert values.dtype == dtype.to_real() and vectors.dtype == dtype
    expected = numpy.linalg.eigvalsh(a.astype("complex128"))
    scale = numpy.abs(expected).max(initial=0) or 1
    assert_close(values, expected, values.dtype, 20 + 2 * n, scale=scale)
    assert_orthonormal(vectors, dtype, 50 + 3 * n)
    assert_close(a @ wide(vectors), wide(vectors) * wide(values)[..., None, :], dtype, 50 + 3 * n, scale=scale)
    assert_close(al.linalg.eigvalsh(t, triangle), expected, values.dtype, 20 + 2 * n, scale=scale)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_eigh_with_equal_eigenvalues(dtype):
    q, _ = numpy.linalg.qr(random((8, 8), dtype))
    exact = numpy.array([-2, -2, -2, 0, 0, 1, 1, 1])
    a = (q * exact) @ adjoint(q)
    values, vectors = al.linalg.eigh(al.tensor(a.astype(dtype.numpy_dtype)))
    assert_close(values, exact, values.dtype, 60)
    assert_orthonormal(vectors, dtype, 100)


def sorted_by_place(values):
    order = numpy.lexsort((values.imag.round(9), values.real.round(9)))
    return values[order]


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (10, 10), (45, 45), (4, 6, 6), (0, 0), (0, 3, 3)])
def test_eig(shape, dtype):
    a = random(shape, dtype)
    n = shape[-1]
    values, vectors = al.linalg.eig(al.tensor(a))
    assert values.dtype == vectors.dtype == dtype.to_complex()
    w, v = wide(values), wide(vectors)
    assert_close(a @ v, v * w[..., None, :], dtype, 50 + 10 * n, scale=numpy.abs(a).max(initial=0) * max(n, 1) or 1)
    assert_close(numpy.linalg.norm(v, axis=-2), numpy.ones(v.shape[:-2] + v.shape[-1:]), dtype, 20)
    only = wide(al.linalg.eigvals(al.tensor(a)))
    expected = numpy.linalg.eigvals(a.astype("complex128"))
    for given in [w, only]:
        for one, other in zip(given.reshape(-1, n), expected.reshape(-1, n)) if n else []:
            near = numpy.abs(sorted_by_place(one) - sorted_by_place(other)).max()
            assert near <= 1e-3 if dtype.bits // (1 + dtype.is_complex) == 32 else near < 1e-10


def test_eigenvalues_of_real_matrices_are_real_or_in_pairs():
    a = random((31, 31), al.float64)
    values, vectors = al.linalg.eig(al.tensor(a))
    w, v = wide(values), wide(vectors)
    k = 0
    while k < len(w):
        if w[k].imag == 0:
            assert (v[:, k].imag == 0).all()
            k += 1
        else:
            assert w[k + 1] == w[k].conj() and w[k].imag > 0
            assert (v[:, k + 1] == v[:, k].conj()).all()
            k += 2
    rotation = al.tensor([[0.0, -1.0], [1.0, 0.0]])
    assert sorted(al.linalg.eigvals(rotation).tolist(), key=lambda z: z.imag) == [-1j, 1j]


@pytest.mark.parametrize(
    "a",
    [
        [[1, 1, 0], [0, 1, 1], [0, 0, 1]],
        [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]],
        [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
        [[2, 0], [0, 2]],
        [[1, 1e8], [0, 1]],
        [[0, 1], [0, 0]],
        numpy.diag([3.0, -1.0, 3.0, 0.0]),
        numpy.eye(9, k=-1) + numpy.eye(9, k=8),
    ],
    ids=range(8),
)
def test_eig_of_special_matrices(a):
    a = numpy.asarray(a, dtype=float)
    for dtype in [al.float64, al.complex128]:
        values, vectors = al.linalg.eig(al.tensor(a).to(dtype))
        w, v = wide(values), wide(vectors)
        assert numpy.isfinite(v).all()
        assert numpy.abs(a @ v - v * w).max() <= 1e-14 * numpy.abs(a).max()
        expected = numpy.linalg.eigvals(a)
        assert numpy.abs(w.sum() - expected.sum()) < 1e-8 * numpy.abs(a).max()


def test_infinities_and_nan_are_refused_by_iterations():
    for value in [float("nan"), float("inf")]:
        a = al.full((3, 3), value)
        for name in ["svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "pinv", "matrix_rank", "cond"]:
            with pytest.raises(al.linalg.LinAlgError, match=f"linalg.{name}: not finite: the matrix has infinities or NaN"):
                getattr(al.linalg, name)(a)
        assert al.linalg.qr(a).R.shape == (3, 3)
        assert bool(al.linalg.matrix_exp(a).isnan().all())
    batch = al.tensor([[[1.0]], [[float("nan")]]])
    with pytest.raises(al.linalg.LinAlgError, match="linalg.svd: not finite at index 1"):
        al.linalg.svd(batch)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (7, 3), (3, 7), (2, 5, 3), (0, 3), (3, 0), (0, 2, 3)])
def test_pinv(shape, dtype):
    a = random(shape, dtype)
    given = wide(al.linalg.pinv(al.tensor(a)))
    expected = numpy.linalg.pinv(a.astype("complex128"), rcond=1e-12)
    assert_close(given, expected, dtype, 500)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_pinv_of_deficient_matrices(dtype):
    a = spread([3, 2, 0, 0], dtype)
    t = al.tensor(a.astype(dtype.numpy_dtype))
    p = wide(al.linalg.pinv(t))
    assert_close(a @ p @ a, a, dtype, 200)
    assert_close(p @ a @ p, p, dtype, 200)
    h = a @ adjoint(a)
    given = al.linalg.pinv(al.tensor(h.astype(dtype.numpy_dtype)), hermitian=True)
    assert_close(given, numpy.linalg.pinv(h, rcond=1e-5), dtype, 500)
    cut = wide(al.linalg.pinv(t, atol=2.5))
    assert_close(cut @ a @ cut, cut, dtype, 200)
    assert numpy.linalg.matrix_rank(cut, tol=1e-3) == 1
    assert_close(al.linalg.pinv(t, rtol=0.9), cut, dtype, 200)
    assert_close(al.linalg.pinv(t, 0.9), cut, dtype, 200)


def test_tolerances_may_differ_by_matrix():
    a = al.tensor([[[4.0, 0.0], [0.0, 1.0]]] * 3)
    tolerances = al.tensor([0.0, 2.0, 5.0])
    assert al.linalg.matrix_rank(a, atol=tolerances).tolist() == [2, 1, 0]
    assert al.linalg.matrix_rank(a, rtol=al.tensor([0.1, 0.5, 1.0])).tolist() == [2, 1, 0]
    assert al.linalg.pinv(a, atol=tolerances)[:, 0, 0].tolist() == [0.25, 0.25, 0]


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_matrix_rank(dtype):
    for values, rank in [([1, 1, 1], 3), ([1, 1, 0], 2), ([0, 0, 0], 0), ([1, 1e-12 if dtype.bits == 64 else 1e-30, 0], 2 if dtype == al.float64 else 1)]:
        a = spread(values, dtype).astype(dtype.numpy_dtype)
        assert al.linalg.matrix_rank(al.tensor(a)).item() == numpy.linalg.matrix_rank(a)
        if values == [1, 1, 0]:
            assert al.linalg.matrix_rank(al.tensor(a)).item() == rank
            h = (a @ adjoint(a)).astype(a.dtype)
            assert al.linalg.matrix_rank(al.tensor(h), hermitian=True).item() == 2
            assert al.linalg.matrix_rank(al.tensor(h), 2.0).item() == 0
    assert al.linalg.matrix_rank(al.zeros(2, 0, 3)).tolist() == [0, 0]
    assert al.linalg.matrix_rank(al.ones(4, 2, 3)).tolist() == [1] * 4
    assert al.linalg.matrix_rank(al.eye(3)).dtype == al.int64


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, numpy.inf, -numpy.inf, "fro", "nuc"])
def test_cond(p):
    a = random((3, 4, 4), al.float64)
    expected = numpy.array([numpy.linalg.cond(x, p) for x in a])
    assert_close(al.linalg.cond(al.tensor(a), p), expected, al.float64, 5000)
    singular = al.linalg.cond(al.tensor([[1.0, 0.0], [0.0, 0.0]]), p).item()
    assert singular == (0 if p == -2 else numpy.inf)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize(
    "shape, width",
    [((6, 3), 2), ((3, 6), 2), ((4, 4), 1), ((4, 5), 1), ((2, 5, 3), 2), ((1, 1), 1), ((90, 40), 1), ((40, 90), 3), ((50, 40), 2)],
)
def test_lstsq(shape, width, dtype):
    a, b = random(shape, dtype), random((*shape[:-1], width), dtype, 1)
    found = al.linalg.lstsq(al.tensor(a), al.tensor(b))
    expected = numpy.linalg.pinv(a.astype("complex128")) @ b
    assert_close(found.solution, expected, dtype, 2000)
    assert found.solution.dtype == dtype and found.residuals.dtype == dtype.to_real()
    assert found.rank.tolist() == numpy.linalg.matrix_rank(a).tolist()
    assert_close(found.singular_values, numpy.linalg.svd(a, compute_uv=False), dtype, 200)
    if shape[-2] > shape[-1]:
        left = (numpy.abs(a @ expected - b) ** 2).sum(-2)
        assert_close(found.residuals, left, dtype, 5000)
    else:
        assert found.residuals.shape == (0,)


def test_lstsq_solves_every_column_for_itself():
    a, b = random((90, 40), al.float64), random((90, 40), al.float64, 1)
    expected = numpy.linalg.lstsq(a, b, rcond=None)[0]
    b[3, 0] = numpy.inf
    found = al.linalg.lstsq(al.tensor(a), al.tensor(b)).solution
    assert_close(found[:, 1:], expected[:, 1:], al.float64, 2000)


def test_lstsq_of_vectors_and_deficient_matrices():
    a = random((5, 3), al.float64)
    b = random((5,), al.float64, 1)
    found = al.linalg.lstsq(al.tensor(a), al.tensor(b))
    expected = numpy.linalg.lstsq(a, b, rcond=None)
    assert_close(found.solution, expected[0], al.float64, 500)
    assert_close(found.residuals, expected[1][0], al.float64, 5000)
    a[:, 2] = a[:, 1]
    found = al.linalg.lstsq(al.tensor(a), al.tensor(b), driver="gelsd")
    assert found.rank.item() == 2 and found.residuals.shape == (0,)
    assert_close(found.solution, numpy.linalg.lstsq(a, b, rcond=None)[0], al.float64, 500)
    cut = al.linalg.lstsq(al.tensor(numpy.diag([1.0, 0.1])), al.ones(2, dtype=al.float64), rcond=0.5)
    assert cut.solution.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 7, 10])
def test_matrix_power(n, dtype):
    a = random((2, 4, 4), dtype) / 2 + 2 * numpy.eye(4)
    a = a.astype(dtype.numpy_dtype)
    expected = numpy.linalg.matrix_power(a.astype("complex128"), n)
    assert_close(al.linalg.matrix_power(al.tensor(a), n), expected, dtype, 2000)


def test_matrix_power_of_singular_matrices():
    with pytest.raises(al.linalg.LinAlgError, match="linalg.matrix_power: singular matrix"):
        al.linalg.matrix_power(al.zeros(2, 2), -1)
    assert al.linalg.matrix_power(al.zeros(2, 2), 0).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("scale", [1e-8, 0.3, 2.0, 20.0])
def test_matrix_exp(scale, dtype):
    # By eigenvalues, which normal matrices give exactly.
    a = hermitian((2, 5, 5), dtype)
    a = (a / numpy.linalg.norm(a, 2, axis=(-2, -1))[:, None, None] * scale).astype(dtype.numpy_dtype)
    values, vectors = numpy.linalg.eigh(a.astype("complex128"))
    expected = (vectors * numpy.exp(values)[:, None, :]) @ adjoint(vectors)
    assert_close(al.linalg.matrix_exp(al.tensor(a)), expected, dtype, 20 * (1 + scale))


def test_matrix_exp_of_what_is_not_normal():
    a = al.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], dtype=al.float64)
    assert_close(al.linalg.matrix_exp(a), [[1, 1, 0.5], [0, 1, 1], [0, 0, 1]], al.float64, 4)
    turn = al.tensor([[0.0, -numpy.pi], [numpy.pi, 0.0]], dtype=al.float64)
    assert_close(al.linalg.matrix_exp(turn), -numpy.eye(2), al.float64, 20)
    assert al.linalg.matrix_exp(al.zeros(0, 2, 2)).shape == (0, 2, 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_dtypes_of_results(dtype):
    a = al.tensor([[2, 1], [1, 3]]).to(dtype)
    result = dtype if dtype.is_floating_point or dtype.is_complex else al.float32
    assert al.linalg.qr(a).Q.dtype == result
    assert al.linalg.svd(a).S.dtype == result.to_real()
    assert al.linalg.svd(a).U.dtype == result
    assert al.linalg.eigh(a).eigenvalues.dtype == result.to_real()
    assert al.linalg.eigvals(a).dtype == result.to_complex()
    assert al.linalg.pinv(a).dtype == result
    assert al.linalg.cond(a).dtype == result.to_real()
    exact = numpy.linalg.svd(wide(a), compute_uv=False)
    expected = al.tensor(exact).to(result.to_real())
    assert al.linalg.svdvals(a).tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_layouts():
    a = random((6, 5, 4), al.float64)
    t = al.tensor(a)
    for ours, theirs in [(t.transpose(0, 2), a.transpose(2, 1, 0)), (t[::2, :, 1:], a[::2, :, 1:]), (t[:, ::-1], a[:, ::-1]), (t[:, :1].expand(6, 3, 4), numpy.broadcast_to(a[:, :1], (6, 3, 4)))]:
        assert_close(al.linalg.svdvals(ours), numpy.linalg.svd(theirs, compute_uv=False), al.float64, 100)
        q, r = al.linalg.qr(ours)
        assert_close(wide(q) @ wide(r), theirs, al.float64, 100)


def test_names_of_results():
    a = al.eye(2)
    assert al.linalg.qr(a)._fields == ("Q", "R")
    assert al.linalg.svd(a)._fields == ("U", "S", "Vh")
    assert al.linalg.eigh(a)._fields == al.linalg.eig(a)._fields == ("eigenvalues", "eigenvectors")
    assert al.linalg.slogdet(a)._fields == ("sign", "logabsdet")
    assert al.linalg.lu(a)._fields == ("P", "L", "U")
    assert al.linalg.lstsq(a, a)._fields == ("solution", "residuals", "rank", "singular_values")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: al.linalg.qr(al.eye(2), "full"), "linalg.qr: unknown mode: 'full'; accepted are reduced, complete, r"),
        (lambda: al.linalg.eigh(al.eye(2), "X"), "linalg.eigh: unknown triangle: 'X'; accepted are L, U"),
        (lambda: al.linalg.eigh(al.zeros(2, 3)), "linalg.eigh: not square: [2, 3]"),
        (lambda: al.linalg.eig(al.zeros(2, 3)), "linalg.eig: not square: [2, 3]"),
        (lambda: al.linalg.svd(al.zeros(3)), "linalg.svd: not a matrix: [3]"),
        (lambda: al.linalg.svd(al.eye(2), driver="magic"), "linalg.svd: unknown driver: 'magic'"),
        (lambda: al.linalg.lstsq(al.zeros(3, 2), al.zeros(4, 1)), "linalg.lstsq: sizes do not fit each other: [3, 2] and [4, 1]"),
        (lambda: al.linalg.cond(al.zeros(2, 3), 1), "linalg.cond: not square: [2, 3]"),
        (lambda: al.linalg.cond(al.eye(2), 3), "linalg.cond: order of a matrix norm out of range: 3"),
        (lambda: al.linalg.pinv(al.zeros(2, 3), hermitian=True), "linalg.pinv: not square: [2, 3]"),
        (lambda: al.linalg.matrix_power(al.zeros(2, 3), 2), "linalg.matrix_power: not square: [2, 3]"),
        (lambda: al.linalg.householder_product(al.zeros(2, 3), al.zeros(2)), "linalg.householder_product: sizes do not fit"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_errors(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("dtype", [al.bfloat16, al.float16, al.float8_e4m3fn, al.float8_e5m2], ids=named)
def test_rank_and_inverses_of_narrow_dtypes(dtype):
    eye = al.eye(128).to(dtype)
    assert al.linalg.matrix_rank(eye).item() == 128
    assert (al.linalg.pinv(eye).to(al.float32) == al.eye(128)).all()
    answer = al.linalg.lstsq(eye[:8, :8], eye[:8, :1])
    assert (answer.solution.to(al.float32) == al.eye(8)[:, :1]).all()


def test_gradients_of_hermitian_matrices_are_hermitian():
    """Only one triangle is read, but a step along the gradient must leave the matrix Hermitian."""
    a = numpy.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
    x = al.tensor(a, requires_grad=True)
    _, vectors = al.linalg.eigh(x)
    weights = al.tensor([1.0, 2.0, 3.0], dtype=al.float64)
    (vectors[:, 0] * weights).sum().backward()
    gradient = x.grad.numpy()
    numpy.testing.assert_allclose(gradient, gradient.T, atol=1e-15)
    step = 1e-6
    change = numpy.array([[0.3, -0.2, 0.5], [-0.2, 0.1, 0.4], [0.5, 0.4, -0.7]])

    def value(matrix):
        vector = numpy.linalg.eigh(matrix)[1][:, 0]
        vector = vector * numpy.sign(vector[0] * vectors[0, 0].item())
        return vector @ [1.0, 2.0, 3.0]

    slope = (value(a + step * change) - value(a - step * change)) / (2 * step)
    assert (gradient * change).sum() == pytest.approx(slope, rel=1e-6)


def test_a_root_that_fails_is_triangular():
    root, info = al.linalg.cholesky_ex(al.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert info.item() == 2 and root[0, 1].item() == 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_values_of_elements_far_from_one_and_from_each_other(dtype):
    # Fourth powers of the elements leave the range of the dtype, squares do not.
    rng = numpy.random.default_rng(0)
    eps, span = numpy.finfo(dtype).eps, {"float32": (-120, 60), "float64": (-1000, 500)}[dtype]
    matrices = [numpy.full((2, 2), 1.8378e110 if dtype == "float64" else 5e11)]
    matrices.append([[-17860.7, 0.0], [3079053824.0, 516140498944.0]])
    for _ in range(1000):
        shape = rng.integers(1, 6, 2)
        matrices.append(numpy.ldexp(rng.standard_normal(shape), rng.integers(*span, shape)))
    for matrix in matrices:
        matrix = numpy.asarray(matrix, dtype)
        greatest = numpy.abs(matrix).max()
        scaled = (matrix / greatest).astype("float64")
        u, s, vh = (x.to(al.float64).numpy() for x in al.linalg.svd(al.tensor(matrix), full_matrices=False))
        want = numpy.linalg.svd(scaled, compute_uv=False)
        numpy.testing.assert_allclose(s / greatest, want, rtol=0, atol=30 * eps)
        numpy.testing.assert_allclose(u * (s / greatest) @ vh, scaled, rtol=0, atol=60 * eps)
