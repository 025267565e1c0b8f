"""Where two tables differ, told from the figures alone: one value, one row, one column, a stretch of rows."""

from __future__ import annotations

import math
from dataclasses import replace

from pecli.comparison.figures import Figures, Place
from pecli.comparison.results import ArrayComparison, Finding

LEAST = 8  # rows that do not differ, at least, where all others do: some are alike by nature, as those of position 0
SOME = 0.5  # share of the rows or columns up to which it says something where they are


def places(arrays: list[ArrayComparison]) -> list[Finding]:
    """Return where the values differ, for each array that differs in some of its rows or columns only."""
    said = ((array, _where(array)) for array in arrays)
    return [Finding("place", f"{array.name}: {text}") for array, text in said if text is not None]


def stretches(arrays: list[ArrayComparison]) -> list[Finding]:
    """Return the rows that differ, for each array of which some at an end do not, however many those are."""
    said = ((array, _stretch(array)) for array in arrays)
    return [Finding("place", f"{array.name}: {text}") for array, text in said if text is not None]


def _stretch(array: ArrayComparison) -> str | None:
    """Say from which to which row all differ; None where they do not, or nearly all rows are among them."""
    figures, first, last = array.figures, array.figures.first, array.figures.last
    if first is None or last is None or figures.unequal != figures.beyond or array.shape[0] != _rows(array):
        return None
    rows = figures.unequal_rows
    if last.index[0] - first.index[0] + 1 != rows or rows > _rows(array) - LEAST:
        return None
    count = f"{figures.unequal:,} values"
    return f"rows {first.index[0]} to {last.index[0]} differ, in {count}"


def _rows(array: ArrayComparison) -> int:
    """Return how many rows were compared."""
    return max(1, array.figures.compared // max(1, len(array.columns) // array.parts))


def few_rows(array: ArrayComparison) -> bool:
    """Whether an array differs in the smaller part of its rows."""
    return array.figures.unequal_rows <= SOME * _rows(array)


def _where(array: ArrayComparison) -> str | None:
    """Say where an array differs; None if everywhere, or nowhere."""
    figures = array.figures
    first, last = figures.first, figures.last
    if first is None or last is None or figures.unequal != figures.beyond:
        return None
    columns = sorted({k // array.parts for k, off in enumerate(array.columns) if off})
    wide = len(array.columns) // array.parts
    if figures.unequal == 1:
        return f"one value differs, at {at(first)}: {first.left:.9g} where {first.right:.9g} was expected"
    rows = figures.unequal_rows
    of_rows = _rows(array)
    if len(columns) == 1 and wide > 1:
        return f"column {columns[0]} differs, in {rows:,} of {of_rows:,} rows"
    if rows > SOME * of_rows and len(columns) > SOME * wide:
        return None
    count = f"{figures.unequal:,} values" + ("" if len(columns) == wide else _in_columns(columns))
    if rows == 1:
        return f"one row differs, {first.index[0]}, in {count}"
    if array.shape[0] == of_rows and last.index[0] - first.index[0] + 1 == rows:
        return f"rows {first.index[0]} to {last.index[0]} differ, in {count}"
    return f"{rows:,} of {of_rows:,} rows differ, in {count}, the first at {at(first)}, the last at {at(last)}"


def _in_columns(columns: list[int]) -> str:
    """Say how many columns, and which if they are neighbours; empty where they are not known."""
    if not columns:
        return ""
    together = columns[-1] - columns[0] + 1 == len(columns) > 1
    return f" of {len(columns):,} columns" + (f", {columns[0]} to {columns[-1]}" if together else "")


def at(place: Place) -> str:
    """Return a place as it is written: pe[300, 7]."""
    return f"{place.array}[{', '.join(map(str, place.index))}]"


def rest(left: Figures, part: tuple[int, int] | None = None) -> Finding:
    """Return what a finding leaves unexplained: how many values, by how much, and where the first is.

    Of a part of the rows, `part` is the first of them and the distance of two.
    """
    assert left.first is not None
    first, (row, step) = left.first, part or (0, 1)
    first = replace(first, index=(row + step * first.index[0], *first.index[1:])) if part else first
    count = f"{left.unequal:,} of {left.compared:,} values"
    most = f", by at most {left.max_abs:.2g}" if math.isfinite(left.max_abs) else ""
    return Finding("rest", f"that leaves {count} unexplained{most}, the first at {at(first)}")
