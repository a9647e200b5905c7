"""Densities, distribution functions, moments and divergences beside scipy's and torch's recorded answers."""

import json
import math
import pathlib

import numpy as np
import pytest

import allotrope as al

from .cases import DIVERGENCES, MULTIVARIATE, OTHERS, SLOPES, UNIVARIATE

D = al.distributions
ANSWERS = json.loads((pathlib.Path(__file__).parent / "answers.json").read_text())
EXTRA = {"LogitRelaxedBernoulli": D.relaxed.LogitRelaxedBernoulli, "ExpRelaxedCategorical": D.relaxed.ExpRelaxedCategorical}
NARROW = ["bfloat16", "float16"]
# scipy has no such thing, or another one.
UNASKED = {("VonMises", "variance"), ("VonMises", "mean"), ("VonMises", "cdf"), ("Kumaraswamy", "entropy")}
# Functions that are not known in closed form.
WITHOUT = {"cdf": {"Beta", "StudentT", "FisherSnedecor", "VonMises", "Bernoulli", "Binomial", "NegativeBinomial"}}


def narrowed(values, dtype):
    """In a dtype that need not have the range: what leaves it is infinite."""
    return al.tensor(values, dtype="float64").to(dtype)


def made(name, setting, dtype="float64"):
    kind = EXTRA.get(name) or getattr(D, name)
    given = {key: value if key == "total_count" and name == "Multinomial" else narrowed(value, dtype) for key, value in setting.items()}
    return kind(**given)


def numbers(answer):
    return np.array([numbers(one) for one in answer]) if isinstance(answer, list) else float(answer)


def listed():
    for part, table in (("univariate", UNIVARIATE), ("multivariate", MULTIVARIATE), ("others", OTHERS)):
        for name, (settings, values) in table.items():
            for number, setting in enumerate(settings):
                yield pytest.param(name, setting, values, ANSWERS[part][name][number], id=f"{name}-{number}")


CASES = list(listed())


@pytest.mark.parametrize("name, setting, values, answer", CASES)
def test_float64_is_the_recorded_answer(name, setting, values, answer):
    law = made(name, setting)
    for what in ("log_prob", "cdf", "mean", "variance", "entropy"):
        if what not in answer or (name, what) in UNASKED:
            continue
        if name in WITHOUT.get(what, ()):
            with pytest.raises(NotImplementedError, match=f"{what}: {name} has no {what}"):
                law.cdf(al.tensor(values[0], dtype="float64"))
            continue
        wanted = np.asarray(numbers(answer[what]))
        if what in ("log_prob", "cdf"):
            unchecked = made_unchecked(name, setting)
            found = np.array([getattr(unchecked, what)(al.tensor(v, dtype="float64")).item() for v in values])
        else:
            found = getattr(law, what)
            found = np.asarray((found() if what == "entropy" else found).numpy())
        # Means that do not exist are NaN or infinite, as each library has it; scipy integrates some itself.
        known = np.isfinite(wanted)
        rtol = 2e-8 if name == "Kumaraswamy" else 2e-10
        assert np.allclose(found[known], wanted[known], rtol=rtol, atol=1e-12), (what, found, wanted)
        assert not np.isfinite(found[~known]).any(), (what, found, wanted)


def made_unchecked(name, setting, dtype="float64"):
    before = D.Distribution._validate_args
    D.Distribution.set_default_validate_args(False)
    try:
        return made(name, setting, dtype)
    finally:
        D.Distribution.set_default_validate_args(before)


@pytest.mark.parametrize("dtype", ["float32", *NARROW])
@pytest.mark.parametrize("name, setting, values, answer", CASES)
def test_narrow_dtypes_round_once(name, setting, values, answer, dtype):
    """Beside the same distribution of the same rounded numbers in float64."""
    narrow = made_unchecked(name, setting, dtype)
    wide = narrow._in(al.float64)
    if name in ("Categorical", "OneHotCategorical"):
        # Their shares are rounded where they are made.
        assert narrow.probs.dtype == al.dtype(dtype)
    eps = float(al.finfo(dtype).eps)
    for what in ("mean", "variance", "stddev", "entropy", "log_prob"):
        try:
            if what == "log_prob":
                value = al.tensor(values) if isinstance(values[0], int) else narrowed(values, dtype)
                found, wanted = narrow.log_prob(value), wide.log_prob(value)
            else:
                found, wanted = getattr(narrow, what), getattr(wide, what)
                found, wanted = (found(), wanted()) if what == "entropy" else (found, wanted)
        except NotImplementedError:
            continue
        assert found.dtype == al.dtype(dtype), what
        found, wanted = found.double().numpy(), wanted.double().numpy()
        fits = np.isfinite(wanted) & np.isfinite(found) & (np.abs(wanted) < float(al.finfo(dtype).max))
        # Half a unit of the result; in float32 a few of what the formula adds up.
        found, wanted = found[fits], wanted[fits]
        slack = 0.51 * eps * np.abs(wanted) + 4e-6 * (1 + np.abs(wanted)) + float(al.finfo(dtype).smallest_subnormal)
        assert (np.abs(found - wanted) <= slack).all(), (what, found, wanted)


def test_icdf_is_the_inverse_of_cdf():
    p = al.linspace(0.01, 0.99, 33, dtype="float64")
    asked = 0
    for name, (settings, _) in UNIVARIATE.items():
        for setting in settings:
            law = made(name, setting)
            try:
                x = law.icdf(p)
            except NotImplementedError:
                continue
            asked += 1
            assert np.allclose(law.cdf(x).numpy(), p.numpy(), rtol=1e-9, atol=1e-12), name
    assert asked >= 20


@pytest.mark.parametrize("number", range(len(DIVERGENCES)))
def test_divergences_are_the_recorded_answers(number):
    p, of_p, q, of_q = DIVERGENCES[number]
    wanted = numbers(ANSWERS["divergences"][number])
    p, q = made(p, of_p), made(q, of_q)
    assert D.kl_divergence(p, q).item() == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    if math.isfinite(wanted):
        assert D.kl_divergence(p, p).item() == pytest.approx(0.0, abs=1e-9)
    for dtype in NARROW:
        narrow = D.kl_divergence(made(DIVERGENCES[number][0], of_p, dtype), made(DIVERGENCES[number][2], of_q, dtype))
        assert narrow.dtype == al.dtype(dtype)


def test_divergences_are_means_of_differences():
    """By the densities alone, of draws: the standard error is known."""
    al.manual_seed(3)
    for p, of_p, q, of_q in DIVERGENCES:
        p, q = made(p, of_p), made(q, of_q)
        wanted = D.kl_divergence(p, q).item()
        if not math.isfinite(wanted) or wanted > 50:
            continue
        x = p.sample((20_000,))
        differences = (p.log_prob(x) - q.log_prob(x)).numpy()
        error = differences.std() / math.sqrt(len(differences))
        assert abs(differences.mean() - wanted) <= 5 * error + 1e-9, (p, q)


def test_derivatives_of_gamma_numbers_are_those_of_quantiles():
    for (a, p), (x, wanted) in zip(SLOPES, ANSWERS["slopes"], strict=True):
        a, x = al.tensor([a], dtype="float64"), al.tensor([x], dtype="float64")
        found = (D.gamma._log_slope(a, x) * x).item()
        assert found == pytest.approx(wanted, rel=2e-7), (a, p)
