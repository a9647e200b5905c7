"""Calls on few elements have ways of their own: they give what the others give."""

import operator

import numpy
import pytest

import allotrope as al

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
]  # fmt: skip
DTYPES = ["float32", "float64", "int8", "uint8", "int16", "int64", "complex64", "bfloat16"]


def bits(tensor):
    return tensor.dtype, tuple(tensor.shape), tensor.contiguous().view("uint8").tolist() if tensor.ndim else tensor.item()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [2, -3, 0.5, 300, True, 1j, 2**70, float("inf")])
def test_a_number_is_what_it_is_beside_many_elements(dtype, number):
    few = al.tensor([1, 2, 3, 5, 7]).to(dtype)
    many = few.repeat(1000)

    def outcome(call, x):
        try:
            return bits(call(x)[:5])
        except (TypeError, OverflowError, ValueError, ZeroDivisionError) as error:
            return str(error)

    for op in OPERATORS:
        for call in (lambda x: op(x, number), lambda x: op(number, x)):  # noqa: B023
            assert outcome(call, few) == outcome(call, many), op


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "int32", "uint64", "int8", "bool"])
@pytest.mark.parametrize("shape", [(16,), (1,), (3, 5), (2, 3, 70), (4, 1)])
def test_places_of_extremes(dtype, shape):
    random = numpy.random.default_rng(0)
    for _ in range(5):
        array = random.integers(0, 5, shape).astype(dtype)
        if array.dtype.kind == "f":
            array[array == 1] = -0.0
            array[array == 2] = -numpy.inf
            array[random.random(shape) < 0.1] = numpy.nan
        x = al.tensor(array)
        for name in ("argmax", "argmin"):
            assert getattr(x, name)().item() == getattr(array, name)()
            for dim in (-1, 0):
                for keep in (False, True):
                    expected = getattr(numpy, name)(array, dim, keepdims=keep)
                    found = getattr(x, name)(dim, keepdim=keep)
                    assert found.dtype == al.int64 and found.tolist() == expected.tolist()
            part = x[..., 1:] if shape[-1] > 1 else x
            assert getattr(part, name)().item() == getattr(array[..., 1:] if shape[-1] > 1 else array, name)()


def test_truths_of_bytes_that_are_no_truths_leave_as_0_and_1():
    x = al.from_numpy(numpy.array([2, 255, 7], "uint8").view("bool"))
    assert x.any().view(al.uint8).item() == 1 and x.all().view(al.uint8).item() == 1
    assert not (x & False).any() and not al.zeros(3, dtype="bool").all()


def test_writes_read_what_was_there_before():
    x = al.arange(6)
    x += x
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    x[1:] += x[:-1]
    assert x.tolist() == [0, 2, 6, 10, 14, 18]
    held, seen = x.clone(), x[::2]
    x *= 2
    assert seen.tolist() == [0, 12, 28] and held.tolist() == [0, 2, 6, 10, 14, 18]


def test_views_of_what_has_a_history_have_one():
    x = al.ones(4, 4, requires_grad=True)
    views = (x.T[1, 2], x.reshape(16)[3], x[1:3][0, 0], x[-1][-1])
    sum(views).backward()
    assert x.grad.sum().item() == 4 and x.grad[2, 1].item() == 1 and x.grad[3, 3].item() == 1


def test_the_number_of_elements_is_called_for_sizes():
    x = al.zeros(2, 3)
    assert x.size == 6 and isinstance(x.size, int) and x.size() == (2, 3) and x.size(-2) == 2
    assert x.size(dim=1) == x.size(axis=1) == 3 and al.nn.Parameter(x).size(1) == 3
    assert isinstance(vars(al.Tensor)["size"], property) and al.Tensor.size(x, 0) == 2
    for wrong in ((2,), (-3,), ("a",), (0, 1), (True,), (2**80,)):
        with pytest.raises((IndexError, TypeError, OverflowError)):
            x.size(*wrong)
    with pytest.raises(AttributeError):
        x.size = 3


def test_products_of_few_numbers_are_those_of_many():
    random = numpy.random.default_rng(0)
    for dtype in ("float32", "float64"):
        a, b = (al.tensor(random.standard_normal((40, 40)).astype(dtype)) for _ in range(2))
        for m, k, n in [(1, 1, 1), (4, 4, 4), (3, 7, 5), (1, 40, 3), (3, 40, 1), (1, 40, 1), (8, 8, 8)]:
            left, right = a[:m, :k].contiguous(), b[:k, :n].contiguous()
            # As parts of a larger product: nothing is added to their sums but zeros.
            padded = al.zeros(40, 40, dtype=dtype), al.zeros(40, 40, dtype=dtype)
            padded[0][:m, :k], padded[1][:k, :n] = left, right
            whole = (padded[0] @ padded[1])[:m, :n]
            assert (left @ right).tolist() == whole.tolist()
            assert (a[:m, :k] @ b[:k, :n]).tolist() == whole.tolist()
            assert (right.T @ left.T).T.tolist() == whole.tolist()
