"""Gamma numbers and what is made of their ratios: beta, Dirichlet's, Student's and Fisher's distributions.

Logarithms of gamma numbers are drawn, so that small shapes do not vanish. Their derivative by the shape is
that of the number with the same share below it, which is an integral: Gauss' quadrature has it to eleven
digits, where the series of the incomplete function would need as many terms as the shape is great.
"""

from __future__ import annotations

import math
from typing import Any

from .. import _core, nn, random
from .._core import Tensor, igamma, where
from ..autograd import Function, once_differentiable
from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all, together


def _legendre(count: int) -> list[tuple[float, float]]:
    """Gauss' points between 0 and 1 and their weights: the zeros of Legendre's polynomial, by Newton."""
    found = []
    for number in range(count):
        x, slope = math.cos(math.pi * (number + 0.75) / (count + 0.5)), 1.0
        for _ in range(6):
            before, now = 1.0, x
            for k in range(1, count):
                before, now = now, ((2 * k + 1) * x * now - k * before) / (k + 1)
            slope = count * (x * now - before) / (x * x - 1)
            x -= now / slope
        found.append(((x + 1) / 2, 1 / ((1 - x * x) * slope * slope)))
    return found


_POINTS = _legendre(64)


def _log_slope(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of the logarithm of a gamma number by its shape, from 1 on.

    With t = x exp(±s) it is the integral over s of (log t - digamma(a)) times the density at t over that
    at x: below x for the lower half, above it for the upper one, where nothing cancels.
    """
    is_low = x <= a
    sign = where(is_low, -_core.ones_like(x), 1.0)
    away = (x - a).abs()
    # Where the integrand is below exp(-40).
    b = 2 * away - 40
    low = (-b + (b * b + 320 * a).sqrt()) / (2 * a)
    high = 80 / (away + (away * away + 80 * x).sqrt())
    reach = where(is_low, low, high)
    offset = x.log() - a.digamma()
    total = _core.zeros_like(x)
    for point, weight in _POINTS:
        s = sign * (reach * point)
        total = total + (offset + s) * (s * a - x * s.expm1()).exp() * weight
    return sign * total * reach


class _LogGamma(Function):
    """Logarithms of gamma numbers with shapes from 1 on."""

    @staticmethod
    def forward(ctx: Any, shape: Tensor) -> Tensor:
        x = random.gamma(shape.detach())
        ctx.save_for_backward(shape.detach(), x)
        return x.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * _log_slope(*ctx.saved_tensors)


def draw_log_gamma(concentration: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Logarithms of gamma numbers of this shape, as functions of the concentration."""
    a = concentration.expand(shape)
    great: Tensor = _LogGamma.apply(a + 1)
    # Of numbers one shape higher, times a uniform one to the power of one over the shape.
    return great - random.exponential(1.0, shape, dtype=a.dtype, device=a.device) / a


def lbeta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


def times_log(x: Tensor, y: Tensor) -> Tensor:
    """x log(y), and 0 where both are 0; its derivative by x is log(y) where x alone is 0, too."""
    return x * where((x == 0) & (y == 0), 1.0, y).log()


def times_log1p(x: Tensor, y: Tensor) -> Tensor:
    """x log(1 + y), and 0 where x and 1 + y are 0."""
    return x * where((x == 0) & (y == -1), 0.0, y).log1p()


class Gamma(ExponentialFamily):
    """Times to the `concentration`-th of events that come at a rate.

    >>> al.distributions.Gamma(1.0, 2.0).log_prob(al.tensor(0.5))
    tensor(-0.3069)
    >>> al.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _cancels = True
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all("Gamma", concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        return a * rate.log() + times_log(a - 1, value) - rate * value - a.lgamma()

    def _cdf(self, value: Tensor) -> Tensor:
        return igamma(self.concentration, self.rate * value)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (draw_log_gamma(self.concentration, shape) - self.rate.log()).exp()

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _mode(self) -> Tensor:
        return (self.concentration - 1).clamp(min=0.0) / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / (self.rate * self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return (x + 1).lgamma() - (x + 1) * (-y).log()

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0.0


class Chi2(Gamma):
    """Sums of `df` squares of normal numbers.

    >>> al.distributions.Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}
    df: Tensor

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_all("Chi2", df)
        Distribution.__init__(self, self.df.shape, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:  # type: ignore[override]
        """Half of df.

        >>> al.distributions.Chi2(3.0).concentration
        tensor(1.5000)
        """
        return self.df / 2

    @property
    def rate(self) -> Tensor:  # type: ignore[override]
        """One half.

        >>> al.distributions.Chi2(3.0).rate
        tensor(0.5000)
        """
        return _core.full_like(self.df, 0.5)


class Exponential(ExponentialFamily):
    """Times to the next of events that come at a rate.

    >>> al.distributions.Exponential(2.0).cdf(al.tensor(1.0))
    tensor(0.8647)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all("Exponential", rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-self.rate * value).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        rate = self.rate
        return random.exponential(1.0, shape, dtype=rate.dtype, device=rate.device) / rate

    def _mean(self) -> Tensor:
        return 1 / self.rate

    def _mode(self) -> Tensor:
        return _core.zeros_like(self.rate)

    def _variance(self) -> Tensor:
        return 1 / (self.rate * self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return -(-x).log()

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0.0


class Beta(ExponentialFamily):
    """Shares of one of two gamma numbers, between 0 and 1.

    >>> al.distributions.Beta(2.0, 2.0).log_prob(al.tensor(0.5))
    tensor(0.4055)
    >>> al.distributions.Beta(2.0, 6.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _cancels = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all("Beta", concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return times_log(a - 1, value) + times_log1p(b - 1, -value) - lbeta(a, b)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (draw_log_gamma(self.concentration1, shape) - draw_log_gamma(self.concentration0, shape)).sigmoid()

    def _mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    def _mode(self) -> Tensor:
        return _simplex_mode(_core.stack([self.concentration1, self.concentration0], -1))[..., 0]

    def _variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        total = a + b
        return a * b / (total * total * (total + 1))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return lbeta(x + 1, y + 1)

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0.0


def _simplex_mode(concentration: Tensor) -> Tensor:
    """The shares of greatest density; a corner where all concentrations are below one."""
    above = (concentration - 1).clamp(min=0.0)
    corner = nn.functional.one_hot(concentration.argmax(-1), concentration.shape[-1])
    is_corner = (concentration < 1).all(-1, keepdim=True)
    return where(is_corner, corner.to(above.dtype), above / above.sum(-1, keepdim=True))


class Dirichlet(ExponentialFamily):
    """Shares of several gamma numbers, which sum up to one along the last dimension.

    >>> al.distributions.Dirichlet(al.tensor([1.0, 1.0, 2.0])).mean
    tensor([0.2500, 0.2500, 0.5000])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _cancels = True
    concentration: Tensor

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        (self.concentration,) = together("Dirichlet", concentration)
        if self.concentration.ndim < 1:
            raise ValueError("Dirichlet: concentration has no dimensions; at least 1 is accepted")
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return times_log(a - 1, value).sum(-1) - self._log_normalizer(a - 1)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return draw_log_gamma(self.concentration, shape).softmax(-1)

    def _mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    def _mode(self) -> Tensor:
        return _simplex_mode(self.concentration)

    def _variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total * total * (total + 1))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        a = natural_params[0] + 1
        return a.lgamma().sum(-1) - a.sum(-1).lgamma()

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0.0


class StudentT(Distribution):
    """Normal numbers over the root of a mean of `df` squares of others, times a scale, from `loc` on.

    >>> al.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _cancels = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all("StudentT", df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    def _constant(self) -> Tensor:
        """The logarithm of the beta function of half of df and one half."""
        half = self.df / 2
        return half.lgamma() + math.log(math.pi) / 2 - (half + 0.5).lgamma()

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        return -(self.df + 1) / 2 * (y * y / self.df).log1p() - self.scale.log() - self.df.log() / 2 - self._constant()

    def _entropy(self) -> Tensor:
        half = self.df / 2
        digammas = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + digammas + self.df.log() / 2 + self._constant()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        half = self.df / 2
        mean_square = draw_log_gamma(half, shape) - half.log()
        normal = _core.randn(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * normal * (mean_square / -2).exp()

    def _mean(self) -> Tensor:
        return where(self.df > 1, self.loc, math.nan)

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        df = self.df
        finite = self.scale * self.scale * df / where(df > 2, df - 2, 1.0)
        return where(df > 2, finite, where(df > 1, math.inf, math.nan))


class FisherSnedecor(Distribution):
    """Ratios of a mean of `df1` squares of normal numbers to one of `df2`.

    >>> al.distributions.FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _cancels = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all("FisherSnedecor", df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        return a * ratio.log() + times_log(a - 1, value) - (a + b) * (ratio * value).log1p() - lbeta(a, b)

    def _entropy(self) -> Tensor:
        a, b, both = self.df1 / 2, self.df2 / 2, (self.df1 + self.df2) / 2
        digammas = (1 - a) * a.digamma() - (1 + b) * b.digamma() + both * both.digamma()
        return lbeta(a, b) + digammas + (b / a).log()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        first, second = draw_log_gamma(self.df1 / 2, shape), draw_log_gamma(self.df2 / 2, shape)
        return (first - second + (self.df2 / self.df1).log()).exp()

    def _mean(self) -> Tensor:
        df2 = self.df2
        return where(df2 > 2, df2 / where(df2 > 2, df2 - 2, 1.0), math.nan)

    def _mode(self) -> Tensor:
        df1, df2 = self.df1, self.df2
        return where(df1 > 2, (df1 - 2) / df1 * df2 / (df2 + 2), math.nan)

    def _variance(self) -> Tensor:
        df1 = self.df1
        df2 = where(self.df2 > 4, self.df2, 5.0)
        found = 2 * df2 * df2 * (df1 + df2 - 2) / (df1 * (df2 - 2) ** 2 * (df2 - 4))
        return where(self.df2 > 4, found, math.nan)


__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "StudentT"]
