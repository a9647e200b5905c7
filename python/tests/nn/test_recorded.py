"""Every layer against what torch 2.15's gave in float64 (`data_torch.safetensors`): weights come
from torch's state dict, so that every name and shape is checked as well."""

import copy
import pathlib
import pickle
import warnings

import numpy
import pytest

import allotrope as al

from .cases import CASES, MODES, Inputs, build, cotangent, flat, prepare

ANSWERS = al.load(pathlib.Path(__file__).parent / "data_torch.safetensors")
each_case = pytest.mark.parametrize("name", CASES)
each_mode = pytest.mark.parametrize("mode", MODES)

# torch computes with a constant that it rounded to float32.
ROUNDED = {"CELU": 1e-6, "Hardsigmoid": 1e-6}


def parts(prefix):
    found = {key.removeprefix(prefix): ANSWERS[key] for key in ANSWERS if key.startswith(prefix)}
    # What is the same in evaluation is recorded once.
    if "/eval/" in prefix:
        return {**parts(prefix.replace("/eval/", "/train/")), **found}
    return found


def as_tensor(value, dtype=None):
    if isinstance(value, tuple):
        return tuple(as_tensor(part, dtype) for part in value)
    if not isinstance(value, numpy.ndarray):
        return value
    made = al.tensor(value)
    return made.to(dtype) if dtype is not None and made.is_floating_point() else made


def make(name, dtype=al.float64):
    kind, arguments, options, _ = CASES[name]
    with al.set_default_dtype(dtype):
        return build(al.nn, kind, arguments, options, lambda value: as_tensor(value, dtype))


def inputs_of(name, dtype=al.float64, mode="train"):
    given = [as_tensor(value, dtype) for value in CASES[name][3](Inputs(name))]
    wanted = parts(f"{name}/{mode}/input/")
    for place, value in enumerate(flat(given)):
        if str(place) in wanted:
            value.requires_grad_(True)
    return given


def loss_of(results):
    loss = 0
    for place, result in enumerate(results):
        if result.requires_grad:
            weights = al.tensor(cotangent(place, result.shape)).to(result.dtype)
            loss = loss + (result * weights).sum()
    return loss


def close(found, expected, rtol=1e-9, atol=1e-11):
    assert tuple(found.shape) == tuple(expected.shape)
    found = found.detach().to(al.float64) if found.is_floating_point() else found.detach()
    numpy.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=rtol, atol=atol)


@each_mode
@each_case
def test_outputs_and_gradients_are_torchs(name, mode):
    layer = make(name).train(mode == "train")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = layer.load_state_dict(parts(f"{name}/state/"))
    assert not report.missing_keys and not report.unexpected_keys and not report.renamed
    given = inputs_of(name, mode=mode)
    rtol = ROUNDED.get(CASES[name][0], 1e-9)
    results = flat(layer(*prepare(CASES[name][0], given)))
    expected = parts(f"{name}/{mode}/output/")
    assert len(results) == len(expected)
    for place, result in enumerate(results):
        close(result, expected[str(place)], rtol)
    loss = loss_of(results)
    if isinstance(loss, al.Tensor):
        loss.backward()
    for place, gradient in parts(f"{name}/{mode}/input/").items():
        close(flat(given)[int(place)].grad, gradient, rtol)
    gradients = parts(f"{name}/{mode}/parameter/")
    for key, parameter in layer.named_parameters():
        close(parameter.grad, gradients.pop(key), rtol)
    assert not gradients
    buffers = parts(f"{name}/{mode}/buffer/")
    for key, buffer in layer.named_buffers():
        close(buffer, buffers.pop(key))
    assert not buffers


@each_case
def test_state_dicts_have_torchs_names_order_and_shapes(name):
    expected = parts(f"{name}/state/")
    state = make(name).state_dict()
    assert {key: tuple(value.shape) for key, value in state.items()} == {
        key: tuple(value.shape) for key, value in expected.items()
    }


def test_every_layer_is_recorded():
    """A layer without a line in `cases.py` is one of these."""
    recorded = {kind for kind, *_ in CASES.values()}
    classes = {
        name
        for name in al.nn.__all__
        if isinstance(getattr(al.nn, name), type) and issubclass(getattr(al.nn, name), al.nn.Module)
    }
    assert classes - recorded == {
        name for name in classes if name.startswith("Lazy") or "Dropout" in name
    } | {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase", "RReLU", "Sequential"}


@each_case
def test_copies_do_the_same(name):
    """Copied and pickled layers give the same, and share nothing with the first."""
    layer = make(name).eval()
    given = prepare(CASES[name][0], inputs_of(name, mode="eval"))
    expected = [result.tolist() for result in flat(layer(*given))]
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        assert [result.tolist() for result in flat(other(*given))] == expected
        memory = {tensor.data_ptr() for tensor in layer.state_dict().values() if tensor.numel()}
        assert not memory & {t.data_ptr() for t in other.state_dict().values() if t.numel()}
