"""The Python array API standard 2025.12: the names of `al.array_api`, of which `meshgrid`, `broadcast_arrays` and
the devices of `__array_namespace_info__` are tuples, where 2024.12 has lists.

>>> x = al.ones(2)
>>> x.__array_namespace__(api_version="2025.12") is al.array_api.v2025_12
True
"""

import allotrope.array_api as _former

from . import _info
from ._build import functions as _functions
from ._table import CHANGES as _CHANGES

__array_api_version__ = "2025.12"


def __array_namespace_info__() -> _info.LaterInfo:
    """What the namespace can do, and its devices and dtypes.

    >>> al.device("cpu") in al.array_api.v2025_12.__array_namespace_info__().devices()
    True
    """
    return _info.LaterInfo()


__all__ = [*_former.__all__]

globals().update({name: getattr(_former, name) for name in __all__ if name not in globals()})
globals().update(_functions(_CHANGES.ROWS, __name__))


def __dir__() -> list[str]:
    return sorted([*__all__, "__array_api_version__"])
