"""Invertible functions of draws, with the logarithms of what they stretch by, as torch.distributions.transforms.

A transform defines `_call`, `_inverse` and `log_abs_det_jacobian`, where its values come from (`domain`) and
where they go (`codomain`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core, nn
from .._core import Tensor, finfo
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


class ReshapeTransform(Transform):
    """Events in another shape.

    >>> al.distributions.ReshapeTransform((4,), (2, 2))(al.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"ReshapeTransform: other numbers of elements: {list(self.in_shape)} and {list(self.out_shape)}; "
                "equal ones are accepted"
            )
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.ndim - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.ndim - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.ndim - len(self.in_shape)])

    @staticmethod
    def _changed(shape: Sequence[int], before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
        kept = len(shape) - len(before)
        if kept < 0 or tuple(shape[kept:]) != before:
            raise ValueError(f"ReshapeTransform: events of {list(shape)}; those of {list(before)} are accepted")
        return (*shape[:kept], *after)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._changed(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._changed(shape, self.out_shape, self.in_shape)


class AffineTransform(Transform):
    """loc + scale · x.

    >>> al.distributions.AffineTransform(1.0, 2.0)(al.tensor([0.0, 3.0]))
    tensor([1., 7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self._event_dim = event_dim
        self.domain = constraints.independent(constraints.real, event_dim) if event_dim else constraints.real
        self.codomain = self.domain

    @property
    def sign(self) -> Any:
        return operand(self.scale).sign()

    def _call(self, x: Tensor) -> Tensor:
        found: Tensor = self.loc + self.scale * x
        return found

    def _inverse(self, y: Tensor) -> Tensor:
        found: Tensor = (y - self.loc) / self.scale
        return found

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        log = scale.abs().log() if isinstance(scale, Tensor) else math.log(abs(scale))
        return sum_rightmost(_core.zeros_like(x) + log, self._event_dim)


class PowerTransform(Transform):
    """x to the power of an exponent, of positive numbers.

    >>> al.distributions.PowerTransform(2.0)(al.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        return operand(self.exponent).sign()

    def _call(self, x: Tensor) -> Tensor:
        found: Tensor = x**self.exponent
        return found

    def _inverse(self, y: Tensor) -> Tensor:
        found: Tensor = y ** (1 / self.exponent)
        return found

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slope: Tensor = self.exponent * y / x
        return slope.abs().log()


class ExpTransform(Transform):
    """The exponential.

    >>> al.distributions.ExpTransform()(al.tensor(0.0))
    tensor(1.)
    """

    domain, codomain = constraints.real, constraints.positive
    bijective = True
    _sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SoftplusTransform(Transform):
    """log(1 + exp(x)).

    >>> al.distributions.SoftplusTransform()(al.tensor(0.0))
    tensor(0.6931)
    """

    domain, codomain = constraints.real, constraints.positive
    bijective = True
    _sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.logsigmoid(x)


class SigmoidTransform(Transform):
    """The logistic function. Results stay within 0 and 1, so that the inverse is finite.

    >>> al.distributions.SigmoidTransform()(al.tensor(0.0))
    tensor(0.5000)
    """

    domain, codomain = constraints.real, constraints.unit_interval
    bijective = True
    _sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return inside_unit(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.logsigmoid(x) + nn.functional.logsigmoid(-x)


def inside_unit(x: Tensor) -> Tensor:
    """Numbers that a dtype has between 0 and 1, without both."""
    info = finfo(x.dtype)
    return x.clamp(info.tiny, 1.0 - info.eps)


class TanhTransform(Transform):
    """The hyperbolic tangent. Composed with a cache, since its inverse loses the digits near ±1.

    >>> al.distributions.TanhTransform()(al.tensor(0.0))
    tensor(0.)
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective = True
    _sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """The absolute value, of whose two arguments the inverse is the positive one.

    >>> al.distributions.AbsTransform()(al.tensor(-2.0))
    tensor(2.)
    """

    domain, codomain = constraints.real, constraints.nonnegative

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class SoftmaxTransform(Transform):
    """The softmax along the last dimension; the inverse is the logarithm, one of many arguments.

    >>> al.distributions.SoftmaxTransform()(al.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """Shares of which each is a part of what those before have left: one more than numbers are given.

    >>> al.distributions.StickBreakingTransform()(al.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """The logarithm of how many parts there are still to come."""
        size = x.shape[-1]
        return _core.arange(size, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        z = x - self._offset(x)
        left = self._left(z)
        last = left[..., -1:] - nn.functional.softplus(z[..., -1:])
        return _core.cat([nn.functional.logsigmoid(z) + left, last], -1).exp()

    def _inverse(self, y: Tensor) -> Tensor:
        share = y[..., :-1]
        # The sum of the later shares: one minus that of the earlier ones loses its digits.
        left = y.flip(-1).cumsum(-1).flip(-1)[..., 1:]
        return share.log() - left.log() + self._offset(share)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - self._offset(x)
        return (nn.functional.logsigmoid(z) - nn.functional.softplus(z) + self._left(z)).sum(-1)

    @staticmethod
    def _left(z: Tensor) -> Tensor:
        """The logarithm of what is left before each share."""
        left = (-nn.functional.softplus(z)).cumsum(-1)
        return nn.functional.pad(left, (1, 0))[..., :-1]

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """The lower triangle of matrices, with the exponential of the diagonal.

    >>> al.distributions.LowerCholeskyTransform()(al.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class CorrCholeskyTransform(Transform):
    """Vectors of n(n - 1) / 2 numbers as the Cholesky factor of a matrix of correlations: its rows have
    length one.

    >>> al.distributions.CorrCholeskyTransform()(al.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    @staticmethod
    def _order(count: int) -> int:
        order = (1 + math.isqrt(1 + 8 * count)) // 2
        if order * (order - 1) // 2 != count:
            raise ValueError(f"CorrCholeskyTransform: {count} numbers; n(n - 1) / 2 are accepted")
        return order

    @staticmethod
    def _rows(values: Tensor, order: int) -> Tensor:
        """Numbers below the diagonal of a matrix."""
        row, column = _core.tril_indices(order, order, -1)
        flat = values.new_zeros((*values.shape[:-1], order * order))
        index = (row * order + column).expand(values.shape)
        return flat.scatter(-1, index, values).unflatten(-1, (order, order))

    def _call(self, x: Tensor) -> Tensor:
        order = self._order(x.shape[-1])
        r = self._rows(x.tanh(), order)
        left = self._half_log_left(r).exp()
        eye = _core.eye(order, dtype=x.dtype, device=x.device)
        return (r + eye) * nn.functional.pad(left, (1, 0), value=1.0)[..., :-1]

    @staticmethod
    def _half_log_left(r: Tensor) -> Tensor:
        """The logarithm of the length that a row has left after each of its elements."""
        return (-r * r).log1p().cumsum(-1) / 2

    def _inverse(self, y: Tensor) -> Tensor:
        order = y.shape[-1]
        # Lengths of what follows in a row, from its end.
        left = (y * y).flip(-1).cumsum(-1).flip(-1).sqrt()
        row, column = _core.tril_indices(order, order, -1)
        ratio = y[..., row, column] / left[..., row, column]
        rest = left[..., row, column + 1] / left[..., row, column]
        # atanh of a ratio whose complement is known to its last digit.
        return ((1 + ratio.abs()) / rest).log() * ratio.sign()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        order = self._order(x.shape[-1])
        row, column = _core.tril_indices(order, order, -1)
        slope = 2 * (math.log(2.0) - x.abs() - nn.functional.softplus(-2 * x.abs()))
        half = self._rows(slope / 2, order).cumsum(-1)
        before = nn.functional.pad(half, (1, 0))[..., :-1][..., row, column]
        return (slope + before).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        order = self._order(shape[-1])
        return (*shape[:-1], order, order)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f"CorrCholeskyTransform: not square: {list(shape)}; square matrices are accepted")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


identity_transform = ComposeTransform([])
identity_transform.__doc__ = """Numbers as they are.

>>> al.distributions.identity_transform(al.tensor(2.0))
tensor(2.)
"""

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
