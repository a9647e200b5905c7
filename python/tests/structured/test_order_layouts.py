"""Order and scans: every dtype, wherever the elements lie, with ties and NaN, against NumPy."""

import numpy as np
import pytest
from arrangements import LAYOUTS, assert_close, laid, narrow, numbers, wide
from reference import DTYPES, FLOATS, REALS, named

import allotrope as al

ORDERED = [d for d in REALS if d != al.bool]


def lines(dtype, layout, *shape, nan=False):
    x = numbers(dtype, *shape, seed=7)
    if nan:
        x = al.where(
            al.tensor(np.random.default_rng(8).random(shape) < 0.2), float("nan"), x.to(al.float64)
        ).to(dtype)
    return laid(x, layout)


def modes(line):
    values, counts = np.unique(line, return_counts=True, equal_nan=True)
    return values[counts.argmax()]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("nan", [False, True])
def test_sorted(dtype, layout, nan):
    if nan and dtype not in FLOATS:
        pytest.skip("no NaN")
    for dim in (0, 1, -1):
        x = lines(dtype, layout, 6, 9, nan=nan)
        array = wide(x)
        values, places = al.sort(x, dim, stable=True)
        order = np.argsort(array, dim, kind="stable")
        np.testing.assert_array_equal(places.numpy(), order)
        np.testing.assert_array_equal(al.argsort(x, dim, stable=True).numpy(), order)
        np.testing.assert_array_equal(wide(values), np.sort(array, dim))
        assert values.dtype == dtype and places.dtype == al.int64

        # Descending, NaN counts as the greatest and comes first, and ties keep their order.
        places = al.argsort(x, dim, descending=True, stable=True).numpy()
        keys = np.where(np.isnan(array), np.inf, array)
        np.testing.assert_array_equal(places, np.argsort(-keys, dim, kind="stable"))
        greatest = np.flip(np.sort(array, dim), dim)
        for largest, want in ((True, greatest), (False, np.sort(array, dim))):
            top, at = al.topk(x, 4, dim, largest=largest)
            np.testing.assert_array_equal(wide(top), want.take(range(4), dim))
            np.testing.assert_array_equal(np.take_along_axis(array, at.numpy(), dim), wide(top))
        kth, at = al.kthvalue(x, 3, dim, keepdim=True)
        np.testing.assert_array_equal(wide(kth), np.sort(array, dim).take([2], dim))
        np.testing.assert_array_equal(np.take_along_axis(array, at.numpy(), dim), wide(kth))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("nan", [False, True])
def test_running_extremes(dtype, layout, nan):
    if nan and dtype not in FLOATS:
        pytest.skip("no NaN")
    for dim in (0, -1):
        x = lines(dtype, layout, 5, 8, nan=nan)
        array = wide(x)
        for ours, theirs in ((al.cummax, np.maximum), (al.cummin, np.minimum)):
            values, places = ours(x, dim)
            np.testing.assert_array_equal(wide(values), theirs.accumulate(array, dim))
            np.testing.assert_array_equal(
                np.take_along_axis(array, places.numpy(), dim), wide(values)
            )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_running_totals(dtype, layout):
    x = lines(dtype, layout, 4, 6)
    total = al.int64 if dtype == al.bool or (dtype.is_integer and dtype.is_signed) else dtype
    if dtype.is_integer and not dtype.is_signed:
        total = al.uint64
    for dim in (0, -1):
        for ours, theirs in ((al.cumsum, np.cumsum), (al.cumprod, np.cumprod)):
            got = ours(x, dim)
            assert got.dtype == total
            assert_close(got, theirs(wide(x), dim), ulps=2)
        if dtype != al.bool:
            got = al.diff(x, 2, dim)
            assert got.dtype == dtype
            assert_close(got, narrow(np.diff(wide(x), 2, dim), dtype).astype(wide(x).dtype), ulps=2)
        if not dtype.is_complex:
            want = np.logaddexp.accumulate(wide(x).astype(float), dim)
            assert_close(al.logcumsumexp(x, dim), want, ulps=4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ORDERED, ids=named)
def test_middles(dtype, layout):
    for count in (8, 9):
        x = lines(dtype, layout, 4, count)
        array = wide(x)
        values, places = al.median(x, -1)
        np.testing.assert_array_equal(wide(values), np.sort(array, -1)[:, (count - 1) // 2])
        np.testing.assert_array_equal(array[range(4), places.numpy()], wide(values))
        assert al.median(x).item() == np.sort(array, None)[(array.size - 1) // 2]
        assert_close(al.quantile(x, 0.3, dim=-1), np.quantile(array, 0.3, axis=-1), ulps=2)
        values, places = al.mode(x, -1)
        np.testing.assert_array_equal(wide(values), [modes(line) for line in array])
        np.testing.assert_array_equal(array[range(4), places.numpy()], wide(values))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_sets(dtype, layout):
    x = lines(dtype, layout, 6, 7)
    array = wide(x)
    got = al.unique(x, return_inverse=True, return_counts=True)
    want = np.unique(array, return_inverse=True, return_counts=True)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(wide(mine), theirs)
    values, counts = al.unique_consecutive(x, return_counts=True)
    flat = array.ravel()
    starts = np.flatnonzero(np.r_[True, flat[1:] != flat[:-1]])
    np.testing.assert_array_equal(wide(values), flat[starts])
    np.testing.assert_array_equal(counts.numpy(), np.diff(np.r_[starts, flat.size]))
    some = x[0, :3]
    for invert in (False, True):
        np.testing.assert_array_equal(
            al.isin(x, some, invert=invert).numpy(), np.isin(array, wide(some), invert=invert)
        )
    if dtype != al.bool:
        want, _ = np.histogram(array.astype(float), 6, (-1.5, 1.5))
        np.testing.assert_array_equal(wide(al.histc(x, 6, -1.5, 1.5)), want)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ORDERED, ids=named)
def test_places_in_order(dtype, layout):
    ladder = laid(al.sort(numbers(dtype, 7)).values, layout)
    x = lines(dtype, layout, 4, 5)
    for right in (False, True):
        want = np.searchsorted(wide(ladder), wide(x), "right" if right else "left")
        np.testing.assert_array_equal(al.searchsorted(ladder, x, right=right).numpy(), want)
        np.testing.assert_array_equal(al.bucketize(x, ladder, right=right).numpy(), want)
        small = al.searchsorted(ladder, x, right=right, out_int32=True)
        assert small.dtype == al.int32
    rows = laid(al.sort(numbers(dtype, 4, 6), -1).values, layout)
    want = [np.searchsorted(wide(line), wide(asked)) for line, asked in zip(rows, x, strict=True)]
    np.testing.assert_array_equal(al.searchsorted(rows, x).numpy(), want)


@pytest.mark.parametrize("dtype", ORDERED, ids=named)
def test_single_elements(dtype):
    one = al.ones((), dtype=dtype)
    for values, places in [
        al.sort(one),
        al.topk(one, 1),
        al.kthvalue(one, 1),
        al.median(one, 0),
        al.mode(one, 0),
        al.cummax(one, 0),
        al.cummin(one, 0),
    ]:
        assert tuple(values.shape) == tuple(places.shape) == ()
        assert values.item() == 1 and places.item() == 0 and values.dtype == dtype
    assert al.argsort(one).item() == 0 and al.cumsum(one, 0).item() == 1
    assert al.unique(one).tolist() == [1] and al.isin(one, one).item()
    assert al.searchsorted(al.stack([one, one]), one, right=True).item() == 2


@pytest.mark.parametrize("dtype", ORDERED, ids=named)
def test_nothing(dtype):
    none = al.zeros((3, 0), dtype=dtype)
    for dim in (1, -1, 0):
        for values, places in [
            al.sort(none, dim),
            al.cummax(none, dim),
            al.cummin(none, dim),
            al.topk(none, 0, dim),
        ]:
            shape = (0, 0) if tuple(values.shape) == (0, 0) else (3, 0)
            assert tuple(values.shape) == tuple(places.shape) == shape and values.dtype == dtype
        for got in [
            al.argsort(none, dim),
            al.cumsum(none, dim),
            al.cumprod(none, dim),
            al.logcumsumexp(none, dim),
        ]:
            assert tuple(got.shape) == (3, 0)
    assert tuple(al.unique(none).shape) == (0,) and tuple(al.isin(none, none).shape) == (3, 0)
    assert tuple(al.bucketize(none, none[0]).shape) == (3, 0)
    for function in (al.median, al.mode):
        with pytest.raises((ValueError, IndexError), match=function.__name__):
            function(none, 1)
