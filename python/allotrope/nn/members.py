"""The members of a module by their names: parameters, buffers or modules."""

from __future__ import annotations

import weakref
from typing import Any


class Members(dict[str, Any]):
    """Members by name, each of which is an attribute of the object too: reading `self.weight` is
    then an ordinary lookup, not a search through three dicts."""

    __slots__ = ("_owner",)

    def __init__(self, owner: weakref.ref[Any]) -> None:
        super().__init__()
        # Not the dict itself: a model would then wait for the garbage collector to be freed.
        self._owner = owner

    @property
    def _attributes(self) -> dict[str, Any]:
        owner = self._owner()
        return {} if owner is None else owner.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._attributes[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._attributes.pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self._attributes.pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self._attributes.pop(name, None)
        return name, value

    def clear(self) -> None:
        attributes = self._attributes
        for name in self:
            attributes.pop(name, None)
        super().clear()

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *others: Any, **more: Any) -> None:
        for name, value in dict(*others, **more).items():
            self[name] = value

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def copy(self) -> dict[str, Any]:
        return dict(self)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def check_name(module: Any, op: str, name: Any, members: dict[str, Any]) -> None:
    """Refuses names that could not be attributes or parts of a path."""
    if not isinstance(name, str):
        raise TypeError(f"{op}: not a name: {type(name).__name__}; str is accepted")
    if "." in name:
        raise KeyError(f'{op}: a name with a ".": {name!r}; it separates the names of a path')
    if name == "":
        raise KeyError(f"{op}: an empty name")
    if name not in members and hasattr(module, name):
        raise KeyError(f"{op}: the attribute {name!r} exists already in {type(module).__name__}")


def refuse(op: str, value: Any, what: str, name: Any, accepted: str) -> None:
    """Something that is no member of a kind."""
    hint = " (hint: nn.Parameter(tensor))" if accepted.startswith("Parameter") else ""
    raise TypeError(
        f"{op}: wrong type for {what} {name!r}: {type(value).__name__}; {accepted} is accepted{hint}"
    )
