"""Tables as charts: heat map, waves, similarity of positions, rotation of pairs, bias matrix, slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pecli.analysis.profiles import profile_of
from pecli.analysis.readings import Reading, readings, squeezed
from pecli.analysis.samples import Floats, Sample, take
from pecli.errors import BadParameter, UnknownName
from pecli.pictures.charts import Axis, Chart, Lines, Series
from pecli.pictures.fields import Arrow, Circles, Heat
from pecli.tabular import Tabular
from pecli.words import PICTURES

CELLS = 128  # along each side of a map; more are averaged
WAVES = 6  # columns that are drawn
TURNS = 4  # circles side by side
ARROWS = 5
HEADS = 8


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
    bias = _is_bias(sample)
    suited = ("bias", "slopes") if bias else ("heatmap", "waves", "similarity", "rotation")
    makers: dict[str, Callable[[Sample, str], list[Chart]]] = {
        "heatmap": _heat, "waves": _waves, "similarity": _similarity, "rotation": _rotation, "bias": _bias,
        "slopes": _slopes,
    }  # fmt: skip
    found: list[Chart] = []
    for word in words or suited:
        made = makers[word](sample, name)
        if not made and words:
            raise BadParameter("picture", word, "cannot be drawn of this table: it has none; leave --picture out")
        found += made
    if not found:
        raise BadParameter("plot", name, "has nothing to draw: it needs rows and columns of numbers")
    return found


def _is_bias(sample: Sample) -> bool:
    names = {array.name for array in sample.table.arrays}
    if names & {"bias", "slopes"}:
        return True
    shape = [side for side in sample.lanes[0].shape if side != 1]
    return len(sample.lanes) == 1 and len(shape) == 3 and shape[1] == shape[2] and sample.planes[0].name != "re"


def _positions(sample: Sample, rows: int) -> tuple[float, float]:
    """Return the positions of the first and the last row shown."""
    if sample.positions is not None and len(sample.positions) >= rows:
        return float(sample.positions[0]), float(sample.positions[rows - 1])
    return 0.0, float(rows - 1)


def _matrix(sample: Sample) -> Floats:
    """Return the values side by side, (n, columns), columns of a pair apart: all sines, then all cosines."""
    reading = _reading(sample)
    if reading is not None and reading.family == "absolute" and reading.layout == "interleaved" and not reading.tail:
        return np.concatenate([reading.first, reading.second], axis=1)
    planes = [squeezed(plane.values) for plane in sample.planes]
    planes = [p.reshape(len(p), -1) for p in planes]
    rows = min(len(p) for p in planes)
    return np.concatenate([p[:rows] for p in planes], axis=1)


def _reading(sample: Sample) -> Reading | None:
    found = next(iter(readings(sample)), None)
    return found if found is not None and found.rows.start == 0 else None


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
    values = _matrix(sample)
    if values.shape[0] < 2 or values.shape[1] < 2:
        return []
    rows = min(len(values), 4 * CELLS)
    reading = _reading(sample)
    apart = reading is not None and reading.family == "absolute" and reading.layout == "interleaved"
    rotary = len(sample.planes) == 2
    what = "column (sines, then cosines)" if apart else "column (cosines, then sines)" if rotary else "column"
    ends = (0.0, float(values.shape[1] - 1))
    map_ = shrunk(values[:rows])
    centred = bool(np.nanmin(values) < 0)
    return [
        Heat(
            f"Values of {name}",
            what,
            "position",
            map_.tolist(),
            "value",
            ends,
            _positions(sample, rows),
            centred=centred,
        )
    ]


def _waves(sample: Sample, name: str) -> list[Chart]:
    """Return chosen columns over positions: spread from the first to the last."""
    values = squeezed(sample.planes[0].values).reshape(len(sample.planes[0].values), -1)
    rows = min(len(values), 128)
    columns = values.shape[1]
    if rows < 3:
        return []
    chosen = sorted({round(k * (columns // 2) / WAVES) for k in range(WAVES)} & set(range(columns)))
    first, last = _positions(sample, rows)
    x = np.linspace(first, last, rows).tolist()
    parts = _parts(sample, columns)
    series = [Series(f"column {c}{parts[c]}", x, values[:rows, c].tolist()) for c in chosen]
    part = "" if len(sample.planes) == 1 else f" ({sample.planes[0].name})"
    return [Lines(f"Columns of {name}{part}", Axis("position", low=first, high=last), Axis("value"), series)]


def _parts(sample: Sample, columns: int) -> list[str]:
    """Return what each column is, sine or cosine, where that is known."""
    reading = _reading(sample)
    if reading is None or reading.family != "absolute" or reading.tail:
        return [""] * columns
    first_is_sine = bool(np.abs(reading.first[0]).mean() < np.abs(reading.second[0]).mean())
    names = (" (sin)", " (cos)") if first_is_sine else (" (cos)", " (sin)")
    if reading.layout == "interleaved":
        return [names[c % 2] for c in range(columns)]
    return [names[c >= columns // 2] for c in range(columns)]


def _similarity(sample: Sample, name: str) -> list[Chart]:
    """Return the cosine of every two rows."""
    values = _matrix(sample)
    values = values[: min(len(values), CELLS)]
    norms = np.linalg.norm(values, axis=1)
    if len(values) < 3 or values.shape[1] < 2 or not np.isfinite(norms).all() or (norms == 0).any():
        return []
    unit = values / norms[:, None]
    ends = _positions(sample, len(values))
    map_ = np.clip(unit @ unit.T, -1, 1)
    low = float(map_.min())
    return [
        Heat(f"Similarity of positions in {name}", "position", "position", map_.tolist(), "cosine of two rows", ends, ends,
             centred=low < -0.2, low=None if low < -0.2 else low, high=1.0)
    ]  # fmt: skip


def _rotation(sample: Sample, name: str) -> list[Chart]:
    """Return the first positions of a few pairs as arrows."""
    reading = _reading(sample)
    if reading is None:
        return []
    from pecli.analysis.phase_lines import phase_lines
    from pecli.analysis.rhythm import measure

    lines = phase_lines(measure(reading.turning, sample.resolution), 0.01)
    cos, sin = (reading.second, reading.first) if lines and lines[0].swapped else (reading.first, reading.second)
    m = cos.shape[1]
    chosen = sorted({0, m // 8, m // 4, m // 2} if m >= 8 else set(range(min(m, TURNS))))
    rows = min(ARROWS, len(cos))
    first, last = _positions(sample, rows)
    at = np.linspace(first, last, rows)
    size = reading.magnitude
    circles = []
    for pair in chosen:
        arrows = [
            Arrow(
                f"position {at[k]:g}",
                math.atan2(sin[k, pair], cos[k, pair]),
                math.hypot(sin[k, pair], cos[k, pair]) / size,
            )
            for k in range(rows)
        ]
        circles.append((f"pair {pair}", arrows))
    return [Circles(f"Rotation of pairs in {name}", circles, "direction of the pair at")]


def _bias(sample: Sample, name: str) -> list[Chart]:
    """Return the matrix of the first head, and of the last."""
    whole = take(sample.table, unstack=False)
    lane = whole.lanes[0]
    shape = [side for side in lane.shape if side != 1]
    found: list[Chart] = []
    if len(shape) == 3:
        for head in dict.fromkeys((0, shape[0] - 1)):
            found.append(_bias_map(_head(whole, head, shape), name, f"head {head + 1} of {shape[0]}"))
    elif len(shape) == 2 and lane.name in ("bias", "array", "index") and shape[0] == shape[1]:
        found.append(_bias_map(whole.planes[0].values.reshape(shape), name, lane.name))
    return found


def _head(sample: Sample, head: int, shape: Sequence[int]) -> Floats:
    from pecli.analysis.inspection import floats

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
    return Heat(title, "key", "query", shrunk(hidden).tolist(), value, *ends, centred=bool(np.nanmax(hidden) > 0))


def _slopes(sample: Sample, name: str) -> list[Chart]:
    """Return slopes by head, or the bias of each head by distance."""
    profile = profile_of(take(sample.table, unstack=False))
    if profile is None:
        return []
    if profile.by == "slopes":
        heads = list(range(1, profile.heads + 1))
        series = [Series("slope", [float(h) for h in heads], profile.values[:, 0].tolist())]
        return [Lines(f"Slopes of {name}", Axis("head"), Axis("penalty for a position of distance", log=True), series)]
    if profile.by != "distance":
        return []
    count = profile.heads
    shown = range(count) if count <= HEADS else sorted({round(i * (count - 1) / (HEADS - 1)) for i in range(HEADS)})
    keep = np.abs(profile.distances) <= CELLS
    distances = profile.distances[keep]
    series = [Series(f"head {h + 1}", [float(d) for d in distances], profile.values[h, keep].tolist()) for h in shown]
    ends = {"low": float(distances[0]), "high": float(distances[-1])}
    across = Axis("distance: key minus query (positions)", **ends)
    return [Lines(f"Bias of {name} by distance", across, Axis("added to the logit"), series)]
