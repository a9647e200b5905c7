"""The policies that convert nothing unasked hold in every operation, as the calls of the probes show."""

import pytest

import allotrope as al
from allotrope import _core
from allotrope._probes import CALLS as STRUCTURED

INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def is_reduction(name):
    """Whether a method is a row of the support table that is neither structured nor of single elements."""
    try:
        al.support(name, "float32")
    except ValueError:
        return False
    return name not in STRUCTURED and name not in _core._elementwise_methods()


def reduction(name):
    return lambda dtype: getattr(al.tensor([[1, 1], [0, 1]]).to(dtype), name)()


REDUCTIONS = {name: reduction(name) for name in dir(al.Tensor) if callable(getattr(al.Tensor, name)) and is_reduction(name)}
CALLS = {**STRUCTURED, **REDUCTIONS}


def results(made):
    if isinstance(made, (tuple, list)):
        return [y for each in made for y in results(each)]
    return [made] if isinstance(made, al.Tensor) else []


def call(name, dtype):
    al.manual_seed(0)
    return results(CALLS[name](al.dtype(dtype)))


def is_exact(dtype, wide):
    """Whether a float holds all integers of a dtype."""
    return al.dtype(dtype) == al.bool or al.iinfo(dtype).bits <= al.finfo(wide).bits * 3 // 4


@pytest.mark.parametrize("policy", ["strict", "exact"])
@pytest.mark.parametrize("name", CALLS)
def test_integers_do_not_become_floats(name, policy):
    for dtype in INTEGERS:
        if al.support(name, dtype) == "undefined":
            continue
        made = call(name, dtype)
        floats = [y.dtype for y in made if y.dtype.is_floating_point or y.dtype.is_complex]
        if not floats:
            continue
        allowed = policy == "exact" and all(is_exact(dtype, wide.to_real()) for wide in floats)
        with al.promotion(policy):
            if allowed:
                assert [y.dtype for y in call(name, dtype)] == [y.dtype for y in made]
                continue
            with pytest.raises(TypeError, match=f"{dtype}") as refused:
                call(name, dtype)
        assert "hint: " in str(refused.value)


@pytest.mark.parametrize("policy", ["strict", "exact"])
@pytest.mark.parametrize("name", CALLS)
def test_floats_are_computed_as_ever(name, policy):
    """What computes in the dtype of its operands converts nothing on its way."""
    for dtype in ("float32", "complex64"):
        if al.support(name, dtype) == "undefined":
            continue
        want = call(name, dtype)
        with al.promotion(policy):
            try:
                got = call(name, dtype)
            except TypeError as error:
                # The call itself mixes dtypes: a number of another kind, a weight of another width.
                assert "promotion" in str(error), error
                continue
        assert [y.dtype for y in got] == [y.dtype for y in want]
        for mine, other in zip(got, want):
            assert al.allclose(mine, other, equal_nan=True)


def test_reductions_are_among_them():
    assert {"sum", "prod", "mean", "std", "var", "logsumexp", "norm", "amax", "argmax"} <= set(REDUCTIONS)


def test_a_dtype_that_is_asked_for_is_no_conversion_unasked():
    x = al.tensor([1, 2, 4])
    with al.promotion("strict"):
        assert x.mean(dtype=al.float32) == 7 / 3
        assert x.softmax(0, dtype=al.float64).dtype == al.float64
        assert x.sum(dtype=al.float32) == 7.0
        assert repr(x) and x.tolist() == [1, 2, 4]


def test_exact_takes_what_the_float_holds():
    with al.promotion("exact"):
        assert al.tensor([1, 2], dtype=al.int16).mean() == 1.5
        with pytest.raises(TypeError, match="int64"):
            al.tensor([2**24 + 1]).mean()
