"""Products of matrices and vectors against NumPy and plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al
from reference import DTYPES, FLOATS, INTEGERS, assert_same, named

SIZES = [(0, 3, 2), (2, 0, 3), (1, 1, 1), (3, 4, 5), (13, 33, 35), (40, 300, 37), (1, 70, 9), (9, 70, 1)]


def whole(shape, dtype, seed):
    """Small whole numbers, whose products every dtype sums exactly or wraps."""
    numbers = np.random.default_rng(seed).integers(-2, 3, shape)
    if dtype.kind == "bool" or not dtype.is_signed:
        numbers = abs(numbers)
    array = numbers.astype(np.float32).astype(dtype.numpy_dtype)
    if dtype.is_complex:
        array = array + np.asarray(1j, dtype.numpy_dtype) * np.roll(array, 1)
    return array


def product(a, b, dtype):
    """The exact product of whole numbers, wrapped or rounded to the dtype."""
    if dtype is al.bool:
        return (a.astype(np.int64) @ b.astype(np.int64)) != 0
    if dtype.is_integer:
        return (a.astype(object) @ b.astype(object) % 2**dtype.bits).astype("uint64").astype(a.dtype)
    wide = np.complex128 if dtype.is_complex else np.float64
    exact = a.astype(wide) @ b.astype(wide)
    return al.tensor(exact).to(dtype).numpy()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_every_dtype(dtype, sizes):
    m, k, n = sizes
    a, b = whole((m, k), dtype, 0), whole((k, n), dtype, 1)
    got = al.tensor(a) @ al.tensor(b)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), product(a, b, dtype))


LAYOUTS = {
    "transposed": lambda x: x.T.copy().T,
    "sliced": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "row reversed": lambda x: x[::-1].copy()[::-1],
    "column of larger": lambda x: np.pad(x, 2, mode="edge")[2:-2, 2:-2],
}


@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.int8, al.int32, al.complex64, al.float8_e5m2], ids=named)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_layouts(left, right, dtype):
    a, b = whole((20, 41), dtype, 2), whole((41, 50), dtype, 3)
    share = lambda x: al.from_numpy(x)  # noqa: E731
    got = share(LAYOUTS[left](a)) @ share(LAYOUTS[right](b))
    np.testing.assert_array_equal(got.numpy(), product(a, b, dtype))


def test_broadcast_rows():
    row = al.arange(40.0).expand(7, 40)
    column = al.arange(3.0).reshape(3, 1).expand(3, 40)
    np.testing.assert_array_equal((row @ column.T).numpy(), row.numpy() @ column.numpy().T)


SHAPES = [
    ((3,), (3,)),
    ((40,), (40,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((5, 2, 3), (1, 3, 4)),
    ((2, 0, 2, 3), (1, 1, 3, 4)),
    ((6, 5, 40), (40,)),
    ((4, 1, 40), (4, 40, 3)),
    ((1, 3, 1, 5, 33), (2, 1, 1, 33, 4)),
]


@pytest.mark.parametrize("a, b", SHAPES, ids=str)
def test_shapes(a, b):
    x = np.arange(np.prod(a, dtype=int)).reshape(a) % 7 - 3
    y = np.arange(np.prod(b, dtype=int)).reshape(b) % 5 - 2
    got = al.tensor(x) @ al.tensor(y)
    np.testing.assert_array_equal(got.numpy(), x @ y)
    np.testing.assert_array_equal(al.matmul(x, y).numpy(), x @ y)
    halves = al.tensor(x).to(al.float16).transpose(0, -1).contiguous().transpose(0, -1)
    np.testing.assert_array_equal((halves @ al.tensor(y).to(al.float16)).numpy(), x @ y)


@pytest.mark.parametrize("dtype", [al.float16, al.bfloat16], ids=named)
@pytest.mark.parametrize("rows", [1, 2])
def test_ones_in_halves_are_counted(dtype, rows):
    ones = al.ones(rows, 4096, dtype=dtype)
    assert (ones @ ones.T).tolist() == [[4096.0] * rows] * rows
    assert ones[0].dot(ones[0]).item() == 4096.0


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_one_rounding(dtype):
    rng = np.random.default_rng(5)
    a = al.tensor(rng.standard_normal((9, 50))).to(dtype)
    b = al.tensor(rng.standard_normal((50, 34))).to(dtype)
    exact = a.to(al.float64).numpy() @ b.to(al.float64).numpy()
    got = (a @ b).to(al.float64).numpy()
    # One rounding to the dtype, after sums that are off by a few roundings of their own.
    eps = dtype.finfo.eps
    slack = abs(a.to(al.float64).numpy()) @ abs(b.to(al.float64).numpy())
    sums = al.finfo(al.float64 if dtype is al.float64 else al.float32).eps
    bound = eps / 2 * abs(exact) * 1.01 + 8 * sums * slack + dtype.finfo.smallest_subnormal
    assert (abs(got - exact) <= bound).all()


def test_long_sums_of_float32():
    rng = np.random.default_rng(6)
    a, b = rng.random((3, 50000), np.float32), rng.random((50000, 5), np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for rows in (1, 3):
        got = (al.tensor(a[:rows]) @ al.tensor(b)).numpy()
        np.testing.assert_allclose(got, exact[:rows], rtol=2e-6)


def test_accumulation_dtype():
    x = al.full((2, 200), 100, dtype=al.int8)
    assert (x @ x.T).tolist() == [[200 * 10000 % 256 - 256 * (200 * 10000 % 256 > 127)] * 2] * 2
    wide = x.matmul(x.T, acc_dtype=al.int32)
    assert wide.dtype == al.int32 and wide.tolist() == [[2000000] * 2] * 2
    assert x.matmul(x.T, dtype=al.int64).tolist() == [[2000000] * 2] * 2
    assert x.matmul(x.T, dtype=al.float32).tolist() == [[2000000.0] * 2] * 2
    halves = al.full((1, 3), 300.0, dtype=al.float16)
    assert halves.matmul(halves.T).tolist() == [[float("inf")]]
    assert halves.matmul(halves.T, dtype=al.float32).tolist() == [[270000.0]]
    tiny = al.tensor([1.0, 1e-9])
    assert tiny.dot(al.ones(2), acc_dtype=al.float64).item() == 1.0 + float(np.float32(1e-9))
    assert tiny.dot(al.ones(2), dtype=al.float32, acc_dtype=al.float64).dtype == al.float32
    large = al.full((1, 2), 60000, dtype=al.uint16)
    assert large.matmul(large.T, acc_dtype=al.uint64).item() == 7200000000
    assert large.matmul(large.T, acc_dtype=al.uint32).item() == 7200000000 % 2**32
    with pytest.raises(TypeError, match="matmul"):
        al.ones(2, dtype=al.complex64).matmul(al.ones(2), dtype=al.float32)


def test_promotion():
    x, y = al.ones(2, 2, dtype=al.int32), al.ones(2, 2, dtype=al.float16)
    assert (x @ y).dtype == al.float16
    # The integer is rounded to the common dtype first, as every operation does it.
    assert (al.tensor([[2049]], dtype=al.int32) @ al.ones(1, 1, dtype=al.float16)).item() == 2048.0
    assert (x.to(al.float8_e4m3fn) @ x.to(al.float8_e5m2)).dtype == al.bfloat16
    with al.promotion("strict"):
        with pytest.raises(TypeError, match="matmul: strict promotion"):
            x @ y
        with pytest.raises(TypeError, match="matmul"):
            x.to(al.bool) @ x.to(al.bool)


def test_python_operator():
    x = al.tensor([[1.0, 2.0]])
    array = np.array([[3.0], [4.0]], np.float32)
    for result in (x @ array, array.T @ x.T):
        assert isinstance(result, al.Tensor) and result.tolist() == [[11.0]]
    x @= array
    assert x.tolist() == [[11.0]]
    for other in ({1.0}, 2.0, "a"):
        with pytest.raises(TypeError):
            x @ other
        with pytest.raises(TypeError):
            other @ x


def test_special_values():
    x = al.tensor([[np.inf, 1.0], [np.nan, 0.0]])
    got = (x @ al.tensor([[0.0, 1.0], [1.0, 1.0]])).numpy()
    np.testing.assert_array_equal(got, [[np.nan, np.inf], [np.nan, np.nan]])
    subnormal = al.tensor([[1e-40]]) @ al.tensor([[1.0]])
    assert subnormal.item() == np.float32(1e-40)


def test_complex_vectors():
    x, y = al.tensor([1 + 2j, 3j]), al.tensor([2 - 1j, 1 + 1j])
    assert x.dot(y).item() == (1 + 2j) * (2 - 1j) + 3j * (1 + 1j)
    assert x.vdot(y).item() == (1 - 2j) * (2 - 1j) - 3j * (1 + 1j)
    long = al.ones(100, dtype=al.complex128) * 1j
    assert long.vdot(long).item() == 100 and long.dot(long).item() == -100
    assert al.tensor([1.0, 2.0]).vdot(al.tensor([3.0, 4.0])).item() == 11.0


@pytest.mark.parametrize("dtype", [al.float32, al.float16, al.int8, al.complex64, al.bool], ids=named)
def test_added_products(dtype):
    a, b = whole((3, 4), dtype, 7), whole((4, 5), dtype, 8)
    former = whole((5,), dtype, 9)
    x, y, z = al.tensor(a), al.tensor(b), al.tensor(former)
    if dtype is al.bool:
        want = product(a, b, dtype) | former
        np.testing.assert_array_equal(z.addmm(x, y).numpy(), want)
        return
    exact = lambda array: array.astype(np.complex128)  # noqa: E731
    want = 3 * exact(former) - 2 * (exact(a) @ exact(b))
    got = z.addmm(x, y, beta=3, alpha=-2)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy().astype(np.complex128), want)
    np.testing.assert_array_equal(al.addmm(z, x, y).numpy(), z.numpy() + product(a, b, dtype))
    got = al.addmv(z[:3], x, y[:, 1], beta=2)
    np.testing.assert_array_equal(exact(got.numpy()), 2 * exact(former[:3]) + exact(a) @ exact(b[:, 1]))
    got = al.baddbmm(z, x.expand(2, 3, 4), y.expand(2, 4, 5), alpha=2)
    np.testing.assert_array_equal(exact(got.numpy()), np.broadcast_to(exact(former) + 2 * (exact(a) @ exact(b)), (2, 3, 5)))


def test_beta_of_zero_reads_nothing():
    nan = al.full((2, 2), float("nan"))
    assert nan.addmm(al.eye(2), al.eye(2), beta=0).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="addmm: alpha out of range: 0.5; integers are accepted"):
        al.ones(1, 1, dtype=al.int32).addmm(al.ones(1, 1, dtype=al.int32), al.ones(1, 1, dtype=al.int32), alpha=0.5)


def test_halves_are_added_before_the_rounding():
    x = al.full((1, 1), 2048.0, dtype=al.float16)
    half = al.full((1, 1), 0.75, dtype=al.float16)
    # 2048 + 3 * 0.75 is 2050.25: the product alone would round nowhere near.
    assert x.addmm(half, al.full((1, 1), 3.0, dtype=al.float16)).item() == 2050.0
    assert x.addmm(half, al.full((1, 1), 1.0, dtype=al.float16), alpha=2).item() == 2050.0


def test_other_products():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(al.inner(x, y).numpy(), np.inner(x, y))
    np.testing.assert_array_equal(al.inner(x, np.float64(3)).numpy(), 3 * x)
    np.testing.assert_array_equal(al.outer(x[0], y[1]).numpy(), np.outer(x[0], y[1]))
    np.testing.assert_array_equal(al.mv(y, x[1]).numpy(), y @ x[1])
    np.testing.assert_array_equal(al.mm(x, y.T).numpy(), x @ y.T)
    for other in (y, x[0], np.float64(2), y.reshape(2, 3, 2)):
        np.testing.assert_array_equal(al.kron(x, other).numpy(), np.kron(x, other))
        np.testing.assert_array_equal(al.kron(other, x).numpy(), np.kron(other, x))
    cube = np.arange(24.0).reshape(2, 3, 4)
    for dims in (0, 1, ([0], [1]), ([2, 1], [0, 1])):
        other = np.arange(24.0).reshape(4, 3, 2) if dims != ([0], [1]) else np.arange(8.0).reshape(4, 2)
        np.testing.assert_array_equal(al.tensordot(cube, other, dims).numpy(), np.tensordot(cube, other, dims))
    np.testing.assert_array_equal(al.tensordot(cube, cube, axes=([-1], [2])).numpy(), np.tensordot(cube, cube, ([2], [2])))
    assert al.tensordot(al.ones(2, 3), al.ones(2, 3), dims=([0, 1], [0, 1])).item() == 6.0


def test_chains():
    rng = np.random.default_rng(10)
    shapes = [(3, 40), (40, 2), (2, 30), (30, 5)]
    arrays = [rng.integers(-2, 3, shape).astype(np.float64) for shape in shapes]
    np.testing.assert_array_equal(al.multi_dot(arrays).numpy(), np.linalg.multi_dot(arrays))
    vectors = [arrays[0][0], *arrays[1:3], arrays[3][:, 0]]
    assert al.multi_dot(vectors).item() == np.linalg.multi_dot(vectors)
    np.testing.assert_array_equal(al.chain_matmul(*arrays[:3]).numpy(), np.linalg.multi_dot(arrays[:3]))
    # Rounded once: 256 * 3 * 3 in float8 would saturate on the way.
    halves = al.full((1, 1), 300.0, dtype=al.float16)
    small = al.full((1, 1), 0.001953125, dtype=al.float16)
    assert al.multi_dot([halves, halves, small]).item() == 175.75


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_integers_wrap(dtype):
    info = al.iinfo(dtype)
    numbers = [info.max, info.min, info.max // 3, 7, 1]
    a = np.array([numbers * 8], dtype.numpy_dtype)
    b = np.array([numbers[::-1] * 8, numbers * 8], dtype.numpy_dtype).T
    for rows in (1, 3):
        left = np.repeat(a, rows, 0)
        np.testing.assert_array_equal((al.tensor(left) @ al.tensor(b)).numpy(), product(left, b, dtype))


@given(st.data())
def test_random_layouts(data):
    """Batches in any order of dimensions, some of size one, some cut out of larger ones."""
    sizes = st.sampled_from([1, 1, 2, 3])
    batch = data.draw(st.lists(sizes, max_size=3))
    m, k, n = (data.draw(st.sampled_from([0, 1, 2, 5, 13])) for _ in range(3))

    def matrices(shape):
        order = data.draw(st.permutations(range(len(shape))))
        array = np.arange(1.0, 2 * np.prod(shape) + 1, dtype=np.float32)[:: data.draw(st.sampled_from([1, 2]))]
        array = (array[: int(np.prod(shape))] % 7).reshape([shape[d] for d in order])
        back = np.argsort(order)
        return array.transpose(back), al.from_numpy(array.copy()).permute(*back)

    kept = data.draw(st.integers(0, len(batch)))
    a, x = matrices([*batch, m, k])
    b, y = matrices([*[size if data.draw(st.booleans()) else 1 for size in batch[kept:]], k, n])
    assert_same((x @ y).numpy(), a @ b)
    assert_same((y.mT @ x.mT).numpy(), np.swapaxes(b, -1, -2) @ np.swapaxes(a, -1, -2))


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rows", [1, 12, 64])
def test_nothing_to_sum_is_zero(dtype, rows):
    x, y = al.ones(rows, 0, dtype=dtype), al.ones(0, rows, dtype=dtype)
    assert_same((x @ y).numpy(), np.zeros((rows, rows), dtype.numpy_dtype))


def test_coefficients_that_do_not_fit():
    one = al.ones(3, 3, dtype=al.int8)
    for options in ({"beta": 300}, {"alpha": -129}, {"beta": 2**70}):
        with pytest.raises(OverflowError, match="^addmm: "):
            al.addmm(one, one, one, **options)
    with pytest.raises(OverflowError):
        al.addmm(one.to(al.uint8), one.to(al.uint8), one.to(al.uint8), beta=-1)
    assert al.addmm(one, one, one, beta=127, alpha=-128)[0, 0].item() == -1


def test_errors():
    def fails(text, function, *arguments, error=ValueError):
        with pytest.raises(error) as caught:
            function(*arguments)
        assert str(caught.value) == text

    fails("matmul: inner dimensions differ: [2, 3] x [4, 5] (3 != 4)", al.matmul, al.ones(2, 3), al.ones(4, 5))
    fails("matmul: inner dimensions differ: [3] x [4] (3 != 4)", al.matmul, al.ones(3), al.ones(4))
    fails(
        "matmul: wrong number of dimensions: an operand of shape []; 1 and more are accepted (hint: mul)",
        al.matmul, al.tensor(1.0), al.ones(4),
    )
    fails("mm: wrong number of dimensions: the second operand of shape [3]; 2 are accepted", al.mm, al.ones(2, 3), al.ones(3))
    fails(
        "bmm: shapes do not fit: lists of matrices: [[2, 1, 1], [3, 1, 1]]; lists of one length are accepted "
        "(hint: matmul, which broadcasts)",
        al.bmm, al.ones(2, 1, 1), al.ones(3, 1, 1),
    )
    fails("dot: inner dimensions differ: [2] x [3] (2 != 3)", al.dot, al.ones(2), al.ones(3))
    fails("tensordot: inner dimensions differ: [2, 3] x [4, 5] (3 != 4)", al.tensordot, al.ones(2, 3), al.ones(4, 5), 1)
    with pytest.raises(ValueError, match=r"matmul: .*\[2\] and \[3\]"):
        al.ones(2, 1, 1) @ al.ones(3, 1, 1)
    with pytest.raises(TypeError, match="matmul"):
        al.ones(1, 1, dtype=al.int8) @ al.ones(1, 1, dtype=al.uint64)


def test_products_of_bool_are_logical():
    x, y = al.tensor([[True, False], [True, True]]), al.tensor([[False, True], [False, True]])
    for got in (x @ y, al.einsum("ij,jk->ik", x, y), al.tensordot(x, y, 1)):
        assert got.dtype == al.bool and got.tolist() == [[False, True], [False, True]]
