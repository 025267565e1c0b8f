"""An expected table whose values are changed as they are read: what a fault would have made of it, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.diagnosis.case import Candidate, Case, Lanes, read_rows
from pecli.measures.lanes import Lane, lane_of
from pecli.measures.samples import Floats, holds, rounded

Indices = NDArray[np.int64]
Work = Callable[[str, Floats, int], Floats]
"""Of an array's name, rows (n, columns) and the first one's number, what they become."""
Rows = Callable[[Indices], Indices]
"""Of row numbers, those of the expected rows that stand there; -1 for none."""

SPARSE = 4  # times as many rows as are wanted may be read for them at once


class Reworked(Tabular):
    """Lanes with other rows and other values, rounded to a type.

    Parameters
    ----------
    lanes : sequence of Lane
        What was expected.
    grain : str
        Type to which changed values are rounded.
    work : callable, optional
        Changes values.
    rows : callable, optional
        Says which rows stand where; NaN where none does.
    """

    recipe = None

    def __init__(self, lanes: Lanes, grain: str, work: Work | None = None, rows: Rows | None = None) -> None:
        self.lanes: Mapping[str, Lane] = {f"{k}": lane for k, lane in enumerate(lanes)}
        self.grain, self.work, self.row_numbers, self.metadata = grain, work, rows, {}
        self.arrays = tuple(
            Array(name, lane.shape, _widest(lane.dtype), lane.array.axes, lane.lead)
            for name, lane in self.lanes.items()
        )

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write changed rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        with np.errstate(all="ignore"):
            self._fill(start, stop, out)

    def _fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        for name, target in out.items():
            lane = self.lanes[name]
            if self.row_numbers is None:
                values = read_rows(lane, start, stop)
            else:
                values = _gathered(lane, self.row_numbers(np.arange(start, stop)))
            if self.work is not None:
                values = self.work(lane.name, values, start)
            values = rounded(values, self.grain)
            if target.dtype.kind == "c":
                values = np.ascontiguousarray(values).view(np.complex128)
            target[...] = values.reshape(target.shape)


def reworked(lanes: Lanes, grain: str, work: Work | None = None, rows: Rows | None = None) -> list[Lane]:
    """Return lanes with other rows and values; see :class:`Reworked`."""
    table = Reworked(lanes, grain, work, rows)
    return [lane_of(table, array) for array in table.arrays]


def candidate(
    case: Case, kind: str, text: str, work: Work | None = None, rows: Rows | None = None, *, grain: str | None = None
) -> Candidate:
    """Return what says that the expected values were changed so."""
    return Candidate(kind, text, partial(reworked, case.expected, grain or case.grain, work, rows))


def changed_values(case: Case, kind: str, text: str, work: Work) -> Iterator[Candidate]:
    """Yield what says that the values were changed so before they were rounded, and after."""
    if case.exact:
        yield Candidate(kind, text, partial(reworked, case.exact, case.grain, work))
    yield candidate(case, kind, text, work)


def roughened(lanes: Lanes, grain: str, stored: str, start: int, stop: int) -> bool:
    """Whether values of some rows, as they would stand in a file's own type, were changed by rounding to another."""
    tables = {id(lane.table): lane.table for lane in lanes if isinstance(lane.table, Reworked)}
    before = [one for t in tables.values() for one in reworked([*t.lanes.values()], stored, t.work, t.row_numbers)]
    return any(not holds(read_rows(one, start, min(stop, one.rows)), grain) for one in before)


def _widest(dtype: str) -> str:
    return "complex128" if dtype.startswith("complex") else "float64"


def _gathered(lane: Lane, rows: Indices) -> Floats:
    """Return rows in any order, few at a time where they lie far apart; NaN for -1."""
    known = rows[rows >= 0]
    if not known.size:
        return np.full((len(rows), read_rows(lane, 0, 1).shape[1]), np.nan)
    low, high = int(known.min()), int(known.max()) + 1
    if high - low <= SPARSE * len(rows):
        found: Floats = read_rows(lane, low, high)[np.maximum(rows, low) - low]
        found[rows < 0] = np.nan
        return found
    half = len(rows) // 2
    return np.concatenate([_gathered(lane, rows[:half]), _gathered(lane, rows[half:])])


def each(function: Callable[[Floats], Floats]) -> Work:
    """Return the work that changes every array alike."""
    return lambda _name, values, _start: function(values)


def shifted(by: int, count: int) -> Rows:
    """Return which row stands where after all have moved down by `by`, of `count` rows."""

    def rows(numbers: Indices) -> Indices:
        found = numbers - by
        return np.where((found >= 0) & (found < count), found, -1)

    return rows


def backwards(count: int) -> Rows:
    """Return which row stands where after the order of `count` rows was reversed."""
    return lambda numbers: count - 1 - numbers
