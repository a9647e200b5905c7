"""The classes of results with named fields, as torch.return_types.

Every class comes from the Rust tables and is made when it is first asked for; no name is listed here.
"""

from collections import namedtuple as _namedtuple

from . import _core
from ._core import _named_fields
from ._examples import as_result as _as_result

_FIELDS = _named_fields()
__all__ = list(_FIELDS)


def __getattr__(name: str) -> type:
    if name not in _FIELDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = _namedtuple(name, _FIELDS[name], module=__name__)
    path = name.replace("linalg_", "linalg.")
    function = getattr(_core.linalg if path != name else _core, path.removeprefix("linalg."))
    made.__doc__ = _as_result(function.__doc__, path, _FIELDS[name])
    return made


def __dir__() -> list:
    return __all__
