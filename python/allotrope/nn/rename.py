"""Other names for what is in a state dict: those that the caller gives, and those known of old."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# What other programs write for the names of modules here. A rule is used only where the name that
# it gives is a member that nothing else was given for.
_KNOWN = [
    (re.compile(r"(^|\.)(?:(?:module|_orig_mod)\.)+"), r"\1"),
    (re.compile(r"(^|\.)gamma$"), r"\1weight"),
    (re.compile(r"(^|\.)beta$"), r"\1bias"),
    (re.compile(r"(^|\.)(\w+)_g$"), r"\1parametrizations.\2.original0"),
    (re.compile(r"(^|\.)(\w+)_v$"), r"\1parametrizations.\2.original1"),
    (re.compile(r"(^|\.)(\w+)_orig$"), r"\1parametrizations.\2.original"),
    (re.compile(r"(^|\.)(\w+)_u$"), r"\1parametrizations.\2.0._u"),
    (re.compile(r"(^|\.)(\w+)_v$"), r"\1parametrizations.\2.0._v"),
]


def renamed_keys(
    state_dict: Mapping[str, Any], expected: Mapping[str, Any], rename: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """The state dict under the names of a module, and which names have changed."""
    change = _as_function(rename)
    given: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, value in state_dict.items():
        name = change(key)
        if name is None:
            continue
        if not isinstance(name, str):
            raise TypeError(
                f"rename: not a name for {key!r}: {type(name).__name__}; str is accepted, or None to "
                "leave it out"
            )
        _put(given, origins, key, name, value)
    for key in [key for key in given if key not in expected]:
        name = _known_name(key, expected)
        if name is not None and name not in given:
            given[name] = given.pop(key)
            origins[name] = origins.pop(key)
    return given, {origin: name for name, origin in origins.items() if origin != name}


def _put(given: dict[str, Any], origins: dict[str, str], key: str, name: str, value: Any) -> None:
    if name in given:
        raise ValueError(f"rename: two names become {name!r}: {origins[name]!r} and {key!r}")
    given[name] = value
    origins[name] = key


def _known_name(key: str, expected: Mapping[str, Any]) -> str | None:
    names = [key]
    for pattern, replacement in _KNOWN:
        # Several rules may be needed for one name: each is tried on what the others gave.
        names += [new for new in (pattern.sub(replacement, name) for name in names) if new not in names]
    return next((name for name in names if name in expected), None)


def _as_function(rename: Any) -> Callable[[str], Any]:
    if rename is None:
        return lambda name: name
    if callable(rename):
        found: Callable[[str], Any] = rename
        return found
    if isinstance(rename, Mapping):
        prefixes = [(old, new) for old, new in rename.items() if old.endswith(".")]

        def from_dict(name: str) -> Any:
            if name in rename:
                return rename[name]
            for old, new in prefixes:
                if name.startswith(old):
                    return None if new is None else new + name[len(old) :]
            return name

        return from_dict
    if isinstance(rename, (list, tuple)):
        try:
            rules = [(re.compile(pattern), replacement) for pattern, replacement in rename]
        except (TypeError, ValueError, re.error) as error:
            raise ValueError(
                f"rename: not a list of (regular expression, replacement): {error}"
            ) from error

        def from_rules(name: str) -> Any:
            for pattern, replacement in rules:
                name = pattern.sub(replacement, name)
            return name

        return from_rules
    raise TypeError(
        f"rename: wrong type: {type(rename).__name__}; a dict, a function or a list of (regular "
        "expression, replacement) is accepted"
    )
