"""Every optimizer and scheduler takes torch's steps: the recorded traces, to float32 rounding."""

import json
import math
from pathlib import Path

import numpy
import pytest

import allotrope as al

import traces

ANSWERS = json.loads(Path(__file__).with_name("torch.json").read_text())
# Roundings of 20 steps; float64 shows that the formulas are the same ones. Muon computes in bfloat16.
BOUNDS = {"float32": 3e-6, "complex64": 3e-6, "float64": 1e-13, "bfloat16": 1e-9}


def value_of(values, shape, dtype):
    if dtype.is_complex:
        values = [complex(x, -x * 0.5 + 0.1) for x in values]
        return al.tensor(values, dtype=dtype).reshape(shape)
    return al.tensor(values, dtype=al.float64).to(dtype).reshape(shape)


def flat(tensor):
    if not isinstance(tensor, al.Tensor):
        return numpy.array([float(tensor)])
    tensor = tensor.detach()
    if tensor.dtype.is_complex:
        tensor = al.view_as_real(tensor)
    return tensor.to(al.float64).numpy().reshape(-1)


def train(name, options, dtype, **beyond):
    dtype = al.dtype(dtype)
    shapes = traces.shapes_of(name)
    firsts = zip(traces.parameters(name), shapes)
    params = [value_of(values, shape, dtype).requires_grad_() for values, shape in firsts]
    optimizer = getattr(al.optim, name)(params, **options, **beyond)
    for step in range(traces.STEPS):
        for param, values, shape in zip(params, traces.gradients(name, step), shapes):
            param.grad = None if values is None else value_of(values, shape, dtype)
        optimizer.step()
    return params, optimizer


@pytest.mark.parametrize(
    "name, case, dtype, answer",
    ANSWERS["optimizers"],
    ids=[f"{name}-{case}-{dtype}" for name, case, dtype, _ in ANSWERS["optimizers"]],
)
def test_optimizer(name, case, dtype, answer):
    params, optimizer = train(name, traces.OPTIMIZERS[name][case], dtype)
    bound = 2e-2 if name == "Muon" else BOUNDS[dtype]
    for param, expected in zip(params, answer["params"]):
        numpy.testing.assert_allclose(flat(param), expected, rtol=bound, atol=bound)
    saved = optimizer.state_dict()["state"]
    assert {str(number) for number in saved} == set(answer["state"])
    for number, entry in answer["state"].items():
        own = saved[int(number)]
        assert set(own) == set(entry)
        for key, expected in entry.items():
            atol = bound * max(1.0, max(map(abs, expected)))
            numpy.testing.assert_allclose(flat(own[key]), expected, rtol=bound, atol=atol, err_msg=key)


@pytest.mark.parametrize(
    "name, case, answer",
    ANSWERS["resumed"],
    ids=[f"{name}-{case}" for name, case, _ in ANSWERS["resumed"]],
)
def test_training_goes_on_from_torchs_state_dict(name, case, answer):
    shapes, middle = traces.shapes_of(name), answer["middle"]
    params = [value_of(v, shape, al.float32).requires_grad_() for v, shape in zip(middle["params"], shapes)]
    optimizer = getattr(al.optim, name)(params)
    state = {
        int(number): {
            key: al.tensor(values, dtype=al.float64).to(al.dtype(dtype)).reshape(shape)
            for key, (shape, dtype, values) in entry.items()
        }
        for number, entry in middle["state"].items()
    }
    optimizer.load_state_dict({"state": state, "param_groups": middle["groups"]})
    for step in range(traces.STEPS // 2, traces.STEPS):
        for param, values, shape in zip(params, traces.gradients(name, step), shapes):
            param.grad = None if values is None else value_of(values, shape, al.float32)
        optimizer.step()
    for param, expected in zip(params, answer["params"]):
        numpy.testing.assert_allclose(flat(param), expected, rtol=3e-6, atol=3e-6)
    saved = optimizer.state_dict()
    for number, entry in middle["state"].items():
        own = saved["state"][int(number)]
        # Back again: torch reads the same names, shapes and dtypes.
        form = {key: (list(value.shape), value.dtype.name) for key, value in own.items()}
        assert form == {key: (shape, dtype) for key, (shape, dtype, _) in entry.items()}
    assert set(middle["groups"][0]) <= set(saved["param_groups"][0])


def test_lion_by_hand():
    """torch does not have it: the formulas of the paper."""
    lr, (beta1, beta2), decay = 0.05, (0.9, 0.99), 0.1
    params, _ = train("Lion", {"lr": lr, "weight_decay": decay}, "float64")
    values = [numpy.array(v) for v in traces.parameters("Lion")]
    means = [numpy.zeros_like(v) for v in values]
    for step in range(traces.STEPS):
        for number, gradient in enumerate(traces.gradients("Lion", step)):
            if gradient is None:
                continue
            gradient = numpy.array(gradient)
            sign = numpy.sign(beta1 * means[number] + (1 - beta1) * gradient)
            values[number] = values[number] * (1 - lr * decay) - lr * sign
            means[number] = beta2 * means[number] + (1 - beta2) * gradient
    for param, expected in zip(params, values):
        numpy.testing.assert_allclose(flat(param), expected, rtol=1e-13)


def make_optimizer():
    params = [al.ones(1, requires_grad=True) for _ in traces.LRS]
    groups = [{"params": [param], "lr": lr} for param, lr in zip(params, traces.LRS)]
    return al.optim.SGD(groups, lr=0.5, momentum=0.9)


OWN = traces.trace_schedulers(al.optim.lr_scheduler, al.optim.swa_utils, make_optimizer)


@pytest.mark.parametrize("number", range(len(ANSWERS["schedulers"])), ids=lambda i: OWN[i][0].split()[0])
def test_scheduler(number):
    name, expected = ANSWERS["schedulers"][number]
    own_name, own = OWN[number]
    assert own_name == name
    assert len(own) == len(expected) >= 29
    for step, ((lrs, momenta), (expected_lrs, expected_momenta)) in enumerate(zip(own, expected)):
        assert numpy.allclose(lrs, expected_lrs, rtol=1e-12, atol=1e-17), (name, step)
        if expected_momenta is not None:
            assert numpy.allclose(momenta, expected_momenta, rtol=1e-12), (name, step)


@pytest.mark.parametrize(
    "case, dtype, answer", ANSWERS["lbfgs"], ids=[f"{case}-{dtype}" for case, dtype, _ in ANSWERS["lbfgs"]]
)
def test_lbfgs(case, dtype, answer):
    x = al.tensor(traces.numbers(5, 3), dtype=al.dtype(dtype), requires_grad=True)
    optimizer = al.optim.LBFGS([x], **traces.LBFGS[case])

    def closure():
        optimizer.zero_grad()
        loss = traces.loss_of(al, x)
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(traces.LBFGS_STEPS)]
    # Line searches multiply roundings: of float32 only the first two digits are the same way.
    bound = 1e-7 if dtype == "float64" else 5e-2
    assert math.isfinite(losses[-1])
    numpy.testing.assert_allclose(losses, answer["losses"], rtol=bound, atol=bound)
    if dtype == "float64":
        numpy.testing.assert_allclose(flat(x), answer["x"], rtol=bound, atol=bound)
        state = optimizer.state[x]
        assert (state["func_evals"], state["n_iter"]) == (answer["evals"], answer["iterations"])
