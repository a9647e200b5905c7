"""Groups, state, hooks and saving: torch's contract, and nothing half done when something is refused."""

import copy
import inspect
import pickle

import numpy
import pytest

import allotrope as al
from allotrope import _core

RULES = _core._optim.names()


def leaf(*shape, dtype=al.float32, seed=0):
    generator = al.Generator().manual_seed(seed)
    param = al.randn(*shape, generator=generator).to(dtype).requires_grad_()
    param.grad = al.randn(*shape, generator=generator).to(dtype)
    return param


def snapshot(optimizer):
    """Everything a step may change, as plain numbers."""
    saved = optimizer.state_dict()["state"]
    state = {
        number: {key: value.tolist() for key, value in entry.items() if isinstance(value, al.Tensor)}
        for number, entry in saved.items()
    }
    params = [param.tolist() for group in optimizer.param_groups for param in group["params"]]
    return params, state, [group["lr"] for group in optimizer.param_groups]


@pytest.mark.parametrize("name", RULES)
def test_defaults_are_the_same_in_both_languages(name):
    signature = inspect.signature(getattr(al.optim, name))
    own = {key: p.default for key, p in signature.parameters.items() if p.default is not p.empty}
    rust = _core._optim.defaults(name)
    assert set(rust) <= set(own) | {"decoupled_weight_decay"}
    assert {key: own[key] for key in rust if key in own} == {key: rust[key] for key in rust if key in own}
    torch_only = {"foreach", "fused", "capturable", "differentiable"}
    beyond = {"state_dtype", "master_weights", "stochastic_rounding"}
    assert set(own) - set(rust) <= torch_only | beyond
    assert beyond <= set(own)


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("SGD", {"lr": -1}, "lr out of range: -1"),
        ("SGD", {"lr": float("nan")}, "lr out of range: NaN"),
        ("SGD", {"momentum": -0.1}, "momentum out of range"),
        ("SGD", {"nesterov": True}, "nesterov out of range"),
        ("Adam", {"betas": (1.0, 0.9)}, r"betas\[0\] out of range: 1"),
        ("Adam", {"betas": (0.9, -0.1)}, r"betas\[1\] out of range"),
        ("Adam", {"betas": 0.9}, "betas out of range"),
        ("AdamW", {"eps": -1e-8}, "eps out of range"),
        ("AdamW", {"weight_decay": -1}, "weight_decay out of range"),
        ("Rprop", {"etas": (1.5, 2.0)}, "etas out of range"),
        ("Adadelta", {"rho": 1.5}, "rho out of range"),
        ("Adafactor", {"d": 0.5}, "d out of range"),
        ("Adafactor", {"beta2_decay": 0.5}, "beta2_decay out of range"),
        ("Muon", {"ns_steps": 100}, "ns_steps out of range"),
        ("Muon", {"adjust_lr_fn": "wrong"}, "adjust_lr_fn out of range"),
        ("LBFGS", {"line_search_fn": "armijo"}, "line_search_fn out of range"),
        ("SGD", {"differentiable": True}, "differentiable"),
        ("Adam", {"fused": True, "foreach": True}, "fused and foreach"),
    ],
)
def test_refused_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(al.optim, name)([leaf(2, 2)], **options)


def test_refused_parameters():
    x = leaf(2)
    for params, error in [
        (x, TypeError),
        ([], ValueError),
        ({x}, TypeError),
        ([1.0], TypeError),
        ([x * 2], ValueError),
        ([{"params": [x]}, {"params": [x]}], ValueError),
        ([("a", x), leaf(2)], ValueError),
    ]:
        with pytest.raises(error):
            al.optim.SGD(params)
    with pytest.warns(UserWarning, match="twice"):
        al.optim.SGD([x, x])
    with pytest.raises(ValueError, match="Muon: wrong shape"):
        al.optim.Muon([leaf(3)])
    with pytest.raises(ValueError, match="more than one group"):
        al.optim.LBFGS([{"params": [x]}, {"params": [leaf(2)]}])


def test_groups_names_and_writable_options():
    x, y = leaf(2), leaf(2, seed=1)
    optimizer = al.optim.SGD([{"params": [("w", x)], "lr": 1.0}, {"params": [("b", y)]}], lr=0.5)
    assert [group["param_names"] for group in optimizer.param_groups] == [["w"], ["b"]]
    assert [group["lr"] for group in optimizer.param_groups] == [1.0, 0.5]
    before = x.tolist(), y.tolist()
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.param_groups[1]["lr"] = al.tensor(0.25)
    optimizer.step()
    assert x.tolist() == before[0]
    assert numpy.allclose(y.tolist(), before[1] - 0.25 * y.grad.numpy())
    assert "lr: 0.0" in repr(optimizer) and repr(optimizer).startswith("SGD (\nParameter Group 0\n")


@pytest.mark.parametrize("name", RULES)
def test_parameters_without_gradient_are_skipped(name):
    x, y = leaf(2, 2), leaf(2, 2)
    y.grad = None
    before = y.tolist()
    optimizer = getattr(al.optim, name)([x, y])
    optimizer.step()
    assert y.tolist() == before
    assert name == "Adagrad" or y not in optimizer.state


@pytest.mark.parametrize("name", RULES)
def test_odd_layouts_take_the_same_steps(name):
    def pair(make):
        param = make(leaf(4, 6).detach())
        optimizer = getattr(al.optim, name)([param.requires_grad_()], lr=0.1)
        for seed in range(5):
            generator = al.Generator().manual_seed(seed)
            param.grad = al.randn(4, 6, generator=generator)
            optimizer.step()
        return param

    def within(value):
        big = al.zeros(9, 13)
        view = big[1:9:2, 1::2]
        view.copy_(value)
        return view.detach()

    plain = pair(lambda value: value.clone())
    turned = pair(lambda value: value.T.contiguous().T)
    assert not turned.is_contiguous()
    assert turned.tolist() == plain.tolist()
    assert pair(within).tolist() == plain.tolist()


def test_views_of_one_memory_are_two_parameters():
    memory = al.ones(6)
    first, second = memory[:3].detach().requires_grad_(), memory[3:].detach().requires_grad_()
    first.grad, second.grad = al.ones(3), al.full((3,), 2.0)
    al.optim.SGD([first, second], lr=0.25).step()
    assert memory.tolist() == [0.75] * 3 + [0.5] * 3


def test_elements_that_share_memory_are_refused_and_nothing_changes():
    x, wide = leaf(3), al.ones(1).expand(3).detach()
    optimizer = al.optim.SGD([x], lr=1.0, momentum=0.9)
    optimizer.step()
    before = snapshot(optimizer)
    optimizer.state[x]["momentum_buffer"] = wide
    with pytest.raises(ValueError, match="elements share memory"):
        optimizer.step()
    assert x.tolist() == before[0][0]


@pytest.mark.parametrize("master", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam", "Adafactor"])
def test_a_later_parameter_that_cannot_be_rounded_leaves_the_earlier_ones(name, master):
    x = al.ones(3, 2, dtype="bfloat16").requires_grad_()
    wide = al.ones(1, 2, dtype="bfloat16").expand(3, 2).detach().requires_grad_()
    options = {"master_weights": master, "stochastic_rounding": True}
    optimizer = getattr(al.optim, name)([x], **options)
    for p in (x, wide):
        p.grad = al.ones(3, 2, dtype="bfloat16")
    optimizer.step()
    optimizer.param_groups[0]["params"].append(wide)
    before, offset = snapshot(optimizer), optimizer.generator.get_offset()
    with pytest.raises(ValueError, match="elements share memory"):
        optimizer.step()
    assert snapshot(optimizer) == before and optimizer.generator.get_offset() == offset


def test_lbfgs_goes_back_where_its_closure_fails():
    x = al.tensor([3.0, -2.0], requires_grad=True)
    for search in (None, "strong_wolfe"):
        optimizer, calls = al.optim.LBFGS([x], line_search_fn=search), []

        def closure(most=4):
            calls.append(x.tolist())
            if len(calls) > most:
                raise ArithmeticError("enough")
            optimizer.zero_grad()
            loss = ((x - 1) ** 4).sum()
            loss.backward()
            return loss

        with pytest.raises(ArithmeticError):
            optimizer.step(closure)
        assert calls[-1] != calls[0] and x.tolist() == calls[0] == [3.0, -2.0]
        assert not any(optimizer.state[x].values())


@pytest.mark.parametrize("change", ["shorter", "longer", "another size"])
def test_a_history_of_lbfgs_that_does_not_fit(change):
    """It is what the user says it is: between two steps the state can be written to."""
    x = al.tensor([3.0, -2.0], requires_grad=True)
    optimizer = al.optim.LBFGS([x], history_size=2)

    def closure():
        optimizer.zero_grad()
        loss = ((x - 1) ** 4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state[x]
    if change == "another size":
        state["d"] = al.zeros(5)
    else:
        state["ro"] = state["ro"][1:] if change == "shorter" else [*state["ro"], 1.0]
    before = x.tolist()
    with pytest.raises(ValueError, match="LBFGS"):
        optimizer.step(closure)
    assert x.tolist() == before


def test_nothing_is_half_updated():
    x, y = leaf(3), leaf(3, seed=1)
    optimizer = al.optim.Adam([x, y])
    optimizer.step()
    before = snapshot(optimizer)
    kept = optimizer.state[y]["exp_avg"]
    for wrong in (al.zeros(4), al.zeros(3, dtype=al.int32), "text"):
        optimizer.state[y]["exp_avg"] = wrong
        with pytest.raises((ValueError, TypeError)):
            optimizer.step()
        optimizer.state[y]["exp_avg"] = kept
        assert snapshot(optimizer) == before
    optimizer.param_groups[0]["betas"] = (0.9, 2.0)
    with pytest.raises(ValueError, match="betas"):
        optimizer.step()
    optimizer.param_groups[0]["betas"] = (0.9, 0.999)
    assert snapshot(optimizer) == before


def test_mismatched_state_dicts_are_refused_whole():
    optimizer = al.optim.Adam([{"params": [leaf(3)]}, {"params": [leaf(2)], "lr": 0.5}])
    optimizer.step()
    before = snapshot(optimizer)

    def broken(change):
        saved = copy.deepcopy(optimizer.state_dict())
        change(saved)
        return saved

    changes = [
        lambda saved: saved["param_groups"].pop(),
        lambda saved: saved["param_groups"][0]["params"].append(9),
        lambda saved: saved["state"][1].update(exp_avg=al.zeros(5)),
        lambda saved: saved["state"][1].update(exp_avg=al.zeros(2, dtype=al.int64)),
        lambda saved: saved["param_groups"][1].update(lr=-1.0),
        lambda saved: saved["param_groups"][1].update(betas=(3.0, 0.1)),
    ]
    for change in changes:
        with pytest.raises((ValueError, TypeError)):
            optimizer.load_state_dict(broken(change))
        assert snapshot(optimizer) == before


@pytest.mark.parametrize("name", RULES)
def test_state_dicts_pickles_and_deep_copies_go_on_alike(name):
    params = [leaf(3, 2), leaf(2, 4, seed=1)]
    optimizer = getattr(al.optim, name)(params, lr=0.05)
    for _ in range(3):
        optimizer.step()
    gradients = [param.grad for param in params]
    others = [param.detach().clone().requires_grad_() for param in params]
    loaded = getattr(al.optim, name)(others)
    loaded.load_state_dict(optimizer.state_dict())
    copied, pickled = copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))
    results = []
    for one in (loaded, copied, pickled, optimizer):
        own = one.param_groups[0]["params"]
        for param, gradient in zip(own, gradients):
            param.grad = gradient
        one.step()
        results.append(snapshot(one))
    assert results[0] == results[1] == results[2] == results[3]


def test_state_dict_has_torchs_form():
    x = leaf(2)
    optimizer = al.optim.AdamW([x], state_dtype=al.float64)
    optimizer.step()
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert list(saved["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    step = saved["state"][0]["step"]
    assert (step.dtype, step.shape, step.item()) == (al.float32, (), 1.0)
    assert optimizer.state[x]["step"] == 1
    (group,) = saved["param_groups"]
    assert group["params"] == [0] and group["state_dtype"] == "float64"
    # What torch saves has no words for what is beyond it.
    for key in ("state_dtype", "master_weights", "stochastic_rounding"):
        del group[key]
    group["lr"] = 0.5
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.param_groups[0]["state_dtype"] == al.float64


def test_loaded_state_is_a_copy():
    x = leaf(2)
    optimizer = al.optim.SGD([x], momentum=0.9)
    optimizer.step()
    saved = optimizer.state_dict()
    other = al.optim.SGD([leaf(2)], momentum=0.9)
    other.load_state_dict(saved)
    before = saved["state"][0]["momentum_buffer"].tolist()
    other.step()
    assert saved["state"][0]["momentum_buffer"].tolist() == before


def test_zero_grad():
    x = leaf(2)
    optimizer = al.optim.SGD([x])
    gradient = x.grad
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is gradient and gradient.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert x.grad is None


def test_closures_and_hooks():
    x = al.tensor([1.0], requires_grad=True)
    optimizer = al.optim.SGD([x], lr=0.5)
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    with al.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert x.tolist() == [0.0] and seen == ["before", "after"]
    handle.remove()
    optimizer.step()
    assert seen == ["before", "after", "before"]
    optimizer.register_state_dict_post_hook(lambda o, saved: {**saved, "more": 1})
    assert optimizer.state_dict()["more"] == 1
    loaded = []
    optimizer.register_load_state_dict_pre_hook(lambda o, saved: loaded.append("more" in saved))
    optimizer.register_load_state_dict_post_hook(lambda o: loaded.append("done"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert loaded == [True, "done"]


def test_a_failing_closure_changes_nothing():
    x = leaf(2)
    optimizer = al.optim.LBFGS([x], line_search_fn="strong_wolfe")
    before = x.tolist()
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    assert x.tolist() == before


def test_scaler_skips_steps_and_names_the_parameter():
    x, y = leaf(2), leaf(3, seed=1)
    optimizer = al.optim.AdamW([("x", x), ("y", y)], lr=0.1)
    scaler = al.amp.GradScaler(init_scale=4.0)
    optimizer.zero_grad()
    scaler.scale((x * x).sum() + (y * y).sum()).backward()
    expected = (2 * x.detach()).tolist()
    scaler.unscale_(optimizer)
    assert x.grad.tolist() == expected
    scaler.step(optimizer)
    scaler.update()
    assert optimizer.state[x]["step"] == 1
    before = snapshot(optimizer)
    optimizer.zero_grad()
    scaler.scale(x.sum() + y.sum() * al.tensor(float("nan"))).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert snapshot(optimizer) == before
    overflowed = scaler.report()["overflowed"]
    assert (overflowed["group"], overflowed["index"], overflowed["name"]) == (0, 1, "y")
    assert scaler.get_scale() == 2.0


def test_the_package_loads_optimizers_only_when_they_are_used():
    import subprocess
    import sys

    code = "import sys, allotrope; print('allotrope.optim' in sys.modules, allotrope.optim.SGD.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "SGD"]


def test_many_threads_step_their_own_optimizers():
    import threading

    shared = [leaf(50, seed=i) for i in range(20)]
    optimizers = [al.optim.SGD(order, lr=1e-3) for order in (shared, shared[::-1])]
    threads = [threading.Thread(target=lambda o=o: [o.step() for _ in range(50)]) for o in optimizers]
    before = [p.detach().numpy().copy() for p in shared]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    for param, first in zip(shared, before):
        expected = first - 100 * 1e-3 * param.grad.numpy()
        assert numpy.allclose(param.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
