"""Standard numbers times a scale, from a location on: normal, Laplace's, Cauchy's, Gumbel's; the halves of
two of them, and the exponential of the first."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, random
from .._core import Tensor, where
from .._special import ndtri
from . import constraints
from .distribution import EULER, HALF_LOG_2PI, Distribution, ExponentialFamily, broadcast_all


class LocationScale(Distribution):
    """What the families with a location and a scale share: formulas of standard numbers, which have the
    location zero and the scale one.

    >>> isinstance(al.distributions.Laplace(0.0, 1.0), al.distributions.location_scale.LocationScale)
    True
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor
    # Of standard numbers.
    _standard = {"mean": 0.0, "mode": 0.0, "variance": 1.0, "entropy": 0.0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(type(self).__name__, loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        raise self._missing("log_prob")

    def _standard_cdf(self, z: Tensor) -> Tensor:
        raise self._missing("cdf")

    def _standard_icdf(self, p: Tensor) -> Tensor:
        raise self._missing("icdf")

    def _standard_draw(self, shape: tuple[int, ...], like: dict[str, Any]) -> Tensor:
        raise self._missing("sample")

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._standard_log_prob((value - self.loc) / self.scale) - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return self._standard_cdf((value - self.loc) / self.scale)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self._standard_icdf(value)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        drawn = self._standard_draw(shape, {"dtype": self.loc.dtype, "device": self.loc.device})
        return self.loc + self.scale * drawn

    def _entropy(self) -> Tensor:
        return self.scale.log() + self._standard["entropy"]

    def _mean(self) -> Tensor:
        return self.loc + self.scale * self._standard["mean"]

    def _mode(self) -> Tensor:
        return self.loc + self.scale * self._standard["mode"]

    def _variance(self) -> Tensor:
        return self.scale * self.scale * self._standard["variance"]

    def _stddev(self) -> Tensor:
        return self.scale * math.sqrt(self._standard["variance"])


class Normal(LocationScale, ExponentialFamily):
    """Normal numbers of a mean `loc` and a standard deviation `scale`.

    >>> al.distributions.Normal(0.0, 1.0).log_prob(al.tensor([0.0, 1.0]))
    tensor([-0.9189, -1.4189])
    >>> al.distributions.Normal(0.0, 1.0).icdf(al.tensor(0.975))
    tensor(1.9600)
    """

    _standard = {"mean": 0.0, "mode": 0.0, "variance": 1.0, "entropy": 0.5 + HALF_LOG_2PI}

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return z * z * -0.5 - HALF_LOG_2PI

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return _core.ndtr(z)

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return ndtri(p)

    def _standard_draw(self, shape: tuple[int, ...], like: dict[str, Any]) -> Tensor:
        return _core.randn(shape, **like)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        precision = 1 / (self.scale * self.scale)
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return -0.25 * x * x / y + 0.5 * (-math.pi / y).log()

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0.0


class Laplace(LocationScale):
    """Exponential numbers to both sides of `loc`.

    >>> al.distributions.Laplace(0.0, 1.0).cdf(al.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8161])
    """

    _standard = {"mean": 0.0, "mode": 0.0, "variance": 2.0, "entropy": 1 + math.log(2.0)}

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -z.abs() - math.log(2.0)

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return where(z < 0, z.clamp(max=0.0).exp() / 2, 1 - (-z.clamp(min=0.0)).exp() / 2)

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return where(p < 0.5, (2 * p.clamp(max=0.5)).log(), -(2 - 2 * p.clamp(min=0.5)).log())

    def _standard_draw(self, shape: tuple[int, ...], like: dict[str, Any]) -> Tensor:
        return random.laplace(0.0, 1.0, shape, **like)


class Cauchy(LocationScale):
    """Ratios of normal numbers: half are within `scale` of `loc`, and there is no mean.

    >>> al.distributions.Cauchy(0.0, 1.0).icdf(al.tensor([0.25, 0.75]))
    tensor([-1.,  1.])
    """

    _standard = {"mean": math.nan, "mode": 0.0, "variance": math.inf, "entropy": math.log(4 * math.pi)}

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -(z * z).log1p() - math.log(math.pi)

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return _core.atan2(_core.ones_like(z), -z) / math.pi

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return ((p - 0.5) * math.pi).tan()

    def _standard_draw(self, shape: tuple[int, ...], like: dict[str, Any]) -> Tensor:
        return random.cauchy(0.0, 1.0, shape, **like)


class Gumbel(LocationScale):
    """The greatest of many numbers.

    >>> al.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    _standard = {"mean": EULER, "mode": 0.0, "variance": math.pi**2 / 6, "entropy": 1 + EULER}

    def _standard_log_prob(self, z: Tensor) -> Tensor:
        return -z - (-z).exp()

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return (-(-z).exp()).exp()

    def _standard_icdf(self, p: Tensor) -> Tensor:
        return -(-p.log()).log()

    def _standard_draw(self, shape: tuple[int, ...], like: dict[str, Any]) -> Tensor:
        return -random.exponential(1.0, shape, **like).log()


class _Half(Distribution):
    """The absolute values of numbers whose location is zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale: Tensor
    _whole: type[LocationScale]
    _standard = {"mean": math.inf, "variance": math.inf, "entropy": 0.0}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(type(self).__name__, scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _both(self) -> LocationScale:
        return self._whole(_core.zeros_like(self.scale), self.scale, validate_args=False)

    def _log_prob(self, value: Tensor) -> Tensor:
        found = self._both().log_prob(value) + math.log(2.0)
        return where(value >= 0, found, -math.inf)

    def _icdf(self, value: Tensor) -> Tensor:
        return self._both()._icdf((value + 1) / 2)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self._both()._draw(shape).abs()

    def _entropy(self) -> Tensor:
        return self._both()._entropy() - math.log(2.0)

    def _mean(self) -> Tensor:
        return self.scale * self._standard["mean"]

    def _mode(self) -> Tensor:
        return _core.zeros_like(self.scale)

    def _variance(self) -> Tensor:
        return self.scale * self.scale * self._standard["variance"]


class HalfNormal(_Half):
    """Absolute values of normal numbers with the mean zero.

    >>> al.distributions.HalfNormal(1.0).cdf(al.tensor(1.0))
    tensor(0.6827)
    """

    _whole = Normal
    _standard = {"mean": math.sqrt(2 / math.pi), "variance": 1 - 2 / math.pi}

    def _cdf(self, value: Tensor) -> Tensor:
        return (value / (self.scale * math.sqrt(2.0))).clamp(min=0.0).erf()

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * math.sqrt(2.0) * value.erfinv()


class HalfCauchy(_Half):
    """Absolute values of Cauchy's numbers around zero.

    >>> al.distributions.HalfCauchy(2.0).cdf(al.tensor(2.0))
    tensor(0.5000)
    """

    _whole = Cauchy

    def _cdf(self, value: Tensor) -> Tensor:
        return (value / self.scale).clamp(min=0.0).atan() * (2 / math.pi)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (value * (math.pi / 2)).tan()


class LogNormal(LocationScale):
    """Exponentials of normal numbers of a mean `loc` and a standard deviation `scale`.

    >>> al.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    support = constraints.positive

    def _normal(self) -> Normal:
        return Normal(self.loc, self.scale, validate_args=False)

    def _log_prob(self, value: Tensor) -> Tensor:
        log = value.log()
        return self._normal()._log_prob(log) - log

    def _cdf(self, value: Tensor) -> Tensor:
        return self._normal()._cdf(value.log())

    def _icdf(self, value: Tensor) -> Tensor:
        return self._normal()._icdf(value).exp()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self._normal()._draw(shape).exp()

    def _entropy(self) -> Tensor:
        return self._normal()._entropy() + self.loc

    def _mean(self) -> Tensor:
        return (self.loc + self.scale * self.scale / 2).exp()

    def _mode(self) -> Tensor:
        return (self.loc - self.scale * self.scale).exp()

    def _variance(self) -> Tensor:
        square = self.scale * self.scale
        return square.expm1() * (2 * self.loc + square).exp()

    def _stddev(self) -> Tensor:
        return self._variance().sqrt()


__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "LocationScale", "LogNormal", "Normal"]
