"""Place and kind of a change between two tables, where no parameter of an encoding explains it.

Every candidate says what it makes of the expected values. It is a finding only if that gives the values at hand, over
all rows of all arrays, but for a counted remainder. Simple changes are tried before complicated ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.results import Finding
from pecli.judge.orders import NAN, UNKNOWN, ZERO, Integers, along_axis, descriptions, match, ordinal, whole_rows
from pecli.judge.rounding import cut, effective_dtype, rounded, units
from pecli.numbers.dtypes import GRIDS, REAL, real_type
from pecli.numbers.printing import figure
from pecli.numbers.rounding import widen

Floats = NDArray[np.float64]
Values = Callable[[Floats], Floats]

BLOCK_VALUES = 1 << 20  # values read at once: 8 MiB in float64
SAMPLE_VALUES = 1 << 20  # values of each array that candidates are fitted to
SAMPLE_ROWS = 2048  # rows among them: the first, the last and some between
KEY_VALUES = 1 << 22  # values by which rows are told from each other: columns, evenly spread
MAX_KEYS = 64  # columns among them
MAX_APART = 4  # rows between two wanted ones that are read with them
MAX_HELD = 1 << 22  # values of a table whose axes are exchanged in memory
MAX_ULP = 2  # units of the largest expected value within which a value is the expected one; two roundings
MAX_NOISE = 0.01  # of the largest expected value: float32 phases at position 131072 are off by 0.008
MAX_REST_SHARE = 0.01  # of the values may be left over; raised, half of a table is called a detail
MAX_REST_OF_DIFFERING = 0.1  # of the differing values may be left over, or a finding explains too little of them
MAX_SINGLE = 8  # values that are said one by one
MAX_SINGLE_SHARE = 0.1  # of all values of an array: two rows of a small table are rows
MAX_NAMED = 3  # indices that a place lists
MAX_DECIMALS = 9  # decimals that values may have been printed with
MIN_FITTED = 3  # values that a factor or an offset is fitted to
MIN_CONTRAST = 8  # times as far as noise a value must be off, or a mean of the noise would be called an offset
MAX_UNKNOWN_SHARE = 0.5  # of the rows or columns may be none of the expected ones


@dataclass(frozen=True)
class Array2:
    """One array, read in blocks of rows; the first `lead` axes number rows.

    `read(start, stop)` returns the rows in their stored type (bfloat16: uint16 bits).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[int, int], NDArray[Any]]
    lead: int = 1
    axes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return math.prod(self.shape[: self.lead])

    @property
    def width(self) -> int:
        """Real numbers of a row: a complex value is two."""
        return math.prod(self.shape[self.lead :]) * (2 if self.dtype in REAL else 1)

    def floats(self, start: int, stop: int) -> Floats:
        """Return rows as float64, (stop - start, width)."""
        values = np.asarray(self.read(start, stop))
        if self.dtype == "bfloat16" and values.dtype == np.uint16:
            values = widen(values, "bfloat16")
        if values.dtype.kind == "c":
            values = np.ascontiguousarray(values).view(values.real.dtype)
        return values.astype(np.float64).reshape(stop - start, self.width)

    def word(self, axis: int) -> str:
        """Return what an axis of rows numbers; a bias (heads, q, k) whose axes have no names is square."""
        if self.axes and self.axes[axis] in ("head", "batch"):
            return self.axes[axis]
        if axis == self.lead - 1:
            return "row"
        square = not self.axes and len(self.shape) == 3 and self.shape[1] == self.shape[2]
        return "head" if square else "block" if axis == 0 else f"axis-{axis} block"

    def at(self, row: int, column: int) -> str:
        """Return a place as it is written: cos[300, 7]."""
        column //= 2 if self.dtype in REAL else 1
        width = max(1, math.prod(self.shape[self.lead :]))
        index = np.unravel_index(row * width + column, self.shape or (1,))
        return f"{self.name}[{', '.join(map(str, map(int, index)))}]"


def arrays_of(given: Any) -> list[Array2]:
    """Return a mapping of names to ndarrays, ndarrays, or anything with `read(start, stop)` as :class:`Array2`."""
    if isinstance(given, Mapping):
        return [_held(name, values) for name, values in given.items()]
    found = list[Array2]()
    for one in [given] if isinstance(given, np.ndarray) else given:
        if isinstance(one, np.ndarray):
            found.append(_held("", one))
        elif isinstance(one, Array2):
            found.append(one)
        else:
            axes = tuple(getattr(getattr(one, "array", one), "axes", ()))
            found.append(Array2(one.name, tuple(one.shape), one.dtype, one.read, getattr(one, "lead", 1), axes))
    return found


def _held(name: str, values: NDArray[Any]) -> Array2:
    kind = "bfloat16" if values.dtype.name in ("uint16", "bfloat16") else values.dtype.name
    values = values.view(np.uint16) if values.dtype.name == "bfloat16" else values
    lead = max(1, values.ndim - 1)
    shape = values.shape or (1,)
    rows = values.reshape(math.prod(shape[:lead]), *shape[lead:])
    return Array2(name, shape, kind, lambda start, stop: rows[start:stop], lead)


def located(actual: Any, expected: Any) -> list[Finding]:
    """Return where and how arrays differ from the expected ones, the cause first; [] where no value does.

    Parameters
    ----------
    actual, expected : sequence of Array2 or ndarray, or mapping of names to ndarrays
        In the same order. Where shapes differ, the last axis counts columns and all others rows.
    """
    mine, theirs = arrays_of(actual), arrays_of(expected)
    pairs = [
        ArrayPair(replace(a, name=a.name or b.name), b, k)
        for k, (a, b) in enumerate(zip(mine, theirs, strict=False))
        if a.rows * a.width and b.rows * b.width
    ]
    with np.errstate(all="ignore"):
        if not pairs:
            return []
        differing = [pair for pair in pairs if not pair.same_shape or pair.overview.unequal]
        if not differing:
            return []
        return _located(pairs, differing)


@dataclass
class Unexplained:
    """Values of all rows that a change does not explain."""

    compared: int = 0
    unequal: int = 0
    beyond: int = 0
    largest: float = 0.0
    most_units: int = 0
    first: tuple[int, int] | None = None
    worst: tuple[int, int] | None = None
    rows: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    columns: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    values: list[tuple[int, int, float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class ArrayPair:
    """An array and the expected one."""

    mine: Array2
    theirs: Array2
    number: int

    @property
    def same_shape(self) -> bool:
        """Whether the rows and columns of both number the same places."""
        return (self.mine.rows, self.mine.width) == (self.theirs.rows, self.theirs.width)

    @cached_property
    def places(self) -> Integers:
        """Rows of the sample, which both have."""
        count = min(self.mine.rows, self.theirs.rows)
        most = min(count, SAMPLE_ROWS, max(8, SAMPLE_VALUES // max(1, self.mine.width)))
        return np.unique(np.linspace(0, count - 1, most).astype(np.int64))

    @cached_property
    def exact(self) -> Floats:
        """The expected values of the sample, before they are rounded."""
        return _rows_at(self.theirs, self.places)

    @cached_property
    def sample(self) -> tuple[Floats, Floats]:
        """The values of the sample, at hand and expected."""
        return _rows_at(self.mine, self.places), self.as_stored(self.exact)

    @cached_property
    def grain(self) -> str:
        """Type whose rounding the values have: the narrowest that holds those at hand."""
        kind = self.mine.dtype
        return effective_dtype(self.sample[0], real_type(kind)) if kind in UNITS else kind

    @cached_property
    def scale(self) -> float:
        """Size of the largest expected value of the sample."""
        sizes = np.abs(self.exact)
        return float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0

    def near(self, how: str) -> float:
        """Return the distance within which a value is the expected one: of a stored or effective type, or of noise."""
        if self.mine.dtype not in UNITS:
            return 0.0
        if how == "noise":
            return max(self.near("effective"), MAX_NOISE * self.scale)
        stored = real_type(self.theirs.dtype) if self.theirs.dtype in UNITS else "float64"
        mine = self.grain if how == "effective" else real_type(self.mine.dtype)
        return MAX_ULP * 2 * max(GRIDS[name].rounding for name in (mine, stored)) * self.scale

    def expected(self, rows: Integers) -> Floats:
        """Return expected rows, rounded to the stored type of those at hand."""
        return self.as_stored(_rows_at(self.theirs, rows))

    def as_stored(self, values: Floats) -> Floats:
        """Return values rounded to the stored type of those at hand."""
        return rounded(values, real_type(self.mine.dtype)) if self.mine.dtype in UNITS else values

    @cached_property
    def overview(self) -> Unexplained:
        """What differs with nothing changed."""
        return rest_of(self, NOTHING, 0.0)


UNITS = (*GRIDS, *REAL)


def _rows_at(array: Array2, rows: Integers) -> Floats:
    """Return rows in any order; NaN for `UNKNOWN` and `NAN`, zeros for `ZERO`."""
    found = np.zeros((len(rows), array.width))
    found[(rows == UNKNOWN) | (rows == NAN)] = np.nan
    known = np.flatnonzero((rows >= 0) & (rows < array.rows))
    known = known[np.argsort(rows[known], kind="stable")]
    wanted, most = rows[known], max(1, BLOCK_VALUES // max(1, array.width))
    first = 0
    while first < len(known):  # rows that lie close together are read at once
        last = int(np.searchsorted(wanted, wanted[first] + most))
        apart = np.flatnonzero(np.diff(wanted[first:last]) > MAX_APART)
        last = first + int(apart[0]) + 1 if apart.size else last
        block = array.floats(int(wanted[first]), int(wanted[last - 1]) + 1)
        found[known[first:last]] = block[wanted[first:last] - wanted[first]]
        first = last
    return found


@dataclass(frozen=True)
class PossibleChange:
    """What the expected values become.

    Attributes
    ----------
    kind, text : str
        As in a finding.
    of : mapping of int to (rows, columns, values)
        For each array that changes, by its number: the expected row of each place, the expected column of each place,
        a function of the values (n, width) and the first row's number. None for what stays.
    source : mapping of int to int
        Array that stands in the place of another.
    """

    kind: str
    text: str
    of: Mapping[int, Any]
    source: Mapping[int, Any] = field(default_factory=dict)

    def values(self, pair: ArrayPair, start: int, stop: int) -> Floats:
        """Return the changed rows."""
        return self.at(pair, np.arange(start, stop))

    def at(self, pair: ArrayPair, places: Integers) -> Floats:
        """Return the changed rows of some places."""
        order, columns, work = self.of.get(pair.number, (None, None, None))
        if places is pair.places and order is None and pair.number not in self.source:
            values = pair.exact
        else:
            theirs = self.source.get(pair.number, pair.theirs)
            values = _rows_at(theirs, places if order is None else order[places])
        values = values if columns is None else values[:, columns]
        values = values if work is None else work(values, places)
        return pair.as_stored(values)

    def silent(self, pair: ArrayPair) -> Integers | None:
        """Return the map of rows, whose unknown ones are named by the text and not compared."""
        order = self.of.get(pair.number, (None, None, None))[0]
        return None if order is None else np.asarray(order)


Changes = Iterator[PossibleChange]
NOTHING = PossibleChange("", "", {})


def _gaps(a: Floats, b: Floats) -> Floats:
    """Return abs(a - b); 0 between equal infinities and between NaNs, infinite between a number and NaN."""
    off = np.abs(a - b)
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isnan(off), np.inf, off))


def rest_of(pair: ArrayPair, change: PossibleChange, near: float, most: float = math.inf) -> Unexplained:
    """Compare all rows of an array with what a change makes of the expected ones; stop at more than `most` beyond."""
    rest, order = Unexplained(), change.silent(pair)
    stored = pair.mine.dtype
    columns = np.zeros(pair.mine.width, np.bool_)
    rows = list[Integers]()
    count = min(pair.mine.rows, pair.theirs.rows) if order is None else len(order)
    step = max(1, BLOCK_VALUES // max(1, pair.mine.width))
    for start in range(0, count, step):
        stop = min(start + step, count)
        mine, made = pair.mine.floats(start, stop), change.values(pair, start, stop)
        if mine.shape != made.shape:
            return Unexplained(mine.size, mine.size, mine.size, math.inf)
        known = slice(None) if order is None else order[start:stop] != UNKNOWN
        off = _gaps(mine, made)
        if order is not None:
            off[order[start:stop] == UNKNOWN] = 0.0
        differ = off > 0
        rest.compared += mine[known].size
        if not differ.any():
            continue
        at = np.argwhere(differ)
        rest.unequal += len(at)
        rest.beyond += int(np.count_nonzero(off > near))
        columns |= differ.any(axis=0)
        rows.append(start + np.flatnonzero(differ.any(axis=1)))
        if rest.first is None:
            rest.first = (start + int(at[0, 0]), int(at[0, 1]))
        for row, column in at[: MAX_SINGLE + 1 - len(rest.values)].tolist():
            rest.values.append((start + row, column, float(mine[row, column]), float(made[row, column])))
        if off.max() > rest.largest:
            rest.largest = float(off.max())
            row, column = divmod(int(off.argmax()), off.shape[1])
            rest.worst = (start + row, column)
        if stored in UNITS and rest.largest < math.inf:
            rest.most_units = max(rest.most_units, units(mine[differ], made[differ], real_type(stored)))
        if rest.beyond > most:
            break
    rest.rows = np.concatenate(rows) if rows else rest.rows
    rest.columns = np.flatnonzero(columns)
    return rest


def _located(pairs: list[ArrayPair], differing: list[ArrayPair]) -> list[Finding]:
    """Return the findings of all arrays together; where these have nothing in common, of each by itself."""
    if len({array.dtype in REAL for pair in differing for array in (pair.mine, pair.theirs)}) > 1:
        return [place(pair) for pair in differing]
    few = _single(differing)
    if few is not None:
        return few
    tried = list[list[float]]()
    for near in ("stored", "effective", "noise"):
        nears = [pair.near(near) for pair in differing]
        if nears not in tried:
            found = _explained(pairs, differing, nears, loose=near == "noise")
            if found:
                return found
        tried.append(nears)
    if len(differing) > 1:
        own = [_located(pairs, [pair]) for pair in differing]
        if any(findings[0].kind != "place" for findings in own):
            return [finding for findings in own for finding in findings]
    return [place(pair) for pair in differing]


def _explained(pairs: list[ArrayPair], differing: list[ArrayPair], nears: list[float], *, loose: bool) -> list[Finding]:
    """Return the first change that explains all; else the one that leaves least, if that is little."""
    before = [
        rest_of(pair, NOTHING, near).beyond if pair.same_shape else 1
        for pair, near in zip(differing, nears, strict=True)
    ]
    contrast = [
        p.overview.largest / near if near else math.inf
        for p, near in zip(differing, nears, strict=True)
        if p.same_shape
    ]
    if not any(before) or any(found < MIN_CONTRAST for found in contrast):
        return []
    best: tuple[int, list[Finding]] = (1 << 62, [])
    for change in _changes(pairs, differing, nears, loose=loose):
        rests = list[Unexplained]()
        for pair, near, beyond in zip(differing, nears, before, strict=True):
            most = MAX_REST_SHARE * pair.mine.rows * pair.mine.width
            most = min(most, MAX_REST_OF_DIFFERING * beyond) if pair.same_shape else most
            if not _promising(pair, change, near):
                break
            rests.append(rest_of(pair, change, near, most))
            if rests[-1].beyond > most:
                break
        else:
            left = sum(rest.beyond for rest in rests)
            if left < best[0]:
                name = "" if change.text.startswith(differing[0].mine.name + " ") else _names(pairs, differing)
                said = Finding(change.kind, f"{name}: {change.text}" if name else change.text)
                remainder = [_remainder(pair, rest) for pair, rest in zip(differing, rests, strict=True)]
                best = left, [said, *[f for found in remainder for f in found]]
            if not left:
                break
    return best[1]


def _promising(pair: ArrayPair, change: PossibleChange, near: float) -> bool:
    """Tell whether a change explains most of the sample."""
    order = change.silent(pair)
    places = pair.places if order is None else pair.places[pair.places < len(order)][::8]
    mine = pair.sample[0] if order is None else _rows_at(pair.mine, places)
    made = change.at(pair, places)
    if mine.shape != made.shape:
        return False
    off = _gaps(mine, made)
    if order is not None:
        off = off[order[places] != UNKNOWN]
    # twice the share that may be left in all: the sample is not the whole
    return bool(np.count_nonzero(off > near) <= 2 * MAX_REST_SHARE * off.size + MAX_SINGLE)


def _names(pairs: list[ArrayPair], differing: list[ArrayPair]) -> str:
    """Return the names of the arrays that differ, where others do not."""
    return "" if len(differing) == len(pairs) else " and ".join(pair.mine.name for pair in differing)


def _remainder(pair: ArrayPair, rest: Unexplained) -> list[Finding]:
    """Count and locate what a change leaves."""
    if not rest.unequal:
        return []
    if rest.beyond and rest.unequal <= MAX_SINGLE:
        return [_one(pair.mine, *value) for value in rest.values]
    name = f"{pair.mine.name}: " if pair.mine.name else ""
    if rest.beyond:
        where = _region(pair, rest)
        size = "" if math.isinf(rest.largest) else f", by at most {figure(rest.largest, 2)}"
        return [Finding("rest", f"{name}{rest.unequal:,} other values differ as well, in {where}{size}")]
    size = f"{rest.most_units} ulp" if 0 < rest.most_units <= 64 else figure(rest.largest, 2)
    values = "the other value differs" if rest.unequal == 1 else f"the other {rest.unequal:,} values differ"
    return [Finding("rest", f"{name}{values} by at most {size}")]


def _single(differing: list[ArrayPair]) -> list[Finding] | None:
    """Return the values that differ one by one, where they are few."""
    if not all(pair.same_shape for pair in differing):
        return None
    count = sum(pair.overview.unequal for pair in differing)
    size = sum(pair.mine.rows * pair.mine.width for pair in differing)
    if count > max(1, min(MAX_SINGLE, MAX_SINGLE_SHARE * size)):
        return None
    return [_one(pair.mine, *value) for pair in differing for value in pair.overview.values]


def _one(array: Array2, row: int, column: int, here: float, there: float) -> Finding:
    place = array.at(row, column)
    if math.isnan(here):
        return Finding("value", f"NaN at {place}, expected {figure(there, 9)}")
    if math.isinf(here):
        return Finding("value", f"{'-' if here < 0 else ''}infinity at {place}, expected {figure(there, 9)}")
    digits = 9 if f"{here:.6g}" == f"{there:.6g}" else 6
    digits = 17 if f"{here:.9g}" == f"{there:.9g}" else digits
    return Finding("value", f"one value differs: {place} is {here:.{digits}g}, expected {there:.{digits}g}")


def place(pair: ArrayPair) -> Finding:
    """Say where an array differs and by how much, where nothing explains it."""
    name = f"{pair.mine.name} " if pair.mine.name else ""
    if not pair.same_shape:
        shapes = f"has the shape {pair.mine.shape} where {pair.theirs.shape} was expected"
        return Finding("place", f"{name}{shapes}")
    rest = pair.overview
    size = "by NaN or infinity" if math.isinf(rest.largest) else f"by at most {figure(rest.largest, 2)}"
    worst = f" at {pair.mine.at(*rest.worst)}" if rest.worst is not None else ""
    return Finding("place", f"{name}differs in {_region(pair, rest)}, {size}{worst} ({rest.unequal:,} values)")


def _axes(pair: ArrayPair, rest: Unexplained) -> list[tuple[str, Integers, int]]:
    """Return for each axis its word, the indices at which values differ, and its length."""
    array = pair.mine
    leading = array.shape[: array.lead]
    index = np.unravel_index(rest.rows, leading or (1,))
    found = list[tuple[str, Integers, int]]()
    for axis, (at, side) in enumerate(zip(index, leading, strict=False)):
        found.append((array.word(axis), np.unique(at), side))
    found.append(("column", rest.columns, array.width))
    return found


def _region(pair: ArrayPair, rest: Unexplained) -> str:
    """Say in which rows and columns values differ."""
    parts = [_indices(word, at, side) for word, at, side in _axes(pair, rest) if len(at) < side]
    return ", ".join(parts) or "all rows and columns"


def _indices(word: str, at: Integers, side: int) -> str:
    """Say which indices of an axis these are."""
    first, last = int(at[0]), int(at[-1])
    many = "batches" if word == "batch" else f"{word}s"
    if first == last:
        return f"{word} {first}"
    if last - first + 1 == len(at):
        return f"{many} from {first} on" if last == side - 1 else f"{many} {first} to {last}"
    steps = np.diff(at)
    if len(at) > 2 and (steps == steps[0]).all() and last + steps[0] >= side:
        begin = f" from {word} {first} on" if first else ""
        return f"every {ordinal(int(steps[0]))} {word}{begin}"
    if len(at) <= MAX_NAMED:
        return f"{many} {', '.join(map(str, at[:-1].tolist()))} and {last}"
    return f"{len(at):,} of {side:,} {many}, {first} to {last}"


def _changes(pairs: list[ArrayPair], differing: list[ArrayPair], nears: list[float], *, loose: bool) -> Changes:
    """Yield what may have been done to the expected arrays, the simplest first."""
    same = all(pair.same_shape for pair in differing)
    if same and not loose:
        yield from _in_place(differing, nears, [None] * len(differing))
    yield from _exchanged(pairs, differing)
    near = max(near / pair.scale for pair, near in zip(differing, nears, strict=True))
    yield from _column_changes(differing, near)
    yield from _row_changes(differing, near)
    if not loose:
        yield from _other_axes(differing)
    if not same:
        yield from _cropped(differing)
        return
    yield from _in_regions(differing, nears)
    if not loose:
        yield from _factors(differing)


# Values


def _in_place(differing: list[ArrayPair], nears: list[float], regions: Sequence[Region | None]) -> Changes:
    """Yield functions of the values, of whole arrays or of a region of each."""
    kept = list[tuple[Floats, Floats]]()
    for pair, region in zip(differing, regions, strict=True):
        mine, theirs = pair.sample
        if region is not None:
            inside = region.mask(pair.places, mine.shape[1])
            mine, theirs = mine[inside], theirs[inside]
        kept.append((mine.ravel(), theirs.ravel()))
    y, x = (np.concatenate([part[side] for part in kept]) for side in (0, 1))
    if not x.size:
        return
    near = max(nears)
    where = "all values" if regions[0] is None else f"the values of {regions[0].text}"
    for kind, text, function in _functions(y, x, near, differing[0]):
        of = {
            pair.number: (None, None, _worked(function, region))
            for pair, region in zip(differing, regions, strict=True)
        }
        yield PossibleChange(kind, text.format(where=where), of)


def _worked(function: Values, region: Any) -> Callable[[Floats, Integers], Floats]:
    def work(values: Floats, places: Integers) -> Floats:
        if region is None:
            return function(values)
        inside = region.mask(places, values.shape[1])
        out = values.copy()
        out[inside] = function(values[inside])
        return out

    return work


def _functions(y: Floats, x: Floats, near: float, pair: ArrayPair) -> Iterator[tuple[str, str, Values]]:
    """Yield functions that may have made values y of the expected x: kind, text with a place for where, function."""
    if np.isnan(y).all():
        yield "nan", "{where} are NaN", lambda v: np.full_like(v, np.nan)
        return
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.any() or (y == y[0]).all():
        value = float(y[0])
        if (y == y[0]).all():
            said = "zero" if value == 0 else "infinite" if math.isinf(value) else figure(value)
            yield "constant", f"{{where}} are {said}", lambda v: np.full_like(v, value)
        return
    yield "sign", "the sign of {where} is changed", np.negative
    yield "sign", "{where} are the absolute values of the expected ones", np.abs
    yield from _linear(y[finite], x[finite], near)
    low, high = float(y[finite].min()), float(y[finite].max())
    if low > x[finite].min() or high < x[finite].max():
        cut_low, cut_high = bool(low > x[finite].min()), bool(high < x[finite].max())
        bounds = [f"from below at {figure(low)}"] * cut_low + [f"from above at {figure(high)}"] * cut_high
        yield (
            "clipped",
            f"{{where}} are clipped {' and '.join(bounds)}",
            lambda v: np.clip(v, low if cut_low else None, high if cut_high else None),
        )
    integers = bool((y[finite] == np.rint(y[finite])).all())
    if integers:
        yield "rounded", "{where} are rounded to integers", np.rint
        yield "rounded", "{where} are cut to integers", np.trunc
    kind = real_type(pair.mine.dtype) if pair.mine.dtype in UNITS else None
    if kind and not integers:
        for decimals in range(1, MAX_DECIMALS + 1):
            if np.allclose(np.rint(y * 10.0**decimals) / 10.0**decimals, y, rtol=0, atol=near / 4, equal_nan=True):
                yield (
                    "decimals",
                    f"{{where}} are rounded to {decimals} decimals",
                    lambda v, k=decimals: np.round(v, k),  # type: ignore[misc]
                )
                yield (
                    "decimals",
                    f"{{where}} are cut to {decimals} decimals",
                    lambda v, k=decimals: np.trunc(v * 10.0**k) / 10.0**k,  # type: ignore[misc]
                )
                break
        for narrow in ("bfloat16", "float16", "float32"):
            if GRIDS[narrow].precision < GRIDS[kind].precision:
                yield "cast", f"{{where}} are rounded to {narrow}", partial(rounded, dtype=narrow)
                yield "cast", f"{{where}} are cut to {narrow} instead of rounded", partial(cut, dtype=narrow)
        for levels in (127, 128, 255):
            yield (
                "cast",
                f"{{where}} are quantised to int8, in steps of 1/{levels}",
                lambda v, k=levels: np.rint(v * k) / k,  # type: ignore[misc]
            )
        if kind != "bfloat16":
            swapped = np.dtype(kind)
            yield (
                "bytes",
                f"the bytes of {{where}} are swapped: the file has the other byte order ({kind})",
                lambda v: v.astype(swapped).byteswap().astype(np.float64),
            )


def _linear(y: Floats, x: Floats, near: float) -> Iterator[tuple[str, str, Values]]:
    """Yield one factor, one offset, or both."""
    if x.size < MIN_FITTED or x.min() == x.max():
        return
    size = float(np.abs(x).max())
    offset = float(np.median(y - x))
    large = np.abs(x) > size / 2
    factor = float(np.median(y[large] / x[large]))
    slope = float(np.mean((x - x.mean()) * (y - y.mean())) / np.mean((x - x.mean()) ** 2))
    level = float(y.mean() - slope * x.mean())
    offset, factor = _short(offset, near), _short(factor, near / size)
    slope, level = _short(slope, 2 * near / size), _short(level, 2 * near)
    if offset:
        yield "offset", f"{figure(offset)} is added to {{where}}", lambda v: v + offset
    if factor not in (0.0, 1.0, -1.0):
        yield "factor", f"{{where}} are {figure(factor)} times the expected ones", lambda v: v * factor
    if slope not in (0.0, 1.0) and level:
        text = f"{{where}} are {figure(slope)} times the expected ones, plus {figure(level)}"
        yield "linear", text, lambda v: v * slope + level


def _short(value: float, near: float) -> float:
    """Return the shortest decimal within a distance, or the number itself."""
    if not math.isfinite(value):
        return 0.0
    shorter = (float(f"{value:.{digits}g}") for digits in range(1, 8))
    return next((one for one in shorter if abs(one - value) <= near), value if abs(value) > near else 0.0)


# Order


def _exchanged(pairs: list[ArrayPair], differing: list[ArrayPair]) -> Changes:
    """Yield arrays that hold the values of others."""
    for pair in pairs:
        for target in differing:
            if pair is target or pair.theirs.shape != target.mine.shape:
                continue
            here, there = target.mine.name, pair.mine.name
            if pair in differing and target.number < pair.number and len(differing) == 2:
                source = {target.number: pair.theirs, pair.number: target.theirs}
                yield PossibleChange("exchanged", f"{here} and {there} are exchanged", {}, source)
                flip: tuple[Any, ...] = (None, None, lambda v, _places: -v)
                for number, name in ((target.number, here), (pair.number, there)):
                    text = f"{here} and {there} are exchanged, and the sign of {name} is changed"
                    yield PossibleChange("exchanged", text, {number: flip}, source)
            if len(differing) == 1:
                yield PossibleChange("same", f"{here} holds the values of {there}", {}, {target.number: pair.theirs})


def _column_changes(differing: list[ArrayPair], near: float) -> Changes:
    """Yield other orders of the columns, which all arrays that differ share."""
    widths = {(pair.mine.width, pair.theirs.width) for pair in differing}
    if len(widths) > 1:
        return
    (width, count) = next(iter(widths))
    if differing[0].mine.dtype in REAL:  # whose columns are real and imaginary parts
        for text, parts in (("real", [-1.0, 1.0]), ("imaginary", [1.0, -1.0])):
            tiled = np.tile(parts, width // 2)
            of = {p.number: (None, None, lambda v, _p, t=tiled: v * t) for p in differing}
            yield PossibleChange("sign", f"the sign of the {text} parts is changed", of)
        if width == count:
            yield _columns(differing, "real and imaginary parts are exchanged", np.arange(width) ^ 1)
        return
    if width == count and width % 2 == 0 and width > 2:
        half, k = width // 2, np.arange(width)
        for text, order in (
            ("the columns are interleaved where half-split ones were expected", k // 2 + half * (k % 2)),
            ("the columns are half-split where interleaved ones were expected", 2 * (k % half) + k // half),
            ("the two halves of the columns are exchanged", (k + half) % width),
            ("neighbouring columns are exchanged", k ^ 1),
        ):
            yield _columns(differing, text, order)
        for text, negated in (
            ("the sign of the first half of the columns is changed", k < half),
            ("the sign of the second half of the columns is changed", k >= half),
            ("the sign of the even columns is changed", k % 2 == 0),
            ("the sign of the odd columns is changed", k % 2 == 1),
        ):
            sign = np.where(negated, -1.0, 1.0)
            yield PossibleChange("sign", text, {p.number: (None, None, lambda v, _p, s=sign: v * s) for p in differing})
    mine, theirs = (np.concatenate([p.sample[k].T / p.scale for p in differing], axis=1) for k in (0, 1))
    keys = _spread(theirs, min(MAX_KEYS * 4, max(8, KEY_VALUES // max(width, count))))
    found = match(np.ascontiguousarray(mine[:, keys]), np.ascontiguousarray(theirs[:, keys]), near)
    if (found == UNKNOWN).mean() > MAX_UNKNOWN_SHARE or width < 2:
        return
    for text, order in descriptions(found, count, "column"):
        yield _columns(differing, text, order)


def _columns(differing: list[ArrayPair], text: str, order: Integers) -> PossibleChange:
    n, count = differing[0].mine.rows, differing[0].theirs.rows
    if n != count:
        text += f", and so are rows {n} to {count - 1}" if n < count and text.endswith("missing") else ""
        text += f"; it has {n:,} rows where {count:,} were expected" if not text.endswith(str(count - 1)) else ""

    def of(pair: ArrayPair) -> tuple[Any, ...]:
        def work(values: Floats, _places: Integers) -> Floats:
            out = values[:, np.maximum(order, 0)]
            out[:, order == ZERO] = 0.0
            out[:, (order == NAN) | (order == UNKNOWN)] = np.nan
            return out

        return None, None, work

    return PossibleChange("columns", text, {pair.number: of(pair) for pair in differing})


def _spread(values: Floats, count: int) -> Integers:
    """Return columns, evenly spread among those that are not constant."""
    moving = np.flatnonzero((values != values[:1]).any(axis=0))
    moving = moving if moving.size else np.arange(values.shape[1])
    return np.unique(moving[np.linspace(0, len(moving) - 1, min(count, len(moving))).astype(np.int64)])


def _row_changes(differing: list[ArrayPair], near: float) -> Changes:
    """Yield other orders of the rows, which all arrays that differ share, or of the heads."""
    counts = {(pair.mine.rows, pair.theirs.rows) for pair in differing}
    if len(counts) > 1 or any(pair.mine.width != pair.theirs.width for pair in differing):
        return
    n, count = next(iter(counts))
    if max(n, count) * 8 > KEY_VALUES or min(n, count) < 2:
        return
    each = max(1, min(MAX_KEYS, KEY_VALUES // max(n, count)) // len(differing))
    mine, theirs = list[Floats](), list[Floats]()
    for pair in differing:
        keys = _spread(pair.expected(np.arange(min(count, SAMPLE_ROWS))), each)
        mine.append(_columns_of(pair.mine, keys) / pair.scale)
        theirs.append(_columns_of(pair.theirs, keys, pair.as_stored) / pair.scale)
    found = match(np.concatenate(mine, axis=1), np.concatenate(theirs, axis=1), near)
    if (found == UNKNOWN).mean() > MAX_UNKNOWN_SHARE:
        return
    array, sides = differing[0].mine, differing[0].mine.shape[: differing[0].mine.lead]
    if len(sides) == 1:
        for text, order in descriptions(found, count, array.word(0)):
            yield PossibleChange("rows", text, {pair.number: (order, None, None) for pair in differing})
        return
    grouped = along_axis(found, sides) if n == count else None
    if grouped is not None:
        axis, moved = grouped
        for text, order in descriptions(moved, len(moved), array.word(axis)):
            rows = whole_rows(order, sides, axis)
            yield PossibleChange("rows", text, {pair.number: (rows, None, None) for pair in differing})


def _columns_of(array: Array2, columns: Integers, change: Values | None = None) -> Floats:
    """Return some columns of all rows."""
    step = max(1, BLOCK_VALUES // max(1, array.width))
    blocks = (array.floats(k, min(k + step, array.rows))[:, columns] for k in range(0, array.rows, step))
    found = np.concatenate(list(blocks))
    return found if change is None else change(found)


def _other_axes(differing: list[ArrayPair]) -> Changes:
    """Yield exchanged axes, and a reshape in the place of a transposition."""
    for pair in differing:
        size = pair.mine.rows * pair.mine.width
        if size != math.prod(pair.theirs.shape) or size != math.prod(pair.mine.shape) or size > MAX_HELD:
            return
    first = differing[0]
    shape = first.theirs.shape
    for axes in permutations(range(len(shape))) if len(shape) <= 4 else ():
        moved = tuple(shape[axis] for axis in axes)
        identity = axes == tuple(range(len(shape)))
        same = first.mine.shape == shape
        if identity and same:
            continue
        if moved == first.mine.shape:
            text = "transposed" if len(shape) == 2 else f"the axes are in the order {_order(axes)}"
            text = f"reshaped: {shape} is expected, the values are in the same order" if identity else text
        elif identity:
            text = f"reshaped: {shape} is expected, the values are in the same order"
        else:
            text = f"reshaped instead of transposed: the expected values stand in the order of the axes {_order(axes)}"
        yield PossibleChange("axes", text, {}, {pair.number: _transposed(pair, axes) for pair in differing})


def _order(axes: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, axes))})"


def _transposed(pair: ArrayPair, axes: tuple[int, ...]) -> Array2:
    whole = pair.theirs.floats(0, pair.theirs.rows)
    parts = whole.reshape(*pair.theirs.shape, -1).transpose(*axes, len(axes))
    rows = np.ascontiguousarray(parts).reshape(pair.mine.rows, pair.mine.width)
    return Array2(pair.theirs.name, pair.mine.shape, "float64", lambda a, b: rows[a:b], pair.mine.lead)


# Regions


@dataclass(frozen=True)
class Region:
    """Rows and columns of an array."""

    rows: Integers | None
    columns: Integers | None
    text: str

    def mask(self, places: Integers, width: int) -> NDArray[np.bool_]:
        """Tell which values of some rows lie in it."""
        rows = np.ones(len(places), np.bool_) if self.rows is None else np.isin(places, self.rows)
        columns = np.ones(width, np.bool_)
        if self.columns is not None:
            columns = np.isin(np.arange(width), self.columns)
        return np.asarray(rows[:, None] & columns[None])


def _in_regions(differing: list[ArrayPair], nears: list[float]) -> Changes:
    """Yield functions of the values in the rows and columns that differ."""
    rests = [rest_of(pair, NOTHING, near) for pair, near in zip(differing, nears, strict=True)]
    for rows, columns in ((True, False), (False, True), (True, True)):
        regions = list[Region | None]()
        for pair, rest in zip(differing, rests, strict=True):
            axes = [(word, at, side) for word, at, side in _axes(pair, rest) if len(at) < side]
            said = [_indices(*axis) for axis in axes if (columns if axis[0] == "column" else rows)]
            if said:
                text = ", ".join(said)
                regions.append(Region(rest.rows if rows else None, rest.columns if columns else None, text))
        if len(regions) == len(differing):
            yield from _in_place(differing, nears, regions)


def _factors(differing: list[ArrayPair]) -> Changes:
    """Yield a factor for each row, column or head."""
    for pair in differing:
        if len(differing) > 1 or min(pair.mine.rows, pair.mine.width) < MIN_FITTED:
            return
        n, width = pair.mine.rows, pair.mine.width
        products, squares = np.zeros((2, n)), np.zeros((2, width))
        step = max(1, BLOCK_VALUES // width)
        for start in range(0, n, step):
            x, y = pair.theirs.floats(start, min(start + step, n)), pair.mine.floats(start, min(start + step, n))
            good = np.isfinite(x) & np.isfinite(y)
            x, y = np.where(good, x, 0.0), np.where(good, y, 0.0)
            products[:, start : start + len(x)] = (x * y).sum(axis=1), (x * x).sum(axis=1)
            squares += (x * y).sum(axis=0), (x * x).sum(axis=0)
        rows = n // pair.mine.shape[0]
        heads = np.repeat(products.reshape(2, -1, rows).sum(axis=2), rows, axis=1)
        for unit, (xy, xx) in (("head", heads), ("column", squares), ("row", products)):
            if unit == "head" and pair.mine.word(0) != "head":
                continue
            factors = np.where(xx > 0, xy / np.where(xx > 0, xx, 1.0), 1.0)
            text = f"every {unit} has a factor of its own, {figure(factors.min(), 3)} to {figure(factors.max(), 3)}"
            if unit == "column":
                yield PossibleChange("factor", text, {pair.number: (None, None, lambda v, _p, f=factors: v * f)})
            else:
                yield PossibleChange(
                    "factor", text, {pair.number: (None, None, lambda v, p, f=factors: v * f[p][:, None])}
                )


def _cropped(differing: list[ArrayPair]) -> Changes:
    """Yield a part of the expected arrays, from their beginning or to their end along each axis."""
    shapes = {(pair.mine.shape, pair.theirs.shape, pair.mine.lead) for pair in differing}
    if len(shapes) > 1:
        return
    small, large, lead = next(iter(shapes))
    if len(small) != len(large) or any(a > b for a, b in zip(small, large, strict=True)) or len(small) > lead + 1:
        return
    for begin in product(*({0, b - a} for a, b in zip(small, large, strict=True))):
        index = np.indices(small[:lead]).reshape(lead, -1) + np.array(begin[:lead])[:, None]
        rows = np.ravel_multi_index(tuple(index), large[:lead])
        per = differing[0].mine.width // small[-1] if len(small) > lead else 1
        columns = np.arange(differing[0].mine.width) + (begin[-1] * per if len(small) > lead else 0)
        where = f", from {list(begin)} on" if any(begin) else ""
        text = f"the shape is {small} where {large} was expected: it is a part of it{where}"
        yield PossibleChange("shape", text, {pair.number: (rows, columns, None) for pair in differing})
