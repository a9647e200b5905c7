"""Writes answers.json: what scipy says of densities, distribution functions and moments, and torch of
divergences and of what scipy has not. Wants both:

    python python/tests/distributions/record_answers.py
"""

import json
import math
import pathlib

import numpy as np
import scipy
import scipy.special
import scipy.stats as st
import torch
from cases import DIVERGENCES, MULTIVARIATE, OTHERS, SLOPES, UNIVARIATE

HERE = pathlib.Path(__file__).parent
PROBABILITIES = [i / 40 for i in range(1, 40)]


def by_density(density, low, high):
    """A distribution that scipy lacks: all else by numerical integrals of its density."""

    class Given(st.rv_continuous):
        def _pdf(self, x):
            return density(x)

    return Given(a=low, b=high)()


def continuous_bernoulli(probs):
    if probs == 0.5:
        return st.uniform()
    logit = math.log(probs) - math.log1p(-probs)
    # A truncated exponential, from the left or from the right.
    tail = st.truncexpon(b=abs(logit), scale=1 / abs(logit))
    return tail if logit < 0 else Mirrored(tail)


class Mirrored:
    """One minus the numbers of another."""

    def __init__(self, other):
        self.other = other

    def logpdf(self, x):
        return self.other.logpdf(1 - np.asarray(x))

    def cdf(self, x):
        return self.other.sf(1 - np.asarray(x))

    def ppf(self, p):
        return 1 - self.other.isf(p)

    def entropy(self):
        return self.other.entropy()

    def mean(self):
        return 1 - self.other.mean()

    def var(self):
        return self.other.var()


SCIPY = {
    "Normal": lambda loc, scale: st.norm(loc, scale),
    "LogNormal": lambda loc, scale: st.lognorm(scale, scale=math.exp(loc)),
    "HalfNormal": lambda scale: st.halfnorm(scale=scale),
    "Laplace": lambda loc, scale: st.laplace(loc, scale),
    "Cauchy": lambda loc, scale: st.cauchy(loc, scale),
    "HalfCauchy": lambda scale: st.halfcauchy(scale=scale),
    "Gumbel": lambda loc, scale: st.gumbel_r(loc, scale),
    "Uniform": lambda low, high: st.uniform(low, high - low),
    "Pareto": lambda scale, alpha: st.pareto(alpha, scale=scale),
    "Weibull": lambda scale, concentration: st.weibull_min(concentration, scale=scale),
    "Gamma": lambda concentration, rate: st.gamma(concentration, scale=1 / rate),
    "Chi2": lambda df: st.chi2(df),
    "Exponential": lambda rate: st.expon(scale=1 / rate),
    "Beta": lambda concentration1, concentration0: st.beta(concentration1, concentration0),
    "StudentT": lambda df, loc, scale: st.t(df, loc, scale),
    "FisherSnedecor": lambda df1, df2: st.f(df1, df2),
    "VonMises": lambda loc, concentration: st.vonmises(concentration, loc),
    "ContinuousBernoulli": continuous_bernoulli,
    "Kumaraswamy": lambda concentration1, concentration0: by_density(
        lambda x: concentration1
        * concentration0
        * x ** (concentration1 - 1)
        * (1 - x**concentration1) ** (concentration0 - 1),
        0.0,
        1.0,
    ),
    "Bernoulli": lambda probs: st.bernoulli(probs),
    "Geometric": lambda probs: st.geom(probs, loc=-1),
    "Binomial": lambda total_count, probs: st.binom(total_count, probs),
    "NegativeBinomial": lambda total_count, probs: st.nbinom(total_count, 1 - probs),
    "Poisson": lambda rate: st.poisson(rate),
}


def plain(value):
    """Numbers that JSON writes and reads exactly, others as text."""
    value = np.asarray(value).tolist()
    if isinstance(value, list):
        return [plain(one) for one in value]
    return float(value) if math.isfinite(value) else repr(float(value))


def univariate():
    found = {}
    for name, (settings, values) in UNIVARIATE.items():
        for setting in settings:
            law = SCIPY[name](**setting)
            log_prob = law.logpmf if hasattr(law, "dist") and isinstance(law.dist, st.rv_discrete) else law.logpdf
            points = np.unique(law.ppf(PROBABILITIES))
            answer = {
                "log_prob": plain(log_prob(np.array(values))),
                "cdf": plain(law.cdf(np.array(values))),
                "mean": plain(law.mean()),
                "variance": plain(law.var()),
                "points": plain(points),
                "below": plain(law.cdf(points)),
            }
            if name not in ("Poisson", "NegativeBinomial"):
                answer["entropy"] = plain(law.entropy())
            found.setdefault(name, []).append(answer)
    return found


def multivariate():
    found = {}
    for name, (settings, values) in MULTIVARIATE.items():
        for setting in settings:
            if name == "Dirichlet":
                law = st.dirichlet(setting["concentration"])
                answer = {"mean": law.mean(), "variance": law.var()}
            elif name == "Multinomial":
                law = st.multinomial(setting["total_count"], setting["probs"])
                answer = {"mean": setting["total_count"] * np.array(setting["probs"]), "variance": law.cov().diagonal()}
            else:
                cov = np.array(setting.get("covariance_matrix", 0.0))
                if name.startswith("Low"):
                    factor = np.array(setting["cov_factor"])
                    cov = factor @ factor.T + np.diag(setting["cov_diag"])
                law = st.multivariate_normal(setting["loc"], cov)
                answer = {"mean": np.array(setting["loc"]), "variance": cov.diagonal()}
            log_prob = law.logpmf if name == "Multinomial" else law.logpdf
            answer["log_prob"] = np.array([log_prob(value) for value in values])
            answer["entropy"] = np.array(law.entropy())
            found.setdefault(name, []).append({key: plain(value) for key, value in answer.items()})
    return found


def of_torch(name, setting):
    places = torch.distributions, torch.distributions.relaxed_bernoulli, torch.distributions.relaxed_categorical
    kind = next(getattr(place, name) for place in places if hasattr(place, name))
    tensors = {key: torch.tensor(value, dtype=torch.float64) for key, value in setting.items() if key != "total_count"}
    return kind(**{**setting, **tensors})


def others():
    return {
        name: [
            {"log_prob": plain(np.array([of_torch(name, setting).log_prob(torch.tensor(v, dtype=torch.float64)).item() for v in values]))}
            for setting in settings
        ]
        for name, (settings, values) in OTHERS.items()
    }


def divergences():
    return [
        plain(torch.distributions.kl_divergence(of_torch(p, of_p), of_torch(q, of_q)).item())
        for p, of_p, q, of_q in DIVERGENCES
    ]


def slopes():
    """The derivative of a quantile of gamma numbers by the shape, by differences of quantiles."""
    found = []
    for a, p in SLOPES:
        quantile = (lambda a: scipy.special.gammaincinv(a, p)) if p < 0.5 else (lambda a: scipy.special.gammainccinv(a, 1 - p))
        step = 2e-3 * a
        rows = [(quantile(a + step / 2**k) - quantile(a - step / 2**k)) / (2 * step / 2**k) for k in range(5)]
        for order in range(1, 5):
            rows = [(4**order * fine - coarse) / (4**order - 1) for coarse, fine in zip(rows, rows[1:])]
        found.append([plain(quantile(a)), plain(rows[0])])
    return found


if __name__ == "__main__":
    answers = {
        "made by": f"scipy {scipy.__version__}, torch {torch.__version__}",
        "univariate": univariate(),
        "multivariate": multivariate(),
        "others": others(),
        "divergences": divergences(),
        "slopes": slopes(),
    }
    (HERE / "answers.json").write_text(json.dumps(answers, indent=0) + "\n")
