"""Members of modules, walks over them, copies, text and the notes of errors."""

import copy
import gc
import pickle
import sys
import weakref

import pytest

import allotrope as al
from allotrope import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(2)])
        self.scale = nn.Parameter(al.ones(3))
        self.register_buffer("steps", al.zeros(1))
        self.register_buffer("cache", al.zeros(2), persistent=False)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x * self.scale


def test_members_are_found_by_what_they_are():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "blocks.0.0.weight",
        "blocks.0.0.bias",
        "blocks.1.0.weight",
        "blocks.1.0.bias",
    ]
    assert [name for name, _ in net.named_buffers()] == ["steps", "cache"]
    assert [name for name, _ in net.named_children()] == ["first", "blocks"]
    assert [name for name, _ in net.named_modules()][:4] == ["", "first", "blocks", "blocks.0"]
    assert "steps" in net.state_dict() and "cache" not in net.state_dict()
    assert net.get_parameter("blocks.1.0.bias") is net.blocks[1][0].bias
    assert net.get_buffer("steps") is net.steps
    assert net.get_submodule("") is net and net.get_submodule("blocks.0.1") is net.blocks[0][1]
    for wrong, ask in [
        ("blocks.7", net.get_submodule),
        ("first.nothing", net.get_parameter),
        ("steps", net.get_parameter),
        ("scale", net.get_buffer),
    ]:
        with pytest.raises(AttributeError, match=ask.__name__):
            ask(wrong)


def test_a_member_is_one_object_in_both_places():
    """Attributes of the object and the dicts of members never differ."""
    net = Net()
    layer = net.first
    layer.weight = nn.Parameter(al.zeros(3, 2))
    assert layer._parameters["weight"] is layer.weight is vars(layer)["weight"]
    layer._parameters["weight"] = other = nn.Parameter(al.ones(3, 2))
    assert layer.weight is other
    del layer._parameters["weight"]
    assert not hasattr(layer, "weight")
    layer._parameters.update(weight=other)
    assert layer.weight is other
    assert layer._parameters.pop("weight") is other and "weight" not in vars(layer)
    layer._parameters.setdefault("weight", other)
    layer._parameters |= {"more": None}
    assert layer.more is None and layer._parameters.popitem() == ("more", None)
    assert not hasattr(layer, "more")
    net._modules.clear()
    assert not hasattr(net, "first") and not list(net.children())


def test_rules_of_assignment_are_torchs():
    net = Net()
    with pytest.raises(TypeError, match="wrong type for parameter 'scale': Tensor; Parameter or None"):
        net.scale = al.ones(3)
    net.scale = None
    assert "scale" in net._parameters and net.scale is None
    with pytest.raises(TypeError, match="wrong type for module 'first': int"):
        net.first = 3
    net.first = None
    assert net._modules["first"] is None
    with pytest.raises(TypeError, match="wrong type for buffer 'steps': str"):
        net.steps = "nothing"
    net.steps = al.ones(4)
    assert net._buffers["steps"].shape == (4,)
    # A plain attribute becomes a member, one kind of member another.
    net.thing = 5
    net.thing = nn.Parameter(al.ones(1))
    assert "thing" in net._parameters
    with pytest.raises(TypeError, match="wrong type for parameter 'thing': ReLU"):
        net.thing = nn.ReLU()
    net.first = nn.Parameter(al.ones(1))
    assert "first" in net._parameters and "first" not in net._modules
    net.cache = nn.Parameter(al.ones(1))
    assert "cache" not in net._buffers and "cache" not in net._non_persistent_buffers_set
    net.mean = nn.Buffer(al.zeros(1), persistent=False)
    assert "mean" in net._buffers and "mean" not in net.state_dict()
    # A tensor is only a buffer where one was registered.
    net.plain = al.ones(2)
    assert "plain" not in net._buffers and net.plain.shape == (2,)
    del net.mean, net.thing, net.plain
    assert not any(hasattr(net, name) for name in ("mean", "thing", "plain"))
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        net.nothing
    with pytest.raises(AttributeError):
        del net.nothing


def test_names_that_no_member_can_have():
    net = Net()
    for register, value in [
        (net.register_parameter, nn.Parameter(al.ones(1))),
        (net.register_buffer, al.ones(1)),
        (net.add_module, nn.ReLU()),
    ]:
        with pytest.raises(KeyError, match="separates"):
            register("a.b", value)
        with pytest.raises(KeyError, match="empty name"):
            register("", value)
        with pytest.raises(KeyError, match="exists already"):
            register("forward", value)
        with pytest.raises(TypeError, match="not a name"):
            register(3, value)
    with pytest.raises(TypeError, match="wrong type"):
        net.register_parameter("x", al.ones(1))
    with pytest.raises(TypeError, match="wrong type"):
        net.register_buffer("x", 3.0)
    with pytest.raises(TypeError, match="wrong type"):
        net.add_module("x", 3)


def test_members_before_init():
    class Early(nn.Module):
        def __init__(self, value):
            self.value = value

    for value in (nn.Parameter(al.ones(1)), nn.ReLU(), nn.Buffer(al.ones(1))):
        with pytest.raises(AttributeError, match="before Module.__init__"):
            Early(value)
    with pytest.raises(TypeError, match="unexpected arguments"):
        nn.Module(3)


def test_getattr_of_wrappers():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    wrapper = Wrapper(nn.Linear(2, 3))
    assert wrapper.in_features == 2 and wrapper.weight is wrapper.inner.weight


def test_dir_lists_members():
    names = dir(Net())
    assert {"first", "scale", "steps", "forward", "training"} <= set(names)
    assert "0" not in dir(nn.Sequential(nn.ReLU()))


def test_shared_members_are_found_once():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    assert len(list(net.parameters())) == 2 and len(list(net.modules())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_train_eval_apply_and_gradients():
    net = Net()
    assert net.eval() is net and not any(module.training for module in net.modules())
    assert net.train() is net and all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="train"):
        net.train("yes")
    seen = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen[-1] == "Net" and len(seen) == len(list(net.modules()))
    net(al.ones(4, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(bool((p.grad == 0).all()) for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(al.ones(4, 2)).requires_grad


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_share_nothing(copied):
    layer = nn.Linear(3, 3)
    net = nn.Sequential(layer, nn.BatchNorm1d(3), layer, nn.Dropout(0.2))
    net[1].weight.requires_grad_(False)
    net[0].weight.tag = "kept"
    net.keep = {"a": [1, 2]}
    other = copied(net)
    assert other[0] is other[2] and other[0] is not layer
    assert isinstance(other[0].weight, nn.Parameter)
    assert other[0].weight.tag == "kept" and other.keep == net.keep
    assert not other[1].weight.requires_grad and other[0].weight.requires_grad
    assert other[0]._parameters["weight"] is other[0].weight
    for (key, ours), (name, theirs) in zip(net.state_dict().items(), other.state_dict().items(), strict=True):
        assert key == name and ours.dtype == theirs.dtype and bool((ours == theirs).all())
    with al.no_grad():
        other[0].weight.fill_(7)
    assert not bool((layer.weight == 7).any())
    other[0].weight = nn.Parameter(al.zeros(3, 3))
    assert other[0]._parameters["weight"] is other[0].weight


def test_deepcopy_copies_gradients_and_keeps_dtypes():
    layer = nn.Linear(2, 2, dtype=al.bfloat16)
    layer(al.ones(1, 2, dtype=al.bfloat16)).sum().backward()
    other = copy.deepcopy(layer)
    assert other.weight.grad.dtype == al.bfloat16
    assert other.weight.grad is not layer.weight.grad
    assert other.weight.grad.tolist() == layer.weight.grad.tolist()


def test_modules_are_freed():
    net = Net()
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_parameters():
    data = al.ones(2)
    parameter = nn.Parameter(data)
    data += 1
    assert parameter.tolist() == [2.0, 2.0], "a parameter shares the memory of its data"
    assert parameter.requires_grad and parameter.is_leaf
    assert isinstance(parameter * 1, al.Tensor) and not isinstance(parameter * 1, nn.Parameter)
    assert not nn.Parameter(al.ones(1, dtype=al.int64), requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="int64"):
        nn.Parameter(al.ones(1, dtype=al.int64))
    computed = parameter * 2
    module = nn.Module()
    module.weight = nn.Parameter(computed)
    assert module.weight.is_leaf
    assert repr(parameter).startswith("Parameter containing:\ntensor([2., 2.]")


def test_text():
    net = Net()
    text = repr(net)
    assert text.splitlines()[0] == "Net("
    assert "(first): Linear(in_features=2, out_features=3, bias=True)" in text
    assert "(scale): Parameter([3], dtype=float32)" in text
    assert "(0-1): 2 x Sequential(" in text
    assert repr(nn.Linear(2, 3, dtype="bfloat16")) == (
        "Linear(in_features=2, out_features=3, bias=True, dtype=bfloat16)"
    )
    assert repr(nn.Conv2d(3, 8, 3, padding=1)) == (
        "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"
    )
    assert repr(nn.Sequential()) == "Sequential()" and repr(nn.ReLU(inplace=True)) == "ReLU(inplace=True)"
    with al.set_default_dtype(al.float64):
        assert "dtype=float32" in repr(Net().to(al.float32).first)


def notes_of(error):
    if sys.version_info >= (3, 11):
        return error.__notes__
    return str(error).splitlines()[1:]


def test_errors_name_the_module():
    net = Net()
    net.blocks[1][0] = nn.Linear(4, 3)
    with pytest.raises(ValueError, match="inner dimensions differ") as caught:
        net(al.ones(1, 2))
    assert notes_of(caught.value) == ["in module blocks.1.0 (Linear)"]
    with pytest.raises(ValueError) as caught:
        net.first(al.ones(1, 5))
    assert notes_of(caught.value) == ["in module Linear"]
    # An error that is caught and raised again by a model is still of the first module.
    holder = nn.ModuleDict({"net": net})

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.holder = holder

        def forward(self, x):
            return self.holder["net"](x)

    with pytest.raises(ValueError) as caught:
        Outer()(al.ones(1, 2))
    assert notes_of(caught.value) == ["in module holder.net.blocks.1.0 (Linear)"]
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_errors_name_the_module_without_notes():
    """Python 3.10 has no notes: the message says it."""
    class Plain(ValueError):
        add_note = property()

    class Bad(nn.Module):
        def forward(self):
            raise Plain("wrong")

    net = nn.Module()
    net.bad = Bad()
    net.forward = lambda: net.bad()
    with pytest.raises(Plain) as caught:
        net()
    assert str(caught.value) == "wrong\nin module bad (Bad)"


def test_set_submodule():
    net = Net()
    net.set_submodule("blocks.0.1", nn.Tanh())
    assert isinstance(net.blocks[0][1], nn.Tanh)
    with pytest.raises(AttributeError):
        net.set_submodule("blocks.9", nn.Tanh(), strict=True)
    with pytest.raises(TypeError):
        net.set_submodule("first", 3)
    with pytest.raises(ValueError):
        net.set_submodule("", nn.Tanh())
