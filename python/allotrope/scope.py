"""Settings of a thread that hold for a block, a function or a generator, and for nothing else."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


class Scope:
    """A context manager and decorator that may be entered again while it is open.

    Decorated generators and coroutines have the setting while they run, and nobody has it while
    they wait.
    """

    def _enter(self) -> Any:
        """Sets what the scope sets, and gives what `_leave` needs to undo it."""
        raise NotImplementedError

    def _leave(self, before: Any) -> None:
        """Undoes it."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        if not hasattr(self, "_open"):
            self._open: list[Any] = []
        self._open.append(self._enter())
        return self

    def __exit__(self, *error: object) -> None:
        self._leave(self._open.pop())

    def _fresh(self) -> Scope:
        """A scope of the same settings for one call of a decorated function."""
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            raise TypeError("a class cannot be decorated; its methods can")
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **options: Any) -> Any:
                return (yield from self._steps(function(*args, **options)))

            return generate
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wait(*args: Any, **options: Any) -> Any:
                return await _Steps(self, function(*args, **options))

            return wait

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            with self._fresh():
                return function(*args, **options)

        return call

    def _steps(self, generator: Any) -> Any:
        """Runs a generator step by step within the scope, and waits outside of it."""
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with self._fresh():
                    value = step()
            except StopIteration as end:
                return end.value
            try:
                answer = yield value
                step = functools.partial(generator.send, answer)
            except GeneratorExit:
                with self._fresh():
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001 - it belongs to the generator
                step = functools.partial(generator.throw, error)


class _Steps:
    """A coroutine that runs step by step within a scope."""

    def __init__(self, scope: Scope, coroutine: Any) -> None:
        self.scope = scope
        self.coroutine = coroutine

    def __await__(self) -> Any:
        return self.scope._steps(self.coroutine.__await__())
