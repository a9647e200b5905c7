"""How reports, tensors, dtypes and models look in a notebook. No scripts, and never more than some
kilobytes, however large the object is."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from .. import _core
from .measure import numbers_of, undisturbed
from .picture import colour_of, hsl

_TABLE = "border-collapse:collapse;font-size:12px"
_CELL = "text-align:left;padding:2px 8px;border-bottom:1px solid #8884;white-space:nowrap"
_FAINT = "opacity:.65"
# More rows than these are counted.
_MOST_ROWS = 200
# More elements than these are looked at in steps.
_MOST_ELEMENTS = 1 << 20
_BINS, _HEIGHT = 32, 44
_MOST_HEAT_ROWS, _MOST_HEAT_COLUMNS, _SHADES = 16, 32, 8
_LONGEST_TEXT = 2000


def chip(dtype: Any) -> str:
    """The name of a dtype on its colour."""
    style = f"background:{colour_of(dtype)};color:#fff;border-radius:8px;padding:1px 7px;font-size:11px"
    return f'<span style="{style}">{escape(str(dtype))}</span>'


def _names() -> frozenset[str]:
    return frozenset(dtype.name for dtype in _core.dtypes())


def report_html(report: Any) -> str:
    """A report as a table under its title; names of dtypes have their colours."""
    known = _names()

    def cell(text: str) -> str:
        parts = text.split(", ")
        if all(part in known for part in parts):
            return " ".join(map(chip, parts))
        return escape(text).replace("  ", "&#160;&#160;")

    head, *rows = report._cells()
    lines = [f'<div style="font-family:sans-serif"><b>{escape(report._title())}</b>']
    lines.append(f'<table style="{_TABLE}"><thead><tr>')
    lines += [f'<th style="{_CELL}">{escape(name)}</th>' for name in head]
    lines.append("</tr></thead><tbody>")
    for row in rows[:_MOST_ROWS]:
        cells = "".join(f'<td style="{_CELL}">{cell(text)}</td>' for text in row)
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</tbody></table>")
    notes = report._notes()
    if len(rows) > _MOST_ROWS:
        notes = [f"and {len(rows) - _MOST_ROWS:,} more", *notes]
    lines += [f'<div style="font-size:12px;{_FAINT}">{escape(note)}</div>' for note in notes]
    return "\n".join([*lines, "</div>"])


# Tensors


def tensor_html(tensor: Any) -> str:
    """A tensor: dtype, shape, device, what is in it, a histogram, a heat map of a matrix, and its
    text."""
    facts = [chip(tensor.dtype), f"{list(tensor.shape)}", f"{tensor.device}"]
    if isinstance(tensor.numeric, _core.Family):
        facts.insert(1, f"family {tensor.numeric.name}")
    if tensor.storage_dtype != tensor.dtype:
        facts.append(f"stored as {tensor.storage_dtype}")
    if tensor.requires_grad:
        facts.append("requires grad")
    facts.append(f"{tensor.nbytes:,} bytes")
    parts = [f'<div style="font-family:sans-serif;font-size:12px"><div>{" · ".join(facts)}</div>']
    if tensor.numel():
        with undisturbed():
            sample, is_whole = _sample(tensor)
            numbers = numbers_of(sample)
            parts.append(_facts_of_numbers(tensor, numbers, is_whole))
            pictures = [_histogram(numbers) if numbers.numel() > 1 else "", _heat_map(tensor)]
        if any(pictures):
            parts.append(f'<div>{"&#8195;".join(filter(None, pictures))}</div>')
    text = repr(tensor)
    if len(text) > _LONGEST_TEXT:
        text = text[:_LONGEST_TEXT] + " …"
    parts.append(f'<pre style="margin:4px 0;max-height:16em;overflow:auto">{escape(text)}</pre></div>')
    return "\n".join(parts)


def _sample(tensor: Any) -> tuple[Any, bool]:
    """The elements, or as many in even steps as can be looked at soon."""
    plain = tensor.detach()
    if plain.numel() <= _MOST_ELEMENTS:
        return plain, True
    # Steps along every dimension: nothing as large as the tensor is made.
    for dim in range(plain.ndim):
        count = plain.shape[dim]
        wanted = max(1, math.ceil(count * _MOST_ELEMENTS / plain.numel()))
        if wanted < count:
            step = -(-count // wanted)
            plain = plain[(slice(None),) * dim + (slice(None, None, step),)]
    return plain, False


def _facts_of_numbers(tensor: Any, numbers: Any, is_whole: bool) -> str:
    facts, alarms = [], []
    finite = numbers[_core.isfinite(numbers)]
    if finite.numel():
        if tensor.dtype == _core.bool:
            facts.append(f"true {finite.mean().item():.1%}")
        else:
            facts += [f"min {finite.amin().item():.4g}", f"max {finite.amax().item():.4g}"]
            facts.append(f"mean {finite.mean().item():.4g}")
    for name, test in (("nan", _core.isnan), ("inf", _core.isinf)):
        count = int(test(numbers).sum())
        if count:
            alarms.append(f'<b style="color:#cf222e">{name} {count / numbers.numel():.2%}</b>')
    zeros = int((numbers == 0).sum())
    if zeros and tensor.dtype != _core.bool:
        facts.append(f"zero {zeros / numbers.numel():.1%}")
    if tensor.is_complex():
        facts.append("of both parts")
    if not is_whole:
        facts.append(f"of {numbers.numel():,} elements")
    faint = f'<span style="{_FAINT}">{" · ".join(facts)}</span>'
    return f"<div>{' · '.join([*alarms, faint])}</div>"


def _histogram(numbers: Any) -> str:
    """How many elements are between which numbers."""
    finite = numbers[_core.isfinite(numbers)]
    if not finite.numel():
        return ""
    least, greatest = finite.amin().item(), finite.amax().item()
    if least == greatest or not math.isfinite(greatest - least):
        return ""
    places = ((finite - least) * (_BINS / (greatest - least))).to(_core.int64).clamp(0, _BINS - 1)
    counts = _core.bincount(places, minlength=_BINS).tolist()
    most = max(counts)
    path = "".join(
        f"M{i * 6} {_HEIGHT}v-{max(1, round(_HEIGHT * n / most))}h5v{max(1, round(_HEIGHT * n / most))}z"
        for i, n in enumerate(counts)
        if n
    )
    label = 'font-size="9" fill="currentColor" opacity=".65"'
    width = _BINS * 6
    return (
        f'<svg width="{width}" height="{_HEIGHT + 12}" viewBox="0 0 {width} {_HEIGHT + 12}">'
        f'<path d="{path}" fill="#0969da"/>'
        f'<text x="0" y="{_HEIGHT + 10}" {label}>{least:.3g}</text>'
        f'<text x="{width}" y="{_HEIGHT + 10}" text-anchor="end" {label}>{greatest:.3g}</text></svg>'
    )


def _heat_map(tensor: Any) -> str:
    """A matrix as shades, the greater the darker; where something is not finite it is red."""
    if tensor.ndim != 2 or 0 in tensor.shape:
        return ""
    rows, columns = tensor.shape
    down, across = -(-rows // _MOST_HEAT_ROWS), -(-columns // _MOST_HEAT_COLUMNS)
    cells = tensor.detach()[::down, ::across]
    cells = cells.abs() if cells.is_complex() else cells
    height, width = cells.shape
    numbers = numbers_of(cells).tolist()
    for place in _lost_cells(tensor, down, across):
        numbers[place] = math.nan
    finite = [x for x in numbers if math.isfinite(x)]
    if not finite:
        return ""
    least, greatest = min(finite), max(finite)
    shades: dict[int, list[str]] = {}
    for place, number in enumerate(numbers):
        shade = -1
        if math.isfinite(number):
            share = (number / 2 - least / 2) / ((greatest / 2 - least / 2) or 1.0)
            shade = min(int(share * _SHADES), _SHADES - 1)
        shades.setdefault(shade, []).append(f"M{place % width} {place // width}h1")
    size = max(3, min(8, 128 // height, 256 // width))
    paths = []
    for shade, moves in sorted(shades.items()):
        tone = 92 - shade * 62 // (_SHADES - 1)
        stroke = "#cf222e" if shade < 0 else hsl(220 + shade * 8, 60, tone)
        paths.append(f'<path d="{"".join(moves)}" stroke="{stroke}"/>')
    note = "" if (down, across) == (1, 1) else f"<title>every {down}. row, {across}. column</title>"
    return (
        f'<svg width="{width * size}" height="{height * size}" viewBox="0 -.5 {width} {height}" '
        f'stroke-width="1.02" shape-rendering="crispEdges">{note}{"".join(paths)}</svg>'
    )


def _lost_cells(tensor: Any, down: int, across: int) -> list[int]:
    """The cells of a heat map with something that is not finite among all that they stand for."""
    from ..nn.functional import max_pool2d

    if (down, across) == (1, 1) or tensor.numel() > _MOST_ELEMENTS:
        return []
    is_lost = (~_core.isfinite(tensor.detach())).to(_core.float32)[None, None].to("cpu")
    cells = max_pool2d(is_lost, (down, across), ceil_mode=True)
    places: list[int] = cells.reshape(-1).nonzero().reshape(-1).tolist()
    return places


# Dtypes


def dtype_html(dtype: Any) -> str:
    """A dtype: its bits as boxes, its range and its precision."""
    boxes, facts = _bits_of(dtype), [f"{dtype.bits} bits", dtype.kind]
    real = dtype.to_real()
    if real.is_floating_point:
        info = real.finfo
        facts += [
            f"greatest {info.max:.5g}",
            f"least normal {info.smallest_normal:.3g}",
            f"least {info.smallest_subnormal:.3g}",
            f"eps {info.eps:.3g} ({-math.log10(info.eps):.1f} digits)",
        ]
        if not info.has_inf:
            facts.append("no infinity")
    elif dtype.is_integer:
        facts.append(f"{dtype.iinfo.min:,} to {dtype.iinfo.max:,}")
    if dtype.compute_dtype != dtype:
        facts.append(f"computes in {dtype.compute_dtype}")
    return (
        f'<div style="font-family:sans-serif;font-size:12px">{chip(dtype)} {boxes}'
        f'<div style="{_FAINT}">{" · ".join(facts)}</div></div>'
    )


def _bits_of(dtype: Any) -> str:
    """Boxes for sign, exponent and fraction."""
    real = dtype.to_real()
    if real.is_floating_point:
        digits = -int(math.log2(real.finfo.eps))
        fields = [("sign", 1, "#cf222e"), ("exponent", real.bits - 1 - digits, "#2da44e")]
        fields.append(("fraction", digits, "#0969da"))
    elif real.is_integer:
        fields = [("sign", 1, "#cf222e")] if real.is_signed else []
        fields.append(("value", real.bits - len(fields), "#0969da"))
    else:
        fields = [("unused", 7, "#8888"), ("truth", 1, "#0969da")]
    if dtype.is_complex:
        fields *= 2
    size = 8 if dtype.bits <= 32 else 4 if dtype.bits <= 64 else 3
    parts, x = [], 0
    for name, count, colour in fields:
        path = "".join(f"M{x + bit * size} 0h{size - 1}v10h-{size - 1}z" for bit in range(count))
        parts.append(f'<path d="{path}" fill="{colour}"><title>{name}: {count}</title></path>')
        x += count * size
    return f'<svg width="{x}" height="10" viewBox="0 0 {x} 10">{"".join(parts)}</svg>'


def family_html(family: Any) -> str:
    """A family: the dtypes in it."""
    members = " ".join(map(chip, family.members))
    return (
        f'<div style="font-family:sans-serif;font-size:12px"><b>{family.name}</b> · {family.kind}, '
        f"its width follows data and device: {members}</div>"
    )


# Models


def module_html(module: Any) -> str:
    """A model: a tree of its modules with numbers of parameters and dtypes."""
    from .._summary import summary

    found = summary(module)
    lines = [f'<div style="font-family:sans-serif"><table style="{_TABLE}">']
    for row in found.rows[:_MOST_ROWS]:
        name = row.path.rpartition(".")[2]
        indent = f"padding-left:{8 + 16 * row.depth}px"
        label = f'<span style="{_FAINT}">{escape(name)}</span> ' if name else ""
        extra = escape(module.get_submodule(row.path).extra_repr().replace("\n", ", "))[:80]
        cells = (
            f"{label}<b>{escape(row.kind)}</b>",
            f'<span style="{_FAINT}">{extra}</span>',
            f"{row.parameters:,}" if row.parameters else "",
            " ".join(map(chip, row.dtypes)),
        )
        styles = (f"{_CELL};{indent}", _CELL, f"{_CELL};text-align:right", _CELL)
        both = zip(cells, styles)
        lines.append("<tr>" + "".join(f'<td style="{s}">{c}</td>' for c, s in both) + "</tr>")
    lines.append("</table>")
    if len(found.rows) > _MOST_ROWS:
        lines.append(f"<div>and {len(found.rows) - _MOST_ROWS:,} more modules</div>")
    lines.append(
        f'<div style="font-size:12px;{_FAINT}">{found.total_parameters:,} parameters, '
        f"{found.trained_parameters:,} trained, {found.total_bytes:,} bytes</div></div>"
    )
    return "\n".join(lines)


__all__ = [
    "chip",
    "dtype_html",
    "family_html",
    "module_html",
    "report_html",
    "tensor_html",
]
