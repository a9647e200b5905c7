"""A layer and the batch normalization behind it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ... import Tensor, _core
from ..parameter import Parameter


def _scale(
    running_var: Tensor, eps: float, weight: Tensor | None, running_mean: Tensor
) -> tuple[Tensor, Tensor]:
    weight = _core.ones_like(running_mean) if weight is None else weight
    return weight * (running_var + eps).rsqrt(), running_mean


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution that is followed by a normalization.

    >>> conv, bn = al.nn.Conv2d(1, 2, 3), al.nn.BatchNorm2d(2)
    >>> weight, bias = al.nn.utils.fuse_conv_bn_weights(
    ...     conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    ... )
    >>> weight.shape, bias.shape
    ((2, 1, 3, 3), (2,))
    """
    conv_b = _core.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_b = _core.zeros_like(bn_rm) if bn_b is None else bn_b
    scale, mean = _scale(bn_rv, bn_eps, bn_w, bn_rm)
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = ((conv_b - mean) * scale + bn_b).to(conv_w.dtype)
    return (
        Parameter(weight.detach(), conv_w.requires_grad),
        Parameter(bias.detach(), conv_b.requires_grad),
    )


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear layer that is followed by a normalization.

    >>> linear, bn = al.nn.Linear(2, 3), al.nn.BatchNorm1d(3)
    >>> weight, bias = al.nn.utils.fuse_linear_bn_weights(
    ...     linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    ... )
    >>> weight.shape, bias.shape
    ((3, 2), (3,))
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(op: str, layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise RuntimeError(f"{op}: a layer is in training; evaluation is accepted (hint: model.eval())")
    if bn.running_mean is None:
        raise ValueError(f"{op}: the normalization has no running statistics")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        layer.weight,
        layer.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that gives what the convolution and the normalization behind it give.

    >>> conv, bn = al.nn.Conv1d(1, 2, 1).eval(), al.nn.BatchNorm1d(2).eval()
    >>> x = al.ones(1, 1, 3)
    >>> al.allclose(al.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fused("fuse_conv_bn_eval", conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that gives what the layer and the normalization behind it give.

    >>> linear, bn = al.nn.Linear(2, 3).eval(), al.nn.BatchNorm1d(3).eval()
    >>> x = al.randn(4, 2)
    >>> al.allclose(al.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)
    True
    """
    if linear.out_features != bn.num_features:
        raise ValueError(
            f"fuse_linear_bn_eval: sizes differ: {linear.out_features} and {bn.num_features}"
        )
    return _fused("fuse_linear_bn_eval", linear, bn, False)


__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]
