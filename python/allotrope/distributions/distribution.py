"""What all distributions share: parameters in one shape and dtype, draws, and formulas that round once.

A family defines `_draw`, `_log_prob`, `_cdf`, `_icdf`, `_entropy`, `_mean`, `_variance` and `_mode`. They
see parameters and values in the dtype that they compute in: float32 for narrower ones. What is asked for
is rounded once, to the dtype in which parameters and value meet.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor, finfo
from .._operand import operand
from ..autograd import enable_grad, grad, no_grad
from . import constraints

if TYPE_CHECKING:
    from typing_extensions import Self

HALF_LOG_2PI = math.log(2 * math.pi) / 2
EULER = 0.5772156649015329


def sizes(shape: Any) -> tuple[int, ...]:
    """A shape of draws: a number, or several."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def common_dtype(op: str, *values: Any) -> Any:
    """The float dtype in which parameters meet; numbers of Python have none of their own."""
    dtype = _core.result_type(*values)
    if dtype.is_complex:
        raise TypeError(f"{op}: a parameter of {dtype.name}; float dtypes are accepted")
    return dtype if dtype.is_floating_point else _core.get_default_dtype()


def rounded(value: Tensor, dtype: Any) -> Tensor:
    """A tensor in a dtype: itself, bit-free or not, if it has it."""
    return value if value.dtype == dtype else value.to(dtype)


def together(op: str, *values: Any) -> list[Tensor]:
    """Parameters as tensors of one dtype, on one device, not yet of one shape."""
    given = [value if isinstance(value, (Tensor, int, float)) else operand(value) for value in values]
    dtype = common_dtype(op, *given)
    tensors = [rounded(value, dtype) for value in given if isinstance(value, Tensor)]
    like = tensors[0] if tensors else _core.empty(0, dtype=dtype)
    # Numbers stand beside the tensors, bit-free as they are.
    others = iter(tensors)
    return [next(others) if isinstance(value, Tensor) else like.new_full((), float(value)) for value in given]


def broadcast_all(op: str, *values: Any) -> list[Tensor]:
    """Parameters as tensors of one dtype and shape."""
    return list(_core.broadcast_tensors(*together(op, *values)))


def exactly_one(op: str, **given: Any) -> tuple[str, Any]:
    """The one of several parameters that was given."""
    there = [(name, value) for name, value in given.items() if value is not None]
    if len(there) != 1:
        raise ValueError(
            f"{op}: {' and '.join(name for name, _ in there) or 'nothing'} given; "
            f"exactly one of {', '.join(given)} is accepted"
        )
    return there[0]


class Distribution:
    """Numbers, vectors or matrices that are drawn with known probabilities.

    Parameters are broadcast to the batch shape, and meet in one float dtype, which the results have;
    numbers of Python take that of the tensors, or the default one. Formulas of 8- and 16-bit dtypes
    compute in float32 and round once. With validate_args, which is the default, parameters and values
    that have no meaning are refused; that reads them.

    >>> normal = al.distributions.Normal(al.tensor([0.0, 1.0], dtype=al.bfloat16), 2.0)
    >>> isinstance(normal, al.distributions.Distribution)
    True
    >>> normal.batch_shape, normal.event_shape, normal.sample((3,)).dtype
    ((2,), (), allotrope.bfloat16)
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    arg_constraints: Any = {}
    # Whether terms of the formulas cancel, so that they compute in float64 where the device has it.
    _cancels: bool = False
    _validate_args: bool = __debug__

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__ and not constraints.is_dependent(constraint):
                    self._check(type(self).__name__, name, constraint, getattr(self, name))

    @staticmethod
    def _check(op: str, what: str, constraint: constraints.Constraint, value: Tensor) -> None:
        """Refuses what is not within a constraint, and names the first such event."""
        with no_grad():
            is_within = constraint.check(value)
            if bool(is_within.all()):
                return
            index = (~is_within).nonzero()[0].tolist()
        shown = value[tuple(index)].tolist()
        at = f" at {index}" if index else ""
        raise ValueError(f"{op}: {what} is out of range: {shown}{at}; {constraint} is accepted")

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether distributions check parameters and values if they are not told.

        >>> al.distributions.Distribution.set_default_validate_args(True)
        """
        if not isinstance(value, bool):
            raise TypeError(f"set_default_validate_args: not a bool: {reprlib.repr(value)}; True and False are accepted")
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters.

        >>> al.distributions.Dirichlet(al.ones(2, 3)).batch_shape
        (2,)
        """
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw of a single distribution.

        >>> al.distributions.Dirichlet(al.ones(2, 3)).event_shape
        (3,)
        """
        return self._event_shape

    @property
    def support(self) -> Any:
        """The constraint that values fulfil.

        >>> al.distributions.Gamma(1.0, 1.0).support
        Positive()
        """
        raise self._missing("support")

    @property
    def dtype(self) -> Any:
        """The dtype in which the parameters meet, and of what is made of them alone.

        >>> al.distributions.Normal(al.zeros(2, dtype=al.float16), 1).dtype
        allotrope.float16
        """
        return common_dtype(type(self).__name__, *self._given().values())

    # Parameters.

    def _given(self) -> dict[str, Tensor]:
        """The parameters that the object was made of."""
        return {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}

    def _map(self, change: Callable[[Tensor, int], Tensor], batch_shape: Sequence[int]) -> Self:
        """The distribution with other parameters: `change(parameter, dimensions of its events)`."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        for name, value in self._given().items():
            new.__dict__[name] = change(value, self.arg_constraints[name].event_dim)
        new._batch_shape = tuple(batch_shape)
        return new

    def _in(self, dtype: Any) -> Self:
        if self.dtype == dtype:
            return self
        return self._map(lambda value, _: value.to(dtype), self._batch_shape)

    def expand(self, batch_shape: Any) -> Self:
        """The distribution with parameters broadcast to a batch shape.

        >>> al.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        (2, 3)
        """
        wanted = sizes(batch_shape)

        def change(value: Tensor, event_dim: int) -> Tensor:
            return value.expand((*wanted, *value.shape[value.ndim - event_dim :]))

        return self._map(change, wanted)

    # Formulas.

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{what}: {type(self).__name__} has no {what} that is known in closed form")

    def _compute(self, formula: str, *values: Any) -> Tensor:
        """What a formula gives in the dtype that it computes in, rounded once."""
        dtype = result = self.dtype
        read = []
        for value in values:
            if not isinstance(value, Tensor):
                # A number of Python has no dtype of its own.
                value = _core.as_tensor(value, dtype=dtype, device=self._device())
            read.append(value)
            result = _core.promote_types(result, value.dtype)
        compute = self._wide(result)
        wide = self._in(compute)
        # Of integers the formula may be one of indices.
        read = [rounded(value, compute) if value.is_floating_point() else value for value in read]
        found: Tensor = getattr(wide, formula)(*read)
        return rounded(found, result) if found.is_floating_point() else found

    def _wide(self, dtype: Any) -> Any:
        """The dtype that a formula with a result in this one computes in."""
        if self._cancels and _core.supports(_core.float64, self._device()) != "demoted":
            return _core.float64
        return _core.float32 if dtype.bits < 32 else dtype

    def _device(self) -> Any:
        return next(iter(self._given().values())).device

    def _log_prob(self, value: Tensor) -> Tensor:
        raise self._missing("log_prob")

    def _cdf(self, value: Tensor) -> Tensor:
        raise self._missing("cdf")

    def _icdf(self, value: Tensor) -> Tensor:
        raise self._missing("icdf")

    def _entropy(self) -> Tensor:
        raise self._missing("entropy")

    def _mean(self) -> Tensor:
        raise self._missing("mean")

    def _mode(self) -> Tensor:
        raise self._missing("mode")

    def _variance(self) -> Tensor:
        raise self._missing("variance")

    def _stddev(self) -> Tensor:
        return self._variance().sqrt()

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        """Numbers of the given shape, which ends in batch and event shape."""
        raise self._missing("sample")

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density at a value, or of its probability if there are only so many.

        >>> al.distributions.Bernoulli(0.5).log_prob(al.tensor([0.0, 1.0]))
        tensor([-0.6931, -0.6931])
        """
        if self._validate_args:
            value = self._validate_sample("log_prob", value)
        return self._compute("_log_prob", value)

    def cdf(self, value: Any) -> Tensor:
        """The probability of a number up to a value.

        >>> al.distributions.Uniform(0.0, 4.0).cdf(al.tensor(1.0))
        tensor(0.2500)
        """
        if self._validate_args:
            value = self._validate_sample("cdf", value)
        return self._compute("_cdf", value)

    def icdf(self, value: Any) -> Tensor:
        """The number that is not exceeded with a probability: the inverse of `cdf`.

        >>> al.distributions.Uniform(0.0, 4.0).icdf(al.tensor(0.25))
        tensor(1.)
        """
        return self._compute("_icdf", value)

    def entropy(self) -> Tensor:
        """The mean of minus the logarithm of the density, in the batch shape.

        >>> al.distributions.Bernoulli(0.5).entropy()
        tensor(0.6931)
        """
        return self._compute("_entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy.

        >>> al.distributions.Categorical(al.ones(4)).perplexity()
        tensor(4.)
        """
        return self._compute("_perplexity")

    def _perplexity(self) -> Tensor:
        return self._entropy().exp()

    @property
    def mean(self) -> Tensor:
        """The mean; NaN where there is none.

        >>> al.distributions.Exponential(2.0).mean
        tensor(0.5000)
        """
        return self._compute("_mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value.

        >>> al.distributions.Normal(3.0, 1.0).mode
        tensor(3.)
        """
        return self._compute("_mode")

    @property
    def variance(self) -> Tensor:
        """The variance.

        >>> al.distributions.Poisson(3.0).variance
        tensor(3.)
        """
        return self._compute("_variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation.

        >>> al.distributions.Poisson(4.0).stddev
        tensor(2.)
        """
        return self._compute("_stddev")

    # Draws.

    def _extended_shape(self, sample_shape: Any = ()) -> tuple[int, ...]:
        return (*sizes(sample_shape), *self._batch_shape, *self._event_shape)

    def _rounded_draw(self, shape: tuple[int, ...]) -> Tensor:
        dtype = self.dtype
        found: Tensor = self._in(self._wide(dtype))._draw(shape)
        if not found.is_floating_point():
            return found
        found = rounded(found, dtype)
        if self.support is constraints.positive:
            # What is rounded to zero would have no density.
            found = found.clamp(min=finfo(dtype).smallest_subnormal)
        return found

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of this shape, from each distribution of the batch. No gradient goes through them.

        >>> al.distributions.Normal(al.zeros(2), 1.0).sample((3,)).shape
        (3, 2)
        """
        with no_grad():
            return self.rsample(sample_shape) if self.has_rsample else self._rounded_draw(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as functions of the parameters, so that gradients go through them.

        >>> loc = al.zeros(2, requires_grad=True)
        >>> al.distributions.Normal(loc, 1.0).rsample((3,)).sum().backward()
        >>> loc.grad
        tensor([3., 3.])
        """
        if not self.has_rsample:
            raise NotImplementedError(
                f"rsample: draws of {type(self).__name__} are no differentiable function of its "
                "parameters (hint: sample)"
            )
        return self._rounded_draw(self._extended_shape(sample_shape))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a distribution that has only so many, along a new first dimension.

        >>> al.distributions.Bernoulli(al.tensor([0.5, 0.5])).enumerate_support()
        tensor([[0., 0.],
                [1., 1.]])
        """
        raise NotImplementedError(f"enumerate_support: values of {type(self).__name__} are not counted")

    def _enumerated(self, count: int, expand: bool) -> Tensor:
        """Numbers from 0 on as values of single numbers."""
        values = _core.arange(count, dtype=self.dtype, device=self._device())
        values = values.reshape(count, *(1,) * len(self._batch_shape))
        return values.expand((count, *self._batch_shape)) if expand else values

    def _validate_sample(self, op: str, value: Any) -> Tensor:
        """A value as a tensor; refused where it is not within the support."""
        if not isinstance(value, Tensor):
            value = _core.as_tensor(value, dtype=self.dtype, device=self._device())
        op = f"{type(self).__name__}.{op}"
        start = value.ndim - len(self._event_shape)
        batch, event = tuple(value.shape[: max(start, 0)]), tuple(value.shape[max(start, 0) :])
        fits = start >= 0 and event == tuple(self._event_shape)
        if fits:
            pairs = zip(reversed(batch), reversed(self._batch_shape))
            fits = all(1 in pair or pair[0] == pair[1] for pair in pairs)
        if not fits:
            raise ValueError(
                f"{op}: wrong shape of a value: {list(value.shape)}; shapes that broadcast with "
                f"{list(self._extended_shape())} are accepted"
            )
        self._check(op, "a value", self.support, value)
        found: Tensor = value
        return found

    def __repr__(self) -> str:
        given = self._given().items()
        shown = (
            f"{name}: {value.item():.6g}" if value.numel() == 1 else f"{name}: {list(value.shape)}"
            for name, value in given
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Distributions with the density exp(t(x)·η - F(η) + k(x)), whose entropy and divergences follow
    from F, the log normalizer, by its gradient. A family that is made by a user says η
    (`_natural_params`), F (`_log_normalizer`) and the mean of k (`_mean_carrier_measure`).

    >>> isinstance(al.distributions.Normal(0.0, 1.0), al.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._missing("natural parameters")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._missing("log normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise self._missing("carrier measure")

    def _normalized(self) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
        """The natural parameters, the log normalizer, and its gradient by them."""
        # By parameters of their own where there is no history to go on from.
        natural = tuple(
            value if value.requires_grad else value.detach().requires_grad_() for value in self._natural_params
        )
        with enable_grad():
            normalizer = self._log_normalizer(*natural)
            slopes = grad(normalizer.sum(), natural, create_graph=True)
        return natural, normalizer, slopes

    def _entropy(self) -> Tensor:
        natural, normalizer, slopes = self._normalized()
        result = normalizer - self._mean_carrier_measure
        for value, slope in zip(natural, slopes):
            part = value * slope
            result = result - (part.flatten(normalizer.ndim).sum(-1) if part.ndim > normalizer.ndim else part)
        return self._with_history(result)

    def _with_history(self, result: Tensor) -> Tensor:
        """A result without the parameters that were made for its gradient alone."""
        return result if any(value.requires_grad for value in self._given().values()) else result.detach()


__all__ = ["Distribution", "ExponentialFamily"]
