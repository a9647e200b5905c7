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


#: Each layer of a stack is an object, with several tensors: more of them would be made for minutes.
MOST_LAYERS = 4096


def check_layers(op: str, name: str, count: Any, least: int = 1) -> None:
    """Refuses a number of layers in a stack that no network has."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{op}: not a number of layers: {name}={count!r}; an integer is accepted")
    if not least <= count <= MOST_LAYERS:
        raise ValueError(
            f"{op}: wrong number of layers: {name}={count}; {least} to {MOST_LAYERS} are accepted"
        )


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
