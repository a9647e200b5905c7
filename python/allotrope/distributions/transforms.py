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
from .transform import ComposeTransform, IndependentTransform, Transform, sum_rightmost
from .vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)


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
