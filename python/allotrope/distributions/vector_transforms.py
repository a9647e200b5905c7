"""Transforms of vectors to shares that sum up to one and to Cholesky factors, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import _core, nn
from .._core import Tensor
from . import constraints
from .transform import Transform


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


__all__ = ["CorrCholeskyTransform", "LowerCholeskyTransform", "SoftmaxTransform", "StickBreakingTransform"]
