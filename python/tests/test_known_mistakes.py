"""Results that other libraries get silently wrong, or refuse, and index tensors of every width."""

import numpy
import pytest

import allotrope as al
from reference import DTYPES

F = al.nn.functional
INTEGERS = [d for d in DTYPES if d.is_integer]
UNSIGNED = [d for d in INTEGERS if not d.is_signed]
each_integer = pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)


@pytest.mark.parametrize("dtype", UNSIGNED, ids=lambda d: d.name)
def test_softmax_of_unsigned_integers(dtype):
    # x - max wraps in unsigned numbers.
    x = al.tensor([0, 1, 3], dtype=dtype)
    e = numpy.exp(numpy.array([0.0, 1.0, 3.0]))
    numpy.testing.assert_allclose(x.softmax(0).numpy(), e / e.sum(), rtol=1e-6)
    numpy.testing.assert_allclose(x.log_softmax(0).numpy(), numpy.log(e / e.sum()), rtol=1e-6)
    numpy.testing.assert_allclose(F.softmin(x, 0).numpy(), (1 / e) / (1 / e).sum(), rtol=1e-6)


@each_integer
def test_mean_of_the_greatest_integer(dtype):
    most = al.iinfo(dtype).max
    assert al.full((1000,), most, dtype=dtype).mean(dtype="float64").item() == float(most)
    assert al.full((1000,), most, dtype=dtype).mean().item() == float(numpy.float32(most))


@each_integer
def test_variance_of_integers(dtype):
    x = al.tensor([1, 2, 3, 100], dtype=dtype)
    expected = numpy.var([1.0, 2.0, 3.0, 100.0], ddof=1)
    assert x.var().dtype is al.float32
    numpy.testing.assert_allclose(x.var().item(), expected, rtol=1e-6)
    numpy.testing.assert_allclose(x.std().item(), expected**0.5, rtol=1e-6)


def test_mean_of_float16_whose_sum_overflows():
    assert al.full((4096,), 60000.0, dtype="float16").mean().item() == 60000.0
    assert al.full((4096,), 60000.0, dtype="float16").var().item() == 0.0
    assert al.full((100000,), 1.0, dtype="bfloat16").mean().item() == 1.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 64)])
def test_products_of_4096_ones(dtype, shape):
    a, b = al.ones(shape[0], 4096, dtype=dtype), al.ones(4096, shape[1], dtype=dtype)
    assert set((a @ b).ravel().tolist()) == {4096.0}
    assert al.einsum("ik,kj->ij", a, b)[0, 0].item() == 4096.0
    assert a[0].dot(b[:, 0]).item() == 4096.0
    assert F.linear(a, b.T)[0, 0].item() == 4096.0


def test_sum_of_large_unsigned_integers():
    x = al.tensor([2**63, 1], dtype="uint64")
    assert x.sum().item() == 2**63 + 1 and x.sum().dtype is al.uint64
    assert al.tensor([2**63, 2**63], dtype="uint64").sum().item() == 0, "integers wrap"
    assert x.max().item() == 2**63 and x.cumsum(0).tolist() == [2**63, 2**63 + 1]
    assert x.sort().values.tolist() == [1, 2**63]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.name.startswith("float8")], ids=lambda d: d.name)
def test_sort_of_float8_with_equals_and_nan(dtype):
    x = al.tensor([2.0, float("nan"), -1.0, 2.0, 0.5, -1.0]).to(dtype)
    values, places = x.sort()
    assert values.dtype is dtype
    assert values.to("float32").tolist()[:5] == [-1.0, -1.0, 0.5, 2.0, 2.0]
    assert values.isnan().tolist() == [False] * 5 + [True]
    assert places.tolist() == [2, 5, 4, 0, 3, 1]
    down, places = x.sort(descending=True)
    assert down.isnan().tolist() == [True] + [False] * 5
    assert places.tolist() == [1, 0, 3, 4, 2, 5]
    assert x.unique().numel() == 4


def test_uint8_is_an_index_and_no_mask():
    x = al.arange(10, 14)
    index = al.tensor([1, 0, 1, 0], dtype="uint8")
    assert x[index].tolist() == [11, 10, 11, 10]
    assert x[index.to(al.bool)].tolist() == [10, 12]
    x[al.tensor([3], dtype="uint8")] = 0
    assert x.tolist() == [10, 11, 12, 0]


def test_median_of_an_even_count():
    # torch's median is the lower of two; the mean of both is the quantile.
    x = al.tensor([1, 2, 3, 4], dtype="uint8")
    assert x.median().item() == 2 and x.median(0).indices.item() == 1
    assert al.tensor([4.0, 1.0, 3.0, 2.0]).quantile(0.5).item() == 2.5


def test_products_of_int8_in_wider_sums():
    a = al.full((2, 1000), 127, dtype="int8")
    wide = al.matmul(a, a.T, acc_dtype="int32")
    assert wide.dtype is al.int32 and set(wide.ravel().tolist()) == {127 * 127 * 1000}
    wrapped = (127 * 127 * 1000 + 128) % 256 - 128
    assert set((a @ a.T).ravel().tolist()) == {wrapped}
    rounded = al.matmul(a, a.T, dtype="float32", acc_dtype="int32")
    assert rounded.tolist() == [[127.0 * 127 * 1000] * 2] * 2


def test_complex_keeps_gradients():
    re, im = al.tensor([1.0, 2.0], requires_grad=True), al.tensor([3.0, -1.0], requires_grad=True)
    (al.complex(re, im) * (2 + 1j)).real.sum().backward()
    assert re.grad.tolist() == [2, 2] and im.grad.tolist() == [-1, -1]


X = al.arange(12.0).reshape(3, 4)


def _max_unpool(index):
    return F.max_unpool2d(al.ones(1, 1, 2, 2), index.reshape(1, 1, 2, 2), 2)


# Operations that take an index tensor of the elements 1, 0, 2, 2.
INDEXED = {
    "getitem": lambda i: X[i],
    "getitem of two": lambda i: X[i, i],
    "gather": lambda i: X.gather(0, i.reshape(1, 4)),
    "scatter": lambda i: X.scatter(0, i.reshape(1, 4), 9.0),
    "scatter_add": lambda i: X.scatter_add(0, i.reshape(1, 4), al.ones(1, 4)),
    "scatter_reduce": lambda i: X.scatter_reduce(0, i.reshape(1, 4), al.ones(1, 4), "amax"),
    "index_select": lambda i: X.index_select(0, i),
    "index_add": lambda i: X.index_add(0, i, al.ones(4, 4)),
    "index_copy": lambda i: X.index_copy(0, i, al.ones(4, 4)),
    "index_fill": lambda i: X.index_fill(0, i, 5.0),
    "index_put": lambda i: X.index_put((i,), al.tensor(7.0)),
    "index_reduce": lambda i: X.index_reduce(0, i, al.ones(4, 4), "prod"),
    "take": lambda i: X.take(i),
    "put": lambda i: X.put(i, al.ones(4)),
    "take_along_dim": lambda i: X.take_along_dim(i.reshape(1, 4), 0),
    "embedding": lambda i: F.embedding(i, X),
    "embedding_bag": lambda i: F.embedding_bag(i.reshape(2, 2), X),
    "embedding_bag offsets": lambda i: F.embedding_bag(i, X, al.tensor([0, 2]).to(i.dtype)),
    "one_hot": lambda i: F.one_hot(i, 3),
    "bincount": lambda i: al.bincount(i),
    "bincount weights": lambda i: al.bincount(i, al.ones(4)),
    "unravel_index": lambda i: al.stack(al.unravel_index(i, (3, 2))),
    "cross_entropy": lambda i: F.cross_entropy(X.T, i),
    "nll_loss": lambda i: F.nll_loss(X.T, i),
    "multi_margin_loss": lambda i: F.multi_margin_loss(X.T, i),
    "repeat_interleave": lambda i: al.arange(4).repeat_interleave(i),
    "max_unpool2d": _max_unpool,
    "ctc_loss": lambda i: F.ctc_loss(al.zeros(6, 1, 3), i.reshape(1, 4)[:, 2:3], i[2:3] + 4, i[:1]),
    "lu_unpack": lambda i: al.lu_unpack(al.eye(4), i + 1)[0],
}


@each_integer
@pytest.mark.parametrize("name", INDEXED)
def test_indices_of_every_width(name, dtype):
    index = al.tensor([1, 0, 2, 2])
    expected = INDEXED[name](index)
    got = INDEXED[name](index.to(dtype))
    assert got.dtype is expected.dtype and got.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["getitem", "gather", "index_select", "take", "embedding", "put"])
def test_floats_are_no_indices(name):
    with pytest.raises((TypeError, IndexError)):
        INDEXED[name](al.tensor([1.0, 0.0, 2.0, 2.0]))
