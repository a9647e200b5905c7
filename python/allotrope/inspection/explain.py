"""The function `explain`: what every operation of a call did with the dtypes that it met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._core import _scopes, _trace
from .._report import Report

_COLUMNS = ("op", "inputs", "compute", "accumulator", "result", "rounding", "device", "why", "line")


class Explanation(Report):
    """What `explain` returns: `result`, what the function gave, and a row for every operation with
    the dtypes that it was given, those that it computes and sums in, that of its result and its
    shape, what is rounded, where it was computed, and why.

    >>> found = al.explain(lambda x: x.exp(), al.ones(2, dtype=al.int8))
    >>> found.result.dtype, len(found.rows)
    (allotrope.float32, 1)
    """

    def __init__(self, name: str, result: Any, rows: list[dict[str, Any]]) -> None:
        self.name, self.result, self.rows = name, result, rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def _title(self) -> str:
        count = f"{len(self.rows)} operation" + ("" if len(self.rows) == 1 else "s")
        return f"What {self.name} did: {count}"

    def _data(self) -> list[dict[str, Any]]:
        return self.rows

    def _cells(self) -> list[Any]:
        return [_COLUMNS, *([cell(row[name]) for name in _COLUMNS] for row in self.rows)]

    def to_svg(self) -> str:
        """The picture: the way of the dtypes through every operation.

        >>> al.explain(lambda x: x.exp(), al.ones(2)).to_svg()[:4]
        '<svg'
        """
        from .picture import draw_trace

        return draw_trace(self._title(), self.rows)


def cell(value: Any) -> str:
    """A field of a row as text."""
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def explain(fn: Callable[..., Any], *args: Any, **options: Any) -> Explanation:
    """Calls a function and says what every operation in it did: which dtypes met, by which rule
    the result has its own, what was computed and summed in, where it was rounded, on which device,
    and whether the CPU or another dtype stood in.

    >>> x, y = al.ones(2, dtype="int8"), al.ones(2, dtype="uint8")
    >>> report = al.explain(al.add, x, y)
    >>> report[0]["inputs"], report[0]["result"]
    (['int8', 'uint8'], 'int16')
    >>> report[0]["why"]
    'int8 with uint8 is int16: the narrowest signed integer that holds both.'
    >>> report.result
    tensor([2, 2], dtype=int16)
    >>> print(al.explain(lambda x: x * 2, al.ones(2, dtype="bfloat16"))[0]["rounding"])
    float32 to bfloat16, to nearest, once
    """
    if not callable(fn):
        raise TypeError(f"explain: not callable: {type(fn).__name__}; a function is accepted")
    number, recorder = _trace.enter(True)
    try:
        result = fn(*args, **options)
    finally:
        _scopes.leave(number)
    rows = [describe(record, value) for record, value in recorder.take()]
    return Explanation(_name_of(fn), result, rows)


def _name_of(fn: Any) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    return "the function" if name == "<lambda>" else name


def describe(record: dict[str, Any], value: Any) -> dict[str, Any]:
    """A record of a trace in words, with what its result says of shape and device."""
    compute, result = record["compute"], record["result"]
    row = {
        "op": record["op"],
        "inputs": record["inputs"],
        "compute": compute,
        "accumulator": record["accumulator"],
        "result": result,
        "shape": None if value is None else list(value.shape),
        "rounding": _rounding(record),
        "device": None if value is None else str(value.device),
        "hosted": record["hosted"],
        "stored": None,
        "reason": record["reason"],
        "why": why_of(record),
        "line": record["line"],
    }
    if record["hosted"]:
        row["device"] = record["hosted"]
        row["why"] += f" {record['hosted']} has no kernel for it: the CPU computed it."
    if value is not None and value.storage_dtype != value.dtype:
        row["stored"] = value.storage_dtype.name
        row["why"] += f" {row['device']} stores {result} as {row['stored']}."
    return row


def _rounding(record: dict[str, Any]) -> str | None:
    """What is lost between the dtype that is computed in and that of the result."""
    compute, result = _core.dtype(record["compute"]), _core.dtype(record["result"])
    if record["op"] == "to":
        source = _core.dtype(record["inputs"][0])
        if source is result or _core.can_cast(source, result, "exact"):
            return None
        return f"{source} to {result}"
    wide = _core.dtype(record["accumulator"] or compute)
    if not (result.is_floating_point or result.is_complex) or wide is result:
        return None
    if not _core.can_cast(result, wide, "exact") or not (wide.is_floating_point or wide.is_complex):
        return None
    return f"{wide} to {result}, to nearest, once"


def why_of(record: dict[str, Any]) -> str:
    """The rule that gave the result its dtype, as a sentence."""
    reason: str
    reason, _, exception = record["reason"].partition("; autocast leaves ")
    result, op = record["result"], record["op"]
    if exception:
        without = why_of({**record, "reason": reason})
        wide = exception.removesuffix(" alone")
        return f"{without} autocast does not cast {op}: it never rounds {wide}."
    kind, _, detail = reason.partition(": ")
    if kind == "promotion" and detail in _core.policies():
        # A condition chooses; it does not take part.
        inputs = record["inputs"][1:] if op == "where" else record["inputs"]
        return _promoted(inputs, detail)
    if kind == "promotion":
        return f"A number of a higher kind than {', '.join(record['inputs'])} asks for {result}."
    if kind == "autocast":
        words = {
            "lower": f"autocast computes {op} in {result}",
            "float32": f"autocast computes {op} in float32, which it needs",
            "widest": "autocast takes the widest of the operands",
        }
        return words.get(detail, f"autocast: {detail}") + "."
    sentences = {
        "the operands'": "The operands have it.",
        "the tensor's; a number has none": "A Python number has no dtype: it takes the tensor's.",
        "a truth value": "It is a truth value.",
        "default dtype": f"Of integers and truth values it is a float: the default dtype, {result}.",
        "the operation's": f"It is what {op} gives.",
        "explicit cast": "The program asks for it.",
    }
    return sentences.get(reason, reason)


def _promoted(inputs: list[str], policy: Any) -> str:
    """Why dtypes have the one in common that they have."""
    different = list(dict.fromkeys(inputs))
    if len(different) < 2:
        return "The operands have it."
    first, *others = different
    sentences = []
    for other in others:
        sentences.append(_core.explain_promotion(first, other, policy))
        try:
            with _core.promotion(policy):
                first = _core.promote_types(first, other).name
        except TypeError:
            # Of several dtypes the whole set decides, also where two have no answer.
            break
    return " ".join(sentences)


__all__ = ["Explanation", "explain", "why_of"]
