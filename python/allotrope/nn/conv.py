"""Convolutions and their transposes, in one to three dimensions."""

from __future__ import annotations

import math
from typing import Any

from .. import Tensor, empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import as_input, one_for_each


class _ConvNd(Module):
    """What all convolutions have in common."""

    weight: Parameter
    bias: Parameter | None
    _rank: int
    _transposed = False
    _modes: tuple[str, ...] = ("zeros", "reflect", "replicate", "circular")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        op, rank = type(self).__name__, self._rank
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = one_for_each(op, "kernel_size", kernel_size, rank)
        self.stride = one_for_each(op, "stride", stride, rank)
        is_word = isinstance(padding, str)
        self.padding = padding if is_word else one_for_each(op, "padding", padding, rank)
        self.dilation = one_for_each(op, "dilation", dilation, rank)
        self.transposed = self._transposed
        self.output_padding = one_for_each(op, "output_padding", output_padding, rank)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check(op)
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        first = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", first)
        self.reset_parameters()

    def _check(self, op: str) -> None:
        if self.groups <= 0:
            raise ValueError(f"{op}: groups is not positive: {self.groups}")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(
                    f"{op}: {name} is not divisible by groups: {getattr(self, name)} by {self.groups}"
                )
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(
                    f"{op}: unknown padding: {self.padding!r}; numbers, 'same' and 'valid' are accepted"
                )
            if self.padding == "same" and any(stride != 1 for stride in self.stride):
                raise ValueError(f"{op}: padding='same' with stride {self.stride}; 1 is accepted")
        if self.padding_mode not in self._modes:
            raise ValueError(
                f"{op}: unknown padding_mode: {self.padding_mode!r}; {', '.join(self._modes)} accepted"
            )

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self._transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draws the weight and the bias between ±1/√fan_in.

        >>> layer = al.nn.Conv1d(1, 2, 4)
        >>> layer.reset_parameters()
        >>> bool(layer.weight.abs().max() <= 0.5)
        True
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Channels, sizes, and what differs from the defaults."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        if self.padding != (0,) * self._rank:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._rank:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self._rank:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    """A convolution; a subclass has its rank and its function."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    @staticmethod
    def _function(*args: Any, **options: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of an input with or without a batch."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode == "zeros":
            return self._function(
                input, weight, bias, self.stride, self.padding, self.dilation, self.groups
            )
        return self._function(
            input,
            weight,
            bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            padding_mode=self.padding_mode,
        )


class Conv1d(_Conv):
    """Correlations of signals [batch, in_channels, length] with a kernel per output channel.

    Shape: [N, C, L] or [C, L] gives [N, out_channels, L'] or [out_channels, L']. Dtype: the
    common one of input and weight.

    >>> al.nn.Conv1d(2, 4, 3)(al.ones(1, 2, 8)).shape
    (1, 4, 6)
    """

    _rank = 1
    _function: Any = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Correlations of images [batch, in_channels, height, width] with a kernel per output channel.

    Shape: [N, C, H, W] or [C, H, W] gives [N, out_channels, H', W'] or [out_channels, H', W'].
    Dtype: the common one of input and weight.

    >>> al.nn.Conv2d(3, 8, 3, padding="same")(al.ones(1, 3, 6, 5)).shape
    (1, 8, 6, 5)
    """

    _rank = 2
    _function: Any = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Correlations of volumes [batch, in_channels, depth, height, width] with a kernel per output
    channel.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives [N, out_channels, D', H', W'] or [out_channels,
    D', H', W']. Dtype: the common one of input and weight.

    >>> al.nn.Conv3d(1, 2, 3)(al.ones(1, 1, 4, 4, 4)).shape
    (1, 2, 2, 2, 2)
    """

    _rank = 3
    _function: Any = staticmethod(F.conv3d)


class _ConvTranspose(_ConvNd):
    """The transpose of a convolution; a subclass has its rank and its function."""

    _transposed = True
    _modes = ("zeros",)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    @staticmethod
    def _function(*args: Any, **options: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution; output_size chooses among the sizes that the stride allows."""
        added = self.output_padding
        if output_size is not None:
            added = self._output_padding(input, tuple(output_size))
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            added,
            self.groups,
            self.dilation,
        )

    def _output_padding(self, input: Tensor, wanted: tuple[int, ...]) -> tuple[int, ...]:
        op, rank = type(self).__name__, self._rank
        input = as_input(op, input)
        if len(wanted) > rank and len(wanted) == input.ndim:
            wanted = wanted[-rank:]
        if len(wanted) != rank:
            raise ValueError(
                f"{op}: wrong number of sizes: {len(wanted)}; {rank} or {input.ndim} are accepted"
            )
        smallest = tuple(
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, stride, padding, dilation, kernel in zip(
                input.shape[-rank:], self.stride, self.padding, self.dilation, self.kernel_size
            )
        )
        added = tuple(size - least for size, least in zip(wanted, smallest))
        if any(not 0 <= extra < stride for extra, stride in zip(added, self.stride)):
            greatest = [least + stride - 1 for least, stride in zip(smallest, self.stride)]
            raise ValueError(
                f"{op}: no such output size: {list(wanted)}; from {list(smallest)} to {greatest} "
                "are accepted"
            )
        return added


class ConvTranspose1d(_ConvTranspose):
    """The transpose of `Conv1d`, which makes signals longer.

    Shape: [N, C, L] or [C, L] gives [N, out_channels, L'] or [out_channels, L']. Dtype: the
    common one of input and weight.

    >>> al.nn.ConvTranspose1d(2, 4, 3, stride=2)(al.ones(1, 2, 3)).shape
    (1, 4, 7)
    """

    _rank = 1
    _function: Any = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The transpose of `Conv2d`, which makes images larger.

    Shape: [N, C, H, W] or [C, H, W] gives [N, out_channels, H', W'] or [out_channels, H', W'].
    Dtype: the common one of input and weight.

    >>> layer = al.nn.ConvTranspose2d(2, 4, 3, stride=2)
    >>> layer(al.ones(1, 2, 3, 3), output_size=(8, 7)).shape
    (1, 4, 8, 7)
    """

    _rank = 2
    _function: Any = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The transpose of `Conv3d`, which makes volumes larger.

    Shape: [N, C, D, H, W] or [C, D, H, W] gives [N, out_channels, D', H', W'] or [out_channels,
    D', H', W']. Dtype: the common one of input and weight.

    >>> al.nn.ConvTranspose3d(1, 2, 2)(al.ones(1, 1, 2, 2, 2)).shape
    (1, 2, 3, 3, 3)
    """

    _rank = 3
    _function: Any = staticmethod(F.conv_transpose3d)


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
