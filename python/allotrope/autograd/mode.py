"""Whether operations are recorded: for a block, or for a function."""

from __future__ import annotations

from typing import Any

from .._core import _autograd, _scopes
from ..scope import Scope

is_anomaly_enabled = _autograd.is_anomaly_enabled


class set_grad_enabled(Scope):  # noqa: N801 - torch's name
    """Operations are recorded, or not: from now on, or for a block.

    >>> with al.set_grad_enabled(False):
    ...     al.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before: str | None = _scopes.exchange_mode(self._wanted())

    def _wanted(self) -> str:
        # Inference mode stays what it is.
        if _scopes.current_mode() == "inference":
            return "inference"
        return "recording" if self.mode else "off"

    def _take_back(self) -> None:
        """Undoes the call itself, which turned out to open a scope."""
        before, self._before = self._before, None
        if before is not None:
            _scopes.exchange_mode(before)

    def _enter(self) -> int:
        if self._before is not None:
            self._take_back()
        found: int = _scopes.enter_recording(self.mode)
        return found

    def __call__(self, function: Any) -> Any:
        self._take_back()
        return super().__call__(function)


class _Plain(set_grad_enabled):
    """A mode that holds only within a block or a function, with or without parentheses."""

    _records = False

    def __new__(cls, function: Any = None) -> Any:
        scope = object.__new__(cls)
        if function is None:
            return scope
        scope.mode, scope._before = cls._records, None
        return scope(function)

    def __init__(self, function: Any = None) -> None:
        self.mode, self._before = self._records, None


class no_grad(_Plain):  # noqa: N801 - torch's name
    """Nothing is recorded, for a block or a function.

    >>> x = al.ones(2, requires_grad=True)
    >>> with al.no_grad():
    ...     (x * 2).requires_grad
    False
    """


class enable_grad(_Plain):  # noqa: N801 - torch's name
    """Operations are recorded, for a block or a function, also within `no_grad`.

    >>> x = al.ones(1, requires_grad=True)
    >>> with al.no_grad():
    ...     with al.enable_grad():
    ...         y = 2 * x
    >>> y.requires_grad
    True
    """

    _records = True


class inference_mode(Scope):  # noqa: N801 - torch's name
    """Nothing is recorded, and nothing can turn recording on, for a block or a function.

    >>> x = al.ones(1, requires_grad=True)
    >>> with al.inference_mode():
    ...     y = 2 * x
    >>> y.requires_grad
    False
    """

    def __new__(cls, mode: Any = True) -> Any:
        scope = object.__new__(cls)
        if callable(mode):
            scope.mode = True
            return scope(mode)
        return scope

    def __init__(self, mode: Any = True) -> None:
        self.mode = bool(mode)

    def _enter(self) -> int:
        found: int = _scopes.enter_mode("inference" if self.mode else "recording")
        return found


class set_detect_anomaly(Scope):  # noqa: N801 - torch's name
    """Recorded operations fail at the first result or gradient that is not finite, and name the
    operation and the line that called it: from now on, or for a block.

    >>> with al.autograd.set_detect_anomaly(True):
    ...     al.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before: bool | None = _scopes.exchange_anomaly(self.mode)

    def _enter(self) -> int:
        before, self._before = self._before, None
        if before is not None:
            _scopes.exchange_anomaly(before)
        found: int = _scopes.enter_anomaly(self.mode)
        return found


class detect_anomaly(set_detect_anomaly):  # noqa: N801 - torch's name
    """Recorded operations fail at the first result or gradient that is not finite, for a block.

    >>> x = al.zeros(1, requires_grad=True)
    >>> with al.autograd.detect_anomaly():
    ...     y = x.log()
    Traceback (most recent call last):
    ...
    RuntimeError: log: an infinity in the result of log, called at ...
    """

    def __init__(self, mode: bool = True) -> None:
        self.mode, self._before = bool(mode), None
