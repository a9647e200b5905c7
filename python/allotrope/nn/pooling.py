"""Pooling: the greatest or the mean of windows, and the way back."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from . import functional as F
from .module import Module
from .sizes import one_for_each


class _Function(Module):
    """A subclass has its rank and its function."""

    _rank: int

    @staticmethod
    def _function(*args: Any, **options: Any) -> Any:
        raise NotImplementedError


class _MaxPool(_Function):
    """The greatest of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The greatest of each window, and with return_indices where it is."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _MaxUnpool(_Function):
    """The way back from `MaxPool`."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        op = type(self).__name__
        stride = kernel_size if stride is None else stride
        self.kernel_size = one_for_each(op, "kernel_size", kernel_size, self._rank)
        self.stride = one_for_each(op, "stride", stride, self._rank)
        self.padding = one_for_each(op, "padding", padding, self._rank)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """The numbers where they came from, zeros elsewhere."""
        found: Tensor = self._function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return found

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(_Function):
    """The mean of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        found: Tensor = self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        return found

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPool(_Function):
    """The p-norm of each window."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norm of each window."""
        found: Tensor = self._function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return found

    def extra_repr(self) -> str:
        """The power and the sizes."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _AdaptiveAvgPool(_Function):
    """The means of as many windows as are wanted."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        found: Tensor = self._function(input, self.output_size)
        return found

    def extra_repr(self) -> str:
        """The number of windows."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_Function):
    """The greatest of as many windows as are wanted."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The greatest of each window, and with return_indices where it is."""
        return self._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """The number of windows."""
        return f"output_size={self.output_size}"


class _FractionalMaxPool(_Function):
    """The greatest of windows whose places are drawn."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        op = type(self).__name__
        self.kernel_size = one_for_each(op, "kernel_size", kernel_size, self._rank)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{op}: one of output_size and output_ratio is needed, not both")
        self.output_size = self.output_ratio = None
        if output_size is not None:
            self.output_size = one_for_each(op, "output_size", output_size, self._rank)
        else:
            self.output_ratio = one_for_each(op, "output_ratio", output_ratio, self._rank)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(
                    f"{op}: output_ratio is not between 0 and 1: {self.output_ratio}"
                )

    def forward(self, input: Tensor) -> Any:
        """The greatest of each window, and with return_indices where it is."""
        return self._function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )

    def extra_repr(self) -> str:
        """The sizes."""
        size = f"output_size={self.output_size}"
        return f"kernel_size={self.kernel_size}, " + (
            f"output_ratio={self.output_ratio}" if self.output_size is None else size
        )


class MaxPool1d(_MaxPool):
    """Max pooling: the greatest number of each window of signals.

    Shape: [N, C, L] or [C, L] gives as many windows as there are. Dtype: the input's.

    >>> al.nn.MaxPool1d(2)(al.tensor([[1.0, 5.0, 2.0, 3.0]]))
    tensor([[5., 3.]])
    """

    _rank = 1
    _function: Any = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Max pooling: the greatest number of each window of images.

    Shape: [N, C, H, W] or [C, H, W] gives as many windows as there are. Dtype: the input's.

    >>> al.nn.MaxPool2d(2)(al.arange(4.0).reshape(1, 2, 2))
    tensor([[[3.]]])
    """

    _rank = 2
    _function: Any = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """Max pooling: the greatest number of each window of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives as many windows as there are. Dtype: the input's.

    >>> al.nn.MaxPool3d(2)(al.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    _rank = 3
    _function: Any = staticmethod(F.max_pool3d)


class MaxUnpool1d(_MaxUnpool):
    """The way back from the pooling of signals.

    Shape: [N, C, L] or [C, L], twice, gives what the pooling was given. Dtype: the input's.

    >>> pool = al.nn.MaxPool1d(2, return_indices=True)
    >>> al.nn.MaxUnpool1d(2)(*pool(al.tensor([[1.0, 5.0, 2.0, 4.0]])))
    tensor([[0., 5., 0., 4.]])
    """

    _rank = 1
    _function: Any = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """The way back from the pooling of images.

    Shape: [N, C, H, W] or [C, H, W], twice, gives what the pooling was given. Dtype: the input's.

    >>> pool = al.nn.MaxPool2d(2, return_indices=True)
    >>> al.nn.MaxUnpool2d(2)(*pool(al.arange(4.0).reshape(1, 2, 2)))
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    _rank = 2
    _function: Any = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """The way back from the pooling of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W], twice, gives what the pooling was given. Dtype: the
    input's.

    >>> pool = al.nn.MaxPool3d(2, return_indices=True)
    >>> al.nn.MaxUnpool3d(2)(*pool(al.arange(8.0).reshape(1, 2, 2, 2)))
    tensor([[[[0., 0.],
              [0., 0.]],
    <BLANKLINE>
             [[0., 0.],
              [0., 7.]]]])
    """

    _rank = 3
    _function: Any = staticmethod(F.max_unpool3d)


class AvgPool1d(_AvgPool):
    """Average pooling: the mean of each window of signals.

    Shape: [N, C, L] or [C, L] gives as many windows as there are. Dtype: the input's; of
    integers the default float.

    >>> al.nn.AvgPool1d(2)(al.tensor([[1.0, 5.0, 2.0, 4.0]]))
    tensor([[3., 3.]])
    """

    _rank = 1
    _function: Any = staticmethod(F.avg_pool1d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool2d(_AvgPool):
    """Average pooling: the mean of each window of images.

    Shape: [N, C, H, W] or [C, H, W] gives as many windows as there are. Dtype: the input's; of
    integers the default float.

    >>> al.nn.AvgPool2d(2)(al.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _rank = 2
    _function: Any = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """Average pooling: the mean of each window of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives as many windows as there are. Dtype: the
    input's; of integers the default float.

    >>> al.nn.AvgPool3d(2)(al.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[3.5000]]]])
    """

    _rank = 3
    _function: Any = staticmethod(F.avg_pool3d)


class LPPool1d(_LPPool):
    """The p-norm of each window of signals.

    Shape: [N, C, L] or [C, L] gives as many windows as there are. Dtype: the input's; of
    integers the default float.

    >>> al.nn.LPPool1d(2, 2)(al.ones(1, 2))
    tensor([[1.4142]])
    """

    _rank = 1
    _function: Any = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of images.

    Shape: [N, C, H, W] or [C, H, W] gives as many windows as there are. Dtype: the input's; of
    integers the default float.

    >>> al.nn.LPPool2d(2, 2)(al.ones(1, 2, 2))
    tensor([[[2.]]])
    """

    _rank = 2
    _function: Any = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives as many windows as there are. Dtype: the
    input's; of integers the default float.

    >>> al.nn.LPPool3d(2, 2)(al.ones(1, 2, 2, 2))
    tensor([[[[2.8284]]]])
    """

    _rank = 3
    _function: Any = staticmethod(F.lp_pool3d)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Adaptive average pooling: the means of a wanted number of windows of signals.

    Shape: [N, C, L] or [C, L] gives output_size in place of L. Dtype: the input's; of integers
    the default float.

    >>> al.nn.AdaptiveAvgPool1d(1)(al.tensor([[1.0, 5.0, 2.0, 4.0]]))
    tensor([[3.]])
    """

    _rank = 1
    _function: Any = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Adaptive average pooling: the means of a wanted number of windows of images.

    Shape: [N, C, H, W] or [C, H, W] gives output_size in place of H, W. Dtype: the input's; of
    integers the default float.

    >>> al.nn.AdaptiveAvgPool2d(1)(al.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _rank = 2
    _function: Any = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Adaptive average pooling: the means of a wanted number of windows of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives output_size in place of D, H, W. Dtype: the
    input's; of integers the default float.

    >>> al.nn.AdaptiveAvgPool3d(1)(al.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[3.5000]]]])
    """

    _rank = 3
    _function: Any = staticmethod(F.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Adaptive max pooling: the greatest numbers of a wanted number of windows of signals.

    Shape: [N, C, L] or [C, L] gives output_size in place of L. Dtype: the input's.

    >>> al.nn.AdaptiveMaxPool1d(1)(al.tensor([[1.0, 5.0, 2.0, 4.0]]))
    tensor([[5.]])
    """

    _rank = 1
    _function: Any = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Adaptive max pooling: the greatest numbers of a wanted number of windows of images.

    Shape: [N, C, H, W] or [C, H, W] gives output_size in place of H, W. Dtype: the input's.

    >>> al.nn.AdaptiveMaxPool2d(1)(al.arange(4.0).reshape(1, 2, 2))
    tensor([[[3.]]])
    """

    _rank = 2
    _function: Any = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Adaptive max pooling: the greatest numbers of a wanted number of windows of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives output_size in place of D, H, W. Dtype: the
    input's.

    >>> al.nn.AdaptiveMaxPool3d(1)(al.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    _rank = 3
    _function: Any = staticmethod(F.adaptive_max_pool3d)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The greatest numbers of windows, at drawn places, of images.

    Shape: [N, C, H, W] or [C, H, W] gives output_size in place of H, W. Dtype: the input's.

    >>> al.nn.FractionalMaxPool2d(2, output_ratio=0.5)(al.zeros(1, 1, 6, 6)).shape
    (1, 1, 3, 3)
    """

    _rank = 2
    _function: Any = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The greatest numbers of windows, at drawn places, of volumes.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives output_size in place of D, H, W. Dtype: the
    input's.

    >>> al.nn.FractionalMaxPool3d(2, output_ratio=0.5)(al.zeros(1, 1, 6, 6, 6)).shape
    (1, 1, 3, 3, 3)
    """

    _rank = 3
    _function: Any = staticmethod(F.fractional_max_pool3d)


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]
