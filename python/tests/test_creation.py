"""Constructors against NumPy: numbers in a row, diagonals, and tensors like another."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import DTYPES, FLOATS, INTEGERS, assert_same, named, numpy_cast

import allotrope as al


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
class TestEveryDType:
    def test_linspace(self, dtype):
        end = 1 if dtype == "bool" else 7
        for steps in (0, 1, 2, 3, 8):
            x = al.linspace(0, end, steps, dtype=dtype)
            assert x.dtype is dtype
            exact = [Fraction(end * i, max(steps - 1, 1)) for i in range(steps)]
            whole = dtype.is_integer or dtype == "bool"
            want = np.array([math.trunc(x) if whole else float(x) for x in exact])
            assert_same(x.numpy(), numpy_cast(want, dtype))

    def test_logspace(self, dtype):
        if dtype == "bool":
            return
        x = al.logspace(0, 3, 4, base=2, dtype=dtype)
        assert_same(x.numpy(), numpy_cast(np.array([1, 2, 4, 8]), dtype))

    def test_eye(self, dtype):
        for sizes in ((3,), (2, 4), (4, 2), (0,), (0, 3)):
            want = np.eye(*sizes).astype(dtype.numpy_dtype)
            assert_same(al.eye(*sizes, dtype=dtype).numpy(), want)

    def test_likes(self, dtype):
        x = al.ones(2, 3, dtype=dtype).T
        array = np.ones((3, 2), dtype.numpy_dtype)
        assert_same(al.zeros_like(x).numpy(), np.zeros_like(array))
        assert_same(al.ones_like(x).numpy(), array)
        assert_same(al.full_like(x, True).numpy(), array)
        assert al.empty_like(x).shape == (3, 2) and al.empty_like(x).dtype is dtype
        assert al.empty(2, 3, dtype=dtype).dtype is dtype
        full = lambda x, **keywords: al.full_like(x, True, **keywords)
        for like in (al.zeros_like, al.ones_like, al.empty_like, full):
            assert like(x, dtype="uint16").dtype is al.uint16
            assert like(array).dtype is dtype


numbers = st.floats(-1e6, 1e6)


@given(numbers, numbers, st.integers(2, 50))
def test_linspace_equals_numpy(start, end, steps):
    x = al.linspace(start, end, steps, dtype="float64").numpy()
    assert x[0] == start and x[-1] == end
    size = max(abs(start), abs(end), 1e-300)
    assert np.allclose(x, np.linspace(start, end, steps), rtol=0, atol=size * 1e-15)
    for dtype in (d for d in FLOATS if d.bits > 8):
        ends = al.linspace(start, end, steps, dtype=dtype)
        assert ends[0].item() == al.tensor(start, dtype="float64").to(dtype).item()
        assert ends[-1].item() == al.tensor(end, dtype="float64").to(dtype).item()


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(1, 40))
def test_linspace_of_integers_is_exact(start, end, steps):
    want = [
        math.trunc(start + Fraction((end - start) * i, max(steps - 1, 1))) for i in range(steps)
    ]
    assert al.linspace(start, end, steps, dtype="int64").tolist() == want


@given(st.floats(-20, 20), st.floats(-20, 20), st.integers(1, 30), st.floats(0.5, 20))
def test_logspace_equals_numpy(start, end, steps, base):
    x = al.logspace(start, end, steps, base=base, dtype="float64").numpy()
    assert np.allclose(x, np.logspace(start, end, steps, base=base), rtol=1e-12)


def test_complex_lines():
    line = al.linspace(1 + 2j, -1, 5)
    assert line.dtype is al.complex64
    assert np.allclose(line.numpy(), np.linspace(1 + 2j, -1, 5))
    turn = al.logspace(0, 1j * math.pi, 3, base=math.e, dtype="complex128")
    assert np.allclose(turn.numpy(), [1, 1j, -1])


def test_dtypes_by_default_and_by_family():
    assert al.linspace(0, 1, 3).dtype is al.float32
    assert al.linspace(0, 1, 3, dtype=al.Int).dtype is al.int64
    assert al.logspace(0, 1, 3).dtype is al.eye(2).dtype is al.empty(2).dtype is al.float32
    with al.set_default_dtype("float64"):
        assert al.linspace(0, 1, 3).dtype is al.eye(2).dtype is al.empty(2).dtype is al.float64
    x = al.zeros(2, dtype="float16")
    assert al.zeros_like(x, dtype=al.Float).dtype is al.float16
    assert al.zeros_like(x, dtype="Complex").dtype is al.complex64
    assert al.ones_like(x, dtype=np.int8).dtype is al.int8
    assert al.ones_like(x, dtype=None).dtype is al.float16
    assert al.zeros_like([[1, 2]]).tolist() == [[0, 0]]
    assert al.zeros(size=(2, 3)).shape == al.ones([2, 3]).shape == al.empty((2, 3)).shape == (2, 3)
    assert al.linspace(al.tensor(0), np.float32(1), 2).tolist() == [0.0, 1.0]


def test_ranges_of_large_integers():
    top = 2**64
    assert al.arange(top - 3, top, dtype="uint64").tolist() == [top - 3, top - 2, top - 1]
    assert al.arange(top - 1, top - 5, -2, dtype="uint64").tolist() == [top - 1, top - 3]
    assert al.linspace(top - 3, top - 1, 3, dtype="uint64").tolist() == [top - 3, top - 2, top - 1]


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_integers_must_fit(dtype):
    most = al.iinfo(dtype).max
    assert al.linspace(0, most, 2, dtype=dtype).tolist() == [0, most]
    for call in (
        lambda: al.linspace(0, most + 1, 2, dtype=dtype),
        lambda: al.linspace(0, math.nan, 2, dtype=dtype),
        lambda: al.logspace(0, 100, 2, dtype=dtype),
        lambda: al.arange(0.0, float(most) * 4, float(most), dtype=dtype),
        lambda: al.full_like(al.zeros(1, dtype=dtype), most + 1),
    ):
        with pytest.raises(OverflowError, match=f"out of range: .*{dtype} holds"):
            call()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: al.linspace(0, 1, -1), ValueError,
         "linspace: negative size: -1; sizes start at 0"),
        (lambda: al.linspace(0, 1, 2**70), OverflowError, None),
        (lambda: al.eye(2**70), OverflowError, None),
        (lambda: al.linspace(0, 1j, 3, dtype="float32"), TypeError, None),
        (lambda: al.linspace(0, 1, 2**60), MemoryError, None),
        (lambda: al.linspace("a", 1, 2), TypeError,
         "linspace: not a number: 'a' of type str; accepted are bool, int, float and complex"),
        (lambda: al.eye(-1), ValueError, "eye: negative size: -1; sizes start at 0"),
        (lambda: al.eye(2**40, 2**40), ValueError,
         "eye: too many elements: [1099511627776, 1099511627776]; at most 9223372036854775807 fit"),
        (lambda: al.empty(2**58), MemoryError, "empty: out of memory: 1152921504606846976 bytes"),
        (lambda: al.full_like(al.zeros(2, dtype="int8"), 1.5), TypeError,
         "full_like: scalar of a higher kind: 1.5; int8 holds -128 to 127"),
        (lambda: al.zeros_like(object()), TypeError, None),
        (lambda: al.arange(0.0, math.inf), ValueError,
         "arange: no last number: from 0 to inf by 1; finite bounds are accepted"),
        (lambda: al.eye(2, device="tpu"), RuntimeError,
         f"eye: no such device: 'tpu'; available are {', '.join(al.devices())}"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message is None or str(caught.value) == message


def test_integer_ranges_of_float_steps_leave_out_fractions():
    """Neither the step nor the count is cut before the numbers are."""
    for dtype in ("int8", "int64", "uint32"):
        got = al.arange(0, 3, 0.5, dtype=dtype)
        assert got.tolist() == [0, 0, 1, 1, 2, 2] and got.dtype == dtype
    assert al.arange(0, 5, 1.5, dtype="int64").tolist() == [0, 1, 3, 4]
    assert al.arange(0, -2, -0.5, dtype="int64").tolist() == [0, 0, -1, -1]
