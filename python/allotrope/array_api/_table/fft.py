"""Fourier transforms: rows of the extension."""

EXTENSION = """
fft ifft rfft irfft hfft ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Literal["backward", "ortho", "forward"] = "backward") -> Tensor
    = al.fft.{name}(x, n, axis, norm)
    >>> xp.fft.{name}(xp.ones((3,)), n=4).ndim
    1

fftn ifftn rfftn irfftn(x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Literal["backward", "ortho", "forward"] = "backward") -> Tensor
    = al.fft.{name}(x, s, axes, norm)
    >>> xp.fft.{name}(xp.ones((2, 4)), axes=(0,)).ndim
    2

fftfreq rfftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: device | None = None) -> Tensor
    = al.fft.{name}(n, d, dtype=dtype, device=device)
    >>> xp.fft.{name}(4, d=0.5)[:2]
    tensor([0.0000, 0.5000])

fftshift ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor
    = al.fft.{name}(x, axes)
    >>> xp.fft.{name}(xp.asarray([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
"""
