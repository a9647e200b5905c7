"""Layers that bring values to mean 0 and variance 1, over other dimensions each."""

from __future__ import annotations

from typing import Any

from .. import Family, Float, Tensor, empty, float32, int64, ones, promote_types, tensor, zeros
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import as_input


class LayerNorm(Module):
    """Layer normalization: the last dimensions, of sizes normalized_shape, brought to mean 0 and
    variance 1, times a weight plus a bias: y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias.

    Shape: [*, normalized_shape], and the same out. Dtype: the common one of input and weight.

    >>> al.nn.LayerNorm(2)(al.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]], grad_fn=<layer_norm>)
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        place = {"device": device, "dtype": dtype}
        has_bias = elementwise_affine and bias
        weight = Parameter(empty(self.normalized_shape, **place)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.register_parameter(
            "bias", Parameter(empty(self.normalized_shape, **place)) if has_bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The weight becomes one, the bias zero.

        >>> layer = al.nn.LayerNorm(2)
        >>> weight = al.nn.init.constant_(layer.weight, 5.0)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist()
        [1.0, 1.0]
        """
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The shape, and whether there is a weight."""
        bias = "" if self.bias is not None or not self.elementwise_affine else ", bias=False"
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}{bias}"
        )


class RMSNorm(Module):
    """Root mean square normalization: the last dimensions, of sizes normalized_shape, divided by the
    root of their mean square, times a weight. eps=None is the rounding of the dtype.

    Shape: [*, normalized_shape], and the same out. Dtype: the common one of input and weight.

    >>> al.nn.RMSNorm(2)(al.tensor([3.0, 3.0]))
    tensor([1., 1.], grad_fn=<rms_norm>)
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        first = None
        if elementwise_affine:
            first = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", first)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The weight becomes one.

        >>> layer = al.nn.RMSNorm(2)
        >>> weight = al.nn.init.constant_(layer.weight, 5.0)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist()
        [1.0, 1.0]
        """
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The shape, and whether there is a weight."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Group normalization: groups of channels brought to mean 0 and variance 1, times a weight plus
    a bias per channel.

    Shape: [N, C, *], and the same out. Dtype: the common one of input and weight.

    >>> al.nn.GroupNorm(2, 4)(al.ones(1, 4, 3)).shape
    (1, 4, 3)
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups <= 0 or num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels is not divisible by num_groups: {num_channels} by {num_groups}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        place = {"device": device, "dtype": dtype}
        for name, is_there in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_channels, **place)) if is_there else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The weight becomes one, the bias zero.

        >>> layer = al.nn.GroupNorm(1, 2)
        >>> weight = al.nn.init.constant_(layer.weight, 5.0)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist()
        [1.0, 1.0]
        """
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Groups and channels."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(Module):
    """Each number divided by a power of the sum of squares in neighbouring channels.

    Shape: [N, C, *], and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.LocalResponseNorm(2)(al.ones(1, 4, 3)).shape
    (1, 4, 3)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The size and the constants."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _NormBase(Module):
    """Normalization over batches, with statistics that are kept."""

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        place = {"device": device, "dtype": dtype}
        for name, is_there in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_features, **place)) if is_there else None)
        self._add_statistics(num_features, device, dtype)
        self.reset_parameters()

    def _add_statistics(self, num_features: int, device: Any, dtype: Any) -> None:
        if not self.track_running_stats:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
            return
        # Sums over many batches: in 8 or 16 bits they would stop moving.
        exact = empty(0, dtype=dtype).dtype
        place = {"device": device, "dtype": promote_types(exact, float32)}
        kept: dict[str, Any] = {"keep_dtype": True, "dtype": dtype if isinstance(dtype, Family) else None}
        self.register_buffer("running_mean", zeros(num_features, **place), **kept)
        self.register_buffer("running_var", ones(num_features, **place), **kept)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device))

    def _kept_buffer_dtype(self, buffer: Tensor, wanted: Any) -> Any:
        """Statistics are float32 or wider."""
        if wanted is None:
            return buffer.numeric
        if isinstance(wanted, Family):
            return Float
        return promote_types(wanted.to_real(), float32)

    def reset_running_stats(self) -> None:
        """The mean becomes zero, the variance one, the number of batches zero.

        >>> layer = al.nn.BatchNorm1d(2)
        >>> y = layer(al.randn(4, 2))
        >>> layer.reset_running_stats()
        >>> layer.running_mean, layer.running_var
        (tensor([0., 0.]), tensor([1., 1.]))
        """
        kept: Any = self
        if self.track_running_stats:
            kept.running_mean.zero_()
            kept.running_var.fill_(1)
            kept.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """The weight becomes one, the bias zero, and the statistics are forgotten.

        >>> layer = al.nn.BatchNorm1d(2)
        >>> y = layer(al.randn(4, 2))
        >>> layer.reset_parameters()
        >>> layer.weight.tolist(), layer.num_batches_tracked.item()
        ([1.0, 1.0], 0)
        """
        self.reset_running_stats()
        _reset_affine(self)

    def _check_input_dim(self, input: Tensor) -> Tensor:
        input = as_input(type(self).__name__, input)
        if input.ndim not in self._ranks:
            raise ValueError(
                f"{type(self).__name__}: wrong number of dimensions: {list(input.shape)}; "
                f"{' or '.join(map(str, self._ranks))} are accepted"
            )
        return input

    def _check_channels(self, channels: int) -> None:
        if channels != self.num_features:
            raise ValueError(
                f"{type(self).__name__}: wrong number of channels: {channels}; "
                f"{self.num_features} are accepted"
            )

    def extra_repr(self) -> str:
        """Features, constants, and what is kept."""
        bias = "" if self.bias is not None or not self.affine else ", bias=False"
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}{bias}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        count = prefix + "num_batches_tracked"
        if self.track_running_stats and count not in state_dict:
            # Files of old have no such number.
            has_mean = prefix + "running_mean" in state_dict
            if has_mean:
                state_dict[count] = tensor(0, dtype=int64)
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )


class _BatchNorm(_NormBase):
    """Normalization of each channel over a batch; a subclass has its ranks."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """The input normalized by the batch in training, by the running statistics else."""
        input = self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        tracked: Any = self.num_batches_tracked
        count = None
        if self.training and self.track_running_stats:
            count = tracked + 1
            if self.momentum is None:
                factor = 1.0 / count.item()
        uses_batch = self.training or self.running_mean is None
        keeps = not self.training or self.track_running_stats
        found = F.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            uses_batch,
            factor,
            self.eps,
        )
        # What fails is not counted.
        if count is not None:
            tracked.copy_(count)
        return found


class BatchNorm1d(_BatchNorm):
    """Batch normalization: each channel of [batch, channels] or [batch, channels, length] brought to
    mean 0 and variance 1 over the batch in training, by running statistics else. These are float32 at
    least.

    Shape: [N, C] or [N, C, L], and the same out. Dtype: the common one of input and weight.

    >>> layer = al.nn.BatchNorm1d(1, dtype=al.bfloat16)
    >>> layer.running_mean.dtype
    allotrope.float32
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images [batch, channels, height, width].

    Shape: [N, C, H, W], and the same out. Dtype: the common one of input and weight.

    >>> al.nn.BatchNorm2d(3)(al.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes [batch, channels, depth, height, width].

    Shape: [N, C, D, H, W], and the same out. Dtype: the common one of input and weight.

    >>> y = al.nn.BatchNorm3d(2)(al.randn(4, 2, 3, 3, 3))
    >>> y.shape, bool(y.mean().abs() < 1e-5)
    ((4, 2, 3, 3, 3), True)
    """

    _ranks = (5,)


class _InstanceNorm(_NormBase):
    """Normalization of each channel of each element of a batch; a subclass has its ranks."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, with or without a batch."""
        input = self._check_input_dim(input)
        has_batch = input.ndim == self._ranks[-1]
        channels = input.shape[-self._ranks[0]]
        if self.affine or self.track_running_stats:
            self._check_channels(channels)
        found = F.instance_norm(
            input if has_batch else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return found if has_batch else found.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization: each channel of each signal brought to mean 0 and variance 1.

    Shape: [N, C, L] or [C, L], and the same out. Dtype: the input's, or with affine=True the
    common one of input and weight.

    >>> al.nn.InstanceNorm1d(3)(al.ones(2, 3, 5)).shape
    (2, 3, 5)
    """

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization: each channel of each image brought to mean 0 and variance 1.

    Shape: [N, C, H, W] or [C, H, W], and the same out. Dtype: the input's, or with affine=True
    the common one of input and weight.

    >>> al.nn.InstanceNorm2d(1)(al.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization: each channel of each volume brought to mean 0 and variance 1.

    Shape: [N, C, D, H, W] or [C, D, H, W], and the same out. Dtype: the input's, or with
    affine=True the common one of input and weight.

    >>> al.nn.InstanceNorm3d(1)(al.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[-1.0000,  1.0000]]]])
    """

    _ranks = (4, 5)


def _shape(sizes: Any) -> tuple[int, ...]:
    return tuple(sizes) if hasattr(sizes, "__iter__") else (sizes,)


def _reset_affine(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]
