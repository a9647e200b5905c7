"""Every structured operation answers for every dtype as the support table says."""

import pytest

import allotrope as al
from allotrope import _core
from allotrope._probes import CALLS
from reference import DTYPES, named

NAMES = _core._structured_operations()


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("name", NAMES)
def test_cell(name, dtype):
    if al.support(name, dtype) == "undefined":
        with pytest.raises(TypeError, match=name):
            CALLS[name](dtype)
    else:
        CALLS[name](dtype)


def test_every_call_is_of_an_operation():
    assert set(CALLS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_call_is_traced_once(name):
    dtype = next(dtype for dtype in ("float32", "int64", "bool", "complex64") if al.support(name, dtype) != "undefined")
    with al.trace_dtypes() as trace:
        CALLS[name](al.dtype(dtype))
    own = [row["op"] for row in trace if row["op"] == name]
    assert len(own) == 1, f"{name} is traced {len(own)} times"
