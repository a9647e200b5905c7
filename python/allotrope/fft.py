"""Fourier transforms, as torch.fft.

Every function comes from the Rust tables; no name is listed here.
"""

from ._core import fft as _fft

__all__ = list(_fft.__all__)

globals().update({name: getattr(_fft, name) for name in __all__})
