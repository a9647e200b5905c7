"""One small call per structured operation: made for every dtype and device by the tests, and once on a
device by `al.support(device=...)`, which so knows how it comes to its results there.

A file per family has `CALLS`: the operation's name in `al.support()`, and a function that takes a
dtype and calls the operation on small tensors of it, with values that have an answer.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable, Iterable
from typing import Any

import allotrope as al
from allotrope import _core

# What calls make their operands with.
MAKERS = ("tensor", "arange", "zeros", "ones", "full", "eye", "empty", "linspace", "rand", "randn")

_FAMILIES = sorted(name for _, name, _ in pkgutil.iter_modules(__path__))

CALLS: dict[str, Callable[[Any], Any]] = {}
for _name in _FAMILIES:
    CALLS |= importlib.import_module(f"{__name__}.{_name}").CALLS


class _Package:
    """The package, whose tensors are made on a device."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(al, name)
        if name not in MAKERS:
            return found
        return lambda *arguments, **options: found(*arguments, **{"device": self._device, **options})


def _calls_on(device: str) -> dict[str, Callable[[Any], Any]]:
    """The calls on tensors of a device: modules of their own, so that no others see it."""
    calls: dict[str, Callable[[Any], Any]] = {}
    for name in _FAMILIES:
        spec = importlib.util.find_spec(f"{__name__}.{name}")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.al = _Package(device)  # type: ignore[attr-defined]
        calls |= module.CALLS
    return calls


_known: dict[tuple[str, str], str] = {}


def _hosted(device: str) -> int:
    return sum(count for _, count in _core._hosted_operations(device))


def ways(device: str, names: Iterable[str]) -> dict[str, str]:
    """How a device comes to the results of operations: "native", "composed" or "hosted", as a small call
    of each in float32 shows, or in another dtype where that has no answer."""
    missing = [name for name in names if (device, name) not in _known]
    if missing:
        calls, state = _calls_on(device), al.get_rng_state()
        try:
            with al.no_grad(), al.fallback("silent"), al.demotion("silent"):
                for name in missing:
                    _known[device, name] = _way(device, name, calls[name])
        finally:
            al.set_rng_state(state)
    return {name: _known[device, name] for name in names}


def _way(device: str, name: str, call: Callable[[Any], Any]) -> str:
    answered = (dtype for dtype in ("float32", "int64", "bool", "complex64") if al.support(name, dtype) != "undefined")
    before = _hosted(device)
    call(al.dtype(next(answered)))
    if _hosted(device) > before:
        return "hosted"
    return _core._ways(device).get(name, "composed")
