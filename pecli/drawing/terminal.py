"""Charts as text: one glyph for each line, blocks for bars."""

from __future__ import annotations

import math

from pecli.drawing.charts import BarChart, Chart, Circles, Framed, Heat, LineChart, Scale, scales, tick_text, within
from pecli.drawing.fields_text import Screen, circles_text, heat_text

GLYPHS = "●○▲△■□◆◇+x*"
HEIGHT = 16
MARGIN = 9


ASCII = str.maketrans(
    {**dict(zip(GLYPHS, "ox^#=sd%+x*", strict=True)), **dict(zip("│┤└┘─┆█▒…", "||++-:#/.", strict=True))}
)


def text_of(chart: Chart, screen: Screen) -> str:
    """Return a chart as lines of text, at most as wide as the screen."""
    if isinstance(chart, Heat):
        text = heat_text(chart, screen)
    elif isinstance(chart, Circles):
        text = circles_text(chart, screen)
    else:
        text = _framed(chart, screen.width)
    return text if screen.unicode else "".join(c if c.isascii() else "?" for c in text.translate(ASCII))


def _framed(chart: Framed, width: int) -> str:
    """Return lines or bars in a frame."""
    across, up = scales(chart)
    columns = max(20, width - MARGIN - 2)
    if isinstance(chart, LineChart):
        cells, legend = _lines(chart, across, up, columns)
    else:
        cells, legend = _bars(chart, up, columns)
    lines = [*within(chart.title, width), *within(chart.y.label, width)]
    labels = {round((HEIGHT - 1) * (1 - up.place(tick))): tick_text(tick, chart.y) for tick in up.ticks}
    for row, cell in enumerate(cells):
        lines.append(f"{labels.get(row, ''):>{MARGIN - 1}} {'┤' if row in labels else '│'}{''.join(cell)}".rstrip())
    lines.append(f"{'':>{MARGIN}}└{'─' * columns}")
    lines.append(f"{'':>{MARGIN + 1}}{_ticks(across, columns)}".rstrip())
    said = [part for text in (chart.x.label, *legend) for part in within(text, width, " " * (MARGIN + 1))]
    return "\n".join([*lines, *said])


def _ticks(scale: Scale, columns: int) -> str:
    """Return the ticks below the frame; one that would touch its neighbour is left out."""
    line = [" "] * (columns + 8)
    end = -2
    for tick in scale.ticks:
        text = tick_text(tick)
        at = max(0, round(scale.place(tick) * (columns - 1)) - len(text) // 2)
        if at > end + 1:
            line[at : at + len(text)] = text
            end = at + len(text)
    return "".join(line)


def _lines(chart: LineChart, across: Scale, up: Scale, columns: int) -> tuple[list[list[str]], list[str]]:
    cells = [[" "] * columns for _ in range(HEIGHT)]
    for mark in chart.marks:
        at = round(across.place(mark.x) * (columns - 1))
        for line in cells:
            line[at] = "┆"
    for number, series in enumerate(chart.series):
        glyph = GLYPHS[number % len(GLYPHS)]
        for x, y in zip(series.x, series.y, strict=True):
            if math.isfinite(y) and not (across.log and x <= 0):
                row = round((HEIGHT - 1) * (1 - min(1.0, max(0.0, up.place(y)))))
                cells[row][min(columns - 1, round(across.place(x) * (columns - 1)))] = glyph
    legend = [f"{GLYPHS[i % len(GLYPHS)]} {s.name}" for i, s in enumerate(chart.series)]
    legend += [f"┆ {mark.label}" for mark in chart.marks]
    return cells, legend


def _bars(chart: BarChart, up: Scale, columns: int) -> tuple[list[list[str]], list[str]]:
    """Return stacked bars; several bars that share a column are averaged."""
    count = len(chart.parts[0].heights)
    shades = ["█" if part.strength > 0.5 else "▒" for part in chart.parts]
    cells = [[" "] * columns for _ in range(HEIGHT)]
    for column in range(columns):
        first = column * count // columns
        last = max(first + 1, (column + 1) * count // columns)
        total = 0.0
        for part, shade in zip(chart.parts, shades, strict=True):
            bottom = total
            total += sum(part.heights[first:last]) / (last - first)
            for row in range(round(up.place(bottom) * HEIGHT), round(up.place(total) * HEIGHT)):
                cells[HEIGHT - 1 - row][column] = shade
    return cells, [f"{shade} {part.name}" for part, shade in zip(chart.parts, shades, strict=True)]
