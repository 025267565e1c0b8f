"""Charts of a table: heat map, waves, similarity, rotation, patches, biases, buckets; and of the difference of two.

Columns have headings and true numbers; a grid is one that the rows of a table run through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pecli.errors import BadParameter, BadRecipe, PecliError
from pecli.inspect.pairs import Sample, head_values, reading_of, some_of, squeezed, take
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import Floats
from pecli.plots.charts import Arrow, ArrowCircle, Axis, Chart, Circles, Heat, LineChart, Span, Trace, chosen, resampled
from pecli.spec.declaration import PICTURES
from pecli.spec.plans import Bias, Waves
from pecli.spec.tabular import Tabular
from pecli.tables.figures import largest_differences
from pecli.tables.request import Extent
from pecli.tables.table import Table
from pecli.tables.views import view_of

PARTS = {"re": "real part", "im": "imaginary part"}  # of complex values
# Heading and true number of a column: ("sin", 4).
Label = tuple[str, int]


def computed(table: Tabular) -> Table | None:
    """Return the table that a recipe gives, whether it was computed or read from a file; None without a recipe."""
    if isinstance(table, Table):
        return table
    try:
        return Table.parse(str(table.recipe)) if table.recipe else None
    except PecliError:  # the recipe of another program
        return None


def is_bias(sample: Sample) -> bool:
    """Whether a table has values that are a number for each query and key, or the slopes of one."""
    if not sample.views or {array.name for array in sample.table.arrays} & {"bias", "slopes"}:
        return bool(sample.views)
    arrays = sample.table.arrays
    shape = [side for side in arrays[0].shape if side != 1]
    square = len(arrays) == 1 and len(shape) == 3 and shape[1] == shape[2]
    return square and reading_of(sample) is None  # two square matrices may be cosines and sines


def side_by_side(sample: Sample) -> list[tuple[str, Floats]]:
    """Return the first array, (n, columns), and the others with as many rows, by name, without indices.

    Raises
    ------
    BadRecipe
        For a table without values.
    """
    whole = {array.name for array in sample.table.arrays[1:] if "int" in array.dtype}
    arrays = [(plane.name, squeezed(plane.values)) for plane in sample.planes if plane.name not in whole]
    if not arrays or not len(arrays[0][1]):
        raise BadRecipe("a table without values has nothing to draw: name one that has rows and columns")
    return [(PARTS.get(name, name), v.reshape(len(v), -1)) for name, v in arrays if len(v) == len(arrays[0][1])]


def columns_of(sample: Sample) -> tuple[list[Label], Floats]:
    """Return all columns of a table, (n, columns), with their labels; sines and cosines of one array stand apart."""
    arrays = side_by_side(sample)
    if len(arrays) > 1:
        labels = [(name, c) for name, values in arrays for c in range(values.shape[1])]
        return labels, np.concatenate([values for _, values in arrays], axis=1)
    values = arrays[0][1]
    width, parts = values.shape[1], _sines_and_cosines(sample)
    if sorted(parts["sin"] + parts["cos"]) != list(range(width)):
        return [("", c) for c in range(width)], values
    first = sorted(parts, key=lambda head: min(parts[head], default=width))  # the part with column 0
    labels = [(head, c) for head in first for c in parts[head]]
    return labels, values[:, [c for _, c in labels]]


def _sines_and_cosines(sample: Sample) -> dict[str, list[int]]:
    """Return the columns of an absolute table's sines and of its cosines: from its plan, or as its values show."""
    plan = sample.table.plan if isinstance(sample.table, Table) else None
    if isinstance(plan, Waves) and plan.form == "real" and [a.name for a in sample.table.arrays] == ["pe"]:
        columns = range(plan.width)
        found = {"sin": [band.sin for band in plan.bands], "cos": [band.cos for band in plan.bands]}
        return {head: [c for part in cuts if part for c in columns[part]] for head, cuts in found.items()}
    reading = reading_of(sample)
    if reading is None or reading.family != "absolute":
        return {"sin": [], "cos": []}
    pair = [part.tolist() for part in reading.columns]
    return dict(zip(("sin", "cos") if reading.sine_first else ("cos", "sin"), pair, strict=True))


# Cells of a grid whose order is looked at; a picture shows no more.
MAX_CELLS = 1 << 22


def grid_of(table: Tabular) -> tuple[tuple[int, ...], int] | None:
    """Return the sides of the grid that a table's rows run through, row by row, and the rows before it."""
    made = computed(table)
    axes = getattr(made.plan, "axes", ()) if made is not None else ()
    if made is None or not isinstance(made.plan, Waves) or len(axes) not in (2, 3) or not made.part.integral:
        return None
    count = made.rows - made.plan.prefix - made.plan.suffix
    if not 4 <= count <= MAX_CELLS or made.part.start != 0 or made.part.step != 1:
        return None
    places = [np.unique(axis.index(np.arange(count)), return_inverse=True)[1] for axis in axes]
    sides = tuple(int(place.max()) + 1 for place in places)
    if min(sides) < 2 or math.prod(sides) != count:
        return None
    order = np.ravel_multi_index(tuple(places), sides)
    if np.array_equal(order, np.arange(count)):
        return sides, made.plan.prefix
    swapped = np.ravel_multi_index(tuple(places[::-1]), sides[::-1])  # the plan names the column first
    return (sides[::-1], made.plan.prefix) if np.array_equal(swapped, np.arange(count)) else None


MAX_WAVES = 16  # colours and dashes that a reader can distinguish


def picked(labels: Sequence[Label], channels: Sequence[int], grid: bool = False) -> list[int]:
    """Return the places of the columns with these numbers; or of fast and slower ones, 0, 16, 32, 48 of 128.

    Raises
    ------
    BadParameter
        For a number that no column has, or for more than `MAX_WAVES`.
    """
    numbers = [number for _, number in labels]
    wrong = [c for c in channels if c not in numbers]
    if wrong:
        raise BadParameter("channels", wrong[0], f"is no column of the table, which has 0 to {max(numbers)}")
    found = [place for c in dict.fromkeys(channels) for place, number in enumerate(numbers) if number == c]
    if len(found) > MAX_WAVES:
        rule = f"are too many to tell apart: give at most {MAX_WAVES * len(channels) // len(found)}"
        raise BadParameter("channels", f"({len(channels)} columns)", rule)
    first = [place for place, (head, _) in enumerate(labels) if head == labels[0][0]]
    parts = 4 if grid or len(first) < 8 else 8  # of a grid, columns of all its axes
    return found or sorted({first[k * len(first) // parts] for k in range(4)})


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


def between_rows(sample: Sample, rows: Floats, steps: int) -> Floats | None:
    """Return the columns in `steps` steps from row to row of the first rows; None where nothing is defined there."""
    made = computed(sample.table)
    if made is None or grid_of(made) or made.part.start is None or made.part.step is None:
        return None
    try:
        count = (len(rows) - 1) * steps + 1
        finer = Positions.arange(count, made.part.start, made.part.step / steps)
        found = Table(made.source, Extent(finer, 0, count), made.as_type("float64").request)
        found.filler.check()
        values = columns_of(take(found))[1]
    except PecliError:  # it has values at whole positions only
        return None
    there = values[::steps]
    return values if there.shape == rows.shape and np.allclose(there, rows, atol=0.02) else None  # a file may differ


CELLS = 256  # along each side of a map; more are averaged
DISTANCE = "distance: key minus query (positions)"


def spans_of(labels: Sequence[Label]) -> list[Span]:
    """Return neighbouring columns with one heading and evenly spaced numbers."""
    runs: list[list[Label]] = []
    for label in labels:
        run = runs[-1] if runs else []
        if run and label[0] == run[0][0] and (len(run) == 1 or label[1] - run[-1][1] == run[1][1] - run[0][1]):
            run.append(label)
        else:
            runs.append([label])
    return [Span(run[0][1], run[-1][1], len(run), run[0][0]) for run in runs]


def heatmap(sample: Sample, name: str) -> list[Chart]:
    """Return all values as colours."""
    labels, values = columns_of(sample)
    if min(values.shape) < 2 or not np.isfinite(values).any():
        return []
    rows = min(len(values), 2 * CELLS)
    ends, where, part = frame(sample, rows)
    spans, cells, start = [], [], 0
    for span in spans_of(labels):
        cells.append(resampled(values[:rows, start : start + span.count], CELLS, CELLS))
        spans.append(Span(span.first, span.last, cells[-1].shape[1], span.name))
        start += span.count
    return [Heat(f"Values of {name}{part}", "column", where, np.concatenate(cells, axis=1), "value", spans, ends)]


PER_POSITION = 8  # points of a smooth wave between two neighbouring rows
WAVE_ROWS = 50


def waves(sample: Sample, name: str, channels: Sequence[int] = ()) -> list[Chart]:
    """Return columns over positions: those chosen, or fast ones and slow ones.

    Curves are computed between the rows too; what has no values there, such as bits, grids or trained rows, is drawn
    as steps.
    """
    labels, values = columns_of(sample)
    rows = min(len(values), WAVE_ROWS)
    if rows < 3:
        return []
    (first, last), where, part = frame(sample, rows)
    x, between = np.linspace(first, last, rows).tolist(), between_rows(sample, values[:rows], PER_POSITION)
    fine, steps = np.linspace(first, last, 1 if between is None else len(between)).tolist(), between is None
    series = [
        Trace(f"column {number} ({head})".replace(" ()", ""), x, values[:rows, c].tolist(),
              None if between is None else (fine, between[:, c].tolist()))
        for c in picked(labels, channels, grid_of(sample.table) is not None) for head, number in labels[c : c + 1]
    ]  # fmt: skip
    axes, title = (Axis(where, low=first, high=last), Axis("value")), f"Columns of {name}{part}"
    return [LineChart(title, *axes, series, style="steps" if steps else "lines", apart=steps)]


def _unit(values: Floats) -> Floats:
    """Return rows of length 1; NaN for a row of zeros, which has no direction."""
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(norms == 0, np.nan, norms))


def similarity(sample: Sample, name: str) -> list[Chart]:
    """Return the cosine of every two rows."""
    values = columns_of(sample)[1][:CELLS]
    if len(values) < 3 or values.shape[1] < 2 or not np.isfinite(values).all() or not values.any():
        return []
    unit = _unit(values)
    ends, where, part = frame(sample, len(values))
    cells = np.clip(unit @ unit.T, -1, 1)
    low = float(np.nanmin(cells))
    low = low if low < 1 - 1e-6 else 0.0  # rows that all point one way differ by rounding alone
    title = f"Similarity of {'positions' if where == 'position' else 'rows'} in {name}{part}"
    value = "cosine of two rows" + (" (grey: a row of zeros)" if np.isnan(cells).any() else "")
    return [Heat(title, where, where, cells, value, [Span(*ends, len(cells))], ends, low, 1.0, square=True)]


ARROWS = 5


def rotation(sample: Sample, name: str, channels: Sequence[int] = ()) -> list[Chart]:
    """Return the first positions of a few pairs as arrows; of a grid, positions in several rows of it."""
    found = reading_of(sample)
    if found is None:
        return []
    (cos, sin), size = found.cos_and_sin, found.magnitude
    shown = picked([("", i) for i in range(cos.shape[1])], channels, grid_of(sample.table) is not None)[:4]
    step = max(1, (len(cos) - 1) // (ARROWS - 1)) if grid_of(sample.table) else 1  # both axes of a grid move
    rows = range(0, len(cos), step)[:ARROWS]
    at = sample.positions
    at = np.arange(float(len(cos))) if at is None or len(at) <= rows[-1] else at.astype(np.float64)

    def arrow(k: int, pair: int) -> Arrow:
        x, y = cos[k, pair], sin[k, pair]
        return Arrow(f"{at[k]:g}", math.atan2(y, x), math.hypot(y, x) / size)

    circles = [ArrowCircle(f"pair {i}", [arrow(k, i) for k in rows], _speed(sample, i, cos.shape[1])) for i in shown]
    return [Circles(f"Rotation of pairs in {name}", circles, "direction (cos, sin) at position")]


def _speed(sample: Sample, pair: int, pairs: int) -> list[str]:
    """Return the frequency of a pair and its angle in degrees; nothing for a table whose frequencies are not known."""
    plan = sample.table.plan if isinstance(sample.table, Table) else None
    if not isinstance(plan, Waves) or plan.axes or len(plan.frequencies) != pairs:
        return []
    w = float(plan.frequencies[pair])
    return [f"w = {w:.4g}", f"{math.degrees(w):.4g}° a position"]


FRAMES, PATCHES = 6, 4  # frames of a video, and columns of an image, that are drawn


def patches(sample: Sample, name: str, channels: Sequence[int] = ()) -> list[Chart]:
    """Return columns over the grid of an image's patches, and the similarity of a patch with all; a video's frames."""
    found, (labels, values) = grid_of(sample.table), columns_of(sample)
    if found is None or len(values) < found[1] + math.prod(found[0]) or not np.isfinite(values).all():
        return []
    sides, prefix = found
    (high, wide), frames = sides[-2:], some_of(sides[0], FRAMES) if len(sides) == 3 else [0]
    values = values[prefix : prefix + math.prod(sides)]
    shown = picked(labels, channels) if channels else sorted({k * len(labels) // PATCHES for k in range(PATCHES)})
    names, planes = [f"{head} {c}".strip() for head, c in (labels[k] for k in shown)], [values[:, k] for k in shown]
    places = [(0, 0), (high // 2, wide // 2), (high // 2, wide - 1)]
    middle, unit = frames[len(frames) // 2], _unit(values)
    alike = [np.clip(unit @ unit[(middle * high + row) * wide + column], -1, 1) for row, column in places]

    def chart(title: str, panels: Sequence[Floats], heads: Sequence[str], value: str = "value") -> Heat:
        spans, cells = [Span(0, wide - 1, wide, head) for head in heads], np.concatenate(panels, axis=1)
        found = Heat(title, "column of patches", "row", cells, value, spans, (0, high - 1), square=True)
        return found if value == "value" else replace(found, low=float(np.nanmin(cells)), high=1.0)

    title, value = f"Similarity of one patch with all in {name}", "cosine with the patch"
    if len(sides) == 2:
        first = chart(f"Columns of {name} over the grid", [plane.reshape(sides) for plane in planes], names)
        heads = [f"patch {row}, {column}" for row, column in places]
        return [first, chart(title, [cells.reshape(sides) for cells in alike], heads, value)]
    heads = [f"frame {frame}" for frame in frames]
    charts: list[Chart] = [
        chart(f"Column {word} of {name}", [*plane.reshape(sides)[frames]], heads)
        for word, plane in zip(names, planes, strict=True)
    ]
    title = title.replace("one patch", f"patch {places[1]} of frame {middle}")
    return [*charts, chart(title, [*alike[1].reshape(sides)[frames]], heads, value)]


def bias(sample: Sample, name: str) -> list[Chart]:
    """Return the matrix of the first head, and of the last."""
    whole = take(sample.table, unstack=False)
    view, does = whole.views[0], _does(sample)
    shape = [side for side in view.shape if side != 1]
    if len(shape) == 3:
        heads = dict.fromkeys((0, shape[0] - 1))
        found = [(head_values(view, h, shape[0]), f"head {h} of {shape[0]}") for h in heads]
    elif len(shape) == 2 and view.name in ("bias", "array", "index") and shape[0] == shape[1]:
        found = [(whole.planes[0].values.reshape(shape), view.name)]
    else:
        return []
    charts: list[Chart] = []
    for values, part in found:
        cells = resampled(np.where(np.isfinite(values), values, np.nan), CELLS, CELLS)
        value = does + (" (grey: masked)" if np.isnan(cells).any() else "")
        span, queries = Span(0, values.shape[1] - 1, cells.shape[1]), (0, len(values) - 1)
        charts.append(Heat(f"Bias of {name}, {part}", "key", "query", cells, value, [span], queries, square=True))
    return charts


def _does(sample: Sample) -> str:
    """Return how values act on a logit, as the encoding declares it."""
    recipe = sample.table.source if isinstance(sample.table, Table) else None
    effect = recipe.encoding.hook("apply")(recipe) if recipe is not None and recipe.encoding.declares("apply") else None
    return "multiplies the logit" if effect is not None and effect.logits == "multiply" else "added to the logit"


def slopes(sample: Sample, name: str) -> list[Chart]:
    """Return slopes by head, where there are any."""
    plan = sample.table.plan if isinstance(sample.table, Table) else None
    by_head = [float(slope) for slope in plan.slopes()] if isinstance(plan, Bias) and plan.slopes else []
    if len(sample.table.arrays[0].shape) == 1:
        by_head = take(sample.table, unstack=False).planes[0].values.reshape(-1).tolist()
    line, up = Trace("", range(len(by_head)), by_head), Axis("slope (per position)", 2)
    chart = LineChart(f"Slopes of {name}", Axis("head", whole=True), up, [line], style="dots")
    return [chart] if len(by_head) > 1 else []


def buckets(sample: Sample, name: str) -> list[Chart]:
    """Return which trained number or vector each distance has, as T5 and DeBERTa share them out.

    The last query gives those of the keys before it, the first those behind it.
    """
    table = sample.table
    index = next((array for array in table.arrays if array.name == "index" and len(array.shape) == 2), None)
    if index is None or index.shape[0] != index.shape[1] or index.rows < 2:
        return []
    half = index.rows - 1
    middle = half // 2
    last, between, first = (table.read_rows(["index"], row, row + 1)["index"][0].tolist() for row in (half, middle, 0))
    found = [*last, *first[1:]]
    if between != found[half - middle : 2 * half + 1 - middle]:  # offsets in a grid are no distances
        return []
    line, across = Trace("", range(-half, half + 1), found), Axis(DISTANCE, low=-half, high=half)
    return [LineChart(f"Buckets of {name}", across, Axis("bucket", whole=True), [line], style="steps")]


OF_ROWS = ("heatmap", "waves", "similarity", "rotation", "patches", "buckets")
OF_BIAS = ("bias", "slopes", "buckets")
OF_CHANNELS = ("waves", "rotation", "patches")


def charts_of_table(table: Tabular, name: str, words: Sequence[str] = (), channels: Sequence[int] = ()) -> list[Chart]:
    """Return pictures of a table: those named, all that suit it, or without words the first; waves of these channels.

    Raises
    ------
    UnknownName
        For a word that is no picture.
    BadParameter
        For a picture or a channel that the table has not.
    """
    sample = take(table)
    suited = OF_BIAS if is_bias(sample) else OF_ROWS
    makers: dict[str, Callable[[Sample, str], list[Chart]]] = {
        "heatmap": heatmap, "waves": partial(waves, channels=channels), "similarity": similarity,
        "rotation": partial(rotation, channels=channels), "patches": partial(patches, channels=channels),
        "bias": bias, "slopes": slopes, "buckets": buckets,
    }  # fmt: skip
    if channels and not {*OF_CHANNELS} & {*(suited if not words or "all" in words else words)}:
        rule = "chooses columns of waves and patches, and pairs of rotation, none of which is drawn"
        raise BadParameter("channels", "+".join(map(str, channels)), rule)
    own = {word: partial(makers[word], sample, name) for word in suited}
    if words:
        found = chosen(own, words, (*PICTURES, "all"), name)
    else:
        found = next((made for word in (OF_CHANNELS if channels else suited) if (made := own[word]())), [])
    if not found:
        raise BadParameter("plot", name, "has nothing to draw: it needs rows and columns of numbers")
    return found


def charts_of_difference(first: Tabular, second: Tabular, names: tuple[str, str]) -> list[Chart]:
    """Return where two tables differ and by how much: a map of the largest differences for each array that differs.

    Raises
    ------
    BadParameter
        Where no array has the shape of one of the other table.
    """
    pairs = [
        (a, b) for a, b in zip(first.arrays, second.arrays, strict=False)
        if a.bytes and (a.rows, math.prod(a.row_shape)) == (b.rows, math.prod(b.row_shape))
    ]  # fmt: skip
    if not pairs:
        raise BadParameter("plot", None, f"needs two tables of one shape, and {names[0]} and {names[1]} are not")
    found: list[Chart] = []
    for a, b in pairs:
        cells = largest_differences(view_of(first, a), view_of(second, b), CELLS)
        if cells.any():
            grey = "" if np.isfinite(cells).all() else " (grey: NaN, infinity)"
            title, value = f"{a.name}: difference of {names[0]} and {names[1]}", f"largest absolute difference{grey}"
            row = "row" if a.lead == 1 else f"row ({' and '.join(a.axes[: a.lead])})"
            spans, rows = [Span(0, math.prod(a.row_shape) - 1, cells.shape[1])], (0, a.rows - 1)
            found.append(Heat(title, "column", row, cells, value, spans, rows, log=True))
    return found
