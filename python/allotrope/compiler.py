"""torch.compiler's names for programs that use them: nothing is compiled, and code runs as it is
written. Chains of elementwise operations are put together where they are recorded, without being asked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any


def compile(model: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: A001 - torch's name
    """The function or module itself; without one, a decorator. Options are torch's, and have no effect
    on numbers.

    >>> @al.compile
    ... def double(x):
    ...     return 2 * x
    >>> double(al.ones(1))
    tensor([2.])
    >>> al.compile(mode="max-autotune")(double) is double
    True
    """
    unknown = sorted(set(options) - {"fullgraph", "dynamic", "backend", "mode", "options", "disable"})
    if unknown:
        accepted = "fullgraph, dynamic, backend, mode, options and disable"
        raise TypeError(f"compile: no such option: {', '.join(unknown)}; {accepted} are accepted")
    return (lambda function: function) if model is None else model


def disable(fn: Any = None, recursive: bool = True, **_options: Any) -> Any:
    """The function itself, with and without parentheses.

    >>> al.compiler.disable(len) is len, al.compiler.disable(recursive=False)(len) is len
    (True, True)
    """
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself.

    >>> al.compiler.allow_in_graph(len) is len
    True
    """
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself, which is called every time.

    >>> al.compiler.assume_constant_result(len) is len
    True
    """
    return fn


def is_compiling() -> bool:
    """Whether code runs to be compiled: never.

    >>> al.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """Whether code runs to be compiled: never.

    >>> al.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting() -> bool:
    """Whether code runs to be exported: never.

    >>> al.compiler.is_exporting()
    False
    """
    return False


def reset() -> None:
    """Nothing is compiled, and nothing forgotten.

    >>> al.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no recorded steps.

    >>> al.compiler.cudagraph_mark_step_begin()
    """


def list_backends(*_args: Any, **_options: Any) -> list[str]:
    """The compilers that there are: none.

    >>> al.compiler.list_backends()
    []
    """
    return []


@contextmanager
def set_stance(stance: str = "default", **_options: Any) -> Any:
    """A block, in which nothing is compiled either.

    >>> with al.compiler.set_stance("force_eager"):
    ...     al.compiler.is_compiling()
    False
    """
    yield


__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]
