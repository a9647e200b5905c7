"""The dtype that data has when none is given."""

import collections
import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, named


@pytest.mark.parametrize(
    "data, name",
    [
        (True, "bool"),
        (3, "int64"),
        (2.5, "float32"),
        (1j, "complex64"),
        ([], "float32"),
        ((), "float32"),
        ([[], []], "float32"),
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([1, 2.5], "float32"),
        ([1, 2.5, 1j], "complex64"),
        ([[1, 2], [3, 4.0]], "float32"),
        ([[], [1]], "int64"),
        (([1], (True,)), "int64"),
        (2**63 - 1, "int64"),
        (-(2**63), "int64"),
        ([2**63, 1.5], "float32"),
        ([2**999, 1j], "complex64"),
    ],
)
def test_python_data(data, name):
    assert al.infer_dtype(data) == name


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_arrays_and_numpy_scalars_keep_their_dtype(dtype):
    array = np.ones((2, 3), dtype.numpy_dtype)
    for data in (
        array,
        array[:0],
        array[0, 0],
        [array[0, 0]],
        [[array, array]],
        np.array(array[0, 0]),
    ):
        assert al.infer_dtype(data) is dtype


def test_numpy_scalars_join_and_python_numbers_are_weak():
    assert al.infer_dtype([np.int8(1), np.uint8(1)]) is al.int16
    assert al.infer_dtype([np.int8(1), 2]) is al.int8
    assert al.infer_dtype([np.int8(1), 2.5]) is al.float32
    assert al.infer_dtype([np.float16(1), 2.5]) is al.float16
    assert al.infer_dtype([np.float64(1), 2]) is al.float64
    assert al.infer_dtype([2, np.uint64(1), 2**63]) is al.uint64
    assert al.infer_dtype([np.float16(1), np.ones(3, np.float32)]) is al.float32
    with al.promotion("strict"), pytest.raises(TypeError, match="^infer_dtype: strict promotion"):
        al.infer_dtype([np.int8(1), np.int16(1)])


def test_float64_rule():
    data = np.ones(3)
    assert al.infer_dtype(data) is al.float64
    assert al.infer_dtype(data, float64="default") is al.float32
    assert al.infer_dtype([np.float64(1)], float64="default") is al.float32
    assert al.infer_dtype(np.ones(3, np.complex128), float64="default") is al.complex128
    al.set_inference(float64="default")
    assert al.infer_dtype(data) is al.float32
    assert al.infer_dtype(data, float64="keep") is al.float64
    with al.set_default_dtype("bfloat16"):
        assert al.infer_dtype(data) is al.bfloat16


INT64 = "int64 holds -9223372036854775808 to 9223372036854775807"


class Colour(enum.IntEnum):
    RED = 1


def test_subclasses_of_numbers():
    Point = collections.namedtuple("Point", "x y")
    assert al.infer_dtype(Colour.RED) is al.int64
    assert al.infer_dtype(type("Real", (float,), {})(1)) is al.float32
    assert al.infer_dtype(Point(1, 2.0)) is al.float32


@pytest.mark.parametrize(
    "data, message",
    [
        (
            2**63,
            f"9223372036854775808; {INT64} (hint: dtype=uint64)",
        ),
        (
            -(2**63) - 1,
            f"-9223372036854775809; {INT64} (hint: dtype=float64)",
        ),
        (
            [0, 2**64],
            f"18446744073709551616; {INT64} (hint: dtype=float64)",
        ),
        (
            [2**200, 1],
            f"{2**200}; {INT64} (hint: dtype=float64)",
        ),
        (
            10**5000,
            f"an int of 16610 bits; {INT64} (hint: dtype=float64)",
        ),
        ([np.int8(1), 300], "300; int8 holds -128 to 127 (hint: dtype=int16)"),
        ([np.uint8(1), -1], "-1; uint8 holds 0 to 255 (hint: dtype=int8)"),
    ],
    ids=range(7),
)
def test_ints_that_do_not_fit(data, message):
    with pytest.raises(OverflowError) as caught:
        al.infer_dtype(data)
    assert str(caught.value) == f"infer_dtype: scalar out of range: {message}"


@pytest.mark.parametrize(
    "data",
    ["text", b"bytes", None, {}, {1}, object, Fraction(1, 2), Decimal(1), al.float32],
)
def test_not_data(data):
    for nested in (data, [1, [data]]):
        with pytest.raises(TypeError) as caught:
            al.infer_dtype(nested)
        assert str(caught.value) == (
            f"infer_dtype: not data: {data!r} of type {type(data).__qualname__}; "
            "accepted are numbers, arrays and nested lists of them"
        )


def test_arrays_of_other_dtypes():
    with pytest.raises(TypeError, match="^infer_dtype: unknown name: 'object'"):
        al.infer_dtype(np.array([None]))
    with pytest.raises(TypeError, match="^infer_dtype: byte order is not the machine's"):
        al.infer_dtype(np.zeros(2, ">i4"))


def nest(depth):
    data = 1.0
    for _ in range(depth):
        data = [data]
    return data


def test_deep_lists():
    assert al.infer_dtype(nest(64)) is al.float32
    cyclic, branching = [], []
    cyclic.append(cyclic)
    branching += [branching, branching]
    for data in (nest(65), nest(100_000), cyclic, branching):
        with pytest.raises(ValueError) as caught:
            al.infer_dtype(data)
        assert str(caught.value) == "infer_dtype: lists nested too deeply; 64 levels are accepted"


def test_a_deque_is_data_as_a_list_is():
    from collections import deque

    nested = deque([deque([1, 2.5]), [3, 4]], maxlen=2)
    assert al.infer_dtype(nested) is al.float32
    assert al.equal(al.tensor(nested), al.tensor([[1, 2.5], [3, 4]]))
    assert al.tensor(deque()).shape == (0,)
