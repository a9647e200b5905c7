"""What layers check of their arguments: tensors, and numbers for all dimensions or for each."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from .._operand import operand


def as_input(op: str, value: Any) -> Tensor:
    """The tensor itself, or that of an array or a list."""
    if isinstance(value, Tensor):
        return value
    try:
        return operand(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{op}: not a tensor: {type(value).__name__}; tensors, arrays and lists are accepted"
        ) from error


def one_for_each(op: str, name: str, value: Any, rank: int) -> tuple[Any, ...]:
    """A tuple of as many numbers as there are dimensions."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return (value,) * rank
    numbers = tuple(value)
    if len(numbers) != rank:
        raise ValueError(
            f"{op}: wrong number of values for {name}: {len(numbers)}; one or {rank} are accepted"
        )
    return numbers
