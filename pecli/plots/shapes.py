"""Shapes of a chart on paper: lines, areas, words, and where everything of each chart stands.

Every chart is laid out once, and each kind of file writes the shapes in its own way.  Lengths are units of the paper,
x from the left and y from the top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pecli.plots.charts import (
    HIDDEN,
    SHADES,
    Arc,
    Arrow,
    Axis,
    BarChart,
    Chart,
    Circles,
    Framed,
    Heat,
    LineChart,
    Scale,
    palette,
    rgb,
    scale_of,
    scales,
    shade,
    tick_text,
)

Point = tuple[float, float]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 74, 176, 46, 54
INK, FAINT, PAPER = "#222222", "#d9d9d9", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")  # Okabe and Ito
DASHES = ("", "7 3", "2 2", "8 3 2 3", "12 4", "4 4", "1 3", "10 2 2 2")
SIZE = 12  # of letters


@dataclass(frozen=True)
class Stroke:
    """Lines from point to point; `dash` counts ink and gap in turn."""

    lines: Sequence[Sequence[Point]]
    colour: str = INK
    width: float = 1.0
    dash: str = ""


@dataclass(frozen=True)
class Area:
    """Polygons, filled."""

    rings: Sequence[Sequence[Point]]
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Disc:
    """A circle about a point: filled, or its line alone."""

    x: float
    y: float
    radius: float
    colour: str
    filled: bool = True


@dataclass(frozen=True)
class Words:
    """A line of text; y is its baseline."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    size: int = SIZE
    bold: bool = False
    vertical: bool = False


@dataclass(frozen=True)
class Cells:
    """An image: rows of indices of colours, stretched to a box without blending."""

    x: float
    y: float
    wide: float
    high: float
    rows: Sequence[bytes]
    colours: Sequence[tuple[int, int, int]]


Shape = Stroke | Area | Disc | Words | Cells


def box(x: float, y: float, wide: float, high: float) -> list[Point]:
    """Return the corners of a rectangle."""
    return [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]


def heading(text: str) -> Words:
    """Return the title of a chart."""
    return Words(LEFT, 24, text, size=14, bold=True)


def pen(number: int, width: float = 1.6) -> tuple[str, float, str]:
    """Return colour, width and dash of the line with this number; dashes show the lower where lines coincide."""
    return COLOURS[number % len(COLOURS)], width, DASHES[number % len(DASHES)]


PIXELS = 160  # least of an image along each side
LETTER = 6.4  # width of one, about


def heat_shapes(heat: Heat) -> list[Shape]:
    """Return a heat map in a frame, with a bar of its colours; the cells are an image of one pixel each."""
    bottom = HEIGHT - BOTTOM
    right = LEFT + bottom - TOP if heat.square else WIDTH - RIGHT
    low, high = heat.ends()
    colours = [rgb(shade(k / (SHADES - 1), palette(heat))) for k in range(SHADES)] + [rgb(HIDDEN)]
    wide, tall = right - LEFT, bottom - TOP
    return [
        heading(heat.title),
        Cells(LEFT, TOP, wide, tall, _pixels(heat, low, high), colours),
        Stroke([[*box(LEFT, TOP, wide, tall), (LEFT, TOP)]]),
        *_axes(heat, right, bottom),
        *_bar(heat, low, high, right, bottom),
    ]


def _pixels(heat: Heat, low: float, high: float) -> list[bytes]:
    """Return rows of pixels; cells of a small map are enlarged, since some viewers blur an enlarged picture."""
    down, across = (max(1, -(-PIXELS // count)) for count in (len(heat.values), len(heat.values[0])))
    found = []
    for row in heat.values:
        line = b"".join(bytes([_index(value, low, high)]) * across for value in row)
        found += [line] * down
    return found


def _index(value: float, low: float, high: float) -> int:
    if not math.isfinite(value):
        return SHADES
    return round(min(1.0, max(0.0, (value - low) / (high - low))) * (SHADES - 1))


def _axes(heat: Heat, right: int, bottom: int) -> list[Shape]:
    """Return ticks with the true numbers of columns and rows, and lines between columns of different kinds."""
    shapes: list[Shape] = []
    start = float(LEFT)
    count = sum(span.count for span in heat.columns)
    for number, span in enumerate(heat.columns):
        wide = (right - LEFT) * span.count / count
        most = max(2, int(wide / 70))
        for place, value in _ticks((span.first, span.last), span.count, most):
            x = start + place * wide
            shapes += [Stroke([[(x, bottom), (x, bottom + 5)]]), Words(x, bottom + 19, tick_text(value), "middle")]
        if number:
            shapes.append(Stroke([[(start, TOP), (start, bottom)]]))
        if span.name:
            shapes.append(Words(start + wide / 2, TOP - 5, span.name, "middle"))
        start += wide
    for place, value in _ticks(heat.rows, len(heat.values)):
        y = TOP + place * (bottom - TOP)
        shapes += [Stroke([[(LEFT, y), (LEFT - 5, y)]]), Words(LEFT - 8, y + 4, tick_text(value), "end")]
    shapes.append(Words((LEFT + right) / 2, HEIGHT - 14, heat.x, "middle"))
    return [*shapes, Words(18, (TOP + bottom) / 2, heat.y, "middle", vertical=True)]


def _ticks(ends: tuple[float, float], count: int, most: int = 6) -> list[tuple[float, float]]:
    """Return shares of an axis (the middles of its cells) and their numbers, of which there are few."""
    first, last = ends
    low, high = min(ends), max(ends)
    if count == 1 or low == high:
        return [(0.5, first)]
    step = (last - first) / (count - 1)
    if step >= 2 and float(step).is_integer():  # every second column, for instance: only numbers that are there
        gaps = scale_of(Axis("", low=0, high=(last - first) / step, whole=True), ()).ticks
        ticks = tuple(first + gap * step for gap in gaps)
    else:
        ticks = scale_of(Axis("", low=low, high=high, whole=float(low).is_integer() and step == 1), ()).ticks
    ticks = ticks[:: max(1, -(-len(ticks) // most))]
    return [(((t - first) / (last - first) * (count - 1) + 0.5) / count, t) for t in ticks if low <= t <= high]


def _bar(heat: Heat, low: float, high: float, right: int, bottom: int) -> list[Shape]:
    """Return the colour bar from low to high, with ticks and labels."""
    x, wide, steps = right + 24, 16, 64
    tall = (bottom - TOP) / steps
    shapes: list[Shape] = [
        Area([box(x, bottom - (k + 1) * tall, wide, tall + 0.7)], shade(k / (steps - 1), palette(heat), steps))
        for k in range(steps)
    ]
    scale = scale_of(Axis("", low=low, high=high), ())
    for tick in scale.ticks:
        y = bottom - scale.place(tick) * (bottom - TOP)
        shapes += [Stroke([[(x + wide, y), (x + wide + 4, y)]]), Words(x + wide + 8, y + 4, tick_text(tick))]
    return [*shapes, Words(x + wide + 58, (TOP + bottom) / 2, heat.value, "middle", vertical=True)]


def circle_shapes(chart: Circles) -> list[Shape]:
    """Return circles side by side with their arrows, and arcs from arrow to arrow."""
    shapes: list[Shape] = [heading(chart.title)]
    wide = (WIDTH - 2 * 24) / len(chart.circles)
    radius = min(wide / 2 - 8, (HEIGHT - TOP - BOTTOM - 30 - 16 * bool(chart.notes)) / 2)
    y = (TOP + HEIGHT - BOTTOM) / 2 - 8 - 8 * bool(chart.notes)
    for k, (name, arrows) in enumerate(chart.circles):
        x = 24 + wide * (k + 0.5)
        shapes.append(Disc(x, y, radius, FAINT, filled=False))
        shapes.append(Stroke([[(x - radius, y), (x + radius, y)], [(x, y - radius), (x, y + radius)]], FAINT))
        for arc in chart.arcs[k] if chart.arcs else ():
            shapes += _arc(x, y, radius, arc)
        for number, arrow in enumerate(arrows):
            shapes += _arrow(x, y, radius, arrow, COLOURS[number % len(COLOURS)])
        shapes.append(Words(x, y + radius + 22, name, "middle"))
        if chart.notes:
            shapes.append(Words(x, y + radius + 38, chart.notes[k], "middle"))
    return [*shapes, *_key(chart.circles[0][1] if chart.circles else [], chart.legend)]


def _arrow(x: float, y: float, radius: float, arrow: Arrow, colour: str) -> list[Shape]:
    """Return a line with a head; angles run against the clock from the right."""
    angle, length = arrow.angle, radius * arrow.length
    end = x + length * math.cos(angle), y - length * math.sin(angle)
    head = [(end[0] + 8 * math.cos(angle + t), end[1] - 8 * math.sin(angle + t)) for t in (2.7, -2.7)]
    return [Stroke([[(x, y), end]], colour, 1.8, "3 3" if arrow.before else ""), Area([[end, *head]], colour)]


def _arc(x: float, y: float, radius: float, arc: Arc) -> list[Shape]:
    """Return an arc about the middle, labelled with its angle."""
    steps = max(2, int(abs(arc.stop - arc.start) / 0.1) + 1)

    def at(share: float, reach: float) -> Point:
        angle = arc.start + (arc.stop - arc.start) * share
        return x + reach * math.cos(angle), y - reach * math.sin(angle)

    line = Stroke([[at(k / steps, arc.radius * radius) for k in range(steps + 1)]], INK, 1.2)
    where = at(0.5, arc.radius * radius + 16)
    return [line, Words(where[0], where[1] + 4, arc.name, "middle")]


def _key(arrows: Sequence[Arrow], legend: str) -> list[Shape]:
    y = HEIGHT - 16
    shapes: list[Shape] = [Words(24, y, legend)]
    x = 24 + LETTER * len(legend) + 16
    for number, arrow in enumerate(arrows):
        dash = "3 3" if arrow.before else ""
        shapes += [
            Stroke([[(x, y - 4), (x + 18, y - 4)]], COLOURS[number % len(COLOURS)], 2.5, dash),
            Words(x + 23, y, arrow.name),
        ]
        x += 23 + LETTER * len(arrow.name) + 18
    return shapes


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
    return [*shapes, Words(18, (TOP + bottom) / 2, chart.y.label, "middle", vertical=True)]


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
