"""Layers and losses as functions, as torch.nn.functional.

Every function comes from the Rust tables; no name is listed here.
"""

from .._core import functional as _functional

__all__ = list(_functional.__all__)

globals().update({name: getattr(_functional, name) for name in __all__})
