"""Heat maps and circles as text: two values to a character, by half blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pecli.pictures.charts import tick_text
from pecli.pictures.fields import Circles, Heat

MARGIN = 9
ROWS = 20  # lines of a map, two rows of cells in each
TONES = " ░▒▓█"
WHEEL = "→↗↑↖←↙↓↘"


def heat_text(heat: Heat, width: int) -> str:
    """Return a heat map in five tones, light for low values; cells that share a place are averaged."""
    columns = max(20, width - MARGIN - 2)
    low, high = heat.ends()
    cells = resampled(heat.values, min(ROWS, len(heat.values)), min(columns, _widened(len(heat.values[0]), columns)))
    lines = [heat.title, f"{heat.y} (down) by {heat.x} (across)"]
    first, last = heat.rows
    for k, row in enumerate(cells):
        label = tick_text(round(first + (last - first) * k / max(1, len(cells) - 1))) if k % 4 == 0 or k == len(cells) - 1 else ""
        lines.append(f"{label:>{MARGIN - 1}} │{''.join(_tone(v, low, high) for v in row)}│")
    wide = len(cells[0])
    ends = tick_text(heat.columns[0]), tick_text(heat.columns[1])
    lines.append(f"{'':>{MARGIN}}└{'─' * wide}┘")
    lines.append(f"{'':>{MARGIN + 1}}{ends[0]}{ends[1]:>{max(1, wide - len(ends[0]))}}")
    step = (high - low) / len(TONES)
    key = "  ".join(f"{'·' if tone == ' ' else tone} {tick_text(low + k * step)}.." for k, tone in enumerate(TONES))
    return "\n".join([*lines, f"{heat.value}: {key} {tick_text(high)}   x not finite"])


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


def _tone(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "x"
    return TONES[min(len(TONES) - 1, max(0, int((value - low) / (high - low) * len(TONES))))]


def circles_text(chart: Circles, width: int) -> str:
    """Return the arrows of each circle as directions and angles."""
    lines = [chart.title, chart.legend]
    for name, arrows in chart.circles:
        lines.append(name)
        for arrow in arrows:
            eighth = round(arrow.angle / (math.pi / 4)) % 8
            turned = arrow.angle % (2 * math.pi)
            lines.append(f"  {WHEEL[eighth]} {arrow.name:<14} {math.degrees(turned):7.2f} degrees, length {arrow.length:.3g}")
    return "\n".join(line[:width] for line in lines)
