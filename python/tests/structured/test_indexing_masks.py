"""Masks, searches, counts, one-hot rows and embeddings, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al
from reference import DTYPES, FLOATS, INTEGERS, REALS, assert_same, named, numpy_cast

functional = al.nn.functional
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)


def values(shape, dtype, seed=0, low=0, high=4):
    return numpy_cast(np.random.default_rng(seed).integers(low, high, shape), dtype)


class TestMasks:
    @each_dtype
    def test_masked(self, dtype):
        x, mask = values((4, 5), dtype), np.random.default_rng(1).random((4, 5)) < 0.5
        t, m = al.tensor(x), al.tensor(mask)
        assert_same(t.masked_select(m).numpy(), x[mask])
        assert_same(t.T.masked_select(m.T).numpy(), x.T[mask.T])
        want = x.copy()
        want[mask] = 1
        assert_same(t.masked_fill(m, True).numpy(), want)
        source = values(20, dtype, 2)
        want = x.copy()
        want[mask] = source[: mask.sum()]
        assert_same(t.masked_scatter(m, al.tensor(source)).numpy(), want)
        got = t.T.masked_scatter(m.T, al.tensor(source)).numpy()
        want = x.T.copy()
        want[mask.T] = source[: mask.sum()]
        assert_same(got, want)

    @each_dtype
    def test_nonzero(self, dtype):
        x = values((3, 4, 5), dtype, high=2)
        want = np.argwhere(x.astype(bool))
        t = al.tensor(x)
        assert_same(t.nonzero().numpy(), want)
        assert_same(t.argwhere().numpy(), want)
        for got, column in zip(t.nonzero(as_tuple=True), want.T, strict=True):
            assert_same(got.numpy(), column)
        for got, column in zip(al.where(t.transpose(0, 2)), np.nonzero(x.T.astype(bool))):
            assert_same(got.numpy(), column)

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
    @pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
    def test_large(self, share, dtype):
        random = np.random.default_rng(3)
        x = random.standard_normal((300, 701)).astype(dtype)
        mask = random.random(x.shape) < share
        t, m = al.tensor(x), al.tensor(mask)
        assert_same(t.masked_select(m).numpy(), x[mask])
        assert_same(m.nonzero().numpy(), np.argwhere(mask))
        assert_same(m.flatten().nonzero().numpy(), np.argwhere(mask.ravel()))
        want = x.copy()
        want[mask] = x.ravel()[: mask.sum()]
        assert_same(t.masked_scatter(m, t).numpy(), want)

    def test_broadcasts(self):
        x, mask = np.arange(6).reshape(2, 3), np.array([True, False, True])
        t, m = al.tensor(x), al.tensor(mask)
        assert t.masked_select(m).tolist() == [0, 2, 3, 5]
        assert al.tensor([1, 2]).reshape(2, 1).masked_select(m).tolist() == [1, 1, 2, 2]
        assert t.masked_fill(m, 9).tolist() == [[9, 1, 9], [9, 4, 9]]
        assert t.masked_scatter(m, al.arange(10, 20)).tolist() == [[10, 1, 11], [12, 4, 13]]

    def test_without_dimensions_and_elements(self):
        assert al.tensor(5).masked_select(al.tensor(True)).tolist() == [5]
        assert al.tensor(5).nonzero().shape == (1, 0)
        assert [i.tolist() for i in al.tensor(5).nonzero(as_tuple=True)] == [[0]]
        assert al.zeros(0, 3).nonzero().shape == (0, 2)
        assert al.zeros(0, 3).masked_select(al.zeros(0, 3, dtype=bool)).shape == (0,)
        assert al.tensor(float("nan")).reshape(1).nonzero().tolist() == [[0]]

    def test_foreign_truth(self):
        """Any byte but zero is true."""
        mask = al.from_numpy(np.array([0, 2, 255, 1], dtype=np.uint8)).view(al.bool)
        assert al.arange(4).masked_select(mask).tolist() == [1, 2, 3]
        assert mask.nonzero().flatten().tolist() == [1, 2, 3]
        got = mask.scatter_add(0, al.tensor([0]), al.tensor([False]))
        assert got.tolist() == [False, True, True, True]

    def test_promotes(self):
        mask = al.tensor([True, False])
        got = al.tensor([1, 2]).masked_fill(mask, 0.5)
        assert got.dtype == al.float32 and got.tolist() == [0.5, 2.0]
        got = al.tensor([1, 2], dtype=al.int8).masked_scatter(mask, al.tensor([300]))
        assert got.dtype == al.int64 and got.tolist() == [300, 2]

    @pytest.mark.parametrize(
        "call, error, text",
        [
            (lambda x, m: x.masked_fill(x, 1), TypeError, "bool is accepted"),
            (lambda x, m: x.masked_select([1, 0]), TypeError, "masked_select: wrong dtype: int64"),
            (lambda x, m: x.masked_fill(m, [1.0, 2.0]), ValueError, "wrong shape of value"),
            (lambda x, m: x.masked_scatter(m, []), ValueError, "number of selected elements out of range: 1; as many as the source has are accepted$"),
            (lambda x, m: x.masked_select([True] * 3), ValueError, "do not broadcast"),
            (lambda x, m: al.where(m, 1), TypeError, "both or none"),
        ],
    )
    def test_errors(self, call, error, text):
        with pytest.raises(error, match=text):
            call(al.zeros(2), al.tensor([True, False]))


class TestSearch:
    @pytest.mark.parametrize("dtype", REALS, ids=named)
    @pytest.mark.parametrize("right", [False, True])
    def test_searchsorted(self, dtype, right):
        sequence = np.sort(values(17, dtype, high=9).astype(np.float64))
        wanted = values((4, 5), dtype, 1, high=11).astype(np.float64)
        side = "right" if right else "left"
        want = np.searchsorted(sequence, wanted, side)
        s, v = al.tensor(sequence).to(dtype), al.tensor(wanted).to(dtype)
        assert_same(al.searchsorted(s, v, right=right).numpy(), want)
        assert_same(al.searchsorted(s, v.T, side=side).numpy(), want.T)
        assert_same(al.bucketize(v, s, right=right).numpy(), want)
        small = al.searchsorted(s, v, right=right, out_int32=True)
        assert_same(small.numpy(), want.astype(np.int32))
        order = np.random.default_rng(2).permutation(17)
        mixed = al.tensor(sequence[order]).to(dtype)
        got = al.searchsorted(mixed, v, side=side, sorter=al.tensor(np.argsort(order)))
        assert_same(got.numpy(), want)

    def test_rows(self):
        sequence = np.sort(np.random.default_rng(0).random((2, 3, 50)), axis=-1)
        wanted = np.random.default_rng(1).random((2, 3, 7))
        want = np.stack(
            [
                np.searchsorted(a, b)
                for a, b in zip(sequence.reshape(6, 50), wanted.reshape(6, 7))
            ]
        ).reshape(2, 3, 7)
        got = al.searchsorted(al.tensor(sequence), al.tensor(wanted))
        assert_same(got.numpy(), want)

    def test_large(self):
        sequence = np.sort(np.random.default_rng(0).random(1000).astype(np.float32))
        wanted = np.random.default_rng(1).random(100_000).astype(np.float32)
        want = np.searchsorted(sequence, wanted)
        assert_same(al.searchsorted(al.tensor(sequence), al.tensor(wanted)).numpy(), want)

    def test_nan_is_last(self):
        nan = float("nan")
        s, v = [1.0, 2.0, nan, nan], [nan, 0.0, 2.0]
        assert al.searchsorted(al.tensor(s), al.tensor(v)).tolist() == [2, 0, 1]
        assert al.searchsorted(al.tensor(s), al.tensor(v), right=True).tolist() == [4, 0, 2]

    def test_is_exact_across_dtypes(self):
        edge = al.tensor([2**24], dtype=al.float32)
        assert al.searchsorted(edge, al.tensor([2**24 + 1])).tolist() == [1]
        assert al.searchsorted(edge, al.tensor([2**24])).tolist() == [0]
        big = al.tensor([2**63 + 1, 2**63 + 1025], dtype=al.uint64)
        got = al.searchsorted(big, al.tensor([2.0**63, 2.0**63 + 2048], dtype=al.float64))
        assert got.tolist() == [0, 2]
        assert al.searchsorted(big, al.tensor([-1, 2**62])).tolist() == [0, 0]
        with pytest.raises(TypeError, match="strict"), al.promotion("strict"):
            al.searchsorted(edge, al.tensor([1]))

    def test_scalars_and_nothing(self):
        assert al.searchsorted([1, 3, 5], 4).tolist() == 2
        assert al.bucketize(4.5, [1, 3, 5]).tolist() == 2
        assert al.searchsorted(al.zeros(0), al.tensor([1.0, 2.0])).tolist() == [0, 0]
        assert al.searchsorted([1, 2], al.zeros(0, 2)).shape == (0, 2)

    @pytest.mark.parametrize(
        "call, error, text",
        [
            (lambda: al.searchsorted([1], 1, side="up"), ValueError, "'up'; accepted are left"),
            (lambda: al.searchsorted([1], 1, side="left", right=True), ValueError, "differ"),
            (lambda: al.searchsorted([[1], [2]], [1]), ValueError, "wrong shape of values"),
            (lambda: al.searchsorted([1, 2], 1, sorter=[0]), ValueError, "shape of sorter"),
            (lambda: al.searchsorted([1, 2], 1, sorter=[0, 2]), IndexError, "searchsorted: .* 2;"),
            (lambda: al.searchsorted(1, 1), ValueError, r"sequence: \[\]; accepted is one of at least one dimension$"),
            (lambda: al.searchsorted([1, 2], 1, sorter=[True, False]), TypeError, "searchsorted: wrong dtype: bool"),
            (lambda: al.searchsorted([1j], 1), TypeError, "searchsorted"),
            (lambda: al.bucketize([1], [[1]]), ValueError, "vector"),
        ],
    )
    def test_errors(self, call, error, text):
        with pytest.raises(error, match=text):
            call()

    @pytest.mark.parametrize("dtype", [al.int32, al.int64, al.uint64, al.float32, al.float64], ids=named)
    @pytest.mark.parametrize("others", [0, 1, 64, 65, 5000])
    @pytest.mark.parametrize("spread", [1, 2**20 + 1], ids=["close", "apart"])
    def test_isin_of_many(self, dtype, others, spread):
        generator = np.random.default_rng(others)
        low = -3000 if dtype.is_signed else 0
        x = (generator.integers(low, 8000, 50_000) * spread).astype(dtype.numpy_dtype)
        others = (generator.integers(low // 2, 5000, others) * spread).astype(dtype.numpy_dtype)
        if dtype.is_floating_point:
            x[::7] = np.nan
        elif dtype == al.int64:
            x[:2] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        want = np.isin(x, others)
        assert al.isin(al.tensor(x), al.tensor(others)).tolist() == want.tolist()
        got = al.isin(al.tensor(x), al.tensor(others), invert=True)
        assert got.tolist() == (~want).tolist()

    @each_dtype
    def test_isin(self, dtype):
        x, others = values((4, 5), dtype, high=9), values(6, dtype, 1, high=9)
        if dtype.is_complex:
            x = (x + 1j * values((4, 5), dtype, 2)).astype(x.dtype)
            others = (others + 1j).astype(x.dtype)
        wide = np.complex128 if dtype.is_complex else np.float64
        want = np.isin(x.astype(wide), others.astype(wide))
        t, o = al.tensor(x), al.tensor(others)
        assert_same(al.isin(t, o).numpy(), want)
        assert_same(al.isin(t.T, o.reshape(2, 3), invert=True).numpy(), ~want.T)

    def test_isin_is_exact_and_knows_nan(self):
        nan = float("nan")
        assert al.isin([nan, 0.0, 1.0], [nan, -0.0]).tolist() == [False, True, False]
        got = al.isin(al.tensor([2**24 + 1, 2**24]), al.tensor([2.0**24]))
        assert got.tolist() == [False, True]
        assert al.isin(3, [1, 3]).tolist() is True
        assert al.isin([1, 2], []).tolist() == [False, False]
        assert al.isin(al.tensor([2**63], dtype=al.uint64), al.tensor([-(2**63)])).tolist() == [False]
        assert al.isin([1, 2], [1 + 0j, 2j]).tolist() == [True, False]


class TestCounts:
    @pytest.mark.parametrize("dtype", INTEGERS, ids=named)
    def test_bincount(self, dtype):
        x = values(50, dtype, high=9)
        want = np.bincount(x.astype(np.int64), minlength=5)
        assert_same(al.tensor(x).bincount().numpy(), want)
        assert_same(al.tensor(x).bincount(minlength=20).numpy(), np.bincount(x.astype(int), None, 20))

    @each_dtype
    def test_bincount_weights(self, dtype):
        x, weights = values(50, al.int64, high=9), values(50, dtype, 1)
        got = al.tensor(x).bincount(al.tensor(weights))
        want = np.bincount(x, weights.astype(np.complex128).real)
        if dtype.is_integer or dtype is al.bool:
            assert got.dtype == (al.uint64 if dtype.kind == "unsigned integer" else al.int64)
        else:
            assert got.dtype == dtype
        assert_same(got.numpy(), numpy_cast(want, got.dtype))

    def test_bincount_large_and_empty(self):
        for bins in (10, 100_000):
            x = np.random.default_rng(0).integers(0, bins, 200_000)
            assert_same(al.tensor(x).bincount().numpy(), np.bincount(x))
        assert al.tensor([], dtype=al.int64).bincount().shape == (0,)
        assert al.tensor([], dtype=al.int64).bincount(minlength=2).tolist() == [0, 0]
        with pytest.raises(ValueError, match="bincount: index out of range: -1; indices from 0 on"):
            al.tensor([0, -1]).bincount()
        with pytest.raises(ValueError, match="vector"):
            al.tensor([[0]]).bincount()
        with pytest.raises(ValueError, match="shape of weights"):
            al.tensor([0]).bincount([1.0, 2.0])

    @pytest.mark.parametrize("dtype", REALS, ids=named)
    def test_histc(self, dtype):
        x = values(80, dtype, high=13)
        got = al.tensor(x).histc(4, min=2, max=10)
        want = np.histogram(x.astype(np.float64), 4, (2, 10))[0]
        # Counts exceed what narrow floats hold.
        assert got.dtype == (al.float64 if dtype == al.float64 else al.float32)
        assert_same(got.numpy(), numpy_cast(want, got.dtype))

    @pytest.mark.parametrize("dtype", REALS, ids=named)
    def test_counts_are_not_rounded(self, dtype):
        """More elements than float16 has numbers for, and edges closer than those of the dtype."""
        x = al.zeros(70_001, dtype=dtype)
        x[0] = True
        assert x.histc(2).tolist() == [70_000, 1]
        hist, edges = x.histogram(100)
        assert hist.tolist() == [70_000] + [0] * 98 + [1]
        np.testing.assert_allclose(edges.numpy(), np.linspace(0, 1, 101), rtol=1e-6)
        with al.set_default_dtype(al.bfloat16):
            assert x.histc(2).tolist() == [70_000, 1]

    def test_histc_bounds(self):
        x = al.tensor([1.0, 2.0, 5.0])
        assert x.histc(4).tolist() == [1, 1, 0, 1]
        assert al.tensor([2.0, 2.0]).histc(4).tolist() == [0, 0, 2, 0]
        assert al.tensor([float("nan"), 1.0]).histc(2, 0, 2).tolist() == [0, 1]
        large = np.random.default_rng(0).random(200_000)
        want = np.histogram(large, 50, (0.25, 0.75))[0]
        assert al.tensor(large).histc(50, 0.25, 0.75).tolist() == want.tolist()
        with pytest.raises(ValueError, match="histc"):
            al.tensor([float("nan")]).histc(4)
        with pytest.raises(ValueError, match="bins out of range: 0"):
            x.histc(0)
        with pytest.raises(ValueError, match="nothing between the bounds"):
            x.histc(4, 2, 1)

    @pytest.mark.parametrize("dtype", REALS, ids=named)
    def test_histogram(self, dtype):
        x = values((8, 10), dtype, high=13)
        weights = np.random.default_rng(1).integers(0, 5, x.shape).astype(np.float64)
        for options in ({}, {"range": (2.0, 10.0)}, {"density": True}):
            for w in (None, weights):
                hist, edges = np.histogram(x.astype(np.float64), 5, weights=w, **options)
                weight = None if w is None else al.tensor(w)
                got, got_edges = al.histogram(al.tensor(x), 5, weight=weight, **options)
                np.testing.assert_allclose(got.numpy(), hist, rtol=1e-6)
                np.testing.assert_allclose(got_edges.numpy(), edges, rtol=1e-6)

    def test_histogram_edges(self):
        x = al.tensor([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, float("nan"), -1.0])
        hist, edges = x.histogram(al.tensor([0.0, 1.0, 3.0]))
        assert hist.tolist() == [1, 4] and edges.tolist() == [0, 1, 3]
        hist, edges = al.tensor([2.0]).histogram(2)
        assert hist.tolist() == [0, 1] and edges.tolist() == [1.5, 2.0, 2.5]
        with al.promotion("strict"):
            for count in (al.Tensor.histogram, al.Tensor.histc):
                with pytest.raises(TypeError, match="wrong dtype: int64"):
                    count(al.tensor([1, 2, 5]), 2)
        assert al.tensor([1, 2, 5]).histogram(2)[0].tolist() == al.tensor([1, 2, 5]).histc(2).tolist() == [2, 1]
        with pytest.raises(ValueError, match="shape of bins"):
            x.histogram(al.tensor([0.0]))
        with pytest.raises(ValueError, match="shape of bins"):
            x.histogram(al.tensor([3]))
        hist, edges = x.histogram(al.tensor([0.0, 1.0, 1.0, 3.0]))
        assert hist.tolist() == np.histogram(x.numpy(), [0.0, 1.0, 1.0, 3.0])[0].tolist()

    @pytest.mark.parametrize(
        "edges, wrong",
        [([3.0, 1.0], "1: 1.0"), ([0.0, float("nan")], "1: NaN"), ([float("nan"), 1.0, 2.0], "1: 1.0"), ([0, 2, 1], "2: 1")],
    )
    def test_histogram_edges_in_order(self, edges, wrong):
        message = f"^histogram: bins out of range at index {wrong}; edges in ascending order"
        with pytest.raises(ValueError, match=message):
            al.histogram(al.tensor([1.0, 2.0]), al.tensor(edges))

    def test_histogram_has_names_and_a_hundred_bins(self):
        x = al.tensor(np.random.default_rng(5).random(50))
        found = x.histogram()
        hist, edges = np.histogram(x.numpy(), 100)
        assert found.hist.tolist() == hist.tolist()
        np.testing.assert_allclose(found.bin_edges.numpy(), edges, rtol=1e-6)
        assert al.histogram(x, bins=al.tensor(7)).hist.shape == (7,)


def test_torch_names_of_isin():
    x, want = al.tensor([1, 2, 3]), [False, True, False]
    assert al.isin(elements=x, test_element=2).tolist() == want
    assert al.isin(elements=x, test_elements=al.tensor([2])).tolist() == want
    assert al.isin(element=2, test_elements=x).item() is True
    with pytest.raises(TypeError, match="isin: test_elements is missing"):
        al.isin(x)
    with pytest.raises(TypeError, match="isin: an argument is given twice"):
        al.isin(x, 2, element=x)

    @pytest.mark.parametrize("dtype", [al.float32, al.float64, al.int32, al.int64], ids=named)
    def test_large_histogram(self, dtype):
        generator = np.random.default_rng(3)
        x = (generator.standard_normal(100_000) * 100).round(1).astype(dtype.numpy_dtype)
        weights = generator.random(x.shape)
        # Even edges, uneven ones, and some that are there several times.
        uneven = np.cumsum(generator.integers(0, 9, 60)) - 150.0
        for edges in (np.linspace(-90.0, 70.0, 33), np.arange(-90.0, 70.0), uneven):
            want, _ = np.histogram(x.astype(np.float64), edges)
            hist, _ = al.tensor(x).histogram(al.tensor(edges))
            np.testing.assert_array_equal(hist.numpy(), want)
            want, _ = np.histogram(x.astype(np.float64), edges, weights=weights)
            hist, _ = al.tensor(x).histogram(al.tensor(edges), weight=al.tensor(weights))
            np.testing.assert_allclose(hist.numpy(), want, rtol=1e-5)

    def test_every_element_is_in_some_bin(self):
        x = np.random.default_rng(4).standard_normal(100_000).astype(np.float32)
        hist, edges = al.tensor(x).histogram(1000)
        want, _ = np.histogram(x.astype(np.float64), edges.to(al.float64).numpy())
        np.testing.assert_array_equal(hist.numpy(), want)
        assert hist.sum().item() == len(x)


class TestRows:
    @each_dtype
    def test_one_hot(self, dtype):
        index = np.array([[0, 3], [1, 1]], dtype=np.uint8)
        want = numpy_cast(np.eye(5, dtype=np.int64)[index], dtype)
        assert_same(functional.one_hot(al.tensor(index), 5, dtype=dtype).numpy(), want)

    def test_one_hot_classes(self):
        got = functional.one_hot(al.tensor([0, 2]))
        assert got.dtype == al.int64 and got.tolist() == [[1, 0, 0], [0, 0, 1]]
        assert functional.one_hot(al.tensor(1), 3).tolist() == [0, 1, 0]
        assert functional.one_hot(al.zeros(0, dtype=al.int64), 3).shape == (0, 3)
        with pytest.raises(IndexError, match="3; dimension 1 has size 3"):
            functional.one_hot(al.tensor([3]), 3)
        for classes in (3, -1):
            with pytest.raises(ValueError, match="index out of range: -1; indices from 0 on"):
                functional.one_hot(al.tensor([0, -1]), classes)
        with pytest.raises(ValueError, match="no elements"):
            functional.one_hot(al.zeros(0, dtype=al.int64))

    @each_dtype
    def test_embedding(self, dtype):
        weight, index = values((7, 5), dtype), np.array([[0, 6], [3, 3], [1, 2]])
        for table in (al.tensor(weight), al.tensor(weight.T.copy()).T):
            assert_same(functional.embedding(al.tensor(index), table).numpy(), weight[index])
            assert_same(al.embedding(table, al.tensor(index)).numpy(), weight[index])

    def test_embedding_large(self):
        weight = np.random.default_rng(0).standard_normal((1000, 96)).astype(np.float32)
        index = np.random.default_rng(1).integers(0, 1000, (50, 40))
        got = functional.embedding(al.tensor(index), al.tensor(weight))
        assert_same(got.numpy(), weight[index])

    def test_gradients_by_frequency(self):
        weight = al.zeros(3, 2, requires_grad=True)
        index = al.tensor([0, 0, 1, 0])
        functional.embedding(index, weight, scale_grad_by_freq=True).sum().backward()
        assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
        weight.grad = None
        functional.embedding(index, weight, padding_idx=1, scale_grad_by_freq=True).sum().backward()
        assert weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
        weight.grad = None
        bags = functional.embedding_bag(index.reshape(2, 2), weight, mode="sum", scale_grad_by_freq=True)
        bags.sum().backward()
        assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]

    def test_embedding_options(self):
        weight = al.tensor([[3.0, 4.0], [0.3, 0.4]])
        got = functional.embedding(al.tensor([0, 1]), weight, max_norm=1.0)
        np.testing.assert_allclose(got.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
        assert weight.tolist()[0] == [3.0, 4.0]
        assert functional.embedding(al.tensor([1]), weight, padding_idx=-1).shape == (1, 2)
        with pytest.raises(IndexError, match="2; dimension 0 has size 2"):
            functional.embedding(al.tensor([0]), weight, padding_idx=2)
        with pytest.raises(IndexError, match="index out of range: -1"):
            functional.embedding(al.tensor([-1]), weight)
        with pytest.raises(ValueError, match="matrix"):
            functional.embedding(al.tensor([0]), al.zeros(3))

    @each_dtype
    @pytest.mark.parametrize("mode", ["sum", "mean", "max"])
    def test_embedding_bag(self, dtype, mode):
        weight, index = values((7, 5), dtype), values((4, 3), al.int64, 1, high=7)
        t, i = al.tensor(weight), al.tensor(index)
        if mode == "max" and dtype.is_complex:
            with pytest.raises(TypeError, match="embedding_bag"):
                functional.embedding_bag(i, t, mode=mode)
            return
        rows = weight.astype(np.complex128).real[index]
        want = getattr(rows, mode)(axis=1)
        got = functional.embedding_bag(i, t, mode=mode)
        wide = want.astype(got.dtype.compute_dtype.numpy_dtype)
        assert_same(got.numpy(), numpy_cast(wide, got.dtype))
        flat = functional.embedding_bag(i.flatten(), t, al.arange(0, 12, 3), mode=mode)
        assert_same(flat.numpy(), got.numpy())

    @pytest.mark.parametrize("dtype", [al.float32, al.float64], ids=named)
    def test_large_bags(self, dtype):
        generator = np.random.default_rng(4)
        weight = generator.standard_normal((500, 37)).astype(dtype.numpy_dtype)
        index = generator.integers(0, 500, 4000)
        offsets = np.sort(generator.integers(0, 4000, 90))
        offsets[0] = 0
        want = np.stack([
            weight[bag].sum(0, dtype=np.float64) for bag in np.split(index, offsets[1:])
        ])
        table = al.tensor(weight).requires_grad_(True)
        got = functional.embedding_bag(al.tensor(index), table, al.tensor(offsets), mode="sum")
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-4, atol=1e-5)
        (got * al.arange(90, dtype=dtype)[:, None]).sum().backward()
        owners = np.repeat(np.arange(90), np.diff(np.r_[offsets, 4000]))
        slope = np.zeros(500)
        np.add.at(slope, index, owners)
        np.testing.assert_allclose(table.grad.numpy(), np.tile(slope[:, None], 37), rtol=1e-6)

    def test_embedding_bag_options(self):
        weight = al.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        index, offsets = al.tensor([0, 2, 1]), al.tensor([0, 2, 2])
        bag = functional.embedding_bag
        assert bag(index, weight, offsets, mode="sum").tolist() == [[6, 8], [0, 0], [3, 4]]
        assert bag(index, weight, offsets, mode="max").tolist() == [[5, 6], [0, 0], [3, 4]]
        ends = al.tensor([0, 2, 3])
        got = bag(index, weight, ends, mode="sum", include_last_offset=True)
        assert got.tolist() == [[6, 8], [3, 4]]
        got = bag(index, weight, offsets, mode="sum", per_sample_weights=al.tensor([2.0, 1.0, 0.5]))
        assert got.tolist() == [[7, 10], [0, 0], [1.5, 2]]
        got = bag(index, weight, offsets, padding_idx=0)
        assert got.tolist() == [[5, 6], [0, 0], [3, 4]]
        for call, error, text in [
            (lambda: bag(index, weight), ValueError, "matrix without offsets"),
            (lambda: bag(index, weight, [0, 4]), ValueError, "offset out of range at index 1: 4"),
            (lambda: bag(index, weight, [1]), ValueError, "offset out of range at index 0: 1"),
            (lambda: bag(index, weight, [0], mode="min"), ValueError, "unknown mode: 'min'"),
            (
                lambda: bag(index, weight, [0], per_sample_weights=[1.0, 1.0, 1.0]),
                ValueError,
                "per_sample_weights: 'mean'; accepted are sum",
            ),
            (lambda: bag(al.tensor([[3]]), weight), IndexError, "3; dimension 0 has size 3"),
        ]:
            with pytest.raises(error, match=text):
                call()

    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_bags_are_rounded_once(self, dtype):
        weight = al.tensor([[1.0], [2.0**-10]], dtype=al.float64).to(dtype)
        index = al.tensor([[0] + [1] * 2048])
        total = 1 + 2048 * float(weight[1].to(al.float64))
        got = functional.embedding_bag(index, weight, mode="sum")
        assert_same(got.numpy(), al.tensor([[total]], dtype=al.float64).to(dtype).numpy())


class TestCoordinates:
    def test_unravel_and_ravel(self):
        shape = (3, 4, 5)
        flat = np.random.default_rng(0).integers(0, 60, (2, 7))
        got = al.unravel_index(al.tensor(flat), shape)
        for one, want in zip(got, np.unravel_index(flat, shape), strict=True):
            assert_same(one.numpy(), want)
        assert_same(al.ravel_multi_index(got, shape).numpy(), flat)
        assert al.unravel_index(7, 10)[0].tolist() == 7
        with pytest.raises(IndexError, match="60; dimension 0 has size 60"):
            al.unravel_index(al.tensor([60]), shape)
        with pytest.raises(IndexError, match="4; dimension 1 has size 4"):
            al.ravel_multi_index(([0], [4], [0]), shape)
        with pytest.raises(ValueError, match="wrong number of axes: 2; 3 are needed"):
            al.ravel_multi_index(([0], [1]), shape)


@given(
    st.lists(st.floats(width=32), max_size=40),
    st.lists(st.floats(width=32), max_size=40),
    st.booleans(),
)
def test_searchsorted_and_isin_of_any_floats(sequence, wanted, right):
    sequence = np.sort(np.array(sequence, dtype=np.float32))
    wanted = np.array(wanted, dtype=np.float32)
    side = "right" if right else "left"
    s, v = al.tensor(sequence), al.tensor(wanted)
    got = al.searchsorted(s, v, side=side).numpy()
    assert_same(got, np.searchsorted(sequence, wanted, side))
    assert_same(al.isin(v, s).numpy(), np.isin(wanted, sequence))


def test_nonzero_static():
    x = al.tensor([[1, 0], [0, 3]])
    assert x.nonzero_static(size=3).tolist() == [[0, 0], [1, 1], [-1, -1]]
    assert al.nonzero_static(x, size=1).tolist() == [[0, 0]]
    assert x.nonzero_static(size=0).shape == (0, 2)
    assert al.tensor(3.0).nonzero_static(size=2).shape == (2, 0)
    assert al.zeros(0, 2).nonzero_static(size=2, fill_value=7).tolist() == [[7, 7], [7, 7]]
    with pytest.raises(ValueError, match="nonzero_static: negative size: -1"):
        x.nonzero_static(size=-1)


def test_is_nonzero():
    assert al.tensor([2]).is_nonzero() and al.tensor(1j).is_nonzero()
    assert not al.tensor([[0.0]]).is_nonzero()
    with pytest.raises(ValueError, match="^is_nonzero: "):
        al.zeros(2).is_nonzero()
