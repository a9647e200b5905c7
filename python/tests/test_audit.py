"""Audits: errors, ranges and shares against NumPy and ml_dtypes, what is lost first, and advice that
is taken."""

import copy
import json
import math
import pickle

import ml_dtypes  # noqa: F401 - names of narrow dtypes for NumPy
import numpy as np
import pytest

import allotrope as al
from allotrope import nn
from allotrope.inspection.measure import distance_of, range_of, shares_of, ulp_of

FLOATS = list(al.Float.members)
each_float = pytest.mark.parametrize("dtype", FLOATS, ids=str)


def spread(count=4000, seed=0, low=-60, high=20):
    """Numbers of all sizes, with a few zeros and numbers that are none."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal(count) * 2.0 ** rng.uniform(low, high, count)
    numbers[::97] = 0.0
    numbers[5], numbers[6], numbers[7] = np.nan, np.inf, -np.inf
    return numbers


class Scale(nn.Module):
    """One product, which ml_dtypes can form too."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(al.tensor(weight))

    def forward(self, x):
        return x * self.weight


class Overflowing(nn.Module):
    """An operation of the module itself is too large for float16, between layers that are not."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.last = nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(x)
        large = (x + 3.0) * 1e5
        return self.last(large / 1e5)


# Measures


def test_ranges_are_those_of_numpy():
    numbers = spread()
    found = range_of(al.tensor(numbers))
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    exponents, counts = np.unique(np.frexp(sizes)[1] - 1, return_counts=True)
    assert found.exponents == dict(zip(exponents.tolist(), counts.tolist()))
    assert (found.least, found.greatest) == (sizes.min(), sizes.max())
    assert (found.count, found.nans, found.infs) == (4000, 1, 2)
    assert found.zeros == (numbers == 0).sum()
    both = found.add(range_of(al.tensor([2.0**40])))
    assert both.count == 4001 and both.greatest == 2.0**40 and both.exponents[40] == 1


@each_float
def test_shares_are_those_of_ml_dtypes(dtype):
    low, high = (-60, 20) if dtype.bits <= 16 else (-170, 140)
    numbers = spread(low=low, high=high)
    found = shares_of(al.tensor(numbers), dtype)
    numbers = numbers[np.isfinite(numbers) & (numbers != 0)]
    with np.errstate(over="ignore"):
        cast = numbers.astype(dtype.name).astype(np.float64)
    info = ml_dtypes.finfo(dtype.name)
    assert found.count == numbers.size
    assert found.overflow == (~np.isfinite(cast)).sum()
    assert found.underflow == (cast == 0).sum()
    small = (np.abs(cast) < float(info.smallest_normal)) & (cast != 0)
    assert found.subnormal == small.sum()
    if dtype.bits <= 8 or dtype == al.float16:
        assert found.underflow and found.subnormal


@each_float
def test_ulps_are_steps_to_the_next_number(dtype):
    info = ml_dtypes.finfo(dtype.name)
    lowest, highest = int(np.log2(float(info.smallest_normal))), int(np.log2(float(info.max)))
    powers = 2.0 ** np.arange(max(lowest, -200), min(highest, 200))
    above = np.nextafter(powers.astype(dtype.name), np.array(info.max, dtype.name))
    found = ulp_of(al.tensor(1.5 * powers), dtype)
    np.testing.assert_array_equal(found.numpy(), above.astype(np.float64) - powers)
    if dtype.bits <= 32:
        tiny = ulp_of(al.tensor([0.0, 1e-300], dtype=al.float64), dtype)
        assert tiny.tolist() == [float(info.smallest_subnormal)] * 2


def test_distances_leave_out_what_is_not_finite():
    given, wanted = al.tensor([1.0, 2.5, math.inf, math.nan]), al.tensor([1.0, 2.0, 3.0, math.nan])
    found = distance_of(given, wanted, al.float32)
    assert (found.count, found.lost, found.greatest) == (2, 1, 0.5)
    assert found.rms == found.maximum == math.inf
    found = distance_of(given[:2], wanted[:2], al.float32)
    assert found.rms == pytest.approx(0.5 / math.sqrt(5)) and found.maximum == 0.25
    with pytest.raises(ValueError, match=r"shapes differ: \[1\] and \[2\]"):
        distance_of(given[:1], wanted[:2], al.float32)


def test_complex_numbers_are_their_parts():
    found = range_of(al.tensor([3 + 0.25j, 0j]))
    assert (found.count, found.zeros, found.greatest, found.least) == (4, 2, 3.0, 0.25)


@pytest.mark.parametrize(
    "scope",
    [lambda: al.promotion("strict"), lambda: al.set_default_dtype("float16"), lambda: al.autocast()],
    ids=["promotion", "default", "autocast"],
)
def test_measures_do_not_depend_on_scopes(scope):
    numbers = al.tensor(spread())
    wanted = range_of(numbers), shares_of(numbers, al.float16)
    with scope():
        assert (range_of(numbers), shares_of(numbers, al.float16)) == wanted


# Audits


@pytest.mark.parametrize("dtype", [al.bfloat16, al.float16], ids=str)
def test_errors_are_those_of_ml_dtypes(dtype):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((50, 30)), rng.standard_normal(30)
    report = al.audit(Scale(w), al.tensor(x), to=dtype)
    lower = (x.astype(dtype.name) * w.astype(dtype.name)).astype(np.float64)
    wanted = x * w
    apart = np.abs(lower - wanted)
    row = report[0]
    assert row.error.rms == pytest.approx(np.sqrt((apart**2).mean() / (wanted**2).mean()))
    assert row.error.maximum == pytest.approx(apart.max() / np.abs(wanted).max())
    info = ml_dtypes.finfo(dtype.name)
    held = np.maximum(2.0 ** (np.frexp(wanted)[1] - 1), float(info.smallest_normal))
    unit = held * float(info.eps)
    assert row.error.ulp_greatest == pytest.approx((apart / unit).max())
    assert row.error.ulp_rms == pytest.approx(np.sqrt(((apart / unit) ** 2).mean()))
    assert 0.1 < row.ulp < 2
    assert report.error == row.error.rms
    assert row.range.greatest == np.abs(wanted).max()
    assert report.first_nonfinite is None


def test_shares_of_a_layer():
    x = np.array([1.0, 1e6, 1e-9, 1e-5])
    row = al.audit(Scale(np.ones(4)), al.tensor(x), to=al.float16)[0]
    assert row.shares.data() == {"overflow": 0.25, "underflow": 0.25, "subnormal": 0.25}
    assert row.nonfinite == 1 and row.error.lost == 1


def test_a_layer_that_overflows_is_found_and_mended():
    al.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    with al.no_grad():
        model[1].weight.mul_(5e4)
    x = al.randn(16, 8) * 10
    report = al.audit(model, x, to=al.float16)
    first = report.first_nonfinite
    assert (first["path"], first["op"], first["dtype"]) == ("1", "linear", "float16")
    assert first["infs"] == report["1"].nonfinite > 0
    assert report["1"].recommended == report["2"].recommended == al.bfloat16
    assert report["1"].reason.startswith("float16 ends at 65504, numbers reach ")
    assert report["0"].recommended == report["3"].recommended == al.float16
    assert report.error == math.inf
    mixed = copy.deepcopy(model).apply_audit(report)
    y = mixed(x)
    assert y.dtype == al.float16 and y.isfinite().all()
    after = al.audit(mixed, x, to=None)
    assert after.first_nonfinite is None and after.error < 0.02
    # The model that was audited is as it was.
    assert all(p.dtype == al.float32 for p in model.parameters())
    assert model.training and not any(m._forward_hooks for m in model.modules())


def test_the_first_operation_of_a_module_itself_is_found():
    al.manual_seed(0)
    model, x = Overflowing(), al.randn(3, 4)
    report = al.audit(model, x, to=al.float16)
    first = report.first_nonfinite
    assert (first["path"], first["op"]) == ("", "mul")
    assert "test_audit.py" in first["line"] and first["infs"] > 0 and first["nans"] == 0
    # What it computes is of the first layer's dtype: that has to be wider.
    assert report["first"].recommended == al.bfloat16
    assert report["first"].reason.endswith("in mul above")
    assert report["last"].recommended == al.float16
    after = al.audit(copy.deepcopy(model).apply_audit(report), x, to=None)
    assert after.first_nonfinite is None and after.error < report.error


def test_what_is_meant_to_be_infinite_is_no_finding():
    class Masked(nn.Module):
        def forward(self, x):
            hidden = al.ones(3, 3).tril() == 0
            return x.masked_fill(hidden, -math.inf).softmax(-1)

    report = al.audit(Masked(), al.randn(3, 3), to=al.bfloat16)
    assert report.first_nonfinite is None and 0 < report.error < 0.02


def test_parameters_that_overflow_come_first():
    report = al.audit(Scale(np.array([1.0, 1e6])), al.ones(2), to=al.float16)
    assert report.first_nonfinite["op"] == "to"
    assert report.first_nonfinite["parameter"] == "weight"
    assert "to in parameter weight: 1 infs of 2 in float16" in str(report)
    report = al.audit(Scale(np.array([1.0, 1.0])), al.tensor([1.0, 1e6]), to=al.float16)
    assert report.first_nonfinite["op"] == "to" and report.first_nonfinite["input"] == "0"


class Cancelling(nn.Module):
    """A difference of nearly equal numbers: narrow dtypes lose all digits."""

    def forward(self, x):
        return (x + 100.0) - 100.0


def test_advice_lessens_the_error():
    al.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), Cancelling(), nn.Linear(4, 4))
    x = al.randn(32, 4)
    report = al.audit(model, x, to=al.bfloat16)
    assert report["1"].recommended == al.float32
    assert report["1"].reason.startswith("error ") and report["1"].reason.endswith("in bfloat16")
    assert report["0"].recommended == al.bfloat16
    after = al.audit(copy.deepcopy(model).apply_audit(report), x, to=None)
    assert after.error < report.error / 5
    assert after["1"].dtype == al.float32 and after["0"].dtype == al.bfloat16


@pytest.mark.parametrize(
    "tolerance, dtype", [(0.1, al.float8_e4m3fn), (0.01, al.bfloat16), (1e-4, al.float32), (1e-12, al.float64)]
)
def test_the_narrowest_dtype_within_the_tolerance(tolerance, dtype):
    al.manual_seed(0)
    report = al.audit(nn.Linear(16, 16), al.randn(64, 16), tolerance=tolerance)
    assert report[0].recommended == dtype
    assert report[0].trials[dtype.name] <= tolerance
    model = nn.Sequential(nn.Linear(16, 16)).apply_audit({"0": dtype})
    assert model(al.randn(2, 16)).dtype == dtype


def test_candidates_are_the_choice():
    report = al.audit(nn.Linear(4, 4), al.randn(8, 4), candidates=["float16", "float32"], tolerance=1e-9)
    assert set(report[0].trials) == {"float16", "float32"}
    assert report[0].recommended == al.float32 and report[0].reason.startswith("no candidate will do")


def test_gradients_are_measured():
    al.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), al.randn(16, 4)
    report = al.audit(model, x, to=al.float16, loss=lambda y: (y * 1e-9).sum())
    gradient = report["0"].gradient
    # Of the reference: those of the weights, of the bias, and those that came in.
    assert gradient.range.count == 32 + 8 + 16 * 8
    assert gradient.range.greatest < 1e-6 and gradient.shares.underflow > 0
    assert "gradients vanish in float16" in report["0"].reason
    assert report["0"].recommended == al.bfloat16
    assert all(p.grad is None for p in model.parameters())
    calm = al.audit(model, x, to=al.float16, loss=lambda y: y.sum())
    assert calm["0"].recommended == al.float16
    assert 0 < calm["0"].gradient.error.rms < 0.01


def test_modules_that_share_a_parameter_agree():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 5, bias=False)
            self.head.weight = self.table.weight

        def forward(self, tokens):
            return self.head(self.table(tokens) * 3e4)

    model, tokens = Tied(), al.arange(5)
    report = al.audit(model, tokens, to=al.float16)
    assert report["table"].recommended == report["head"].recommended
    mixed = copy.deepcopy(model).apply_audit(report)
    assert mixed.head.weight is mixed.table.weight
    assert mixed(tokens).isfinite().all()


def test_every_kind_of_layer_can_be_audited():
    al.manual_seed(0)
    image = al.randn(2, 3, 8, 8)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    )
    report = al.audit(model, image, to=al.float16)
    assert [row.path for row in report] == ["", "0", "1", "2", "3", "4", "5"]
    assert model.apply_audit(report)(image).isfinite().all()
    sequence = al.randn(5, 2, 4)
    lstm = al.audit(nn.LSTM(4, 6), sequence, to=al.bfloat16)
    # Three results: all steps, and both states.
    assert lstm[0].range.count == 5 * 2 * 6 + 2 * 6 + 2 * 6
    attention = nn.MultiheadAttention(4, 2)
    report = al.audit(attention, (sequence, sequence, sequence), to=al.bfloat16)
    assert report[0].recommended == report["out_proj"].recommended == al.bfloat16
    assert attention.apply_audit(report)(sequence, sequence, sequence)[0].dtype == al.bfloat16
    encoder = nn.TransformerEncoderLayer(8, 2, 16)
    report = al.audit(encoder, {"src": al.randn(3, 2, 8)}, to=al.bfloat16)
    assert report.error < 0.05 and encoder.apply_audit(report)(al.randn(3, 2, 8)).isfinite().all()


def test_a_mixed_model_trains_and_is_kept():
    al.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x, y = al.randn(32, 4), al.randn(32, 1)
    model.apply_audit({"0": "bfloat16", "1": "float32", "2": "float32"})
    optimizer = al.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (other(x) == model(x)).all()
    # What is kept is kept, and what is let go takes inputs as they come.
    assert model.to(al.float64)[0].weight.dtype == al.bfloat16
    model[0].keep_in(None)
    assert model[0](al.ones(1, 4)).dtype == al.float32


def test_draws_are_alike_and_nobody_elses():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + al.randn(8, dtype=al.float32).to(x.dtype)

    al.manual_seed(3)
    wanted = al.rand(2).tolist()
    al.manual_seed(3)
    report = al.audit(Noisy(), al.ones(8))
    assert al.rand(2).tolist() == wanted and report.error < 0.01


def test_an_error_in_the_model_is_the_models(capsys):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 3))
    with pytest.raises(ValueError, match="linear"):
        al.audit(model, al.ones(1, 2))
    assert not any(module._forward_hooks for module in model.modules())
    with al.trace_dtypes() as t:
        al.ones(1).exp()
    assert len(t) == 1


# Reports


@pytest.fixture(scope="module")
def report():
    al.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.GELU(), nn.Linear(8, 2)))
    return al.audit(model, al.randn(8, 4), to=al.float16, loss=lambda y: y.sum())


def test_the_table(report):
    lines = str(report).splitlines()
    assert lines[0].split()[:4] == ["layer", "error", "max", "ulp"]
    assert [line.split()[0] for line in lines[1:-2]] == ["Sequential", "0:", "1:", "0:", "1:"]
    assert len(report) == 5 and [row.path for row in report] == ["", "0", "1", "1.0", "1.1"]
    assert report[1] is report["0"]
    with pytest.raises(KeyError, match="no module 'head' was called"):
        report["head"]
    assert report.recommended == {path: al.float16 for path in ("0", "1.0", "1.1")}
    assert report.bytes == {"the model": 4 * 58, "the advice": 2 * 58}


def test_json_has_every_number(report):
    data = json.loads(report.to_json())
    assert data["dtype"] == "float16" and data["reference"] == "float64"
    layer = data["layers"][1]
    assert layer["path"] == "0" and layer["recommended"] == "float16"
    assert layer["error_rms"] == report["0"].error.rms
    assert sum(layer["exponents"].values()) == layer["count"] - layer["zeros"]
    lost = json.loads(al.audit(Scale(np.ones(1)), al.tensor([1e9]), to="float16").to_json())
    assert lost["error"] is None and lost["layers"][0]["nonfinite"] == 1


def test_files(report, tmp_path):
    from xml.etree import ElementTree

    for kind in ("svg", "html", "json", "txt"):
        report.save(tmp_path / f"report.{kind}")
    picture = (tmp_path / "report.svg").read_text()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert picture.count(">float16</text>") >= 3 and len(picture) < 60_000
    assert (tmp_path / "report.txt").read_text() == f"{report}\n"
    assert json.loads((tmp_path / "report.json").read_text())["layers"]
    page = (tmp_path / "report.html").read_text()
    assert page.strip() == report._repr_html_() and page.count("<tr>") == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"report.{k}" for k in ("html", "json", "svg", "txt")]
    with pytest.raises(ValueError, match="unknown kind of file"):
        report.save(tmp_path / "report.png")


def test_wrong_calls():
    with pytest.raises(TypeError, match="audit: not a module: builtin_function_or_method"):
        al.audit(al.exp, al.ones(1))
    with pytest.raises(TypeError, match="audit: to: wrong dtype: int8"):
        al.audit(nn.ReLU(), al.ones(1), to="int8")
    with pytest.raises(ValueError, match="audit: parameters without a shape"):
        al.audit(nn.LazyLinear(3), al.ones(1, 2))
    with pytest.raises(TypeError, match="apply_audit: not a report: int"):
        nn.ReLU().apply_audit(3)
    with pytest.raises(ValueError, match="no module is called 'head'"):
        nn.Sequential(nn.ReLU()).apply_audit({"head": al.float16})
