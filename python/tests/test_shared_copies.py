"""Deep copies of what shares memory share the memory of the copies, as torch's do."""

import copy

import numpy
import pytest

import allotrope as al


def test_views_see_what_is_written_to_their_base():
    base = al.arange(6.0)
    both = copy.deepcopy({"base": base, "views": [base[2:4], base.view(2, 3).T, base.detach()]})
    both["base"][2] = 99
    assert both["views"][0].tolist() == [99, 3] and both["views"][1].tolist() == [[0, 3], [1, 4], [99, 5]]
    assert both["views"][2].tolist() == [0, 1, 99, 3, 4, 5]
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    assert both["views"][1].stride() == base.view(2, 3).T.stride()


def test_views_of_other_dtypes():
    words = al.arange(4, dtype=al.int32)
    copied_words, copied_bytes = copy.deepcopy((words, words.view(al.uint8)))
    copied_bytes[0] = 7
    assert copied_words.tolist() == [7, 1, 2, 3] and words.tolist() == [0, 1, 2, 3]


def test_a_parameter_and_its_detached_twin():
    weight = al.nn.Parameter(al.ones(2))
    twin = weight.detach()
    (weight * 2).sum().backward()
    again, other = copy.deepcopy([weight, twin])
    with al.no_grad():
        again.add_(1)
    assert other.tolist() == [2, 2] and weight.tolist() == [1, 1]
    assert type(again) is al.nn.Parameter and again.is_leaf and again.grad.tolist() == [2, 2] and not other.requires_grad


def test_apart_they_share_nothing():
    base = al.arange(4.0)
    first, second = copy.deepcopy(base), copy.deepcopy(base[1:])
    first[1] = 9
    assert second.tolist() == [1, 2, 3] and base.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "bfloat16", "complex64", "bool", "int8"])
def test_every_width(dtype):
    x = al.ones(6, dtype=dtype)
    whole, part = copy.deepcopy((x, x[::2]))
    whole.zero_()
    assert not part.to(al.complex64).real.any() and x.to(al.complex64).real.all()


def test_memory_of_numpy():
    array = numpy.arange(4.0)
    x = al.from_numpy(array)
    whole, part = copy.deepcopy((x, x[2:]))
    part[0] = -1
    assert whole.tolist() == [0, 1, -1, 3] and array.tolist() == [0, 1, 2, 3]
