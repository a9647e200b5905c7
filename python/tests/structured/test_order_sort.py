"""Sorted lines and elements by rank, against plain Python."""

import math

import numpy as np
import pytest

import allotrope as al
from reference import FLOATS, INTEGERS, REALS, all_codes, assert_same, named, to_float64

# Lengths on both sides of every way to sort: few, counted, digits, buckets.
LENGTHS = [0, 1, 2, 5, 63, 64, 161, 1000]
LONG = 70_001


def sample(dtype, shape, seed=0):
    """Values with many equals and, of floats, NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype.is_floating_point:
        codes = rng.integers(0, 2**dtype.bits, count, dtype=f"uint{dtype.bits}")
        values = codes.view(dtype.numpy_dtype).copy()
        pool = np.array([0.0, -0.0, 1.0, -2.0, np.nan, np.inf, -np.inf], np.float64)
        few = rng.random(count) < 0.5
        values[few] = rng.choice(pool, count)[few].astype(dtype.numpy_dtype)
    elif dtype.is_integer:
        info = np.iinfo(dtype.numpy_dtype)
        values = rng.integers(info.min, info.max, count, dtype=dtype.numpy_dtype, endpoint=True)
        values[rng.random(count) < 0.3] = info.max
    else:
        values = rng.random(count) < 0.5
    return values.reshape(shape)


def order_of(line, descending=False):
    """The stable order of a line by Python's own sort, or NumPy's: NaN greater than everything."""
    if len(line) > 2000:
        plain = line if line.dtype.kind in "iub" else to_float64(line)
        if descending:
            return (len(line) - 1 - np.argsort(plain[::-1], kind="stable"))[::-1]
        return np.argsort(plain, kind="stable")
    values = to_float64(line).tolist() if line.dtype.kind not in "iub" else line.tolist()
    keys = [(value != value, 0 if value != value else value) for value in values]
    places = sorted(range(len(keys)), key=keys.__getitem__)
    if not descending:
        return places
    # Descending and stable: the reverse of the ascending order of the reverse.
    back = sorted(range(len(keys) - 1, -1, -1), key=keys.__getitem__)
    return back[::-1]


def test_the_reference_is_stable_both_ways():
    line = np.array([1.0, np.nan, 1.0, -0.0, 0.0, np.nan])
    assert order_of(line) == [3, 4, 0, 2, 1, 5]
    assert order_of(line, descending=True) == [1, 5, 0, 2, 3, 4]


def same_bits(got, want):
    """Equal to the last bit, NaN and signs of zero included."""
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_sort(dtype, descending):
    for length in LENGTHS:
        array = sample(dtype, (3, length), seed=length)
        got = al.tensor(array).sort(-1, descending)
        want = np.array([order_of(line, descending) for line in array], np.int64)
        want = want.reshape(3, length)
        same_bits(got.indices.numpy(), want)
        same_bits(got.values.numpy(), np.take_along_axis(array, want, 1))
        same_bits(al.argsort(al.tensor(array), descending=descending).numpy(), want)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_sort_of_a_long_line(dtype, descending):
    array = sample(dtype, (LONG,))
    if dtype.bits > 16:
        array[: LONG // 2] = array[0]
    want = np.array(order_of(array, descending))
    got = al.tensor(array).sort(descending=descending)
    same_bits(got.indices.numpy(), want)
    same_bits(got.values.numpy(), array[want])


@pytest.mark.parametrize("kind", ["equal", "ascending", "descending", "outlier", "two"])
@pytest.mark.parametrize("dtype", [al.float32, al.int64, al.uint16], ids=named)
def test_long_lines_of_few_digits(dtype, kind):
    count = 3 * (64 << 10) + 7
    steps = np.arange(count) % 60_000
    array = {
        "equal": np.full(count, 7),
        "ascending": np.sort(steps),
        "descending": np.sort(steps)[::-1],
        "outlier": np.where(np.arange(count) == 5, 65_000, steps % 3),
        "two": np.arange(count) % 2,
    }[kind].astype(dtype.numpy_dtype)
    got = al.tensor(array).sort()
    want = np.argsort(array, kind="stable")
    same_bits(got.indices.numpy(), want)
    same_bits(got.values.numpy(), array[want])


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits <= 16], ids=named)
def test_every_code_in_order(dtype):
    """All codes of small floats, twice and shuffled: duplicates and every NaN."""
    codes = np.concatenate([all_codes(dtype)] * 2)
    array = np.random.default_rng(1).permutation(codes)
    got = al.tensor(array).sort()
    want = np.array(order_of(array))
    same_bits(got.indices.numpy(), want)
    same_bits(got.values.numpy(), array[want])
    values = to_float64(got.values.numpy())
    numbers = values[: np.count_nonzero(values == values)]
    assert (numbers[1:] >= numbers[:-1]).all() and np.isnan(values[len(numbers) :]).all()


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_sort_along_dimensions_and_layouts(dim):
    base = sample(al.float32, (6, 8, 10))
    x = al.tensor(base)
    for view, array in [
        (x, base),
        (x.permute(2, 0, 1), base.transpose(2, 0, 1)),
        (x[::2, ::-1, 1:7], base[::2, ::-1, 1:7]),
        (x[:1].expand(4, 8, 10), np.broadcast_to(base[:1], (4, 8, 10))),
    ]:
        got = view.sort(dim=dim)
        moved = np.moveaxis(array, dim, -1)
        lines = moved.reshape(-1, moved.shape[-1])
        want = np.array([order_of(line) for line in lines]).reshape(moved.shape)
        want = np.moveaxis(want, -1, dim)
        same_bits(got.indices.numpy(), want)
        same_bits(got.values.numpy(), np.take_along_axis(array, want, dim))
        same_bits(view.sort(axis=dim, stable=True).values.numpy(), got.values.numpy())


def test_sort_of_no_dimensions_and_no_elements():
    got = al.tensor(5.0).sort()
    assert (got.values.item(), got.indices.item(), got.values.shape) == (5.0, 0, ())
    assert al.zeros((3, 0)).sort().values.shape == (3, 0)
    assert al.zeros((0, 3)).sort(0).indices.shape == (0, 3)
    assert al.tensor([[3, 1], [2, 4]]).msort().tolist() == [[2, 1], [3, 4]]
    assert al.msort(al.tensor(2)).item() == 2


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("largest", [True, False])
def test_topk(dtype, largest):
    for length, k in [(1, 1), (5, 0), (5, 2), (300, 3), (1000, 250), (1000, 251), (9, 9)]:
        array = sample(dtype, (2, length), seed=length)
        want = np.array([order_of(line, largest)[:k] for line in array], np.int64).reshape(2, k)
        got = al.tensor(array).topk(k, largest=largest)
        same_bits(got.indices.numpy(), want)
        same_bits(got.values.numpy(), np.take_along_axis(array, want, 1))
        loose = al.topk(al.tensor(array), k, -1, largest, False)
        same_bits(np.sort(loose.indices.numpy(), 1), np.sort(want, 1))
        same_bits(
            loose.values.numpy(), np.take_along_axis(array, loose.indices.numpy(), 1)
        )


@pytest.mark.parametrize("dtype", [al.float32, al.float64, al.int8], ids=named)
def test_topk_of_long_lines(dtype):
    array = sample(dtype, (3 * LONG,))
    for k in (1, 40, 9000):
        got = al.tensor(array).topk(k)
        want = np.array(order_of(array, True)[:k])
        same_bits(got.indices.numpy(), want)
        same_bits(got.values.numpy(), array[want])
    ascending = np.arange(3 * LONG).astype(dtype.numpy_dtype)
    want = np.array(order_of(ascending, True)[:30])
    same_bits(al.tensor(ascending).topk(30).indices.numpy(), want)


@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_kthvalue(dtype):
    array = sample(dtype, (4, 33))
    for k in (1, 2, 17, 33):
        got = al.tensor(array).kthvalue(k, keepdim=True)
        want = np.array([[order_of(line)[k - 1]] for line in array])
        same_bits(got.indices.numpy(), want)
        same_bits(got.values.numpy(), np.take_along_axis(array, want, 1))
    got = al.kthvalue(al.tensor(array), 3, 0)
    assert got.values.shape == (33,)


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 100])
def test_median(dtype, length):
    array = sample(dtype, (5, length), seed=length)
    x = al.tensor(array)
    plain, without = x.median(1), x.nanmedian(dim=1)
    for row, line in enumerate(array):
        order = order_of(line)
        nans = [place for place in order if line[place] != line[place]]
        numbers = [place for place in order if line[place] == line[place]]
        middle = numbers[(len(numbers) - 1) // 2] if numbers else nans[0]
        assert without.indices[row].item() == middle
        assert plain.indices[row].item() == (nans[0] if nans else middle)
    same_bits(
        plain.values.numpy()[:, None],
        np.take_along_axis(array, plain.indices.numpy()[:, None], 1),
    )
    same_bits(
        without.values.numpy()[:, None],
        np.take_along_axis(array, without.indices.numpy()[:, None], 1),
    )


def test_median_of_an_even_count_is_the_lower_middle():
    assert al.tensor([4, 1, 3, 2]).median().item() == 2
    assert al.tensor([4.0, 1.0, 3.0, 2.0]).median(0).values.item() == 2.0
    assert al.tensor([[1.0, 9.0], [8.0, 2.0]]).median().item() == 2.0
    assert al.tensor([np.nan, 1.0, 2.0]).nanmedian().item() == 1.0
    assert math.isnan(al.tensor([np.nan, 1.0, 2.0]).median().item())
    assert math.isnan(al.tensor([]).median().item())
    assert al.tensor([5, 6]).median(0, keepdim=True).values.shape == (1,)


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_quantile(dtype, how):
    rng = np.random.default_rng(3)
    array = rng.integers(0, 2 if dtype.kind == "bool" else 9, (4, 11, 3))
    array = array.astype(dtype.numpy_dtype)
    wide = array.astype(np.float64)
    q = [0.0, 0.13, 0.5, 0.95, 1.0]
    x = al.tensor(array)
    result = dtype if dtype.is_floating_point else al.get_default_dtype()
    for dim in (None, 0, 1, -1):
        got = x.quantile(q, dim, interpolation=how)
        want = np.quantile(wide, q, axis=dim, method=how).astype(result.numpy_dtype)
        assert got.dtype == result and got.shape == want.shape
        np.testing.assert_allclose(
            got.numpy().astype(np.float64),
            want.astype(np.float64),
            rtol=2 * float(result.finfo.eps),
        )
        kept = x.quantile(0.5, dim, True, interpolation=how)
        assert kept.shape == np.quantile(wide, 0.5, axis=dim, keepdims=True).shape


@pytest.mark.parametrize("how", ["linear", "midpoint"])
def test_quantile_between_a_number_and_an_infinity(how):
    low, high = al.tensor([-math.inf, 2.0, 3.0, 4.0]), al.tensor([1.0, 2.0, math.inf])
    for q in (0.1, 0.3):
        assert low.quantile(q, interpolation=how).item() == -math.inf
        assert low.nanquantile(q, interpolation=how).item() == -math.inf
    assert high.quantile(0.75, interpolation=how).item() == math.inf
    assert math.isnan(al.tensor([-math.inf, math.inf]).quantile(0.25, interpolation=how).item())


@pytest.mark.parametrize("q", [[0.5], [0.5, 0.25], [], 0.5])
def test_fractions_of_a_tensor_keep_their_dimensions(q):
    array = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    x = al.tensor(array)
    for given in (al.tensor(q), np.array(q), q):
        for keepdim in (False, True):
            want = np.quantile(array, q, axis=1, keepdims=keepdim)
            assert_same(x.quantile(given, 1, keepdim).numpy(), want)
            assert_same(al.nanquantile(x, given, 1, keepdim).numpy(), want)


@pytest.mark.parametrize("q", [[0.4], 0.4, [0.4, 0.75]])
def test_fractions_have_gradients(q):
    q = al.tensor(q, requires_grad=True)
    al.tensor([1.0, 2.0, 4.0]).quantile(q).sum().backward()
    # The slope of the line between two neighbours, a half apart as fractions.
    assert q.grad.tolist() == ([2.0, 4.0] if q.numel() == 2 else [2.0] if q.ndim else 2.0)


def test_quantile_of_nan_and_infinities():
    x = al.tensor([[1.0, np.nan, 3.0, 2.0], [np.inf, np.inf, 1.0, np.inf], [np.nan] * 4])
    got = x.quantile(0.5, 1).tolist()
    assert math.isnan(got[0]) and got[1] == math.inf and math.isnan(got[2])
    got = x.nanquantile(al.tensor([0.5, 1.0]), 1).tolist()
    assert got[0][:2] == [2.0, math.inf] and got[1][:2] == [3.0, math.inf]
    assert math.isnan(got[0][2])
    assert al.nanquantile(x, 0.0).item() == 1.0


@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_mode(dtype):
    array = np.array([[1, 0, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 1, 0, 1]])
    got = al.tensor(array.astype(dtype.numpy_dtype)).mode(keepdim=True)
    assert got.values.to(al.int64).tolist() == [[1], [0], [1]]
    assert got.indices.tolist() == [[4], [4], [4]]
    tie = al.tensor([1, 1, 0, 0]).to(dtype).mode()
    assert (tie.values.to(al.int64).item(), tie.indices.item()) == (0, 3)
    if dtype.is_floating_point:
        got = al.tensor([np.nan, np.nan, np.nan, 1.0, 1.0, 2.0]).to(dtype).mode()
        assert (got.values.to(al.float64).item(), got.indices.item()) == (1.0, 4)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: x.sort(2), IndexError, "sort: axis out of range: 2"),
        (lambda x: x.to(al.complex64).sort(), TypeError, "sort: wrong dtype: complex64"),
        (lambda x: x.topk(4), ValueError, "topk: k out of range: 4"),
        (lambda x: x.topk(-1), ValueError, "topk: negative size"),
        (lambda x: x.kthvalue(0), ValueError, "kthvalue: k out of range: 0"),
        (lambda x: x.kthvalue(4, 1), ValueError, "kthvalue: k out of range: 4"),
        (lambda x: al.zeros(0, 3).median(0), ValueError, r"median: no elements: \[0, 3\]"),
        (lambda x: al.zeros(2, 0, 3).quantile(0.5, 1), ValueError, r"no elements: \[2, 0, 3\]"),
        (lambda x: x.sort("a"), TypeError, "not an integer: 'a' of type str"),
        (lambda x: x.topk(1.5), TypeError, "not an integer: 1.5 of type float"),
        (lambda x: x[:, :0].median(1), ValueError, "median: no elements"),
        (lambda x: x[:, :0].to(al.int8).median(), ValueError, "median: no elements"),
        (lambda x: x[:, :0].mode(1), ValueError, "mode: no elements"),
        (lambda x: x[:, :0].quantile(0.5), ValueError, "quantile: no elements"),
        (lambda x: x.quantile(1.5), ValueError, "quantile: q out of range: 1.5"),
        (lambda x: x.quantile([0.5, np.nan]), ValueError, "q out of range at index 1: NaN"),
        (lambda x: x.quantile(0.5, interpolation="cubic"), ValueError, "unknown interpolation"),
        (lambda x: x.nanquantile([[0.5]]), ValueError, "nanquantile: too many dimensions"),
        (lambda x: x.sort(0, axis=0), TypeError, "given twice"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(al.ones((2, 3)))


def test_results_have_names():
    x = al.tensor([2, 1])
    for result in (x.sort(), x.topk(1), x.kthvalue(1), x.median(0), x.mode(), x.cummax(0)):
        assert result._fields == ("values", "indices")
    assert [d for d in INTEGERS if al.tensor([1], dtype=d).argsort().dtype != al.int64] == []
    assert_same(x.sort().values.numpy(), np.array([1, 2]))
