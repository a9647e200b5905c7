"""Layers that add a margin around signals, images and volumes."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from . import functional as F
from .module import Module
from .sizes import one_for_each


class _Pad(Module):
    """A margin: one width, or two for each dimension, from the last to the first."""

    _rank: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = one_for_each(type(self).__name__, "padding", padding, 2 * self._rank)

    def forward(self, input: Tensor) -> Tensor:
        """The input with its margin."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    _mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input with its margin."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The widths and the number."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A margin of one number around signals.

    Shape: [N, C, L] or [C, L] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ConstantPad1d((1, 2), 9.0)(al.zeros(1, 2))
    tensor([[9., 0., 0., 9., 9.]])
    """

    _rank = 1


class ConstantPad2d(_ConstantPad):
    """A margin of one number around images.

    Shape: [N, C, H, W] or [C, H, W] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ConstantPad2d((1, 2, 0, 0), 9)(al.tensor([[[1, 2, 3]]]))
    tensor([[[9, 1, 2, 3, 9, 9]]])
    """

    _rank = 2


class ConstantPad3d(_ConstantPad):
    """A margin of one number around volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] with sizes that are greater by the margins. Dtype:
    the input's.

    >>> al.nn.ConstantPad3d((1, 2, 0, 0, 0, 0), 9)(al.tensor([[[[1, 2, 3]]]]))
    tensor([[[[9, 1, 2, 3, 9, 9]]]])
    """

    _rank = 3


class ZeroPad1d(_Pad):
    """A margin of zeros around signals.

    Shape: [N, C, L] or [C, L] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ZeroPad1d((1, 2))(al.tensor([[1, 2, 3]]))
    tensor([[0, 1, 2, 3, 0, 0]])
    """

    _rank, _mode = 1, "constant"


class ZeroPad2d(_Pad):
    """A margin of zeros around images.

    Shape: [N, C, H, W] or [C, H, W] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ZeroPad2d(1)(al.ones(1, 1, 2, 2)).shape
    (1, 1, 4, 4)
    """

    _rank, _mode = 2, "constant"


class ZeroPad3d(_Pad):
    """A margin of zeros around volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] with sizes that are greater by the margins. Dtype:
    the input's.

    >>> al.nn.ZeroPad3d((1, 2, 0, 0, 0, 0))(al.tensor([[[[1, 2, 3]]]]))
    tensor([[[[0, 1, 2, 3, 0, 0]]]])
    """

    _rank, _mode = 3, "constant"


class ReflectionPad1d(_Pad):
    """A margin that reflects signals at their ends.

    Shape: [N, C, L] or [C, L] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ReflectionPad1d(1)(al.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    _rank, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """A margin that reflects images at their edges.

    Shape: [N, C, H, W] or [C, H, W] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ReflectionPad2d((1, 2, 0, 0))(al.tensor([[[1, 2, 3]]]))
    tensor([[[2, 1, 2, 3, 2, 1]]])
    """

    _rank, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """A margin that reflects volumes at their faces.

    Shape: [N, C, D, H, W] or [C, D, H, W] with sizes that are greater by the margins. Dtype:
    the input's.

    >>> al.nn.ReflectionPad3d((1, 2, 0, 0, 0, 0))(al.tensor([[[[1, 2, 3]]]]))
    tensor([[[[2, 1, 2, 3, 2, 1]]]])
    """

    _rank, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """A margin that repeats the ends of signals.

    Shape: [N, C, L] or [C, L] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ReplicationPad1d((1, 2))(al.tensor([[1, 2, 3]]))
    tensor([[1, 1, 2, 3, 3, 3]])
    """

    _rank, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """A margin that repeats the edges of images.

    Shape: [N, C, H, W] or [C, H, W] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.ReplicationPad2d((1, 2, 0, 0))(al.tensor([[[1, 2, 3]]]))
    tensor([[[1, 1, 2, 3, 3, 3]]])
    """

    _rank, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """A margin that repeats the faces of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] with sizes that are greater by the margins. Dtype:
    the input's.

    >>> al.nn.ReplicationPad3d((1, 2, 0, 0, 0, 0))(al.tensor([[[[1, 2, 3]]]]))
    tensor([[[[1, 1, 2, 3, 3, 3]]]])
    """

    _rank, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """A margin that goes on with the other end of signals.

    Shape: [N, C, L] or [C, L] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.CircularPad1d((1, 2))(al.tensor([[1, 2, 3]]))
    tensor([[3, 1, 2, 3, 1, 2]])
    """

    _rank, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """A margin that goes on with the other edge of images.

    Shape: [N, C, H, W] or [C, H, W] with sizes that are greater by the margins. Dtype: the input's.

    >>> al.nn.CircularPad2d((1, 2, 0, 0))(al.tensor([[[1, 2, 3]]]))
    tensor([[[3, 1, 2, 3, 1, 2]]])
    """

    _rank, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """A margin that goes on with the other face of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] with sizes that are greater by the margins. Dtype:
    the input's.

    >>> al.nn.CircularPad3d((1, 2, 0, 0, 0, 0))(al.tensor([[[[1, 2, 3]]]]))
    tensor([[[[3, 1, 2, 3, 1, 2]]]])
    """

    _rank, _mode = 3, "circular"


__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
