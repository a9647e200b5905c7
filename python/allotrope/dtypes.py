"""Every dtype, and what is asked of dtypes: a module with the package's own, and, called, a list of all
in table order.

>>> [d.name for d in al.dtypes() if d.is_complex]
['complex64', 'complex128']
>>> from allotrope.dtypes import infer_dtype_from_data
>>> infer_dtype_from_data([1.0, 2.0])
allotrope.float32
"""

from __future__ import annotations

import sys
from typing import Any

from . import _core
from ._core import (
    Family,
    all_dtypes,
    bool_dtypes,
    can_cast,
    check_dtype,
    complex_dtypes,
    dtype,
    dtype_table,
    finfo,
    floating_dtypes,
    get_dtype,
    iinfo,
    infer_dtype,
    infer_dtype_from_data,
    integer_dtypes,
    is_complex,
    is_floating_point,
    is_integer,
    is_signed,
    isdtype,
    promote_types,
    real_dtypes,
    result_type,
    signed_integer_dtypes,
    unsigned_integer_dtypes,
)
from ._namespace import Namespace

DType = dtype

__all__ = [
    "DType",
    "Family",
    "all_dtypes",
    "bool_dtypes",
    "can_cast",
    "check_dtype",
    "complex_dtypes",
    "dtype",
    "dtype_table",
    "finfo",
    "floating_dtypes",
    "get_dtype",
    "iinfo",
    "infer_dtype",
    "infer_dtype_from_data",
    "integer_dtypes",
    "is_complex",
    "is_floating_point",
    "is_integer",
    "is_signed",
    "isdtype",
    "promote_types",
    "real_dtypes",
    "result_type",
    "signed_integer_dtypes",
    "unsigned_integer_dtypes",
]


class _Called(Namespace):
    def __call__(self) -> list[dtype]:
        return _core.dtypes()


sys.modules[__name__].__class__ = _Called


def __getattr__(name: str) -> Any:
    """Dtypes and families by their names, of which the package has the list."""
    found = getattr(_core, name, None)
    if not isinstance(found, (dtype, Family)) or name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
