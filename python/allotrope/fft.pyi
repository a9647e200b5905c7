"""Fourier transforms, as torch.fft."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from . import Tensor, _DTypeLike, _Operand

_Norm: TypeAlias = Literal["backward", "forward", "ortho"] | None
_Axes: TypeAlias = int | Sequence[int] | None

def fft(
    input: _Operand,
    n: int | None = None,
    dim: int | None = None,
    norm: _Norm = None,
    *,
    axis: int | None = None,
) -> Tensor: ...
def ifft(
    input: _Operand,
    n: int | None = None,
    dim: int | None = None,
    norm: _Norm = None,
    *,
    axis: int | None = None,
) -> Tensor: ...
def rfft(
    input: _Operand,
    n: int | None = None,
    dim: int | None = None,
    norm: _Norm = None,
    *,
    axis: int | None = None,
) -> Tensor: ...
def irfft(
    input: _Operand,
    n: int | None = None,
    dim: int | None = None,
    norm: _Norm = None,
    *,
    axis: int | None = None,
) -> Tensor: ...
def hfft(
    input: _Operand,
    n: int | None = None,
    dim: int | None = None,
    norm: _Norm = None,
    *,
    axis: int | None = None,
) -> Tensor: ...
def ihfft(
    input: _Operand,
    n: int | None = None,
    dim: int | None = None,
    norm: _Norm = None,
    *,
    axis: int | None = None,
) -> Tensor: ...
def fft2(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def ifft2(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def rfft2(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def irfft2(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def hfft2(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def ihfft2(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def fftn(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def ifftn(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def rfftn(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def irfftn(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def hfftn(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def ihfftn(
    input: _Operand,
    s: _Axes = None,
    dim: _Axes = None,
    norm: _Norm = None,
    *,
    axes: _Axes = None,
) -> Tensor: ...
def fftfreq(n: int, d: float = 1.0, *, dtype: _DTypeLike = None, device: str | None = None, requires_grad: bool = False) -> Tensor: ...
def rfftfreq(n: int, d: float = 1.0, *, dtype: _DTypeLike = None, device: str | None = None, requires_grad: bool = False) -> Tensor: ...
def fftshift(input: _Operand, dim: _Axes = None, *, axes: _Axes = None) -> Tensor: ...
def ifftshift(input: _Operand, dim: _Axes = None, *, axes: _Axes = None) -> Tensor: ...
