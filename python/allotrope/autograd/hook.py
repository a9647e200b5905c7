"""Hooks as objects: a tensor object keeps them, so that the collector sees what they refer to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Hook:
    """A function that is called with the gradients of a tensor."""

    __slots__ = ("__weakref__", "function", "keeper")

    def __init__(self, function: Callable[..., Any], keeper: Any) -> None:
        self.function = function
        self.keeper = keeper

    def __del__(self) -> None:
        # The collector found it in a cycle: the graph keeps it while gradients may still come.
        self.keeper.keep(self)
