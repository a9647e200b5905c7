"""Solutions, inverses, determinants, elimination, Cholesky's roots."""

import numpy
import pytest

import allotrope as al
from matrices import EXACT, adjoint, assert_close, positive, random, wide
from reference import DTYPES, named

SIZES = [1, 2, 3, 7, 48, 49, 100]


def condition(a):
    return numpy.linalg.cond(a).max()


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", [1, 2, 60])
def test_solve(n, width, dtype):
    a, b = random((n, n), dtype), random((n, width), dtype, 1)
    x = al.linalg.solve(al.tensor(a), al.tensor(b))
    assert x.dtype == dtype
    reference = numpy.linalg.solve(a.astype("complex128"), b)
    assert_close(x, reference, dtype, 20 * condition(a))
    # Backward stable: what is left is small whatever the condition.
    size = numpy.abs(a).max() * numpy.abs(wide(x)).max()
    assert_close(a.astype("complex128") @ wide(x), b, dtype, 20 * n, scale=size * n**0.5)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_solve_in_batches_that_broadcast(dtype):
    a, b = random((4, 1, 5, 5), dtype), random((3, 5, 2), dtype, 1)
    x = al.linalg.solve(al.tensor(a), al.tensor(b))
    assert x.shape == (4, 3, 5, 2)
    assert_close(x, numpy.linalg.solve(a, b), dtype, 20 * condition(a))
    vectors = random((4, 1, 5), dtype, 2)
    x = al.linalg.solve(al.tensor(a), al.tensor(vectors))
    assert x.shape == (4, 1, 5)
    assert_close(x, numpy.linalg.solve(a, vectors[..., None])[..., 0], dtype, 20 * condition(a))
    single = random((5,), dtype, 3)
    x = al.linalg.solve(al.tensor(a), al.tensor(single))
    assert_close(x, numpy.linalg.solve(a, single[:, None])[..., 0], dtype, 20 * condition(a))


@pytest.mark.parametrize("dtype", EXACT, ids=named)
def test_solve_from_the_right(dtype):
    a, b = random((6, 6), dtype), random((3, 6), dtype, 1)
    x = al.linalg.solve(al.tensor(a), al.tensor(b), left=False)
    assert_close(wide(x) @ a, b, dtype, 20 * condition(a))


def test_layouts():
    a, b = random((10, 6, 6), al.float64), random((6, 4), al.float64, 1)
    t = al.tensor(a)
    for ours, theirs in [
        (t.transpose(1, 2), a.transpose(0, 2, 1)),
        (t[::2], a[::2]),
        (t[::-1], a[::-1]),
        (t[:1].expand(3, 6, 6), numpy.broadcast_to(a[:1], (3, 6, 6))),
        (t[:, 1:5, 2:], a[:, 1:5, 2:]),
        (t.transpose(0, 2)[..., :6], a.transpose(2, 1, 0)[..., :6]),
    ]:
        n = theirs.shape[-1]
        x = al.linalg.solve(ours, al.tensor(b[:n]))
        assert_close(x, numpy.linalg.solve(theirs, b[:n]), al.float64, 20 * condition(theirs))
        assert_close(al.linalg.inv(ours), numpy.linalg.inv(theirs), al.float64, 20 * condition(theirs))
        assert_close(al.linalg.det(ours), numpy.linalg.det(theirs), al.float64, 20 * condition(theirs))


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("n", [0, *SIZES])
def test_inverse_and_determinant(n, dtype):
    a = random((2, n, n), dtype) / max(n, 1) ** 0.5
    t = al.tensor(a)
    factor = 20 * max(n, 1) if n == 0 else 20 * condition(a)
    assert_close(al.linalg.inv(t), numpy.linalg.inv(a.astype("complex128")), dtype, factor)
    assert_close(t.inverse(), wide(al.linalg.inv(t)), dtype, 0)
    reference = numpy.linalg.det(a.astype("complex128"))
    scale = numpy.abs(reference).max(initial=0)
    assert_close(al.linalg.det(t), reference, dtype, factor, scale=scale)
    sign, logarithm = al.linalg.slogdet(t)
    expected = numpy.linalg.slogdet(a.astype("complex128"))
    assert logarithm.dtype == dtype.to_real() and sign.dtype == dtype
    assert_close(sign, expected.sign, dtype, factor)
    assert_close(logarithm, expected.logabsdet, dtype.to_real(), factor, scale=1 + numpy.abs(expected.logabsdet).max(initial=0))


def test_determinants_that_overflow_have_logarithms():
    a = al.eye(400, dtype=al.float32) * 1e-3
    assert al.linalg.det(a).item() == 0
    assert al.linalg.slogdet(a).logabsdet.item() == pytest.approx(400 * numpy.log(1e-3), rel=1e-5)


def test_singular_matrices():
    zero = al.zeros(3, 3)
    assert al.linalg.det(zero).item() == 0
    sign, logarithm = al.linalg.slogdet(zero)
    assert sign.item() == 0 and logarithm.item() == -numpy.inf
    with pytest.raises(al.linalg.LinAlgError) as caught:
        al.linalg.inv(zero)
    assert str(caught.value) == (
        "linalg.inv: singular matrix: pivot 0 is zero; invertible ones are accepted "
        "(hint: linalg.lstsq or linalg.pinv)"
    )
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, RuntimeError)
    batch = al.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    with pytest.raises(al.linalg.LinAlgError, match="linalg.solve: singular matrix at index 1: pivot 1"):
        al.linalg.solve(batch, al.ones(2, 1))
    result, info = al.linalg.solve_ex(batch, al.ones(2, 1))
    assert info.tolist() == [0, 2, 1] and info.dtype == al.int32
    assert result[0].tolist() == [[1], [1]]
    inverse, info = al.linalg.inv_ex(batch)
    assert info.tolist() == [0, 2, 1]
    assert inverse[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(al.linalg.LinAlgError):
        al.linalg.inv_ex(batch, check_errors=True)
    assert al.linalg.inv_ex(batch)._fields == ("inverse", "info")


def test_ill_conditioned_matrices_are_solved_as_well_as_they_can_be():
    n = 10
    hilbert = numpy.array([[1.0 / (i + j + 1) for i in range(n)] for j in range(n)])
    b = hilbert @ numpy.ones(n)
    x = al.linalg.solve(al.tensor(hilbert), al.tensor(b)).numpy()
    assert numpy.abs(hilbert @ x - b).max() < 1e-14
    assert numpy.abs(x - 1).max() < 1e-2


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (7, 4), (4, 7), (2, 60, 70), (0, 3), (3, 0), (0, 2, 2)])
def test_lu(shape, dtype):
    a = random(shape, dtype)
    p, lower, upper = al.linalg.lu(al.tensor(a))
    assert_close(wide(p) @ wide(lower) @ wide(upper), a, dtype, 100)
    assert (numpy.abs(wide(lower)) <= 1 + 1e-6).all()
    assert (numpy.triu(wide(lower), 1) == 0).all() and (numpy.tril(wide(upper), -1) == 0).all()
    assert (wide(p).sum(-1) == 1).all()
    factors, pivots = al.linalg.lu_factor(al.tensor(a))
    assert pivots.dtype == al.int32
    k = min(shape[-2:])
    assert pivots.shape == (*shape[:-2], k)
    assert (numpy.triu(wide(factors))[..., :k, :] == wide(upper)).all()


def test_lu_without_pivots():
    a = positive((6, 6), al.float64)
    p, lower, upper = al.linalg.lu(al.tensor(a), pivot=False)
    assert (p.numpy() == numpy.eye(6)).all()
    assert_close(wide(lower) @ wide(upper), a, al.float64)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_lu_solve(left, turned, dtype):
    a = random((3, 6, 6), dtype)
    b = random((3, 6, 2) if left else (3, 2, 6), dtype, 1)
    x = wide(al.linalg.lu_solve(*al.linalg.lu_factor(al.tensor(a)), al.tensor(b), left=left, adjoint=turned))
    meant = adjoint(a) if turned else a
    assert_close(meant @ x if left else x @ meant, b, dtype, 20 * condition(a))


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("n", [1, 5, 48, 110])
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_solve_triangular(n, upper, unit, dtype):
    a = random((n, n), dtype) / n + 2 * numpy.eye(n, dtype=dtype.numpy_dtype)
    meant = numpy.triu(a) if upper else numpy.tril(a)
    if unit:
        meant = meant - numpy.diag(numpy.diag(meant)) + numpy.eye(n)
    for left, shape in [(True, (n, 1)), (True, (n, 3)), (False, (3, n))]:
        b = random(shape, dtype, 1)
        x = wide(al.linalg.solve_triangular(al.tensor(a), al.tensor(b), upper=upper, left=left, unitriangular=unit))
        assert_close(meant @ x if left else x @ meant, b, dtype, 100)


def test_a_zero_on_the_diagonal_gives_infinities():
    x = al.linalg.solve_triangular(al.zeros(1, 1), al.ones(1, 1), upper=True)
    assert x.item() == numpy.inf


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("n", [0, *SIZES, 200])
def test_cholesky(n, dtype):
    a = positive((2, n, n), dtype)
    noise = numpy.triu(random((2, n, n), dtype, 5), 1)
    lower = wide(al.linalg.cholesky(al.tensor((a + noise).astype(a.dtype))))
    assert_close(lower @ adjoint(lower), a, dtype, 20 + n)
    assert (numpy.triu(lower, 1) == 0).all()
    upper = wide(al.linalg.cholesky(al.tensor((a + adjoint(noise)).astype(a.dtype)), upper=True))
    assert_close(adjoint(upper) @ upper, a, dtype, 20 + n)
    assert (numpy.tril(upper, -1) == 0).all()


def test_cholesky_of_what_is_not_positive():
    a = al.tensor([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(al.linalg.LinAlgError) as caught:
        a.cholesky()
    assert str(caught.value) == "linalg.cholesky: not positive definite: the leading minor up to row 1 is not positive"
    with pytest.raises(al.linalg.LinAlgError, match="at index 0"):
        al.linalg.cholesky(al.full((2, 1, 1), float("nan")))
    root, info = al.linalg.cholesky_ex(a)
    assert info.item() == 2
    assert al.linalg.cholesky_ex(al.eye(2)).info.item() == 0


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("upper", [True, False])
def test_cholesky_solve(upper, dtype):
    a, b = positive((3, 5, 5), dtype), random((5, 2), dtype, 1)
    root = al.linalg.cholesky(al.tensor(a), upper=upper)
    x = al.cholesky_solve(al.tensor(b), root, upper)
    assert_close(a @ wide(x), numpy.broadcast_to(b, (3, 5, 2)), dtype, 200)
    assert_close(al.cholesky_inverse(root, upper), numpy.linalg.inv(a), dtype, 200)


def test_tensor_equations():
    generator = numpy.random.default_rng(3)
    a = generator.standard_normal((2, 3, 6)) + numpy.eye(6).reshape(2, 3, 6) * 4
    b = generator.standard_normal((2, 3))
    assert_close(al.linalg.tensorsolve(al.tensor(a), al.tensor(b)), numpy.linalg.tensorsolve(a, b), al.float64, 500)
    turned = a.transpose(2, 0, 1)
    given = al.linalg.tensorsolve(al.tensor(turned), al.tensor(b), dims=(0,))
    assert_close(given, numpy.linalg.tensorsolve(turned, b, axes=(0,)), al.float64, 500)
    assert_close(al.linalg.tensorinv(al.tensor(a)), numpy.linalg.tensorinv(a), al.float64, 500)
    square = a.reshape(6, 6)
    assert_close(al.linalg.tensorinv(al.tensor(square), 1), numpy.linalg.inv(square), al.float64, 500)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_narrow_dtypes_round_once(dtype):
    a = al.tensor([[2, 1], [0, 3]]).to(dtype)
    b = al.tensor([1, 2]).to(dtype)
    result = dtype if dtype.is_floating_point or dtype.is_complex else al.float32
    x = al.linalg.solve(a, b)
    assert x.dtype == result
    exact = numpy.linalg.solve(wide(a), wide(b))
    assert x.tolist() == pytest.approx(al.tensor(exact).to(result).tolist(), rel=1e-6)
    assert al.linalg.det(a).item() == (1 if dtype == al.bool else 6)


def test_operands_are_promoted():
    assert al.linalg.solve(al.eye(2, dtype=al.float16), al.ones(2, dtype=al.bfloat16)).dtype == al.float32
    assert al.linalg.solve(al.eye(2), al.ones(2, dtype=al.complex64)).dtype == al.complex64
    assert al.linalg.solve(al.eye(2, dtype=al.int8), al.ones(2, dtype=al.float64)).dtype == al.float64
    with al.promotion("strict"), pytest.raises(TypeError, match="linalg.solve: strict promotion"):
        al.linalg.solve(al.eye(2), al.ones(2, dtype=al.float64))


def test_empty_batches():
    for name in ["inv", "det", "cholesky"]:
        assert getattr(al.linalg, name)(al.zeros(0, 3, 3)).shape[0] == 0
    assert al.linalg.solve(al.zeros(0, 3, 3), al.zeros(3, 2)).shape == (0, 3, 2)
    assert al.linalg.solve(al.eye(3), al.zeros(3, 0)).shape == (3, 0)
    assert al.linalg.det(al.zeros(2, 0, 0)).tolist() == [1, 1]


def test_nan_goes_through():
    a = al.tensor([[1.0, float("nan")], [0.0, 1.0]])
    assert bool(al.linalg.inv(a).isnan().any())
    assert bool(al.linalg.det(a).isnan())
    assert bool(al.linalg.solve(a, al.ones(2)).isnan().any())


def test_many_small_matrices_on_all_threads():
    a = random((5000, 3, 3), al.float64) + 3 * numpy.eye(3)
    assert_close(al.linalg.inv(al.tensor(a)), numpy.linalg.inv(a), al.float64, 2000)



@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: al.linalg.inv(al.zeros(2, 3)), "linalg.inv: not square: [2, 3]; the last two sizes must be equal"),
        (lambda: al.linalg.inv(al.zeros(3)), "linalg.inv: not a matrix: [3]; at least two dimensions are accepted"),
        (lambda: al.linalg.det(al.tensor(1.0)), "linalg.det: not a matrix: []"),
        (lambda: al.linalg.solve(al.eye(3), al.zeros(4, 2)), "linalg.solve: sizes do not fit each other: [3, 3] and [4, 2]"),
        (lambda: al.linalg.solve(al.eye(3), al.zeros(3), left=False), "linalg.solve: sizes do not fit each other: [3, 3] and [3]"),
        (lambda: al.linalg.solve(al.zeros(2, 3, 3), al.zeros(4, 3, 1)), "linalg.solve: shapes do not broadcast: [2] and [4]"),
        (lambda: al.linalg.lu_solve(al.eye(2), al.tensor([1], dtype=al.int32), al.zeros(2, 1)), "linalg.lu_solve: sizes do not fit"),
        (lambda: al.linalg.solve_triangular(al.eye(2), al.zeros(3, 1), upper=True), "linalg.solve_triangular: sizes do not fit"),
        (lambda: al.cholesky_solve(al.zeros(3, 1), al.eye(2)), "cholesky_solve: sizes do not fit"),
        (lambda: al.linalg.tensorsolve(al.zeros(2, 3, 5), al.zeros(2, 3)), "linalg.tensorsolve: sizes do not fit"),
        (lambda: al.linalg.tensorinv(al.zeros(2, 3, 5)), "linalg.tensorinv: not square: [6, 5]"),
        (lambda: al.linalg.tensorinv(al.zeros(2, 2), 0), "linalg.tensorinv: ind out of range: 0"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_errors(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


def test_pivots_are_integers():
    with pytest.raises(TypeError, match="linalg.lu_solve: wrong dtype: float32"):
        al.linalg.lu_solve(al.eye(2), al.ones(2), al.zeros(2, 1))


def test_methods_and_functions_agree():
    a = al.tensor(positive((4, 4), al.float64))
    for name in ["det", "logdet", "inverse", "pinverse", "cholesky", "matrix_exp", "cholesky_inverse"]:
        assert getattr(a, name)().tolist() == getattr(al, name)(a).tolist()
    assert a.slogdet() == al.slogdet(a) or a.slogdet()[1].tolist() == al.slogdet(a)[1].tolist()
    assert a.logdet().item() == pytest.approx(numpy.log(numpy.linalg.det(a.numpy())))
    assert bool((-al.eye(1)).logdet().isnan())
    assert a.matrix_power(2).tolist() == al.matrix_power(a, 2).tolist()
    assert a.qr()[0].tolist() == al.qr(a).Q.tolist()


@pytest.mark.parametrize("dims", [None, (0,), (2,), (0, 2)])
def test_tensorsolve_with_dims(dims):
    """Only how many equations there are counts, not in which sizes, as in NumPy and PyTorch."""
    shape = {None: (2, 3, 6), (0,): (6, 2, 3), (2,): (2, 3, 6), (0, 2): (2, 3, 6)}[dims]
    a, b = numpy.random.default_rng(0).normal(size=shape), numpy.arange(6.0).reshape(2, 3)
    x = al.linalg.tensorsolve(al.tensor(a), al.tensor(b), dims=dims)
    expected = numpy.linalg.tensorsolve(a, b, axes=dims)
    numpy.testing.assert_allclose(x.numpy(), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="tensorsolve"):
        al.linalg.tensorsolve(al.tensor(a), al.tensor(b), dims=(1,))
