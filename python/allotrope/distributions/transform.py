"""What all transforms share, their inverses, and transforms that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._operand import operand
from . import constraints
from .constraints import Constraint


def sum_rightmost(value: Tensor, count: int) -> Tensor:
    """The sum over the last dimensions."""
    return value.flatten(value.ndim - count).sum(-1) if count else value


class Transform:
    """A function of tensors with an inverse, which `inv` is.

    With cache_size=1 it remembers its last argument and result, so that the inverse of a result is the
    argument itself, without a rounding.

    >>> exp = al.distributions.ExpTransform()
    >>> exp(al.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    >>> exp.inv(exp(al.tensor([0.0, 1.0])))
    tensor([0., 1.])
    """

    bijective: bool = False
    domain: Constraint
    codomain: Constraint
    _sign: Any = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: wrong cache_size: {cache_size}; 0 and 1 are accepted")
        self._cache_size = cache_size
        self._last: tuple[Tensor, Tensor] | None = None

    @property
    def sign(self) -> Any:
        """1 or -1: whether the function of single numbers rises or falls.

        >>> al.distributions.AffineTransform(0.0, -2.0).sign
        tensor(-1.)
        """
        if self._sign is None:
            raise NotImplementedError(f"sign: {type(self).__name__} neither rises nor falls everywhere")
        return self._sign

    @property
    def inv(self) -> Transform:
        """The inverse.

        >>> al.distributions.AffineTransform(1.0, 2.0).inv(al.tensor(5.0))
        tensor(2.)
        """
        return _Inverse(self)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The transform with a memory of its last argument.

        >>> exp = al.distributions.ExpTransform().with_cache()
        >>> x = al.tensor(0.1)
        >>> exp.inv(exp(x)) is x
        True
        """
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        Transform.__init__(new, cache_size)
        return new

    def __call__(self, x: Tensor) -> Tensor:
        last = self._last
        if last is not None and x is last[0]:
            return last[1]
        y = self._call(x)
        if self._cache_size:
            self._last = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        last = self._last
        if last is not None and y is last[1]:
            return last[0]
        x = self._inverse(y)
        if self._cache_size:
            self._last = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: no function of its own")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of what the function stretches volumes by, at an argument and its result.

        >>> transform = al.distributions.ExpTransform()
        >>> x = al.tensor([0.0, 3.0])
        >>> transform.log_abs_det_jacobian(x, transform(x))
        tensor([0., 3.])
        """
        raise NotImplementedError(f"log_abs_det_jacobian: {type(self).__name__} has none")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a result, of an argument's.

        >>> al.distributions.StickBreakingTransform().forward_shape((5, 2))
        (5, 3)
        """
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of an argument, of a result's.

        >>> al.distributions.StickBreakingTransform().inverse_shape((5, 3))
        (5, 2)
        """
        return tuple(shape)

    def __eq__(self, other: object) -> bool:
        return self is other or type(self) is type(other) and _same(_settings(self), _settings(other))

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        shown = (f"{name}={constraints._shown(value)}" for name, value in _settings(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


def _settings(transform: Any) -> dict[str, Any]:
    derived = ("bijective", "codomain", "domain")
    return {name: value for name, value in vars(transform).items() if name[0] != "_" and name not in derived}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return _core.equal(operand(a), operand(b))
    return bool(a == b)


class _Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform
        self.domain, self.codomain = transform.codomain, transform.domain
        self.bijective = transform.bijective

    @property
    def sign(self) -> Any:
        return self.transform.sign

    @property
    def inv(self) -> Transform:
        return self.transform

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.transform.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        return self.transform._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self.transform(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.transform.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.transform.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.transform.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{self.transform!r}.inv"


class ComposeTransform(Transform):
    """Several transforms one after the other.

    >>> D = al.distributions
    >>> D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.ExpTransform()])(al.tensor(0.5))
    tensor(2.7183)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]
        self.bijective = all(part.bijective for part in self.parts)
        self.domain = self._reached(self.parts, "domain", "codomain")
        self.codomain = self._reached(self.parts[::-1], "codomain", "domain")

    @staticmethod
    def _reached(parts: list[Transform], near: str, far: str) -> Constraint:
        """The first constraint, with the dimensions that events have further on."""
        if not parts:
            return constraints.real
        event_dim = getattr(parts[-1], far).event_dim
        for part in reversed(parts):
            here, there = getattr(part, near).event_dim, getattr(part, far).event_dim
            event_dim = max(here, event_dim + here - there)
        first: Constraint = getattr(parts[0], near)
        return constraints.independent(first, event_dim - first.event_dim) if event_dim > first.event_dim else first

    @property
    def sign(self) -> Any:
        found: Any = 1
        for part in self.parts:
            found = found * part.sign
        return found

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim = self.domain.event_dim
        total = None
        for part, before, after in zip(self.parts, values, values[1:]):
            step = sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim)
            total = step if total is None else total + step
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return _core.zeros_like(x) if total is None else total

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)


class IndependentTransform(Transform):
    """A transform whose last dimensions belong to one event.

    >>> D = al.distributions
    >>> x = al.tensor([1.0, 2.0])
    >>> D.IndependentTransform(D.ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)


__all__ = ["ComposeTransform", "IndependentTransform", "Transform"]
