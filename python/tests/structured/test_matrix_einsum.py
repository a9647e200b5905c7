"""einsum against NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allotrope as al

SIZES = dict(zip("abcdefghij", (2, 3, 4, 2, 5, 1, 3, 2, 2, 3), strict=True))

EQUATIONS = [
    "a->a", "a->", "ab->ba", "ab->a", "ab->b", "ab->", "aa->a", "aa->", "aba->b", "aba->ab", "ab",  "ba", "aa",
    "a,a->a", "a,a->", "a,b->ab", "a,b->ba", "a,b->", "ab,bc->ac", "ab,bc->ca", "ab,bc", "ab,ab->ab", "ab,ab->",
    "abc,abd->acd", "abc,cd,de->abe", "ab,bc,cd->ad", "ab,bc,cd->", "a,a,a->a", "abc,c->ab", "ab,cd->abcd",
    "abab->ab", "ab,ba->", "eab,ebc->eac", "ab,b,a->", "abc,bad->dc", "ac,bc,dc->abd", ",a->a", ",->", "ab,,b->a",
]


def arrays_for(equation, dtype=np.int64):
    rng = np.random.default_rng(0)
    inputs = equation.split("->")[0].split(",")
    return [rng.integers(-3, 4, [SIZES[letter] for letter in part]).astype(dtype) for part in inputs]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(equation):
    for dtype in (np.int64, np.float32, np.complex128):
        arrays = arrays_for(equation, dtype)
        got = al.einsum(equation, *arrays)
        want = np.einsum(equation, *arrays)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
        ("...i->...", [(2, 3)]),
        ("i...->...", [(2, 3, 4)]),
        ("...i,...i", [(2, 3), (3,)]),
        ("ij...,jk...->ik...", [(2, 3, 5), (3, 4, 5)]),
        ("...,...", [(2, 3), (3,)]),
        ("b...c,c->b...", [(2, 3, 4, 5), (5,)]),
        ("...a->...a", [(3,)]),
        (" i j , j k -> i k ", [(2, 3), (3, 4)]),
    ],
)
def test_ellipsis(equation, shapes):
    arrays = [np.arange(np.prod(shape)).reshape(shape) % 5 for shape in shapes]
    np.testing.assert_array_equal(al.einsum(equation, *arrays).numpy(), np.einsum(equation.replace(" ", ""), *arrays))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_equation(data):
    letters = st.text(alphabet="abcdef", min_size=0, max_size=3)
    parts = data.draw(st.lists(letters, min_size=1, max_size=4))
    used = sorted(set("".join(parts)))
    output = "".join(data.draw(st.permutations(used)))[: data.draw(st.integers(0, len(used)))]
    equation = ",".join(parts) + "->" + output
    arrays = arrays_for(equation)
    np.testing.assert_array_equal(al.einsum(equation, *arrays).numpy(), np.einsum(equation, *arrays))


def test_size_one_broadcasts():
    assert al.einsum("ij,jk->ik", al.ones(2, 1), al.ones(3, 4)).tolist() == [[3.0] * 4] * 2


def test_lists_of_indices():
    x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    want = x @ y
    np.testing.assert_array_equal(al.einsum(x, [0, 1], y, [1, 2], [0, 2]).numpy(), want)
    np.testing.assert_array_equal(al.einsum(x, [0, 1], y, [1, 2]).numpy(), want)
    np.testing.assert_array_equal(al.einsum(x, [..., 1], y, [1, 2], [..., 2]).numpy(), want)
    np.testing.assert_array_equal(al.einsum("ij,jk", [al.tensor(x), al.tensor(y)]).numpy(), want)


def test_dtypes():
    ones = al.ones(4096, dtype=al.float16)
    assert al.einsum("i,i->", ones, ones).item() == 4096.0
    # Rounded once: the first product is beyond float16.
    a, b = al.full((1,), 300.0, dtype=al.float16), al.full((1,), 0.001953125, dtype=al.float16)
    result = al.einsum("i,i,i->i", a, a, b)
    assert result.dtype == al.float16 and result.item() == 175.75
    x = al.full((3,), 100, dtype=al.int8)
    assert al.einsum("i,i->", x, x).item() == 48
    assert al.einsum("i,i->", x, x, acc_dtype=al.int32).item() == 30000
    assert al.einsum("i->", x).dtype == al.int64
    truth = al.tensor([True, False])
    assert al.einsum("i,j->ij", truth, truth).tolist() == [[True, False], [False, False]]
    assert al.einsum("i,i->", truth, truth).item() is True
    assert al.einsum("i->", truth).item() == 1
    assert al.einsum("i,i->i", al.tensor([1]), al.tensor([0.5])).dtype == al.float32


@pytest.mark.parametrize(
    "equation, shapes, text",
    [
        ("ij,jk", [(2, 3)], "2 operands are named, 1 are given"),
        ("ij", [(2,)], "operand 0 has 1 dimensions, 2 indices name them"),
        ("i...j", [(2,)], "operand 0 has 1 dimensions, 2 indices name them"),
        ("i->j", [(2,)], "no operand has 'j'"),
        ("i->ii", [(2,)], "the result has 'i' twice"),
        ("i1", [(2, 2)], "'1' is no index; letters and '...' are"),
        ("i,i", [(2,), (3,)], "'i' has sizes 2 and 3"),
    ],
)
def test_errors(equation, shapes, text):
    with pytest.raises(ValueError) as caught:
        al.einsum(equation, *[al.ones(shape) for shape in shapes])
    assert str(caught.value) == f"einsum: malformed equation: '{equation}': {text}"


def test_no_operands():
    with pytest.raises(ValueError, match="einsum"):
        al.einsum("->")
    with pytest.raises(ValueError, match="einsum: shapes do not fit"):
        al.einsum("ii", al.ones(2, 3))


@pytest.mark.parametrize("name", ["uint8", "int8", "bool", "uint64", "int32"])
def test_sums_of_one_operand_are_sums(name):
    x = al.ones(300, dtype=name)
    square = al.ones((300, 300), dtype=name)
    wide = al.uint64 if name.startswith("u") else al.int64
    for got, want in [
        (al.einsum("i->", x), 300),
        (al.einsum("ii->", square), 300),
        (al.einsum("ij->i", square)[0], 300),
        (al.einsum("ij,k->k", square, x)[0], 90000),
    ]:
        assert got.dtype == wide and got.item() == want
    for kept in (al.einsum("ii->i", square), al.einsum("ij->ji", square), al.einsum("i,i->", x, x)):
        assert kept.dtype == name
    assert al.einsum("i->", x, dtype=al.int16).item() == 300
