"""Charts as SVG: plain shapes and text, the same bytes for the same data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from pecli.drawing.charts import BarChart, Chart, Circles, Framed, Heat, LineChart, Scale, printable, scales, tick_text
from pecli.drawing.fields_svg import (
    BOTTOM,
    COLOURS,
    FAINT,
    HEIGHT,
    INK,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    circle_parts,
    heat_parts,
)  # fmt: skip

PAPER = "#ffffff"
DASHES = ("", "7 3", "2 2", "8 3 2 3", "12 4", "4 4", "1 3", "10 2 2 2")
LEGEND = 22  # characters of a name before it is cut


def svg_of(charts: Sequence[Chart]) -> str:
    """Return charts, one below the other, as an SVG document."""
    height = HEIGHT * len(charts)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    font = f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}" stroke="none"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
    ]
    for number, chart in enumerate(charts):
        parts += [f'<g transform="translate(0 {number * HEIGHT})">', *_chart(chart), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _chart(chart: Chart) -> list[str]:
    if isinstance(chart, Heat):
        return heat_parts(chart, _text)
    if isinstance(chart, Circles):
        return circle_parts(chart, _text)
    across, up = scales(chart)
    parts = [_text(LEFT, 24, chart.title, size=14, weight="bold"), *_frame(chart, across, up)]
    if isinstance(chart, LineChart):
        return [*parts, *_lines(chart, across, up), *_legend([s.name for s in chart.series], _line_key)]
    layers = chart.parts
    names = [part.name for part in layers]
    return [*parts, *_bars(chart, across, up), *_legend(names, lambda i, y: _bar_key(layers[i].strength, y))]


def _x(scale: Scale, value: float) -> float:
    return LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT)


def _y(scale: Scale, value: float) -> float:
    return HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - TOP - BOTTOM)


def _frame(chart: Framed, across: Scale, up: Scale) -> list[str]:
    """Return ticks, faint lines across, and the names of the axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in up.ticks:
        y = _y(up, tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{FAINT}"/>')
        parts.append(_text(LEFT - 8, y + 4, tick_text(tick), anchor="end"))
    for tick in across.ticks:
        x = _x(across, tick)
        parts.append(f'<path d="M{x:.1f} {bottom}v5" stroke="{INK}"/>')
        parts.append(_text(x, bottom + 19, tick_text(tick), anchor="middle"))
    parts.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="{INK}"/>')
    parts.append(_text((LEFT + right) / 2, HEIGHT - 14, chart.x.label, anchor="middle"))
    middle = (TOP + bottom) / 2
    return [*parts, _text(18, middle, chart.y.label, anchor="middle", turned=True)]


def _lines(chart: LineChart, across: Scale, up: Scale) -> list[str]:
    parts = []
    for mark in chart.marks:
        x = _x(across, mark.x)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{INK}" stroke-dasharray="4 4"/>')
        side, shift = ("end", -5) if across.place(mark.x) > 0.5 else ("start", 5)
        parts.append(_text(x + shift, TOP - 4, mark.label, anchor=side))
    for number, series in enumerate(chart.series):
        points = [
            f"{_x(across, x):.1f} {_y(up, y):.1f}"
            for x, y in zip(series.x, series.y, strict=True)
            if math.isfinite(y) and not (across.log and x <= 0) and not (up.log and y <= 0)
        ]
        if points:
            parts.append(f'<path d="M{"L".join(points)}" fill="none" {_pen(number)}/>')
    return parts


def _pen(number: int) -> str:
    dash = DASHES[number % len(DASHES)]  # where lines coincide, the dashes of the upper show the lower
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="1.6" stroke-linejoin="round"{dashed}'


def _bars(chart: BarChart, across: Scale, up: Scale) -> list[str]:
    parts = []
    count = len(chart.parts[0].heights)
    wide = (WIDTH - LEFT - RIGHT) / max(1, count)
    below = [0.0] * count
    for part in chart.parts:
        shapes = []
        for i, height in enumerate(part.heights):
            top, bottom = _y(up, below[i] + height), _y(up, below[i])
            if bottom - top >= 0.05:
                x, width = _x(across, i) + wide * 0.08, max(0.5, wide * 0.84)
                shapes.append(f"M{x:.2f} {bottom:.1f}V{top:.1f}h{width:.2f}V{bottom:.1f}z")
            below[i] += height
        if shapes:
            parts.append(f'<path d="{"".join(shapes)}" {_ink(part.strength)}/>')
    return parts


def _ink(strength: float) -> str:
    return f'fill="{COLOURS[0 if strength > 0.5 else 1]}" fill-opacity="{max(0.25, strength):.2g}"'


def _legend(names: Sequence[str], key: Callable[[int, float], str]) -> list[str]:
    parts = []
    for number, name in enumerate(names):
        y = TOP + 12 + 18 * number
        parts.append(key(number, y))
        shown = name if len(name) <= LEGEND else name[: LEGEND - 1] + "…"
        parts.append(_text(WIDTH - RIGHT + 42, y + 4, shown))
    return parts


def _line_key(number: int, y: float) -> str:
    return f'<path d="M{WIDTH - RIGHT + 14} {y:.1f}h22" {_pen(number)}/>'


def _bar_key(strength: float, y: float) -> str:
    return f'<rect x="{WIDTH - RIGHT + 16}" y="{y - 6:.1f}" width="18" height="12" {_ink(strength)}/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 0, weight: str = "", turned: bool = False
) -> str:
    style = (f' font-size="{size}"' if size else "") + (f' font-weight="{weight}"' if weight else "")
    place = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if turned else f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{anchor}"{style}>{escape(printable(text))}</text>'
