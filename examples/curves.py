"""Curves as a picture: an SVG that needs no other package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

COLOURS = ("#1f77b4", "#2ca02c", "#ff7f0e", "#d62728", "#9467bd", "#8c564b", "#7f7f7f")
WIDTH, HEIGHT = 860, 340
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 40, 44


def ticks(least: float, greatest: float) -> list[float]:
    """Round numbers between two others."""
    step = 10 ** math.floor(math.log10((greatest - least) / 3))
    step *= next(m for m in (1, 2, 5, 10) if (greatest - least) / (m * step) <= 6)
    first = math.ceil(least / step - 1e-9)
    return [k * step for k in range(first, math.floor(greatest / step + 1e-9) + 1)]


def draw(
    path: Path,
    curves: Mapping[str, Sequence[float]],
    title: str,
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
) -> None:
    """Writes the curves, one point per epoch, to a file."""

    def scale(y: float) -> float:
        return math.log10(max(y, 1e-12)) if logarithmic else y

    values = [scale(y) for curve in curves.values() for y in curve if math.isfinite(y)]
    least, greatest = min(values), max(values)
    greatest = greatest if greatest > least else least + 1
    longest = max(2, *(len(curve) for curve in curves.values()))
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x_of(epoch: float) -> float:
        return LEFT + across * (epoch - 1) / (longest - 1)

    def y_of(y: float) -> float:
        return TOP + down * (greatest - y) / (greatest - least)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12" fill="#333">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        f'<text x="{LEFT + across / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(16 {TOP + down / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>',
    ]
    for tick in ticks(least, greatest):
        y = y_of(tick)
        label = f"{10**tick:.2g}" if logarithmic else f"{tick:g}"
        parts.append(f'<path d="M{LEFT} {y:.1f}h{across}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for tick in ticks(1, longest):
        x = x_of(tick)
        parts.append(f'<text x="{x:.1f}" y="{TOP + down + 18}" text-anchor="middle">{tick:g}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{x_of(epoch):.1f},{y_of(scale(y)):.1f}"
            for epoch, y in enumerate(curve, 1)
            if math.isfinite(y)
        )
        y = TOP + 8 + 22 * number
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(f'<path d="M{WIDTH - RIGHT + 14} {y}h22" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 42}" y="{y + 4}">{escape(name)}</text>')
    parts.append("</svg>\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts))
