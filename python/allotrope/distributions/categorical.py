"""Distributions over a number of categories, which are the last dimension of the parameters."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, finfo
from ..nn.functional import one_hot
from . import constraints
from .discrete import Binomial
from .distribution import Distribution, exactly_one, rounded, together


class Categories(Distribution):
    """What the distributions share that are told probabilities of categories, which need not sum up to one,
    or their logarithms: exactly one of both.

    >>> al.distributions.Multinomial(2, logits=al.zeros(2)).probs
    tensor([0.5000, 0.5000])
    """

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    # Whether events are vectors of as many numbers as there are categories.
    _has_vectors: bool = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        op = type(self).__name__
        name, value = exactly_one(op, probs=probs, logits=logits)
        (value,) = together(op, value)
        if value.ndim < 1:
            raise ValueError(f"{op}: {name} has no dimensions; at least 1 is accepted")
        wide = value.float() if value.dtype.bits < 32 else value
        wide = wide / wide.sum(-1, keepdim=True) if name == "probs" else wide - wide.logsumexp(-1, keepdim=True)
        self.__dict__[name] = rounded(wide, value.dtype)
        super().__init__(value.shape[:-1], value.shape[-1:] if self._has_vectors else (), validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities, whose sum is one.

        >>> al.distributions.Categorical(al.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
        """
        given: Tensor | None = self.__dict__.get("probs")
        return self._compute("_probs") if given is None else given

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities; of zero that of the least number next to it.

        >>> al.distributions.Categorical(al.tensor([1.0, 1.0])).logits
        tensor([-0.6931, -0.6931])
        """
        given: Tensor | None = self.__dict__.get("logits")
        return self._compute("_logits") if given is None else given

    def _probs(self) -> Tensor:
        return self.logits.softmax(-1)

    def _logits(self) -> Tensor:
        eps = finfo(self.probs.dtype).eps
        return self.probs.clamp(eps, 1 - eps).log()

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities.

        >>> al.distributions.Categorical(al.ones(2, 3)).param_shape
        (2, 3)
        """
        return (self.probs if "probs" in self.__dict__ else self.logits).shape

    def _at(self, index: Tensor) -> Tensor:
        """The logarithm of the probability of an index."""
        logits = self.logits
        shape = _core.broadcast_shapes(index.shape, logits.shape[:-1])
        index = index.long().expand(shape).unsqueeze(-1)
        return logits.expand((*shape, logits.shape[-1])).gather(-1, index).squeeze(-1)

    def _entropy(self) -> Tensor:
        # Where there is no probability the logarithm does not count.
        return -(self.probs * self.logits.clamp(min=finfo(self.logits.dtype).min)).sum(-1)

    def _index(self, shape: tuple[int, ...]) -> Tensor:
        """Indices of this shape, which ends in that of the batch."""
        probs = self.probs
        count = math.prod(shape[: len(shape) - probs.ndim + 1])
        flat = probs.reshape(-1, probs.shape[-1])
        if not flat.shape[0] or not count:
            return _core.empty(shape, dtype=_core.int64, device=probs.device)
        return _core.multinomial(flat, count, True).T.reshape(shape)

    def _most(self) -> Tensor:
        """The index of the most probable category."""
        return (self.probs if "probs" in self.__dict__ else self.logits).argmax(-1)


class Categorical(Categories):
    """An index into weights, by their shares: `probs` need not sum up to one, `logits` are logarithms.

    >>> al.distributions.Categorical(al.tensor([1.0, 3.0])).log_prob(al.tensor(1))
    tensor(-0.2877)
    >>> al.distributions.Categorical(al.tensor([0.0, 1.0])).sample((3,))
    tensor([1, 1, 1])
    """

    has_enumerate_support = True
    _has_vectors = False

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.param_shape[-1] - 1)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._at(value)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self._index(shape)

    def _mean(self) -> Tensor:
        return self.probs.new_full(self._batch_shape, math.nan)

    def _variance(self) -> Tensor:
        return self._mean()

    def _mode(self) -> Tensor:
        return self._most()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(self.param_shape[-1], expand).long()


class OneHotCategorical(Categories):
    """One of several categories, as a vector that has 1 there and 0 elsewhere.

    >>> al.distributions.OneHotCategorical(al.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    has_enumerate_support = True

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.one_hot

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._at(value.argmax(-1))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return one_hot(self._index(shape[:-1]), shape[-1]).to(self.dtype)

    def _mean(self) -> Tensor:
        return self.probs

    def _mode(self) -> Tensor:
        return one_hot(self._most(), self.param_shape[-1]).to(self.dtype)

    def _variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._event_shape[0]
        values = _core.eye(count, dtype=self.dtype, device=self._device())
        values = values.reshape(count, *(1,) * len(self._batch_shape), count)
        return values.expand((count, *self._batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One of several categories, through whose draws gradients go as through the probabilities.

    >>> probs = al.tensor([0.0, 1.0], requires_grad=True)
    >>> al.distributions.OneHotCategoricalStraightThrough(probs).rsample()[0].backward()
    >>> probs.grad
    tensor([1., 0.])
    """

    has_rsample = True

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        probs = self.probs
        return super()._draw(shape).detach() + (probs - probs.detach())


class Multinomial(Categories):
    """How often each of several categories comes in `total_count` draws.

    >>> al.distributions.Multinomial(2, al.tensor([1.0, 1.0])).log_prob(al.tensor([1.0, 1.0]))
    tensor(-0.6931)
    """

    _cancels = True
    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int) or total_count < 0:
            raise ValueError(f"Multinomial: wrong total_count: {total_count!r}; integers from 0 on are accepted")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def _log_prob(self, value: Tensor) -> Tensor:
        parts = value * self.logits - (value + 1).lgamma()
        return parts.sum(-1) + math.lgamma(self.total_count + 1)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        batch = len(self._batch_shape)
        outer = shape[: len(shape) - batch - 1]
        index = self._index((*outer, self.total_count, *shape[len(outer) : -1])).movedim(len(outer), -1)
        counts = _core.zeros(shape, dtype=self.probs.dtype, device=index.device)
        return counts.scatter_add(-1, index, _core.ones_like(index, dtype=counts.dtype))

    def _entropy(self) -> Tensor:
        n = self.total_count
        # Of the counts of each category alone, which are binomial.
        counts = _core.arange(1, n + 1, dtype=self.probs.dtype, device=self._device())
        counts = counts.reshape(n, *(1,) * (len(self._batch_shape) + 1))
        chances = Binomial(n, self.probs, validate_args=False)._log_prob(counts).exp()
        orders = (chances * (counts + 1).lgamma()).sum(0).sum(-1)
        return n * super()._entropy() - math.lgamma(n + 1) + orders

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)


__all__ = ["Categorical", "Categories", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]
