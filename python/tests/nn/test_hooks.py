"""Hooks of modules: what they are given, in which order, and what they may change."""

import copy

import pytest

import allotrope as al
from allotrope import nn


def test_forward_hooks_are_called_in_order():
    layer, seen = nn.ReLU(), []
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre 1"))
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre 2"))
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre 0"), prepend=True)
    layer.register_forward_hook(lambda m, args, out: seen.append("post 1"))
    layer.register_forward_hook(lambda m, args, out: seen.append("post 0"), prepend=True)
    layer(al.ones(1))
    assert seen == ["pre 0", "pre 1", "pre 2", "post 0", "post 1"]


def test_hooks_change_arguments_and_results():
    layer = nn.Identity()
    first = layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    second = layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(al.tensor(1.0)).item() == 20.0
    first.remove()
    assert layer(al.tensor(1.0)).item() == 10.0
    with second:
        pass
    assert layer(al.tensor(1.0)).item() == 1.0
    second.remove()


def test_hooks_with_keywords():
    class Scaled(nn.Module):
        def forward(self, x, factor=1):
            return x * factor

    layer = Scaled()
    layer.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
    )
    seen = []
    layer.register_forward_hook(
        lambda m, args, kwargs, out: seen.append((kwargs, out.item())), with_kwargs=True
    )
    assert layer(al.tensor(2.0), factor=2).item() == 6.0
    assert seen == [({"factor": 3}, 6.0)]
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook: wrong result"):
        layer(al.tensor(2.0), factor=2)


def test_always_called_hooks_see_errors():
    layer, seen = nn.Linear(2, 2), []
    layer.register_forward_hook(lambda m, args, out: seen.append("plain"))
    layer.register_forward_hook(lambda m, args, out: seen.append("always"), always_call=True)
    with pytest.raises(ValueError, match="inner dimensions"):
        layer(al.ones(3))
    assert seen == ["always"]

    def fails(m, args, out):
        raise KeyError("second")

    layer.register_forward_hook(fails, always_call=True)
    with pytest.warns(UserWarning, match="second"), pytest.raises(ValueError):
        layer(al.ones(3))


def test_full_backward_hooks():
    layer, seen = nn.Linear(2, 1, bias=False), []
    with al.no_grad():
        layer.weight.copy_(al.tensor([[2.0, 3.0]]))
    layer.register_full_backward_pre_hook(lambda m, out: seen.append(("pre", out[0].tolist())))
    layer.register_full_backward_hook(
        lambda m, given, out: seen.append(("post", given[0].tolist(), out[0].tolist()))
    )
    x = al.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [("pre", [[1.0]]), ("post", [[2.0, 3.0]], [[1.0]])]
    assert x.grad.tolist() == [[2.0, 3.0]] and layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_backward_hooks_change_gradients():
    layer = nn.Linear(2, 1, bias=False)
    with al.no_grad():
        layer.weight.fill_(1)
    layer.register_full_backward_pre_hook(lambda m, out: (out[0] * 10,))
    layer.register_full_backward_hook(lambda m, given, out: (given[0] + 1,))
    x = al.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert layer.weight.grad.tolist() == [[10.0, 10.0]], "after the change of the output's gradient"
    assert x.grad.tolist() == [[11.0, 11.0]]
    layer.register_full_backward_hook(lambda m, given, out: (None, None, None))
    with pytest.raises(RuntimeError, match="wrong number of gradients"):
        layer(x).sum().backward()


def test_backward_hooks_without_input_gradients():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, given, out: seen.append((given, out[0].tolist())))
    layer(al.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]


def test_backward_hooks_of_several_inputs_and_outputs():
    class Pair(nn.Module):
        def forward(self, a, b, flag):
            return a * 2, b * 3, flag

    layer, seen = Pair(), []
    layer.register_full_backward_hook(
        lambda m, given, out: seen.append(([g is None for g in given], [o is None for o in out]))
    )
    a, b = al.ones(1, requires_grad=True), al.ones(1)
    first, second, flag = layer(a, b, "flag")
    assert flag == "flag"
    (first + second).sum().backward()
    assert seen == [([False, True, True], [False, True, True])]
    assert a.grad.tolist() == [2.0]

    class Listed(nn.Module):
        def forward(self, x):
            return [x * 2]

    layer = Listed()
    layer.register_full_backward_hook(lambda m, given, out: None)
    with pytest.warns(UserWarning, match="backward hooks"):
        layer(al.ones(1, requires_grad=True))


def test_hooks_of_all_modules():
    seen = []
    handles = [
        nn.hooks.register_module_forward_pre_hook(lambda m, args: seen.append(type(m).__name__)),
        nn.hooks.register_module_forward_hook(lambda m, args, out: seen.append("done")),
        nn.hooks.register_module_full_backward_hook(lambda m, given, out: seen.append("back")),
        nn.hooks.register_module_full_backward_pre_hook(lambda m, out: seen.append("before")),
        nn.hooks.register_module_module_registration_hook(lambda m, name, child: seen.append(name)),
    ]
    try:
        layer = nn.Sequential(nn.ReLU())
        layer(al.ones(1, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["0", "Sequential", "ReLU", "done", "done", "before", "before", "back", "back"]
    seen.clear()
    nn.Sequential(nn.ReLU())(al.ones(1))
    assert not seen


def test_hooks_are_copied_and_handles_are_not():
    layer = nn.ReLU()
    handle = layer.register_forward_hook(lambda m, args, out: out + 1)
    other = copy.deepcopy(layer)
    handle.remove()
    assert layer(al.ones(1)).item() == 1.0 and other(al.ones(1)).item() == 2.0
    with pytest.raises(TypeError, match="not callable"):
        layer.register_forward_hook(3)


def test_hooks_of_state_dicts():
    layer = nn.Linear(1, 1)
    seen = []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append("save"))
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(extra=al.ones(1)))
    state = layer.state_dict()
    assert "extra" in state and seen == ["save"]

    def take(m, state_dict, prefix, meta, strict, missing, unexpected, errors):
        state_dict.pop(prefix + "extra", None)

    layer.register_load_state_dict_pre_hook(take)
    layer.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    del state["bias"]
    report = layer.load_state_dict(state)
    assert not report.missing_keys and report.loaded == ["weight"]
    assert "extra" in state, "what is given is not changed"
    layer.register_load_state_dict_pre_hook(lambda m, *args: args[-1].append("no such thing"))
    with pytest.raises(nn.StateDictError, match="no such thing"):
        layer.load_state_dict(state)


def test_a_call_without_hooks_is_the_function_alone():
    layer = nn.ReLU()
    layer(al.ones(1))
    assert layer._is_plain
    handle = layer.register_forward_hook(lambda m, args, out: None)
    assert not layer._is_plain
    handle.remove()
    assert layer(al.ones(1)).item() == 1.0 and layer._is_plain
    handle = nn.hooks.register_module_forward_hook(lambda m, args, out: out + 1)
    assert not layer._is_plain and layer(al.ones(1)).item() == 2.0
    handle.remove()
    assert layer(al.ones(1)).item() == 1.0 and layer._is_plain
