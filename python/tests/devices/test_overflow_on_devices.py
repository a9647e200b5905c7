"""The policy of overflow holds on every device: what the CPU says of copies is what it says of its own."""

import math

import pytest

import allotrope as al

CALLS = {
    "add": lambda x: x + 100,
    "neg": lambda x: -x,
    "square": lambda x: x.square(),
    "sum": lambda x: x.sum(dtype=x.dtype),
    "cumsum": lambda x: x.cumsum(0, dtype=x.dtype),
    "matmul": lambda x: x @ x,
    "scatter_add": lambda x: x.scatter_add(0, al.tensor([0, 0, 0], device=x.device), x),
    "in place": lambda x: x.clone().add_(100),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32"])
@pytest.mark.parametrize("policy", ["raise", "saturate", "report"])
def test_what_the_cpu_says(device, name, dtype, policy):
    kind = al.dtype(dtype)
    most = al.finfo(dtype).max if kind.is_floating_point else al.iinfo(dtype).max

    def answer(where):
        x = al.tensor([1, most, most], dtype=dtype).to(where)
        try:
            with al.overflow(policy), al.fallback("silent"):
                return CALLS[name](x).tolist()
        except OverflowError as error:
            # A device that stores float64 narrower tells other values, and where sums pass that.
            return str(error).split(": ")[0]

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", al.OverflowWarning)
        assert str(answer(device)) == str(answer("cpu"))


def test_floats_in_range_stay_on_the_device(device):
    x = al.tensor([1.0, 2.0]).to(device)
    with al.overflow("raise"), al.fallback("error"):
        assert (x * x + 1).tolist() == [2.0, 5.0]
        assert (x / math.inf).tolist() == [0.0, 0.0]


def test_integers_are_looked_at_by_the_cpu(device):
    x = al.tensor([1, 2], dtype="int8").to(device)
    with al.overflow("raise"), al.fallback("error"), pytest.raises(RuntimeError, match="add: no kernel"):
        x + 1
