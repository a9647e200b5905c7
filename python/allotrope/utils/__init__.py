"""Where torch has what is `al.data` and `al.autograd.checkpoint` here."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
