"""Views: arrays of two tables brought side by side, to be read in blocks of rows.

A pair of cosines and sines is stacked in an npy file, and lies in two arrays
elsewhere; a view is either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.dtypes import REAL
from pecli.numbers.rounding import floats
from pecli.spec.tabular import Array, Tabular, View
from pecli.tables.layouts import cosines_and_sines


@dataclass(frozen=True, kw_only=True)
class ArrayView(Array):
    """Consecutive rows of one array of a table, from row `first`; a row may be some of the table's or a part of one.

    Attributes
    ----------
    table : Tabular
        What is read.
    array : Array
        The array in it, whose name and shape the view has, or those of a part.
    first : int
        The array's row at which the view begins.
    """

    table: Tabular
    array: Array
    first: int = 0

    @property
    def row_size(self) -> int:
        """Values of a row."""
        return math.prod(self.row_shape)

    @property
    def plain_shape(self) -> tuple[int, ...]:
        """Shape without axes of length 1."""
        return tuple(side for side in self.shape if side != 1)

    def _rows(self, start: int, stop: int) -> tuple[int, int, int]:
        """Return the table's rows that hold rows `start` to `stop`, and how many of their values come before these."""
        size = max(1, math.prod(self.array.row_shape))
        low, high = start * self.row_size // size, -(-stop * self.row_size // size)
        return self.first + low, self.first + high, start * self.row_size - low * size

    def fill(self, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows `start` to `stop` into `out`, (stop - start, *row_shape) of the storage type."""
        low, high, _ = self._rows(start, stop)
        shape = high - low, *self.array.row_shape
        if math.prod(shape) == out.size:
            self.table.fill(low, high, {self.array.name: out.reshape(shape)})
        else:  # parts of the table's rows
            out[...] = self.read(start, stop)

    def held(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return rows `start` to `stop` as the read-only array in memory; None where they are not in memory."""
        low, high, before = self._rows(start, stop)
        values = self.table.held(self.array.name, low, high)
        return None if values is None else self._cut(values, before, stop - start)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows `start` to `stop`."""
        low, high, before = self._rows(start, stop)
        return self._cut(self.table.read_rows([self.array.name], low, high)[self.array.name], before, stop - start)

    def _cut(self, values: NDArray[Any], before: int, count: int) -> NDArray[Any]:
        """Return `count` rows of the table's values, behind some."""
        return values.reshape(-1)[before : before + count * self.row_size].reshape(count, *self.row_shape)


def view_of(table: Tabular, array: Array) -> ArrayView:
    """Return the view of a whole array."""
    return ArrayView(**vars(array), table=table, array=array)


def unstacked(table: Tabular, array: Array, names: Sequence[str]) -> list[ArrayView]:
    """Return the parts along the first axis as views; ``(2, n, m)`` is cosines and sines in an npy file."""
    whole, axis = view_of(table, array), 1 + _ones(array)
    rows = array.rows // array.shape[axis - 1]
    part = replace(whole, shape=array.shape[axis:], axes=array.axes[axis:], lead=array.lead - axis)
    return [replace(part, name=name, first=index * rows) for index, name in enumerate(names)]


def is_stack(array: Array, parts: int = 2) -> bool:
    """Whether the first axis of an array, ignoring axes of length 1, may number whole arrays of equal shape."""
    ones = _ones(array)
    return len(array.shape) >= ones + 3 and array.shape[ones] == parts and array.lead >= ones + 2


def _ones(array: Array) -> int:
    """Return the number of leading axes of length 1."""
    return next((axis for axis, side in enumerate(array.shape) if side != 1), len(array.shape))


def pair_views(a: Tabular, b: Tabular) -> tuple[list[tuple[ArrayView, ArrayView]], list[str], list[str]]:
    """Match the arrays of two tables by name, or a sole array by shape; a stack is split into its parts.

    Returns
    -------
    list of (ArrayView, ArrayView)
        What can be compared.
    list of str, list of str
        Names that one side alone has.
    """
    left, right = _views(a, b), _views(b, a)
    if len(left) == len(right) == 1:
        return [(left[0], right[0])], [], []
    others = {view.name: view for view in right}
    pairs = [(view, others[view.name]) for view in left if view.name in others]
    pairs = pairs or _cosines_and_sines(left, right) or _of_one_shape(left, right)
    paired_a, paired_b = ({pair[side].name for pair in pairs} for side in (0, 1))
    return pairs, [x.name for x in left if x.name not in paired_a], [x.name for x in right if x.name not in paired_b]


def matched_views(a: Tabular, b: Tabular) -> list[tuple[ArrayView, ArrayView]]:
    """Return what can be compared of two tables, with one notion of a row."""
    return [same_layout(*pair) for pair in pair_views(a, b)[0]]


def _cosines_and_sines(left: list[ArrayView], right: list[ArrayView]) -> list[tuple[ArrayView, ArrayView]]:
    """Pair cosines with cosines and sines with sines, whatever each side calls them."""
    named = [cosines_and_sines([view.name for view in side]) for side in (left, right)]
    views = [{view.name: view for view in side} for side in (left, right)]
    return [(views[0][a], views[1][b]) for a, b in zip(*named, strict=False)]


def is_regrouped(a: Array, b: Array) -> bool:
    """Whether two arrays have as many rows of one width, whose numbers may have other axes."""
    return a.shape[-1:] == b.shape[-1:] and math.prod(a.shape) == math.prod(b.shape)


LOOK_ROWS = 16  # rows that decide between arrays, or layouts, of one shape


def _of_one_shape(left: list[ArrayView], right: list[ArrayView]) -> list[tuple[ArrayView, ArrayView]]:
    """Pair a sole array of one side with the one of the other side that has its shape, or else as many values.

    Two arrays of one shape are paired with two, and several with as many if each has the shape of one alone.

    Of several of this shape it is the one whose first rows are nearest, if they are clearly nearer than the next.
    """
    pairs = [(a, b) for a in left for b in right if a.plain_shape == b.plain_shape]
    pairs = pairs or [(a, b) for a in left for b in right if is_regrouped(a, b)]
    pairs = pairs or [(a, b) for a in left for b in right if a.rows * a.row_size == b.rows * b.row_size]
    if len(left) == len(right) == 2 and len(pairs) == 4:
        return min((pairs[::3], pairs[1:3]), key=lambda both: sum(row_gap(*pair) for pair in both))
    if (fewest := min(len(left), len(right))) > 1:
        names = {view.name for pair in pairs for view in pair}
        pairs += [(a, b) for a in left for b in right if not {a.name, b.name} & names and is_regrouped(a, b)]
        alone = [len({pair[side].name for pair in pairs}) for side in (0, 1)]
        return pairs if alone == [fewest, fewest] and len(pairs) == fewest else []
    if len(pairs) < 2:
        return pairs
    gaps = [row_gap(*pair) for pair in pairs]
    first, second = sorted(gaps)[:2]
    return [pairs[gaps.index(first)]] if first < second / 2 else []


def row_gap(a: ArrayView, b: ArrayView, rows: int = LOOK_ROWS) -> float:
    """Return half the mean difference of the first rows; infinite between complex and real values."""
    if a.dtype.startswith("complex") != b.dtype.startswith("complex"):
        return math.inf
    first, second = (floats(one.read(0, min(rows, one.rows)), one.dtype).ravel() for one in (a, b))
    size = min(first.size, second.size)
    with np.errstate(all="ignore"):  # a file may hold any bits
        gap: NDArray[Any] = np.abs(first[:size] / 2 - second[:size] / 2, dtype=np.float64)
    finite = gap[np.isfinite(gap)]
    return float(finite.mean()) if finite.size else math.inf


def _views(table: Tabular, other: Tabular) -> list[ArrayView]:
    names = [array.name for array in other.arrays]
    if len(table.arrays) == 1 and len(names) > 1 and table.arrays[0].name not in names:
        (array,) = table.arrays
        if is_stack(array, len(names)):
            return unstacked(table, array, names)
        is_pair = array.dtype in REAL and len(array.shape) == 2 and cosines_and_sines(names)
        if is_pair and not any(one.dtype in REAL for one in other.arrays):
            from pecli.tables.conversion import Rearranged

            table = Rearranged(table, "complex", "split")
    return [view_of(table, array) for array in table.arrays]


class CopyView(View):
    """One of the blocks (n, m) of arrays (b, n, m), such as a copy in a batch."""

    def __init__(self, source: Tabular, number: int) -> None:
        self.number = number
        arrays = [replace(a, shape=a.shape[1:], axes=a.axes[1:], lead=a.lead - 1) for a in source.arrays]
        super().__init__(source, arrays)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        first = self.number * self.array(next(iter(out))).rows
        super().fill(first + start, first + stop, out)


MAX_COPIES = 256  # a table with more has heads: to compare each takes seconds


def copies_of(table: Tabular) -> list[CopyView]:
    """Return the blocks of arrays that have one more axis than a table, all of one length; [] of others.

    Arrays that accompany these, such as the position of each row, are left out.
    """
    copied = [
        array for array in table.arrays if array.lead > 1 and max(array.shape[1 : max(2, len(array.shape) - 1)]) > 1
    ]
    counts = {array.shape[0] for array in copied}
    are_copies = len(counts) == 1 and 1 < min(counts) <= MAX_COPIES
    return [CopyView(View(table, copied), number) for number in range(*counts)] if are_copies else []


class RowOverlap(NamedTuple):
    """Corresponding rows of two views, and the part of each row in both."""

    left: int
    right: int
    rows: int
    cut: tuple[slice, ...]


def overlapping_rows(left: ArrayView, right: ArrayView) -> Iterator[RowOverlap] | None:
    """Return the rows that two views have in common; None where their shapes cannot be laid over each other."""
    if left.shape == right.shape and left.lead == right.lead:
        return iter([RowOverlap(0, 0, left.rows, ())])
    for one, other in ((left, right), (right, left)):
        if one.shape[1:] == other.shape and one.lead == other.lead + 1 and other.lead:  # copies, as in a batch
            rows = [(k * other.rows, 0) for k in range(one.shape[0])]
            return (RowOverlap(*(at if one is left else at[::-1]), other.rows, ()) for at in rows)
    if len(left.shape) != len(right.shape) or left.lead != right.lead:
        return None
    return _overlap(left, right)


def _overlap(left: ArrayView, right: ArrayView) -> Iterator[RowOverlap]:
    common = [min(pair) for pair in zip(left.shape, right.shape, strict=True)]
    cut = tuple(slice(0, side) for side in common[left.lead :])
    if left.lead == 0:
        yield RowOverlap(0, 0, 1, cut)
        return
    for index in product(*(range(side) for side in common[: left.lead - 1])):
        yield RowOverlap(_row(left, (*index, 0)), _row(right, (*index, 0)), common[left.lead - 1], cut)


def _row(view: ArrayView, index: Sequence[int]) -> int:
    row = 0
    for side, i in zip(view.shape[: view.lead], index, strict=True):  # an axis may be empty
        row = row * side + i
    return row


def same_layout(left: ArrayView, right: ArrayView) -> tuple[ArrayView, ArrayView]:
    """Return the views with axes of length 1 left out and one notion of a row, where their shapes agree.

    Of two that have other numbers of axes those of length 1 are left out as well, to see how much both have.
    """
    if left.plain_shape != right.plain_shape:
        if left.axes[:1] == ("head",) and left.shape[1:] == right.plain_shape and len(left.shape) == 3:
            return left, _one_head(right, left)
        if right.axes[:1] == ("head",) and right.shape[1:] == left.plain_shape and len(right.shape) == 3:
            return _one_head(left, right), right
        if len(left.shape) == len(right.shape) or len(left.plain_shape) != len(right.plain_shape):
            return left, right
        return regrouped(left, left.row_size), regrouped(right, right.row_size)
    if left.shape == right.shape and left.lead == right.lead:
        return left, right
    width = max(left.row_size, right.row_size)
    return regrouped(left, width), regrouped(right, width)


def _one_head(view: ArrayView, bias: ArrayView) -> ArrayView:
    """Return a square of queries and keys as the bias of one head."""
    square = regrouped(view, bias.row_size)
    return replace(square, shape=(1, *bias.shape[1:]), axes=bias.axes, lead=bias.lead)


def regrouped(view: ArrayView, width: int) -> ArrayView:
    """Return the view without axes of length 1, in rows of `width` values."""
    shape, rows = view.plain_shape, math.prod(view.shape) // max(1, width)
    lead = next((k for k in range(len(shape) + 1) if math.prod(shape[:k]) == rows), None)
    if lead is None:
        shape, lead = (rows, width), 1
    return replace(view, shape=shape, lead=lead)
