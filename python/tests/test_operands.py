"""What stands beside a tensor: other dtypes, Python numbers, NumPy arrays and scalars; policies."""

import operator

import numpy as np
import pytest

import allotrope as al

from elementwise import values_of
from reference import DTYPES, INTEGERS, assert_same, named

OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
}
BITWISE = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
}


def small(dtype, *values):
    return al.tensor(list(values or (1, 2, 3))).to(dtype)


@pytest.mark.parametrize("left", DTYPES, ids=named)
def test_mixed_dtypes_promote_first(left):
    """The result has the dtype of promotion, and the value of operands that were cast before."""
    for right in DTYPES:
        x = al.from_numpy(values_of(left, 20)[:40].copy())
        y = al.from_numpy(values_of(right, 20)[:40].copy())
        count = min(len(x), len(y))
        x, y = x[:count], y[:count]
        try:
            common = al.promote_types(left, right)
        except TypeError:
            for operation in (operator.add, operator.mul, al.maximum):
                with pytest.raises(TypeError, match="uint64"):
                    operation(x, y)
            continue
        for operation in (operator.add, operator.mul, operator.truediv, al.maximum, al.hypot):
            try:
                want = operation(x.to(common), y.to(common))
            except TypeError:
                with pytest.raises(TypeError):
                    operation(x, y)
                continue
            got = operation(x, y)
            assert got.dtype == want.dtype
            if operation in (operator.add, operator.mul, al.maximum):
                assert got.dtype == al.result_type(x, y) == al.result_type(left, right)
            assert_same(got.numpy(), want.numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("scalar", [True, 2, 2.5, 1 + 2j], ids=["bool", "int", "float", "complex"])
def test_python_numbers_are_weak(dtype, scalar):
    x = small(dtype)
    want = al.result_type(dtype, scalar)
    kinds = [dtype == al.bool, dtype.is_integer, dtype.is_floating_point, dtype.is_complex]
    own, other = kinds.index(True), [bool, int, float, complex].index(type(scalar))
    if other <= own:
        assert want == dtype
    else:
        assert want == [None, al.int64, al.float32, al.complex64][other] or want == dtype.to_complex()
    for got in (x + scalar, scalar + x, al.add(x, scalar), x * scalar, scalar * x):
        assert got.dtype == want
    wide = x.to(want)
    assert_same((x + scalar).numpy(), (wide + al.tensor(scalar).to(want)).numpy())
    assert_same((scalar + x).numpy(), (al.tensor(scalar).to(want) + wide).numpy())


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_ints_that_do_not_fit(dtype):
    info, x = al.iinfo(dtype), small(dtype)
    for value in (info.max + 1, info.min - 1, 2**64, -(2**70), 2**130, 10**400):
        for operation in (operator.add, operator.mul, operator.floordiv, al.maximum):
            with pytest.raises(OverflowError, match=f"out of range.*{dtype.name}"):
                operation(x, value)
            with pytest.raises(OverflowError, match=dtype.name):
                operation(value, x)
    for value in (info.max, info.min):
        assert (x * 0 + value).tolist() == [value] * 3


def test_ints_that_floats_cannot_hold():
    """No value is replaced by another silently."""
    x = al.tensor([1.0, 2.0], dtype=al.float64)
    assert (x * 2**100).tolist() == [2.0**100, 2.0**101]
    for value in (2**200, 10**400, -(10**400)):
        for operation in (operator.add, operator.mul, operator.lt, operator.eq):
            with pytest.raises(OverflowError, match="128 bits"):
                operation(x, value)
    for value in (10**400, -(10**400)):
        with pytest.raises(OverflowError):
            x[0] = value
    assert x.tolist() == [1.0, 2.0]
    x[0] = 2**200
    assert x.tolist() == [2.0**200, 2.0]
    assert al.full(2, 2**200, dtype=al.float64).tolist() == [2.0**200] * 2
    assert al.tensor([2**200], dtype=al.float64).tolist() == [2.0**200]
    assert al.full_like(x, 2**200).tolist() == [2.0**200] * 2
    assert al.linspace(0, 2**200, 2, dtype=al.float64).tolist() == [0.0, 2.0**200]
    for make in (al.tensor, lambda v, dtype: al.full(2, v, dtype=dtype)):
        with pytest.raises(OverflowError):
            make(10**400, dtype=al.float64)


@pytest.mark.parametrize("name", list(OPERATORS) + list(BITWISE))
def test_numpy_on_both_sides(name):
    operation = {**OPERATORS, **BITWISE}[name]
    kinds = [np.int16, np.uint8] if name in BITWISE else [np.float32, np.float64, np.int16]
    for left in kinds:
        for right in kinds:
            a, b = np.array([5, 6, 7], dtype=left), np.array([1, 2, 3], dtype=right)
            want = operation(al.tensor(a), al.tensor(b))
            for got in (
                operation(a, al.tensor(b)),
                operation(al.tensor(a), b),
                getattr(al, name)(a, b),
                getattr(al, name)(al.tensor(a), b),
            ):
                assert type(got) is al.Tensor
                assert_same(got.numpy(), want.numpy())
            # NumPy's scalars are numbers without a dtype beside a tensor, as in torch.
            for got, want in (
                (operation(a[0], al.tensor(b)), operation(a[0].item(), al.tensor(b))),
                (operation(al.tensor(b), a[0]), operation(al.tensor(b), a[0].item())),
                (getattr(al, name)(al.tensor(b), a[0]), operation(al.tensor(b), a[0].item())),
            ):
                assert type(got) is al.Tensor
                assert_same(got.numpy(), want.numpy())
            with al.promotion("numpy"):
                got, want = operation(a[0], al.tensor(b)), operation(a[0], b)
                assert_same(got.numpy(), np.asarray(want))


def test_numpy_comparisons_are_tensors():
    x = al.tensor([1.0, 2.0])
    for got in (np.ones(2) == x, np.ones(2) < x, np.float64(1) != x, x >= np.ones(2)):
        assert type(got) is al.Tensor and got.dtype == al.bool


@pytest.mark.parametrize("name", list(OPERATORS) + list(BITWISE))
def test_reflected_operators(name):
    operation = {**OPERATORS, **BITWISE}[name]
    x = al.tensor([1, 2, 3])
    want = [operation(7, v) for v in (1, 2, 3)]
    got = operation(7, x)
    if name == "div":
        assert got.numpy() == pytest.approx(want)
    else:
        assert got.tolist() == want
    assert operation(x, 2).numpy() == pytest.approx([operation(v, 2) for v in (1, 2, 3)])


@pytest.mark.parametrize(
    "other", ["x", None, {}, {1, 2}, object()], ids=lambda x: type(x).__name__
)
def test_operators_leave_other_objects_alone(other):
    x = al.ones(3)
    for operation in (*OPERATORS.values(), *BITWISE.values()):
        with pytest.raises(TypeError):
            operation(x, other)
    for operation in (operator.add, operator.sub, operator.truediv):
        with pytest.raises(TypeError):
            operation(other, x)


def test_objects_that_know_tensors_are_asked():
    class Other:
        def __radd__(self, tensor):
            return "mine"

        def __eq__(self, tensor):
            return "equal"

    assert al.ones(2) + Other() == "mine"
    assert (al.ones(2) == Other()) == "equal"


class TestPolicies:
    def test_strict(self):
        with al.promotion("strict"):
            with pytest.raises(TypeError, match="^add: strict promotion: int32 and float32 differ"):
                small(al.int32) + small(al.float32)
            assert (small(al.int32) + 1).dtype == al.int32
            assert (small(al.float32) + 1).dtype == al.float32
            with pytest.raises(TypeError, match="^mul: strict"):
                small(al.int32) * 1.5
            x = al.tensor([True])
            for operation in (operator.add, operator.mul, operator.floordiv, operator.truediv):
                with pytest.raises(TypeError, match="bool"):
                    operation(x, x)
            assert (x & x).item() is True and (x == x).item() is True
            with pytest.raises(TypeError, match="^where: strict"):
                al.where(al.tensor([True]), small(al.int32, 1), small(al.int64, 1))
            x = small(al.int32)
            with pytest.raises(TypeError, match="^setitem: strict"):
                x[0] = 1.5
            assert x.tolist() == [1, 2, 3]
        assert (small(al.int32) + small(al.float32)).dtype == al.float32

    @pytest.mark.parametrize("policy", ["standard", "torch", "numpy", "jax", "exact", "strict"])
    def test_operators_follow(self, policy):
        with al.promotion(policy):
            for left in DTYPES:
                for right in DTYPES:
                    x, y = al.ones(2, dtype=left), al.ones(2, dtype=right)
                    if left == right == al.bool and policy == "strict":
                        continue
                    try:
                        want = al.promote_types(left, right)
                    except TypeError:
                        with pytest.raises(TypeError, match="^mul: "):
                            x * y
                    else:
                        assert (x * y).dtype == want

    def test_numpy(self):
        with al.promotion("numpy"):
            assert (small(al.int32) * small(al.float32)).dtype == al.float64
            assert (small(al.int64) + small(al.uint64)).dtype == al.float64
        with pytest.raises(TypeError):
            small(al.int64) + small(al.uint64)

    def test_torch_zero_dim(self):
        x, scalar = al.ones(3), al.tensor(2.0, dtype=al.float64)
        assert (x * scalar).dtype == al.float64
        with al.promotion("torch"):
            assert (x * scalar).dtype == al.float32


class TestDefaultDtype:
    def test_where_it_counts(self):
        x = al.tensor([1, 2, 4])
        for default in (al.float64, al.float16, al.bfloat16):
            with al.set_default_dtype(default):
                for got in (x / 2, x / x, x.mean(), x.exp(), x + 0.5, al.sqrt(x), x.var(), x.norm()):
                    assert got.dtype == default
                assert (x + 1j).dtype == default.to_complex()
                assert (al.ones(2, dtype=al.float32) / 2).dtype == al.float32
            assert (x / 2).dtype == al.float32


@pytest.mark.parametrize("name", OPERATORS)
def test_lists_are_operands(name):
    """On both sides, of any operator, as functions and writes in place take them."""
    operation = OPERATORS[name]
    x, numbers = al.tensor([4.0, 9.0]), [2, 5]
    array = np.asarray([4.0, 9.0], dtype="float32")
    for other in (numbers, tuple(numbers), [2.0, 5.0], [[2, 5], [3, 4]]):
        want = operation(array, np.asarray(other, dtype="float32"))
        np.testing.assert_allclose(operation(x, other).numpy(), want, rtol=1e-6)
        want = operation(np.asarray(other, dtype="float32"), array)
        np.testing.assert_allclose(operation(other, x).numpy(), want, rtol=1e-6)
    # A list has the dtype that a tensor of it has.
    small = al.tensor([4, 9], dtype="int8")
    assert operation(small, numbers).dtype == operation(small, al.tensor(numbers)).dtype
    assert operation(x, numbers).tolist() == getattr(al, name)(x, numbers).tolist()


def test_lists_beside_other_operators():
    x, flags = al.tensor([3, 5]), al.tensor([True, False])
    assert (x == [3, 4]).tolist() == [True, False] and ([3, 4] != x).tolist() == [False, True]
    assert (x < [4, 4]).tolist() == [True, False] and ((4, 4) >= x).tolist() == [True, False]
    assert (x & [1, 4]).tolist() == [1, 4] and ([1, 1] << x).tolist() == [8, 32]
    assert (flags | [False, True]).tolist() == [True, True]
    assert (x @ [1, 2]).item() == 13 and ([[1, 2]] @ x).tolist() == [13]
    x += [1, 2]
    assert x.tolist() == [4, 7]
    for wrong in (["a"], [1, [2]], [None]):
        with pytest.raises((TypeError, ValueError), match="add: "):
            x + wrong
    with pytest.raises(ValueError, match="do not broadcast"):
        x + [1, 2, 3]
    with pytest.raises(TypeError, match="unsupported operand"):
        x + {1: 2}
