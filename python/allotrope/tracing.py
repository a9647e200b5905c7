"""Which dtypes operations compute in, and why: recorded for a block."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ._core import _scopes, _trace

_COLUMNS = ("op", "inputs", "compute", "accumulator", "result", "reason", "hosted", "line")


class trace_dtypes(Sequence[dict[str, Any]]):  # noqa: N801 - a function in its use
    """Records every operation of a block with the dtypes of its operands, those it computes and
    sums in, that of its result, the reason for it, the device that the CPU computed it for, if that
    has no kernel for it, and the line that called it. Only those of the thread and, in asyncio and its kin, of the task that is in the block.

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

    def __getitem__(self, index: Any) -> Any:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._found)

    def to_json(self) -> str:
        """The records as a JSON list of objects."""
        return json.dumps(self._found)

    def __repr__(self) -> str:
        def cell(value: Any) -> str:
            if value is None:
                return "-"
            return ", ".join(value) if isinstance(value, list) else str(value)

        rows = [_COLUMNS, *(tuple(cell(row[c]) for c in _COLUMNS) for row in self._found)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
        lines = ("  ".join(text.ljust(width) for text, width in zip(row, widths)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)


__all__ = ["trace_dtypes"]
