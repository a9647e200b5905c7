"""Distributions that are made of others: with events of more dimensions, behind transforms, and mixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from . import constraints
from .distribution import Distribution, sizes
from .transform import ComposeTransform, Transform, sum_rightmost

if TYPE_CHECKING:
    from typing_extensions import Self


class _Composed(Distribution):
    """A distribution whose parameters are those of others."""

    def _parts(self) -> dict[str, Distribution]:
        """The others, by the names of attributes."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Distribution)}

    @property
    def dtype(self) -> Any:
        """The dtype in which the parameters of all parts meet.

        >>> D = al.distributions
        >>> D.Independent(D.Normal(al.zeros(2, dtype=al.float64), 1.0), 1).dtype
        allotrope.float64
        """
        return _core.result_type(*(part.dtype for part in self._parts().values()))

    def _device(self) -> Any:
        return next(iter(self._parts().values()))._device()

    def _replaced(self, batch_shape: Sequence[int], **parts: Distribution) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, **parts)
        new._batch_shape = tuple(batch_shape)
        return new

    def _in(self, dtype: Any) -> Self:
        return self._replaced(self._batch_shape, **{name: part._in(dtype) for name, part in self._parts().items()})


class Independent(_Composed):
    """A distribution whose last dimensions of the batch belong to the event: logarithms of densities are
    summed over them.

    >>> D = al.distributions
    >>> normal = D.Independent(D.Normal(al.zeros(2, 3), 1.0), 1)
    >>> normal.batch_shape, normal.event_shape, normal.log_prob(al.zeros(3)).shape
    ((2,), (3,), (2,))
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        count = len(base_distribution.batch_shape)
        if not 0 <= reinterpreted_batch_ndims <= count:
            raise ValueError(
                f"Independent: wrong reinterpreted_batch_ndims: {reinterpreted_batch_ndims}; the batch has {count}"
            )
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        cut = count - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.has_rsample = base_distribution.has_rsample
        super().__init__(shape[:cut], shape[cut:], validate_args)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether the values are only so many, and can be listed.

        >>> D = al.distributions
        >>> D.Independent(D.Bernoulli(al.ones(2) / 2), 1).has_enumerate_support
        False
        """
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        base = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if count else base

    def expand(self, batch_shape: Any) -> Self:
        wanted = sizes(batch_shape)
        inner = tuple(self._event_shape)[: self.reinterpreted_batch_ndims]
        return self._replaced(wanted, base_dist=self.base_dist.expand((*wanted, *inner)))

    def _log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def _entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def _mean(self) -> Tensor:
        return self.base_dist.mean

    def _mode(self) -> Tensor:
        return self.base_dist.mode

    def _variance(self) -> Tensor:
        return self.base_dist.variance

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        outer = shape[: len(shape) - len(self._batch_shape) - len(self._event_shape)]
        return self.base_dist.rsample(outer) if self.has_rsample else self.base_dist.sample(outer)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("enumerate_support: too many values of an event of several parts")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


def _tensors(transform: Transform) -> Iterator[Tensor]:
    """The parameters of a transform."""
    for value in vars(transform).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Tensor):
                yield one
            elif isinstance(one, Transform):
                yield from _tensors(one)


class TransformedDistribution(_Composed):
    """The distribution of a function of draws, or of several functions one after the other.

    >>> D = al.distributions
    >>> D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).log_prob(al.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        parts = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for part in parts:
            if not isinstance(part, Transform):
                raise TypeError(f"TransformedDistribution: not a transform: {part!r}; transforms are accepted")
        self.transforms = parts
        whole = ComposeTransform(parts)
        base_shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"TransformedDistribution: too few dimensions: {list(base_shape)}; "
                f"at least {whole.domain.event_dim} are accepted"
            )
        forward = whole.forward_shape(base_shape)
        expanded = whole.inverse_shape(forward)
        if expanded != base_shape:
            batch = expanded[: len(expanded) - len(base_distribution.event_shape)]
            base_distribution = base_distribution.expand(batch)
        more = whole.domain.event_dim - len(base_distribution.event_shape)
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        self.has_rsample = base_distribution.has_rsample
        # An event has what the transforms make of it, and what the base had beyond them.
        event_dim = whole.codomain.event_dim + max(len(self.base_dist.event_shape) - whole.domain.event_dim, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args)

    @property
    def dtype(self) -> Any:
        return _core.result_type(self.base_dist.dtype, *(t.dtype for part in self.transforms for t in _tensors(part)))

    def expand(self, batch_shape: Any) -> Self:
        wanted = sizes(batch_shape)
        inner = ComposeTransform(self.transforms).inverse_shape((*wanted, *self._event_shape))
        batch = inner[: len(inner) - len(self.base_dist.event_shape)]
        return self._replaced(wanted, base_dist=self.base_dist.expand(batch))

    @constraints.dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        outer = shape[: len(shape) - len(self._batch_shape) - len(self._event_shape)]
        x = self.base_dist.rsample(outer) if self.has_rsample else self.base_dist.sample(outer)
        for part in self.transforms:
            x = part(x)
        return x

    def _rounded_draw(self, shape: tuple[int, ...]) -> Tensor:
        # As it is, so that transforms with a cache know it again.
        return self._draw(shape) if self.dtype.bits >= 32 else super()._rounded_draw(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        event_dim = len(self._event_shape)
        y = value
        total: Any = 0.0
        for part in reversed(self.transforms):
            x = part.inv(y)
            event_dim += part.domain.event_dim - part.codomain.event_dim
            total = total - sum_rightmost(part.log_abs_det_jacobian(x, y), event_dim - part.domain.event_dim)
            y = x
        base = self.base_dist
        found: Tensor = total + sum_rightmost(base.log_prob(y), event_dim - len(base.event_shape))
        return found

    def _turned(self, probability: Tensor) -> Tensor:
        """A probability of numbers below as one of numbers above, where the transforms fall."""
        sign: Any = 1
        for part in self.transforms:
            sign = sign * part.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        turned: Tensor = sign * (probability - 0.5) + 0.5
        return turned

    def _cdf(self, value: Tensor) -> Tensor:
        for part in reversed(self.transforms):
            value = part.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def _icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._turned(value))
        for part in self.transforms:
            value = part(value)
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"


class MixtureSameFamily(_Composed):
    """One of several distributions of a family, which a categorical one chooses for each draw: they are
    the last dimension of the batch.

    >>> D = al.distributions
    >>> mixture = D.MixtureSameFamily(D.Categorical(al.ones(2)), D.Normal(al.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean, mixture.variance
    (tensor(0.), tensor(2.))
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        from .categorical import Categorical

        if type(mixture_distribution) is not Categorical:
            raise TypeError(
                f"MixtureSameFamily: chosen by {type(mixture_distribution).__name__}; Categorical is accepted"
            )
        there = tuple(component_distribution.batch_shape)
        chosen = tuple(mixture_distribution.batch_shape)
        count = mixture_distribution.param_shape[-1]
        if not there or there[-1] != count or chosen not in ((), there[:-1]):
            raise ValueError(
                f"MixtureSameFamily: components of batch shape {list(there)}, of which {list(chosen)} choices of "
                f"{count} are made; {[*chosen, count]} is accepted"
            )
        self.mixture = mixture_distribution
        self.component = component_distribution
        super().__init__(there[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Any:
        """What chooses.

        >>> D = al.distributions
        >>> D.MixtureSameFamily(D.Categorical(al.ones(2)), D.Poisson(al.ones(2))).mixture_distribution
        Categorical(probs: [2])
        """
        return self.mixture

    @property
    def component_distribution(self) -> Distribution:
        """What is chosen among.

        >>> D = al.distributions
        >>> D.MixtureSameFamily(D.Categorical(al.ones(2)), D.Poisson(al.ones(2))).component_distribution
        Poisson(rate: [2])
        """
        return self.component

    @constraints.dependent_property
    def support(self) -> Any:
        return _MixtureSupport(self.component.support)

    def expand(self, batch_shape: Any) -> Self:
        wanted = sizes(batch_shape)
        count = self.mixture.param_shape[-1]
        return self._replaced(wanted, mixture=self.mixture.expand(wanted), component=self.component.expand((*wanted, count)))

    def _beside(self, value: Tensor) -> Tensor:
        """A value for each component."""
        return value.unsqueeze(value.ndim - len(self._event_shape))

    def _shares(self) -> Tensor:
        probs = self.mixture.probs
        return probs.reshape((*probs.shape, *(1,) * len(self._event_shape)))

    def _over(self, values: Tensor) -> Tensor:
        """The sum over components, by their shares."""
        found: Tensor = (self._shares() * values).sum(-1 - len(self._event_shape))
        return found

    def _log_prob(self, value: Tensor) -> Tensor:
        each = self.component.log_prob(self._beside(value))
        found: Tensor = (each + self.mixture.logits).logsumexp(-1)
        return found

    def _cdf(self, value: Tensor) -> Tensor:
        found: Tensor = (self.component.cdf(self._beside(value)) * self.mixture.probs).sum(-1)
        return found

    def _mean(self) -> Tensor:
        return self._over(self.component.mean)

    def _variance(self) -> Tensor:
        means = self.component.mean
        away = means - self._over(means).unsqueeze(-1 - len(self._event_shape))
        return self._over(self.component.variance) + self._over(away * away)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        events = len(self._event_shape)
        outer = shape[: len(shape) - len(self._batch_shape) - events]
        chosen = self.mixture.expand(self._batch_shape).sample(outer)
        each = self.component.sample(outer)
        index = chosen.reshape((*chosen.shape, *(1,) * (events + 1)))
        index = index.expand((*chosen.shape, 1, *self._event_shape))
        return each.gather(len(chosen.shape), index).squeeze(len(chosen.shape))

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture!r}, {self.component!r})"


class _MixtureSupport(constraints.Constraint):
    """The support of one of several components that have the same one, or some of whose have it."""

    def __init__(self, base: constraints.Constraint) -> None:
        self.base = base
        self.__dict__.update(is_discrete=base.is_discrete, event_dim=base.event_dim)

    def check(self, value: Tensor) -> Any:
        return self.base.check(value.unsqueeze(value.ndim - self.base.event_dim)).all(-1)


__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]
