"""The class `device`: what a tensor says of where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._core import _scopes
from .scope import decorate


class device(str):
    """A device by its name, which it equals: it is accepted wherever a name is. Without a number it is
    the first of its kind.

    As a scope, or a decorator of functions, it is where constructors and random functions put what they
    make if they are given no device: in this thread or task alone.

    >>> al.zeros(1).device
    device(type='cpu')
    >>> al.device("cuda", 1).index, al.device("gpu") == al.device("gpu:0")
    (1, True)
    >>> with al.device("cpu"):
    ...     al.get_default_device()
    device(type='cpu')
    """

    __slots__ = ()
    __module__ = "allotrope"

    def __new__(cls, type: str, index: int | None = None) -> device:
        name = str(type) if index is None else f"{type}:{index}"
        _core._check_device_name(name)
        return super().__new__(cls, name)

    @property
    def type(self) -> str:
        """The kind of device.

        >>> al.device("gpu", 1).type
        'gpu'
        """
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The number among devices of a kind, if it was given.

        >>> al.device("gpu", 1).index, al.device("cpu").index
        (1, None)
        """
        number = self.partition(":")[2]
        return int(number) if number else None

    def _place(self) -> str:
        # The first of a kind is meant where no number is given.
        return str.__str__(self).removesuffix(":0")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self._place() == str.__str__(other).removesuffix(":0")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._place())

    def __enter__(self) -> device:
        _scopes.enter_device(str(self))
        return self

    def __exit__(self, *error: object) -> None:
        # Of another task's block, which the event loop closes, there is nothing to end.
        _scopes.leave_device(str(self))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(self, function)

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"
