"""What reports have in common: rows that are a table, JSON, HTML, a picture and a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any


class Report:
    """Rows of plain data under a title. Subclasses say what is in them; the rest is the same."""

    def _title(self) -> str:
        """One line that says what the rows are about."""
        raise NotImplementedError

    def _cells(self) -> list[Sequence[str]]:
        """The table: names of columns, then rows of as many texts."""
        raise NotImplementedError

    def _data(self) -> Any:
        """What `to_json` writes."""
        raise NotImplementedError

    def _notes(self) -> list[str]:
        """Lines below the table."""
        return []

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([*lines, *self._notes()])

    def __repr__(self) -> str:
        return str(self)

    def to_json(self) -> str:
        """The rows as JSON; numbers that are not finite are null.

        >>> import json
        >>> found = json.loads(al.explain(lambda x: x.exp(), al.ones(2)).to_json())
        >>> found[0]["op"]
        'exp'
        """
        import json

        return json.dumps(_plain(self._data()), allow_nan=False)

    def to_html(self) -> str:
        """The rows as an HTML table without scripts, as Jupyter shows them.

        >>> al.explain(lambda x: x.exp(), al.ones(2)).to_html().count("<table")
        1
        """
        from .inspection.html import report_html

        return report_html(self)

    def to_svg(self) -> str:
        """The rows as a picture.

        >>> al.explain(lambda x: x.exp(), al.ones(2)).to_svg()[:4]
        '<svg'
        """
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report to a file, as the end of its name says: .svg is the picture, .html,
        .json and .txt are the table.

        >>> import pathlib, tempfile
        >>> report = al.explain(lambda x: x.exp(), al.ones(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.save(f"{folder}/report.json")
        ...     pathlib.Path(folder, "report.json").read_text()[0]
        '['
        """
        kinds = {".svg": self.to_svg, ".html": self.to_html, ".json": self.to_json, ".txt": self.__str__}
        kind = os.path.splitext(path)[1].lower()
        if kind not in kinds:
            raise ValueError(
                f"save: unknown kind of file: {os.fspath(path)!r}; names that end in "
                f"{', '.join(kinds)} are accepted"
            )
        import tempfile

        text, folder = kinds[kind]() + "\n", os.path.dirname(os.fspath(path)) or "."
        # The file is replaced as a whole.
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=folder, suffix=kind, delete=False
        ) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)


def _plain(value: Any) -> Any:
    """Data as JSON knows it: names for dtypes and devices, null for what is no finite number."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


__all__ = ["Report"]
