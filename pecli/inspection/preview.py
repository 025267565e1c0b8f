"""The head and the tail of a table's arrays, for a person to look at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pecli.declare.tabular import Array, Tabular
from pecli.errors import PecliError
from pecli.records import dataclass
from pecli.tables.table import Table


@dataclass(frozen=True)
class Excerpt:
    """Some rows and columns of one array, or of one head of it.

    Attributes
    ----------
    array : Array
        What it is a part of.
    title : str
        The array's name, with the head where it has heads.
    row_axis, column_axis : str
        What rows and columns are.
    row_labels : list of str
        Position, query or index of each row; None stands for rows left out.
    column_labels : list of str
        Index of each column; None stands for columns left out.
    cells : list of list
        Values as Python numbers, None where left out.
    exact : list of list
        The same before they were rounded to float32, where they are computed here: what decimals are rounded from.
    """

    array: Array
    title: str
    row_axis: str
    column_axis: str
    row_labels: list[str | None]
    column_labels: list[str | None]
    cells: list[list[Any]]
    exact: list[list[Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return what --json prints of it."""
        return {
            "name": self.array.name,
            "shape": self.array.shape,
            "dtype": self.array.dtype,
            "title": self.title,
            "rows": self.row_labels,
            "columns": self.column_labels,
            "values": self.cells,
        }


def preview(table: Tabular, *, rows: int = 12, columns: int = 8, heads: int = 2) -> list[Excerpt]:
    """Return the visible parts of every array, at most `rows` x `columns` each.

    Of an array with heads, the first `heads` of them.
    """
    view = _View(table)
    return [part for array in table.arrays for part in _parts(view, array, rows, columns, heads)]


class _View:
    """A table whose values are read, and the same in float64 where it is computed in float32."""

    def __init__(self, table: Tabular) -> None:
        self.table, self._doubles = table, None
        if isinstance(table, Table) and (table.request.dtype, table.request.arithmetic) == ("float32", "exact"):
            with contextlib.suppress(PecliError):
                self._doubles = Table(table.source, table.extent, replace(table.request, dtype="float64"))

    def read(self, array: Array, start: int, stop: int) -> tuple[list[Any], list[Any]]:
        """Return the values of some rows in a line, and what they were rounded from."""
        values = self.table.read_rows([array.name], start, stop)[array.name].reshape(-1)
        found = widened(values, array.dtype)
        if self._doubles is None:
            return found, found
        doubles = self._doubles.read_rows([array.name], start, stop)[array.name].reshape(-1)
        with np.errstate(over="ignore"):  # a double may be larger than the table's type holds
            rounded = doubles.astype(values.dtype)
        if not np.array_equal(rounded, values, equal_nan=values.dtype.kind in "fc"):
            return found, found  # numbers that are drawn for their type
        return found, doubles.tolist()


def _parts(view: _View, array: Array, rows: int, columns: int, heads: int) -> list[Excerpt]:
    shape = array.shape
    if len(shape) == 0:
        return [_part(view, array, array.name, 0, 1, rows, columns)]
    if array.axes[:1] == ("head",) and len(shape) > 1 and array.lead == 2:
        per_head = shape[1]
        if len(shape) == 2:  # values by distance: a head is a row
            return [_by_head(view, array, rows, columns)]
        return [
            _part(view, array, f"{array.name}, head {h} of {shape[0]}", h * per_head, per_head, rows, columns)
            for h in range(min(heads, shape[0]))
        ]
    return [_part(view, array, array.name, 0, array.rows, rows, columns)]


def _pick(count: int, limit: int) -> list[int | None]:
    """Return indices of the head and the tail, None between them where some are left out."""
    if count <= limit:
        return list(range(count))
    tail = limit // 3
    return [*range(limit - tail), None, *range(count - tail, count)]


def _part(view: _View, array: Array, title: str, first: int, count: int, rows: int, columns: int) -> Excerpt:
    picked = _pick(count, rows)
    width = 1
    for side in array.row_shape:
        width *= side
    shown = _pick(width, columns)
    labels: list[str | None] = []
    cells: list[list[Any]] = []
    exact: list[list[Any]] = []
    for row in picked:
        values, doubles = ([None] * width,) * 2 if row is None else view.read(array, first + row, first + row + 1)
        labels.append(None if row is None else _label(view.table, array, row))
        cells.append([None if c is None else values[c] for c in shown])
        exact.append([None if c is None else doubles[c] for c in shown])
    column_axis = array.axes[array.lead] if len(array.axes) > array.lead else ""
    column_labels: list[str | None] = (
        [None if c is None else str(c) for c in shown] if array.row_shape else [array.name]
    )
    row_axis = array.axes[array.lead - 1] if array.axes else ""
    return Excerpt(array, title, row_axis, column_axis, labels, column_labels, cells, exact)


def _by_head(view: _View, array: Array, rows: int, columns: int) -> Excerpt:
    """Return an array (heads, m) of single values with a row per head, columns around the middle."""
    heads, m = array.shape
    picked = _pick(heads, rows)
    distance, zero = _distances(view.table, array)
    half = max(1, columns // 2)
    middle = min(max(half, zero), max(half, m - 1 - half))
    shown = [c for c in range(middle - half, middle + half + 1) if 0 <= c < m]
    found = [
        ([None] * len(shown),) * 2 if h is None else view.read(array, h * m + shown[0], h * m + shown[-1] + 1)
        for h in picked
    ]
    cells, exact = ([pair[which] for pair in found] for which in (0, 1))
    labels = [None if h is None else str(h) for h in picked]
    return Excerpt(array, array.name, "head", "distance", labels, [str(distance(c)) for c in shown], cells, exact)


def _distances(table: Tabular, array: Array) -> tuple[Callable[[int], Any], int]:
    """Return the distance of each place of an array (heads, m), and the place nearest distance 0.

    They are evenly spaced, so that a few of them tell all: m may be a thousand million.
    """
    m = array.shape[1]
    if array != table.arrays[0]:  # a decay beside a rotary table: 0, 1, 2, ..
        return (lambda c: c), 0
    ends = [table.position(c, c + 1) for c in (0, m - 1)]
    if any(end is None or len(end) != 1 for end in ends):
        return (lambda c: c - m // 2), m // 2
    first, last = (end[0] for end in ends if end is not None)
    zero = 0 if last == first else round(float(-first / (last - first)) * (m - 1))

    def at(place: int) -> Any:
        numbers = table.position(place, place + 1)
        assert numbers is not None
        return numbers.tolist()[0]

    return at, min(max(zero, 0), m - 1)


def widened(values: Any, dtype: str) -> list[Any]:
    """Return values as Python numbers, bfloat16 from its bits."""
    if dtype == "bfloat16":
        from pecli.numbers.rounding import widen

        values = widen(values, dtype)
    return list(values.tolist())


def _label(table: Tabular, array: Array, row: int) -> str:
    if array.axes[array.lead - 1 : array.lead] == ("position",):
        positions = table.position(row, row + 1)
        if positions is not None:
            return str(positions[0])
    return str(row)
