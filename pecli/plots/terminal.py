"""Charts as text: half blocks in colour, or a ramp of letters."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from pecli.plots.charts import (
    CUBE_BLUE_TO_RED,
    Arrow,
    BarChart,
    Chart,
    Circles,
    Framed,
    Heat,
    LineChart,
    Scale,
    palette,
    printable,
    rgb,
    scales,
    shade,
    tick_text,
    within,
)

MARGIN = 9
LINES = 24  # of a map
RAMP = " .:-=+*#%@"
ANGLE = 13  # columns of an angle
ROUND = 17  # columns of a circle, letters being twice as high as wide
RESET = "\x1b[0m"
CUBE = (0, 95, 135, 175, 215, 255)  # levels of the 216 colours that every colour terminal has


@dataclass(frozen=True)
class Screen:
    """Capabilities of a terminal.

    Attributes
    ----------
    width : int
        Columns.
    colour : {"none", "256", "true"}
        Whether escapes for colour may be written, and which.
    unicode : bool
        Whether it shows more than ASCII.
    """

    width: int = 80
    colour: str = "none"
    unicode: bool = True


def heat_text(heat: Heat, screen: Screen) -> str:
    """Return a heat map: two cells to a half block in colour, otherwise one to a letter; merged cells are averaged."""
    blocks = screen.colour != "none" and screen.unicode
    room = max(20, screen.width - MARGIN - 2)
    high = len(heat.values)
    count = min(LINES * (2 if blocks else 1), high)
    cells = resampled(heat.values, count, min(room, _widened(len(heat.values[0]), room)))
    low, top = heat.ends()
    step = 2 if blocks else 1
    phrase = (heat.title, f"down: {heat.y}", f"across: {heat.x}")
    lines = [line for text in phrase for line in within(text, screen.width)]
    for k in range(0, count, step):
        row = cells[k : k + step]
        label = _row_label(heat, k, count, step)
        inside = (
            _blocks(row, heat, screen) if screen.colour != "none" else "".join(_letter(v, low, top) for v in row[0])
        )
        lines.append(f"{label:>{MARGIN - 1}} │{inside}│")
    wide = len(cells[0])
    lines.append(f"{'':>{MARGIN}}└{'─' * wide}┘")
    lines.append(f"{'':>{MARGIN + 1}}{_column_ends(heat, wide)}")
    return "\n".join([*lines, *_key(heat, low, top, screen)])


def _column_ends(heat: Heat, wide: int) -> str:
    """Return the first and the last number of each span of columns, where it begins and ends; names where room is."""
    total, start, line = sum(span.count for span in heat.columns), 0, ""
    for span in heat.columns:
        stop = start + span.count
        room = stop * wide // total - start * wide // total
        ends = tick_text(span.first), tick_text(span.last)
        between = max(1, room - sum(map(len, ends)) - (stop < total))
        name = f" {span.name} " if len(span.name) + 4 <= between else ""
        line += f"{ends[0]}{name:^{between}}{ends[1]}{' ' * (stop < total)}"
        start = stop
    return line


def _row_label(heat: Heat, k: int, count: int, step: int) -> str:
    first, last = heat.rows
    if (k // step) % 4 and k + step < count:
        return ""
    value = first + (last - first) * k / max(1, count - 1)
    whole = all(float(end).is_integer() for end in heat.rows)
    return tick_text(round(value) if whole else value)


def _widened(count: int, room: int) -> int:
    """Return the columns for `count` cells: several to a cell while there is room, as letters are tall."""
    return count * max(1, min(4, room // max(1, count)))


def resampled(values: Sequence[Sequence[float]], rows: int, columns: int) -> list[list[float]]:
    """Return a matrix of another size: means where cells merge, repeats where they spread."""
    n, m = len(values), len(values[0])
    found = []
    for i in range(rows):
        top, bottom = i * n // rows, max(i * n // rows + 1, (i + 1) * n // rows)
        line = []
        for j in range(columns):
            left, right = j * m // columns, max(j * m // columns + 1, (j + 1) * m // columns)
            cells = [values[a][b] for a in range(top, bottom) for b in range(left, right)]
            line.append(math.fsum(cells) / len(cells) if all(map(math.isfinite, cells)) else math.nan)
        found.append(line)
    return found


def _letter(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "x"
    return RAMP[min(len(RAMP) - 1, max(0, int((value - low) / (high - low) * len(RAMP))))]


def _blocks(rows: Sequence[Sequence[float]], heat: Heat, screen: Screen) -> str:
    """Return one line of colours: the upper row as ink and the lower as ground of a half block."""
    low, high = heat.ends()
    exact = heat.centred and screen.colour == "256"
    colours = CUBE_BLUE_TO_RED if exact else palette(heat)

    def colour(value: float) -> str:
        share = (value - low) / (high - low) if math.isfinite(value) else math.nan
        return shade(share, colours, len(colours)) if exact else shade(share, colours)

    parts, last = [], ""
    for x, value in enumerate(rows[0]):
        ground = code(colour(rows[1][x]), screen.colour, ground=True) if len(rows) > 1 else "49"
        if not screen.unicode:  # a blank in colour
            pair, mark = code(colour(value), screen.colour, ground=True), " "
        else:
            pair, mark = f"{code(colour(value), screen.colour)};{ground}", "▀"
        parts.append(mark if pair == last else f"\x1b[{pair}m{mark}")
        last = pair
    return "".join(parts) + RESET


def code(colour: str, depth: str, *, ground: bool = False) -> str:
    """Return the numbers of the escape for a colour, exact or the nearest of the 216."""
    kind = 48 if ground else 38
    parts = rgb(colour)
    if depth == "true":
        return f"{kind};2;{parts[0]};{parts[1]};{parts[2]}"
    r, g, b = (min(range(6), key=lambda i: abs(CUBE[i] - part)) for part in parts)
    return f"{kind};5;{16 + 36 * r + 6 * g + b}"


def _key(heat: Heat, low: float, high: float, screen: Screen) -> list[str]:
    """Return the legend of colours or letters."""
    name = printable(heat.value)
    masked = any(not math.isfinite(v) for row in heat.values for v in row)
    if screen.colour != "none":
        ends = tick_text(low), tick_text(high)
        steps = max(4, min(32, screen.width - MARGIN - 3 - len(ends[0]) - len(ends[1])))
        ramp = [[low + (high - low) * k / (steps - 1) for k in range(steps)]]
        lead = " " * (MARGIN + 1)
        return [*within(f"{name}:", screen.width, lead), f"{lead}{ends[0]} {_blocks(ramp, heat, screen)} {ends[1]}"]
    step = (high - low) / len(RAMP)
    words = [f"'{letter}' {tick_text(float(f'{low + k * step:.3g}'))}.." for k, letter in enumerate(RAMP)]
    lines = textwrap.wrap("  ".join(words).replace("' ", "'\0"), screen.width - MARGIN - 12)  # a letter keeps its value
    lines = [line.replace("\0", " ") for line in lines]
    lines[-1] += f" {tick_text(high)}"
    lead = " " * (MARGIN + 1)
    return [
        *within(f"{name}, from:", screen.width, lead), *(lead + line for line in lines),
        *([f"{lead}x: not finite"] if masked else []),
    ]  # fmt: skip


def circles_text(chart: Circles, screen: Screen) -> str:
    """Return circles side by side, each arrow's tip a digit, and the angles below."""
    arrows = chart.circles[0][1] if chart.circles else []
    wide = max((len(arrow.name) for arrow in arrows), default=0)
    room = min((screen.width + 2) // (ROUND + 2), (screen.width - wide - 5) // ANGLE)
    circles = chart.circles[: max(1, room)]
    drawn = [_circle(arrows) for _, arrows in circles]
    lines = ["  ".join(parts).rstrip() for parts in zip(*drawn, strict=True)]
    lines.append("  ".join(f"{name:^{ROUND}}" for name, _ in circles).rstrip())
    rows = [f"{'':>{wide + 5}}" + "".join(f"{name:>{ANGLE}}" for name, _ in circles)]
    for k, arrow in enumerate(arrows):
        angles = [math.degrees(part[k].angle % (2 * math.pi)) for _, part in circles]
        rows.append(f"  {k}  {arrow.name:<{wide}}" + "".join(f"{angle:9.2f} deg" for angle in angles))
    legend = within(f"{chart.legend}:", screen.width)
    return "\n".join([*within(chart.title, screen.width), "", *lines, "", *legend, *map(printable, rows)])


def _circle(arrows: Sequence[Arrow]) -> list[str]:
    """Return a circle of dots with the number of each arrow at its tip; of several arrows at one place, the first."""
    cells = [[" "] * ROUND for _ in range(ROUND // 2)]

    def put(angle: float, length: float, mark: str, over: str) -> None:
        x = round((1 + length * math.cos(angle)) * (ROUND - 1) / 2)
        y = round((1 - length * math.sin(angle)) * (ROUND // 2 - 1) / 2)
        if 0 <= y < len(cells) and 0 <= x < ROUND and cells[y][x] in over:
            cells[y][x] = mark

    for k in range(64):
        put(2 * math.pi * k / 64, 1.0, ".", " ")
    put(0.0, 0.0, "+", " ")
    for k, arrow in enumerate(arrows):
        put(arrow.angle, min(1.0, arrow.length), str(k % 10), " .+")
    return ["".join(row) for row in cells]


GLYPHS = "●○▲△■□◆◇+x*"
HEIGHT = 16


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
    phrase = [part for text in (chart.x.label, *legend) for part in within(text, width, " " * (MARGIN + 1))]
    return "\n".join([*lines, *phrase])


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
        for part, mark in zip(chart.parts, shades, strict=True):
            bottom = total
            total += sum(part.heights[first:last]) / (last - first)
            for row in range(round(up.place(bottom) * HEIGHT), round(up.place(total) * HEIGHT)):
                cells[HEIGHT - 1 - row][column] = mark
    return cells, [f"{mark} {part.name}" for part, mark in zip(chart.parts, shades, strict=True)]
