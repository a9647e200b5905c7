"""Fourier transforms, as torch.fft."""

from ._core.fft import *  # noqa: F403
from ._core.fft import __all__  # noqa: F401
