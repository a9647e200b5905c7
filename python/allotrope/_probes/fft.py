"""Fourier transforms."""

from typing import Any

import allotrope as al


def _signal(dtype: Any) -> Any:
    return al.arange(6).reshape(2, 3).to(dtype)


def _call(name: Any) -> Any:
    return lambda dtype: getattr(al.fft, name)(_signal(dtype))


NAMES = """
fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2
fftn ifftn rfftn irfftn hfftn ihfftn fftshift ifftshift
""".split()

CALLS = {f"fft.{name}": _call(name) for name in NAMES}
CALLS |= {
    "stft": lambda dtype: al.stft(al.arange(8).to(dtype), 4, pad_mode="constant"),
    "istft": lambda dtype: al.istft(al.arange(12).reshape(3, 4).to(dtype), 4, onesided=True),
}
