"""Layers that leave out numbers at random while training."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from . import functional as F
from .module import Module


class _Dropout(Module):
    """A probability, and a function of it; a subclass has the function."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(
                f"{type(self).__name__}: not a probability: {p}; from 0 to 1 is accepted"
            )
        self.p = p
        self.inplace = inplace

    @staticmethod
    def _function(*args: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The input, with numbers left out while training."""
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeros with probability p, and the other numbers divided by 1 - p; nothing changes in evaluation.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Dropout(0.5).eval()(al.ones(2))
    tensor([1., 1.])
    """

    _function: Any = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Each channel of a signal is zero with probability p.

    Shape: [N, C, L] or [C, L], and the same out. Dtype: the input's; of integers the default float.

    >>> y = al.nn.Dropout1d()(al.ones(1000, 3))
    >>> sorted(set(y.flatten(1).sum(1).tolist()))
    [0.0, 6.0]
    """

    _function: Any = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Each channel of an image is zero with probability p.

    Shape: [N, C, H, W] or [C, H, W], and the same out. Dtype: the input's; of integers the
    default float.

    >>> y = al.nn.Dropout2d()(al.ones(1000, 2, 2))
    >>> sorted(set(y.flatten(1).sum(1).tolist()))
    [0.0, 8.0]
    """

    _function: Any = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Each channel of a volume is zero with probability p.

    Shape: [N, C, D, H, W] or [C, D, H, W], and the same out. Dtype: the input's; of integers
    the default float.

    >>> y = al.nn.Dropout3d()(al.ones(1000, 2, 2, 2))
    >>> sorted(set(y.flatten(1).sum(1).tolist()))
    [0.0, 16.0]
    """

    _function: Any = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Numbers are set to the lower limit of SELU at random; mean and variance stay.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.AlphaDropout()(al.ones(1000)).unique().shape
    (2,)
    """

    _function: Any = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """Channels are set to the lower limit of SELU at random; mean and variance stay.

    Shape: [N, C, *], and the same out. Dtype: the input's; of integers the default float.

    >>> y = al.nn.FeatureAlphaDropout()(al.ones(1, 100, 5))
    >>> al.equal(y.amax(-1), y.amin(-1))
    True
    """

    _function: Any = staticmethod(F.feature_alpha_dropout)


__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]
