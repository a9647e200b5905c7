"""Precision plans: what they store, compute and step in is what they say, and what is no plan is refused."""

import copy
import itertools
import pickle

import pytest

import allotrope as al
from allotrope import nn


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).relu())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 8)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(8, 3)
        self.register_buffer("table", al.ones(3))
        self.register_buffer("positions", al.ones(3), keep_dtype=True)
        self.register_buffer("count", al.zeros((), dtype=al.int64))

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


TOKENS = al.tensor([[0, 1, 2], [3, 4, 0]])


def dtypes(model):
    return {name: tensor.dtype.name for name, tensor in (*model.named_parameters(), *model.named_buffers())}


def test_a_plan_stores_what_its_last_lines_say():
    plan = al.plan({"*": {"store": "bfloat16"}, "*.norm": {"store": "float32"}, "blocks.1": {"store": al.float64}, "": {}})
    found = dtypes(plan.apply(Net()))
    assert found["embed.weight"] == found["table"] == found["blocks.0.up.weight"] == "bfloat16"
    assert found["blocks.0.norm.weight"] == found["positions"] == "float32"
    # The line of the block comes after that of norms.
    assert found["blocks.1.norm.weight"] == found["blocks.1.down.bias"] == "float64"
    assert found["count"] == "int64"


def test_what_a_plan_stores_stays():
    model = al.plan({"*.norm": {"store": "float32"}}).apply(Net())
    model.to(al.bfloat16)
    assert dtypes(model)["blocks.0.norm.weight"] == "float32" and dtypes(model)["head.weight"] == "bfloat16"


@pytest.mark.parametrize("store, compute", list(itertools.product(["float32", "bfloat16", "float16", "float8_e4m3fn"], ["float32", "bfloat16", "float16"])))
def test_a_plan_computes_what_it_says(store, compute):
    """Products, in the dtype that their operands were brought to; norms are float32 where autocast says so."""
    model = Net()
    plan = al.plan({"*": {"store": store, "compute": compute}})
    plan.apply(model)
    with al.trace_dtypes() as trace:
        out = model(TOKENS)
    products = [record for record in trace if record["op"] == "linear"]
    assert len(products) == 5
    for record in products:
        assert record["result"] == compute
    assert out.dtype == al.dtype(compute)


def test_modules_of_their_own_line_compute_by_it():
    model = Net()
    al.plan({"*": {"store": "float32", "compute": "bfloat16"}, "head": "float32", "blocks.0": "float64"}).apply(model)
    results = {}
    for path, module in model.named_modules():
        module.register_forward_hook(lambda module, args, result, path=path: results.update({path: result.dtype.name}))
    model(TOKENS)
    assert results["blocks.1.up"] == results["blocks.1.down"] == "bfloat16"
    assert results["head"] == "float32" and results["blocks.0.up"] == results["blocks.0"] == "float64"
    # Whatever stands around it.
    with al.autocast("cpu", al.float16):
        assert model.head(al.ones(1, 8)).dtype == al.float32
        assert model.blocks[1].up(al.ones(1, 8)).dtype == al.bfloat16


def test_the_scope_of_a_plan_is_what_stands_outside():
    a = al.ones(2, 2)
    with al.plan({"*": {"store": "float32", "compute": "bfloat16"}}):
        assert (a @ a).dtype == al.bfloat16
        with al.plan({"*": "float32"}):
            assert (a @ a).dtype == al.float32
    assert (a @ a).dtype == al.float32

    @al.plan({"*": {"store": "float32", "compute": "float16"}})
    def product():
        return a @ a

    assert product().dtype == al.float16
    with pytest.raises(ValueError, match="plan: no compute for what stands outside of modules"):
        with al.plan({"head": "float32"}):
            pass


def gradients(model):
    model(TOKENS).square().sum().backward()


def test_optimizers_of_a_plan_have_its_groups():
    plan = al.plan(
        {
            "*": {"store": "bfloat16", "compute": "bfloat16", "state": "float32", "rounding": "stochastic"},
            "blocks": {"rounding": "nearest", "master": "float32"},
            "head": {"store": "float32", "compute": "float32", "rounding": "nearest", "state": "float64"},
        }
    )
    model = plan.apply(Net())
    optimizer = plan.optimizer(al.optim.AdamW, model, lr=0.5, weight_decay=0.1)
    said = [
        (group["param_names"][0], group["state_dtype"], group["master_weights"], group["stochastic_rounding"])
        for group in optimizer.param_groups
    ]
    assert said == [
        ("embed.weight", al.float32, False, True),
        ("blocks.0.norm.weight", al.float32, True, False),
        ("head.weight", al.float64, False, False),
    ]
    assert all(group["lr"] == 0.5 and group["weight_decay"] == 0.1 for group in optimizer.param_groups)
    gradients(model)
    optimizer.step()
    state = optimizer.state[model.blocks[0].up.weight]
    assert state["exp_avg"].dtype == state["master_weight"].dtype == al.float32
    assert optimizer.state[model.head.weight]["exp_avg"].dtype == al.float64


def test_other_optimizers_take_a_plan_or_refuse_it():
    plan = al.plan({"*": {"store": "bfloat16", "compute": "bfloat16", "state": "bfloat16", "master": "float32"}})
    model = plan.apply(Net())
    (group,) = al.optim.AdamW(model.parameters()).param_groups
    assert group["state_dtype"] == al.bfloat16 and group["master_weights"] is True
    with pytest.raises(ValueError, match="other state_dtype by a precision plan"):
        al.optim.AdamW(model.parameters(), state_dtype=al.float64)
    with pytest.raises(ValueError, match="LBFGS: no state_dtype, which a precision plan says"):
        al.optim.LBFGS(model.parameters())
    mixed = al.plan({"head": {"state": "float64"}}).apply(Net())
    with pytest.raises(ValueError, match=r"hint: plan.optimizer\(al.optim.Adam, model\)"):
        al.optim.Adam(mixed.parameters())
    again = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    assert al.optim.AdamW(again.parameters()).param_groups[0]["master_weights"] is True


def test_an_optimizer_wants_the_plan_applied():
    plan = al.plan({"*": "bfloat16"})
    with pytest.raises(ValueError, match=r"plan: 'embed.weight' is not as planned \(hint: plan.apply\(model\) first\)"):
        plan.optimizer(al.optim.SGD, Net(), lr=0.1)
    stepped = al.plan({"*": {"rounding": "stochastic"}})
    with pytest.raises(ValueError, match="is not as planned"):
        stepped.optimizer(al.optim.SGD, Net(), lr=0.1)
    # A line that a later plan takes back is gone.
    model = al.plan({"*": {"rounding": "nearest"}}).apply(stepped.apply(Net()))
    assert al.optim.SGD(model.parameters()).param_groups[0]["stochastic_rounding"] is False


@pytest.mark.parametrize(
    "lines, error, words",
    [
        ({"*": {"stor": "float32"}}, ValueError, "unknown key of '\\*': 'stor'; store, compute"),
        ({"*": {"store": "int8"}}, TypeError, "store of '\\*': wrong dtype: int8"),
        ({"*": {"state": "complex64"}}, TypeError, "state of '\\*': wrong dtype: complex64"),
        ({"*": {"store": "float64", "compute": "bfloat16"}}, ValueError, "float64 is not computed in bfloat16"),
        ({"*": {"store": "float64", "compute": "float32"}}, ValueError, "float64 is not computed in float32"),
        ({"*": {"store": "float32", "compute": "float8_e5m2"}}, ValueError, "float32 is not computed in float8_e5m2"),
        ({"*": {"compute": "bfloat16", "accumulate": "bfloat16"}}, ValueError, "accumulate: bfloat16; sums of bfloat16 are formed in float32"),
        ({"*": {"compute": "float64", "accumulate": "float32"}}, ValueError, "sums of float64 are formed in float64"),
        ({"*": {"master": "bfloat16"}}, ValueError, "master: bfloat16; copies are float32"),
        ({"*": {"rounding": "up"}}, ValueError, "unknown rounding of '\\*': 'up'; nearest, stochastic"),
        ({"*": {"device": "nowhere"}}, RuntimeError, "nowhere"),
        ({3: "float32"}, TypeError, "not a name of modules: 3"),
        (["float32"], TypeError, "not a plan: list"),
    ],
)
def test_what_cannot_act_is_refused(lines, error, words):
    with pytest.raises(error, match=words):
        al.plan(lines)


def test_names_that_match_nothing_change_nothing():
    model = Net()
    before = dtypes(model)
    for name, hint in (("haed", "(hint: head)"), ("*.nrom", ""), ("head.weight", ""), ("blocks.2", "blocks.1")):
        with pytest.raises(ValueError, match="plan: no module is called") as caught:
            al.plan({"*": "bfloat16", name: "float32"}).apply(model)
        assert repr(name) in str(caught.value) and hint in str(caught.value)
    with pytest.raises(ValueError, match="plan: 'head': float64 is not computed in bfloat16"):
        al.plan({"*": {"compute": "bfloat16"}, "head": {"store": "float64"}}).apply(model)
    assert dtypes(model) == before
    with pytest.raises(TypeError, match="plan: not a module: int"):
        al.plan({"*": "float32"}).apply(3)


def test_what_is_shared_has_one_line():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(5, 8), nn.Linear(8, 5, bias=False)
            self.head.weight = self.embed.weight

    with pytest.raises(ValueError, match="'embed.weight' and 'head.weight' are one tensor"):
        al.plan({"*": "bfloat16", "head": "float32"}).apply(Tied())
    with pytest.raises(ValueError, match="'0' and '1' are one module"):
        layer = nn.Linear(2, 2)
        al.plan({"0": "bfloat16", "1": "float32"}).apply(nn.Sequential(layer, layer))
    model = al.plan({"*": "bfloat16"}).apply(Tied())
    assert model.head.weight is model.embed.weight and model.head.weight.dtype == al.bfloat16


def test_plans_are_data(tmp_path):
    lines = {"*": {"store": "bfloat16", "compute": "bfloat16", "rounding": "stochastic", "device": "cpu"}, "*.norm": "float32"}
    plan = al.plan(lines)
    assert al.plan(plan.state_dict()) == plan == pickle.loads(pickle.dumps(plan)) == al.plan(plan)
    other = al.plan({"*": {"store": "bfloat16", "compute": "float32"}})
    assert plan.diff(plan) == {} and plan.diff(lines) == {}
    assert plan.diff(other) == {
        "*": {"compute": (al.bfloat16, al.float32), "rounding": ("stochastic", None), "device": ("cpu", None)},
        "*.norm": {"store": (al.float32, None), "compute": (al.float32, None)},
    }
    path = tmp_path / "last.safetensors"
    model = plan.apply(nn.Sequential(Block()))
    al.save_checkpoint(path, model=model, plan=plan, step=3)
    saved = al.load_checkpoint(path, model=model)
    assert al.plan(saved["plan"]) == plan and saved["step"] == 3
    assert al.load_checkpoint(path, model=model, plan=plan) == {"step": 3}
    with pytest.raises(ValueError, match="plan in .* does not fit: plan: another plan: '\\*' has compute float32, not bfloat16"):
        al.load_checkpoint(path, model=model, plan=other)


def test_an_audit_makes_a_plan():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
    with al.no_grad():
        model[0].weight.mul_(1e6)
    report = al.audit(model, al.ones(4, 2), to=al.float16, candidates=["float16", "bfloat16", "float32"])
    plan = report.plan()
    assert plan["0"]["store"] == plan["0"]["compute"] != al.float16
    assert all(plan.of(path)["store"] == dtype for path, dtype in report.recommended.items())
    planned, audited = plan.apply(copy.deepcopy(model)), copy.deepcopy(model).apply_audit(report)
    x = al.randn(4, 2)
    assert planned(x).dtype == audited(x).dtype and planned(x).tolist() == audited(x).tolist()


def test_lazy_layers_and_parameters_without_a_gradient():
    model = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 2))
    plan = al.plan({"*": {"store": "bfloat16", "compute": "bfloat16"}})
    plan.apply(model)
    assert model(al.ones(1, 3)).dtype == al.bfloat16 and model[0].weight.dtype == al.bfloat16


def test_a_module_that_is_converted_itself_computes_in_that():
    model = al.plan({"*": {"store": "float32", "compute": "bfloat16"}}).apply(nn.Linear(2, 2))
    assert model.to(al.float64)(al.ones(1, 2)).dtype == al.float64
    model = al.plan({"*": {"store": "float32", "compute": "bfloat16"}}).apply(nn.Linear(2, 2)).keep_in(None)
    assert model(al.ones(1, 2)).dtype == al.float32
