"""Arrays of a table as planes: two-dimensional views (rows, columns), read in blocks as float64.

Whatever axes of length 1, stacks ``(2, n, m)``, batch copies ``(b, n, m)`` or pairs ``(n, m, 2)`` a file has, its
values lie in C order, so that each is a contiguous run of rows of one width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.judge.orders import consecutive
from pecli.numbers.dtypes import GRIDS, REAL
from pecli.numbers.rounding import floats, nearest
from pecli.spec.tabular import Array, Tabular

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows read from the beginning; more give slower pairs more digits and cost time (the slowest pair of 128 at base 1e6
# is distinguished from its neighbours by 512).
HEAD_ROWS = 1024
WINDOW_ROWS = 64
# Blocks of consecutive rows read from the remaining table: restarts and clamped positions show in them.
WINDOWS = 16
# Values sampled of one plane; more make wide tables slower (2048 x 1024 takes 0.1 s).
SAMPLE_VALUES = 1 << 21
# Largest relative rounding error of each type.
EPSILON = {kind: grid.rounding for kind, grid in GRIDS.items()}
TYPES = ("bfloat16", "float16", "float32", "float64")
TF32 = "TF32"
# Values from which the type is inferred; the verification of all values finds exceptions.
TYPE_VALUES = 1 << 16
# Values that are no powers of 2 needed to say that a narrower type holds all; 4 make a row of float64 float16.
MIN_TELLING = 12
# Values of an array that is transposed in memory to try its axes exchanged, four times as many if rows are over four
# times as long as columns; of more, this unlikely case would take seconds.
WHOLE_VALUES = 1 << 23


@dataclass(frozen=True)
class Plane:
    """Rows `offset` and following of an array, as rows of `width` values.

    Attributes
    ----------
    table : Tabular
    array : Array
    name : str
        What to call it: the array's name, with the part of complex values.
    rows, width : int
    offset : int
        First value, counted in the array's values in C order.
    part : {"", "real", "imag"}
        Of complex values.
    values : (rows, width) ndarray, optional
        In memory, as they are stored, of an array whose axes or rows were put in another order.
    """

    table: Tabular
    array: Array
    name: str
    rows: int
    width: int
    offset: int = 0
    part: str = ""
    values: NDArray[Any] | None = field(default=None, repr=False, compare=False)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row in the array: its width, or (m, 2) of pairs."""
        inner = self.array.shape[-2:]
        return inner if self.values is None and math.prod(inner) == self.width != inner[-1] else (self.width,)

    def place(self, row: int, column: int) -> str:
        """Return a place as it is written: cos[300, 7]."""
        if self.values is not None:
            return f"row {row}, column {column} of {self.name}, transposed,"
        index = np.unravel_index(self.offset + row * self.width + column, self.array.shape)
        return f"{self.name}[{', '.join(map(str, map(int, index)))}]"

    def read(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop`, (stop - start, width) float64."""
        some = self.stored(start, stop)
        return (getattr(some, self.part) if self.part else floats(some, self.array.dtype)).astype(np.float64)

    def stored(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows as they are stored."""
        if self.values is not None:
            return self.values[start:stop]
        size = max(1, math.prod(self.array.row_shape))
        first, last = self.offset + start * self.width, self.offset + stop * self.width
        low, high = first // size, -(-last // size)
        raw = self.table.read_rows([self.array.name], low, high)[self.array.name]
        return raw.reshape(-1)[first - low * size : last - low * size].reshape(stop - start, self.width)

    def at(self, rows: Integers) -> Floats:
        """Return the rows of these ascending numbers, read in runs of neighbours."""
        runs = [self.read(int(rows[run.start]), int(rows[run.stop - 1]) + 1) for run in consecutive(rows)]
        return np.concatenate([np.empty((0, self.width)), *runs])


def planes_of(table: Tabular, array: Array) -> list[Plane]:
    """Return an array's planes: one, or those of a stack; complex values as two planes, real and imaginary parts."""
    shape = [side for side in array.shape if side != 1]
    if 0 in shape:
        return []
    if len(shape) > 2 and shape[-1] == 2 and not _is_stack(table, array, shape):
        shape = [*shape[:-2], 2 * shape[-2]]
    if len(shape) < 2:  # one row, or one column: the last axis of several is the columns
        width = array.shape[-1] if len(array.shape) > 1 else 1
        shape = [math.prod(array.shape) // width, width]
    rows, width = shape[-2:]
    parts = [(".real", "real"), (".imag", "imag")] if array.dtype in REAL else [("", "")]
    blocks = product(range(math.prod(shape[:-2])), parts)
    return [Plane(table, array, array.name + end, rows, width, k * rows * width, part) for k, (end, part) in blocks]


def _is_stack(table: Tabular, array: Array, shape: list[int]) -> bool:
    """Whether an array (2, n, 2) holds the cosines of two pairs and then their sines, not two rows of n pairs."""
    if len(shape) != 3 or shape[0] != 2 or array.dtype.startswith("complex"):
        return False
    rows = range(min(shape[1], HEAD_ROWS))
    with np.errstate(all="ignore"):
        cos, sin = (Plane(table, array, array.name, shape[1], 2, 2 * shape[1] * k).at(np.array(rows)) for k in (0, 1))
        stacked, paired = (np.abs(np.hypot(x, y) - 1).mean() for x, y in ((cos, sin), (cos[:, 0], cos[:, 1])))
    return bool(stacked <= paired)


def is_zero(plane: Plane) -> bool:
    """Whether all sampled rows of an array of several are zero."""
    return plane.rows > 1 and not plane.at(sample_rows(plane.rows, plane.width)).any()


def exchanged(plane: Plane) -> Plane | None:
    """Return a plane with rows and columns exchanged, in memory; None where it is too large for that."""
    most = WHOLE_VALUES * (4 if plane.width > 4 * plane.rows else 1)
    if plane.rows * plane.width > most or min(plane.rows, plane.width) < 2:
        return None
    values = np.ascontiguousarray(plane.stored(0, plane.rows).T)
    return Plane(plane.table, plane.array, plane.name, plane.width, plane.rows, 0, plane.part, values)


def rows_of(plane: Plane, first: int, count: int) -> Plane:
    """Return some consecutive rows of a plane as a plane of their own."""
    values = None if plane.values is None else plane.values[first : first + count]
    return replace(plane, rows=count, offset=plane.offset + first * plane.width, values=values)


def sample_rows(rows: int, width: int) -> Integers:
    """Return the rows to measure by: the first ones, blocks spread over the rest, the last ones."""
    most = max(WINDOW_ROWS, min(HEAD_ROWS + WINDOWS * WINDOW_ROWS, SAMPLE_VALUES // max(1, width)))
    if rows <= most:
        return np.arange(rows)
    head = most // 2
    starts = np.linspace(rows - WINDOW_ROWS, head, max(1, (most - head) // WINDOW_ROWS)).astype(np.int64)
    return np.unique(np.concatenate([np.arange(head), (starts[:, None] + np.arange(WINDOW_ROWS)).ravel()]))


def effective_dtype(values: Floats, stored: str, telling: int = MIN_TELLING) -> str:
    """Return the narrowest type that holds every value, no wider than the one they are stored in.

    Fewer than `telling` values that are no powers of 2 tell nothing.
    """
    own = REAL.get(stored, stored)
    narrower = TYPES[: TYPES.index(own)] if own in TYPES else ()
    values = values.ravel()
    values = values[:: max(1, values.size // TYPE_VALUES)]
    finite = values[np.isfinite(values)]
    others = finite[np.frexp(finite)[0] != np.copysign(0.5, finite)]  # 0 and powers of 2 are in every type
    for kind in narrower if np.count_nonzero(others) >= telling else ():
        if np.array_equal(nearest(finite, kind), finite):
            return kind
    return own if own in TYPES else "float64"


def rounded(values: Floats, kind: str) -> Floats:
    """Return values rounded to a type, as float64."""
    if kind == "float64":
        return values
    if kind in ("float32", "float16"):
        return values.astype(kind).astype(np.float64)
    if kind == TF32:  # float32 without its last 13 bits, as a GPU multiplies matrices
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32).astype(np.float64)
    return nearest(values, kind)


def reread(values: Floats, kind: str) -> Floats:
    """Return values of one 16-bit type as the other one reads their bits, as float64."""
    if kind == "float16":
        return floats(values.astype(np.float16).view(np.uint16), "bfloat16").astype(np.float64)
    bits = (rounded(values, kind).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return bits.view(np.float16).astype(np.float64)


def unit(values: Floats, kind: str) -> Floats:
    """Return one unit in the last place of each value in a type."""
    smallest = 2.0**-14 if kind == "float16" else 2.0**-126
    exponents = np.maximum(np.abs(values), smallest).view(np.int64) & (0x7FF << 52)
    found: Floats = exponents.view(np.float64) * 2 * EPSILON[kind]
    return found


def truncated(values: Floats, kind: str) -> Floats:
    """Return values cut to a type, towards zero."""
    grid = GRIDS[kind]
    exponent = np.maximum(np.frexp(values)[1] - 1, grid.lowest) - grid.precision + 1
    return np.asarray(np.ldexp(np.trunc(np.ldexp(values, -exponent)), exponent))


# Values that are looked at to say that a table is a mask; its verification reads all of them.
MASK_VALUES = 1 << 16
# Times the rows that columns must be for the axes to be tried exchanged first.
MIN_WIDE_RATIO = 8
# Bytes above which unlikely kinds of tables are not tried; the searches would take seconds.
MAX_QUICK_BYTES = 1 << 22
# Rows and columns of a table whose rows are columns, most likely.
MIN_WIDE_ROWS = 16


def only_array(table: Tabular) -> Array | None:
    """Return the array of a table that has one; None of any other."""
    return table.arrays[0] if len(table.arrays) == 1 else None


def is_wide(table: Tabular) -> bool:
    """Whether rows are so few and so long that they are columns, most likely."""
    return all(a.shape[-1] > MIN_WIDE_RATIO * a.rows and a.rows >= MIN_WIDE_ROWS for a in table.arrays if a.shape)


def is_large(table: Tabular) -> bool:
    """Whether a search for unlikely kinds of tables would take seconds."""
    return sum(array.bytes for array in table.arrays) > MAX_QUICK_BYTES


def few_values(table: Tabular) -> bool:
    """Whether every array has at most two distinct values, as a mask has."""
    planes = (plane for array in table.arrays for plane in planes_of(table, array))
    beginnings = (plane.read(0, min(plane.rows, 1 + MASK_VALUES // max(1, plane.width))) for plane in planes)
    return bool(table.arrays) and all(len(np.unique(values)) <= 2 for values in beginnings)


def is_cube(table: Tabular) -> bool:
    """Whether an array has as many queries as keys for each head, or hides pairs, as a bias does."""
    shapes = [[side for side in array.shape if side != 1] for array in table.arrays]
    return any(len(shape) > 2 and shape[-1] == shape[-2] for shape in shapes) or is_masked(table)


def is_masked(table: Tabular) -> bool:
    """Whether an array holds minus infinity."""
    real = [a for a in table.arrays if a.bytes and not a.dtype.startswith(("int", "uint", "bool", "complex"))]
    planes = [planes_of(table, array)[0] for array in real]
    return any(bool(np.isneginf(plane.read(0, min(plane.rows, 2))).any()) for plane in planes)
