"""Dtypes of state, masters, and rounding by chance: what training in narrow dtypes stands or falls by."""

import copy
import math

import numpy
import pytest

import allotrope as al

NARROW = [al.float16, al.bfloat16, al.float8_e4m3fn, al.float8_e5m2]
RULES = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adagrad", "Adadelta",
         "ASGD", "Lion", "Adafactor"]  # fmt: skip
MOMENTUM = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.9, "centered": True}}


def make(name, params, **options):
    return getattr(al.optim, name)(params, **{**MOMENTUM.get(name, {}), **options})


def a_parameter(dtype, values=(1.0, -0.5, 2.0, 0.25)):
    param = al.tensor(values, dtype=al.float32).to(dtype).requires_grad_()
    param.grad = al.tensor([0.5, -1.0, 0.25, 1.0][: len(values)], dtype=al.float32).to(dtype)
    return param


def tensors(optimizer, param):
    return {key: value for key, value in optimizer.state[param].items() if isinstance(value, al.Tensor)}


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", RULES)
def test_state_is_never_silently_half(name, dtype):
    param = a_parameter(dtype)
    optimizer = make(name, [param])
    optimizer.step()
    optimizer.step()
    assert param.dtype == dtype
    assert tensors(optimizer, param)
    assert {value.dtype for value in tensors(optimizer, param).values()} == {al.float32}


@pytest.mark.parametrize("name", RULES)
def test_state_dtype_can_be_chosen(name):
    for dtype, state in [(al.float32, al.bfloat16), (al.float32, al.float64), (al.bfloat16, al.bfloat16)]:
        param = a_parameter(dtype)
        optimizer = make(name, [param], state_dtype=state)
        optimizer.step()
        assert {value.dtype for value in tensors(optimizer, param).values()} == {state}
        assert param.dtype == dtype
    with pytest.raises(TypeError, match="wrong dtype: int32"):
        make(name, [a_parameter(al.float32)], state_dtype=al.int32)


def test_hyperparameters_are_float64_in_narrow_dtypes():
    # 0.999 is 1 in bfloat16: then the mean of squares would stay zero.
    param = a_parameter(al.bfloat16)
    optimizer = al.optim.Adam([param], lr=0.1, state_dtype=al.bfloat16)
    optimizer.step()
    square = optimizer.state[param]["exp_avg_sq"].to(al.float64).numpy()
    assert numpy.allclose(square, 0.001 * param.grad.to(al.float64).numpy() ** 2, rtol=0.01)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", RULES)
def test_masters_are_the_float32_run_and_parameters_its_rounding(name, dtype):
    narrow = a_parameter(dtype)
    wide = narrow.detach().to(al.float32).requires_grad_()
    optimizers = make(name, [narrow], lr=0.01, master_weights=True), make(name, [wide], lr=0.01)
    # Where a dtype's spacing stands in the formula, it is the parameter's own.
    if name == "Adafactor":
        optimizers = [make(name, [p], lr=0.01, eps=(1e-6, 1e-3), **more) for p, more in
                      ((narrow, {"master_weights": True}), (wide, {}))]  # fmt: skip
    generator = al.Generator().manual_seed(1)
    for _ in range(10):
        gradient = al.randn(4, generator=generator).to(dtype)
        narrow.grad, wide.grad = gradient, gradient.to(al.float32)
        for optimizer in optimizers:
            optimizer.step()
    master = optimizers[0].state[narrow]["master_weight"]
    assert master.dtype == al.float32
    assert master.tolist() == wide.tolist()
    assert narrow.tolist() == wide.detach().to(dtype).tolist()


def test_a_parameter_that_is_given_another_value_takes_its_master_along():
    param = a_parameter(al.bfloat16)
    optimizer = al.optim.SGD([param], lr=1e-4, master_weights=True)
    optimizer.step()
    with al.no_grad():
        param.copy_(al.full((4,), 8.0))
    optimizer.step()
    expected = 8.0 - 1e-4 * numpy.array(param.grad.to(al.float64).tolist())
    assert numpy.allclose(optimizer.state[param]["master_weight"].numpy(), expected, rtol=1e-6)


def test_float8_weights_train_with_masters():
    al.manual_seed(0)
    target = al.randn(16)
    param = al.zeros(16, dtype=al.float8_e4m3fn, requires_grad=True)
    optimizer = al.optim.AdamW([param], lr=0.01, weight_decay=0, master_weights=True)
    for _ in range(600):
        optimizer.zero_grad()
        ((param.to(al.float32) - target) ** 2).sum().backward()
        optimizer.step()
    assert (param.detach().to(al.float32) - target).abs().max().item() < 0.15


def run(stochastic, steps=300, lr=1e-4, seed=3):
    al.manual_seed(seed)
    param = al.ones(256, dtype=al.bfloat16, requires_grad=True)
    optimizer = al.optim.AdamW([param], lr=lr, weight_decay=0, stochastic_rounding=stochastic)
    for _ in range(steps):
        param.grad = al.ones(256, dtype=al.bfloat16)
        optimizer.step()
    return param.detach().to(al.float64).mean().item()


def test_small_steps_stall_without_rounding_by_chance_and_move_with_it():
    assert run(False) == 1.0
    # 300 steps of 1e-4, each lost or rounded up to the spacing of bfloat16.
    assert abs(run(True) - 0.97) < 0.004


def test_rounding_by_chance_is_unbiased():
    al.manual_seed(5)
    count = 200_000
    param = al.ones(count, dtype=al.bfloat16, requires_grad=True)
    param.grad = al.ones(count, dtype=al.bfloat16)
    al.optim.SGD([param], lr=0.001, stochastic_rounding=True).step()
    values = param.detach().to(al.float64).numpy()
    assert set(values) == {1.0, 1.0 - 2**-8}
    share = 0.001 / 2**-8
    error = math.sqrt(share * (1 - share) / count)
    assert abs((values < 1).mean() - share) < 5 * error


def test_rounding_by_chance_is_reproducible():
    assert run(True, steps=20) == run(True, steps=20) != run(True, steps=20, seed=4)


@pytest.mark.parametrize("options", [{}, {"master_weights": True}], ids=["plain", "masters"])
@pytest.mark.parametrize("name", RULES)
def test_training_goes_on_exactly_from_a_state_dict(name, options):
    def begin():
        params = [a_parameter(al.bfloat16), a_parameter(al.bfloat16, (3.0,))]
        return params, make(name, params, lr=0.01, stochastic_rounding=True, **options)

    def train(params, optimizer, steps):
        for step in steps:
            for number, param in enumerate(params):
                values = [math.sin(step * 7 + i + number) for i in range(param.numel())]
                param.grad = al.tensor(values).to(al.bfloat16)
            optimizer.step()

    params, optimizer = begin()
    train(params, optimizer, range(5))
    values = [param.detach().clone() for param in params]
    saved = copy.deepcopy(optimizer.state_dict())
    train(params, optimizer, range(5, 12))
    others, other = begin()
    with al.no_grad():
        for param, value in zip(others, values):
            param.copy_(value)
    other.load_state_dict(saved)
    train(others, other, range(5, 12))
    assert [p.tolist() for p in params] == [p.tolist() for p in others]
    for mine, theirs in zip(params, others):
        own, loaded = tensors(optimizer, mine), tensors(other, theirs)
        assert {k: v.tolist() for k, v in own.items()} == {k: v.tolist() for k, v in loaded.items()}


def test_state_follows_a_parameter_that_gets_another_dtype():
    param = a_parameter(al.float32)
    optimizer = al.optim.Adam([param])
    optimizer.step()
    moment = optimizer.state[param]["exp_avg"]
    # Narrower: the state stays float32.
    param.data = param.detach().to(al.bfloat16)
    param.grad = al.ones(4, dtype=al.bfloat16)
    optimizer.step()
    assert param.dtype == al.bfloat16
    assert optimizer.state[param]["exp_avg"] is moment and moment.dtype == al.float32
    # Wider: it is widened, which loses nothing.
    before = moment.tolist()
    param.data = param.detach().to(al.float64)
    param.grad = al.zeros(4, dtype=al.float64)
    optimizer.step()
    assert optimizer.state[param]["exp_avg"].dtype == al.float64
    assert numpy.allclose(optimizer.state[param]["exp_avg"].numpy(), 0.9 * numpy.array(before), rtol=1e-15)
    assert optimizer.state[param]["step"] == 3


def test_loading_restores_exact_dtypes():
    param = a_parameter(al.bfloat16)
    optimizer = al.optim.Adam([param], master_weights=True)
    optimizer.step()
    other = al.optim.Adam([a_parameter(al.bfloat16)], master_weights=True)
    other.load_state_dict(optimizer.state_dict())
    (entry,) = other.state.values()
    assert [entry[key].dtype for key in ("exp_avg", "exp_avg_sq", "master_weight")] == [al.float32] * 3
    wide = al.optim.Adam([param], state_dtype=al.float64)
    wide.step()
    other.load_state_dict(wide.state_dict())
    (entry,) = other.state.values()
    assert entry["exp_avg"].dtype == al.float64


def test_half_state_of_others_is_widened_when_loaded():
    param = a_parameter(al.bfloat16)
    optimizer = al.optim.Adam([param])
    half = al.tensor([0.5, 0.25, 0.125, 1.0], dtype=al.bfloat16)
    saved = optimizer.state_dict()
    saved["state"] = {0: {"step": al.tensor(3.0), "exp_avg": half, "exp_avg_sq": half}}
    optimizer.load_state_dict(saved)
    assert optimizer.state[param]["exp_avg"].dtype == al.float32
    assert optimizer.state[param]["exp_avg"].tolist() == half.tolist()


def test_what_autograd_saved_keeps_its_value():
    param = al.tensor([2.0, 3.0], requires_grad=True)
    y = (param * param).sum()
    kept = param.detach().numpy().copy()
    param.grad = al.ones(2)
    al.optim.SGD([param], lr=1.0).step()
    assert param.tolist() == [1.0, 2.0]
    y.backward()
    # One from before, and twice the value that the product was made of.
    assert param.grad.tolist() == (1 + 2 * kept).tolist()


def test_mixed_dtypes_in_one_optimizer():
    params = [a_parameter(dtype) for dtype in (al.float32, al.bfloat16, al.float64, al.float16)]
    optimizer = al.optim.AdamW(params, lr=0.01)
    for _ in range(3):
        optimizer.step()
    assert [p.dtype for p in params] == [al.float32, al.bfloat16, al.float64, al.float16]
    dtypes = [optimizer.state[p]["exp_avg"].dtype for p in params]
    assert dtypes == [al.float32, al.float32, al.float64, al.float32]
    for param in params[1:]:
        assert numpy.allclose(param.detach().to(al.float64).numpy(), params[0].tolist(), rtol=0.02)
