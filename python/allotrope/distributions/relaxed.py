"""Continuous numbers that come near to discrete ones as a temperature falls, so that gradients go through
them."""

from __future__ import annotations

from typing import Any

from .. import random
from .._core import Tensor
from ..nn.functional import softplus
from . import constraints
from .categorical import Categories
from .composed import TransformedDistribution
from .discrete import ProbsOrLogits
from .distribution import broadcast_all
from .transforms import ExpTransform, SigmoidTransform


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logits of `RelaxedBernoulli`: logistic numbers around a logit, over the temperature.

    >>> al.distributions.LogitRelaxedBernoulli(1.0, logits=0.0).log_prob(al.tensor(0.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"temperature": constraints.positive, **ProbsOrLogits.arg_constraints}
    support = constraints.real
    has_rsample = True
    temperature: Tensor

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args, temperature=temperature)

    def _log_prob(self, value: Tensor) -> Tensor:
        away = self.logits - value * self.temperature
        return self.temperature.log() + away - 2 * softplus(away)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        logits = self.logits
        like: dict[str, Any] = {"dtype": logits.dtype, "device": logits.device}
        # The ratio of two exponential numbers is logistic in its logarithm.
        ratio = random.exponential(1.0, shape, **like).log() - random.exponential(1.0, shape, **like).log()
        return (logits + ratio) / self.temperature


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1, the nearer to both the lower the temperature.

    >>> al.distributions.RelaxedBernoulli(1.0, 0.5).log_prob(al.tensor(0.25)).exp()
    tensor(1.)
    """

    base_dist: LogitRelaxedBernoulli

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature.

        >>> al.distributions.RelaxedBernoulli(2.0, 0.5).temperature
        tensor(2.)
        """
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probability of 1 at the temperature 0.

        >>> al.distributions.RelaxedBernoulli(2.0, 0.5).probs
        tensor(0.5000)
        """
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logit of that probability.

        >>> al.distributions.RelaxedBernoulli(2.0, 0.5).logits
        tensor(0.)
        """
        return self.base_dist.logits


class ExpRelaxedCategorical(Categories):
    """The logarithms of `RelaxedOneHotCategorical`.

    >>> al.distributions.ExpRelaxedCategorical(1.0, al.ones(3)).rsample().exp().sum().round()
    tensor(1.)
    """

    arg_constraints = {"temperature": constraints.positive, **Categories.arg_constraints}
    support = constraints.real_vector
    has_rsample = True
    temperature: Tensor

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        like = next(iter(self._given().values()))
        self.temperature, _ = broadcast_all("ExpRelaxedCategorical", temperature, like[..., 0])
        if self.temperature.shape != self._batch_shape:
            raise ValueError(
                f"ExpRelaxedCategorical: temperature of shape {list(self.temperature.shape)}; "
                f"what broadcasts to the batch, {list(self._batch_shape)}, is accepted"
            )
        if self._validate_args:
            self._check("ExpRelaxedCategorical", "temperature", constraints.positive, self.temperature)

    def _log_prob(self, value: Tensor) -> Tensor:
        count = value.shape[-1]
        temperature = self.temperature.unsqueeze(-1)
        score = self.logits - value * temperature
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        constant = score.new_tensor(float(count)).lgamma()
        return score + constant + (count - 1) * self.temperature.log()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        logits = self.logits
        gumbel = -random.exponential(1.0, shape, dtype=logits.dtype, device=logits.device).log()
        return ((logits + gumbel) / self.temperature.unsqueeze(-1)).log_softmax(-1)

    def _entropy(self) -> Tensor:
        raise self._missing("entropy")


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares that sum up to one, the nearer to a single category the lower the temperature.

    >>> al.distributions.RelaxedOneHotCategorical(0.5, al.ones(3)).rsample().sum().round()
    tensor(1.)
    """

    base_dist: ExpRelaxedCategorical

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    support = constraints.simplex

    @property
    def temperature(self) -> Tensor:
        """The temperature.

        >>> al.distributions.RelaxedOneHotCategorical(2.0, al.ones(2)).temperature
        tensor(2.)
        """
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories at the temperature 0.

        >>> al.distributions.RelaxedOneHotCategorical(2.0, al.ones(2)).probs
        tensor([0.5000, 0.5000])
        """
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms.

        >>> al.distributions.RelaxedOneHotCategorical(2.0, al.ones(2)).logits
        tensor([-0.6931, -0.6931])
        """
        return self.base_dist.logits


__all__ = [
    "ExpRelaxedCategorical",
    "LogitRelaxedBernoulli",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]
