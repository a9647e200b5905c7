"""Functions from the rows of the table."""

from __future__ import annotations

import __future__
import linecache
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import allotrope as al

from . import _rules


class Row(NamedTuple):
    """A function of the standard."""

    name: str
    signature: str
    """Its parameters in parentheses and its result, with types."""
    expression: str
    """What it returns."""
    doc: str
    """Its docstring, or an example that follows the library's."""


_HEAD = re.compile(r"(?P<names>[a-z][\w ]*)(?P<signature>\(.*\) -> .*)")


def read(text: str) -> Iterator[Row]:
    """The rows of a text, whose form the table's first lines tell."""
    for block in re.split(r"\n(?=\w)", text.strip()):
        head, _, body = block.partition("\n")
        match = _HEAD.fullmatch(head)
        assert match is not None, head
        expression, doc = "", re.sub(r"^    ", "", body, flags=re.M)
        if doc.startswith("= "):
            expression, _, doc = doc[2:].partition("\n")
        for name in match["names"].split():
            call = expression or f"al.{name}({_arguments(match['signature'])})"
            filled = [part.replace("{name}", name) for part in (call, doc.strip())]
            yield Row(name, match["signature"], *filled)


def _arguments(signature: str) -> str:
    """A call with a function's own parameters: those by keyword by their names."""
    parameters = signature[1 : signature.rindex(")")]
    names = re.findall(r"(?:^|, )(\*\w*|/|\w+)(?=:|,|$)", parameters)
    by_name = names.index("*") if "*" in names else len(names)
    given = [name for name in names[:by_name] if name != "/"]
    return ", ".join(given + [f"{name}={name}" for name in names[by_name + 1 :]])


def functions(text: str, module: str) -> dict[str, Callable[..., Any]]:
    """The functions of rows, as those of a module."""
    rows = list(read(text))
    lines = [f"def {row.name}{row.signature}: return {row.expression}\n" for row in rows]
    file = f"<rows of {module}>"
    # So that a traceback shows the row.
    linecache.cache[file] = (0, None, lines, file)
    made: dict[str, Callable[..., Any]] = {}
    # Types stay text: a parameter may have the name of one.
    code = compile("".join(lines), file, "exec", __future__.annotations.compiler_flag)
    exec(code, {"__name__": module, **vars(_rules)}, made)
    for row in rows:
        made[row.name].__doc__ = _doc(row)
    return {row.name: made[row.name] for row in rows}


def _doc(row: Row) -> str:
    """The docstring of a row: its own, or the library's words with its example."""
    if not row.doc.startswith(">>>"):
        return row.doc
    function: Any = al
    for name in row.expression.partition("(")[0].split(".")[1:]:
        function = getattr(function, name)
    words = function.__doc__.partition(">>>")[0].strip()
    return re.sub(r"\bdim\b", "axis", words) + "\n\n" + row.doc
