"""Pictures of what turns: chosen columns over positions, arrows of pairs, one query and one key."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pecli.drawing.charts import Arc, Arrow, Axis, Chart, Circles, LineChart, Trace, some_of
from pecli.drawing.views import column_parts, frame, side_by_side
from pecli.errors import BadParameter
from pecli.inspect.pairs import Floats, Sample, reading_of

WAVES = 5  # columns that are drawn
WAVE_ROWS = 64
MOST_WAVES = 16  # that can be told apart
TURNS = 4  # circles side by side
ARROWS = 5
QUERY, KEY = 1 + 0.4j, 0.75 - 0.35j  # of the picture of one pair
MEETINGS = ((1, 3), (2, 4), (6, 8))  # rows that a query and a key stand at, always two apart


def waves(sample: Sample, name: str, channels: Sequence[int] = ()) -> list[Chart]:
    """Return columns over positions: those chosen, or fast ones and slow ones.

    Raises
    ------
    BadParameter
        For a channel that the table has not, or more than can be told apart.
    """
    arrays = side_by_side(sample)
    if not arrays:
        return []
    name_of_first, values = arrays[0]
    rows, columns = min(len(values), WAVE_ROWS), values.shape[1]
    if rows < 3:
        return []
    chosen = _checked(channels, columns, len(arrays)) if channels else _usual(sample, columns)
    (first, last), where, shown = frame(sample, rows)
    x = np.linspace(first, last, rows).tolist()
    if channels and len(arrays) > 1:
        pairs = [(f"{word} {c}", v[:rows, c]) for c in chosen for word, v in arrays if c < v.shape[1]]
    else:
        parts = column_parts(sample, columns)
        pairs = [(f"column {c}{parts[c]}", values[:rows, c]) for c in chosen]
    series = [Trace(word, x, line.tolist()) for word, line in pairs]
    part = "" if len(arrays) == 1 or channels else f" ({name_of_first})"
    return [LineChart(f"Columns of {name}{part}{shown}", Axis(where, low=first, high=last), Axis("value"), series)]


def _checked(channels: Sequence[int], columns: int, arrays: int) -> Sequence[int]:
    wrong = [c for c in channels if not 0 <= c < columns]
    if wrong:
        raise BadParameter("channels", wrong[0], f"is no column of the table, which has 0 to {columns - 1}")
    if len(channels) * arrays > MOST_WAVES:
        rule = f"are too many to tell apart: give at most {MOST_WAVES // arrays}"
        raise BadParameter("channels", f"({len(channels)} columns)", rule)
    return list(dict.fromkeys(channels))


def _usual(sample: Sample, columns: int) -> list[int]:
    """Return columns from the fastest to those that hardly move."""
    reading = reading_of(sample)
    apart = reading is not None and reading.family == "absolute"
    m = columns // 2 if apart else columns
    pairs = sorted({0, m // 16, m // 8, m // 4, m // 2} if m >= 8 else set(range(min(m, WAVES))))
    return [2 * i for i in pairs] if apart and reading is not None and reading.interleaved else pairs


def _pairs(sample: Sample) -> tuple[Floats, Floats, float] | None:
    """Return cosines, sines, and their magnitude; None where nothing turns."""
    reading = reading_of(sample)
    if reading is None:
        return None
    cos, sin = (reading.second, reading.first) if reading.sine_first else (reading.first, reading.second)
    return cos, sin, reading.magnitude


def rotation(sample: Sample, name: str) -> list[Chart]:
    """Return the first positions of a few pairs as arrows; of a grid, positions that lie in several rows of it."""
    found = _pairs(sample)
    if found is None:
        return []
    cos, sin, size = found
    m = cos.shape[1]
    chosen = sorted({0, m // 8, m // 4, m // 2}) if m >= 8 else some_of(m, TURNS)
    rows = _moving(cos[:, chosen] + 1j * sin[:, chosen])
    at = _places(sample, len(cos), rows[-1] + 1)

    def arrow(k: int, pair: int) -> Arrow:
        x, y = cos[k, pair], sin[k, pair]
        return Arrow(f"position {at[k]:g}", math.atan2(y, x), math.hypot(y, x) / size)

    circles = [(f"pair {pair}", [arrow(k, pair) for k in rows]) for pair in chosen]
    return [Circles(f"Rotation of pairs in {name}", circles, "direction (cos, sin) at")]


def _moving(turns: NDArray[np.complex128]) -> range:
    """Return the first rows, or, of a grid, the closest evenly spaced ones at which most pairs point several ways."""
    count = min(ARROWS, len(turns))
    steps = range(1, (len(turns) - 1) // max(1, count - 1) + 1)
    runs = [range(0, count * step, step) for step in steps] or [range(count)]

    def ways(run: range) -> tuple[int, int]:
        found = [len(set(column)) for column in turns[run].T.tolist()]
        return sum(f > 1 for f in found), sum(found)

    return max(runs, key=ways)


def _places(sample: Sample, count: int, rows: int) -> Floats:
    found = sample.positions
    return np.arange(float(count)) if found is None or len(found) < rows else found.astype(np.float64)


def turned(sample: Sample, name: str) -> list[Chart]:
    """Return one query and one key before and after pair 0 turns them, at rows that are always two apart."""
    found, reading = _pairs(sample), reading_of(sample)
    if found is None or reading is None or reading.family != "rotary" or len(found[0]) <= MEETINGS[-1][1]:
        return []
    cos, sin, size = found
    turn = (cos[:, 0] + 1j * sin[:, 0]) / size
    apart = np.array([complex(turn[n]) / complex(turn[m]) for m, n in MEETINGS])
    if np.abs(apart - apart[0]).max() > 1e-3 or abs(apart[0] - 1) < 1e-3:  # of a grid, rows two apart are not alike
        return []
    at = _places(sample, len(cos), MEETINGS[-1][1] + 1)
    circles, arcs, notes = [], [], []
    for m, n in MEETINGS:
        q, k = cmath.phase(QUERY * complex(turn[m])), cmath.phase(KEY * complex(turn[n]))
        gap = (k - q) % (2 * math.pi)
        gap -= 2 * math.pi * (gap > math.pi)
        lengths = abs(QUERY) / abs(QUERY), abs(KEY) / abs(QUERY)
        arrows = [
            Arrow("q", cmath.phase(QUERY), lengths[0], before=True),
            Arrow("k", cmath.phase(KEY), lengths[1], before=True),
            Arrow("q turned by m w", q, lengths[0]),
            Arrow("k turned by n w", k, lengths[1]),
        ]
        circles.append((f"m = {at[m]:g}, n = {at[n]:g}", arrows))
        arcs.append([Arc(f"{math.degrees(abs(gap)):.1f}°", q, q + gap, 0.45)])
        score = lengths[0] * lengths[1] * math.cos(gap)
        notes.append(f"q . k = {score:.3f}")
    return [Circles(f"One query and one key turned by {name}, pair 0", circles, "n - m is the same", arcs, notes)]
