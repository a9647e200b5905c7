"""Arguments that are a number for all dimensions, or one for each."""

from __future__ import annotations

from typing import Any


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


def check_positive(op: str, **values: Any) -> None:
    """Refuses sizes below 1."""
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{op}: {name} is not positive: {value}")
