"""Linear algebra, as torch.linalg: functions of the Rust tables, and compositions of them."""

from . import _ldl
from ._core import linalg as _linalg

__all__ = [*_linalg.__all__, *_ldl.__all__]

globals().update({name: getattr(_linalg, name) for name in _linalg.__all__})
globals().update({name: getattr(_ldl, name) for name in _ldl.__all__})
