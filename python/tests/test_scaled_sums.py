"""Sums with a factor are formed in the dtype in which all operands meet, and rounded once."""

from fractions import Fraction

import numpy
import pytest

import allotrope as al

FLOATS = ["float8_e4m3fn", "float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]


def nearest(value, dtype):
    """An exact number in a float dtype: float64 is exact for what is summed here."""
    return al.tensor(float(value), dtype=al.float64).to(dtype)


FORMS = {
    "add": (lambda x, y, a: x.add(y, alpha=a), lambda x, y, a: x + a * y),
    "sub": (lambda x, y, a: x.sub(y, alpha=a), lambda x, y, a: x - a * y),
    "rsub": (lambda x, y, a: y.rsub(x, alpha=a), lambda x, y, a: x - a * y),
    "al.add": (lambda x, y, a: al.add(x, y, alpha=a), lambda x, y, a: x + a * y),
    "al.sub": (lambda x, y, a: al.sub(x, y, alpha=a), lambda x, y, a: x - a * y),
    "add_": (lambda x, y, a: x.clone().add_(y, alpha=a), lambda x, y, a: x + a * y),
    "sub_": (lambda x, y, a: x.clone().sub_(y, alpha=a), lambda x, y, a: x - a * y),
    "index_add": (
        lambda x, y, a: x.reshape(1).index_add(0, al.tensor([0]), y.to(x.dtype).reshape(1), alpha=a)[0],
        lambda x, y, a: x + a * y,
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("left", FLOATS)
@pytest.mark.parametrize("right", FLOATS)
def test_floats_are_rounded_once(form, left, right):
    call, exact = FORMS[form]
    keeps = form.endswith("_") or form == "index_add"
    if keeps and al.promote_types(left, right) != al.dtype(left):
        pytest.skip("a write keeps the dtype, and rounds its result once more")
    for x, y, alpha in [(1.0, 1.125, 3), (100.0, 1.75, 0.125), (-7.0, 3.5, 2), (0.5, 0.0625, -5)]:
        left_operand, right_operand = al.tensor(x, dtype=left), al.tensor(y, dtype=right)
        made = call(left_operand, right_operand, alpha)
        assert made.dtype == al.promote_types(left, right)
        x, y = (Fraction(operand.to(made.dtype).item()) for operand in (left_operand, right_operand))
        want = nearest(exact(x, y, Fraction(alpha)), made.dtype)
        assert made == want, (x, y, alpha)


def test_products_do_not_overflow_on_their_way():
    x, y = al.tensor([-60000.0], dtype=al.float16), al.tensor([60000.0], dtype=al.float16)
    assert x.add(y, alpha=2).item() == 60000 and (-x).sub(y, alpha=2).item() == -60000
    assert x.clone().add_(y, alpha=2).item() == 60000


@pytest.mark.parametrize("left", INTEGERS)
@pytest.mark.parametrize("right", INTEGERS)
def test_integers_wrap_in_the_common_dtype(left, right):
    x, y = numpy.array([0, 100, 3], left), numpy.array([100, 7, 120], right)
    common = numpy.promote_types(left, right)
    for sign, name in ((1, "add"), (-1, "sub")):
        made = getattr(al.tensor(x), name)(al.tensor(y), alpha=2)
        with numpy.errstate(over="ignore"):
            want = (x.astype(object) + sign * 2 * y.astype(object)) % 2 ** (8 * common.itemsize)
        assert made.dtype == common
        assert (made.numpy().astype(object) % 2 ** (8 * common.itemsize) == want).all()


def test_wide_integers_keep_the_products_of_narrow_ones():
    assert al.tensor(0).add(al.tensor(200, dtype=al.uint8), alpha=2) == 400


def test_gradients_go_through_both():
    x = al.tensor([1.0, 2.0], requires_grad=True)
    y = al.tensor([3.0, 4.0], dtype=al.float16, requires_grad=True)
    x.sub(y, alpha=3).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [-3, -3] and y.grad.dtype == al.float16


def test_factors_of_another_kind_and_bool():
    with al.promotion("strict"), pytest.raises(TypeError, match="^add: "):
        al.tensor([1]).add(al.tensor([1]), alpha=0.5)
    assert al.tensor([1]).add(al.tensor([1]), alpha=0.5).tolist() == [1.5]
    assert al.tensor([False]).add(al.tensor([True]), alpha=True).tolist() == [True]
    with pytest.raises(TypeError, match="^sub: "):
        al.tensor([False]).sub(al.tensor([True]), alpha=True)
    with pytest.raises(OverflowError):
        al.tensor([1], dtype=al.uint8).add(al.tensor([1], dtype=al.uint8), alpha=300)
