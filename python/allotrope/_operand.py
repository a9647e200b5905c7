"""What functions that are written in Python make of their operands."""

from __future__ import annotations

from typing import Any

from ._core import Tensor, as_tensor


def operand(x: Any) -> Tensor:
    """A tensor as it is, or one of anything else that has numbers, which belongs to no device: the
    default device is that of constructors alone."""
    return x if isinstance(x, Tensor) else as_tensor(x, device="cpu").free()


__all__ = ["operand"]
