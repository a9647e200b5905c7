"""Where parameters and values of distributions lie, as torch.distributions.constraints: a constraint's
`check` says for each event whether it is within. What has no bounds of its own is an object (`positive`);
the others are classes (`greater_than(2)`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, finfo


class Constraint:
    """A set of numbers, or of vectors and matrices: those whose `event_dim` is 1 and 2.

    >>> al.distributions.constraints.positive
    Positive()
    >>> al.distributions.constraints.simplex.event_dim
    1
    """

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Any:
        """Whether each event is within: bool, in the shape of the value without the events' dimensions.

        >>> al.distributions.constraints.positive.check(al.tensor([0.0, 1.0]))
        tensor([False,  True])
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        name = "".join(part.capitalize() for part in type(self).__name__.strip("_").split("_"))
        values = (f"{key}={_shown(value)}" for key, value in vars(self).items() if key[0] != "_")
        return f"{name}({', '.join(values)})"


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return repr(value.item()) if value.numel() == 1 else f"a tensor of {list(value.shape)}"
    return repr(value)


class _Named(Constraint):
    """A constraint without bounds of its own."""

    def __init__(
        self, name: str, check: Callable[[Tensor], Any], *, discrete: bool = False, event_dim: int = 0
    ) -> None:
        self._name = name
        self._check = check
        self.__dict__.update(is_discrete=discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Any:
        return self._check(value)

    def __repr__(self) -> str:
        return f"{self._name}()"


class _Dependent(Constraint):
    """A constraint that is known with the object alone."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.__dict__.update(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Any:
        raise ValueError("check: a constraint that depends on the distribution: ask its object")


class dependent_property(property, _Dependent):  # noqa: N801 - torch's name
    """A property that gives a constraint, which depends on the object's parameters.

    >>> al.distributions.constraints.is_dependent(al.distributions.Uniform.support)
    True
    >>> al.distributions.Uniform(0.0, 2.0).support
    Interval(lower_bound=0.0, upper_bound=2.0)
    """

    def __init__(
        self, fn: Callable[[Any], Any] | None = None, *, is_discrete: bool = False, event_dim: int = 0
    ) -> None:
        super().__init__(fn)
        self._discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the set is one of whole numbers.

        >>> al.distributions.Binomial.support.is_discrete
        True
        """
        return self._discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The dimensions of an event.

        >>> al.distributions.Uniform.support.event_dim
        0
        """
        return self._event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> dependent_property:
        return dependent_property(fn, is_discrete=self._discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is known with an object alone.

    >>> al.distributions.constraints.is_dependent(al.distributions.constraints.positive)
    False
    """
    return isinstance(constraint, _Dependent)


class independent(Constraint):  # noqa: N801 - torch's name
    """Events whose parts are all within another constraint: its last dimensions belong to the event.

    >>> C = al.distributions.constraints
    >>> C.independent(C.positive, 1).check(al.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self._discrete = base_constraint.is_discrete
        self._event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """That of the other constraint.

        >>> C = al.distributions.constraints
        >>> C.independent(C.boolean, 1).is_discrete
        True
        """
        return self._discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """That of the other constraint, and as many dimensions more.

        >>> C = al.distributions.constraints
        >>> C.independent(C.simplex, 1).event_dim
        2
        """
        return self._event_dim

    def check(self, value: Tensor) -> Any:
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.ndim < count:
            raise ValueError(f"check: too few dimensions: {value.ndim}; at least {self._event_dim} are accepted")
        return _all(result, count)


def _all(result: Tensor, count: int) -> Tensor:
    """Whether all is true along the last dimensions."""
    return result.flatten(result.ndim - count).all(-1) if count else result


class interval(Constraint):  # noqa: N801 - torch's name
    """Numbers between two bounds, which are within.

    >>> al.distributions.constraints.interval(0, 1).check(al.tensor([0.0, 1.5]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class half_open_interval(interval):  # noqa: N801 - torch's name
    """Numbers from a lower bound on, and below an upper one.

    >>> al.distributions.constraints.half_open_interval(0, 1).check(al.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Any:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class integer_interval(interval):  # noqa: N801 - torch's name
    """Whole numbers between two bounds, which are within.

    >>> al.distributions.constraints.integer_interval(0, 3).check(al.tensor([3.0, 1.5]))
    tensor([ True, False])
    """

    is_discrete = True

    def check(self, value: Tensor) -> Any:
        return _is_whole(value) & super().check(value)


class greater_than(Constraint):  # noqa: N801 - torch's name
    """Numbers above a bound.

    >>> al.distributions.constraints.greater_than(1).check(al.tensor([1.0, 1.5]))
    tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Any:
        return value > self.lower_bound


class greater_than_eq(greater_than):  # noqa: N801 - torch's name
    """Numbers from a bound on.

    >>> al.distributions.constraints.greater_than_eq(1).check(al.tensor([1.0, 0.5]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Any:
        return value >= self.lower_bound


class less_than(Constraint):  # noqa: N801 - torch's name
    """Numbers below a bound.

    >>> al.distributions.constraints.less_than(1).check(al.tensor([1.0, 0.5]))
    tensor([False,  True])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Any:
        return value < self.upper_bound


class multinomial(Constraint):  # noqa: N801 - torch's name
    """Vectors of counts, whose sum is a number of trials.

    >>> al.distributions.constraints.multinomial(3).check(al.tensor([[1, 2], [1, 1]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Any:
        return (_is_whole(value) & (value >= 0)).all(-1) & (value.sum(-1) == self.upper_bound)


def _is_whole(value: Tensor) -> Any:
    return value.isfinite() & (value % 1 == 0) if value.is_floating_point() else value == value


def _tolerance(value: Tensor) -> float:
    """What sums of numbers that are each rounded once may be off by."""
    return max(1e-6, 2 * finfo(value.dtype).eps) if value.is_floating_point() else 0.0


def _is_simplex(value: Tensor) -> Any:
    # Sums in the dtype would be rounded once more.
    total = value.sum(-1, dtype=_core.float64 if value.dtype == _core.float64 else _core.float32)
    return (value >= 0).all(-1) & ((total - 1).abs() <= _tolerance(value))


def _is_one_hot(value: Tensor) -> Any:
    return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


def _is_lower_triangular(value: Tensor) -> Tensor:
    return _all(value.tril() == value, 2)


def _has_positive_diagonal(value: Tensor) -> Any:
    return (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _has_unit_rows(value: Tensor) -> Any:
    return (((value * value).sum(-1) - 1).abs() <= 10 * _tolerance(value) * value.shape[-1]).all(-1)


def _is_symmetric(value: Tensor) -> Tensor:
    if value.shape[-2] != value.shape[-1]:
        return _core.zeros(value.shape[:-2], dtype=_core.bool, device=value.device)
    return _all(_core.isclose(value, value.mT, atol=_tolerance(value)), 2)


def _is_definite(value: Tensor, strictly: bool) -> Any:
    value = value.float() if value.dtype.bits < 32 else value
    is_symmetric = _is_symmetric(value)
    if not bool(is_symmetric.all()):
        return is_symmetric
    if strictly:
        return _core.linalg.cholesky_ex(value).info == 0
    return (_core.linalg.eigvalsh(value) >= -10 * _tolerance(value)).all(-1)


dependent = _Dependent()
real = _Named("Real", lambda value: value == value)
real_vector = _Named("RealVector", lambda value: (value == value).all(-1), event_dim=1)
boolean = _Named("Boolean", lambda value: (value == 0) | (value == 1), discrete=True)
one_hot = _Named("OneHot", _is_one_hot, discrete=True, event_dim=1)
nonnegative_integer = _Named("NonnegativeInteger", lambda v: _is_whole(v) & (v >= 0), discrete=True)
positive_integer = _Named("PositiveInteger", lambda v: _is_whole(v) & (v >= 1), discrete=True)
positive = _Named("Positive", lambda value: value > 0)
nonnegative = _Named("Nonnegative", lambda value: value >= 0)
unit_interval = _Named("UnitInterval", lambda value: (value >= 0) & (value <= 1))
simplex = _Named("Simplex", _is_simplex, event_dim=1)
lower_triangular = _Named("LowerTriangular", _is_lower_triangular, event_dim=2)
lower_cholesky = _Named(
    "LowerCholesky", lambda v: _is_lower_triangular(v) & _has_positive_diagonal(v), event_dim=2
)
corr_cholesky = _Named(
    "CorrCholesky",
    lambda v: _is_lower_triangular(v) & _has_positive_diagonal(v) & _has_unit_rows(v),
    event_dim=2,
)
symmetric = _Named("Symmetric", _is_symmetric, event_dim=2)
positive_semidefinite = _Named("PositiveSemidefinite", lambda v: _is_definite(v, False), event_dim=2)
positive_definite = _Named("PositiveDefinite", lambda v: _is_definite(v, True), event_dim=2)

__all__ = [
    "Constraint",
    "boolean",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "symmetric",
    "unit_interval",
]
