"""The classes of results with named fields, as torch.return_types.

Every class comes from the Rust tables and is made when it is first asked for; no name is listed here.
"""

from collections import namedtuple as _namedtuple

from ._core import _named_fields

_FIELDS = _named_fields()
__all__ = list(_FIELDS)


def __getattr__(name: str) -> type:
    if name not in _FIELDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = _namedtuple(name, _FIELDS[name], module=__name__)
    return made


def __dir__() -> list:
    return __all__
