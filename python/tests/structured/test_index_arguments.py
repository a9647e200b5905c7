"""Index tensors of every integer dtype, wherever their elements lie, in every function with one."""

import numpy as np
import pytest
from arrangements import LAYOUTS, assert_close, laid, narrow, numbers, wide
from reference import DTYPES, INTEGERS, named

import allotrope as al

F = al.nn.functional


def indices(below, *shape, dtype=al.int64, layout="contiguous", seed=3):
    """Indices with duplicates."""
    values = np.random.default_rng([seed, below, *shape]).integers(0, below, shape)
    return laid(al.tensor(values).to(dtype), layout)


def added(x, places, source):
    np.add.at(x, places, source)
    return x


def along(index, dim, x):
    """The places that gather and scatter mean."""
    grid = list(np.indices(index.shape))
    grid[dim] = index
    return tuple(grid)


def one_hot(i):
    return np.eye(5, dtype=np.int64)[i]


CASES = {
    "gather": (
        (4, 5),
        (4, 5),
        lambda x, i: al.gather(x, -1, i),
        lambda x, i: np.take_along_axis(x, i, -1),
    ),
    "gather by rows": (
        (5, 3),
        (7, 3),
        lambda x, i: al.gather(x, 0, i),
        lambda x, i: np.take_along_axis(x, i, 0),
    ),
    "take_along_dim": (
        (4, 5),
        (4, 2),
        lambda x, i: al.take_along_dim(x, i, -1),
        lambda x, i: np.take_along_axis(x, i, -1),
    ),
    "take": ((5, 4), (3, 6), al.take, lambda x, i: x.ravel()[i]),
    "index_select": ((4, 5), (6,), lambda x, i: al.index_select(x, -1, i), lambda x, i: x[:, i]),
    "embedding": ((5, 3), (2, 4), lambda x, i: F.embedding(i, x), lambda x, i: x[i]),
    "x[i]": ((5, 3), (2, 4), lambda x, i: x[i], lambda x, i: x[i]),
    "x[:, i]": ((3, 5), (2, 4), lambda x, i: x[:, i], lambda x, i: x[:, i]),
    "scatter of a number": (
        (4, 5),
        (4, 5),
        lambda x, i: al.scatter(x, 1, i, True),
        lambda x, i: np.where(one_hot(i).any(1), 1, x),
    ),
    "index_fill": (
        (5, 3),
        (4,),
        lambda x, i: al.index_fill(x, 0, i, True),
        lambda x, i: np.where(one_hot(i).any(0)[:, None], 1, x),
    ),
    "repeat_interleave": (
        (5, 3),
        (5,),
        lambda x, i: al.repeat_interleave(x, i, 0),
        lambda x, i: np.repeat(x, i, 0),
    ),
}
ADDING = {
    "scatter_add": (
        (4, 5),
        (4, 7),
        (4, 7),
        lambda x, i, s: al.scatter_add(x, 1, i, s),
        lambda x, i, s: added(x, along(i, 1, x), s),
    ),
    "scatter_add by rows": (
        (5, 3),
        (7, 3),
        (7, 3),
        lambda x, i, s: al.scatter_add(x, -2, i, s),
        lambda x, i, s: added(x, along(i, 0, x), s),
    ),
    "scatter": (
        (4, 5),
        (4, 7),
        (4, 7),
        lambda x, i, s: al.scatter(x, -1, i, s, reduce="add"),
        lambda x, i, s: added(x, along(i, 1, x), s),
    ),
    "scatter_reduce": (
        (4, 5),
        (4, 7),
        (4, 7),
        lambda x, i, s: al.scatter_reduce(x, -1, i, s, "sum"),
        lambda x, i, s: added(x, along(i, 1, x), s),
    ),
    "index_add": (
        (5, 3),
        (7,),
        (7, 3),
        lambda x, i, s: al.index_add(x, 0, i, s),
        lambda x, i, s: added(x, (i,), s),
    ),
    "index_add by columns": (
        (3, 5),
        (7,),
        (3, 7),
        lambda x, i, s: al.index_add(x, -1, i, s),
        lambda x, i, s: added(x, (slice(None), i), s),
    ),
    "index_put": (
        (5, 3),
        (7,),
        (7, 3),
        lambda x, i, s: al.index_put(x, (i,), s, accumulate=True),
        lambda x, i, s: added(x, (i,), s),
    ),
    "put": (
        (5, 4),
        (3, 6),
        (3, 6),
        lambda x, i, s: x.put(i, s, accumulate=True),
        lambda x, i, s: added(x.ravel(), (i,), s).reshape(5, 4),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index", INTEGERS, ids=named)
@pytest.mark.parametrize("case", CASES)
def test_places(case, index, layout):
    sizes, shape, ours, theirs = CASES[case]
    i = indices(5, *shape, dtype=index, layout=layout)
    for dtype in DTYPES:
        x = laid(numbers(dtype, *sizes), layout)
        got = ours(x, i)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), narrow(theirs(wide(x), wide(i)), dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index", INTEGERS, ids=named)
@pytest.mark.parametrize("case", ADDING)
def test_sums_at_duplicates(case, index, layout):
    sizes, shape, source, ours, theirs = ADDING[case]
    i = indices(5, *shape, dtype=index, layout=layout)
    for dtype in DTYPES:
        x, s = laid(numbers(dtype, *sizes), layout), laid(numbers(dtype, *source), layout)
        got = ours(x, i, s)
        assert got.dtype == dtype
        assert_close(got, theirs(wide(x), wide(i), wide(s)), ulps=2)


@pytest.mark.parametrize("layout", LAYOUTS[:-1])
@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_integers_as_data(dtype, layout):
    i = indices(5, 3, 4, dtype=dtype, layout=layout)
    np.testing.assert_array_equal(F.one_hot(i, 5).numpy(), one_hot(wide(i)))
    line = indices(5, 12, dtype=dtype, layout=layout)
    np.testing.assert_array_equal(al.bincount(line).numpy(), np.bincount(wide(line)))
    scores = numbers(al.float64, 12, 5)
    logs = wide(scores) - np.log(np.exp(wide(scores)).sum(1, keepdims=True))
    want = -logs[np.arange(12), wide(line)]
    assert_close(F.cross_entropy(scores, line, reduction="none"), want, ulps=8)
    assert_close(
        F.nll_loss(scores, line, reduction="none"), -wide(scores)[np.arange(12), wide(line)]
    )
    bags = F.embedding_bag(i, scores, mode="sum")
    assert_close(bags, wide(scores)[wide(i)].sum(1), ulps=4)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("index", INTEGERS, ids=named)
def test_no_indices(index, dtype):
    x, none = numbers(dtype, 3, 4), al.zeros(0, dtype=index)
    flat = al.zeros((3, 0), dtype=index)
    assert tuple(al.index_select(x, 0, none).shape) == (0, 4)
    assert tuple(al.gather(x, 1, flat).shape) == (3, 0)
    assert tuple(al.take(x, none).shape) == (0,)
    assert tuple(F.embedding(flat, x).shape) == (3, 0, 4)
    same = [
        al.scatter(x, 1, flat, x),
        al.scatter_add(x, 1, flat, x),
        al.index_add(x, 0, none, x[:0]),
        al.index_copy(x, 0, none, x[:0]),
        al.index_put(x, (none,), x[:0]),
        x.put(none, x[0, :0]),
    ]
    for got in same:
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), x.numpy())
