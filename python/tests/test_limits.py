"""finfo and iinfo against NumPy and ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, FLOATS, INTEGERS, SMALL_FLOATS, all_codes, is_nan, named, to_float64

COMPLEX = [d for d in DTYPES if d.is_complex]
NOT_INEXACT = [d for d in DTYPES if not d.is_floating_point and not d.is_complex]


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_finfo(dtype):
    ours, theirs = al.finfo(dtype), ml_dtypes.finfo(dtype.numpy_dtype)
    for name in ("eps", "max", "min", "tiny", "smallest_normal", "smallest_subnormal"):
        assert getattr(ours, name) == float(getattr(theirs, name)), name
        assert type(getattr(ours, name)) is float
    # An 8-bit float keeps no decimal digit: torch says 1.0, ml_dtypes writes 0.1 by hand.
    digits = 0 if dtype.bits == 8 else theirs.precision
    assert ours.resolution == float(f"1e-{digits}")
    assert ours.bits == theirs.bits == dtype.bits
    assert ours.dtype is dtype
    assert repr(dtype.finfo) == repr(ours)
    assert repr(ours).startswith(f"finfo({dtype}, bits={dtype.bits}, eps=")


@pytest.mark.parametrize("dtype", SMALL_FLOATS, ids=named)
def test_special_values_by_looking_at_every_code(dtype):
    codes = all_codes(dtype)
    values = to_float64(codes)
    assert dtype.finfo.has_inf == np.isinf(values).any()
    assert dtype.finfo.has_nan == is_nan(codes).any()
    assert dtype.finfo.has_negative_zero == ((values == 0) & np.signbit(values)).any()
    assert dtype.finfo.max == values[np.isfinite(values)].max()
    assert dtype.finfo.smallest_subnormal == values[values > 0].min()


@pytest.mark.parametrize("dtype", COMPLEX, ids=named)
def test_complex_has_the_limits_of_its_components(dtype):
    assert repr(dtype.finfo) == repr(dtype.to_real().finfo)
    assert dtype.finfo.max == np.finfo(dtype.numpy_dtype).max


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_iinfo(dtype):
    ours, theirs = al.iinfo(dtype), np.iinfo(dtype.numpy_dtype)
    assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)
    assert ours.dtype is dtype
    assert repr(ours) == f"iinfo({dtype}, bits={dtype.bits}, min={theirs.min}, max={theirs.max})"


def test_arrays_and_none_are_accepted():
    assert al.finfo(np.zeros(3, np.float16)).dtype is al.float16
    assert al.iinfo(np.int8(3)).dtype is al.int8
    assert al.finfo(None).dtype is al.float32


@pytest.mark.parametrize("dtype", NOT_INEXACT, ids=named)
def test_finfo_refuses(dtype):
    with pytest.raises(TypeError) as caught:
        al.finfo(dtype)
    expected = f"finfo: wrong dtype: {dtype}; a floating or complex dtype is accepted (hint: iinfo)"
    assert str(caught.value) == expected


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=named)
def test_iinfo_refuses(dtype):
    with pytest.raises(TypeError) as caught:
        dtype.iinfo
    expected = f"iinfo: wrong dtype: {dtype}; an integer dtype is accepted (hint: finfo)"
    assert str(caught.value) == expected


def test_iinfo_refuses_bool():
    with pytest.raises(TypeError, match="^iinfo: wrong dtype: bool; an integer dtype is accepted$"):
        al.iinfo(bool)
