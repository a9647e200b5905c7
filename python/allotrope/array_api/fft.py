"""The extension `fft` of the array API standard; its functions are rows of the table."""

from ._build import functions as _functions
from ._table import EXTENSIONS as _EXTENSIONS

_MADE = _functions(_EXTENSIONS["fft"].EXTENSION, __name__)

__all__ = list(_MADE)

globals().update(_MADE)
