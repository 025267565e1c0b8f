"""A part of two tables in which all their differences lie: some arrays, a stretch of rows, every so many rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pecli.comparison.results import ArrayComparison, Comparison, Finding
from pecli.declare.changes import Change
from pecli.diagnosis.case import Case, read_rows
from pecli.diagnosis.mistakes import changed
from pecli.measures.lanes import Lane
from pecli.records import dataclass
from pecli.tables.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

DENSE = 0.5  # of a stretch of rows, at least, differ
NEARLY = 0.9  # of all rows: those that do not differ may be alike by nature
LARGEST = 1 << 23  # values among which blank rows are looked for
LEAST = 16  # values that must differ: fewer are as many faults would leave them
ENDINGS = {1: "st", 2: "nd", 3: "rd"}  # of ordinal numbers


@dataclass(frozen=True)
class Part:
    """What differs of two tables.

    Attributes
    ----------
    text : str
        Where that is.
    case : Case
        Its rows beside the expected ones.
    table : Table or None
        What computes the expected ones.
    """

    text: str
    case: Case
    table: Table | None


@dataclass(frozen=True, kw_only=True)
class Every(Lane):
    """Rows of an array at a distance from each other."""

    step: int = 1

    def fill(self, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows into `out`."""
        out[...] = self.read(start, stop)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        found: NDArray[Any] = super().read(start * self.step, (stop - 1) * self.step + 1)[:: self.step]
        return found


def parts_of(case: Case, table: Table | None, found: Comparison) -> Iterator[Part]:
    """Yield parts in which all differences lie, the largest first; none that is the whole, or too little to tell by."""
    differ = [array for array in found.arrays if array.figures.unequal]
    names = {array.name for array in differ}
    kept = [k for k, name in enumerate(case.names) if name in names]
    counts = {lane.shape[0] for side in (case.mine, case.expected) for lane in (side[k] for k in kept) if lane.lead}
    if len(kept) < len(differ) or len(counts) != 1 or found.total.unequal < LEAST:
        return
    (count,) = counts
    for first, stop, step in _rows(differ, count):
        if step > 1 and any(type(lane) is not Lane or lane.lead != 1 for lane in (*case.mine, *case.expected)):
            continue
        text = _words(names if len(kept) < len(case.names) else set(), (first, stop, step), count, case.expected[0])
        mine, expected = ([_lane(side[k], first, stop, step) for k in kept] for side in (case.mine, case.expected))
        here = replace(case, mine=mine, expected=expected, exact=(), first=0)
        here = here if stop - first == count else replace(here, part=(first, step))
        if text and here.compared(expected).unequal == found.total.unequal:
            some = table if stop - first == count else _some_rows(table, here, first, step)
            exact = here.beside(some.as_type("float64")) if some is not None and case.exact else None
            yield Part(text, replace(here, exact=exact or ()), some)


def beside_blank(case: Case, table: Table | None) -> Iterator[tuple[Finding, Part]]:
    """Yield that the first rows, or the last, are zero or NaN where others were expected, and what is beside them."""
    lanes = (*case.mine, *case.expected)
    if case.part is not None or any(lane.lead != 1 for lane in lanes):
        return
    count, size = case.rows, sum(lane.rows * lane.row_size for lane in lanes)
    if size > LARGEST:
        return
    mine, expected = (
        np.concatenate([read_rows(lane, 0, count) for lane in side], axis=1) for side in (case.mine, case.expected)
    )
    zeros: NDArray[np.bool_] = (mine == 0).all(axis=1) & (expected != 0).any(axis=1)
    for word, rows in (("zero", zeros), ("NaN", np.isnan(mine).all(axis=1))):
        if not rows.any() or rows.all():
            continue
        first, last = int(np.argmin(rows)), count - int(np.argmin(rows[::-1]))
        if bool(first) == (last < count) or np.count_nonzero(rows) != first + count - last:
            continue
        blank, left = (slice(0, first), slice(first, count)) if first else (slice(last, count), slice(0, last))
        verb = "is" if blank.stop - blank.start == 1 else "are"
        said = f"{_words(set(), (blank.start, blank.stop, 1), count, case.expected[0])} {verb} {word}"
        here = replace(
            case,
            mine=[_lane(lane, left.start, left.stop, 1) for lane in case.mine],
            expected=[_lane(lane, left.start, left.stop, 1) for lane in case.expected],
            exact=(),
            first=0,
            part=(left.start, 1),
        )
        text = _words(set(), (left.start, left.stop, 1), count, case.expected[0])
        yield Finding("rows", said), Part(text, here, _some_rows(table, here, left.start, 1))


def _rows(arrays: list[ArrayComparison], count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the rows in which arrays may differ, as a range: every so many, or a stretch of them."""
    firsts = [a.figures.first.index[0] for a in arrays if a.figures.first is not None and a.figures.first.index]
    lasts = [a.figures.last.index[0] for a in arrays if a.figures.last is not None and a.figures.last.index]
    if len(firsts) < len(arrays) or len(lasts) < len(arrays):
        return
    most = max(range(len(arrays)), key=lambda k: arrays[k].figures.unequal_rows)
    rows, span = arrays[most].figures.unequal_rows, lasts[most] - firsts[most]
    if rows > 2 and span >= rows and span % (rows - 1) == 0:
        yield min(firsts), max(lasts) + 1, span // (rows - 1)
    rows = rows if len(arrays[most].shape) < 3 else span + 1
    if rows >= NEARLY * count:
        yield 0, count, 1
    if rows >= DENSE * (max(lasts) + 1 - min(firsts)):
        yield min(firsts), max(lasts) + 1, 1


def _lane(lane: Lane, first: int, stop: int, step: int) -> Lane:
    """Return rows `first` to `stop` of a lane, or heads, at a distance."""
    per = lane.rows // lane.shape[0]
    shape = (len(range(first, stop, step)), *lane.shape[1:])
    if step == 1:
        return replace(lane, first=lane.first + first * per, shape=shape)
    return Every(**{**vars(lane), "first": lane.first + first, "shape": shape, "step": step})


def _some_rows(table: Table | None, case: Case, first: int, step: int) -> Table | None:
    """Return what computes some rows; None where it does not give them, because they depend on the others."""
    if table is None or table.part.start is None or table.part.step is None:
        return None
    shift = table.part.start + first * table.part.step - table.part.start * step
    made = changed(table, Change("rows", "", shift=shift, step=Fraction(step)), count=case.rows)
    lanes = None if made is None else case.beside(made)
    expected = None if lanes is None else replace(case, mine=lanes).compared(case.expected)
    return made if expected is not None and not expected.unequal else None


def _words(names: set[str], rows: tuple[int, int, int], count: int, lane: Lane) -> str:
    """Say where a part is; empty for the whole."""
    (first, stop, step), unit = rows, "head" if lane.array.axes[0] == "head" else "row"
    said = [" and ".join(sorted(names))] if names else []
    if step > 1:
        last = first + (stop - 1 - first) // step * step
        until = "" if last + step >= count else f" to {unit} {last}"
        ending = ENDINGS.get(step % 10, "th") if step // 10 % 10 != 1 else "th"
        said.append(f"every {step}{ending} {unit} from {unit} {first} on{until}")
    elif stop - first < count:
        until = "and up" if stop == count else f"to {stop - 1}"
        said.append(f"{unit} {first}" if stop - first == 1 else f"{unit}s {first} {until}")
    return ", ".join(said)
