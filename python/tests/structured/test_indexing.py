"""Elements read from and written to where indices say, against NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al
from reference import DTYPES, FLOATS, INTEGERS, REALS, assert_same, named, numpy_cast

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)


def values(shape, dtype, seed=0, low=0, high=4):
    """Small numbers, which every dtype and every sum of a few of them holds."""
    random = np.random.default_rng(seed)
    return numpy_cast(random.integers(low, high, shape), dtype)


def layouts(array):
    """The same elements as tensors of several layouts."""
    yield al.from_numpy(array.copy())
    turned = al.from_numpy(np.ascontiguousarray(array.T))
    yield turned.permute(*range(array.ndim)[::-1])
    wide = np.repeat(array, 2, axis=-1)
    yield al.from_numpy(wide)[..., ::2]
    yield al.from_numpy(np.ascontiguousarray(np.flip(array)))[(slice(None, None, -1),) * array.ndim]


def numpy_add_at(x, dtype, places, source):
    """np.add.at in the dtype that sums are formed in, rounded once."""
    if dtype is al.bool:
        out = x.copy()
        np.logical_or.at(out, places, source)
        return out
    wide = x.astype(np.float32 if dtype.compute_dtype is al.float32 else x.dtype)
    np.add.at(wide, places, source.astype(wide.dtype))
    return numpy_cast(wide, dtype)


def along(index, dim):
    """Open indices of an index along a dimension, for fancy indexing."""
    places = list(np.indices(index.shape))
    places[dim] = index
    return tuple(places)


class TestPick:
    @each_dtype
    def test_gather(self, dtype):
        x = values((4, 5, 3), dtype, high=100 if dtype.bits > 4 else 4)
        for dim in (0, 1, 2, -1):
            index = np.random.default_rng(dim + 1).integers(0, x.shape[dim], (4, 5, 3))
            for tensor in layouts(x):
                got = tensor.gather(dim, al.from_numpy(index)).numpy()
                assert_same(got, np.take_along_axis(x, index, dim))

    @pytest.mark.parametrize("dtype", INTEGERS, ids=named)
    def test_every_integer_is_an_index(self, dtype):
        x = np.arange(12).reshape(3, 4)
        index = np.array([2, 0, 1, 1]).astype(dtype.numpy_dtype)
        t, i = al.tensor(x), al.tensor(index)
        assert_same(t.index_select(0, i).numpy(), x[[2, 0, 1, 1]])
        assert_same(t.take(i).numpy(), x.ravel()[[2, 0, 1, 1]])
        assert_same(t.gather(0, i.reshape(1, 4)).numpy(), x[[[2, 0, 1, 1]], np.arange(4)])
        if dtype.is_signed:
            assert_same(t.index_select(1, -i - 1).numpy(), x[:, [-3, -1, -2, -2]])

    def test_smaller_index(self):
        x = np.arange(60).reshape(3, 4, 5)
        index = np.random.default_rng(0).integers(-4, 4, (2, 6, 3))
        want = np.take_along_axis(x[:2, :, :3], index, 1)
        assert_same(al.tensor(x).gather(1, al.tensor(index)).numpy(), want)

    def test_expanded_index(self):
        x = np.arange(20.0).reshape(4, 5)
        index = al.tensor([[3], [0]]).expand(2, 5)
        assert_same(al.tensor(x).gather(0, index).numpy(), x[[3, 0]])

    @each_dtype
    def test_index_select(self, dtype):
        x = values((4, 5, 3), dtype)
        for dim in (0, 1, -1):
            index = np.array([1, 0, 2, 2, -1])
            for tensor in layouts(x):
                got = tensor.index_select(dim, al.tensor(index)).numpy()
                assert_same(got, np.take(x, index, dim))
                got = tensor.take(al.tensor(index.reshape(5, 1)), axis=dim).numpy()
                assert_same(got, np.take(x, index.reshape(5, 1), dim))

    def test_large(self):
        random = np.random.default_rng(5)
        x = random.standard_normal((1000, 300)).astype(np.float32)
        index = random.integers(-1000, 1000, 700)
        assert_same(al.tensor(x).index_select(0, al.tensor(index)).numpy(), x[index])
        assert_same(al.tensor(x.T).index_select(1, al.tensor(index)).numpy(), x.T[:, index])
        flat = random.integers(0, x.size, (500, 200))
        assert_same(al.tensor(x).take(al.tensor(flat)).numpy(), x.ravel()[flat])
        deep = random.integers(0, 1000, (900, 300))
        want = np.take_along_axis(x, deep, 0)
        assert_same(al.tensor(x).gather(0, al.tensor(deep)).numpy(), want)

    def test_take_along_dim(self):
        x = np.arange(24).reshape(2, 3, 4)
        index = np.array([[[3, -1]]])
        want = np.take_along_axis(x, np.broadcast_to(index, (2, 3, 2)), 2)
        assert_same(al.tensor(x).take_along_dim(al.tensor(index), 2).numpy(), want)
        assert_same(al.take_along_axis(al.tensor(x), al.tensor(index), axis=2).numpy(), want)
        flat = np.array([[5, 23]])
        want = x.ravel()[[5, 23]]
        assert_same(al.tensor(x).take_along_dim(al.tensor(flat)).numpy(), want)

    def test_without_dimensions_and_elements(self):
        five = al.tensor(5)
        assert five.gather(0, al.tensor(0)).tolist() == 5
        assert five.gather(0, al.tensor([0, -1])).tolist() == [5, 5]
        assert five.index_select(0, al.tensor([0])).tolist() == 5
        assert five.take(al.tensor([[0]])).tolist() == [[5]]
        empty = al.zeros(0, 3)
        assert empty.index_select(1, al.tensor([2, 0])).shape == (0, 2)
        assert empty.index_select(0, []).shape == (0, 3)
        assert al.zeros(2, 3).gather(1, al.zeros(2, 0, dtype=al.int64)).shape == (2, 0)
        assert al.zeros(2, 3).take([]).shape == (0,)

    @pytest.mark.parametrize(
        "call, error, text",
        [
            (lambda x: x.gather(1, [[0], [3]]), IndexError, "3; dimension 1 has size 3"),
            (lambda x: x.gather(1, [[0], [-4]]), IndexError, "-4; dimension 1 has size 3"),
            (lambda x: x.gather(2, [[0]]), IndexError, "axis out of range: 2"),
            (lambda x: x.gather(0, [0]), ValueError, r"wrong shape of index: \[1\]"),
            (lambda x: x.gather(0, [[0] * 4]), ValueError, r"at most \[2, 3\] but for dimension 0"),
            (lambda x: x.gather(0, [[0.5]]), TypeError, "integer"),
            (lambda x: x.gather(0, [[True]]), TypeError, "integer"),
            (lambda x: x.index_select(0, [[0]]), ValueError, "vector"),
            (lambda x: x.index_select(0, [2]), IndexError, "index_select: .* 2; dimension 0"),
            (lambda x: x.take([6]), IndexError, "take: index out of range: 6; .* size 6"),
            (lambda x: x.gather(), TypeError, "dim is missing"),
            (lambda x: x.gather(0), TypeError, "index is missing"),
            (
                lambda x: x.take(al.tensor([2**64 - 1], dtype=al.uint64)),
                IndexError,
                "index out of range",
            ),
        ],
    )
    def test_errors(self, call, error, text):
        with pytest.raises(error, match=text):
            call(al.zeros(2, 3))


class TestScatter:
    @each_dtype
    def test_replaces(self, dtype):
        x, source = values((4, 5), dtype), values((4, 5), dtype, 1)
        for dim in (0, 1, -1):
            index = np.argsort(np.random.default_rng(2).random((4, 5)), axis=dim)
            want = x.copy()
            np.put_along_axis(want, index, source, dim)
            for tensor, other in zip(layouts(x), layouts(source)):
                got = tensor.scatter(dim, al.from_numpy(index), other).numpy()
                assert_same(got, want)

    @each_dtype
    def test_adds(self, dtype):
        x, source = values((4, 5), dtype), values((6, 5), dtype, 1)
        index = np.random.default_rng(3).integers(-4, 4, (6, 5))
        want = numpy_add_at(x, dtype, along(index, 0), source)
        for tensor, other in zip(layouts(x), layouts(source)):
            i = al.from_numpy(index)
            assert_same(tensor.scatter_add(0, i, other).numpy(), want)
            assert_same(tensor.scatter(0, i, other, reduce="add").numpy(), want)
            assert_same(tensor.scatter_reduce(0, i, other, "sum").numpy(), want)

    @each_dtype
    def test_multiplies(self, dtype):
        x, source = values((4, 5), dtype, low=1), values((4, 2), dtype, 1, low=1, high=3)
        index = np.random.default_rng(3).integers(0, 5, (4, 2))
        want = x.astype(np.float32 if dtype.compute_dtype is al.float32 else x.dtype)
        (np.logical_and if dtype is al.bool else np.multiply).at(
            want, along(index, 1), source.astype(want.dtype)
        )
        want = numpy_cast(want, dtype)
        i, s = al.tensor(index), al.tensor(source)
        assert_same(al.tensor(x).scatter(1, i, s, reduce="multiply").numpy(), want)
        assert_same(al.tensor(x).scatter_reduce(1, i, s, "prod").numpy(), want)

    @pytest.mark.parametrize("dtype", REALS, ids=named)
    @pytest.mark.parametrize("reduce", ["amax", "amin"])
    def test_extremes(self, dtype, reduce):
        x, source = values((3, 4), dtype), values((5, 4), dtype, 1)
        index = np.random.default_rng(3).integers(0, 2, (5, 4))
        function = np.maximum if reduce == "amax" else np.minimum
        wide = np.uint8 if dtype is al.bool else np.float64
        want = x.astype(wide)
        function.at(want, along(index, 0), source.astype(wide))
        i, s = al.tensor(index), al.tensor(source)
        got = al.tensor(x).scatter_reduce(0, i, s, reduce).numpy()
        assert_same(got, want.astype(x.dtype))
        want = x.astype(wide)
        for column in range(4):
            for row in set(index[:, column]):
                met = source.astype(wide)[index[:, column] == row, column]
                want[row, column] = function.reduce(met)
        got = al.tensor(x).scatter_reduce(0, i, s, reduce, include_self=False).numpy()
        assert_same(got, want.astype(x.dtype))

    def test_mean(self):
        x, index = al.tensor([1.0, 2.0, 3.0]), al.tensor([0, 0, 2])
        source = al.tensor([4.0, 7.0, 6.0])
        assert x.scatter_reduce(0, index, source, "mean").tolist() == [4.0, 2.0, 4.5]
        got = x.scatter_reduce(0, index, source, "mean", include_self=False)
        assert got.tolist() == [5.5, 2.0, 6.0]
        got = x.to(al.int32).scatter_reduce(0, index, source.to(al.int32), "mean")
        assert got.dtype == al.float32 and got.tolist() == [4.0, 2.0, 4.5]
        got = x.index_reduce(0, index, source, "mean")
        assert got.tolist() == [4.0, 2.0, 4.5]

    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_nan_goes_through_extremes(self, dtype):
        if not dtype.finfo.has_nan:
            pytest.skip("no NaN")
        nan = float("nan")
        x = al.tensor([1.0, nan, 2.0]).to(dtype)
        source = al.tensor([nan, 3.0, 4.0]).to(dtype)
        for reduce in ("amax", "amin"):
            got = x.scatter_reduce(0, al.tensor([0, 1, 2]), source, reduce).to(al.float64).tolist()
            assert got[0] != got[0] and got[1] != got[1] and got[2] == got[2]

    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_narrow_floats_are_rounded_once(self, dtype):
        """The sum of many small numbers, none of which alone changes the large one."""
        one, small = al.ones(1, dtype=dtype), al.full((4096,), 2.0**-10, dtype=al.float64).to(dtype)
        total = 1.0 + float(small.to(al.float64).sum())
        got = one.scatter_add(0, al.zeros(4096, dtype=al.int64), small)
        assert_same(got.numpy(), al.tensor([total], dtype=al.float64).to(dtype).numpy())
        got = one.index_add(0, al.zeros(4096, dtype=al.uint8), small)
        assert_same(got.numpy(), al.tensor([total], dtype=al.float64).to(dtype).numpy())

    def test_promotes(self):
        x, index = al.zeros(3, dtype=al.int32), al.tensor([1])
        assert x.scatter(0, index, 0.5).dtype == al.float32
        assert x.scatter(0, index, 0.5).tolist() == [0.0, 0.5, 0.0]
        assert x.scatter(0, index, 2).dtype == al.int32
        assert x.scatter_add(0, index, al.tensor([0.5], dtype=al.float64)).dtype == al.float64
        assert x.index_add(0, index, al.ones(1, dtype=al.int64)).dtype == al.int64
        assert x.index_add(0, index, al.ones(1, dtype=al.int32), alpha=0.5).tolist() == [0, 0.5, 0]
        assert x.index_put((index,), 1.5).tolist() == [0, 1.5, 0]
        assert x.index_fill(0, index, 1j).dtype == al.complex64
        assert x.put(index, al.tensor([2.5])).tolist() == [0, 2.5, 0]
        with pytest.raises(OverflowError, match="scatter"):
            x.scatter(0, index, 2**40)
        with pytest.raises(TypeError, match="scatter_add"), al.promotion("strict"):
            x.scatter_add(0, index, al.ones(1))

    def test_the_last_of_equals_stays(self):
        x, index = al.zeros(2, dtype=al.int64), al.zeros(1000, dtype=al.int64)
        assert x.scatter(0, index, al.arange(1000)).tolist() == [999, 0]
        assert x.index_copy(0, index, al.arange(1000)).tolist() == [999, 0]
        assert x.put(index, al.arange(1000)).tolist() == [999, 0]

    def test_smaller_index_and_source(self):
        x, source = np.zeros((3, 4, 5)), np.arange(60.0).reshape(3, 4, 5)
        index = np.random.default_rng(0).integers(0, 5, (2, 3, 2))
        want = x.copy()
        want_view = want[:2, :3]
        for place in itertools.product(*map(range, index.shape)):
            want_view[place[0], place[1], index[place]] = source[place]
        got = al.tensor(x).scatter(2, al.tensor(index), al.tensor(source))
        assert_same(got.numpy(), want)

    @pytest.mark.parametrize("shape, dim", [((300, 400), 1), ((40, 30, 100), 1), ((3, 90000), 1)])
    def test_large_lines(self, shape, dim):
        random = np.random.default_rng(4)
        x = random.standard_normal(shape).astype(np.float32)
        index = random.integers(0, shape[dim], shape)
        source = random.standard_normal(shape).astype(np.float32)
        want = x.copy()
        np.add.at(want, along(index, dim), source)
        got = al.tensor(x).scatter_add(dim, al.tensor(index), al.tensor(source))
        assert_same(got.numpy(), want)

    @pytest.mark.parametrize(
        "call, error, text",
        [
            (lambda x: x.scatter(1, [[3]], 1.0), IndexError, "3; dimension 1 has size 3"),
            (lambda x: x.scatter(1, [[0, 1]], [[1.0]]), ValueError, "wrong shape of source"),
            (lambda x: x.scatter(1, [[0]], 1.0, reduce="sum"), ValueError, "'sum'.*add, multiply"),
            (lambda x: x.scatter(1, [[0]]), TypeError, "src is missing"),
            (lambda x: x.scatter(1, [[0]], 1.0, value=2.0), TypeError, "given twice"),
            (
                lambda x: x.scatter_reduce(1, [[0]], [[1.0]], "median"),
                ValueError,
                "'median'; accepted are sum, prod",
            ),
            (lambda x: x.scatter_reduce(1, [[0]], [[1j]], "amax"), TypeError, "real"),
            (lambda x: x.index_add(0, [0], [1.0]), ValueError, r"wrong shape of source: \[1\]"),
            (lambda x: x.index_fill(0, [0], [1.0]), ValueError, "wrong shape of value"),
            (lambda x: x.put([0], [1.0, 2.0]), ValueError, "as many elements as the index"),
            (lambda x: x.index_put(0, 1.0), TypeError, "tuple of tensors"),
            (lambda x: x.index_put(([2],), 1.0, True), IndexError, "index_put: index out of range: 2"),
        ],
    )
    def test_errors(self, call, error, text):
        with pytest.raises(error, match=text):
            call(al.zeros(2, 3))


class TestSlices:
    @each_dtype
    def test_index_add_and_copy(self, dtype):
        x = values((4, 5, 3), dtype)
        index = np.array([1, -1, 1, 0])
        for dim in (0, 1, 2):
            shape = list(x.shape)
            shape[dim] = 4
            source = values(shape, dtype, 1)
            places = (slice(None),) * dim + (index,)
            moved = np.moveaxis(source, dim, 0)
            want = numpy_add_at(np.moveaxis(x, dim, 0), dtype, index, moved)
            copied = np.moveaxis(x, dim, 0).copy()
            for place, row in zip(index, moved):
                copied[place] = row
            filled = x.copy()
            filled[places] = 1
            for tensor, other in zip(layouts(x), layouts(source)):
                got = tensor.index_add(dim, al.tensor(index), other).numpy()
                assert_same(got, np.moveaxis(want, 0, dim))
                got = tensor.index_copy(dim, al.tensor(index), other).numpy()
                assert_same(got, np.moveaxis(copied, 0, dim))
                got = tensor.index_fill(dim, al.tensor(index), True).numpy()
                assert_same(got, filled)

    def test_alpha(self):
        x, source = al.zeros(2, dtype=al.float16), al.tensor([0.1, 0.1]).to(al.float16)
        got = x.index_add(0, al.tensor([0, 0]), source, alpha=3)
        want = np.float16(2 * np.float32(3) * np.float32(np.float16(0.1)))
        assert got.dtype == al.float16 and got.tolist()[0] == want
        flags = al.tensor([True, False])
        assert flags.index_add(0, al.tensor([1]), al.tensor([True])).tolist() == [True, True]
        assert flags.index_add(0, al.tensor([0]), al.tensor([True]), alpha=2).tolist() == [3, 0]

    def test_large_rows(self):
        random = np.random.default_rng(6)
        x = random.standard_normal((500, 64)).astype(np.float32)
        index = random.integers(0, 500, 3000)
        source = random.standard_normal((3000, 64)).astype(np.float32)
        want = x.copy()
        np.add.at(want, index, source)
        got = al.tensor(x).index_add(0, al.tensor(index), al.tensor(source))
        assert_same(got.numpy(), want)
        got = al.tensor(x).index_add(0, al.tensor(index), al.tensor(source.T.copy()).T)
        assert_same(got.numpy(), want)

    def test_without_dimensions(self):
        five = al.tensor(5.0)
        assert five.index_add(0, al.tensor(0), al.tensor(2.0)).tolist() == 7.0
        assert five.index_fill(0, al.tensor([0]), 1.0).tolist() == 1.0
        assert five.scatter(0, al.tensor(0), 2.0).tolist() == 2.0
        assert five.put(al.tensor(-1), al.tensor(3.0)).tolist() == 3.0
        assert al.zeros(2, 0).index_fill(0, al.tensor([1]), 1).shape == (2, 0)

    @each_dtype
    def test_index_put_and_put(self, dtype):
        x, source = values((3, 4), dtype), values(5, dtype, 1)
        rows, columns = np.array([0, 2, 0, -1, 1]), np.array([1, 1, 1, 0, 3])
        key = (al.tensor(rows), al.tensor(columns))
        want = numpy_add_at(x, dtype, (rows, columns), source)
        assert_same(al.tensor(x).index_put(key, al.tensor(source), accumulate=True).numpy(), want)
        flat = np.ravel_multi_index((rows % 3, columns), x.shape)
        got = al.tensor(x).put(al.tensor(flat), al.tensor(source), accumulate=True)
        assert_same(got.numpy(), want)
        want = x.copy()
        want[rows, columns] = source
        assert_same(al.tensor(x).index_put(key, al.tensor(source)).numpy(), want)
        assert_same(al.tensor(x).put(al.tensor(flat), al.tensor(source)).numpy(), want)

    def test_index_put_of_masks_and_whole_dimensions(self):
        x = np.arange(12).reshape(3, 4)
        mask = x % 2 == 0
        want = x.copy()
        want[mask] += 100
        got = al.tensor(x).index_put((al.tensor(mask),), 100, accumulate=True)
        assert_same(got.numpy(), want)
        want = x.copy()
        want[:, [0, 2]] = -1
        got = al.tensor(x).index_put((None, al.tensor([0, 2])), -1)
        assert_same(got.numpy(), want)


class TestInPlace:
    @pytest.mark.parametrize(
        "name, arguments",
        [
            ("scatter", (0, [0, 0], [5, 6])),
            ("scatter_add", (0, [0, 0], [5, 6])),
            ("scatter_reduce", (0, [0, 0], [5, 6], "amax")),
            ("index_add", (0, [1], [5])),
            ("index_copy", (0, [1], [5])),
            ("index_fill", (0, [1], 5)),
            ("index_put", (([1],), 5)),
            ("index_reduce", (0, [1], [5], "prod")),
            ("masked_fill", ([True, False, False], 5)),
            ("masked_scatter", ([True, False, False], [5])),
            ("put", ([1], [5])),
        ],
    )
    def test_writes_where_the_elements_are(self, name, arguments):
        x = al.tensor([1, 2, 3])
        view = x[:]
        want = getattr(x, name)(*arguments).tolist()
        assert want != [1, 2, 3] and x.tolist() == [1, 2, 3]
        assert getattr(x, name + "_")(*arguments) is x
        assert x.tolist() == view.tolist() == want


@given(st.data())
def test_gather_and_scatter_along_any_dimension(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    index_shape = [data.draw(st.integers(0, size)) for size in shape]
    index_shape[dim] = data.draw(st.integers(0, 7))
    seed = data.draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    x = random.integers(-100, 100, shape).astype(np.int16)
    source = random.integers(-100, 100, index_shape).astype(np.int16)
    index = random.integers(-shape[dim], shape[dim], index_shape)
    part = [slice(None if d == dim % len(shape) else n) for d, n in enumerate(index_shape)]
    order = random.permutation(len(shape)).tolist()
    back = np.argsort(order).tolist()
    tensor = al.tensor(np.ascontiguousarray(x.transpose(order))).permute(back)
    got = tensor.gather(dim, al.tensor(index)).numpy()
    assert_same(got, np.take_along_axis(x[tuple(part)], index, dim))
    want = x.copy()
    np.add.at(want[tuple(part)], along(index, dim % len(shape)), source)
    got = tensor.scatter_add(dim, al.tensor(index), al.tensor(source)).numpy()
    assert_same(got, want)


def test_indices_beyond_memory_are_an_error():
    i = al.zeros(1, 1, dtype=al.int64).expand(1 << 24, 1)
    with pytest.raises(MemoryError):
        al.zeros(1, 1)[i, i.reshape(1, -1)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint64", "int64"])
def test_several_arrays_of_indices_into_views(dtype):
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    i, j = np.array([[0], [1]]).astype(dtype), np.array([2, 0, 1]).astype(dtype)
    views = [np.s_[:], np.s_[::-1, ..., ::-2], np.s_[:, ::-1, 1:], np.s_[:, :, :3, :0]]
    keys = [np.s_[i, j], np.s_[i, :, j], np.s_[:, j, 1], np.s_[..., j, j[:1]], np.s_[1, j], np.s_[i, j[:0]]]
    for view in views:
        for key in keys:
            ours = tuple(al.tensor(k) if isinstance(k, np.ndarray) else k for k in key)
            try:
                want = array[view][key]
            except IndexError:
                with pytest.raises(IndexError):
                    al.tensor(array)[view][ours]
                continue
            np.testing.assert_array_equal(al.tensor(array)[view][ours].numpy(), want)


@pytest.mark.parametrize("shape", [(0,), (0, 4, 5), (0, 4), (4, 0)])
def test_an_empty_index_of_any_shape(shape):
    x = al.ones(2, 3, requires_grad=True)
    index = al.empty(shape, dtype=al.int64)
    got = x.gather(1, index)
    assert got.shape == shape and got.dtype == x.dtype
    assert al.autograd.grad(got.sum(), x)[0].tolist() == [[0.0] * 3] * 2
    assert al.gather(x, 0, al.tensor([])).shape == (0,)
    with pytest.raises(IndexError, match="gather"):
        x.gather(2, index)
    for same in (x.scatter(1, index, 5.0), x.scatter_add(1, index, al.ones(shape))):
        assert same.tolist() == x.tolist()


def test_one_hot_of_bool():
    got = al.nn.functional.one_hot(al.tensor([[True], [False]]))
    assert got.tolist() == [[[0, 1]], [[1, 0]]] and got.dtype == al.int64
    assert al.nn.functional.one_hot(al.tensor([False, False]), 3).tolist() == [[1, 0, 0]] * 2
    with pytest.raises(TypeError, match="one_hot: .*float32.*bool or an integer dtype"):
        al.nn.functional.one_hot(al.ones(2))
