"""What a state from a file may hold. A file may say anything, also with a checksum that is right: types,
lengths and ranges are looked at here before NumPy, Python's `random` or an object of ours takes them."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from ._core import Generator, Tensor

#: The largest number that is finite.
MOST = 1.7976931348623157e308
#: What counts and positions are at most.
LARGEST = 2**63 - 1


def is_of_package(one: Any) -> bool:
    """Whether the class is one of the package's, not of somebody who inherits from it."""
    return type(one).__module__.partition(".")[0] == __name__.partition(".")[0]


def _refusal(kind: type[Exception], op: str, name: str, value: Any, accepted: str) -> Exception:
    return kind(f"{op}: wrong {name}: {reprlib.repr(value)}; {accepted}")


def check_keys(
    op: str, state: Any, needed: Iterable[str], optional: Iterable[str] | None = ()
) -> dict[Any, Any]:
    """A dict with all of some keys and no others; with None for the optional ones, with any other
    names."""
    if not isinstance(state, Mapping):
        raise TypeError(
            f"{op}: not a state: {type(state).__name__}; the dict that state_dict gave is accepted"
        )
    needed = list(needed)
    missing = [key for key in needed if key not in state]
    if missing:
        raise ValueError(f"{op}: missing: {', '.join(missing)}; what state_dict gave is accepted")
    if optional is None:
        for key in state:
            if not isinstance(key, str):
                raise _refusal(TypeError, op, "key", key, "names are accepted")
    else:
        known = {*needed, *optional}
        unknown = [reprlib.repr(key) for key in state if not isinstance(key, str) or key not in known]
        if unknown:
            accepted = f"{', '.join(sorted(known))} are" if known else "nothing is"
            raise ValueError(f"{op}: unknown: {', '.join(unknown[:5])}; {accepted} accepted")
    return dict(state)


def check_integer(op: str, name: str, value: Any, least: int = 0, most: int = LARGEST) -> int:
    """An int within bounds."""
    accepted = f"ints from {least} to {most} are accepted"
    if isinstance(value, (bool, Tensor)) or not hasattr(value, "__index__"):
        raise _refusal(TypeError, op, name, value, accepted)
    try:
        number = value.__index__()
    except (TypeError, ValueError):
        raise _refusal(TypeError, op, name, value, accepted) from None
    if not least <= number <= most:
        raise _refusal(ValueError, op, name, value, accepted)
    return int(number)


def check_number(
    op: str, name: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> float:
    """A number within bounds; NaN is within none."""
    accepted = f"numbers from {least} to {most} are accepted"
    if isinstance(value, Tensor) and value.numel() == 1 and not value.is_complex():
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(TypeError, op, name, value, accepted)
    try:
        number = float(value)
    except OverflowError:
        raise _refusal(ValueError, op, name, value, accepted) from None
    if not least <= number <= most:
        raise _refusal(ValueError, op, name, value, accepted)
    return number


def check_choice(op: str, name: str, value: Any, choices: Iterable[Any]) -> None:
    """One of a few values."""
    choices = list(choices)
    if not any(type(value) is type(one) and value == one for one in choices):
        accepted = f"{', '.join(map(repr, choices))} are accepted"
        raise _refusal(ValueError, op, name, value, accepted)


def check_list(op: str, name: str, value: Any, length: int | None = None) -> list[Any]:
    """A list, or one of so many members."""
    accepted = "a list is accepted" if length is None else f"a list of {length} is accepted"
    if not isinstance(value, (list, tuple)):
        raise _refusal(TypeError, op, name, value, accepted)
    if length is not None and len(value) != length:
        raise _refusal(ValueError, op, name, value, accepted)
    return list(value)


def check_like(op: str, name: str, value: Any, mine: Any) -> None:
    """A value of the kind of one that it takes the place of: lists of one length, numbers that are
    some."""
    if mine is None:
        check_choice(op, name, value, (None,))
    elif isinstance(mine, bool):
        check_choice(op, name, value, (False, True))
    elif isinstance(mine, (int, float)) or (isinstance(mine, Tensor) and mine.numel() == 1):
        check_number(op, name, value, -MOST, MOST)
    elif isinstance(mine, str):
        if not isinstance(value, str):
            raise _refusal(TypeError, op, name, value, "text is accepted")
    elif isinstance(mine, (list, tuple)):
        for place, (one, its) in enumerate(zip(check_list(op, name, value, len(mine)), mine)):
            check_like(op, f"{name}[{place}]", one, its)
    elif isinstance(mine, Mapping) and not isinstance(value, Mapping):
        raise _refusal(TypeError, op, name, value, "a dict is accepted")


def check_generator(op: str, name: str, value: Any) -> Tensor:
    """The state of a generator, tried where it does no harm."""
    try:
        Generator().set_state(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise type(error)(f"{op}: wrong {name}: {error}") from None
    state: Tensor = value
    return state


def check_words(op: str, name: str, value: Any, count: int) -> Tensor:
    """So many words of 32 bits."""
    is_one = isinstance(value, Tensor) and value.dtype == "uint32" and tuple(value.shape) == (count,)
    if not is_one:
        raise _refusal(ValueError, op, name, value, f"a tensor of {count} uint32 is accepted")
    found: Tensor = value
    return found


__all__ = [
    "LARGEST",
    "check_choice",
    "check_generator",
    "check_integer",
    "check_keys",
    "check_like",
    "check_list",
    "check_number",
    "check_words",
    "is_of_package",
]
