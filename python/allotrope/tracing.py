"""Which dtypes operations compute in, and why: recorded for a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._core import _scopes, _trace
from ._report import Report
from .scope import decorate

_COLUMNS = ("op", "inputs", "compute", "accumulator", "result", "reason", "hosted", "line")


class trace_dtypes(Report, Sequence[dict[str, Any]]):  # noqa: N801 - a function in its use
    """Records every operation of a block with the dtypes of its operands, those it computes and
    sums in, that of its result, the reason for it, the device that the CPU computed it for, if that
    has no kernel for it, and the line that called it. Only those of the thread and, in asyncio and its
    kin, of the task that is in the block. A function that it decorates is such a block whenever it is
    called, and leaves its operations here. It prints as a table; `to_json`, `to_html`, `to_svg` and
    `save(path)` give it in other forms.

    >>> with al.trace_dtypes() as t:
    ...     y = al.ones(2, dtype="bfloat16") + al.ones(2)
    >>> t[0]["op"], t[0]["inputs"], t[0]["result"], t[0]["reason"]
    ('add', ['bfloat16', 'float32'], 'float32', 'promotion: standard')
    """

    def __init__(self) -> None:
        self._found: list[dict[str, Any]] = []
        self._open: list[tuple[int, Any]] = []

    def __enter__(self) -> trace_dtypes:
        self._open.append(_trace.enter())
        return self

    def __exit__(self, *error: object) -> None:
        # The last of its blocks that this task is inside of, as of any scope.
        for opened in self._open[::-1]:
            number, recorder = opened
            if _scopes.leave(number):
                self._open.remove(opened)
                self._found = recorder.operations()
                return

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(self, function)

    def __getitem__(self, index: Any) -> Any:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._found)

    def _title(self) -> str:
        return f"{len(self)} operation" + ("" if len(self) == 1 else "s")

    def _data(self) -> list[dict[str, Any]]:
        return self._found

    def _cells(self) -> list[Any]:
        def cell(value: Any) -> str:
            if value is None:
                return "-"
            return ", ".join(value) if isinstance(value, list) else str(value)

        return [_COLUMNS, *(tuple(cell(row[c]) for c in _COLUMNS) for row in self._found)]

    def to_svg(self) -> str:
        """The picture: the way of the dtypes through every operation.

        >>> with al.trace_dtypes() as trace:
        ...     y = al.ones(2, dtype=al.bfloat16) @ al.ones(2, dtype=al.bfloat16)
        >>> trace.to_svg()[:4]
        '<svg'
        """
        from .inspection.picture import draw_trace

        return draw_trace(self._title(), self._found)


__all__ = ["trace_dtypes"]
