"""Layers that only arrange numbers anew, and distances between vectors."""

from __future__ import annotations

from typing import Any

from .. import Tensor, flatten, unflatten
from . import functional as F
from .module import Module


class Flatten(Module):
    """A range of dimensions as one; all but the first by default.

    Shape: [N, *] gives [N, the product of the others]. Dtype: the input's.

    >>> al.nn.Flatten()(al.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The flattened input."""
        return flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The range."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several.

    Shape: [*, n, *] gives [*, unflattened_size, *]. Dtype: the input's.

    >>> al.nn.Unflatten(1, (3, 4))(al.ones(2, 12)).shape
    (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise TypeError(f"Unflatten: not a dimension: {dim!r}; an integer is accepted")
        sizes = tuple(unflattened_size) if hasattr(unflattened_size, "__iter__") else (None,)
        if not all(isinstance(size, int) for size in sizes):
            raise TypeError(f"Unflatten: not sizes: {unflattened_size!r}; integers are accepted")
        self.dim, self.unflattened_size = dim, sizes

    def forward(self, input: Tensor) -> Tensor:
        """The unflattened input."""
        return unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Fold(Module):
    """The sum of overlapping blocks, which are columns, as an image.

    Shape: [N, C · blocks, L] gives [N, C, output_size]. Dtype: the input's.

    >>> al.nn.Fold((3, 3), 2)(al.ones(1, 4, 4)).shape
    (1, 1, 3, 3)
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The image."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The blocks of an image as columns.

    Shape: [N, C, H, W] gives [N, C · blocks, L]. Dtype: the input's.

    >>> al.nn.Unfold(2)(al.ones(1, 1, 3, 3)).shape
    (1, 4, 4)
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class PixelShuffle(Module):
    """Channels moved into space: [c · r², h, w] becomes [c, h · r, w · r].

    Shape: [*, C · r², H, W] gives [*, C, H · r, W · r]. Dtype: the input's.

    >>> al.nn.PixelShuffle(2)(al.ones(1, 4, 3, 3)).shape
    (1, 1, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The larger images."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Space moved into channels: [c, h · r, w · r] becomes [c · r², h, w].

    Shape: [*, C, H · r, W · r] gives [*, C · r², H, W]. Dtype: the input's.

    >>> al.nn.PixelUnshuffle(2)(al.arange(4).reshape(1, 2, 2)).flatten()
    tensor([0, 1, 2, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The smaller images."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels in another order: one of each group in turn.

    Shape: [N, C, *], and the same out. Dtype: the input's.

    >>> al.nn.ChannelShuffle(2)(al.arange(4).reshape(1, 4, 1)).flatten()
    tensor([0, 2, 1, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The input with its channels in another order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension.

    Shape: two that are broadcast, without dim. Dtype: the common one; of integers the default
    float.

    >>> al.nn.CosineSimilarity(dim=0)(al.tensor([1.0, 0.0]), al.tensor([0.0, 2.0]))
    tensor(0.)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the differences of vectors, along the last dimension.

    Shape: two of [N, D] or [D] give [N] or a number. Dtype: the common one; of integers the
    default float.

    >>> al.nn.PairwiseDistance()(al.tensor([[0.0, 0.0]]), al.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


__all__ = [
    "ChannelShuffle",
    "CosineSimilarity",
    "Flatten",
    "Fold",
    "PairwiseDistance",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
]
