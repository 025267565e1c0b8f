"""Charts of a table: heat map, waves, similarity, rotation, biases."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, BadRecipe
from pecli.inspect.pairs import Floats, PairReading, Sample, reading_of, squeezed, take
from pecli.numbers.rounding import floats
from pecli.plots.charts import (
    Arc,
    Arrow,
    Axis,
    Chart,
    Circles,
    Heat,
    LineChart,
    Span,
    Trace,
    check_words,
    chosen,
    some_of,
)
from pecli.spec.declaration import PICTURES
from pecli.spec.plans import Bias
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table

PARTS = {"re": "real part", "im": "imaginary part"}  # of complex values
CELLS = 256  # along each side of a map; more are averaged


def is_bias(sample: Sample) -> bool:
    """Whether a table is a number for each query and key, or the slopes of one."""
    names = {array.name for array in sample.table.arrays}
    if names & {"bias", "slopes"}:
        return True
    arrays = sample.table.arrays
    shape = [side for side in arrays[0].shape if side != 1]
    square = len(arrays) == 1 and len(shape) == 3 and shape[1] == shape[2]
    return square and reading_of(sample) is None  # two square matrices may be cosines and sines


def frame(sample: Sample, rows: int) -> tuple[tuple[float, float], str, str]:
    """Return the first and the last number shown, their unit, and the numbers shown if not all are."""
    count, found = sample.planes[0].rows, sample.positions
    part = f", the first {rows} of {count:,} rows" if rows < count else ""
    if found is None:
        return (0.0, float(rows - 1)), "row", part
    gaps = np.diff(found[:rows])
    if len(found) < rows or not np.allclose(gaps, gaps[:1]):
        return (0.0, float(rows - 1)), "row (positions are not evenly spaced)", part
    return (float(found[0]), float(found[rows - 1])), "position", part


def matrix(sample: Sample) -> Floats:
    """Return the values side by side, (n, columns), columns of a pair apart: all sines, then all cosines."""
    reading = in_turn(sample)
    if reading is not None:
        return np.concatenate([reading.first, reading.second], axis=1)
    arrays = side_by_side(sample)
    if not arrays or not len(arrays[0][1]):
        raise BadRecipe("a table without values has nothing to draw: name one that has rows and columns")
    return np.concatenate([values for _, values in arrays], axis=1)


def side_by_side(sample: Sample) -> list[tuple[str, Floats]]:
    """Return the first array, (n, columns), and the others with as many rows, by name, without indices."""
    whole = {array.name for array in sample.table.arrays[1:] if "int" in array.dtype}
    arrays = [(plane.name, squeezed(plane.values)) for plane in sample.planes if plane.name not in whole]
    return [(PARTS.get(name, name), v.reshape(len(v), -1)) for name, v in arrays if len(v) == len(arrays[0][1])]


def in_turn(sample: Sample) -> PairReading | None:
    """Return the reading of a table whose columns are sine and cosine in turn; None of any other."""
    found = reading_of(sample)
    in_turn = found is not None and found.family == "absolute" and found.interleaved and not found.tail
    return found if in_turn else None


def shrunk(values: Floats, rows: int = CELLS, columns: int = CELLS) -> Floats:
    """Return a matrix of at most that size, cells averaged."""
    for axis, most in ((0, rows), (1, columns)):
        count = values.shape[axis]
        if count > most:
            edges = np.arange(most) * count // most
            sums = np.add.reduceat(values, edges, axis=axis)
            sizes = np.diff([*edges, count]).astype(np.float64)
            values = sums / (sizes[:, None] if axis == 0 else sizes)
    return values


def column_parts(sample: Sample, columns: int) -> list[str]:
    """Return sine or cosine for each column, if known."""
    reading = reading_of(sample)
    if reading is None or reading.family != "absolute" or reading.tail:
        return [""] * columns
    names = (" (sin)", " (cos)") if reading.sine_first else (" (cos)", " (sin)")
    if reading.interleaved:
        return [names[c % 2] for c in range(columns)]
    return [names[c >= columns // 2] for c in range(columns)]


HEADS = 8
MAX_HEADS = {2: 1 << 14, 3: 256}
"""Sides of arrays of two and of three axes that are drawn by distance: rows, and heads."""
MAX_KEYS = 1 << 14
MASKED = -3e4
"""Logits at or below it are a mask's numbers."""


def bias(sample: Sample, name: str) -> list[Chart]:
    """Return the matrix of the first head, and of the last."""
    whole = take(sample.table, unstack=False)
    view = whole.views[0]
    shape = [side for side in view.shape if side != 1]
    found: list[Chart] = []
    does = _does(sample)
    if len(shape) == 3:
        heads = dict.fromkeys((0, shape[0] - 1))
        found += [_bias_map(head_values(whole, h, shape), name, f"head {h} of {shape[0]}", does) for h in heads]
    elif len(shape) == 2 and view.name in ("bias", "array", "index") and shape[0] == shape[1]:
        found.append(_bias_map(whole.planes[0].values.reshape(shape), name, view.name, does))
    return found


def _does(sample: Sample) -> str:
    """Return how values act on a logit, as the encoding declares it."""
    recipe = sample.table.source if isinstance(sample.table, Table) else None
    if recipe is not None and recipe.encoding.declares("apply"):
        effect = recipe.encoding.hook("apply")(recipe)
        return "multiplies the logit" if effect.logits == "multiply" else "added to the logit"
    return "added to the logit"


def head_values(sample: Sample, head: int, shape: Sequence[int]) -> Floats:
    """Return the first queries and keys of one head, (q, k)."""
    view = sample.views[0]
    per_head = view.rows // shape[0]
    rows = min(per_head, 2 * CELLS) if per_head > 1 else 1
    values = floats(view.read(head * per_head, head * per_head + rows), view.dtype).astype(np.float64)
    return values.reshape(-1, shape[2])[:, : 2 * CELLS]


def _bias_map(values: Floats, name: str, part: str, does: str) -> Heat:
    keys, queries = Span(0.0, values.shape[1] - 1.0, values.shape[1]), (0.0, values.shape[0] - 1.0)
    hidden = np.where(np.isfinite(values), values, np.nan)
    title = f"Bias of {name}, {part}"
    value = does + (" (grey: masked)" if np.isnan(hidden).any() else "")
    return Heat(
        title,
        "key",
        "query",
        shrunk(hidden).tolist(),
        value,
        [keys],
        queries,
        centred=bool(np.nanmin(hidden) < 0 < np.nanmax(hidden)),
        square=True,
    )


def slopes(sample: Sample, name: str) -> list[Chart]:
    """Return slopes by head where there are any, and the bias of each head by distance."""
    found: list[Chart] = []
    plan = sample.table.plan if isinstance(sample.table, Table) else None
    by_head = [float(slope) for slope in plan.slopes()] if isinstance(plan, Bias) and plan.slopes else []
    whole = take(sample.table, unstack=False)
    if len(sample.table.arrays[0].shape) == 1:
        by_head = whole.planes[0].values.reshape(-1).tolist()
    if len(by_head) > 1:
        heads = [float(h) for h in range(len(by_head))]
        across = Axis("head", low=0.0, high=heads[-1], whole=True)
        up = Axis("penalty for each position of distance", log=True, halves=True)
        found.append(LineChart(f"Slopes of {name}", across, up, [Trace("slope", heads, by_head)], dots=True))
    values = by_distance(whole)
    if values is None:
        return found
    half = values.shape[1] // 2
    distances = np.arange(-half, half + 1)
    keep = np.abs(distances) <= CELLS // 2
    x = [float(d) for d in distances[keep]]
    series = [Trace(f"head {h}", x, values[h, keep].tolist()) for h in some_of(len(values), HEADS)]
    across = Axis("distance: key minus query (positions)", low=x[0], high=x[-1])
    return [*found, LineChart(f"Bias of {name} by distance", across, Axis(_does(sample)), series)]


def by_distance(sample: Sample) -> Floats | None:
    """Return a bias by distance -(n-1)..n-1, (heads, 2n-1), NaN where masked; None where another thing decides it.

    The queries, the last of the keys, are the first, the last and some between; they must agree.
    """
    view = sample.views[0]
    shape = [side for side in view.shape if side != 1]
    if len(shape) not in (2, 3) or shape[-2] > shape[-1] or shape[-1] > MAX_KEYS or shape[0] > MAX_HEADS[len(shape)]:
        return None
    heads, queries, keys = (1, *shape) if len(shape) == 2 else shape
    if len(shape) == 2 and (queries != keys or keys < 3):
        return None
    per_head = view.rows // heads
    values = np.full((heads, 2 * keys - 1), np.nan)
    fixed = True
    for head in range(heads):
        known: Floats | None = None
        for query in sorted({0, 1, queries // 2, queries - 2, queries - 1} & set(range(queries))):
            at = head * per_head + (query if per_head == queries else 0)
            rows = floats(view.read(at, at + 1), view.dtype).astype(np.float64).reshape(-1, keys)
            row = np.where(rows[query % len(rows)] <= MASKED, np.nan, rows[query % len(rows)])
            part = values[head, queries - 1 - query :][:keys]
            if not np.array_equal(*(v[~np.isnan(row) & ~np.isnan(part)] for v in (row, part))):
                return None
            part[:] = np.where(np.isnan(row), part, row)
            fixed &= known is None or np.array_equal(row, known, equal_nan=True)
            known = row
    return None if fixed and queries > 1 and np.ptp(values[~np.isnan(values)]) > 0 else values


WAVES = 5  # columns that are drawn
WAVE_ROWS = 64
MAX_WAVES = 16  # that can be told apart
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
    if len(channels) * arrays > MAX_WAVES:
        rule = f"are too many to tell apart: give at most {MAX_WAVES // arrays}"
        raise BadParameter("channels", f"({len(channels)} columns)", rule)
    return list(dict.fromkeys(channels))


def _usual(sample: Sample, columns: int) -> list[int]:
    """Return columns from the fastest to the slowest that still varies."""
    reading = reading_of(sample)
    apart = reading is not None and reading.family == "absolute"
    m = columns // 2 if apart else columns
    pairs = sorted({0, m // 16, m // 8, m // 4, m // 2} if m >= 8 else set(range(min(m, WAVES))))
    return [2 * i for i in pairs] if apart and reading is not None and reading.interleaved else pairs


def _pairs(sample: Sample) -> tuple[Floats, Floats, float] | None:
    """Return cosines, sines and their magnitude; None if the table has no rotating pairs."""
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


def rotated_vectors(sample: Sample, name: str) -> list[Chart]:
    """Return one query and one key before and after the rotation of pair 0, at rows that are always two apart."""
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


OF_ROWS = ("heatmap", "waves", "similarity", "rotation", "query-key")
OF_BIAS = ("bias", "slopes")
OLDER = {"turned": "query-key"}
"""Older spellings of pictures, which existing scripts may use; no help mentions them."""


def picture_words(words: Sequence[str]) -> list[str]:
    """Return the kinds of picture that these words name, in today's spelling; raise UnknownName for another word."""
    kinds = [OLDER.get(word, word) for word in words]
    check_words(kinds, PICTURES)
    return kinds


def charts_of_table(table: Tabular, name: str, words: Sequence[str] = (), channels: Sequence[int] = ()) -> list[Chart]:
    """Return pictures of a table: those named, or those that suit it; waves of these channels.

    Raises
    ------
    UnknownName
        For a word that is no picture.
    BadParameter
        For a picture or a channel that the table has not.
    """
    words, sample = picture_words(words), take(table)
    suited = OF_BIAS if is_bias(sample) else OF_ROWS
    makers: dict[str, Callable[[Sample, str], list[Chart]]] = {
        "heatmap": _heat, "waves": partial(waves, channels=channels), "similarity": _similarity,
        "rotation": rotation, "query-key": rotated_vectors, "bias": bias, "slopes": slopes,
    }  # fmt: skip
    if channels and "waves" not in (words or suited):
        raise BadParameter(
            "channels", "+".join(map(str, channels)), "chooses the columns of waves, which are not drawn"
        )
    found = chosen({word: partial(makers[word], sample, name) for word in suited}, words, name)
    if not found:
        raise BadParameter("plot", name, "has nothing to draw: it needs rows and columns of numbers")
    return found


def _heat(sample: Sample, name: str) -> list[Chart]:
    values = matrix(sample)
    if values.shape[0] < 2 or values.shape[1] < 2 or not np.isfinite(values).any():
        return []
    rows = min(len(values), 2 * CELLS)
    map_ = shrunk(np.where(np.isfinite(values[:rows]), values[:rows], np.nan))
    ends, where, part = frame(sample, rows)
    centred = bool(np.nanmin(map_) < 0)
    title = f"Values of {name}{part}"
    spans = _spans(sample, values.shape[1])
    return [Heat(title, _columns(sample), where, map_.tolist(), "value", spans, ends, centred=centred)]


def _spans(sample: Sample, columns: int) -> list[Span]:
    """Return the true numbers of the map's columns: pairs in turn stand apart, and so do several arrays."""
    arrays = side_by_side(sample)
    if len(arrays) > 1:
        return [Span(0.0, values.shape[1] - 1.0, values.shape[1], word) for word, values in arrays]
    reading = in_turn(sample)
    if reading is None:
        return [Span(0.0, columns - 1.0, columns)]
    names = ("sines", "cosines") if reading.sine_first else ("cosines", "sines")
    half = columns // 2
    return [Span(first, first + 2.0 * (half - 1), half, names[k]) for k, first in enumerate((0.0, 1.0))]


def _columns(sample: Sample) -> str:
    """Return the kind of each column of the heat map, in its order."""
    arrays = side_by_side(sample)
    if len(arrays) > 1:
        return f"column of {', then of '.join(name for name, _ in arrays)}"
    reading = in_turn(sample)
    if reading is None:
        return "column"
    sines, cosines = ("sines", "cosines") if reading.sine_first else ("cosines", "sines")
    return f"columns 0, 2, 4 .. ({sines}), then columns 1, 3, 5 .. ({cosines})"


def _similarity(sample: Sample, name: str) -> list[Chart]:
    """Return the cosine of every two rows."""
    values = matrix(sample)
    values = values[: min(len(values), CELLS)]
    norms = np.linalg.norm(values, axis=1)
    if len(values) < 3 or values.shape[1] < 2 or not np.isfinite(norms).all() or not norms.any():
        return []
    unit = values / np.where(norms == 0, np.nan, norms)[:, None]  # a row of zeros has no direction: it is left grey
    ends, where, part = frame(sample, len(values))
    cells = np.clip(unit @ unit.T, -1, 1)
    low = float(np.nanmin(cells))
    low = low if low < 1 - 1e-6 else 0.0  # rows that all point one way differ by rounding alone
    title = f"Similarity of {'positions' if where == 'position' else 'rows'} in {name}{part}"
    value = "cosine of two rows" + (" (grey: a row of zeros)" if (norms == 0).any() else "")
    span: dict[str, Any] = {"centred": True} if low < -0.2 else {"centred": False, "low": low}
    return [
        Heat(title, where, where, cells.tolist(), value, [Span(*ends, len(cells))], ends, high=1.0, square=True, **span)
    ]
