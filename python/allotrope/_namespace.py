"""What a module of the package does where an attribute is assigned to it, or one is asked for that it
has not: a setting that is none is refused, and an error says where the name is.

Functions, classes and modules may be put into a module by whoever patches it; a number, a word or a
dtype in a place that nothing reads would be lost silently.
"""

from __future__ import annotations

import reprlib
import sys
from types import ModuleType
from typing import Any

from ._core import _amp

# Where the names are that people reach for in the package itself, in the order of looking.
_PLACES = (
    "optim", "nn", "data", "nn.functional", "optim.lr_scheduler", "amp", "random", "linalg", "fft",
    "special", "autograd", "func", "nn.init", "nn.utils", "testing", "gpu", "masked", "distributions",
    "signal.windows", "utils",
)  # fmt: skip


class Namespace(ModuleType):
    """A module that refuses values for attributes that it has not."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            # Modules of the package get here as they are imported.
            _guard(value, f"{self.__name__}.{name}")
        elif not (callable(value) or name[:1] == "_" or hasattr(type(self), name)):
            former = vars(self).get(name, self)
            if callable(former) or isinstance(former, ModuleType):
                raise AttributeError(_refusal(self, name, value))
        super().__setattr__(name, value)


def _guard(module: ModuleType, path: str) -> None:
    """Makes a public module of the package a namespace, and those that it has imported into itself."""
    if type(module) is ModuleType and module.__name__ == path and "._" not in path:
        module.__class__ = Namespace
        for name, value in vars(module).items():
            if type(value) is ModuleType:
                _guard(value, f"{path}.{name}")


class Package(Namespace):
    """The package itself, with the one setting that is an attribute."""

    @property
    def enable_autocast(self) -> bool:
        """Whether autocast is on; assigned, it is turned on or off for the whole program, as by
        `set_autocast_enabled`.

        >>> al.enable_autocast
        False
        >>> al.enable_autocast = True
        >>> al.ones(2, 2).matmul(al.ones(2, 2)).dtype
        allotrope.bfloat16
        >>> al.enable_autocast = False
        """
        found: bool = _amp.is_autocast_enabled()
        return found

    @enable_autocast.setter
    def enable_autocast(self, enabled: bool) -> None:
        if not isinstance(enabled, bool):
            raise TypeError(f"enable_autocast: not a bool: {reprlib.repr(enabled)}; True and False are accepted")
        _amp.set_autocast_enabled(enabled)


def _refusal(module: ModuleType, name: str, value: Any) -> str:
    """Why a value is not assigned, and what sets what was meant."""
    short = module.__name__.replace("allotrope", "al", 1)
    former = vars(module).get(name)
    what = "no such setting"
    if former is not None:
        kinds = {"a module": ModuleType, "a class": type, "a function": object}
        what = f"{next(kind for kind, of in kinds.items() if isinstance(former, of))}, not a setting"
    setter = _setter(short, module, name) or _setter("al", sys.modules["allotrope"], name)
    hint = f" (hint: {setter})" if setter else ""
    return (
        f"{short}.{name}: {what}: {value!r}; functions, classes and modules are accepted{hint}"
    )


def _setter(path: str, owner: ModuleType, name: str) -> str:
    """What a module has to set what is meant by a name."""
    from difflib import get_close_matches

    setters = {known[4:]: f"{path}.{known}(value)" for known in dir(owner) if known[:4] == "set_"}
    if owner is sys.modules["allotrope"]:
        switch = f"{path}.enable_autocast = True"
        setters |= {"autocast": switch, "enable_autocast": switch, "seed": "al.manual_seed(value)"}
    found = [known for known in (name, f"default_{name}") if known in setters]
    found += get_close_matches(name, setters, 1)
    found += [known for known in setters if name in known.split("_")]
    return setters[found[0]] if found else ""


def hint_for(name: str) -> str:
    """Where else in the package a name is, as the end of an error."""
    from importlib import import_module

    if name.startswith("_"):
        return ""
    if name in ("cuda", "mps", "xpu"):
        return " (hint: devices of every maker are in gpu)"
    for place in _PLACES:
        module = import_module(f"allotrope.{place}")
        # What a module has imported for itself is no name of its.
        if name in getattr(module, "__all__", ()):
            return f" (hint: al.{place}.{name})"
    return ""
