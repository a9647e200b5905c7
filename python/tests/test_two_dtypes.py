"""Operands of two dtypes give what they give converted first to the dtype in which they meet."""

import pytest
from operands import MATRIX, OPTIONAL, VECTOR, caught, found, paths, replaced

import allotrope as al
from allotrope import _probes
from allotrope._probes import CALLS

PAIRS = [("float16", "float32"), ("bfloat16", "float16"), ("int16", "float32"), ("float32", "float64")]
# What says how an operation works and is no number of its sums has no say in the dtype of the result:
# where to cut, what counts as zero, how far apart, and what is written for later.
WITHOUT_VOTE = {
    "quantile": [(0, 1)],
    "nanquantile": [(0, 1)],
    "histogram": [(0, 1)],
    "gradient": [(1, "spacing", 0), (1, "spacing", 1)],
    "linalg.pinv": [(1, "atol"), (1, "rtol")],
    "linalg.matrix_rank": [(1, "atol"), (1, "rtol")],
    "fractional_max_pool2d": [(1, "_random_samples")],
    "fractional_max_pool3d": [(1, "_random_samples")],
    "batch_norm": [(0, 1), (0, 2)],
    "instance_norm": [(0, 1), (0, 2)],
}
# Compositions that are no calls of the probes.
COMPOSED = {
    "triangular_solve": lambda m, v: al.triangular_solve(v[:, None], m),
    "lu_solve": lambda m, v: al.lu_solve(v[:, None], *al.linalg.lu_factor(m)),
    "ormqr": lambda m, v: al.ormqr(m, v, m),
    "histogramdd": lambda m, v: al.histogramdd(m, 2, weight=v),
    "dist": lambda m, v: al.dist(m, v),
    "float_power": lambda m, v: al.float_power(m, v),
    "polar": lambda m, v: al.polar(m, m),
    "complex": lambda m, v: al.complex(m, m),
    "mse_loss": lambda m, v: al.nn.functional.mse_loss(m, m + 1, weight=m),
    "l1_loss": lambda m, v: al.nn.functional.l1_loss(m, m + 1, weight=m),
    "huber_loss": lambda m, v: al.nn.functional.huber_loss(m, m + 1, weight=m),
    "special.zeta": lambda m, v: al.special.zeta(m + 1, m),
    "special.gammainc": lambda m, v: al.special.gammainc(m, m),
    "special.hermite_polynomial_h": lambda m, v: al.special.hermite_polynomial_h(m, m),
}
# Their operands never meet: each result is of one of them.
APART = {"meshgrid"}


def flat(made):
    if isinstance(made, (tuple, list)):
        return [y for each in made for y in flat(each)]
    return [made] if isinstance(made, al.Tensor) else []


def result(function, arguments):
    al.manual_seed(0)
    try:
        return flat(function(*arguments[0], **arguments[1]))
    except (TypeError, ValueError, IndexError, RuntimeError, OverflowError) as error:
        return error


def compare(name, call, narrow, wide):
    """Every operand of the wide dtype made narrow in turn, alone and converted back."""
    function, *arguments = call
    voters = [p for p in paths(arguments) if p not in WITHOUT_VOTE.get(name, ())]
    operands = [p for p in voters if found(arguments, p).dtype == al.dtype(wide)]
    common = al.promote_types(narrow, wide)
    if len(operands) < 2 or name in APART:
        return
    for path in operands:
        mixed = replaced(arguments, path, found(arguments, path).to(narrow))
        converted = arguments
        for other in operands:
            converted = replaced(converted, other, found(mixed, other).to(common))
        got, want = result(function, mixed), result(function, converted)
        if name == "cross_entropy" and not al.dtype(narrow).is_floating_point:
            continue  # integers are classes, not probabilities
        if isinstance(got, Exception):
            # What does not meet by promotion: dtypes that an operation wants equal.
            assert isinstance(got, TypeError), f"{name}, operand {path} {narrow}: {got!r}"
            continue
        assert not isinstance(want, Exception), f"{name}, operand {path}: {want!r}"
        for mine, other in zip(got, want):
            assert mine.dtype == other.dtype, f"{name}, operand {path} {narrow}: {mine.dtype}, {other.dtype}"
            assert al.equal(mine.nan_to_num(), other.nan_to_num()), f"{name}, operand {path} {narrow}: {mine}, {other}"


@pytest.mark.parametrize("narrow, wide", PAIRS)
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_the_probes(name, narrow, wide, monkeypatch):
    if al.support(name, wide) == "undefined":
        pytest.skip("undefined")
    call = caught(name, lambda: _probes._calls_on("cpu")[name](al.dtype(wide)), monkeypatch)
    compare(name, call, narrow, wide)


@pytest.mark.parametrize("narrow, wide", PAIRS)
@pytest.mark.parametrize("name", OPTIONAL)
def test_optional_operands(name, narrow, wide, monkeypatch):
    matrix, vector = al.tensor(MATRIX).to(wide) * 1.1, al.tensor(VECTOR).to(wide)
    call = caught(name, lambda: OPTIONAL[name](matrix, vector), monkeypatch)
    compare(name, call, narrow, wide)


@pytest.mark.parametrize("narrow, wide", PAIRS)
@pytest.mark.parametrize("name", COMPOSED)
def test_compositions(name, narrow, wide, monkeypatch):
    matrix, vector = al.tensor(MATRIX).to(wide) * 1.1, al.tensor(VECTOR).to(wide)
    try:
        call = caught(name, lambda: COMPOSED[name](matrix, vector), monkeypatch)
    except TypeError:
        pytest.skip("undefined")
    compare(name, call, narrow, wide)
