"""Kullback's and Leibler's divergence of two distributions: a rule for a pair of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core, linalg
from .._core import Tensor, where
from ..nn.functional import softplus
from .bounded import ContinuousBernoulli, Pareto, Uniform
from .categorical import Categorical, Categories, OneHotCategorical
from .composed import Independent, TransformedDistribution
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .distribution import EULER, Distribution, ExponentialFamily, rounded
from .gamma import Beta, Exponential, Gamma
from .location_scale import Cauchy, Gumbel, HalfNormal, Laplace, LogNormal, Normal
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, half_log_det
from .transform import sum_rightmost

Rule = TypeVar("Rule", bound=Callable[[Any, Any], Tensor])
_RULES: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator for the rule of a pair of classes. It sees parameters in the dtype to compute in; of
    several rules that fit, that of the nearest bases is taken.

    >>> D = al.distributions
    >>> class Fixed(D.Normal):
    ...     pass
    >>> @D.register_kl(Fixed, Fixed)
    ... def rule(p, q):
    ...     return al.zeros(p.batch_shape)
    >>> D.kl_divergence(Fixed(0.0, 1.0), Fixed(1.0, 1.0))
    tensor(0.)
    """
    for given in (type_p, type_q):
        if not isinstance(given, type) or not issubclass(given, Distribution):
            raise TypeError(f"register_kl: not a distribution: {given!r}; subclasses of Distribution are accepted")

    def register(rule: Rule) -> Rule:
        _RULES[type_p, type_q] = rule
        return rule

    return register


def _rule(p: type, q: type) -> Callable[[Any, Any], Tensor]:
    """The rule of the nearest bases: of the first class, then of the second."""
    for base_p in p.__mro__:
        for base_q in q.__mro__:
            if (base_p, base_q) in _RULES:
                return _RULES[base_p, base_q]
    raise NotImplementedError(
        f"kl_divergence: no rule for {p.__name__} and {q.__name__} (hint: al.distributions.register_kl)"
    )


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean of log p(x) - log q(x) over numbers of p, in the batch shape and in the dtype in which both
    meet; infinite where q lacks what p has.

    >>> D = al.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    rule = _rule(type(p), type(q))
    dtype = _core.promote_types(p.dtype, q.dtype)
    wide = _core.promote_types(p._wide(dtype), q._wide(dtype))
    return rounded(rule(p._in(wide), q._in(wide)), dtype)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_families(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence: no rule for {type(p).__name__} and {type(q).__name__} "
            "(hint: al.distributions.register_kl)"
        )
    natural, normalizer, slopes = p._normalized()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for mine, other, slope in zip(natural, others, slopes):
        part = (other - mine) * slope
        result = result - sum_rightmost(part, part.ndim - result.ndim)
    return result if q._with_history(result) is result else p._with_history(result)


@register_kl(Normal, Normal)
def _normals(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    away = ((p.loc - q.loc) / q.scale) ** 2
    return (ratio + away - 1 - ratio.log()) / 2


@register_kl(LogNormal, LogNormal)
def _log_normals(p: LogNormal, q: LogNormal) -> Tensor:
    return _normals(p._normal(), q._normal())


@register_kl(HalfNormal, HalfNormal)
def _half_normals(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return (ratio - 1 - ratio.log()) / 2


@register_kl(Laplace, Laplace)
def _laplaces(p: Laplace, q: Laplace) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchys(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbels(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + EULER * (ratio - 1) + away + ((1 + ratio).lgamma() - away).exp() - 1


@register_kl(Exponential, Exponential)
def _exponentials(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return _exponential_families(Gamma(_core.ones_like(p.rate), p.rate, validate_args=False), _plain(q))


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return _exponential_families(_plain(p), Gamma(_core.ones_like(q.rate), q.rate, validate_args=False))


def _plain(p: Gamma) -> Gamma:
    return Gamma(p.concentration, p.rate, validate_args=False)


@register_kl(Gamma, Gamma)
def _gammas(p: Gamma, q: Gamma) -> Tensor:
    return _exponential_families(_plain(p), _plain(q))


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    more = softplus(q.logits) - softplus(p.logits)
    fewer = softplus(-q.logits) - softplus(-p.logits)
    found = p.probs * fewer + (1 - p.probs) * more
    return where((q.probs == 0) & (p.probs > 0) | (q.probs == 1) & (p.probs < 1), math.inf, found)


@register_kl(Binomial, Binomial)
def _binomials(p: Binomial, q: Binomial) -> Tensor:
    n = p.total_count
    if bool((n < q.total_count).any()):
        raise NotImplementedError("kl_divergence: a binomial of fewer trials; equal numbers are accepted")
    found = n * (p.probs * (p.logits - q.logits) + softplus(q.logits) - softplus(p.logits))
    return where(n > q.total_count, math.inf, found)


@register_kl(Geometric, Geometric)
def _geometrics(p: Geometric, q: Geometric) -> Tensor:
    return -p._entropy() + softplus(q.logits) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poissons(p: Poisson, q: Poisson) -> Tensor:
    return p.rate.xlogy(p.rate) - p.rate.xlogy(q.rate) - (p.rate - q.rate)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoullis(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return -p._entropy() - q.logits * p._mean() + softplus(q.logits) - q._log_norm()


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categoricals(p: Categories, q: Categories) -> Tensor:
    parts = p.probs * (p.logits - q.logits)
    parts = where(q.probs == 0, math.inf, parts)
    return where(p.probs == 0, 0.0, parts).sum(-1)


@register_kl(Uniform, Uniform)
def _uniforms(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    square = p._variance() + (p._mean() - q.loc) ** 2
    return -p._entropy() + q.scale.log() + math.log(2 * math.pi) / 2 + square / (2 * q.scale**2)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Laplace, q: Normal) -> Tensor:
    square = p._variance() + (p.loc - q.loc) ** 2
    return -p._entropy() + q.scale.log() + math.log(2 * math.pi) / 2 + square / (2 * q.scale**2)


@register_kl(Pareto, Pareto)
def _paretos(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, math.inf, found)


@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Normal, Beta)
@register_kl(Normal, Uniform)
@register_kl(Normal, Pareto)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Gamma)
@register_kl(Laplace, Uniform)
@register_kl(Exponential, Beta)
@register_kl(Exponential, Uniform)
@register_kl(Gamma, Beta)
@register_kl(Gamma, Uniform)
@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _beyond(p: Distribution, q: Distribution) -> Tensor:
    """Numbers that the other never draws."""
    like = p.mean
    return like.new_full(_core.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf)


def _vectors(p: Any, q: Any, tril: Tensor) -> Tensor:
    """Of normal vectors, from the second's Cholesky factor."""
    size = tril.shape[-1]
    batch = _core.broadcast_shapes(tril.shape[:-2], p.batch_shape)
    tril = tril.expand((*batch, size, size))
    away = (p.loc - q.loc).expand((*batch, size)).unsqueeze(-1)
    both = _core.cat([p._scale_tril().expand((*batch, size, size)), away], -1)
    solved = linalg.solve_triangular(tril, both, upper=False)
    return half_log_det(tril) - half_log_det(p._scale_tril()) + ((solved * solved).sum((-2, -1)) - size) / 2


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _normal_vectors(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"kl_divergence: vectors of {p.event_shape[0]} and {q.event_shape[0]}; equal sizes are accepted"
        )
    return _vectors(p, q, q._scale_tril())


@register_kl(Independent, Independent)
def _independents(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: events of other dimensions; equal ones are accepted")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: other transforms; equal ones are accepted")
    return kl_divergence(p.base_dist, q.base_dist)


__all__ = ["kl_divergence", "register_kl"]
