"""Pictures as SVG, written by hand: they need no other package, no script and no font."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from .. import _core

FONT = "ui-sans-serif, system-ui, Helvetica, Arial, sans-serif"
INK, FAINT, RULE, ALARM = "#24292f", "#6e7781", "#d8dee4", "#cf222e"
# A picture of more rows than these is no picture.
_MOST_ROWS = 120


def hsl(hue: float, saturation: float, lightness: float) -> str:
    """A colour of degrees and percents, in the form that every reader of SVG knows."""
    parts = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)


def colour_of(dtype: Any) -> str:
    """A colour for a dtype: floats go from red to violet with their digits."""
    dtype = _core.dtype(dtype)
    if dtype.is_floating_point:
        digits = -math.log2(dtype.finfo.eps)
        # Of two with about as many digits the one with the greater range is lighter.
        light = 28 + (dtype.bits - 1 - digits)
        return hsl((math.log2(digits) - 1) * 60, 62, light)
    if dtype.is_complex:
        return hsl(318, 45, 60 - dtype.bits / 8)
    if dtype.is_integer:
        return hsl(200 if dtype.is_signed else 170, 14, 58 - dtype.bits / 3)
    return "#57606a"


def width_of(text: str, size: float = 11) -> float:
    """About how wide a text is; narrow and wide letters make up for each other."""
    return sum(0.32 if c in "iljft.,:;|'()[] " else 0.6 for c in text) * size


def shortened(text: str, width: float, size: float = 11) -> str:
    """A text that is not wider than this."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(text, size) > width - size:
        text = text[:-1]
    return text.rstrip() + "…"


class Picture:
    """Parts of an SVG, from the top down."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.parts: list[str] = []

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "", fill: str = "", size: float = 0, bold: bool = False
    ) -> None:
        """A line of text that begins, or is anchored, at a place."""
        more = f' text-anchor="{anchor}"' if anchor else ""
        more += f' fill="{fill}"' if fill else ""
        more += f' font-size="{size:g}"' if size else ""
        more += ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, fill: str, more: str = "") -> None:
        """A rectangle."""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{more}/>'
        )

    def line(self, path: str, stroke: str = RULE, more: str = "") -> None:
        """Lines along a path."""
        self.parts.append(f'<path d="{path}" stroke="{stroke}" fill="none"{more}/>')

    def chip(self, x: float, y: float, dtype: str, is_faint: bool = False) -> float:
        """The name of a dtype on its colour, around a line of text; how wide it is."""
        width = _chip_width(dtype)
        colour = colour_of(dtype)
        more = f' rx="7" stroke="{colour}"' + (' fill-opacity="0"' if is_faint else "")
        self.box(x, y - 11, width, 15, colour, more)
        self.text(x + width / 2, y, dtype, anchor="middle", fill=colour if is_faint else "#fff", size=10)
        return width

    def finish(self, height: float) -> str:
        """The picture as text."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {height:g}" '
            f'width="{self.width:g}" height="{height:g}" font-family="{FONT}" font-size="11" fill="{INK}">'
        )
        ground = f'<rect width="{self.width:g}" height="{height:g}" fill="#fff"/>'
        return "\n".join([head, ground, *self.parts, "</svg>"])


def draw_trace(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """The way of the dtypes through operations: operands, what is computed and summed in, result."""
    from .explain import why_of

    shown = list(rows[:_MOST_ROWS])
    names = max([60.0, *(width_of(row["op"], 13) for row in shown)])
    inputs = max([60.0, *(_chips_width(row["inputs"]) for row in shown)])
    middle = max([102.0, *(_chips_width(_middle(row)) for row in shown)])
    results = max([60.0, *(_chips_width([row["result"]]) for row in shown)])
    starts = [16.0, 0.0, 0.0, 0.0, 0.0]
    for i, width in enumerate((names + 14, inputs + 22, middle + 22, results + 14)):
        starts[i + 1] = starts[i] + width
    picture = Picture(max(starts[4] + 440, 760))
    picture.text(16, 24, title, size=14, bold=True)
    for x, head in zip(starts, ("operation", "operands", "computed, summed in", "result", "why")):
        picture.text(x, 46, head, fill=FAINT, size=10)
    y, last = 68.0, None
    for row in shown:
        where = _short_line(row.get("line"))
        if where != last and where:
            picture.line(f"M16 {y - 16:.0f}H{picture.width - 16:.0f}")
            picture.text(picture.width - 16, y - 4, where, anchor="end", fill=FAINT, size=9)
        last = where
        picture.text(starts[0], y, row["op"], size=12, bold=True)
        _draw_chips(picture, starts[1], y, row["inputs"])
        picture.text(starts[2] - 16, y, "→", fill=FAINT)
        _draw_chips(picture, starts[2], y, _middle(row), is_faint=True)
        picture.text(starts[3] - 16, y, "→", fill=FAINT)
        _draw_chips(picture, starts[3], y, [row["result"]])
        hosted = f"on the CPU for {row['hosted']}: " if row.get("hosted") else ""
        why = row.get("why") or why_of(row)
        picture.text(starts[4], y, shortened(hosted + why, 340), fill=ALARM if hosted else FAINT)
        y += 24
    if len(rows) > len(shown):
        picture.text(starts[0], y, f"and {len(rows) - len(shown):,} more", fill=FAINT)
        y += 24
    return picture.finish(y - 4)


def _middle(row: dict[str, Any]) -> list[str]:
    compute, summed = row["compute"], row["accumulator"]
    return [compute] if summed in (None, compute) else [compute, summed]


def _chip_width(name: str) -> float:
    return width_of(name, 10.8) + 11


def _chips_width(names: Sequence[str]) -> float:
    return sum(_chip_width(name) + 4 for name in names)


def _draw_chips(picture: Picture, x: float, y: float, names: Sequence[str], is_faint: bool = False) -> None:
    for name in names:
        x += picture.chip(x, y, name, is_faint) + 4


def _short_line(line: str | None) -> str:
    """The file without its folders."""
    return "" if line is None else line.replace("\\", "/").rpartition("/")[2]


# An audit

_STRIP = 300.0


def draw_audit(report: Any) -> str:
    """For every layer the powers of two that its numbers have, beside what the dtype can hold, its
    error on a scale of powers of ten, and the dtype it should have."""
    rows = list(report)[:_MOST_ROWS]
    dtype = report.dtype or (rows[0].dtype if rows else report.reference)
    info = dtype.finfo
    lowest, normal, highest = (
        math.log2(info.smallest_subnormal),
        math.log2(info.smallest_normal),
        math.log2(info.max),
    )
    numbers = [row.range for row in rows]
    numbers += [row.gradient.range for row in rows if row.gradient is not None]
    used = [e for one in numbers for e in one.exponents]
    left = math.floor(max(min([*used, 0]), -160)) - 2
    right = math.ceil(min(max([*used, 0]), 140)) + 3
    # The ends of the dtype are shown if they are not far away.
    left = min(left, max(math.floor(lowest) - 1, left - 14))
    right = max(right, min(math.ceil(highest) + 2, right + 10))
    labels = max([90.0, *(width_of(row.path or row.kind) + 12 for row in rows)])
    at = 16 + labels
    bars = at + _STRIP + 26
    chips = bars + 150
    picture = Picture(chips + 380)
    height = 74.0 + 20 * len(rows)

    def x_of(exponent: float) -> float:
        return float(at + _STRIP * (exponent - left) / (right - left))

    picture.text(16, 24, report._title(), size=14, bold=True)
    summary = f"error of the whole {report.error:.2%}" if math.isfinite(report.error) else ""
    picture.text(picture.width - 16, 24, summary, anchor="end", fill=FAINT)
    for x, head in ((16, "layer"), (bars, "error"), (chips, "advice")):
        picture.text(x, 50, head, fill=FAINT, size=10)
    for x, width, what in (
        (x_of(max(left, lowest)), x_of(min(right, normal)), "subnormal"),
        (x_of(max(left, normal)), x_of(min(right, highest)), str(dtype)),
    ):
        if width > x:
            fill = "#fff8c5" if what == "subnormal" else "#eef4ff"
            picture.box(x, 56, width - x, height - 62, fill)
            if width - x > width_of(what, 9):
                picture.text((x + width) / 2, height + 8, what, anchor="middle", fill=FAINT, size=9)
    for exponent in _ticks(left, right):
        x = x_of(exponent)
        picture.text(x, 50, f"2^{exponent}", anchor="middle", fill=FAINT, size=9)
        picture.line(f"M{x:.1f} 54V{height - 8:.0f}", more=' stroke-width="0.6"')
    y = 72.0
    first = report.first_nonfinite
    strips = _Strips(x_of, left, right, highest)
    for row in rows:
        is_first = first is not None and first["path"] == row.path
        name = row.path or row.kind
        picture.text(16, y, name, fill=ALARM if is_first else INK if row.is_layer else FAINT)
        strip = (y - 10, 13) if row.gradient is None else (y - 11, 8)
        strips.add(row.range, "#0550ae", *strip)
        if row.gradient is not None:
            strips.add(row.gradient.range, "#8250df", y - 2, 5)
        _draw_error(picture, row, y, bars, report.tolerance)
        if row.recommended is not None:
            width = picture.chip(chips, y, row.recommended.name)
            picture.text(chips + width + 8, y, shortened(row.reason, 370 - width - 8), fill=FAINT, size=10)
        y += 20
    strips.draw(picture)
    y = height + 24
    if first is not None:
        from .findings import describe_nonfinite

        text = "first result that is not finite: " + describe_nonfinite({**first, "line": None})
        picture.text(16, y, text, fill=ALARM)
        y += 18
    sizes = ", ".join(f"{size:,} bytes in {name}" for name, size in report.bytes.items())
    legend = "blue: how many results have which power of two"
    legend += ", violet: gradients" if any(row.gradient is not None for row in rows) else ""
    picture.text(16, y, f"{legend} · parameters: {sizes}", fill=FAINT)
    return picture.finish(y + 14)


def _ticks(left: float, right: float) -> list[int]:
    step = next(s for s in (4, 8, 16, 32, 64, 128, 512) if (right - left) / s <= 8)
    return [e for e in range(-2048, 2048, step) if left + 1 <= e <= right - 1]


class _Strips:
    """The powers of two of many sets of numbers: the more there are of one, the darker it is. Cells of
    one shade are one path, which keeps the picture small."""

    def __init__(self, x_of: Any, left: float, right: float, highest: float) -> None:
        self.x_of, self.left, self.right, self.highest = x_of, left, right, highest
        self.cells: dict[tuple[str, int], list[str]] = {}
        self.step = x_of(1) - x_of(0)

    def add(self, numbers: Any, colour: str, y: float, height: float) -> None:
        """One set of numbers."""
        most = max(numbers.exponents.values(), default=1)
        for exponent, count in numbers.exponents.items():
            if self.left <= exponent < self.right:
                share = math.log1p(count) / math.log1p(most)
                fill = ALARM if exponent >= self.highest else colour
                x, size = self.x_of(exponent), self.step
                cell = f"M{x:.1f} {y:.0f}h{size:.1f}v{height:.0f}h-{size:.1f}z"
                self.cells.setdefault((fill, 1 + round(7 * share**2)), []).append(cell)

    def draw(self, picture: Picture) -> None:
        """All of them."""
        for (fill, shade), cells in sorted(self.cells.items()):
            path = "".join(cells)
            picture.parts.append(f'<path d="{path}" fill="{fill}" fill-opacity="{shade / 8:g}"/>')


def _draw_error(picture: Picture, row: Any, y: float, x: float, tolerance: float) -> None:
    """A bar from 1e-8 to 1, and a number."""
    error = row.error.rms
    is_lost = bool(row.error.lost) or not math.isfinite(error)
    size = 8.0 if is_lost else min(max(math.log10(error) + 8, 0.0), 8.0) if error else 0.0
    fill = ALARM if is_lost else "#bf8700" if error > tolerance else "#2da44e"
    picture.box(x, y - 8, 84, 8, "#f0f2f4", ' rx="2"')
    if size:
        picture.box(x, y - 8, 84 * size / 8, 8, fill, ' rx="2"')
    from .findings import percent

    picture.text(x + 90, y, "not finite" if is_lost else percent(error), fill=fill if is_lost else INK, size=10)


__all__ = ["Picture", "colour_of", "draw_audit", "draw_trace", "shortened", "width_of"]
