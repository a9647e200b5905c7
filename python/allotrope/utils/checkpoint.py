"""torch's path to `al.autograd.checkpoint`."""

from ..autograd.checkpoint import checkpoint, checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
