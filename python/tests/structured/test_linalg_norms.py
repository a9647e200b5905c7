"""Norms and products of vectors."""

import numpy
import pytest

import allotrope as al
from matrices import EXACT, assert_close, random
from reference import DTYPES, named

MATRIX_ORDERS = ["fro", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf]


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("order", MATRIX_ORDERS)
@pytest.mark.parametrize("dims", [(-2, -1), (0, 1), (2, 0), (1, 2)])
@pytest.mark.parametrize("keepdim", [True, False])
def test_matrix_norm(order, dims, keepdim, dtype):
    a = random((4, 3, 5), dtype)
    expected = numpy.linalg.norm(a.astype("complex128"), order, dims, keepdim)
    for result in [
        al.linalg.matrix_norm(al.tensor(a), order, dims, keepdim),
        al.linalg.norm(al.tensor(a), order, dims, keepdim),
        al.linalg.matrix_norm(al.tensor(a), order, axis=dims, keepdims=keepdim),
    ]:
        assert result.dtype == dtype.to_real()
        assert_close(result, expected, dtype, 30)


@pytest.mark.parametrize("dtype", EXACT, ids=named)
@pytest.mark.parametrize("order", [2, 1, 0, 3, -1, 0.5, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("dims", [0, 1, -1, (0, 2), None])
def test_vector_norm(order, dims, dtype):
    a = random((4, 3, 5), dtype).astype("complex128")
    axes = tuple(range(3)) if dims is None else (dims,) if isinstance(dims, int) else dims
    kept = [k for k in range(3) if k not in [x % 3 for x in axes]]
    flat = a.transpose(*kept, *[x % 3 for x in axes]).reshape(*[a.shape[k] for k in kept], -1)
    expected = numpy.linalg.norm(flat, order, axis=-1)
    given = al.linalg.vector_norm(al.tensor(random((4, 3, 5), dtype)), order, dims)
    assert given.dtype == dtype.to_real()
    assert_close(given, expected, dtype, 30)
    if isinstance(dims, int):
        assert_close(al.linalg.norm(al.tensor(random((4, 3, 5), dtype)), order, dims), expected, dtype, 30)


def test_norm_chooses_as_numpy():
    a = random((3, 4), al.float64)
    t = al.tensor(a)
    assert_close(al.linalg.norm(t), numpy.linalg.norm(a), al.float64)
    assert_close(al.linalg.norm(t, 1), numpy.linalg.norm(a, 1), al.float64)
    assert_close(al.linalg.norm(t, "nuc"), numpy.linalg.norm(a, "nuc"), al.float64)
    assert_close(al.linalg.norm(t[0], 3), numpy.linalg.norm(a[0], 3), al.float64)
    assert_close(al.linalg.norm(t, dim=1), numpy.linalg.norm(a, axis=1), al.float64)
    assert_close(al.linalg.norm(t, dim=(0, 1)), numpy.linalg.norm(a), al.float64)
    assert al.linalg.norm(t, keepdim=True).shape == (1, 1)
    assert_close(al.linalg.norm(al.tensor(random((2, 3, 4), al.float64))), numpy.linalg.norm(random((2, 3, 4), al.float64)), al.float64)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_dtypes(dtype):
    x = al.tensor([[1, 2], [2, 4]]).to(dtype)
    result = dtype.to_real() if dtype.is_floating_point or dtype.is_complex else al.float32
    for given in [al.linalg.matrix_norm(x), al.linalg.vector_norm(x), al.linalg.norm(x), al.linalg.matrix_norm(x, "nuc")]:
        assert given.dtype == result
    assert al.linalg.norm(x).item() == (2 if dtype == al.bool else 5)
    assert al.linalg.norm(x, dtype=al.complex128).dtype == al.float64
    assert al.linalg.matrix_norm(x, 1, dtype=al.complex64).item() == (2 if dtype == al.bool else 6)


def test_sums_of_halves_do_not_overflow_on_the_way():
    x = al.full((300, 2), 100.0, dtype=al.float16)
    assert al.linalg.matrix_norm(x, 1).item() == 30000
    assert al.linalg.matrix_norm(al.full((1000, 1), 1.0, dtype=al.float16), -numpy.inf).item() == 1


def test_norms_of_nothing():
    assert al.linalg.matrix_norm(al.zeros(2, 0, 3)).tolist() == [0, 0]
    assert al.linalg.matrix_norm(al.zeros(2, 0, 3), "nuc").tolist() == [0, 0]
    for order in [-2, -numpy.inf]:
        with pytest.raises(ValueError, match="linalg.matrix_norm: no elements"):
            al.linalg.matrix_norm(al.zeros(2, 0, 3), order)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != al.bool], ids=named)
def test_cross(dtype):
    x, y = al.tensor([[1, 2, 3], [0, 1, 4]]).to(dtype), al.tensor([2, 1, 1]).to(dtype)
    given = al.linalg.cross(x, y)
    assert given.dtype == dtype
    expected = numpy.cross([[1, 2, 3], [0, 1, 4]], [2, 1, 1]).tolist()
    if not dtype.is_signed:
        expected = [[value % 2**dtype.bits for value in row] for row in expected]
    assert given.tolist() == expected


def test_cross_along_any_dimension():
    x, y = random((3, 4, 3), al.complex128), random((3, 4, 3), al.complex128, 1)
    for dim in [0, 2, -1, -3]:
        assert_close(al.linalg.cross(al.tensor(x), al.tensor(y), dim=dim), numpy.cross(x, y, axis=dim), al.complex128)
    assert_close(al.linalg.cross(al.tensor(x), al.tensor(y[0, 0])), numpy.cross(x, y[0, 0]), al.complex128)
    assert_close(al.cross(al.tensor(x), al.tensor(y), axis=0), numpy.cross(x, y, axis=0), al.complex128)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != al.bool], ids=named)
def test_vecdot(dtype):
    x = al.tensor([[1, 2, 3], [0, 1, 4]]).to(dtype)
    given = al.linalg.vecdot(x, al.tensor([2, 1, 1]).to(dtype))
    assert given.dtype == dtype
    assert [complex(v) for v in given.tolist()] == [7, 5]


def test_vecdot_conjugates_and_broadcasts():
    x, y = random((4, 1, 5), al.complex128), random((3, 5), al.complex128, 1)
    assert_close(al.linalg.vecdot(al.tensor(x), al.tensor(y)), (x.conj() * y).sum(-1), al.complex128)
    assert_close(al.linalg.vecdot(al.tensor(x), al.tensor(y), dim=1), (x.conj() * y).sum(1), al.complex128)
    ones = al.ones(3000, dtype=al.float16)
    assert al.linalg.vecdot(ones, ones).item() == 3000
    assert al.linalg.vecdot(al.zeros(2, 0), al.zeros(2, 0)).tolist() == [0, 0]


def test_diagonal():
    x = numpy.arange(24).reshape(2, 3, 4)
    assert (al.linalg.diagonal(al.tensor(x)).numpy() == numpy.diagonal(x, 0, -2, -1)).all()
    given = al.linalg.diagonal(al.tensor(x), offset=1, dim1=0, dim2=2)
    assert (given.numpy() == numpy.diagonal(x, 1, 0, 2)).all()


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: al.linalg.matrix_norm(al.zeros(3)), ValueError, "linalg.matrix_norm: not a matrix: [3]"),
        (lambda: al.linalg.matrix_norm(al.eye(2), 3), ValueError, "linalg.matrix_norm: order of a matrix norm out of range: 3; 1, 2, inf, their negatives, 'fro' and 'nuc' are accepted"),
        (lambda: al.linalg.matrix_norm(al.eye(2), "big"), ValueError, "linalg.matrix_norm: unknown order: 'big'"),
        (lambda: al.linalg.matrix_norm(al.eye(2), dim=(0,)), ValueError, "linalg.matrix_norm: wrong number of axes: 1; 2 are needed"),
        (lambda: al.linalg.matrix_norm(al.eye(2), dim=(0, 0)), ValueError, "linalg.matrix_norm: axis named twice"),
        (lambda: al.linalg.matrix_norm(al.eye(2), dim=(0, 5)), IndexError, "linalg.matrix_norm: axis out of range: 5"),
        (lambda: al.linalg.matrix_norm(al.eye(2), []), TypeError, "linalg.matrix_norm: not an order"),
        (lambda: al.linalg.norm(al.zeros(2, 2, 2), 1), ValueError, "linalg.norm: too many dimensions: 3"),
        (lambda: al.linalg.norm(al.zeros(2), "fro"), ValueError, "linalg.norm: not a matrix: [2]"),
        (lambda: al.linalg.vector_norm(al.eye(2), dtype=al.int32), TypeError, "linalg.vector_norm: wrong dtype: int32"),
        (lambda: al.linalg.vector_norm(al.eye(2), dim=3), IndexError, "linalg.vector_norm: axis out of range: 3"),
        (lambda: al.linalg.cross(al.zeros(2), al.zeros(2)), ValueError, "linalg.cross: sizes do not fit each other: [2] and [2]"),
        (lambda: al.linalg.cross(al.zeros(3), al.zeros(1)), ValueError, "linalg.cross: sizes do not fit each other: [3] and [1]"),
        (lambda: al.linalg.cross(al.zeros(3), al.zeros(4)), ValueError, "linalg.cross: shapes do not broadcast"),
        (lambda: al.linalg.vecdot(al.zeros(3), al.zeros(4)), ValueError, "linalg.vecdot: shapes do not broadcast"),
        (lambda: al.linalg.vecdot(al.tensor(1.0), al.tensor(1.0)), IndexError, "linalg.vecdot: axis out of range"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_errors(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_norms_of_empty_matrices(order, shape):
    """The greatest of nothing is 0, below which no norm is; the least of nothing is an error."""
    rows, columns = shape
    compared = {-1: columns, -numpy.inf: rows, -2: 0}.get(order, 1)
    for norm in (al.linalg.norm, al.linalg.matrix_norm):
        if compared == 0:
            with pytest.raises(ValueError, match="norm"):
                norm(al.zeros(shape), order)
            continue
        assert norm(al.zeros(shape), order).tolist() == 0.0
        assert norm(al.zeros(2, *shape), order, (-2, -1), keepdim=True).tolist() == [[[0.0]]] * 2
