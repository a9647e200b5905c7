"""torch.jit's names for programs that use them: functions and modules run as they are written, in
Python, since there is no compiler. What would need one is an error.
"""

from __future__ import annotations

from typing import Any, TypeVar
from typing import Final as Final

from .nn.module import Module

_T = TypeVar("_T")





class ScriptModule(Module):
    """A module, as every other one.

    >>> class Double(al.jit.ScriptModule):
    ...     @al.jit.script_method
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Double()(al.ones(1))
    tensor([2.])
    """


def script(obj: _T, *_args: Any, **_options: Any) -> _T:
    """The function, class or module itself: it runs as it is written.

    >>> @al.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(al.ones(1))
    tensor([2.])
    """
    return obj


def trace(func: _T, *_args: Any, **_options: Any) -> _T:
    """The function or module itself. No control flow is frozen: other inputs may take other ways.

    >>> al.jit.trace(lambda x: 2 * x, al.ones(1))(al.ones(2))
    tensor([2., 2.])
    """
    return func


def trace_module(mod: _T, *_args: Any, **_options: Any) -> _T:
    """The module itself.

    >>> layer = al.nn.Linear(1, 1)
    >>> al.jit.trace_module(layer, {"forward": al.ones(1, 1)}) is layer
    True
    """
    return mod


def script_method(fn: _T) -> _T:
    """The method itself.

    >>> al.jit.script_method(len) is len
    True
    """
    return fn


def export(fn: _T) -> _T:
    """The method itself: all are there.

    >>> al.jit.export(len) is len
    True
    """
    return fn


def unused(fn: _T) -> _T:
    """The method itself.

    >>> al.jit.unused(len) is len
    True
    """
    return fn


def interface(obj: _T) -> _T:
    """The class itself.

    >>> al.jit.interface(int)
    <class 'int'>
    """
    return obj


def ignore(drop: Any = False, **_options: Any) -> Any:
    """The method itself, with and without parentheses.

    >>> al.jit.ignore(len) is len, al.jit.ignore()(len) is len
    (True, True)
    """
    return drop if callable(drop) else lambda function: function


def is_scripting() -> bool:
    """Whether code runs in a compiler's language: never.

    >>> al.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Whether code runs to be recorded: never.

    >>> al.jit.is_tracing()
    False
    """
    return False


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value.

    >>> al.jit.annotate(list, [1])
    [1]
    """
    return the_value


def freeze(mod: _T, *_args: Any, **_options: Any) -> _T:
    """The module itself.

    >>> layer = al.nn.Linear(1, 1).eval()
    >>> al.jit.freeze(layer) is layer
    True
    """
    return mod


def optimize_for_inference(mod: _T, *_args: Any, **_options: Any) -> _T:
    """The module itself; `al.nn.utils.fuse_conv_bn_eval` folds norms into convolutions.

    >>> layer = al.nn.Linear(1, 1).eval()
    >>> al.jit.optimize_for_inference(layer) is layer
    True
    """
    return mod


def save(m: Any, f: Any, *_args: Any, **_options: Any) -> None:
    """Refused: a program is its source. `al.save` writes its numbers.

    >>> al.jit.save(al.nn.Linear(1, 1), "model.pt")
    Traceback (most recent call last):
        ...
    RuntimeError: jit.save: a file of a program: 'model.pt'; files of tensors are accepted (hint: al.save(module.state_dict(), path))
    """
    raise RuntimeError(
        f"jit.save: a file of a program: {f!r}; files of tensors are accepted (hint: al.save(module.state_dict(), path))"
    )


def load(f: Any, *_args: Any, **_options: Any) -> Any:
    """Refused: files here hold tensors. `al.load` reads them.

    >>> al.jit.load("model.pt")
    Traceback (most recent call last):
        ...
    RuntimeError: jit.load: a file of a program: 'model.pt'; files of tensors are accepted (hint: al.load(path))
    """
    raise RuntimeError(f"jit.load: a file of a program: {f!r}; files of tensors are accepted (hint: al.load(path))")


def isinstance(obj: Any, target_type: Any) -> bool:  # noqa: A001 - torch's name
    """Whether an object is of a class.

    >>> al.jit.isinstance(1, int)
    True
    """
    import builtins
    import typing

    def base(kind: Any) -> Any:
        return typing.get_origin(kind) or kind

    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(base(kind) for kind in kinds))


__all__ = [
    "ScriptModule",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]
