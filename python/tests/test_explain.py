"""Explanations and traces: what they say of every operation, and their forms."""

import json
from xml.etree import ElementTree

import pytest

import allotrope as al
from allotrope import nn


def one(fn, *args):
    rows = al.explain(fn, *args)
    assert len(rows) == 1
    return rows[0]


def test_promotion_is_said_in_the_words_of_explain_promotion():
    for policy in ("standard", "torch", "numpy"):
        with al.promotion(policy):
            row = one(al.add, al.ones(2, dtype="int8"), al.ones(2, dtype="uint8"))
            assert row["why"] == al.explain_promotion("int8", "uint8")
            assert row["reason"] == f"promotion: {policy}"
    row = one(al.where, al.ones(2) > 0, al.ones(2, dtype="float16"), al.ones(2, dtype="bfloat16"))
    assert "float16 with bfloat16 is float32" in row["why"]


@pytest.mark.parametrize(
    "fn, why",
    [
        (lambda x: x * 2, "A Python number has no dtype: it takes the tensor's."),
        (lambda x: x > 1, "It is a truth value."),
        (lambda x: x.exp(), "The operands have it."),
        (lambda x: x.to("int8"), "The program asks for it."),
        (lambda x: x.to("int32").sin(), "Of integers and truth values it is a float: the default dtype, float32."),
        (lambda x: x.to("int32") + 0.5, "A number of a higher kind than int32 asks for float32."),
    ],
)
def test_other_reasons(fn, why):
    assert al.explain(fn, al.ones(2))[-1]["why"] == why


def test_autocast():
    with al.autocast("cpu", al.bfloat16):
        rows = al.explain(lambda x: (x @ x).softmax(-1), al.ones(2, 2))
    assert [row["why"] for row in rows] == [
        "autocast computes matmul in bfloat16.",
        "autocast computes softmax in float32, which it needs.",
    ]


@pytest.mark.parametrize("dtype", [d for d in al.Float.members if d.bits <= 16], ids=str)
def test_narrow_floats_are_rounded_once(dtype):
    row = one(al.exp, al.ones(2, dtype=dtype))
    assert row["rounding"] == f"float32 to {dtype}, to nearest, once"
    assert (row["compute"], row["result"]) == ("float32", dtype.name)
    assert one(al.sum, al.ones(2, dtype=dtype))["accumulator"] == "float32"


def test_what_is_exact_is_not_rounded():
    assert one(al.exp, al.ones(2))["rounding"] is None
    assert one(al.add, al.ones(2, dtype="int8"), 1)["rounding"] is None
    assert one(lambda x: x.to("float32"), al.ones(2, dtype="float16"))["rounding"] is None
    assert one(lambda x: x.to("float16"), al.ones(2))["rounding"] == "float32 to float16"


def test_results_shapes_and_devices():
    report = al.explain(lambda x, y: (x @ y).relu().sum(0), al.ones(2, 3), y=al.ones(3, 4))
    assert [(row["op"], row["shape"], row["device"]) for row in report] == [
        ("matmul", [2, 4], "cpu"),
        ("relu", [2, 4], "cpu"),
        ("sum", [4], "cpu"),
    ]
    assert report.result.tolist() == [6.0] * 4
    assert all("test_explain.py" in row["line"] for row in report)
    layer = nn.Linear(3, 2)
    assert al.explain(layer, al.ones(1, 3)).result.requires_grad


def test_an_explanation_takes_nothing_from_a_trace_around_it():
    with al.trace_dtypes() as t:
        al.explain(al.exp, al.ones(1))
        al.ones(1).sin()
    assert [row["op"] for row in t] == ["exp", "sin"]
    with pytest.raises(ZeroDivisionError):
        al.explain(lambda: 1 / 0)
    assert al.explain(lambda: None).rows == []
    with pytest.raises(TypeError, match="explain: not callable: int"):
        al.explain(3)


@pytest.fixture(params=["explain", "trace", "none"])
def report(request):
    def work():
        return (al.ones(2, dtype="bfloat16") + al.ones(2)).sum() * 2

    if request.param == "explain":
        return al.explain(work)
    with al.trace_dtypes() as t:
        request.param == "none" or work()
    return t


def test_forms(report, tmp_path):
    count = len(report)
    assert json.loads(report.to_json()) == list(report)
    assert len(str(report).splitlines()) == count + 1
    page = report._repr_html_()
    assert page == report.to_html() and page.count("<tr>") == count + 1
    picture = report.to_svg()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert picture.count(">bfloat16</text>") == (1 if count else 0)
    for kind in ("svg", "html", "json", "txt"):
        report.save(tmp_path / f"report.{kind}")
        assert (tmp_path / f"report.{kind}").stat().st_size


def test_long_reports_are_cut():
    with al.trace_dtypes() as t:
        x = al.ones(1)
        for _ in range(1000):
            x = x + 1
    assert len(t._repr_html_()) < 500_000 and "and 800 more" in t._repr_html_()
    assert "and 880 more" in t.to_svg()


def test_text_is_escaped():
    row = {"op": "<b>", "inputs": ["float32"], "compute": "float32", "accumulator": None}
    row |= {"result": "float32", "reason": "a & b", "hosted": None, "line": "<x>.py:1"}
    with al.trace_dtypes() as t:
        pass
    t._found = [row]
    for text in (t.to_svg(), t.to_html()):
        assert "<b>" not in text.replace("<b>1 operation</b>", "") and "a &amp; b" in text
    ElementTree.fromstring(t.to_svg())
