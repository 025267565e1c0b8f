"""Heat maps and circles as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pecli.drawing.charts import HIDDEN, SHADES, Axis, Circles, Heat, palette, rgb, scale_of, shade, tick_text
from pecli.drawing.pixels import data_address, png

Text = Callable[..., str]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 74, 176, 46, 54
INK, FAINT = "#222222", "#d9d9d9"
PIXELS = 160  # least of an image along each side
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")  # Okabe and Ito


def heat_parts(heat: Heat, text: Text) -> list[str]:
    """Return a heat map in a frame, with a bar of its colours; the cells are an image of one pixel each."""
    bottom = HEIGHT - BOTTOM
    right = LEFT + bottom - TOP if heat.square else WIDTH - RIGHT
    low, high = heat.ends()
    box = f'x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}"'
    address = data_address(png(_pixels(heat, low, high), _colours(heat)))
    parts = [
        text(LEFT, 24, heat.title, size=14, weight="bold"),
        f'<image {box} preserveAspectRatio="none" style="image-rendering:pixelated" href="{address}"/>',
        f'<rect {box} fill="none" stroke="{INK}"/>',
        *_axes(heat, text, right, bottom),
    ]
    return [*parts, *_bar(heat, low, high, text, right, bottom)]


def _colours(heat: Heat) -> list[tuple[int, int, int]]:
    """Return the palette of a map; the last colour stands for what is no number."""
    return [rgb(shade(k / (SHADES - 1), palette(heat))) for k in range(SHADES)] + [rgb(HIDDEN)]


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


def _axes(heat: Heat, text: Text, right: int, bottom: int) -> list[str]:
    parts = []
    for place, value in _ticks(heat.columns, len(heat.values[0])):
        x = LEFT + place * (right - LEFT)
        parts += [
            f'<path d="M{x:.1f} {bottom}v5" stroke="{INK}"/>',
            text(x, bottom + 19, tick_text(value), anchor="middle"),
        ]
    for place, value in _ticks(heat.rows, len(heat.values)):
        y = TOP + place * (bottom - TOP)
        parts += [
            f'<path d="M{LEFT} {y:.1f}h-5" stroke="{INK}"/>',
            text(LEFT - 8, y + 4, tick_text(value), anchor="end"),
        ]
    parts.append(text((LEFT + right) / 2, HEIGHT - 14, heat.x, anchor="middle"))
    middle = (TOP + bottom) / 2
    return [*parts, text(18, middle, heat.y, anchor="middle", turned=True)]


def _ticks(ends: tuple[float, float], count: int) -> list[tuple[float, float]]:
    """Return shares of an axis (the middles of its cells) and their numbers."""
    first, last = ends
    low, high = min(ends), max(ends)
    if count == 1 or low == high:
        return [(0.5, first)]
    ticks = scale_of(Axis("", low=low, high=high), ()).ticks
    if all(float(v).is_integer() for v in ends):
        ticks = tuple(t for t in ticks if float(t).is_integer())
    return [(((t - first) / (last - first) * (count - 1) + 0.5) / count, t) for t in ticks]


def _bar(heat: Heat, low: float, high: float, text: Text, right: int, bottom: int) -> list[str]:
    """Return the colours from low to high, with ticks and what they stand for."""
    x, wide, steps = right + 24, 16, 64
    tall = (bottom - TOP) / steps
    parts = [
        f'<rect x="{x}" y="{bottom - (k + 1) * tall:.2f}" width="{wide}" height="{tall + 0.3:.2f}" '
        f'fill="{shade(k / (steps - 1), palette(heat), steps)}"/>'
        for k in range(steps)
    ]
    scale = scale_of(Axis("", low=low, high=high), ())
    for tick in scale.ticks:
        y = bottom - scale.place(tick) * (bottom - TOP)
        parts += [f'<path d="M{x + wide} {y:.1f}h4" stroke="{INK}"/>', text(x + wide + 8, y + 4, tick_text(tick))]
    middle = (TOP + bottom) / 2
    at = x + wide + 58
    return [*parts, text(at, middle, heat.value, anchor="middle", turned=True)]


def circle_parts(chart: Circles, text: Text) -> list[str]:
    """Return circles side by side with their arrows."""
    parts = [text(LEFT, 24, chart.title, size=14, weight="bold")]
    count = len(chart.circles)
    wide = (WIDTH - 2 * 24) / count
    radius = min(wide / 2 - 8, (HEIGHT - TOP - BOTTOM - 30) / 2)
    for k, (name, arrows) in enumerate(chart.circles):
        x, y = 24 + wide * (k + 0.5), (TOP + HEIGHT - BOTTOM) / 2 - 8
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" stroke="{FAINT}"/>')
        cross = f"M{x - radius:.1f} {y:.1f}h{2 * radius:.1f}M{x:.1f} {y - radius:.1f}v{2 * radius:.1f}"
        parts.append(f'<path d="{cross}" stroke="{FAINT}"/>')
        for number, arrow in enumerate(arrows):
            parts += _arrow(x, y, radius, arrow.angle, arrow.length, COLOURS[number % len(COLOURS)])
        parts.append(text(x, y + radius + 22, name, anchor="middle"))
    names = [arrow.name for arrow in chart.circles[0][1]] if chart.circles else []
    return [*parts, *_key(names, chart.legend, text)]


def _arrow(x: float, y: float, radius: float, angle: float, length: float, colour: str) -> list[str]:
    """Return a line with a head; angles run against the clock from the right."""
    ex, ey = x + radius * length * math.cos(angle), y - radius * length * math.sin(angle)
    head = [f"{ex + 8 * math.cos(angle + t):.1f} {ey - 8 * math.sin(angle + t):.1f}" for t in (2.7, -2.7)]
    return [
        f'<path d="M{x:.1f} {y:.1f}L{ex:.1f} {ey:.1f}" stroke="{colour}" stroke-width="1.8"/>',
        f'<path d="M{ex:.1f} {ey:.1f}L{head[0]}L{head[1]}z" fill="{colour}"/>',
    ]


def _key(names: Sequence[str], legend: str, text: Text) -> list[str]:
    y = HEIGHT - 16
    parts = [text(24, y, legend)]
    x = 24 + 7 * len(legend) + 16
    for number, name in enumerate(names):
        parts += [
            f'<path d="M{x:.0f} {y - 4}h18" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2.5"/>',
            text(x + 23, y, name),
        ]
        x += 23 + 7 * len(name) + 18
    return parts
