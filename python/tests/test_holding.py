"""What a conversion was not asked to lose: `dtype=` of data, and numbers that are assigned."""

import ml_dtypes
import numpy as np
import pytest

import allotrope as al

MAKERS = [al.tensor, al.asarray, al.as_tensor, al.Tensor]
NARROW = [name for name in al.dtypes() if name.is_floating_point and name.finfo.has_inf and name.bits < 64]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("wrap", [np.array, list, lambda x: [np.array(x)]])
@pytest.mark.parametrize(
    ("data", "dtype", "error", "words"),
    [
        ([0.0, 1.5], "int32", TypeError, "1.5"),
        ([0.0, 300.0], "int8", OverflowError, "300"),
        ([0.0, float("nan")], "int8", (OverflowError, TypeError), "nan|NaN"),
        ([0, 300], "int8", OverflowError, "300"),
        ([0, -1], "uint64", OverflowError, "-1"),
        ([0.0, 1e6], "float16", OverflowError, "1000000|1e6"),
        ([0.0, -1e39], "bfloat16", OverflowError, "-1"),
        ([0, 1 << 17], "float16", OverflowError, "131072"),
        ([0.0, 1e39], "complex64", OverflowError, "1e39"),
    ],
)
def test_what_a_dtype_does_not_hold_is_refused(make, wrap, data, dtype, error, words):
    with pytest.raises(error, match=words):
        make(wrap(data), dtype=dtype)


@pytest.mark.parametrize("make", MAKERS)
def test_an_error_of_an_array_names_index_and_cast(make):
    array = np.array([[1.0, 2.0], [3.5, 4.5]])
    with pytest.raises(TypeError, match=r"a fraction at index 2: 3\.5 of float64; int16 holds .*\.to\(int16\)"):
        make(array, dtype="int16")
    with pytest.raises(OverflowError, match=r"value out of range at index 1: 70000.* of float32; float16"):
        make(np.array([1, 7e4], np.float32)[::-1][::-1], dtype="float16")


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_held_is_converted(make):
    assert make(np.array([1.0, -2.0]), dtype="int8").tolist() == [1, -2]
    assert make(np.array([0.1]), dtype="float16").item() == float(np.float16(0.1))
    assert make(np.array([np.inf, np.nan, -np.inf]), dtype="float16").isinf().tolist() == [True, False, True]
    assert make(np.array([0.5, 0.0, np.nan]), dtype="bool").tolist() == [True, False, True]
    assert make(np.array([1000.0]), dtype="float8_e4m3fn").item() == 448  # the cast's own rule
    assert make(np.zeros((0, 3)), dtype="int8").shape == (0, 3)
    with al.promotion("strict"):
        assert make(np.array([3.0]), dtype="uint8").tolist() == [3]


def test_a_cast_of_a_tensor_is_what_was_asked_for():
    x = al.tensor([1.5, 300.0])
    assert al.tensor(x, dtype="int8").tolist() == x.to("int8").tolist() == [1, 127]


@pytest.mark.parametrize("dtype", NARROW)
def test_every_code_of_float32s_neighbourhood_is_as_ml_dtypes_says(dtype):
    """Around the largest number: what rounds down is held, what rounds to infinity is not."""
    theirs = np.dtype(getattr(ml_dtypes, dtype.name, dtype.name))
    largest = float(dtype.finfo.max)
    for factor in (1.0, 1 + 2.0**-12, 1.03, 1.2, 2.0):
        value = largest * factor
        with np.errstate(over="ignore"):
            held = np.isfinite(np.array([value]).astype(theirs).astype(np.float64)).all()
        for make in (lambda: al.tensor([value], dtype=dtype), lambda: al.tensor(np.array([value]), dtype=dtype)):
            if held:
                assert make().item() == largest
            else:
                with pytest.raises(OverflowError):
                    make()


def assign(x, value):
    x[0] = value


ASSIGNMENTS = {
    "fill_": lambda x, value: x.fill_(value),
    "setitem": assign,
    "masked_fill": lambda x, value: x.masked_fill(al.tensor([True, False]), value),
    "masked_fill_": lambda x, value: x.masked_fill_(al.tensor([True, False]), value),
    "index_fill": lambda x, value: x.index_fill(0, al.tensor([0]), value),
    "fill_diagonal_": lambda x, value: x.reshape(1, 2).fill_diagonal_(value),
    "full": lambda x, value: al.full((2,), value, dtype=x.dtype),
    "full_like": lambda x, value: al.full_like(x, value),
    "new_full": lambda x, value: x.new_full((2,), value),
    "tensor": lambda x, value: al.tensor([value], dtype=x.dtype),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize("dtype", NARROW)
def test_finite_numbers_stay_finite(name, dtype):
    x = al.zeros(2, dtype=dtype)
    beyond = 1e39 if dtype.bits == 32 or dtype == "bfloat16" else 1e6
    for value in (beyond, -beyond, int(beyond)):
        with pytest.raises(OverflowError, match=f"scalar out of range: .*({dtype.name} holds|beyond 128 bits)"):
            ASSIGNMENTS[name](x, value)
    assert x.tolist() == [0, 0]
    for value in (float("inf"), float("-inf"), float("nan"), 1.0, float(dtype.finfo.max)):
        ASSIGNMENTS[name](x, value)


def test_arguments_of_tensor_act_or_are_refused():
    assert al.Tensor([1, 2], dtype="float16").dtype == al.float16
    assert al.Tensor(2, 3, dtype="int8").dtype == al.int8
    assert al.Tensor([1.0], dtype=al.Float).numeric is al.Float
    x = al.tensor([1.0, 2.0])
    assert al.Tensor(x, dtype="bfloat16").dtype == al.bfloat16
    x_alias = al.Tensor(x)
    x_alias[0] = 5
    assert x[0] == 5
    with pytest.raises((RuntimeError, ValueError), match="nope"):
        al.Tensor([1, 2], device="nope")
    with pytest.raises(TypeError, match="Tensor: an unknown argument: foo; dtype, device and requires_grad are accepted"):
        al.Tensor([1, 2], foo=1)
    with pytest.raises(TypeError, match="too many arguments"):
        al.Tensor([1, 2], "float32")
    assert al.Tensor([1.0], requires_grad=True).requires_grad

    class Plain(al.Tensor):
        pass

    class Own(al.Tensor):
        def __init__(self, data, *, name):
            self.name = name

    with pytest.raises(TypeError, match="unknown argument: name"):
        Plain([1, 2], name="x")
    assert Own([1, 2], name="x").name == "x"
