"""What an audit found: a row for each module, and their table, JSON and picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._report import Report
from .measure import Distance, Range, Shares


@dataclass
class Gradient:
    """The gradients that a layer was given and those of its parameters."""

    range: Range
    shares: Shares
    error: Distance

    def data(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {**self.range.data(), **self.shares.data(), **self.error.data()}


@dataclass
class LayerAudit:
    """What became of one module: `error` is how far its results are from the reference, `range`
    and `shares` are of the reference's results.

    >>> report = al.audit(al.nn.Sequential(al.nn.Linear(2, 3)), al.ones(1, 2), to=al.bfloat16)
    >>> [(row.path, row.kind, row.dtype) for row in report.rows]
    [('', 'Sequential', allotrope.bfloat16), ('0', 'Linear', allotrope.bfloat16)]
    """

    path: str
    kind: str
    dtype: Any
    is_layer: bool
    calls: int = 0
    error: Distance = field(default_factory=Distance)
    range: Range = field(default_factory=Range)
    shares: Shares = field(default_factory=Shares)
    nonfinite: int = 0
    gradient: Gradient | None = None
    trials: dict[str, Any] = field(default_factory=dict)
    recommended: Any = None
    reason: str = ""

    @property
    def ulp(self) -> float:
        """The error in units in the last place of the module's dtype, at the results' usual size.

        >>> report = al.audit(al.nn.Linear(2, 3), al.ones(1, 2), to=al.float64)
        >>> report.rows[0].ulp
        0.0
        """
        return 0.0 if self.dtype is None else self.error.ulp_in(self.dtype)

    def data(self) -> dict[str, Any]:
        """The fields as plain data.

        >>> report = al.audit(al.nn.Linear(2, 3), al.ones(1, 2), to=al.bfloat16)
        >>> report.rows[0].data()["kind"]
        'Linear'
        """
        return {
            "path": self.path,
            "kind": self.kind,
            "dtype": self.dtype,
            "is_layer": self.is_layer,
            "calls": self.calls,
            **self.error.data(),
            "ulp": self.ulp,
            **self.range.data(),
            **self.shares.data(),
            "nonfinite": self.nonfinite,
            "gradient": None if self.gradient is None else self.gradient.data(),
            "trials": self.trials,
            "recommended": self.recommended,
            "reason": self.reason,
        }


class Audit(Report):
    """What `audit` returns: a row for every module that was called, in the order of the model,
    `first_nonfinite` (the first operation whose result is not finite though the reference is, or
    None), `recommended` (dtypes by path), and a table as its text.

    >>> report = al.audit(al.nn.Linear(2, 3), al.ones(1, 2), to=al.bfloat16)
    >>> [row.kind for row in report.rows], report.first_nonfinite
    (['Linear'], None)
    """

    def __init__(
        self,
        rows: list[LayerAudit],
        dtype: Any,
        reference: Any,
        tolerance: float,
        first_nonfinite: dict[str, Any] | None,
        bytes_by_dtype: dict[str, int],
    ) -> None:
        self.rows = rows
        self.dtype = dtype
        self.reference = reference
        self.tolerance = tolerance
        self.first_nonfinite = first_nonfinite
        self.bytes = bytes_by_dtype

    @property
    def recommended(self) -> dict[str, Any]:
        """The dtype that each layer should have, by its path.

        >>> list(al.audit(al.nn.Sequential(al.nn.Linear(2, 3)), al.ones(1, 2), to=al.float32).recommended)
        ['0']
        """
        return {row.path: row.recommended for row in self.rows if row.recommended is not None}

    def plan(self) -> Any:
        """The advice as a precision plan: layers are stored and computed in what they should have.

        >>> al.audit(al.nn.Linear(2, 3), al.ones(1, 2), to=al.float32, candidates=["float32"]).plan()
        plan  store    compute
        ''    float32  float32
        """
        from ..nn.plan import by_layers

        return by_layers(self.recommended)

    @property
    def error(self) -> float:
        """The relative error of what the model gives, as root of the mean square.

        >>> al.audit(al.nn.Linear(2, 3), al.ones(1, 2), to=al.float64).error
        0.0
        """
        return self.rows[0].error.rms if self.rows else 0.0

    def __iter__(self) -> Iterator[LayerAudit]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: int | str) -> LayerAudit:
        if not isinstance(key, str):
            return self.rows[key]
        for row in self.rows:
            if row.path == key:
                return row
        known = ", ".join(row.path for row in self.rows if row.path)
        raise KeyError(f"no module {key!r} was called; there are {known}")

    def _title(self) -> str:
        given = "the model as it is" if self.dtype is None else str(self.dtype)
        return f"Audit: {given} beside {self.reference}"

    def _data(self) -> dict[str, Any]:
        return {
            "dtype": self.dtype,
            "reference": self.reference,
            "tolerance": self.tolerance,
            "error": self.error,
            "first_nonfinite": self.first_nonfinite,
            "bytes": self.bytes,
            "layers": [row.data() for row in self.rows],
        }

    def _cells(self) -> list[Any]:
        has_gradients = any(row.gradient is not None for row in self.rows)
        names = ["layer", "error", "max", "ulp", "range", "over", "under", "subnormal", "nonfinite"]
        names += ["gradients"] if has_gradients else []
        cells = [[*names, "advice", "reason"]]
        for row in self.rows:
            level = row.path.count(".") + 1 if row.path else 0
            name = f"{row.path.rpartition('.')[2]}: {row.kind}" if row.path else row.kind
            shares = row.shares.data()
            line = [
                "  " * level + name,
                percent(row.error.rms),
                percent(row.error.maximum),
                f"{row.ulp:.2g}" if row.ulp else "-",
                span(row.range),
                *(percent(shares[key]) for key in ("overflow", "underflow", "subnormal")),
                str(row.nonfinite or "-"),
            ]
            if has_gradients:
                line.append("-" if row.gradient is None else span(row.gradient.range))
            cells.append([*line, str(row.recommended or "-"), row.reason])
        return cells

    def _notes(self) -> list[str]:
        lines = []
        first = self.first_nonfinite
        if first is not None:
            lines.append(f"first result that is not finite: {describe_nonfinite(first)}")
        else:
            lines.append("every result is finite where the reference is")
        sizes = ", ".join(f"{size:,} in {name}" for name, size in self.bytes.items())
        lines.append(f"bytes of parameters: {sizes}")
        return lines

    def to_svg(self) -> str:
        """The picture: for every layer how large its numbers are beside the range of the dtype, its
        error, and the dtype it should have.

        >>> al.audit(al.nn.Linear(2, 3), al.ones(1, 2), to=al.bfloat16).to_svg()[:4]
        '<svg'
        """
        from .picture import draw_audit

        return draw_audit(self)


def percent(share: float) -> str:
    """A share in a few characters."""
    if share == 0:
        return "-"
    if share >= 0.0995:
        return f"{share:.0%}" if share < 100 else f"{share:.0e}"
    return f"{share:.2%}" if share >= 0.0001 else f"{share:.0e}"


def span(numbers: Range) -> str:
    """The powers of two that numbers lie between."""
    if not numbers.exponents:
        return "-"
    return f"2^{min(numbers.exponents)} to 2^{max(numbers.exponents) + 1}"


def describe_nonfinite(first: dict[str, Any]) -> str:
    """One line about the operation that lost its numbers first."""
    where = first["path"] or "the model itself"
    if "input" in first or "parameter" in first:
        kind = "input" if "input" in first else "parameter"
        where = f"{kind} {first[kind]}"
    what = " and ".join(f"{first[key]} {key}" for key in ("infs", "nans") if first[key])
    line = f" ({first['line']})" if first.get("line") else ""
    return f"{first['op']} in {where}{line}: {what} of {first['count']} in {first['dtype']}"


__all__ = ["Audit", "Gradient", "LayerAudit", "describe_nonfinite", "percent", "span"]
