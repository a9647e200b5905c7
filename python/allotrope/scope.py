"""Settings that hold for a block, a function or a generator, and for nothing else.

They belong to the thread and, in asyncio and its kin, to the task: scopes are context variables.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ._core import _scopes

__all__ = ["Scope"]


def decorate(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function, generator or coroutine within a scope: the one way of all scopes.

    A scope with a method `_fresh` is asked for another one for every call.
    """
    fresh: Callable[[], Any] = getattr(scope, "_fresh", lambda: scope)
    if inspect.isclass(function):
        raise TypeError("a class cannot be decorated; its methods can")
    if not callable(function):
        raise TypeError(f"not a function: {type(function).__name__}; a scope decorates functions")
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **options: Any) -> Any:
            return (yield from _steps(fresh, function(*args, **options)))

        return generate
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait(*args: Any, **options: Any) -> Any:
            with fresh():
                return await function(*args, **options)

        return wait
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def produce(*args: Any, **options: Any) -> Any:
            generator = function(*args, **options)
            step: Callable[[], Any] = generator.__anext__
            while True:
                try:
                    with fresh():
                        value = await step()
                except StopAsyncIteration:
                    return
                try:
                    answer = yield value
                    step = functools.partial(generator.asend, answer)
                except GeneratorExit:
                    with fresh():
                        await generator.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - it belongs to the generator
                    step = functools.partial(generator.athrow, error)

        return produce

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with fresh():
            return function(*args, **options)

    return call


def _steps(fresh: Callable[[], Any], generator: Any) -> Any:
    """Runs a generator step by step within the scope, and waits outside of it."""
    step: Callable[[], Any] = functools.partial(next, generator)
    while True:
        try:
            with fresh():
                value = step()
        except StopIteration as end:
            return end.value
        try:
            answer = yield value
            step = functools.partial(generator.send, answer)
        except GeneratorExit:
            with fresh():
                generator.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it belongs to the generator
            step = functools.partial(generator.throw, error)


class Scope:
    """A context manager and decorator that may be entered again while it is open, also by several
    threads and tasks.

    Decorated generators have the setting while they run, and nobody has it while they wait.
    Decorated coroutines have it until they end, and other tasks never.

    >>> isinstance(al.no_grad(), al.scope.Scope)
    True
    >>> scope = al.no_grad()
    >>> with scope, scope:
    ...     al.is_grad_enabled()
    False
    """

    def _enter(self) -> int:
        """Opens a scope, and gives its number."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        # In one step, since threads may share the object.
        self.__dict__.setdefault("_open", []).append(self._enter())
        return self

    def __exit__(self, *error: object) -> None:
        # The last of its scopes that this task is inside of. There is none if the block was left by
        # another task than entered it, as those of asynchronous generators that the loop closes.
        opened = self.__dict__.get("_open", ())
        for scope in opened[::-1]:
            if _scopes.leave(scope):
                opened.remove(scope)
                return

    def _fresh(self) -> Scope:
        """A scope of the same settings for one call of a decorated function."""
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(self, function)
