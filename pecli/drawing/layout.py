"""Where everything of a chart stands: lines and bars in a frame, with ticks, marks and a legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pecli.drawing.charts import BarChart, Chart, Circles, Framed, Heat, LineChart, Scale, scales, tick_text
from pecli.drawing.layout_fields import circle_shapes, heat_shapes
from pecli.drawing.shapes import (
    BOTTOM,
    COLOURS,
    FAINT,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Area,
    Disc,
    Shape,
    Stroke,
    Words,
    box,
    heading,
    pen,
)

LEGEND = 22  # characters of a name before it is cut
DOT = 3.2  # radius of a marker


def shapes_of(chart: Chart) -> list[Shape]:
    """Return a chart as shapes on a paper of ``WIDTH`` x ``HEIGHT``."""
    if isinstance(chart, Heat):
        return heat_shapes(chart)
    if isinstance(chart, Circles):
        return circle_shapes(chart)
    across, up = scales(chart)
    shapes = [heading(chart.title), *_frame(chart, across, up)]
    if isinstance(chart, LineChart):
        return [*shapes, *_lines(chart, across, up), *_legend([s.name for s in chart.series], _line_key(chart))]
    layers = chart.parts
    names = [part.name for part in layers]
    return [*shapes, *_bars(chart, across, up), *_legend(names, lambda i, y: [_bar_key(layers[i].strength, y)])]


def _x(scale: Scale, value: float) -> float:
    return LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT)


def _y(scale: Scale, value: float) -> float:
    return HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - TOP - BOTTOM)


def _frame(chart: Framed, across: Scale, up: Scale) -> list[Shape]:
    """Return ticks, faint lines across, and the names of the axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    heights, places = [_y(up, tick) for tick in up.ticks], [_x(across, tick) for tick in across.ticks]
    shapes: list[Shape] = [
        Stroke([[(LEFT, y), (right, y)] for y in heights], FAINT),
        Stroke([[(x, bottom), (x, bottom + 5)] for x in places]),
        Stroke([[(LEFT, TOP), (LEFT, bottom), (right, bottom)]]),
    ]
    shapes += [Words(LEFT - 8, y + 4, tick_text(t, chart.y), "end") for y, t in zip(heights, up.ticks, strict=True)]
    shapes += [Words(x, bottom + 19, tick_text(t), "middle") for x, t in zip(places, across.ticks, strict=True)]
    shapes.append(Words((LEFT + right) / 2, HEIGHT - 14, chart.x.label, "middle"))
    return [*shapes, Words(18, (TOP + bottom) / 2, chart.y.label, "middle", turned=True)]


def _lines(chart: LineChart, across: Scale, up: Scale) -> list[Shape]:
    shapes: list[Shape] = []
    for mark in chart.marks:
        x = _x(across, mark.x)
        shapes.append(Stroke([[(x, TOP), (x, HEIGHT - BOTTOM)]], dash="4 4"))
        end = across.place(mark.x) > 0.5
        shapes.append(Words(x + (-5 if end else 5), TOP - 4, mark.label, "end" if end else "start"))
    for number, series in enumerate(chart.series):
        points = [
            (_x(across, x), _y(up, y))
            for x, y in zip(series.x, series.y, strict=True)
            if math.isfinite(y) and not (across.log and x <= 0) and not (up.log and y <= 0)
        ]
        if points:
            shapes.append(Stroke([points], *pen(number)))
        if chart.dots:
            shapes += [Disc(x, y, DOT, COLOURS[number % len(COLOURS)]) for x, y in points]
    return shapes


def _bars(chart: BarChart, across: Scale, up: Scale) -> list[Shape]:
    shapes: list[Shape] = []
    count = len(chart.parts[0].heights)
    wide = (WIDTH - LEFT - RIGHT) / max(1, count)
    below = [0.0] * count
    for part in chart.parts:
        rings = []
        for i, height in enumerate(part.heights):
            top, bottom = _y(up, below[i] + height), _y(up, below[i])
            if bottom - top >= 0.05:
                rings.append(box(_x(across, i - 0.5) + wide * 0.08, top, max(0.5, wide * 0.84), bottom - top))
            below[i] += height
        if rings:
            shapes.append(Area(rings, *_ink(part.strength)))
    return shapes


def _ink(strength: float) -> tuple[str, float]:
    return COLOURS[0 if strength > 0.5 else 1], max(0.25, strength)


def _legend(names: Sequence[str], key: Callable[[int, float], list[Shape]]) -> list[Shape]:
    shapes: list[Shape] = []
    for number, name in enumerate(names):
        y = TOP + 12 + 18 * number
        shown = name if len(name) <= LEGEND else name[: LEGEND - 1] + "…"
        shapes += [*key(number, y), Words(WIDTH - RIGHT + 42, y + 4, shown)]
    return shapes


def _line_key(chart: LineChart) -> Callable[[int, float], list[Shape]]:
    x = WIDTH - RIGHT + 14

    def key(number: int, y: float) -> list[Shape]:
        line = Stroke([[(x, y), (x + 22, y)]], *pen(number))
        return [line, Disc(x + 11, y, DOT, COLOURS[number % len(COLOURS)])] if chart.dots else [line]

    return key


def _bar_key(strength: float, y: float) -> Area:
    return Area([box(WIDTH - RIGHT + 16, y - 6, 18, 12)], *_ink(strength))
