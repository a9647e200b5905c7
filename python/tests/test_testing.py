"""Comparisons for tests, held to NumPy's, and tensors to test with."""

import numpy
import pytest

import allotrope as al
from allotrope.testing import assert_close, make_tensor

FLOATS = [d for d in al.dtypes() if d.is_floating_point]


def test_tolerances_are_those_of_numpy_with_the_same_numbers():
    generator = numpy.random.default_rng(3)
    want = generator.normal(size=200)
    for scale in 10.0 ** numpy.arange(-12, 0):
        got = want + scale * generator.normal(size=200)
        expected = numpy.isclose(got, want, rtol=1e-7, atol=1e-7).all()
        if expected:
            assert_close(al.tensor(got), al.tensor(want))
        else:
            with pytest.raises(AssertionError):
                assert_close(al.tensor(got), al.tensor(want))


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_half_a_unit_is_close_and_a_hundred_are_not(dtype):
    x = al.tensor([1.0, 2.0], dtype=dtype)
    eps = float(al.finfo(dtype).eps)
    assert_close(x, x.clone())
    assert_close(x, (x.to(al.float64) * (1 + eps / 2)).to(dtype))
    with pytest.raises(AssertionError, match="2 of 2 elements differ"):
        assert_close(x, (x.to(al.float64) * (1 + max(100 * eps, 1e-4))).to(dtype))


def test_integers_are_compared_exactly():
    with pytest.raises(AssertionError, match="at .0,.: 9223372036854775808 instead of 9223372036854775807"):
        assert_close(al.tensor([2**63], dtype=al.uint64), al.tensor([2**63 - 1]), check_dtype=False)
    assert_close(al.tensor([2**63], dtype=al.uint64), al.tensor([2**63], dtype=al.uint64))


@pytest.mark.parametrize(
    "actual, expected, words",
    [
        (al.zeros(2), al.zeros(3), "shapes differ: [2] instead of [3]"),
        (al.zeros(2), al.zeros(2, dtype=al.float64), "dtypes differ: float32 instead of float64"),
        ({"a": 1}, {"b": 1}, "keys differ: missing 'b'; unexpected 'a'"),
        ([al.zeros(1)], [al.zeros(1), al.zeros(1)], "lengths differ: 1 instead of 2"),
        ({"a": [al.zeros(1)]}, {"a": [al.ones(1)]}, "['a'][0]: 1 of 1 elements differ"),
        (None, al.zeros(1), "None instead of"),
        (al.tensor([float("nan")]), al.tensor([float("nan")]), "nan instead of nan"),
    ],
)
def test_what_differs_is_said(actual, expected, words):
    with pytest.raises(AssertionError) as raised:
        assert_close(actual, expected)
    assert words in str(raised.value)


def test_what_is_taken_as_a_tensor():
    x = al.rand(2, 3)
    assert_close(x, numpy.asarray(x))
    assert_close(1.0, 1.0 + 1e-9)
    assert_close([1, 2], (1, 2))
    assert_close(al.tensor([float("nan"), 1]), al.tensor([float("nan"), 1]), equal_nan=True)
    assert_close(al.zeros(0), al.zeros(0))
    assert_close(x.requires_grad_(True), x.detach())


def test_units_and_places_are_told():
    x = al.ones(3)
    y = x.clone()
    y[1] += 100 * 2**-23
    with pytest.raises(AssertionError, match=r"at \(1,\): .* 100 units in the last place"):
        assert_close(y, x)
    with pytest.raises(AssertionError, match="and 95 more"):
        assert_close(al.zeros(100), al.ones(100))
    with pytest.raises(AssertionError, match="^mine: 3 of 3"):
        assert_close(al.zeros(3), al.ones(3), msg=lambda text: "mine: " + text)


def test_one_tolerance_alone_is_refused():
    with pytest.raises(ValueError, match="both rtol and atol"):
        assert_close(1.0, 1.0, rtol=1e-3)


@pytest.mark.parametrize("dtype", al.dtypes(), ids=lambda d: d.name)
def test_tensors_to_test_with(dtype):
    x = make_tensor(40, 5, dtype=dtype, noncontiguous=True, exclude_zero=True)
    assert x.shape == (40, 5) and x.dtype == dtype and not x.is_contiguous()
    assert bool((x != 0).all())
    assert len(set(map(str, x.flatten().tolist()))) > 1 or dtype == al.bool
    if not dtype.is_complex:
        low, high = (0, 1) if dtype == al.bool else (2, 4)
        y = make_tensor((100,), dtype=dtype, low=low, high=high)
        assert bool((y.to(al.float64) >= low).all()) and bool((y.to(al.float64) <= high).all())


def test_bounds_without_numbers_are_refused():
    with pytest.raises(ValueError, match="make_tensor"):
        make_tensor(3, dtype=al.int8, low=5, high=5)
