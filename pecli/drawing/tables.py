"""Tables as charts: heat map, waves, similarity of positions, rotation of pairs, bias matrix, slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pecli.declare.plan import Bias
from pecli.declare.tabular import Tabular
from pecli.declare.words import PICTURES
from pecli.drawing.charts import Arrow, Axis, Chart, Circles, Heat, LineChart, Trace, some_of
from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.measures.floats import floats
from pecli.measures.phase_lines import phase_lines
from pecli.measures.profiles import profile_of
from pecli.measures.readings import Reading, readings, squeezed
from pecli.measures.rhythm import measure
from pecli.measures.samples import Floats, Sample, take
from pecli.tables.table import Table

CELLS = 256  # along each side of a map; more are averaged
WAVES = 5  # columns that are drawn
WAVE_ROWS = 64
TURNS = 4  # circles side by side
ARROWS = 5
HEADS = 8
OF_ROWS = ("heatmap", "waves", "similarity", "rotation")
OF_BIAS = ("bias", "slopes")


def charts_of_table(table: Tabular, name: str, words: Sequence[str] = ()) -> list[Chart]:
    """Return pictures of a table: those named, or those that suit it.

    Raises
    ------
    UnknownName
        For a word that is no picture.
    BadParameter
        For a picture that the table has not.
    """
    for word in words:
        if word not in PICTURES:
            raise UnknownName("picture", word, PICTURES)
    sample = take(table)
    suited = OF_BIAS if is_bias(sample) else OF_ROWS
    makers: dict[str, Callable[[Sample, str], list[Chart]]] = {
        "heatmap": _heat, "waves": _waves, "similarity": _similarity, "rotation": _rotation, "bias": _bias,
        "slopes": _slopes,
    }  # fmt: skip
    made = {word: makers[word](sample, name) for word in words or suited if word in suited}
    for word in words:
        if not made.get(word):
            others = [w for w in suited if w != word and makers[w](sample, name)]
            rule = f"cannot be drawn of {name}, which has no such thing: {' and '.join(others) or 'nothing'} can"
            raise BadParameter("picture", word, rule)
    found = [chart for word in words or suited for chart in made.get(word, [])]
    if not found:
        raise BadParameter("plot", name, "has nothing to draw: it needs rows and columns of numbers")
    return found


def is_bias(sample: Sample) -> bool:
    """Whether a table is a number for each query and key, or the slopes of one."""
    names = {array.name for array in sample.table.arrays}
    if names & {"bias", "slopes"}:
        return True
    arrays = sample.table.arrays
    shape = [side for side in arrays[0].shape if side != 1]
    square = len(arrays) == 1 and len(shape) == 3 and shape[1] == shape[2]
    return square and reading_of(sample) is None  # two square matrices may be cosines and sines


def _frame(sample: Sample, rows: int) -> tuple[tuple[float, float], str, str]:
    """Return the numbers of the first and the last row shown, what they are, and which are shown where not all are."""
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
    planes = [p.reshape(len(p), -1) for p in (squeezed(plane.values) for plane in sample.planes)]
    rows = min((len(p) for p in planes), default=0)
    if not rows:
        raise BadRecipe("a table without values has nothing to draw: name one that has rows and columns")
    return np.concatenate([p[:rows] for p in planes], axis=1)


def reading_of(sample: Sample) -> Reading | None:
    """Return the pairs of a table from its first row on; None where it has none."""
    found = next(iter(readings(sample)), None)
    return found if found is not None and found.rows.start == 0 else None


def in_turn(sample: Sample) -> Reading | None:
    """Return the reading of a table whose columns are sine and cosine in turn; None of any other."""
    found = reading_of(sample)
    in_turn = found is not None and found.family == "absolute" and found.layout == "interleaved" and not found.tail
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


def _heat(sample: Sample, name: str) -> list[Chart]:
    values = matrix(sample)
    if values.shape[0] < 2 or values.shape[1] < 2 or not np.isfinite(values).any():
        return []
    rows = min(len(values), 2 * CELLS)
    map_ = shrunk(np.where(np.isfinite(values[:rows]), values[:rows], np.nan))
    ends, where, part = _frame(sample, rows)
    columns, centred = (0.0, float(values.shape[1] - 1)), bool(np.nanmin(map_) < 0)
    title = f"Values of {name}{part}"
    return [Heat(title, _columns(sample), where, map_.tolist(), "value", columns, ends, centred=centred)]


def _columns(sample: Sample) -> str:
    """Return what the columns of the map are, in their order there."""
    if len(sample.planes) == 2:
        first, second = (plane.name for plane in sample.planes)
        return f"column of {first}, then of {second}"
    reading = in_turn(sample)
    if reading is None:
        return "column"
    sines, cosines = ("sines", "cosines") if _sine_first(reading) else ("cosines", "sines")
    return f"columns 0, 2, 4 .. ({sines}), then columns 1, 3, 5 .. ({cosines})"


def _sine_first(reading: Reading) -> bool:
    """Whether the first part of the pairs is the sine: it is small where pairs have hardly turned."""
    return bool(np.abs(reading.first[0]).mean() < np.abs(reading.second[0]).mean())


def _waves(sample: Sample, name: str) -> list[Chart]:
    """Return chosen columns over positions, fast ones and slow ones."""
    values = squeezed(sample.planes[0].values).reshape(len(sample.planes[0].values), -1)
    rows = min(len(values), WAVE_ROWS)
    columns = values.shape[1]
    if rows < 3:
        return []
    reading = reading_of(sample)
    apart = reading is not None and reading.family == "absolute"
    m = columns // 2 if apart else columns
    pairs = sorted({0, m // 16, m // 8, m // 4, m // 2} if m >= 8 else set(range(min(m, WAVES))))
    chosen = [2 * i for i in pairs] if apart and reading is not None and reading.layout == "interleaved" else pairs
    (first, last), where, shown = _frame(sample, rows)
    x = np.linspace(first, last, rows).tolist()
    parts = _parts(sample, columns)
    series = [Trace(f"column {c}{parts[c]}", x, values[:rows, c].tolist()) for c in chosen]
    part = "" if len(sample.planes) == 1 else f" ({sample.planes[0].name})"
    return [LineChart(f"Columns of {name}{part}{shown}", Axis(where, low=first, high=last), Axis("value"), series)]


def _parts(sample: Sample, columns: int) -> list[str]:
    """Return what each column is, sine or cosine, where that is known."""
    reading = reading_of(sample)
    if reading is None or reading.family != "absolute" or reading.tail:
        return [""] * columns
    names = (" (sin)", " (cos)") if _sine_first(reading) else (" (cos)", " (sin)")
    if reading.layout == "interleaved":
        return [names[c % 2] for c in range(columns)]
    return [names[c >= columns // 2] for c in range(columns)]


def _similarity(sample: Sample, name: str) -> list[Chart]:
    """Return the cosine of every two rows."""
    values = matrix(sample)
    values = values[: min(len(values), CELLS)]
    norms = np.linalg.norm(values, axis=1)
    if len(values) < 3 or values.shape[1] < 2 or not np.isfinite(norms).all() or not norms.any():
        return []
    unit = values / np.where(norms == 0, np.nan, norms)[:, None]  # a row of zeros has no direction: it is left grey
    ends, where, part = _frame(sample, len(values))
    cells = np.clip(unit @ unit.T, -1, 1)
    low = float(np.nanmin(cells))
    title = f"Similarity of positions in {name}{part}"
    value = "cosine of two rows" + (" (grey: a row of zeros)" if (norms == 0).any() else "")
    span: dict[str, Any] = {"centred": True} if low < -0.2 else {"centred": False, "low": low}
    return [Heat(title, where, where, cells.tolist(), value, ends, ends, high=1.0, square=True, **span)]


def _rotation(sample: Sample, name: str) -> list[Chart]:
    """Return the first positions of a few pairs as arrows."""
    reading = reading_of(sample)
    if reading is None:
        return []
    lines = phase_lines(measure(reading.turning, sample.resolution), 0.01)
    cos, sin = (reading.second, reading.first) if lines and lines[0].swapped else (reading.first, reading.second)
    m = cos.shape[1]
    chosen = sorted({0, m // 8, m // 4, m // 2} if m >= 8 else set(range(min(m, TURNS))))
    rows = min(ARROWS, len(cos))
    at = np.arange(len(cos)) if sample.positions is None or len(sample.positions) < rows else sample.positions
    size = reading.magnitude

    def arrow(k: int, pair: int) -> Arrow:
        x, y = cos[k, pair], sin[k, pair]
        return Arrow(f"position {at[k]:g}", math.atan2(y, x), math.hypot(y, x) / size)

    circles = [(f"pair {pair}", [arrow(k, pair) for k in range(rows)]) for pair in chosen]
    return [Circles(f"Rotation of pairs in {name}", circles, "direction (cos, sin) at")]


def _bias(sample: Sample, name: str) -> list[Chart]:
    """Return the matrix of the first head, and of the last."""
    whole = take(sample.table, unstack=False)
    lane = whole.lanes[0]
    shape = [side for side in lane.shape if side != 1]
    found: list[Chart] = []
    if len(shape) == 3:
        heads = dict.fromkeys((0, shape[0] - 1))
        found += [_bias_map(head_values(whole, h, shape), name, f"head {h} of {shape[0]}") for h in heads]
    elif len(shape) == 2 and lane.name in ("bias", "array", "index") and shape[0] == shape[1]:
        found.append(_bias_map(whole.planes[0].values.reshape(shape), name, lane.name))
    return found


def head_values(sample: Sample, head: int, shape: Sequence[int]) -> Floats:
    """Return the first queries and keys of one head, (q, k)."""
    lane = sample.lanes[0]
    per_head = lane.rows // shape[0]
    rows = min(per_head, 2 * CELLS) if per_head > 1 else 1
    values = floats(lane.read(head * per_head, head * per_head + rows), lane.dtype).astype(np.float64)
    return values.reshape(-1, shape[2])[:, : 2 * CELLS]


def _bias_map(values: Floats, name: str, part: str) -> Heat:
    ends = (0.0, float(values.shape[1] - 1)), (0.0, float(values.shape[0] - 1))
    hidden = np.where(np.isfinite(values), values, np.nan)
    title = f"Bias of {name}, {part}"
    value = "added to the logit" + (" (grey: masked)" if np.isnan(hidden).any() else "")
    return Heat(
        title, "key", "query", shrunk(hidden).tolist(), value, *ends, centred=bool(np.nanmax(hidden) > 0), square=True
    )


def _slopes(sample: Sample, name: str) -> list[Chart]:
    """Return slopes by head where there are any, and the bias of each head by distance."""
    found: list[Chart] = []
    profile = profile_of(take(sample.table, unstack=False))
    plan = sample.table.plan if isinstance(sample.table, Table) else None
    slopes = [float(slope) for slope in plan.slopes()] if isinstance(plan, Bias) and plan.slopes else []
    if profile is not None and profile.by == "slopes" and len(sample.table.arrays[0].shape) == 1:
        slopes = profile.values[:, 0].tolist()
    if len(slopes) > 1:
        heads = [float(h) for h in range(len(slopes))]
        across = Axis("head", low=0.0, high=heads[-1], whole=True)
        up = Axis("penalty for each position of distance", log=True)
        found.append(LineChart(f"Slopes of {name}", across, up, [Trace("slope", heads, slopes)]))
    if profile is None or profile.by != "distance":
        return found
    count = profile.heads
    shown = some_of(count, HEADS)
    keep = np.abs(profile.distances) <= CELLS // 2
    distances = [float(d) for d in profile.distances[keep]]
    series = [Trace(f"head {h}", distances, profile.values[h, keep].tolist()) for h in shown]
    across = Axis("distance: key minus query (positions)", low=min(distances), high=max(distances))
    return [*found, LineChart(f"Bias of {name} by distance", across, Axis("added to the logit"), series)]
