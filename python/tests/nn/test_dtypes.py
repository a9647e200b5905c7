"""Every layer in every float dtype, contiguous or not, against itself in float64 on the same rounded
numbers: no parameter is without a gradient, and each gradient is right to the dtype's rounding."""

import numpy
import pytest

import allotrope as al

from .cases import CASES, flat, prepare
from .test_recorded import inputs_of, loss_of, make, parts

HALVES = [al.float16, al.bfloat16]
FLOATS = [*HALVES, al.float32]
each_case = pytest.mark.parametrize("name", CASES)
each_float = pytest.mark.parametrize("dtype", FLOATS, ids=str)

# How many roundings a result may be off, of its greatest number; deep ones have more.
ROUNDINGS = 16
DEEP = {"lstm": 4, "transformer": 8, "encoder": 8, "decoder": 8, "adaptive": 2, "attention": 4, "rnn": 4}


def rounded(name, dtype):
    """Weights that the dtype has."""
    state = parts(f"{name}/state/")
    return {
        key: value.to(dtype).to(al.float64) if value.is_floating_point() else value
        for key, value in state.items()
    }


def run(name, dtype, turn=lambda x: x, source=None):
    source = dtype if source is None else source
    layer = make(name, dtype)
    layer.load_state_dict(rounded(name, source))
    given = inputs_of(name, dtype)
    leaves = flat(given)
    for leaf in leaves:
        if isinstance(leaf, al.Tensor) and leaf.is_floating_point():
            leaf.data = turn(leaf.detach().to(source).to(dtype))
    results = flat(layer(*prepare(CASES[name][0], given)))
    loss = loss_of(results)
    if isinstance(loss, al.Tensor):
        loss.backward()
    return layer, leaves, results


def turned(x):
    """The same numbers in memory that is not contiguous."""
    if x.ndim == 0:
        return x
    wide = al.stack([x, x], -1)
    other = wide.permute(*reversed(range(wide.ndim))).contiguous()
    return other.permute(*reversed(range(wide.ndim)))[..., 0]


def compare(found, expected, dtype, factor, what, least=1e-3):
    assert found.dtype == dtype or not found.is_floating_point(), what
    found = found.detach().to(al.float64).numpy()
    expected = expected.detach().to(al.float64).numpy()
    scale = max(float(numpy.abs(expected[numpy.isfinite(expected)]).max(initial=0.0)), least)
    bound = factor * float(dtype.finfo.eps) * scale
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=bound, err_msg=what)


@each_float
@each_case
def test_gradients_are_those_of_float64(name, dtype):
    layer, leaves, results = run(name, dtype)
    wide, wide_leaves, wide_results = run(name, al.float64, source=dtype)
    factor = ROUNDINGS * DEEP.get(name.partition("_")[0], 1)
    for place, (found, expected) in enumerate(zip(results, wide_results, strict=True)):
        if found.is_floating_point():
            compare(found, expected, dtype, factor, f"output {place}")
        else:
            assert found.tolist() == expected.tolist()
    for place, (leaf, other) in enumerate(zip(leaves, wide_leaves, strict=True)):
        if isinstance(leaf, al.Tensor) and other.grad is not None:
            compare(leaf.grad, other.grad, dtype, factor, f"input {place}")
    expected = dict(wide.named_parameters())
    for key, parameter in layer.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.dtype == parameter.dtype == dtype, key
        # Sums of numbers up to 1 that cancel: their rounding is that of the numbers.
        compare(parameter.grad, expected[key].grad, dtype, factor, key, least=0.5)


@pytest.mark.parametrize("dtype", [*FLOATS, al.float64], ids=str)
@each_case
def test_no_parameter_is_silently_without_a_gradient(name, dtype):
    layer, _, _ = run(name, dtype)
    for key, parameter in layer.named_parameters():
        assert parameter.grad is not None, key
        assert bool((parameter.grad != 0).any()), key


@pytest.mark.parametrize("dtype", [al.bfloat16, al.float64], ids=str)
@each_case
def test_memory_that_is_not_contiguous_changes_nothing(name, dtype):
    layer, leaves, results = run(name, dtype)
    other, other_leaves, other_results = run(name, dtype, turned)
    factor = 4 * DEEP.get(name.partition("_")[0], 1)
    for place, (found, expected) in enumerate(zip(other_results, results, strict=True)):
        if found.is_floating_point():
            compare(found, expected, dtype, factor, f"output {place}")
    for place, (leaf, expected) in enumerate(zip(other_leaves, leaves, strict=True)):
        if isinstance(expected, al.Tensor) and expected.grad is not None:
            compare(leaf.grad, expected.grad, dtype, factor, f"input {place}")
    gradients = dict(layer.named_parameters())
    for key, parameter in other.named_parameters():
        compare(parameter.grad, gradients[key].grad, dtype, factor, key, least=0.5)


@pytest.mark.parametrize("dtype", [d for d in al.dtypes() if d.bits == 8 and d.is_floating_point], ids=str)
def test_eight_bits_as_storage(dtype):
    """Weights of 8 bits with wider inputs: the result is the input's, the gradient the weight's."""
    for layer, x in [
        (al.nn.Linear(4, 3, dtype=dtype), al.ones(2, 4, dtype="bfloat16")),
        (al.nn.Conv1d(2, 3, 2, dtype=dtype), al.ones(1, 2, 5)),
    ]:
        assert all(p.dtype == dtype for p in layer.parameters())
        y = layer(x)
        assert y.dtype == x.dtype
        expected = type(layer).forward(layer.to(x.dtype), x)
        numpy.testing.assert_array_equal(
            y.detach().to(al.float64).numpy(), expected.detach().to(al.float64).numpy()
        )
    layer = al.nn.Linear(4, 3, dtype=dtype)
    layer(al.ones(2, 4)).sum().backward()
    assert layer.weight.grad.dtype == dtype
    assert layer.weight.grad.to(al.float32).tolist() == [[2.0] * 4] * 3
    table = al.nn.Embedding(5, 2, dtype=dtype)
    assert table(al.tensor([1, 4])).dtype == dtype


def test_families_and_names_of_dtypes():
    assert al.nn.Linear(2, 2, dtype=al.Float).weight.dtype == al.float32
    with al.set_default_dtype(al.float64):
        assert al.nn.Linear(2, 2, dtype=al.Float).weight.dtype == al.float64
        assert al.nn.Linear(2, 2).weight.dtype == al.float64
    assert al.nn.Conv2d(1, 1, 1, dtype="half").weight.dtype == al.float16
    assert al.nn.Linear(2, 2, dtype=numpy.float64).weight.dtype == al.float64
    assert al.nn.Linear(2, 2, dtype=al.Complex).weight.dtype == al.complex64
    with pytest.raises((TypeError, RuntimeError), match="int32"):
        al.nn.Linear(2, 2, dtype=al.int32)
    with pytest.raises(TypeError, match="nothing"):
        al.nn.Linear(2, 2, dtype="nothing")


def test_complex_layers():
    layer = al.nn.Linear(3, 2, dtype=al.complex64)
    y = layer(al.ones(4, 3, dtype=al.complex64))
    assert y.dtype == al.complex64
    y.abs().sum().backward()
    assert layer.weight.grad.dtype == al.complex64 and bool((layer.weight.grad != 0).all())
