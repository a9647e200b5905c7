"""Distributions between bounds, or from one on: uniform, Pareto's, Weibull's, Kumaraswamy's, the continuous
Bernoulli's, and von Mises' on a circle."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, nn, random
from .._core import Tensor, where
from . import constraints
from .discrete import ProbsOrLogits
from .distribution import EULER, Distribution, broadcast_all
from .gamma import lbeta, times_log


class Uniform(Distribution):
    """Numbers between two bounds, all with the same density.

    >>> al.distributions.Uniform(1.0, 3.0).log_prob(al.tensor(2.0))
    tensor(-0.6931)
    """

    arg_constraints = {"low": constraints.real, "high": constraints.real}
    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all("Uniform", low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args:
            self._check("Uniform", "high", constraints.greater_than(self.low), self.high)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def _log_prob(self, value: Tensor) -> Tensor:
        is_within = (value >= self.low) & (value <= self.high)
        return where(is_within, -(self.high - self.low).log(), -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.low + value * (self.high - self.low)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self._icdf(_core.rand(shape, dtype=self.low.dtype, device=self.low.device))

    def _entropy(self) -> Tensor:
        return (self.high - self.low).log()

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2

    def _mode(self) -> Tensor:
        return self.low * math.nan

    def _variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12


class Pareto(Distribution):
    """Numbers from `scale` on that exceed each multiple with a power of it, alpha, as probability.

    >>> al.distributions.Pareto(1.0, 2.0).cdf(al.tensor(2.0))
    tensor(0.7500)
    """

    arg_constraints = {"scale": constraints.positive, "alpha": constraints.positive}
    has_rsample = True
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all("Pareto", scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def _log_prob(self, value: Tensor) -> Tensor:
        found = self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()
        return where(value >= self.scale, found, -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return -(self.alpha * (self.scale / value).clamp(max=1.0).log()).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        drawn = random.exponential(1.0, shape, dtype=self.scale.dtype, device=self.scale.device)
        return self.scale * (drawn / self.alpha).exp()

    def _entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha

    def _mean(self) -> Tensor:
        a = self.alpha
        return where(a > 1, a * self.scale / where(a > 1, a - 1, 1.0), math.inf)

    def _mode(self) -> Tensor:
        return self.scale

    def _variance(self) -> Tensor:
        a = where(self.alpha > 2, self.alpha, 3.0)
        return where(self.alpha > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)


class Weibull(Distribution):
    """Times to a failure whose rate changes as a power of the time, concentration - 1.

    >>> al.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _cancels = True
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all("Weibull", scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        log = (value / self.scale).log()
        return (k / self.scale).log() + (k - 1) * log - (k * log).exp()

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        drawn = random.exponential(1.0, shape, dtype=self.scale.dtype, device=self.scale.device)
        return self.scale * drawn ** (1 / self.concentration)

    def _entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1

    def _moment(self, order: int) -> Tensor:
        return (1 + order / self.concentration).lgamma().exp()

    def _mean(self) -> Tensor:
        return self.scale * self._moment(1)

    def _mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1).clamp(min=0.0) / k) ** (1 / k)

    def _variance(self) -> Tensor:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)


class Kumaraswamy(Distribution):
    """Numbers between 0 and 1, much like those of a beta distribution, with a simple inverse.

    >>> al.distributions.Kumaraswamy(2.0, 1.0).cdf(al.tensor(0.5))
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _cancels = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all("Kumaraswamy", concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        # One minus a power of the value.
        rest = -(a * value.log()).expm1()
        return a.log() + b.log() + times_log(a - 1, value) + times_log(b - 1, rest)

    def _cdf(self, value: Tensor) -> Tensor:
        rest = -(self.concentration1 * value.log()).expm1()
        return -(self.concentration0 * rest.log()).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return self._at(-(-value).log1p())

    def _at(self, x: Tensor) -> Tensor:
        """The number above which are as many as of exponential ones above x."""
        return (-(-x / self.concentration0).expm1()) ** (1 / self.concentration1)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        like = self.concentration1
        return self._at(random.exponential(1.0, shape, dtype=like.dtype, device=like.device))

    def _moment(self, order: int) -> Tensor:
        b = self.concentration0
        return b * lbeta(1 + order / self.concentration1, b).exp()

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()

    def _mean(self) -> Tensor:
        return self._moment(1)

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return where((a >= 1) & (b >= 1), ((a - 1) / (a * b - 1)) ** (1 / a), math.nan)

    def _variance(self) -> Tensor:
        return self._moment(2) - self._moment(1) ** 2


class ContinuousBernoulli(ProbsOrLogits):
    """Numbers between 0 and 1 with a density that is a power: probs ** x · (1 - probs) ** (1 - x), over its
    integral.

    >>> al.distributions.ContinuousBernoulli(0.5).log_prob(al.tensor(0.25))
    tensor(0.)
    """

    support = constraints.unit_interval
    has_rsample = True
    _cancels = True

    def _log_norm(self) -> Tensor:
        """The logarithm of one over the integral."""
        x = self.logits
        return where(x == 0, 2.0, x / where(x == 0, 1.0, (x / 2).tanh())).log()

    def _log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - nn.functional.softplus(self.logits) + self._log_norm()

    def _cdf(self, value: Tensor) -> Tensor:
        x, v = self.logits, value.clamp(0.0, 1.0)
        # Of the absolute value, so that nothing overflows.
        size = where(x == 0, 1.0, x.abs())
        low = (-size * v).expm1() / (-size).expm1()
        high = (-size * (1 - v)).exp() * low
        return where(x == 0, v, where(x < 0, low, high))

    def _icdf(self, value: Tensor) -> Tensor:
        x = self.logits
        size = where(x == 0, 1.0, x.abs())
        share = where(x < 0, value, 1 - value)
        low = -(share * (-size).expm1()).log1p() / size
        return where(x == 0, value, where(x < 0, low, 1 - low))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        like = self.logits
        return self._icdf(_core.rand(shape, dtype=like.dtype, device=like.device))

    def _entropy(self) -> Tensor:
        return nn.functional.softplus(self.logits) - self.logits * self._mean() - self._log_norm()

    def _mean(self) -> Tensor:
        x = self.logits
        is_small = x.abs() < 0.1
        y, z = where(is_small, x, 0.0), where(is_small, 1.0, x)
        square = y * y
        near = 0.5 + y * (1 / 12 - square * (1 / 720 - square * (1 / 30240 - square / 1209600)))
        return where(is_small, near, -1 / (-z).expm1() - 1 / z)

    def _variance(self) -> Tensor:
        x = self.logits
        is_small = x.abs() < 0.3
        y, z = where(is_small, x, 0.0), where(is_small, 1.0, x)
        square = y * y
        near = 1 / 12 - square * (1 / 240 - square * (1 / 6048 - square * (1 / 172800 - square / 5322240)))
        return where(is_small, near, 1 / (z * z) - 0.25 / (z / 2).sinh() ** 2)


class VonMises(Distribution):
    """Angles around `loc`, from -π to π; the greater the concentration, the nearer. The variance is the
    circular one.

    >>> al.distributions.VonMises(0.0, 2.0).log_prob(al.tensor(0.0))
    tensor(-0.6619)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _cancels = True
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all("VonMises", loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        half = ((value - self.loc) / 2).sin()
        return -2 * self.concentration * half * half - math.log(2 * math.pi) - self.concentration.i0e().log()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        """Best's and Fisher's rejection from wrapped Cauchy numbers: what is refused is drawn again."""
        k = self.concentration.expand(shape).reshape(-1)
        root = (1 + 4 * k * k).sqrt()
        # 1 + r = 1 + (1 + √(1 + 4k²)) / 2k and its kin, without the difference that loses small k.
        rho = 2 * k / (1 + root + (2 * (1 + root)).sqrt())
        r = where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
        found = _core.zeros_like(k)
        left = _core.arange(k.numel(), device=k.device)
        while left.numel():
            u = _core.rand((3, left.numel()), dtype=k.dtype, device=k.device)
            r_left = r[left]
            z = (math.pi * u[0]).cos()
            f = (1 + r_left * z) / (r_left + z)
            c = k[left] * (r_left - f)
            is_taken = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 - c >= 0)
            angle = f.clamp(-1.0, 1.0).acos() * (u[2] - 0.5).sign()
            found = found.index_put((left[is_taken],), angle[is_taken])
            left = left[~is_taken]
        angle = found.reshape(shape) + self.loc
        return (angle + math.pi).remainder(2 * math.pi) - math.pi

    def _entropy(self) -> Tensor:
        k = self.concentration
        return math.log(2 * math.pi) + k.i0e().log() + k * self._variance()

    def _mean(self) -> Tensor:
        return self.loc

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        return 1 - self.concentration.i1e() / self.concentration.i0e()


__all__ = ["ContinuousBernoulli", "Kumaraswamy", "Pareto", "Uniform", "VonMises", "Weibull"]
