"""Layers that multiply by a matrix: `Linear`, `Bilinear`, and `Identity`, which does not."""

from __future__ import annotations

import math
from typing import Any

from .. import Tensor, empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class Identity(Module):
    """Gives back what it is given; any arguments are accepted.

    Shape and dtype: the input's.

    >>> al.nn.Identity(54, unused=True)(al.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input itself."""
        return input


class Linear(Module):
    """The last dimension times the transpose of a weight [out_features, in_features], plus a bias.

    Shape: [*, in_features] gives [*, out_features]. Dtype: the common one of input and weight.

    >>> layer = al.nn.Linear(2, 3)
    >>> layer(al.ones(5, 2)).shape
    (5, 3)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        place = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((out_features, in_features), **place))
        self.register_parameter("bias", Parameter(empty(out_features, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weight and the bias between ±1/√in_features.

        >>> layer = al.nn.Linear(4, 3)
        >>> layer.reset_parameters()
        >>> bool(layer.weight.abs().max() <= 0.5)
        True
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """input @ weight.T + bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under another name, as torch has it in `MultiheadAttention`."""


class Bilinear(Module):
    """x1 · A · x2 + b, for a matrix A for each output.

    Shape: [*, in1_features] and [*, in2_features] give [*, out_features]. Dtype: the common one
    of inputs and weight.

    >>> al.nn.Bilinear(2, 3, 4)(al.ones(5, 2), al.ones(5, 3)).shape
    (5, 4)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features is not positive: {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        place = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((out_features, in1_features, in2_features), **place))
        self.register_parameter("bias", Parameter(empty(out_features, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weight and the bias between ±1/√in1_features.

        >>> layer = al.nn.Bilinear(4, 4, 3)
        >>> layer.reset_parameters()
        >>> bool(layer.weight.abs().max() <= 0.5)
        True
        """
        bound = 1 / math.sqrt(self.in1_features) if self.in1_features > 0 else 0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The products of two inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


__all__ = ["Bilinear", "Identity", "Linear"]
