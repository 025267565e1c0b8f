"""Other readings of a table: flattened, reshaped, with exchanged axes, with row numbers, as matrices or other types."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.judge.grids import JOINED
from pecli.judge.planes import EPSILON, is_large, only_array
from pecli.judge.signal import MAX_ROW
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import floats
from pecli.spec.tabular import InMemory, Tabular, View

EXCHANGED = "rows and columns are exchanged"
NUMBERED = "column 0 numbers the rows and was left out"
ALONG_FIRST = "positions run along axis 0, and axis 1 repeats each row, as a batch on the second axis does"
# Values of a row, and rows, from which another arrangement is looked for.
MIN_COLUMNS, MIN_ROWS = 16, 8
# Types that bytes may have been read as, by the one that they are read as now.
BITS = {
    "float16": ("bfloat16", "float32"), "bfloat16": ("float16",), "float32": ("float64",), "float64": ("float32",),
    "int16": ("bfloat16", "float16"), "uint16": ("bfloat16", "float16"), "int32": ("float32",), "uint32": ("float32",),
}  # fmt: skip
STORED = {"bfloat16": np.uint16, "float16": np.float16, "float32": np.float32, "float64": np.float64}
# Largest value whose bytes may be in another order.
MAX_SWAPPED = 1e6
SWAPPED = "the bytes of all values are swapped: the file has the other byte order"
# Values of position 0 among which the end of the first row of a flattened table is looked for.
MAX_FIRST_ROW = 8192


def arrangements(table: Tabular) -> Iterator[tuple[str, Tabular]]:
    """Yield the likely arrangements of an unknown table's values, each with what is said of it."""
    ways = {"the array is one row of the table": _as_rows, JOINED[0]: of_matrices, NUMBERED: without_numbers,
            ALONG_FIRST: along_first, EXCHANGED: _exchanged_pair}  # fmt: skip
    for text, way in ways.items():
        if (other := way(table)) is not None:
            yield text, other
    yield from components_apart(table).items()
    yield from reshaped(table).items()


def _as_rows(table: Tabular) -> Tabular | None:
    """Return arrays of one axis as tables of one row; None where there are others, or few or many values."""
    if any(len(a.shape) != 1 or not MIN_COLUMNS <= a.rows <= MAX_ROW for a in table.arrays):
        return None
    return InMemory({a.name: table.read(a.name)[None] for a in table.arrays})


def _exchanged_pair(table: Tabular) -> Tabular | None:
    """Return two matrices that are wider than high, such as cosines and sines, with their axes exchanged; else None."""
    shapes = {array.shape for array in table.arrays}
    if len(table.arrays) != 2 or len(shapes) > 1 or len(next(iter(shapes))) != 2:
        return None
    rows, columns = next(iter(shapes))
    return transposed(table) if MIN_ROWS <= rows < columns else None


def transposed(table: Tabular) -> Tabular | None:
    """Return the matrices of a table with their axes exchanged; None of a large table or one without a matrix."""
    matrices = [array.name for array in table.arrays if len(array.shape) == 2] if not is_large(table) else []
    return InMemory({name: table.read(name).T for name in matrices}) if matrices else None


def channels_last(table: Tabular) -> Tabular | None:
    """Return maps (.., channels, height, width) with channels last, and other arrays as they are; None without any."""
    shapes = {array.name: [side for side in array.shape if side != 1] for array in table.arrays}
    maps = [name for name, sides in shapes.items() if len(sides) == 3 and MIN_COLUMNS <= sides[0] != sides[1]]
    if not maps or is_large(table):
        return None
    values = {name: table.read(name) for name in shapes}
    return InMemory({name: np.moveaxis(one.reshape(shapes[name]), 0, -1) if name in maps else one
                     for name, one in values.items()})  # fmt: skip


def along_first(table: Tabular) -> Tabular | None:
    """Return the table along the first axis of an array that is the same at each index of the second; else None."""
    array = only_array(table)
    if array is None or is_large(table) or len(array.shape) != 3 or 1 in array.shape[:2]:
        return None
    values = table.read(array.name)
    moves = values.size and (values[1:, 0] != values[:-1, 0]).any(axis=1).mean() > 0.5
    return InMemory({array.name: values[:, 0]}) if moves and (values == values[:, :1]).all() else None


def of_matrices(table: Tabular) -> Tabular | None:
    """Return the cosines and sines of rotation matrices (.., n, m, 2, 2); None where an array holds no such ones."""
    array = only_array(table)
    if array is None or len(array.shape) < 4 or array.shape[-2:] != (2, 2) or array.dtype not in EPSILON:
        return None
    (a, b), (c, d) = np.moveaxis(floats(table.read(array.name), array.dtype), (-2, -1), (0, 1))
    return InMemory({"cos": a, "sin": c}) if (a == d).all() and (b == -c).all() else None


def components_apart(table: Tabular) -> dict[str, Tabular]:
    """Return the sines and cosines of an array (n, 2, d), as Flax holds them, or (n, 2d, 2), with words on it; else {}.

    The last axis has sines and cosines of whole rows where each pair has two columns; else it has those of pairs.
    """
    array = only_array(table)
    if array is None or len(array.shape) != 3 or 2 not in array.shape[1:] or not array.bytes or is_large(table):
        return {}
    axis = 1 if array.shape[1] == 2 else 2
    a, b = np.moveaxis(floats(table.read(array.name), array.dtype), axis, 0)
    width = a.shape[1]
    halves = (a[:, : width // 2], a[:, width // 2 :]), (a[:, ::2], a[:, 1::2])
    if axis == 2 and not any(np.array_equal(*two) for two in halves):
        return {}
    first, other = ("cosines", "sines") if np.abs(a[0]).sum() > np.abs(b[0]).sum() else ("sines", "cosines")
    both = {"cos": a, "sin": b} if first == "cosines" else {"cos": b, "sin": a}
    return {f"axis {axis} holds the {first}, then the {other}": InMemory(both)}


def with_sides(table: Tabular, sides: list[int]) -> Tabular | None:
    """Return maps (.., width, height) with the last axes exchanged, which gives them these sides; else None."""
    array = only_array(table)
    if array is None or not array.bytes or is_large(table):
        return None
    if [side for side in array.shape if side != 1][-2:] != sides[::-1]:
        return None
    return InMemory({array.name: table.read(array.name).swapaxes(-1, -2)})


def without_numbers(table: Tabular) -> Tabular | None:
    """Return a matrix without its first column, which numbers the rows; None where it does not."""
    array = only_array(table)
    if array is None or len(array.shape) != 2 or array.shape[1] < 3 or is_large(table):
        return None
    values = table.read(array.name)
    first = floats(values[:, 0], array.dtype)
    return InMemory({array.name: values[:, 1:]}) if len(first) > 2 and (np.diff(first) == 1).all() else None


def reshaped(table: Tabular) -> dict[str, Tabular]:
    """Return the values of an array in other rows, with words on it: of one long row, those from position 0 on."""
    array = only_array(table)
    if array is None or not array.bytes or is_large(table) or array.dtype not in EPSILON:
        return {}
    shape, values = [side for side in array.shape if side != 1], table.read(array.name)
    if len(shape) == 2 and shape[0] != shape[1]:
        rows = values.reshape(shape[::-1])
        return {"the array was reshaped, the values are in the same order": InMemory({array.name: rows})}
    first = floats(values.ravel()[:MAX_FIRST_ROW], array.dtype)
    width = int(np.argmin((first == 0) | (first == 1)))  # of position 0
    if len(shape) != 1 or width < MIN_COLUMNS or shape[0] % width or shape[0] < MIN_ROWS * width:
        return {}
    rows = values.reshape(-1, width)
    return {f"the array is flattened: {len(rows):,} rows of {width} values": InMemory({array.name: rows})}


class Reread(InMemory):
    """A table whose bytes were read as another type; they are not read once more."""


def as_other_types(table: Tabular) -> Iterator[tuple[str, Tabular]]:
    """Yield a small table with its bytes read as another type, and what is said of that."""
    if isinstance(table.source if isinstance(table, View) else table, Reread):
        return
    kind = table.arrays[0].dtype if len({array.dtype for array in table.arrays}) == 1 and not is_large(table) else ""
    for other in BITS.get(kind, ()):
        size, held = np.dtype(STORED[other]).itemsize, {one.name: table.read(one.name) for one in table.arrays}
        if kind not in GRIDS and max(np.abs(v.astype(float)).max(initial=0) for v in held.values()) < 2 ** (4 * size):
            continue  # whole numbers, which are the bits of numbers next to 0
        if all(values.ndim and values.shape[-1] * values.itemsize % size == 0 for values in held.values()):
            text = f"the integers are the bits of {other} values"
            if kind in GRIDS:
                text = f"the bytes are those of {other} values, read as {kind}"
            yield text, Reread({name: np.ascontiguousarray(v).view(STORED[other]) for name, v in held.items()})
    if kind in ("float16", "float32", "float64"):
        swapped = {array.name: table.read(array.name).byteswap() for array in table.arrays}
        if all(bool((np.abs(values) < MAX_SWAPPED).all()) for values in swapped.values()):  # NaN is not
            yield SWAPPED, Reread(swapped)
