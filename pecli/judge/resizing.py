"""Tables of another size than the expected one: resized like an image, made shorter, or padded."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from pecli.errors import PecliError
from pecli.judge.interpolation import MAX_WEIGHTS, interpolated, not_resized, resized_otherwise
from pecli.judge.located import located
from pecli.judge.planes import EPSILON
from pecli.judge.rows import floats as read_floats
from pecli.judge.transforms import MAX_LONE_VALUES, MAX_UNCHANGED
from pecli.numbers.dtypes import REAL
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Finding
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, view_of

# Largest rounding of values in columns that both tables have.
MAX_ADDITIONAL_GAP = 1e-4
# Places where a crop may begin.
MAX_OFFSETS = 1 << 14
# Values of a table that may be a longer one, made shorter by interpolation, and times by which.
MAX_SHRUNK, MAX_SHRUNK_TIMES = 1 << 18, 8


def resized(pairs: Sequence[tuple[ArrayView, ArrayView]], expected: Tabular) -> list[Finding]:
    """Return how one of two tables is the other one resized, or of a smaller grid of the expected recipe; else []."""
    if len(pairs) != 1 or max(view.rows * view.row_size for view in pairs[0]) > MAX_LONE_VALUES:
        return []
    ((left, right),), tried = pairs, list[tuple[ArrayView, ArrayView]]()
    keys = expected.source.keys() if isinstance(expected, Table) else {}
    if left.plain_shape != right.plain_shape:
        of_reals = not {left.dtype, right.dtype} & {*REAL}
        if of_reals and (of_maps := _cropped(left, right) or _resized_maps(left, right)):
            return of_maps
        tried += [(left, right), (right, left)]
    elif not isinstance(expected, Table) and {left.dtype, right.dtype} <= {*EPSILON}:
        y, x = (read_floats(view, 0, view.rows) for view in (left, right))
        if (y == x).mean() > MAX_UNCHANGED:
            return []
        error = max(EPSILON[left.dtype], EPSILON[right.dtype])
        text = not_resized(y, x, error) or resized_otherwise(y, x, error)
        return [Finding("resized", text)] if text else []
    elif isinstance(expected, Table) and keys.get("grid", "").count("x") == 1:
        for side in range(2, min(2 * math.isqrt(left.rows), math.isqrt(MAX_WEIGHTS // left.rows) + 1)):
            if (smaller := _of_grid(expected, (side, side))) is not None:
                tried.append((left, view_of(smaller, smaller.arrays[0])))
    elif isinstance(expected, Table) and isinstance(expected.plan, Waves) and expected.positions.is_range:
        tried += ((left, view_of(longer, longer.arrays[0])) for longer in _longer(left, expected))
    for pair in tried:
        have, want = (read_floats(view, 0, view.rows) for view in pair)
        if have.shape[1] != want.shape[1] or next(interpolated(want, have), None) is None:
            continue
        first, *more = located([pair])
        if first.kind == "resized":
            whose = "a" if "grid" in keys else "the recipe's first"
            if pair == (right, left):
                whose = "in the expected table, this file's"
            elif pair == (left, right):
                whose = "the expected"
            return [first._replace(text=first.text.replace("the expected", whose, 1)), *more]
    return []


def _cropped(left: ArrayView, right: ArrayView) -> list[Finding]:
    """Return which part of the expected array, or of the square grid of its rows, an array is; [] where it is none."""
    y, x = (read_floats(view, 0, view.rows).reshape(view.plain_shape) for view in (left, right))
    tried, side = [(y, x)] * (y.ndim == x.ndim > 2), math.isqrt(right.rows)
    if y.ndim == x.ndim == 2 and side * side == len(x) > len(y) and y.shape[1] == x.shape[1]:
        heights = (height for height in range(2, side + 1) if len(y) % height == 0 and len(y) // height < side)
        tried += [(y.reshape(height, -1, y.shape[1]), x.reshape(side, side, -1)) for height in heights]
    for have, want in tried:
        room = [b - a for a, b in zip(have.shape, want.shape, strict=True)]
        if min(room) < 0 or not 0 < math.prod(one + 1 for one in room) <= MAX_OFFSETS:
            continue
        for at in np.argwhere(want[tuple(slice(one + 1) for one in room)] == have.flat[0]).tolist():
            ends = [slice(first, first + size) for first, size in zip(at, have.shape, strict=True)]
            if np.array_equal(want[tuple(ends)], have):
                cut = [k for k, one in enumerate(room) if one]
                names = ("rows", "columns") if len(cut) == 2 else [f"axis {k}:" for k in cut]
                parts = (f"{name} {ends[k].start} to {ends[k].stop - 1}" for name, k in zip(names, cut, strict=True))
                sides = " x ".join(str(want.shape[k]) for k in cut)
                return [Finding("crop", f"a crop of the expected {sides} grid: {' and '.join(parts)}")]
    return []


def _resized_maps(left: ArrayView, right: ArrayView) -> list[Finding]:
    """Return how maps (channels, height, width) were resized to those of another size; [] where they were not."""
    shapes = [view.plain_shape for view in (left, right)]
    if any(len(shape) != 3 for shape in shapes) or shapes[0][0] != shapes[1][0] or shapes[0][1:] == shapes[1][1:]:
        return []
    y, x = (np.moveaxis(read_floats(v, 0, v.rows).reshape(v.plain_shape), 0, -1) for v in (left, right))
    width = y.shape[-1]
    for text, made in interpolated(x.reshape(-1, width), y.reshape(-1, width), (x.shape[:2], y.shape[:2])):
        if np.abs(made - y.reshape(-1, width)).max() <= MAX_ADDITIONAL_GAP * max(1.0, np.abs(x).max()):
            return [Finding("resized", text)]
    return []


def padded_grid(pairs: Sequence[tuple[ArrayView, ArrayView]], expected: Table) -> list[Finding]:
    """Return that the first rows and columns of a grid hold the table of a smaller one, the others padding; else []."""
    keys = expected.source.keys()
    sides = [int(side) for side in keys.get("grid", "").split("x") if side]
    if len(sides) != 2 or len(pairs) != 1 or not isinstance(expected.plan, Waves):
        return []
    left, right = pairs[0]
    if (left.rows, left.row_size) != (math.prod(sides), right.row_size):
        return []
    cells = read_floats(left, 0, left.rows).reshape(*sides, -1)
    changes = [np.flatnonzero(np.diff(edge, axis=0).any(axis=1)).max(initial=-1) for edge in (cells[:, 0], cells[0])]
    for inner in product(*((int(last) + 1, int(last) + 2) for last in changes)):  # padding may repeat the edge or not
        if inner == (*sides,) or min(inner) < 2:
            continue
        if (smaller := _of_grid(expected, inner)) is None:
            continue
        want = smaller.read(smaller.arrays[0].name).reshape(*inner, -1)
        if np.abs(cells[: inner[0], : inner[1]] - want).max() <= MAX_ADDITIONAL_GAP:
            own = "x".join(map(str, inner))
            return [Finding("padding", f"the first {own} cells hold the table of grid={own}, the others are padding")]
    return []


def _of_grid(expected: Table, sides: Sequence[int]) -> Table | None:
    """Return a recipe's table in float64 for a grid of other sides; None where the encoding does not allow them."""
    keys = {**expected.source.keys(), "grid": "x".join(map(str, sides))}
    with contextlib.suppress(PecliError):
        return Table.make(Recipe.bind(expected.source.encoding.name, **keys), dtype="float64")
    return None


def of_length(table: Table, length: int) -> Table:
    """Return the table of a recipe in float64 with more or fewer rows of the same step."""
    first = table.positions.part(0, 2)
    start, *more = first if table.positions.count > 1 else (*first, 1 + next(iter(first)))
    layout = table.request.layout if table.source.encoding.family is Family.ROTARY else None
    return Table.make(table.source, start=start, step=more[0] - start, length=length, layout=layout, dtype="float64")


def _longer(view: ArrayView, expected: Table) -> Iterator[Table]:
    """Yield the longer tables of a recipe whose last row may be near an array's last row, when made as short."""
    if not 1 < view.rows <= MAX_SHRUNK // view.row_size:
        return
    count = MAX_SHRUNK_TIMES * view.rows
    try:
        rows = of_length(expected, count).read(expected.arrays[0].name).reshape(count, -1)
    except PecliError:  # of a number of points
        return
    slow = np.argsort(np.abs(np.diff(rows, axis=0)).max(axis=0))[: max(2, view.row_size // 2)]
    gaps = np.abs(rows[:, slow] - read_floats(view, view.rows - 1, view.rows)[:, slow]).max(axis=1)
    last = int(gaps.argmin())
    for length in range(max(view.rows, last) + 1, last + MAX_SHRUNK_TIMES):
        yield of_length(expected, length)
