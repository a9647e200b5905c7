"""Free tensors, lists and NumPy arrays follow their partners into every operation: each operand of each
call of the probes is freed in turn, and given as a list and as an array where the CPU takes one."""

import numpy
import pytest
from operands import MATRIX, OPTIONAL, VECTOR, answered, caught, found, paths, replaced
from test_every_operation import NAMES, check, flat

import allotrope as al
from allotrope import _probes

F = al.nn.functional


def result(function, arguments, device):
    al.manual_seed(0)
    try:
        made = flat(function(*arguments[0], **arguments[1]))
        al.synchronize(device)
        return made
    except Exception as error:  # noqa: BLE001
        return error


def follow(name, call, device):
    """Every operand of a call freed in turn, then as what is no tensor."""
    function, *arguments = call
    operands = list(paths(arguments))
    if len(operands) < 2:
        return 0
    want = result(function, arguments, device)
    assert not isinstance(want, Exception), f"{name}: {want!r}"
    here = want and [y.cpu() for y in want]
    on_cpu = arguments
    for path in operands:
        on_cpu = replaced(on_cpu, path, found(on_cpu, path).detach().cpu())
    for path in operands:
        operand = found(arguments, path)
        partners = [found(arguments, other) for other in operands if other != path]
        if all(str(partner.device) == "cpu" for partner in partners):
            continue
        freed = operand.detach().cpu().free()
        check(f"{name}, operand {path} free", here, result(function, replaced(arguments, path, freed), device), device)
        if path == (0, 0):
            continue
        for form in (operand.tolist(), numpy.asarray(operand.detach().cpu())):
            plain = result(function, replaced(on_cpu, path, form), "cpu")
            if isinstance(plain, Exception):
                continue
            there = result(function, replaced(arguments, path, form), device)
            check(f"{name}, operand {path} as {type(form).__name__}", plain, there, device)
    return len(operands)


@pytest.mark.parametrize("name", NAMES)
def test_operands_of_the_probes_follow(name, device, monkeypatch):
    dtype = al.dtype(answered(name))
    call = caught(name, lambda: _probes._calls_on(device)[name](dtype), monkeypatch)
    assert call is not None, "the call of the probe was not found"
    follow(name, call, device)


@pytest.mark.parametrize("name", OPTIONAL)
def test_optional_operands_follow(name, device, monkeypatch):
    matrix, vector = al.tensor(MATRIX, device=device), al.tensor(VECTOR, device=device)
    call = caught(name, lambda: OPTIONAL[name](matrix, vector), monkeypatch)
    assert call is not None and follow(name, call, device) >= 2


@pytest.mark.parametrize("name", ["linear", "matmul", "mse_loss", "cross_entropy", "layer_norm"])
def test_gradients_come_home(name, device):
    weight = al.tensor([[2.0, 4.0], [7.0, 1.0]], requires_grad=True).free()
    x = al.tensor(MATRIX, device=device, requires_grad=True)
    calls = {
        "linear": lambda: F.linear(x, weight),
        "matmul": lambda: weight @ x,
        "mse_loss": lambda: F.mse_loss(x, weight),
        "cross_entropy": lambda: F.cross_entropy(x, weight),
        "layer_norm": lambda: F.layer_norm(x, (2, 2), weight),
    }
    calls[name]().sum().backward()
    assert str(weight.grad.device) == "cpu" and str(x.grad.device) == device
    assert weight.grad.isfinite().all() and weight.grad.any()


def test_two_fixed_tensors_stay_an_error(device):
    x, y = al.tensor(MATRIX, device=device), al.tensor(MATRIX)
    for call in (lambda: x @ y, lambda: F.mse_loss(x, y), lambda: F.linear(x, y), lambda: al.linalg.solve(x, y)):
        with pytest.raises(RuntimeError, match="two devices"):
            call()


def test_recurrent_layers_take_free_inputs(device):
    layer = al.nn.LSTM(2, 3).to(device)
    x = al.tensor(MATRIX, device=device)
    output, _ = layer(x)
    following, _ = layer(x.cpu().free())
    assert str(following.device) == device and al.equal(output, following)
