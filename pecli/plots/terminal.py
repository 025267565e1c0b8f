"""Charts as text: half blocks in colour, or a ramp of letters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pecli.plots import charts
from pecli.plots.charts import Axis, Chart, Circles, Floats, Heat, LineChart, Span, printable, tick_text, within

MARGIN = 9
LEAD = " " * (MARGIN + 1)
LINES_OF_MAP, HEIGHT = 24, 16  # of a map and of a frame
RAMP = " .:-=+*#%@"
RESET = "\x1b[0m"
CUBE = (0, 95, 135, 175, 215, 255)  # levels of the 216 colours that every colour terminal has
CUBE_BLUE_TO_RED = (  # of these, of which the nearest to a dark red is a magenta
    "#00005f", "#000087", "#005faf", "#0087d7", "#5fafd7", "#87afd7", "#afd7ff", "#d7d7ff", "#ffffff",
    "#ffd7d7", "#ffaf87", "#ff875f", "#ff5f5f", "#d75f5f", "#d70000", "#af0000", "#5f0000",
)  # fmt: skip
GLYPHS = "●○▲△■□◆◇+x*"


class Screen(NamedTuple):
    """A terminal: its columns, and whether it has 256 colours."""

    width: int
    colour: bool


def draw(pictures: Sequence[Chart], width: int = 80, *, colour: bool = False) -> str:
    """Return charts as text for a terminal with as many columns, in 256 colours or none."""
    screen = Screen(width, colour)
    return "\n\n".join("\n".join([*within(chart.title, width), *lines_of(chart, screen)]) for chart in pictures)


def lines_of(chart: Chart, screen: Screen) -> list[str]:
    """Return a chart without its title."""
    if isinstance(chart, LineChart):
        return frame_lines(chart, screen)
    return heat_lines(chart, screen) if isinstance(chart, Heat) else circle_lines(chart, screen)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def code(colour: str, *, ground: bool = False) -> str:
    """Return the numbers of the escape for the nearest of the 216 colours."""
    r, g, b = (min(range(6), key=lambda i: abs(CUBE[i] - part)) for part in rgb(colour))
    return f"{48 if ground else 38};5;{16 + 36 * r + 6 * g + b}"


def shade(share: float, colours: Sequence[str]) -> str:
    """Return the colour at a share of a palette; grey for NaN, white for -infinity."""
    if not math.isfinite(share):
        return charts.MASKED if share != share else charts.EQUAL
    at = min(1.0, max(0.0, share)) * (len(colours) - 1)
    i = min(int(at), len(colours) - 2)
    pairs = zip(rgb(colours[i]), rgb(colours[i + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (at - i)):02x}" for a, b in pairs)


def heat_lines(heat: Heat, screen: Screen) -> list[str]:
    """Return a heat map: two cells to a half block in colour, otherwise one to a letter; merged cells are averaged."""
    step = 1 + screen.colour
    room = max(20, screen.width - MARGIN - 2)
    high, columns = heat.values.shape
    count = min(LINES_OF_MAP * step, high)
    wide = min(room, columns * max(1, min(4, room // columns)))
    values = charts.resampled(heat.values, count, wide, largest=heat.log, spread=True)
    lines = [text for phrase in (f"down: {heat.y}", f"across: {heat.x}") for text in within(phrase, screen.width)]
    first, last = heat.rows
    for k in range(0, count, step):
        number = first + (last - first) * k / max(1, count - 1)
        whole = all(float(end).is_integer() for end in heat.rows)
        label = tick_text(round(number) if whole else number) if (k // step) % 4 == 0 or k + step >= count else ""
        lines.append(f"{label:>{MARGIN - 1}} │{_cells(values[k : k + step], heat, screen)}│")
    lines += [f"{'':>{MARGIN}}└{'─' * wide}┘", f"{LEAD}{_column_ends(heat.columns, wide)}"]
    return [*lines, *_key(heat, screen)]


def _cells(rows: Floats, heat: Heat, screen: Screen) -> str:
    """Return one line of letters, or of colours: the upper row as ink and the lower as ground of a half block."""
    low, high = heat.ends
    with np.errstate(divide="ignore", invalid="ignore"):  # between them 0 to 1; -infinity for 0 of a logarithm
        shares = np.log(rows / low) / math.log(high / low) if heat.log else (rows - low) / (high - low)
    shares = np.where(np.isfinite(rows), shares, np.nan)
    if not screen.colour:
        letters = RAMP[heat.log :]
        places = np.clip(np.nan_to_num(shares[0], neginf=0) * len(letters), 0, len(letters) - 1).astype(int)
        marks = (letters[place] for place in places)
        return "".join("x" if s != s else " " if s == -math.inf else m for s, m in zip(shares[0], marks, strict=True))
    colours = heat.colours
    if heat.centred:
        colours = CUBE_BLUE_TO_RED
        shares = np.round(shares * (len(colours) - 1)) / (len(colours) - 1)
    parts, last = [], ""
    for column in shares.T:
        inks = [shade(float(share), colours) for share in column]
        pair = f"{code(inks[0])};{code(inks[-1], ground=True) if len(inks) > 1 else 49}"
        parts.append("▀" if pair == last else f"\x1b[{pair}m▀")
        last = pair
    return "".join(parts) + RESET


def _column_ends(spans: Sequence[Span], wide: int) -> str:
    """Return the first and the last number of each span of columns, where it begins and ends; names where room is."""
    total, line = sum(span.count for span in spans), ""
    for span in spans:
        first, last = tick_text(span.first), tick_text(span.last)
        between = max(1, span.count * wide // total - len(first) - len(last) - (span is not spans[-1]))
        name = f" {span.name} " if len(span.name) + 4 <= between else ""
        line += f"{first}{name:^{between}}{last} "
    return line.rstrip()


def _key(heat: Heat, screen: Screen) -> list[str]:
    """Return the legend of colours or letters."""
    low, high = heat.ends
    steps = max(4, min(32, screen.width - MARGIN - 22)) if screen.colour else len(RAMP)
    share = np.arange(steps) / (steps - 1)
    ramp = low * (high / low) ** share if heat.log else low + (high - low) * share
    ends = (tick_text(float(f"{end:.3g}")) for end in (low, high))
    bar = f"{LEAD}{next(ends)} {_cells(ramp[None], heat, screen)} {next(ends)}"
    masked = [f"{LEAD}x: not finite"] if not screen.colour and not np.isfinite(heat.values).all() else []
    return [*within(f"{heat.value}:", screen.width, LEAD), bar, *masked]


def circle_lines(chart: Circles, screen: Screen) -> list[str]:
    """Return the angles of the arrows."""
    lines = within(f"{chart.legend}:", screen.width)
    for circle in chart.circles:
        angles = ", ".join(f"{a.name}: {math.degrees(a.angle % math.tau):.2f}°" for a in circle.arrows)
        lines += within(f"{', '.join([circle.name, *circle.notes])}", screen.width, "  ")
        lines += within(angles, screen.width, "    ")
    return lines


def scale_of(axis: Axis, values: Sequence[float]) -> tuple[Callable[[float], float], list[float]]:
    """Return the share of an axis at which a value lies, 0 at the low end and 1 at the high one, and its ticks."""
    finite = [v for v in values if math.isfinite(v) and not (axis.base and v <= 0)]
    low = axis.low if axis.low is not None else min(finite, default=1.0)
    high = axis.high if axis.high is not None else max(finite, default=10.0)
    if not high > low:
        low, high = (low / 2, low * 2) if axis.base else (low - 0.5, low + 0.5)
    if axis.base:
        first, last = (math.log(end, axis.base) for end in (low, high))
        powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
        ticks = [float(axis.base) ** k for k in powers[:: max(1, len(powers) // 8)]]
        return lambda value: (math.log(max(value, low), axis.base) - first) / (last - first), ticks
    power = 10.0 ** math.floor(math.log10((high - low) / 6))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= (high - low) / 6.01)
    step = max(1.0, step) if axis.whole else step
    low = math.floor(low / step + 1e-9) * step if axis.low is None else low
    high = math.ceil(high / step - 1e-9) * step if axis.high is None else high
    ticks = [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return lambda value: (value - low) / (high - low), ticks


def frame_lines(chart: LineChart, screen: Screen) -> list[str]:
    """Return lines in a frame: a sign for each, in its colour; what is known between the points is drawn there."""
    every = [line.curve or (line.x, line.y) for line in chart.series]
    across, columns = scale_of(chart.x, [x for xs, _ in every for x in xs] + [x for x, _ in chart.marks])
    up, rows = scale_of(chart.y, [y for _, ys in every for y in ys])
    wide = max(20, screen.width - MARGIN - 2)
    cells = [[" "] * wide for _ in range(HEIGHT)]

    def put(xs: Sequence[float], ys: Sequence[float], mark: str) -> None:
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(y) and not (chart.x.base and x <= 0):
                row = round((HEIGHT - 1) * (1 - min(1.0, max(0.0, up(y)))))
                cells[row][max(0, min(wide - 1, round(across(x) * (wide - 1))))] = mark

    inks = [charts.LINES[k % len(charts.LINES)] for k in range(len(chart.series))]
    signs = [_inked(GLYPHS[k % len(GLYPHS)], ink, screen) for k, ink in enumerate(inks)]
    for place, line in itertools.product((x for x, _ in chart.marks), cells):
        line[round(across(place) * (wide - 1))] = "┆"
    for (xs, ys), ink in zip(every, inks, strict=True):
        put(xs, ys, _inked("·", ink, screen))
    for sign, trace in zip(signs, chart.series, strict=True):
        put(trace.x, trace.y, sign)
    labels = {round((HEIGHT - 1) * (1 - up(tick))): tick_text(tick, chart.y.base) for tick in rows}
    lines = within(chart.y.label, screen.width)
    for row, cell in enumerate(cells):
        lines.append(f"{labels.get(row, ''):>{MARGIN - 1}} {'┤' if row in labels else '│'}{''.join(cell)}".rstrip())
    ticks, end = [" "] * (wide + 8), -2
    for tick in columns:  # one that would touch its neighbour is left out
        text = tick_text(tick, chart.x.base)
        at = max(0, round(across(tick) * (wide - 1)) - len(text) // 2)
        if at > end + 1:
            ticks[at : at + len(text)] = text
            end = at + len(text)
    lines += [f"{'':>{MARGIN}}└{'─' * wide}", f"{LEAD}{''.join(ticks)[:wide]}".rstrip()]
    legend = [f"{sign} {printable(trace.name)}" for sign, trace in zip(signs, chart.series, strict=True) if trace.name]
    legend += [f"┆ {printable(label)}" for _, label in chart.marks]
    return [*lines, *within(chart.x.label, screen.width, LEAD), *(LEAD + text for text in legend)]


def _inked(mark: str, colour: str, screen: Screen) -> str:
    return f"\x1b[{code(colour)}m{mark}{RESET}" if screen.colour else mark
