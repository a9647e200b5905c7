"""Different elements, against NumPy."""

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, FLOATS, REALS, named


def sample(dtype, shape):
    values = np.random.default_rng(5).integers(0, 4, shape)
    if dtype.is_complex:
        return (values + 1j * (values // 2 * np.arange(values.shape[-1]) % 3)).astype(
            dtype.numpy_dtype
        )
    return values.astype(dtype.numpy_dtype)


def wide(array):
    return array if array.dtype.kind in "biufc" else array.astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("shape", [(0,), (1,), (20,), (6, 7), (500, 3)], ids=str)
def test_unique(dtype, shape):
    array = sample(dtype, shape)
    got = al.tensor(array).unique(return_inverse=True, return_counts=True)
    want = np.unique(wide(array), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(wide(got[0].numpy()), want[0])
    assert got[0].dtype == dtype
    np.testing.assert_array_equal(got[1].numpy(), want[1].reshape(shape))
    np.testing.assert_array_equal(got[2].numpy(), want[2])
    assert got[1].dtype == got[2].dtype == al.int64


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_unique_along_a_dimension(dtype, dim):
    array = sample(dtype, (40, 2)) if dim == 0 else sample(dtype, (2, 40))
    got = al.unique(al.tensor(array), True, True, True, dim)
    want = np.unique(wide(array), return_inverse=True, return_counts=True, axis=dim)
    np.testing.assert_array_equal(wide(got[0].numpy()), want[0])
    np.testing.assert_array_equal(got[1].numpy(), want[1].reshape(-1))
    np.testing.assert_array_equal(got[2].numpy(), want[2])


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_unique_zeros_and_nan(dtype):
    x = al.tensor([0.0, np.nan, -0.0, 1.0, np.nan, 0.0]).to(dtype)
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    plain = values.to(al.float64).tolist()
    assert plain[:2] == [0.0, 1.0] and len(plain) == 4 and plain[2] != plain[2]
    assert inverse.tolist() == [0, 2, 0, 1, 3, 0]
    assert counts.tolist() == [3, 1, 1, 1]


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_unique_consecutive(dtype):
    x = al.tensor([0, 1, 1, 0, 0, 0, 1]).to(dtype)
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True)
    assert values.to(al.bool).tolist() == [False, True, False, True]
    assert inverse.tolist() == [0, 1, 1, 2, 2, 2, 3]
    assert counts.tolist() == [1, 2, 3, 1]
    rows = al.tensor([[0, 1], [0, 1], [1, 1], [0, 1]]).to(dtype)
    got = al.unique_consecutive(rows, return_counts=True, dim=0)
    assert got[0].to(al.bool).tolist() == [[False, True], [True, True], [False, True]]
    assert got[1].tolist() == [2, 1, 1]


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("count", [300, 20_000, 150_000])
def test_many_elements_and_what_is_asked_for(dtype, count):
    generator = np.random.default_rng(count)
    codes = generator.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8)
    if dtype == al.bool:
        codes &= 1
    array = codes.view(dtype.numpy_dtype)[:, 0]
    if dtype.itemsize == 8:
        # Some of them several times.
        array = array[generator.integers(0, count, count)]
    x = al.tensor(array)
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    with np.errstate(invalid="ignore"):
        plain = array.astype(np.float64) if dtype.is_floating_point else array
    want, first, want_inverse, want_counts = np.unique(
        plain, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    real = ~np.isnan(want.astype(np.float64))
    known = int(real.sum())
    # One of several zeros is the first, and every NaN is there as it is.
    bits = array.view(f"u{dtype.itemsize}")
    nans = bits[np.isnan(plain.astype(np.float64))]
    got = values.numpy().view(bits.dtype)
    np.testing.assert_array_equal(got[:known], bits[first[:known]])
    np.testing.assert_array_equal(got[known:], nans)
    np.testing.assert_array_equal(counts.numpy(), want_counts)
    is_known = want_inverse < known
    np.testing.assert_array_equal(inverse.numpy()[is_known], want_inverse[is_known])
    np.testing.assert_array_equal(inverse.numpy()[~is_known], known + np.arange(len(nans)))
    alone = x.unique()
    np.testing.assert_array_equal(alone.numpy().view(bits.dtype), got)
    alone, counted = x.unique(return_counts=True)
    np.testing.assert_array_equal(alone.numpy().view(bits.dtype), got)
    np.testing.assert_array_equal(counted.numpy(), want_counts)
    assert x.unique(return_inverse=True)[1].equal(inverse)


@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_many_neighbours(dtype):
    array = np.repeat(np.arange(40_000) % 3, np.arange(40_000) % 4)
    x = al.tensor(array).to(dtype)
    plain = wide(x.numpy())
    starts = np.flatnonzero(np.r_[True, plain[1:] != plain[:-1]])
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(wide(values.numpy()), plain[starts])
    np.testing.assert_array_equal(counts.numpy(), np.diff(np.r_[starts, len(plain)]))
    np.testing.assert_array_equal(inverse.numpy(), np.searchsorted(starts, range(len(plain)), "right") - 1)
    assert x.unique_consecutive().equal(values)
    assert x.unique_consecutive(return_counts=True)[1].equal(counts)


def test_more_parts_than_memory_are_an_error():
    with pytest.raises(MemoryError, match="unique"):
        al.zeros(2**62, 0).unique(dim=0)
    with pytest.raises(MemoryError, match="unique_consecutive"):
        al.zeros(2**62, 0).unique_consecutive(dim=0)


def test_layouts_and_odd_shapes():
    base = np.arange(24).reshape(4, 6) % 5
    x = al.tensor(base)
    assert x.t()[::-1, ::2].unique().tolist() == np.unique(base.T[::-1, ::2]).tolist()
    values, inverse = x.t().unique(return_inverse=True)
    assert values[inverse].tolist() == base.T.tolist()
    assert al.tensor(3).unique(return_inverse=True)[1].shape == ()
    assert al.tensor(7).expand(5).unique().tolist() == [7]
    assert al.zeros((3, 0)).unique(dim=0).shape == (1, 0)
    assert al.zeros((0, 3)).unique(dim=0).shape == (0, 3)
    with pytest.raises(IndexError, match="unique: axis out of range"):
        x.unique(dim=2)
