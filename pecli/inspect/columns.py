"""Columns of a table with their headings and true numbers, and the grid that its rows run through."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pecli.errors import BadParameter, BadRecipe, PecliError
from pecli.inspect.pairs import Floats, Sample, reading_of, squeezed, take
from pecli.numbers.positions import Positions
from pecli.spec.plans import Waves
from pecli.spec.tabular import Tabular
from pecli.tables.request import Extent
from pecli.tables.table import Table

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


def grid_of(table: Tabular) -> tuple[tuple[int, ...], int] | None:
    """Return the sides of the grid that a table's rows run through, row by row, and the rows before it."""
    made = computed(table)
    axes = getattr(made.plan, "axes", ()) if made is not None else ()
    if made is None or not isinstance(made.plan, Waves) or len(axes) not in (2, 3) or not made.part.integral:
        return None
    count = made.rows - made.plan.prefix - made.plan.suffix
    if count < 4 or made.part.start != 0 or made.part.step != 1:
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
