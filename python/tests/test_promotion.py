"""Promotion against the libraries' own answers, and the laws it keeps."""

import itertools
import random

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, answer_or_error, named, read_oracle

POLICIES = al.policies()
PAIRS = list(itertools.product(DTYPES, repeat=2))
SCALARS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}
# Dtypes that exist in torch alone; a promotion to them is refused here.
TORCH_ONLY = {"complex32", "bcomplex32"}
# NumPy's own dtypes are those that it knows by name.

each_policy = pytest.mark.parametrize("policy", POLICIES)


def table(policy):
    with al.promotion(policy):
        return {(a, b): answer_or_error(al.promote_types, a, b) for a, b in PAIRS}


@pytest.mark.parametrize(
    "policy, oracle",
    [("torch", "torch"), ("numpy", "numpy"), ("jax", "jax"), ("strict", "jax_strict")],
)
def test_every_cell_equals_the_library(policy, oracle):
    rows = read_oracle(f"promotion_{oracle}.csv")
    ours = table(policy)
    assert len(rows) == len(ours)
    wrong = [
        f"{row['lhs']} with {row['rhs']}: {answer}, {oracle} says {row['result']}"
        for row in rows
        if (answer := ours[row["lhs"], row["rhs"]]) != row["result"]
    ]
    assert not wrong, "\n".join(wrong[:5])


def test_standard_is_torch_wherever_torch_answers():
    standard, torch = table("standard"), table("torch")
    assert all(standard[pair] == answer for pair, answer in torch.items() if answer != "error")


def test_standard_fills_the_holes():
    filled = {
        ("uint16", "int8"): "int32",
        ("uint32", "int32"): "int64",
        ("uint64", "int8"): "error",
        ("uint16", "uint64"): "uint64",
        ("uint64", "complex64"): "complex64",
        ("float8_e4m3fn", "float8_e5m2"): "bfloat16",
        ("float8_e5m2", "int64"): "bfloat16",
        ("float8_e5m2", "bfloat16"): "bfloat16",
        ("float8_e5m2", "float64"): "float64",
        ("float8_e5m2", "float16"): "float32",
        ("float8_e5m2", "bool"): "float8_e5m2",
    }
    standard = table("standard")
    assert {pair: standard[pair] for pair in filled} == filled


def test_exact_is_standard_or_refuses():
    standard, exact = table("standard"), table("exact")
    for (a, b), answer in exact.items():
        common = standard[a, b]
        lossless = common != "error" and all(al.can_cast(d, common, "exact") for d in (a, b))
        assert answer == (common if lossless else "error")


@each_policy
def test_commutative_idempotent_and_associative(policy):
    ours = table(policy)
    assert all(ours[d, d] == d.name for d in DTYPES)
    assert all(ours[a, b] == ours[b, a] for a, b in PAIRS)
    if policy in ("numpy", "jax"):
        return  # Their own tables are not: complex64 with uint16 and int16 depends on the order.
    for a, b, c in itertools.product(DTYPES, repeat=3):
        left, right = ours[a, b], ours[b, c]
        if "error" in (left, right):
            continue
        left, right = ours[left, c], ours[a, right]
        assert left == right or "error" in (left, right), (a, b, c)


@each_policy
def test_order_and_repetition_do_not_matter(policy):
    source = random.Random(0)
    with al.promotion(policy):
        for _ in range(400):
            operands = source.choices(DTYPES, k=source.choice([3, 3, 4]))
            answers = {
                answer_or_error(al.result_type, *order)
                for order in itertools.permutations(operands)
            }
            assert len(answers) == 1, operands
            assert answers == {answer_or_error(al.result_type, *operands, *operands)}


def test_a_set_has_an_answer_although_a_pair_has_none():
    assert al.result_type("int8", "uint64", "float16") is al.float16


def test_numpy_policy_equals_numpy_for_triples():
    """Where NumPy's answer depends on the order of operands, ours is the refusal."""

    def numpy_answer(*dtypes):
        try:
            return np.result_type(*(d.numpy_dtype for d in dtypes)).name
        except TypeError:
            return "error"

    wrong = []
    with al.promotion("numpy"):
        for operands in itertools.combinations(DTYPES, 3):
            theirs = {numpy_answer(*order) for order in itertools.permutations(operands)}
            want = theirs.pop() if len(theirs) == 1 else "error"
            ours = answer_or_error(al.result_type, *operands)
            if ours != want:
                wrong.append(f"{operands}: {ours}, numpy says {want}")
    assert not wrong, f"{len(wrong)} triples\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("policy", ["torch", "numpy", "jax"])
def test_scalars_equal_the_library(policy):
    rows = read_oracle("promotion_scalar.csv")
    assert len(rows) == len(DTYPES) * len(SCALARS)
    with al.promotion(policy):
        for row in rows:
            want = "error" if row[policy] in TORCH_ONLY else row[policy]
            assert answer_or_error(al.result_type, row["dtype"], SCALARS[row["scalar"]]) == want, (
                row
            )


def test_scalars_are_weak():
    """A scalar takes the dtype's side if its kind fits, else the default dtype of its kind."""
    rungs = ["bool", "signed integer", "real floating", "complex floating"]
    for dtype in DTYPES:
        rung = rungs.index(dtype.kind.replace("unsigned", "signed"))
        for scalar_rung, value in enumerate(SCALARS.values()):
            result = al.result_type(dtype, value)
            if scalar_rung <= rung:
                assert result is dtype
            elif dtype.is_floating_point:
                assert result is dtype.to_complex()
            else:
                assert result is al.infer_dtype(value)
            assert al.result_type(value, dtype) is result


def test_scalars_alone():
    assert al.result_type(True) is al.bool
    assert al.result_type(True, 1) is al.int64
    assert al.result_type(1, 2.0) is al.float32
    assert al.result_type(1, 2j) is al.complex64


def test_types_are_dtypes_and_values_are_weak():
    assert al.result_type("int8", int) is al.int64
    assert al.result_type("int8", 1) is al.int8
    assert al.result_type("float16", float) is al.float64
    assert al.result_type("float16", 1.0) is al.float16


def test_numpy_scalars_are_not_weak():
    assert al.result_type("float32", np.float64(1)) is al.float64
    assert al.result_type("float32", np.ones(2)) is al.float64
    assert al.result_type("complex64", np.complex128(1)) is al.complex128
    assert al.result_type(np.bool(True), 1) is al.int64


@pytest.mark.parametrize("dimensioned", DTYPES, ids=named)
def test_torch_zero_dim(dimensioned):
    rows = [
        r for r in read_oracle("promotion_torch_zero_dim.csv") if r["dimensioned"] == dimensioned
    ]
    assert len(rows) == len(DTYPES)
    array = np.zeros(2, dimensioned.numpy_dtype)
    with al.promotion("torch"):
        for row in rows:
            zero_dim = np.zeros((), al.dtype(row["zero_dim"]).numpy_dtype)
            want = "error" if row["result"] in TORCH_ONLY else row["result"]
            assert answer_or_error(al.result_type, array, zero_dim) == want, row
            assert answer_or_error(al.result_type, zero_dim[()], array) == want, row


@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "torch"])
def test_zero_dim_counts_like_any_other(policy):
    with al.promotion(policy):
        for a, b in PAIRS:
            zero_dim = np.zeros((), b.numpy_dtype)
            assert answer_or_error(al.result_type, a, zero_dim) == answer_or_error(
                al.promote_types, a, b
            )


MESSAGES = [
    (
        "standard",
        ("int8", "uint64"),
        "promote_types: no common dtype: int8 and uint64; no integer dtype holds both "
        "(hint: x.to(int64) or x.to(float64))",
    ),
    (
        "strict",
        ("int32", "float32"),
        "promote_types: strict promotion: int32 and float32 differ (hint: x.to(float32))",
    ),
    (
        "exact",
        ("int32", "float32"),
        "promote_types: exact promotion: int32 and float32: float32 does not hold every int32 "
        "(hint: x.to(float64) holds both)",
    ),
    (
        "torch",
        ("uint16", "int8"),
        "promote_types: torch promotion: uint16 and int8 have no common dtype (hint: x.to(int32))",
    ),
]


@pytest.mark.parametrize("policy, pair, message", MESSAGES, ids=[m[0] for m in MESSAGES])
def test_refusals_are_worded(policy, pair, message):
    with al.promotion(policy), pytest.raises(TypeError) as caught:
        al.promote_types(*pair)
    assert str(caught.value) == message


def test_result_type_refuses():
    with pytest.raises(ValueError) as caught:
        al.result_type()
    assert str(caught.value) == (
        "result_type: no operands: at least one array, dtype or scalar is needed"
    )
    with pytest.raises(TypeError) as caught:
        al.result_type("int8", {})
    assert str(caught.value) == (
        "result_type: not an operand: {} of type dict; accepted are arrays, scalars and dtypes"
    )


@each_policy
def test_explanations_agree_with_the_table(policy):
    for (a, b), answer in table(policy).items():
        text = al.explain_promotion(a, b, policy)
        with al.promotion(policy):
            assert al.explain_promotion(a, b) == text
        verdict = "is refused" if answer == "error" else f"is {answer}"
        assert text.startswith(f"{a} with {b} {verdict}: ") and text.endswith(".")


def test_printed_table():
    lines = repr(al.promotion_table("standard")).splitlines()
    assert lines[0] == "standard promotion"
    assert len(lines) == 1 + len(DTYPES)
    for dtype, line in zip(DTYPES, lines[1:], strict=True):
        row, *cells = line.split()
        assert al.dtype(row) is dtype
        for other, cell in zip(DTYPES, cells, strict=False):
            assert answer_or_error(al.promote_types, dtype, other) == (
                "error" if cell == "-" else al.dtype(cell)
            )
    with al.promotion("numpy"):
        assert repr(al.promotion_table()) == repr(al.promotion_table("numpy"))
