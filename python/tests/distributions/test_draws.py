"""Draws beside recorded distribution functions and moments, and gradients through them.

Seeds are fixed: a test that passes will pass again. Limits are such that one draw in ten thousand would fail
by chance.
"""

import math

import numpy as np
import pytest

import allotrope as al

from .cases import MULTIVARIATE, OTHERS, UNIVARIATE
from .test_answers import CASES, EXTRA, made, numbers

D = al.distributions
N = 40_000
# Kolmogorov and Smirnov: about one in ten thousand exceeds this.
LIMIT = 2.3 / math.sqrt(N)


@pytest.fixture(autouse=True)
def same_start():
    al.manual_seed(20240501)


@pytest.mark.parametrize("name, setting, values, answer", CASES)
def test_draws_follow_the_distribution(name, setting, values, answer):
    law = made(name, setting)
    x = law.sample((N,))
    assert tuple(x.shape) == (N, *law.batch_shape, *law.event_shape)
    assert x.dtype == (al.int64 if name == "Categorical" else al.float64)
    assert bool(law.support.check(x).all())
    if "points" in answer:
        points, below = numbers(answer["points"]), numbers(answer["below"])
        if name == "VonMises":
            # scipy's function goes on beyond the circle, around the location.
            x = (x - law.loc + math.pi) % (2 * math.pi) - math.pi + law.loc
        share = np.searchsorted(np.sort(x.numpy()), points, side="right") / N
        assert np.abs(share - below).max() < LIMIT
        if name in ("Normal", "Poisson", "Binomial"):
            assert abs(x.mean().item() - float(answer["mean"])) < 4 * math.sqrt(float(answer["variance"]) / N)
    elif "mean" in answer:
        mean, variance = numbers(answer["mean"]), numbers(answer["variance"])
        assert (np.abs(x.numpy().mean(0) - mean) < 4 * np.sqrt(variance / N)).all()
        assert np.allclose(x.numpy().var(0), variance, rtol=0.06)


def test_vectors_vary_together():
    for name in ("MultivariateNormal", "LowRankMultivariateNormal"):
        law = made(name, MULTIVARIATE[name][0][0])
        found = np.cov(law.sample((N,)).numpy().T)
        assert np.allclose(found, law.covariance_matrix.numpy(), atol=0.06)


def test_relaxed_draws_are_near_their_densities():
    """The mean of any function over draws is its integral by the density."""
    law = D.RelaxedBernoulli(al.tensor(0.7, dtype="float64"), 0.3)
    grid = al.linspace(0.0005, 0.9995, 1000, dtype="float64")
    mass = law.log_prob(grid).exp().numpy() / 1000
    assert mass.sum() == pytest.approx(1.0, abs=5e-3)
    assert law.sample((N,)).mean().item() == pytest.approx((mass * grid.numpy()).sum(), abs=0.01)
    for temperature in (0.3, 0.05):
        near = D.RelaxedOneHotCategorical(temperature, al.tensor([0.2, 0.8])).sample((N,))
        assert (near.argmax(-1) == 1).float().mean().item() == pytest.approx(0.8, abs=LIMIT)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name, setting, values, answer", CASES)
def test_draws_have_the_dtype_of_the_parameters(name, setting, values, answer, dtype):
    law = made(name, setting, dtype)
    if not all(value.isfinite().all().item() for value in law._given().values()):
        pytest.skip("a parameter that the dtype has not")
    x = law.sample((64,))
    assert x.dtype == (al.int64 if name == "Categorical" else al.dtype(dtype))
    assert not x.isnan().any().item()
    al.manual_seed(5)
    first = law.sample((3,))
    al.manual_seed(5)
    again = law.rsample((3,)) if law.has_rsample else law.sample((3,))
    assert first.tolist() == again.tolist() and not first.requires_grad


REPARAMETERIZED = [
    pytest.param(name, setting, id=name)
    for table in (UNIVARIATE, MULTIVARIATE, OTHERS)
    for name, (settings, _) in table.items()
    for setting in settings[-1:]
    if (EXTRA.get(name) or getattr(D, name)).has_rsample or name.startswith("Relaxed")
]


@pytest.mark.parametrize("name, setting", REPARAMETERIZED)
def test_gradients_of_draws_are_differences_of_draws(name, setting):
    """Of the same random numbers, where a number is a smooth function of the parameters."""
    implicit = {"Gamma", "Chi2", "Beta", "Dirichlet", "StudentT", "FisherSnedecor"}
    kind = EXTRA.get(name) or getattr(D, name)
    for key, value in setting.items():
        if name in implicit and key not in ("loc", "scale", "rate"):
            continue
        if key in ("covariance_matrix", "scale_tril", "probs") and isinstance(value, list):
            continue

        def drawn(moved):
            given = {k: al.tensor(v, dtype="float64") for k, v in setting.items()}
            al.manual_seed(11)
            return kind(**{**given, key: moved}, validate_args=False).rsample((5,)).sum()

        parameter = al.tensor(value, dtype="float64", requires_grad=True)
        drawn(parameter).backward()
        step = 1e-6
        ahead, behind = (drawn(al.tensor(value, dtype="float64") + way * step).item() for way in (1, -1))
        assert parameter.grad.sum().item() == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-6), key


def test_means_of_gradients_are_gradients_of_means():
    """Of numbers whose derivatives are implicit: the mean of what a parameter changes is known."""
    a = al.tensor([0.05, 0.7, 3.0, 80.0], dtype="float64", requires_grad=True)
    x = D.Gamma(a, al.tensor(2.0, dtype="float64")).rsample((N,))
    x.mean(0).sum().backward()
    assert np.allclose(a.grad.numpy(), 0.5, rtol=0.06)
    # The mean of x² is a(a + 1).
    a.grad = None
    (D.Gamma(a, 1.0).rsample((N,)) ** 2).mean(0).sum().backward()
    assert np.allclose(a.grad.numpy(), 2 * a.detach().numpy() + 1, rtol=0.15)
    c = al.tensor([0.6, 2.0, 5.0], dtype="float64", requires_grad=True)
    D.Dirichlet(c).rsample((N,))[:, 0].mean().backward()
    total = c.detach().sum().item()
    wanted = [(total - 0.6) / total**2, -0.6 / total**2, -0.6 / total**2]
    assert np.allclose(c.grad.numpy(), wanted, rtol=0.08)
    df = al.tensor(9.0, dtype="float64", requires_grad=True)
    (D.StudentT(df).rsample((N,)) ** 2).mean().backward()
    # Of df / (df - 2).
    assert df.grad.item() == pytest.approx(-2 / 49, rel=0.15)


def test_small_shapes_do_not_vanish():
    small = D.Dirichlet(al.full((3,), 1e-4, dtype="float64")).sample((1000,))
    assert np.allclose(small.sum(-1).numpy(), 1.0)
    assert abs((small[:, 0] > 0.5).double().mean().item() - 1 / 3) < 0.06
    for dtype in ("float16", "bfloat16", "float32"):
        x = D.Gamma(al.tensor(1e-3, dtype=dtype), 1.0).sample((1000,))
        assert (x > 0).all().item() and D.Gamma(al.tensor(1e-3, dtype=dtype), 1.0).log_prob(x).isfinite().all().item()


def test_gradients_of_densities_are_differences():
    step = 1e-5
    for table in (UNIVARIATE, MULTIVARIATE):
        for name, (settings, values) in table.items():
            setting = settings[0]
            for key, start in setting.items():
                if key in ("total_count", "df") or name == "Uniform" or isinstance(start, list) and isinstance(start[0], list):
                    continue
                value = al.tensor(values[1], dtype="float64")

                def log_prob(moved):
                    given = {k: v if k == "total_count" else al.tensor(v, dtype="float64") for k, v in setting.items()}
                    return getattr(D, name)(**{**given, key: moved}, validate_args=False).log_prob(value).sum()

                parameter = al.tensor(start, dtype="float64", requires_grad=True)
                log_prob(parameter).backward()
                ahead, behind = (log_prob(al.tensor(start, dtype="float64") + way * step).item() for way in (1, -1))
                assert parameter.grad.sum().item() == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-5), (name, key)
