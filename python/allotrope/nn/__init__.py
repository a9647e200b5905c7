"""Networks: layers and losses, as torch.nn."""

from . import functional

__all__ = ["functional"]
