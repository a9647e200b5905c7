"""Matrix products of every dtype, wherever their elements lie, against NumPy's of wide numbers."""

import numpy as np
import pytest
from arrangements import LAYOUTS, assert_close, laid, numbers, wide
from reference import DTYPES, named

import allotrope as al

F = al.nn.functional
RULES = {
    "dot": ((7,), (7,), np.dot, al.dot),
    "vdot": ((7,), (7,), np.vdot, al.vdot),
    "mv": ((4, 7), (7,), np.matmul, al.mv),
    "mm": ((4, 7), (7, 3), np.matmul, al.mm),
    "bmm": ((2, 4, 5), (2, 5, 3), np.matmul, al.bmm),
    "outer": ((4,), (5,), np.outer, al.outer),
    "inner": ((3, 5), (2, 5), np.inner, al.inner),
    "kron": ((2, 3), (3, 2), np.kron, al.kron),
    "kron of another rank": ((2,), (3, 1, 2), np.kron, al.kron),
    "tensordot": (
        (2, 3, 4),
        (3, 4, 5),
        lambda a, b: np.tensordot(a, b, 2),
        lambda a, b: al.tensordot(a, b, 2),
    ),
    "tensordot of axes": (
        (2, 3, 4),
        (4, 2, 5),
        lambda a, b: np.tensordot(a, b, ([0, -1], [1, 0])),
        lambda a, b: al.tensordot(a, b, ([0, -1], [1, 0])),
    ),
    "matmul of a vector": ((5,), (2, 5, 3), np.matmul, al.matmul),
    "matmul by a vector": ((2, 4, 5), (5,), np.matmul, al.matmul),
    "matmul of lists": ((3, 1, 2, 5), (4, 5, 3), np.matmul, al.matmul),
    "linear": ((2, 3, 4), (5, 4), lambda a, b: a @ b.T, F.linear),
}
EQUATIONS = [
    ("ij,jk->ki", (3, 4), (4, 2)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 3)),
    ("...ij,...kj->...ik", (2, 1, 3, 4), (3, 5, 4)),
    ("ii,i->i", (4, 4), (4,)),
    ("iij,j->", (3, 3, 2), (2,)),
    ("i,j", (3,), (4,)),
]


def exact(dtype, array):
    """The products of bool are logical."""
    return array != 0 if dtype == al.bool else array


def check(dtype, ours, theirs, first, second):
    got = ours(first, second)
    assert got.dtype == dtype
    assert_close(got, exact(dtype, theirs(wide(first), wide(second))))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rule", RULES)
def test_products(rule, dtype, layout):
    a, b, theirs, ours = RULES[rule]
    first, second = numbers(dtype, *a, seed=1), numbers(dtype, *b, seed=2)
    check(dtype, ours, theirs, laid(first, layout), laid(second, layout))
    check(dtype, ours, theirs, laid(first, layout), second)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("equation, a, b", EQUATIONS)
def test_einsum(equation, a, b, dtype, layout):
    first, second = laid(numbers(dtype, *a), layout), laid(numbers(dtype, *b), layout)
    got = al.einsum(equation, first, second)
    # What one operand has alone is summed as by `sum`.
    inputs, arrow, output = equation.partition("->")
    alone = set(inputs.split(",")[0]) ^ set(inputs.split(",")[1])
    sums = arrow and alone - set(output)
    out = al.zeros(1, dtype=dtype).sum().dtype if sums else dtype
    assert got.dtype == out
    want = np.einsum(equation, wide(first), wide(second))
    assert_close(got, exact(out, want))


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_sums_of_nothing_are_zero(dtype):
    def empty(*shape):
        return al.zeros(shape, dtype=dtype)

    for got, shape in [
        (al.matmul(empty(3, 0), empty(0, 4)), (3, 4)),
        (al.bmm(empty(2, 3, 0), empty(2, 0, 4)), (2, 3, 4)),
        (al.mv(empty(3, 0), empty(0)), (3,)),
        (al.dot(empty(0), empty(0)), ()),
        (al.vdot(empty(0), empty(0)), ()),
        (al.tensordot(empty(2, 0), empty(0, 3), 1), (2, 3)),
        (al.einsum("ij,jk->ik", empty(2, 0), empty(0, 3)), (2, 3)),
        (F.linear(empty(2, 0), empty(3, 0)), (2, 3)),
        (al.matmul(empty(0, 3), empty(3, 4)), (0, 4)),
        (al.bmm(empty(0, 2, 3), empty(0, 3, 4)), (0, 2, 4)),
        (al.outer(empty(0), empty(3)), (0, 3)),
        (al.kron(empty(2, 0), empty(3, 2)), (6, 0)),
        (al.linalg.multi_dot([empty(2, 0), empty(0, 3), empty(3, 1)]), (2, 1)),
    ]:
        assert got.dtype == dtype and tuple(got.shape) == shape
        assert not got.numpy().astype(bool).any()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_products_of_three(dtype, layout):
    a, b, c = (
        laid(numbers(dtype, *s, seed=s[0], low=-1), layout) for s in [(3, 4), (4, 2), (2, 5)]
    )
    got = al.linalg.multi_dot([a, b, c])
    assert got.dtype == dtype
    assert_close(got, exact(dtype, wide(a) @ wide(b) @ wide(c)), ulps=4)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_floating_point], ids=named)
def test_nan_reaches_its_row_and_column_only(dtype):
    a, b = numbers(dtype, 5, 6), numbers(dtype, 6, 7)
    a[1, 2] = float("nan")
    expected = np.zeros((5, 7), bool)
    expected[1] = True
    np.testing.assert_array_equal((a @ b).isnan().numpy(), expected)
    np.testing.assert_array_equal(al.einsum("ij,jk->ik", a, b).isnan().numpy(), expected)
    np.testing.assert_array_equal(al.mv(a, b[:, 0]).isnan().numpy(), expected[:, 0])
    assert al.kron(a, b).isnan().sum().item() == b.numel()
    assert al.outer(a[1], b[0]).isnan().sum().item() == 7
