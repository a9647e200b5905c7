"""Where torch has what is `al.data` and `al.autograd.checkpoint` here."""

from . import _pytree, checkpoint, data

__all__ = ["_pytree", "checkpoint", "data"]
