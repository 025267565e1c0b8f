"""Fits: the table of a candidate compared with every value of a file, and where it does not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pecli.errors import PecliError
from pecli.judge.description import Candidate, Fit
from pecli.judge.orders import numbered
from pecli.judge.planes import Plane, effective_dtype
from pecli.judge.tally import BlockDifferences, Tally
from pecli.numbers.dtypes import GRIDS
from pecli.spec.hooks import Values
from pecli.spec.profiles import Floats, units
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table

# Values compared at once: their temporaries take some 50 MB.
BLOCK_VALUES = 1 << 20
# Number of lines from which the effective type and the stand-in for minus infinity are read.
SAMPLE_LINES = 64
# Share of the first lines that a candidate must explain to be compared as a whole.
MIN_SHARE_EXPLAINED = 0.5
# Finite stand-ins for minus infinity in common programs; those below -3e38 are minima of float32 and bfloat16.
MASK_NUMBERS = (-65504.0, -1e9, -1e4, -1e5)
# Smallest size of a negative number that may replace minus infinity; -1e4 with a positive bias is a little less.
MASK_GAP = 9e3
# Share of the values that a likely recipe explains.
MIN_SHARE_LIKELY = 0.99


class Lines:
    """Values of one array as float64 lines along the last axis; axes of length 1 are left out.

    A masked value is minus infinity, whatever number the file has for it.

    Attributes
    ----------
    table : Tabular
    name : str
    order : tuple of int, optional
        Axes in another order, counted without those of length 1; the array is held in memory then.
    shape : tuple of int
        Without axes of length 1, in that order; or as given, where lines follow one another in one row.
    note : str
        How the array is read otherwise than as it is; "" as it is.
    """

    def __init__(
        self, table: Tabular, name: str, note: str = "", order: tuple[int, ...] | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self.table, self.name, self.note, self.order = table, name, note, order
        self.array = array = table.array(name)
        self.dtype = array.dtype
        kept = tuple(side for side in array.shape if side != 1)
        self.shape = shape or (kept if order is None else tuple(kept[axis] for axis in order))
        self.width = self.shape[-1] if self.shape else 1
        self.count = math.prod(self.shape) // max(1, self.width)
        self.plane = Plane(table, array, name, self.count, self.width)
        if order is not None:
            values = table.read(name).reshape(kept).transpose(order).reshape(-1, self.width)
            self.plane = replace(self.plane, values=np.ascontiguousarray(values))
        self.low: float | None = None  # the largest stand-in for minus infinity
        if self.dtype in GRIDS and not isinstance(table, Table):
            self.low, self.low_text = _mask_number(self.sample)
        if self.low is not None:
            self.__dict__.pop("sample")

    def read(self, start: int, stop: int) -> Floats:
        """Return lines `start` to `stop`, (stop - start, width)."""
        values = self.plane.read(start, stop)
        return values if self.low is None else np.where(values <= self.low, -np.inf, values)

    @cached_property
    def sample(self) -> Floats:
        """Lines from the whole array, evenly spaced, the first and the last among them."""
        if self.count * self.width <= BLOCK_VALUES:
            return self.read(0, self.count)
        many = max(2, min(SAMPLE_LINES, BLOCK_VALUES // self.width))
        places = np.unique(np.linspace(0, self.count - 1, many).astype(int)).tolist()
        return np.concatenate([self.read(at, at + 1) for at in places])

    @cached_property
    def effective_dtype(self) -> str:
        """The effective dtype: the narrowest that holds the sample exactly."""
        return effective_dtype(self.sample, self.dtype if self.dtype in GRIDS else "float64", 1)

    @cached_property
    def integral(self) -> bool:
        """Whether the sample holds whole numbers alone."""
        values = self.sample[np.isfinite(self.sample)]
        return bool(values.size) and bool((values == np.rint(values)).all())

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield the first line and the values of each block of lines."""
        step = max(1, BLOCK_VALUES // max(1, self.width))
        for start in range(0, self.count, step):
            yield start, self.read(start, min(self.count, start + step))


def _mask_number(values: Floats) -> tuple[float | None, str]:
    """Return the largest stand-in for minus infinity, far below all other values, and the text of all of them.

    The number may have been added to a bias: then it is off by no more than the bias.
    """
    finite = np.unique(values[np.isfinite(values)])
    low = finite[finite <= -MASK_GAP]
    others = finite[len(low) :]
    size = np.abs(others).max(initial=0.0)
    if not len(low) or 2 * size > -low[-1] or len(finite) == 1:
        return None, ""
    number = min(MASK_NUMBERS, key=lambda number: abs(low[-1] - number)) if low[0] > -3e38 else low[0]
    if np.abs(low[[0, -1]] - number).max() > size + units(low[:1], "float16")[0] * (size > 0):
        return None, ""
    return float(low[-1]), f"{low[0]:g}" if len(low) == 1 else f"{low[0]:g} to {low[-1]:g}"


def _differences(start: int, actual: Floats, other: Floats, dtype: str, candidate: Candidate) -> BlockDifferences:
    """Return the differences of two blocks whose first line has this number."""
    odd = np.flatnonzero((actual != other) & ~(np.isnan(actual) & np.isnan(other)))
    a, b = actual.ravel()[odd], other.ravel()[odd]
    unit = units(np.maximum(np.abs(a), np.abs(b)), dtype)
    fits = np.abs(a - b) <= candidate.ulp * unit + candidate.absolute * float(units(np.ones(1), dtype)[0])
    line, column = np.divmod(odd, actual.shape[1])
    return BlockDifferences.of(0, actual.size, line + start, column, a, b, unit, fits)


def _places(tally: Tally, lines: Lines) -> tuple[str, ...]:
    """Return where the values are that do not fit: whole heads, then rows, then columns, then a single place."""
    if not tally.unexplained:
        return ()
    _, line, column, actual, expected = tally.singles[0]
    index = [*map(int, np.unravel_index(line, lines.shape[:-1])), column]
    example = f"the first is {actual:g} at {index}, expected {expected:g}"
    names = {1: ("line",), 2: ("row", "column"), 3: ("head", "query", "key")}.get(len(lines.shape), ())
    counts = tally.rows.reshape(lines.shape[:-1])
    by_axis = [counts.sum(axis=tuple(k for k in range(counts.ndim) if k != axis)) for axis in range(counts.ndim)]
    where = ""
    for name, many in zip(names, (*by_axis, *tally.columns), strict=False):
        found = np.flatnonzero(many)
        if len(found) < len(many) and len(found) <= max(1, len(many) // 2):
            whole = (many[found] == tally.count // len(many)).all()
            where = f", {'all' if whole else 'all of them'} in {numbered(name, found)}"
            break
    return (f"{tally.unexplained:,} of {tally.count:,} values do not fit{where}; {example}",)


def make(candidate: Candidate, dtype: str) -> Table | None:
    """Return the table of a candidate; None where its parameters contradict each other."""
    given: dict[str, Any] = dict(candidate.table)
    if "len" in given:
        given["length"] = given.pop("len")
    if "length" in given:
        given["length"] = int(given["length"])
    try:
        return Table.make(Recipe.bind(candidate.name, **candidate.keys), dtype=dtype, **given)
    except PecliError:
        return None


def recipe_text(table: Table) -> str:
    """Return the recipe of a table without parameters at their defaults."""
    name, keys = split_recipe(table.title)
    if table.request.dtype == "float32" or not any(array.dtype in GRIDS for array in table.arrays):
        del keys["dtype"]
    return join_recipe(name, keys)


def fit(candidate: Candidate, table: Tabular, reading: Lines | None = None) -> Fit | None:
    """Compare the table of a candidate with every value of a file.

    Arrays are matched by their shapes without axes of length 1. Copies of the expected array along a leading
    axis (a batch) are compared one by one. A bias whose numbers are trained is compared with the pattern that
    the candidate's index gives.

    Parameters
    ----------
    candidate : Candidate
    table : Tabular
        The file.
    reading : Lines, optional
        One of its arrays with the axes in another order.

    Returns
    -------
    Fit or None
        None where the candidate makes no table, no array of it has the shape of one of the file's, or the first
        values do not fit.
    """
    with np.errstate(all="ignore"):
        held = arrays_of(table, reading)
        if not held:
            return None
        floats = [lines for lines in held if lines.dtype in GRIDS]
        own = floats[0].dtype if floats else "float64" if np.abs(held[0].sample).max() > 1 << 24 else "float32"
        found = _fit(candidate, held, own, own)
        effective_dtype = floats[0].effective_dtype if floats else own
        if effective_dtype != own and (found is None or found.equal < 1.0):
            other = _fit(candidate, held, effective_dtype, effective_dtype)
            if other is not None and (found is None or other.unexplained < found.unexplained):
                found = other
        return found


def arrays_of(table: Tabular, reading: Lines | None = None) -> list[Lines]:
    """Return the arrays of real numbers of a file, one of them as a reading has it."""
    readable = [a.name for a in table.arrays if not a.dtype.startswith("complex") and 0 not in a.shape]
    held = [reading] if reading is not None else []
    return held + [Lines(table, name) for name in readable if reading is None or name != reading.name]


def _fit(candidate: Candidate, held: list[Lines], dtype: str, unit: str) -> Fit | None:
    made = make(candidate, dtype)
    return None if made is None else fit_table(candidate, made, held, unit)


def fit_table(
    candidate: Candidate, made: Table, held: list[Lines], unit: str, change: Values | None = None
) -> Fit | None:
    """Compare a table, after a change, with every value of a file's arrays, in units in the last place; see `fit`."""
    own = [Lines(made, array.name) for array in made.arrays]
    tallies: list[Tally] = []
    arrays: list[str] = []
    places: list[str] = []
    for lines in held:
        other = next((o for o in own if _matches(lines, o)), None)
        index = next((o for o in own if o.name == "index" and lines.shape[-len(o.shape) :] == o.shape), None)
        if other is not None and not candidate.trained:
            if not _likely(lines, other, unit, candidate, change):
                return None
            pairs = _values(lines, other)
            if change is not None:
                pairs = ((start, actual, change(other.name, values, start)) for start, actual, values in pairs)
        elif index is not None and lines.dtype in GRIDS:
            pairs = _pattern(lines, index)
        else:
            continue
        one = Tally.of([lines.plane])
        for start, actual, expected in pairs:
            one.add(_differences(start, actual, expected, unit, candidate))
            if one.unexplained > (1 - MIN_SHARE_EXPLAINED) * max(one.count, lines.count * lines.width / 2):
                return None
        if one.explained < MIN_SHARE_EXPLAINED:
            return None
        arrays.append(lines.name)
        places += _places(one, lines)
        tallies.append(one)
    if not arrays:
        return None
    count, equal, unexplained = (sum(getattr(one, key) for one in tallies) for key in ("count", "equal", "unexplained"))
    worst, residual = (max(getattr(one, key) for one in tallies) for key in ("worst", "residual"))
    how = "trained" if candidate.trained else "exact" if equal + unexplained == count else unit
    return Fit(candidate, made, count, equal / count, worst, how, unexplained, tuple(places), residual, tuple(arrays))


def _likely(actual: Lines, other: Lines, unit: str, candidate: Candidate, change: Values | None) -> bool:
    """Whether some blocks of lines, spread over the array, fit so well that all values should be compared."""
    if actual.count * actual.width <= BLOCK_VALUES:
        return True
    some, tally = max(1, BLOCK_VALUES // (8 * SAMPLE_LINES * actual.width)), Tally.of([actual.plane])
    for start in np.unique(np.linspace(0, other.count - some, SAMPLE_LINES).astype(int)).tolist():
        values = other.read(start, start + some)
        values = values if change is None else change(other.name, values, start)
        tally.add(_differences(start, actual.read(start, start + some), values, unit, candidate))
    return tally.explained >= MIN_SHARE_EXPLAINED


def _matches(actual: Lines, other: Lines) -> bool:
    """Whether an array has the expected shape, or holds copies of it along a leading axis."""
    if actual.shape == other.shape or (actual.count == other.count and actual.width == other.width > 1):
        return True
    tail = other.shape[1:]
    repeated = (
        len(actual.shape) == len(other.shape) > 1 and actual.shape[1:] == tail and actual.shape[0] > other.shape[0]
    )
    batched = len(actual.shape) == len(other.shape) + 1 and actual.shape[1:] == other.shape and len(other.shape) > 1
    lost = actual.shape[1:] == other.shape and len(other.shape) == 1 and 1 in other.array.shape[:-1]
    return batched or lost or (repeated and actual.shape[0] % other.shape[0] == 0)


def _values(actual: Lines, other: Lines) -> Iterator[tuple[int, Floats, Floats]]:
    if actual.count == other.count:
        for start, values in actual.blocks():
            yield start, values, other.read(start, start + len(values))
        return
    step = max(1, BLOCK_VALUES // max(1, actual.width))
    for copy in range(0, actual.count, other.count):
        for start in range(0, other.count, step):
            stop = min(other.count, start + step)
            yield copy + start, actual.read(copy + start, copy + stop), other.read(start, stop)


def _pattern(actual: Lines, index: Lines) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield trained values with the commonest value of each index, head by head; hidden values always fit."""
    entries = index.read(0, index.count).astype(np.int64)
    entries -= entries.min()
    seen = np.flatnonzero(~np.isneginf(actual.read(0, index.count)))
    flat = entries.reshape(-1)[seen]
    order, counts = np.argsort(flat, kind="stable"), np.bincount(flat, minlength=int(entries.max()) + 1)
    first = np.cumsum(counts) - counts
    three = [first + (share * np.maximum(counts - 1, 0)).astype(int) for share in (0.0, 0.5, 1.0)]
    shown = seen[order[np.minimum(three, len(order) - 1)]]
    for start in range(0, actual.count, index.count):
        values = actual.read(start, start + index.count)
        middle = np.sort(values.reshape(-1)[shown], axis=0)[1]  # the middle one of three
        yield start, values, np.where(np.isneginf(values), values, middle[entries])


def better(found: Fit, best: Fit | None) -> bool:
    """Whether a fit explains more than another, or as much from a more exact calculation."""
    if best is None:
        return True
    actual, other = (
        (round(f.explained, 4), f.equal == 1.0, not f.candidate.doubts, -f.max_ulp, -f.candidate.fitted)
        for f in (found, best)
    )
    return actual > other
