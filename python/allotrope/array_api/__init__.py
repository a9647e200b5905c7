"""The Python array API standard 2024.12, over the library's tensors.

Every function is made of a row of `_table`; what 2025.12 adds without contradicting is there too, and what it
answers otherwise in `v2025_12`.

>>> from allotrope import array_api as xp
>>> x = xp.linspace(0, 1, 3)
>>> x.__array_namespace__() is xp
True
"""

import allotrope as _al

from . import fft, linalg
from ._build import functions as _functions
from ._info import DTYPES as _DTYPES
from ._info import __array_namespace_info__
from ._table import NAMESPACE as _NAMESPACE

__array_api_version__ = "2024.12"

_CONSTANTS = {"e": _al.e, "inf": _al.inf, "nan": _al.nan, "newaxis": None, "pi": _al.pi}
_MADE = {
    name: function
    for file in _NAMESPACE
    for name, function in _functions(file.ROWS, __name__).items()
}

__all__ = [*_CONSTANTS, *_DTYPES, *_MADE, "fft", "linalg", "__array_namespace_info__"]

globals().update({**_CONSTANTS, **{name: getattr(_al, name) for name in _DTYPES}, **_MADE})


def __dir__() -> list[str]:
    return sorted([*__all__, "__array_api_version__"])


from . import v2025_12  # noqa: E402, F401 - its names are these, but for a few
