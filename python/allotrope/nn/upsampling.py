"""Layers that resample signals, images and volumes."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from . import functional as F
from .module import Module


class Upsample(Module):
    """Signals, images or volumes at another size, or scaled by a factor.

    Shape: [N, C, *] gives [N, C, size]. Dtype: the input's; with another mode than nearest of
    integers the default float.

    >>> al.nn.Upsample(scale_factor=2)(al.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        if hasattr(scale_factor, "__iter__"):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = None if scale_factor is None else float(scale_factor)
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The resampled input."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """The size or factor, and the mode."""
        size = f"size={self.size!r}" if self.scale_factor is None else None
        return f"{size or f'scale_factor={self.scale_factor!r}'}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images at another size, each point from the nearest one.

    Shape: [N, C, H, W] gives [N, C, size]. Dtype: the input's.

    >>> al.nn.UpsamplingNearest2d(scale_factor=2)(al.ones(1, 1, 2, 2)).shape
    (1, 1, 4, 4)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images at another size, each point from the four around it, corners on corners.

    Shape: [N, C, H, W] gives [N, C, size]. Dtype: the input's; of integers the default float.

    >>> al.nn.UpsamplingBilinear2d(scale_factor=2)(al.tensor([[[[0.0, 3.0]]]]))[0, 0, 0]
    tensor([0., 1., 2., 3.])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
