"""Subclasses of tensors that survive operations: what is computed of them is of their class, and a class
method `__torch_function__`, if they have one, is called in place of the operation.

Nothing of it is there before the first object of such a class is made: then the methods of `Tensor` and the
functions of the package are replaced by ones that ask the classes of their arguments.
"""

from __future__ import annotations

import functools
import reprlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from ._core import Tensor
from ._pytree import tree_map

_is_off: ContextVar[bool] = ContextVar("no subclass is asked", default=False)

_OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split(),
    "neg pos abs invert lt le eq ne gt ge getitem setitem".split(),
)

# Attributes that are tensors.
_ATTRIBUTES = ("T", "mT", "H", "mH", "real", "imag", "data")

# Functions that make tensors of anything, or ask about it.
_PLAIN = frozenset(
    "tensor as_tensor asarray array from_numpy from_dlpack frombuffer is_tensor save load typename numel".split()
)

# Where the functions are.
_MODULES = ("", "nn.functional", "linalg", "fft", "special")


@contextmanager
def without_subclasses() -> Iterator[None]:
    """A block in which operations give plain tensors and no `__torch_function__` is called."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def _survives(kind: Any) -> bool:
    return kind is not Tensor and issubclass(kind, Tensor) and getattr(kind, "_survives", True)


def _given(args: Any, options: Any) -> Iterator[Any]:
    """The arguments, and what lists and tuples among them hold."""
    for one in (*args, *options.values()):
        if isinstance(one, (list, tuple)):
            yield from one
        else:
            yield one


def _kinds(args: Any, options: Any) -> list[Any]:
    """The classes to ask, each once: a subclass before its base, else the earlier first."""
    found: list[Any] = []
    for one in _given(args, options):
        kind = type(one)
        if _survives(kind) and kind not in found:
            before = [i for i, other in enumerate(found) if issubclass(kind, other)]
            found.insert(before[0] if before else len(found), kind)
    return found


def _asking(original: Any) -> Any:
    """A function that gives what the classes of its arguments say that it gives."""

    @functools.wraps(original)
    def function(*args: Any, **options: Any) -> Any:
        kinds = [] if _is_off.get() else _kinds(args, options)
        if not kinds:
            return original(*args, **options)
        for kind in kinds:
            answer = kind.__torch_function__(function, tuple(kinds), args, options)
            if answer is not NotImplemented:
                return answer
        names = ", ".join(kind.__name__ for kind in kinds)
        name = getattr(original, "__name__", "operation")
        raise TypeError(f"{name}: no answer of __torch_function__: {names}; all gave NotImplemented")

    return function


def _of_kind(kind: Any, made: Any, given: Any) -> Any:
    """Plain tensors of a result as objects of a class, but for those that were given."""

    def one(leaf: Any) -> Any:
        if type(leaf) is Tensor and not any(leaf is each for each in given):
            leaf.__class__ = kind
        return leaf

    return tree_map(one, made)


def as_subclass(self: Tensor, cls: type) -> Any:
    """The same elements with the same history, as an object of a subclass of `Tensor`.

    >>> class Named(al.Tensor):
    ...     pass
    >>> type(al.ones(1).as_subclass(Named) + 1).__name__
    'Named'
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass: not a subclass of Tensor: {reprlib.repr(cls)}; subclasses are accepted")
    if _survives(cls):
        _complete()
    made: Any = Tensor.__copy__(self)
    made.__class__ = cls
    return made


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """An object of a subclass over the memory of a tensor, without its history."""
    if _survives(cls):
        _complete()
    with without_subclasses():
        made: Any = data.detach()
    made.__class__ = cls
    return made.requires_grad_() if require_grad else made


def _attribute(original: Any) -> property:
    return property(_asking(original.__get__), original.__set__, doc=original.__doc__)


def __torch_function__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What an operation gives, as an object of this class: what a method of this name of a subclass calls
    for all that it has no answer of its own for.

    >>> class Loud(al.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return super().__torch_function__(func, types, args, kwargs)
    >>> _ = al.ones(2).as_subclass(Loud).exp()
    exp
    """
    with without_subclasses():
        made = func(*args, **(kwargs or {}))
    return _of_kind(cls, made, args)


def _reduced(self: Any, protocol: Any) -> Any:
    return _rebuilt, (type(self), _make_subclass(Tensor, self), self.requires_grad, dict(self.__dict__))


def _rebuilt(kind: Any, plain: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """What pickle calls."""
    made = _make_subclass(kind, plain, requires_grad)
    made.__dict__.update(attributes)
    return made


_is_complete = False


def _complete() -> None:
    """Makes methods and functions ask, once, when the first object is there whose class is asked."""
    global _is_complete
    if _is_complete:
        return
    _is_complete = True
    both, single = _OPERATORS
    operators = {f"__{p}{name}__" for name in both for p in ("", "r", "i")} | {f"__{name}__" for name in single}
    for name, member in [(name, getattr(Tensor, name)) for name in dir(Tensor)]:
        is_method = callable(member) and not isinstance(member, property) and name[:1] != "_"
        is_method = is_method and name != "as_subclass"
        if is_method or name in operators:
            setattr(Tensor, name, _asking(member))
        elif name in _ATTRIBUTES:
            setattr(Tensor, name, _attribute(member))
    for place in _MODULES:
        _replace_functions(sys.modules[f"allotrope.{place}".rstrip(".")])
    paths = sys.modules.get("allotrope.torch._paths")
    if paths is not None:
        paths.forget()


def _replace_functions(module: ModuleType) -> None:
    for name, value in list(vars(module).items()):
        is_function = callable(value) and not isinstance(value, (type, ModuleType))
        is_ours = (getattr(value, "__module__", None) or "allotrope").startswith("allotrope")
        is_plain = name in _PLAIN or name.partition("_")[0] in ("", "set", "get", "is")
        if is_function and is_ours and not is_plain:
            vars(module)[name] = _asking(value)


def _init_subclass(cls: Any, /, **options: Any) -> None:
    """Makes a subclass one that survives, but for parameters and buffers, whose results are tensors."""
    object.__init_subclass__(**options)
    if not _survives(cls):
        return
    own = vars(cls)
    new = own["__new__"].__func__ if "__new__" in own else super(cls, cls).__new__

    @functools.wraps(new)
    def __new__(kind: Any, *args: Any, **options: Any) -> Any:
        _complete()
        return new(kind, *args, **options)

    members: dict[str, Any] = {"__new__": staticmethod(__new__)}
    members |= {"_from_tensor": classmethod(_make_subclass), "__reduce_ex__": _reduced}
    for name, member in members.items():
        if name == "__new__" or name not in own:
            setattr(cls, name, member)


def survive() -> None:
    """Has subclasses of tensors survive operations from now on."""
    setattr(Tensor, "as_subclass", as_subclass)
    setattr(Tensor, "_make_subclass", staticmethod(_make_subclass))
    setattr(Tensor, "__torch_function__", classmethod(__torch_function__))
    setattr(Tensor, "__init_subclass__", classmethod(_init_subclass))
