"""State dicts: exact dtypes, reports, errors that leave everything as it was, names of others."""

import copy
import json
import pickle
import warnings

import numpy
import pytest

import allotrope as al
from allotrope import nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))


def values(module):
    return {name: (value.dtype.name, value.tolist()) for name, value in module.state_dict().items()}


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_dtypes_survive_a_file_exactly(tmp_path):
    module = nn.Module()
    for dtype in al.dtypes():
        module.register_buffer(f"of_{dtype.name}", al.tensor([0, 1, 1]).to(dtype))
    path = tmp_path / "state.safetensors"
    al.save(module.state_dict(), path)
    other = nn.Module()
    for name, value in module.named_buffers():
        other.register_buffer(name, al.zeros_like(value))
    report = quietly(lambda: other.load_state_dict(al.load(path)))
    assert values(other) == values(module) and not report.dtype_differences


def test_the_state_shares_memory_unless_copied():
    layer = nn.Linear(1, 1)
    state = layer.state_dict()
    state["weight"].fill_(5)
    assert layer.weight.item() == 5.0 and not state["weight"].requires_grad
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight
    assert list(layer.state_dict(prefix="a.")) == ["a.weight", "a.bias"]


def test_a_wider_file_is_rounded_aloud():
    layer = nn.Linear(1, 2, dtype=al.bfloat16)
    weight = layer.weight
    state = {"weight": al.tensor([[1.0 + 2.0**-12], [2.0]]), "bias": al.tensor([0.5, 0.25])}
    with pytest.warns(nn.LossyConversionWarning, match="weight from float32 to bfloat16") as caught:
        report = layer.load_state_dict(state)
    assert len(caught) == 1
    assert report.lossy == ["weight"], "what the bias holds is exact"
    assert report.dtype_differences == {
        "weight": (al.float32, al.bfloat16),
        "bias": (al.float32, al.bfloat16),
    }
    assert layer.weight is weight and layer.weight.dtype == al.bfloat16
    assert layer.weight.tolist() == [[1.0], [2.0]]


def test_a_narrower_file_is_taken_in_silence():
    layer = nn.Linear(1, 2)
    state = {"weight": al.tensor([[1.0], [-0.0]]).to(al.float16), "bias": al.tensor([3, 4])}
    report = quietly(lambda: layer.load_state_dict(state))
    assert not report.lossy and layer.weight.dtype == al.float32
    assert layer.bias.tolist() == [3.0, 4.0]
    state["weight"] = al.tensor([[float("nan")], [float("inf")]], dtype=al.float64)
    quietly(lambda: layer.load_state_dict(state))
    assert numpy.isnan(layer.weight.tolist()[0][0])


def test_assign_takes_dtype_and_memory_of_the_file():
    layer = nn.Linear(1, 2)
    weight = layer.weight
    state = {"weight": al.ones(2, 1, dtype=al.bfloat16), "bias": al.zeros(2, dtype=al.float64)}
    report = quietly(lambda: layer.load_state_dict(state, assign=True))
    assert layer.weight is weight, "the object stays, and optimizers with it"
    assert layer.weight.dtype == al.bfloat16 and layer.bias.dtype == al.float64
    assert layer.weight.requires_grad and not report.lossy
    state["weight"].fill_(7)
    assert layer.weight.tolist() == [[7.0], [7.0]]
    state["weight"] = al.ones(2, 1, dtype=al.int32)
    with pytest.raises(nn.StateDictError, match="weight: dtype int32 given"):
        layer.load_state_dict(state, assign=True)


def test_kinds_are_not_lost():
    module = nn.Module()
    module.register_buffer("count", al.zeros(2, dtype=al.int8))
    quietly(lambda: module.load_state_dict({"count": al.tensor([3.0, -4.0])}))
    assert module.count.tolist() == [3, -4]
    for wrong in (al.tensor([1.5, 0.0]), al.tensor([300, 0]), al.tensor([1j, 0j])):
        with pytest.raises(nn.StateDictError, match="count: dtype .* given; int8"):
            module.load_state_dict({"count": wrong})
    assert module.count.tolist() == [3, -4]
    module.register_buffer("level", al.zeros(1))
    with pytest.raises(nn.StateDictError, match="imaginary"):
        module.load_state_dict({"count": module.count, "level": al.tensor([1 + 2j])})
    quietly(lambda: module.load_state_dict({"count": module.count, "level": al.tensor([2 + 0j])}))
    assert module.level.item() == 2.0


def damages():
    good = net().state_dict()

    def without(name):
        return {key: value for key, value in good.items() if key != name}

    return {
        "missing": (without("2.weight"), "2.weight: missing"),
        "unexpected": ({**good, "9.weight": al.ones(1)}, "9.weight: unexpected"),
        "misspelt": ({**without("2.weight"), "2.wieght": good["2.weight"]}, r"near: 2.weight"),
        "shape": ({**good, "0.weight": al.ones(2, 3)}, r"0.weight: shape \[2, 3\] given; \[3, 2\] accepted"),
        "not a tensor": ({**good, "1.weight": "text"}, "1.weight: str given"),
        "none": ({**good, "1.weight": None}, "1.weight: NoneType given"),
        "objects": ({**good, "1.weight": numpy.array([object()])}, "1.weight: "),
        "number": ({**good, "1.num_batches_tracked": al.tensor(1.5)}, "1.num_batches_tracked: dtype"),
    }


@pytest.mark.parametrize("damage", damages())
def test_damaged_states_change_nothing(damage):
    state, text = damages()[damage]
    module = net()
    before = values(module)
    with pytest.raises(nn.StateDictError, match=text) as caught:
        module.load_state_dict(state)
    assert values(module) == before
    assert isinstance(caught.value, RuntimeError) and isinstance(caught.value, ValueError)
    assert "nothing was changed" in str(caught.value) and "Sequential" in str(caught.value)
    assert caught.value.report is not None


def test_wrong_arguments():
    module = net()
    with pytest.raises(TypeError, match="not a state dict: list"):
        module.load_state_dict([1])
    with pytest.raises(TypeError, match="not a name: 3"):
        module.load_state_dict({3: al.ones(1)})
    with pytest.raises(TypeError, match="rename: wrong type: int"):
        module.load_state_dict({}, rename=3)
    with pytest.raises(TypeError, match="rename: not a name"):
        module.load_state_dict(module.state_dict(), rename=lambda name: 3)
    with pytest.raises(ValueError, match="rename: not a list"):
        module.load_state_dict({}, rename=[("(", "x")])


def test_not_strict_reports_names_and_refuses_shapes():
    module = net()
    report = module.load_state_dict({"0.weight": al.ones(3, 2), "other": al.ones(1)}, strict=False)
    assert report.loaded == ["0.weight"] and report.unexpected_keys == ["other"]
    assert "2.bias" in report.missing_keys and report.missing == report[0]
    missing, unexpected = report
    assert unexpected == ["other"] and len(missing) == 8
    assert "IncompatibleKeys(missing_keys=" in repr(report)
    with pytest.raises(nn.StateDictError, match="shape"):
        module.load_state_dict({"0.weight": al.ones(4, 2)}, strict=False)


@pytest.mark.parametrize(
    "prefix", ["module.", "_orig_mod.", "module._orig_mod."], ids=["module", "compiled", "both"]
)
def test_prefixes_of_wrappers_are_known(prefix):
    source, target = net(), net()
    state = {prefix + key: value for key, value in source.state_dict().items()}
    report = target.load_state_dict(state)
    assert values(target) == values(source) and report.renamed[f"{prefix}0.weight"] == "0.weight"


def test_names_of_old():
    layer = nn.LayerNorm(2)
    report = layer.load_state_dict({"gamma": al.tensor([2.0, 3.0]), "beta": al.tensor([4.0, 5.0])})
    assert report.renamed == {"gamma": "weight", "beta": "bias"}
    assert layer.weight.tolist() == [2.0, 3.0] and layer.bias.tolist() == [4.0, 5.0]
    # A module that has these names itself takes them for what they are.
    own = nn.Module()
    own.gamma = nn.Parameter(al.zeros(1))
    own.weight = nn.Parameter(al.zeros(1))
    own.load_state_dict({"gamma": al.ones(1), "weight": al.ones(1) * 2})
    assert own.gamma.item() == 1.0 and own.weight.item() == 2.0
    # A member `module` is no wrapper.
    outer = nn.Module()
    outer.module = nn.Linear(1, 1)
    assert outer.load_state_dict(outer.state_dict()).renamed == {}


def test_renaming():
    source = nn.Linear(1, 1)
    with al.no_grad():
        source.weight.fill_(3)
        source.bias.fill_(4)
    state = {"old.kernel": source.weight, "old.bias": source.bias, "junk": al.ones(1)}
    target = nn.Sequential(nn.Linear(1, 1))
    for rename in (
        {"old.kernel": "0.weight", "old.bias": "0.bias", "junk": None},
        [(r"^old\.", "0."), ("kernel$", "weight"), ("^junk$", "")],
        lambda name: None if name == "junk" else name.replace("old", "0").replace("kernel", "weight"),
    ):
        with al.no_grad():
            target[0].weight.zero_()
        if isinstance(rename, list):
            report = target.load_state_dict(state, strict=False, rename=rename)
        else:
            report = target.load_state_dict(state, rename=rename)
        assert target[0].weight.item() == 3.0 and target[0].bias.item() == 4.0
        assert report.renamed["old.kernel"] == "0.weight"
    prefixed = {"old.weight": source.weight, "old.bias": source.bias}
    target.load_state_dict(prefixed, rename={"old.": "0."})
    with pytest.raises(ValueError, match="two names become 'x'"):
        target.load_state_dict(state, rename=lambda name: "x")


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(3, 2)
            self.head = nn.Linear(2, 3, bias=False)
            self.head.weight = self.table.weight

    model = Tied()
    state = model.state_dict()
    assert list(state) == ["table.weight", "head.weight"]
    del state["head.weight"]
    report = model.load_state_dict({"table.weight": al.ones(3, 2)})
    assert not report.missing_keys and model.head.weight.tolist() == [[1.0, 1.0]] * 3
    with pytest.raises(nn.StateDictError, match="head.weight: differs from table.weight"):
        model.load_state_dict({"table.weight": al.ones(3, 2), "head.weight": al.zeros(3, 2)})
    model.load_state_dict({"table.weight": al.zeros(3, 2), "head.weight": al.zeros(3, 2)}, assign=True)
    assert model.head.weight is model.table.weight


def test_extra_state_and_atomicity():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.weight = nn.Parameter(al.zeros(1))

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            if state["count"] < 0:
                raise ValueError("negative")
            self.count = state["count"]

    model = nn.Sequential(Counter(), Counter())
    model[0].count, model[1].count = 3, 4
    state = model.state_dict()
    assert state["0._extra_state"] == {"count": 3}
    other = nn.Sequential(Counter(), Counter())
    other.load_state_dict(state)
    assert (other[0].count, other[1].count) == (3, 4)
    bad = {**state, "0._extra_state": {"count": 9}, "1._extra_state": {"count": -1}, "0.weight": al.ones(1)}
    with pytest.raises(ValueError, match="negative"):
        other.load_state_dict(bad)
    assert (other[0].count, other[0].weight.item()) == (3, 0.0), "nothing is half updated"
    del state["1._extra_state"]
    with pytest.raises(nn.StateDictError, match="1._extra_state: missing"):
        other.load_state_dict(state)

    class Half(nn.Module):
        def set_extra_state(self, state):
            pass

    with pytest.raises(RuntimeError, match="get_extra_state: not defined"):
        Half().get_extra_state()


def test_a_module_may_change_what_it_is_given():
    class Frozen(nn.BatchNorm1d):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            state_dict.pop(prefix + "junk", None)
            super()._load_from_state_dict(state_dict, prefix, *rest)

    model = nn.Sequential(Frozen(2))
    state = {**model.state_dict(), "0.junk": al.ones(1)}
    assert not model.load_state_dict(state).unexpected_keys
    layer = nn.Linear(1, 1)
    missing, unexpected, errors = [], [], []
    layer._load_from_state_dict({"weight": al.ones(1, 1)}, "", {}, True, missing, unexpected, errors)
    assert layer.weight.item() == 1.0 and missing == ["bias"]


def test_batch_norms_of_old_have_no_count():
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    quietly(lambda: layer.load_state_dict(state))


def test_arrays_of_numpy_are_taken():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": numpy.ones((1, 2), "float32"), "bias": numpy.zeros(1)})
    assert layer.weight.tolist() == [[1.0, 1.0]]


def test_many_problems_are_counted():
    model = nn.ModuleList([nn.Linear(1, 1) for _ in range(50)])
    with pytest.raises(nn.StateDictError, match="100 problems") as caught:
        model.load_state_dict({})
    assert "and 80 more" in str(caught.value)


def test_shards(tmp_path):
    model = net()
    state = {key: value for key, value in model.state_dict().items()}
    index = nn.serialization.save_sharded(state, tmp_path, max_shard_size=40)
    names = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert set(names) == set(state) and len(set(names.values())) > 1
    for path in (index, tmp_path):
        other = net()
        other.load_state_dict(nn.serialization.load_sharded(path))
        assert values(other) == values(model)
    broken = tmp_path / "broken.index.json"
    for text, what in [
        ("{", "damaged"),
        ("[]", "no weight_map"),
        ('{"weight_map": {"a": 3}}', "no weight_map"),
        ('{"weight_map": {"a": "../model.safetensors"}}', "not a file beside"),
        (json.dumps({"weight_map": {"zz": names["0.weight"]}}), "'zz' is not in"),
        ('{"weight_map": {"a": "nothing.safetensors"}}', "nothing.safetensors"),
    ]:
        broken.write_text(text)
        with pytest.raises(OSError, match=what):
            nn.serialization.load_sharded(broken)
    with pytest.raises(TypeError, match="not a tensor: 'x'"):
        nn.serialization.save_sharded({"x": 3}, tmp_path)


def test_lazy_layers_take_their_shapes_from_a_file():
    layer = nn.LazyLinear(3)
    source = nn.Linear(5, 3)
    layer.load_state_dict(source.state_dict())
    assert layer.weight.shape == (3, 5) and type(layer.weight) is nn.Parameter
    assert layer(al.ones(2, 5)).tolist() == source(al.ones(2, 5)).tolist()
    assert type(layer) is nn.Linear and layer.in_features == 5


def test_lazy_layers_before_they_have_shapes():
    layer, other = nn.LazyLinear(3), nn.LazyLinear(3)
    other.load_state_dict(layer.state_dict())
    assert other.has_uninitialized_params()
    with pytest.raises(nn.StateDictError, match="weight: no shape given yet"):
        nn.Linear(2, 3).load_state_dict(layer.state_dict())
    with pytest.raises(nn.StateDictError, match="saved before it had one"):
        layer.load_state_dict({"weight": al.zeros(0), "bias": al.zeros(0)})
    with pytest.raises(RuntimeError, match="no shape before the first call"):
        layer.weight.shape
    with pytest.raises(nn.StateDictError, match="weight: missing"):
        layer.load_state_dict({})
    twin = copy.deepcopy(layer)
    twin(al.ones(1, 2))
    assert layer.has_uninitialized_params() and type(twin) is nn.Linear
    assert type(pickle.loads(pickle.dumps(layer))) is nn.LazyLinear


@pytest.mark.parametrize("assign", [False, True])
def test_members_may_be_exchanged(assign):
    """Values that are views of the module's own members are read before these are written."""
    module = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    state = module.state_dict()
    first, second = (module[i].weight.item() for i in (0, 1))
    state["0.weight"], state["1.weight"] = state["1.weight"], state["0.weight"]
    module.load_state_dict(state, assign=assign)
    assert (module[0].weight.item(), module[1].weight.item()) == (second, first)
    with al.no_grad():
        module[0].weight.fill_(9)
    assert module[1].weight.item() == first


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("part", ["later", "reversed", "transposed", "every other"])
def test_values_may_be_parts_of_other_members(part, assign):
    """They are those from before, in whatever order members are written."""
    module = nn.Module()
    module.register_buffer("large", al.arange(16.0))
    module.register_buffer("small", al.zeros(4))
    module.register_buffer("last", al.zeros(4, 4))
    old = module.large.detach()
    small = {
        "later": old[6:10],
        "reversed": old[8:12].flip(0),
        "transposed": old.reshape(4, 4).T[1],
        "every other": old[1:9:2],
    }[part]
    wanted = small.tolist()
    state = {"large": al.zeros(16), "small": small, "last": old.reshape(4, 4).T}
    module.load_state_dict(state, assign=assign)
    assert module.large.tolist() == [0.0] * 16
    assert module.small.tolist() == wanted
    assert module.last.tolist() == al.arange(16.0).reshape(4, 4).T.tolist()
