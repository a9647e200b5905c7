"""Distributions of counts: Bernoulli's, geometric, binomial, negative binomial, Poisson's."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, random
from .._core import Tensor, finfo, igammac, where
from ..nn.functional import logsigmoid, softplus
from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all, exactly_one
from .gamma import draw_log_gamma, times_log


class ProbsOrLogits(Distribution):
    """What the distributions share that are told a probability, or its logit: exactly one of both.

    >>> al.distributions.Bernoulli(logits=0.0).probs
    tensor(0.5000)
    """

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None, **beside: Any) -> None:
        op = type(self).__name__
        name, value = exactly_one(op, probs=probs, logits=logits)
        value, *others = broadcast_all(op, value, *beside.values())
        self.__dict__.update({name: value}, **dict(zip(beside, others)))
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def probs(self) -> Tensor:
        """The probability, given or of the logit.

        >>> al.distributions.Bernoulli(logits=0.0).probs
        tensor(0.5000)
        """
        given: Tensor | None = self.__dict__.get("probs")
        return self._compute("_probs") if given is None else given

    @property
    def logits(self) -> Tensor:
        """The logit, given or of the probability: log(p / (1 - p)), of 0 and 1 that of what is next to them
        in the dtype.

        >>> al.distributions.Bernoulli(0.5).logits
        tensor(0.)
        """
        given: Tensor | None = self.__dict__.get("logits")
        return self._compute("_logits") if given is None else given

    def _probs(self) -> Tensor:
        return self.logits.sigmoid()

    def _logits(self) -> Tensor:
        eps = finfo(self.probs.dtype).eps
        probs = self.probs.clamp(eps, 1 - eps)
        return probs.log() - (-probs).log1p()

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities.

        >>> al.distributions.Bernoulli(al.ones(2) / 2).param_shape
        (2,)
        """
        return (self.probs if "probs" in self.__dict__ else self.logits).shape


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with a probability, else 0.

    >>> al.distributions.Bernoulli(0.25).log_prob(al.tensor([0.0, 1.0]))
    tensor([-0.2877, -1.3863])
    """

    support = constraints.boolean
    has_enumerate_support = True

    def _log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - softplus(self.logits)

    def _entropy(self) -> Tensor:
        return softplus(self.logits) - self.probs * self.logits

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return _core.bernoulli(self.probs.expand(shape))

    def _mean(self) -> Tensor:
        return self.probs

    def _mode(self) -> Tensor:
        probs = self.probs
        return where(probs == 0.5, math.nan, (probs > 0.5).to(probs.dtype))

    def _variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(2, expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return softplus(natural_params[0])


class Geometric(ProbsOrLogits):
    """The failures before the first success, each trial of which has a probability: from 0 on.

    >>> al.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and "probs" in self.__dict__:
            self._check("Geometric", "probs", constraints.greater_than(0), self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        return logsigmoid(self.logits) - value * softplus(self.logits)

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-(value.floor() + 1) * softplus(self.logits)).expm1()

    def _entropy(self) -> Tensor:
        return softplus(self.logits) / self.probs - self.logits

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        # Those of al.random count the success, too.
        return random.geometric(self.probs, shape) - 1

    def _mean(self) -> Tensor:
        return 1 / self.probs - 1

    def _mode(self) -> Tensor:
        return _core.zeros_like(self.probs)

    def _variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs


class Binomial(ProbsOrLogits):
    """The successes of `total_count` trials, each of which has a probability.

    >>> al.distributions.Binomial(4, 0.5).log_prob(al.tensor(2.0)).exp()
    tensor(0.3750)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _cancels = True
    total_count: Tensor

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def _entropy(self) -> Tensor:
        log_prob = self._log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return random.binomial(self.total_count, self.probs, shape)

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    def _variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = int(self.total_count.max()) if self.total_count.numel() else 0
        if not bool((self.total_count == count).all()):
            raise NotImplementedError("enumerate_support: total counts differ; equal ones are accepted")
        return self._enumerated(count + 1, expand)


class NegativeBinomial(ProbsOrLogits):
    """The successes before so many failures, each trial of which succeeds with a probability.

    >>> al.distributions.NegativeBinomial(2.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _cancels = True
    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args, total_count=total_count)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        # Without failures to wait for there are no successes.
        ways = where((n == 0) & (value == 0), 0.0, ways)
        return ways - n * softplus(self.logits) + value * logsigmoid(self.logits)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        n = self.total_count
        log_rate = draw_log_gamma(where(n == 0, 1.0, n), shape) + self.logits
        return random.poisson(where(n == 0, 0.0, log_rate.exp()))

    def _mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    def _mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    def _variance(self) -> Tensor:
        return self._mean() * (1 + self.logits.exp())


class Poisson(ExponentialFamily):
    """How many events come in a unit of time, at a rate.

    >>> al.distributions.Poisson(2.0).log_prob(al.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _cancels = True
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all("Poisson", rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        return times_log(value, self.rate) - self.rate - (value + 1).lgamma()

    def _cdf(self, value: Tensor) -> Tensor:
        return igammac(value.floor() + 1, self.rate)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return random.poisson(self.rate, shape)

    def _mean(self) -> Tensor:
        return self.rate

    def _mode(self) -> Tensor:
        return self.rate.floor()

    def _variance(self) -> Tensor:
        return self.rate

    def _entropy(self) -> Tensor:
        raise self._missing("entropy")

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].exp()


__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson", "ProbsOrLogits"]
