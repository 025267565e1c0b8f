"""Where everything of a heat map and of circles with arrows stands."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pecli.drawing.charts import Arc, Arrow, Axis, Circles, Heat, scale_of, tick_text
from pecli.drawing.colours import HIDDEN, SHADES, palette, rgb, shade
from pecli.drawing.shapes import (
    BOTTOM,
    COLOURS,
    FAINT,
    HEIGHT,
    INK,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Area,
    Cells,
    Disc,
    Point,
    Shape,
    Stroke,
    Words,
    box,
    heading,
)

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
    """Return rows of pixels; of a small map each cell is several, as some viewers blur what they enlarge."""
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
    return [*shapes, Words(18, (TOP + bottom) / 2, heat.y, "middle", turned=True)]


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
    """Return the colours from low to high, with ticks and what they stand for."""
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
    return [*shapes, Words(x + wide + 58, (TOP + bottom) / 2, heat.value, "middle", turned=True)]


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
    """Return a piece of a circle about the middle, and its angle beside it."""
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
