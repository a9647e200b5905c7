"""Float to integer for any value, against exact Python integers."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import allotrope as al
from reference import FLOATS, INTEGERS, named, to_float64, truncate_to_integer, wrap_to_integer

WIDE_FLOATS = [d for d in FLOATS if d.bits >= 32]
each_integer = pytest.mark.parametrize("target", INTEGERS, ids=named)

# Every power of two and its neighbours, where ranges end, as well as any float at all.
boundaries = st.builds(
    lambda exponent, step, sign: sign * np.nextafter(2.0**exponent, step),
    st.integers(-2, 66),
    st.sampled_from([0.0, np.inf]),
    st.sampled_from([1, -1]),
)
powers = st.builds(
    lambda e, d, s: s * (2.0**e + d),
    st.integers(0, 66),
    st.integers(-2, 2),
    st.sampled_from([1, -1]),
)
floats = st.one_of(st.floats(width=64), boundaries, powers)
batches = st.lists(floats, min_size=1, max_size=80)


@each_integer
@pytest.mark.parametrize("source", WIDE_FLOATS, ids=named)
@pytest.mark.parametrize("overflow", [None, "saturate", "wrap"])
@settings(max_examples=40)
@given(values=batches)
@example(values=[float("nan"), float("inf"), float("-inf"), 1e300, -1e300, -0.0, 5e-324])
def test_float_to_integer(source, target, overflow, values):
    with np.errstate(over="ignore"):
        array = np.array(values).astype(source.numpy_dtype)
    wanted = [truncate_to_integer(x, target, overflow) for x in to_float64(array).tolist()]
    assert al.cast(array, target, overflow=overflow).tolist() == wanted


@each_integer
@settings(max_examples=60)
@given(values=batches)
def test_float_to_integer_checked(target, values):
    array = np.array(values)
    wanted = [truncate_to_integer(x, target, "raise") for x in values]
    if None in wanted:
        with pytest.raises(OverflowError, match=f" at index {wanted.index(None)}: "):
            al.cast(array, target, overflow="raise")
    else:
        assert al.cast(array, target, overflow="raise").tolist() == wanted


@pytest.mark.parametrize("source", INTEGERS, ids=named)
@each_integer
@settings(max_examples=25)
@given(data=st.data())
def test_integer_to_integer(source, target, data):
    low, high = al.iinfo(source).min, al.iinfo(source).max
    values = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=80))
    array = np.array(values, dtype=source.numpy_dtype)
    least, most = al.iinfo(target).min, al.iinfo(target).max
    wrapped = [wrap_to_integer(x, target) for x in values]
    assert al.cast(array, target).tolist() == wrapped
    clipped = [min(max(x, least), most) for x in values]
    assert al.cast(array, target, overflow="saturate").tolist() == clipped
    if clipped == values:
        assert al.cast(array, target, overflow="raise").tolist() == values
    else:
        first = next(i for i, x in enumerate(values) if x != clipped[i])
        with pytest.raises(OverflowError, match=f" at index {first}: {values[first]} of "):
            al.cast(array, target, overflow="raise")


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
@settings(max_examples=60)
@given(values=batches)
def test_a_cast_is_idempotent(dtype, values):
    once = al.cast(np.array(values), dtype)
    again = al.cast(once, dtype)
    assert once.tobytes() == again.tobytes()
