"""Linear algebra, as torch.linalg.

Every function comes from the Rust tables; no name is listed here.
"""

from ._core import linalg as _linalg

__all__ = list(_linalg.__all__)

globals().update({name: getattr(_linalg, name) for name in __all__})
