"""Biases, slopes, relative indices, masks and codes: what an array holds, and the candidate that gives all of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.judge.description import BlockDifferences, Identification, Tally
from pecli.judge.masks import MAX_SIDE, mask_number, named_pattern
from pecli.judge.orders import numbered
from pecli.judge.planes import Plane, effective_dtype
from pecli.numbers.blocks import in_blocks
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import limit
from pecli.numbers.rounding import Floats, Integers, units
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.hooks import Values
from pecli.spec.profiles import MIN_SHARE_ALIKE, Candidate, Profile
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.spec.tabular import Tabular, View
from pecli.tables.table import Table

# Values compared at once: their temporaries take some 50 MB.
BLOCK_VALUES = 1 << 20
# Number of lines from which the effective type and the stand-in for minus infinity are read.
SAMPLE_LINES = 64
# Share of the first lines that a candidate must explain to be compared as a whole.
MIN_SHARE_EXPLAINED = 0.5
# Share of the values that a likely recipe explains.
MIN_SHARE_LIKELY = 0.99


@dataclass(frozen=True)
class Fit:
    """Agreement of a candidate's table with a file, over all values of the arrays that both have.

    Attributes
    ----------
    candidate : Candidate
    table : Table
        The candidate's.
    count : int
        Values compared.
    equal : float
        Share that is equal.
    max_ulp : float
        Largest difference of the values that fit, in units in the last place of the effective dtype.
    arithmetic : str
        "exact", or the type whose rounding explains the differences.
    unexplained : int
        How many values do not fit.
    places : tuple of str
        Where they are.
    residual : float
        Largest absolute difference of the values that fit.
    arrays : tuple of str
        The file's arrays that were compared.
    """

    candidate: Candidate
    table: Table
    count: int
    equal: float
    max_ulp: float
    arithmetic: str
    unexplained: int
    places: tuple[str, ...]
    residual: float
    arrays: tuple[str, ...] = ()

    @property
    def explained(self) -> float:
        """Share of the values that fit."""
        return 1.0 - self.unexplained / self.count


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
        self.name, self.note = name, note
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
            self.low, self.low_text = mask_number(self.sample)
        if self.low is not None:
            self.__dict__.pop("sample")

    def read(self, start: int, stop: int) -> Floats:
        """Return lines `start` to `stop`, (stop - start, width)."""
        return self._masked(self.plane.read(start, stop))

    def at(self, places: Integers) -> Floats:
        """Return the lines of these ascending numbers."""
        return self._masked(self.plane.at(places))

    def _masked(self, values: Floats) -> Floats:
        return values if self.low is None else np.where(values <= self.low, -np.inf, values)

    @cached_property
    def sample(self) -> Floats:
        """Lines from the whole array, evenly spaced, the first and the last among them."""
        if self.count * self.width <= BLOCK_VALUES:
            return self.read(0, self.count)
        many = max(2, min(SAMPLE_LINES, BLOCK_VALUES // self.width))
        return self.at(np.unique(np.linspace(0, self.count - 1, many).astype(np.int64)))

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
        for at in in_blocks(0, self.count, BLOCK_VALUES // max(1, self.width)):
            yield at.start, self.read(at.start, at.stop)


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
    example = f"the first is {actual:.7g} at {index}, expected {expected:.7g}"
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
    given: dict[str, Any] = {key: int(v) if key == "length" else v for key, v in candidate.table.items()}
    try:
        return Table.make(Recipe.bind(candidate.name, **candidate.keys), dtype=dtype, **given)
    except PecliError:
        return None


def recipe_text(table: Table) -> str:
    """Return the recipe of a table without parameters at their defaults."""
    name, keys = split_recipe(table.title)
    if table.request.dtype == "float32" or not any(array.dtype in GRIDS for array in table.arrays):
        del keys["dtype"]
    if keys.get("form") == "slopes":
        keys.pop("len", None)
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
        found: Fit | None = None
        for kind in types_of(held, "float64" if np.abs(held[0].sample).max() > 1 << 24 else "float32"):
            made = make(candidate, kind) if found is None or found.equal < 1.0 else None
            other = None if made is None else fit_table(candidate, made, held, kind)
            if other is not None and (found is None or other.unexplained < found.unexplained):
                found = other
        return found


def arrays_of(table: Tabular, reading: Lines | None = None) -> list[Lines]:
    """Return the arrays of real numbers of a file, one of them as a reading has it."""
    readable = [a.name for a in table.arrays if not a.dtype.startswith("complex") and 0 not in a.shape]
    held = [reading] if reading is not None else []
    return held + [Lines(table, name) for name in readable if reading is None or name != reading.name]


def types_of(held: list[Lines], whole: str) -> tuple[str, ...]:
    """Return the types in which an expected table is compared: the file's and the effective one, or one for indices."""
    floats = [lines for lines in held if lines.dtype in GRIDS]
    return tuple(dict.fromkeys((floats[0].dtype, floats[0].effective_dtype))) if floats else (whole,)


def fit_table(
    candidate: Candidate, made: Table, held: list[Lines], unit: str, change: Values | None = None
) -> Fit | None:
    """Compare a table, after a change, with every value of a file's arrays, in units in the last place; see `fit`."""
    own = [Lines(made, array.name) for array in made.arrays]
    tallies: dict[str, Tally] = {}
    places: list[str] = []
    for lines in held:
        other = next((o for o in own if _matches(lines, o)), None)
        index = next((o for o in own if o.name == "index" and lines.shape[-len(o.shape) :] == o.shape), None)
        if other is not None and not candidate.trained:
            pairs = _values(lines, other, candidate.columns)
            if change is not None:
                pairs = ((start, actual, change(other.name, values, start)) for start, actual, values in pairs)
        elif index is not None and lines.dtype in GRIDS:
            pairs = _pattern(lines, index)
        else:
            continue
        one = Tally.of([lines.plane])
        for start, actual, expected in pairs:
            one.add(_differences(start, actual, expected, unit, candidate))
            if one.explained < MIN_SHARE_EXPLAINED:
                return None
        places += _places(one, lines)
        tallies[lines.name] = one
    if not tallies:
        return None
    every = tallies.values()
    count, equal, unexplained = (sum(getattr(one, key) for one in every) for key in ("count", "equal", "unexplained"))
    worst, residual = (max(getattr(one, key) for one in every) for key in ("worst", "residual"))
    how = "trained" if candidate.trained else "exact" if equal + unexplained == count else unit
    return Fit(candidate, made, count, equal / count, worst, how, unexplained, tuple(places), residual, tuple(tallies))


def _matches(actual: Lines, other: Lines) -> bool:
    """Whether an array has the expected shape, or holds copies of it along a leading axis."""
    if actual.shape == other.shape or (actual.count == other.count and actual.width == other.width > 1):
        return True
    (first, *rest), side = actual.shape or (1,), other.shape[0] if other.shape else 1
    repeated = side > 1 and tuple(rest) == other.shape[1:] and first > side and first % side == 0
    batched = bool(rest) and tuple(rest) == other.shape and (len(rest) > 1 or 1 in other.array.shape[:-1])
    return repeated or batched


def _values(actual: Lines, other: Lines, columns: Integers | None) -> Iterator[tuple[int, Floats, Floats]]:
    blocks = in_blocks(0, other.count, BLOCK_VALUES // max(1, actual.width))
    for copy, at in product(range(0, actual.count, other.count), blocks):
        values = np.tile(other.read(at.start, at.stop), actual.width // other.width)  # of slopes, copies in one row
        values = values if columns is None else values[:, columns[copy // other.count % len(columns)]]
        yield copy + at.start, actual.read(copy + at.start, copy + at.stop), values


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


def merit(found: Fit) -> tuple[float, bool, bool, int, float]:
    """Return the sort key of fits: of those that explain as much, the more exact calculation is the better one."""
    open_keys, doubts = len(found.candidate.open), found.candidate.doubts
    return round(found.explained, 4), found.equal == 1.0, not doubts, -open_keys, -found.max_ulp


# Values of some lines that are counted before all are: more than two are no mask.
FIRST_VALUES = 1 << 12


def measured_of(table: Tabular) -> str | None:
    """Return the description of an array with at most two distinct values or a ramp; None for any other file.

    A ramp may stand in every column; of several arrays, all have the same description.
    """
    if not table.arrays or table.arrays[0].dtype.startswith("complex"):
        return None
    array, *more = table.arrays
    if more:
        text = measured_of(View(table, [array]))
        return text if text and all(measured_of(View(table, [one])) == text for one in more) else None
    if 0 in array.shape:
        return "the array is empty"
    lines = Lines(table, array.name)
    if lines.width > 2 and array.shape[:-1] in ((), (1,)) and (ramp := _ramp(lines.read(0, 1)[0], lines)):
        return ramp
    if lines.integral and lines.width > 2 and lines.sample.max(initial=0) > 1 and (counted := _counted(lines)):
        return counted
    blocks = (rows for _, rows in lines.blocks()) if (lines.sample == lines.sample[:, :1]).all() else iter(())
    first = [rows[:, 0] for rows in blocks if (rows == rows[:, :1]).all()]
    if sum(map(len, first)) == lines.count > 2 and (ramp := _ramp(np.concatenate(first), lines)):
        return f"every column holds {ramp}"
    distinct = np.empty(0)
    for values in chain([lines.sample[:8, :FIRST_VALUES]], (values for _, values in lines.blocks())):
        others = values[(values != distinct[0]) & (values != distinct[-1])] if len(distinct) else values
        distinct = np.unique(np.append(distinct, others)) + 0.0
        if len(distinct) > 2:
            return None
    low, high = (f"{value:g}".replace("nan", "NaN") for value in distinct[[0, -1]])
    if len(distinct) == 1:
        empty = ", as in a model without a position table, or in a buffer that was never filled" * (low == "0")
        return f"every value is {low}{empty}" if lines.count * lines.width > 1 else f"a single number, {low}"
    if lines.count * lines.width == 2:
        return None
    if len(lines.shape) > 2 and all((rows == rows[:1, :1]).all() for rows in _matrices(lines)):
        many = lines.count // lines.shape[-2]
        return f"two values, {low} and {high}: each of {many} channels holds one of them, all positions are the same"
    if (lines.count, low, high) == (1, "0", "1"):
        row = lines.read(0, 1)[0]
        for how, parts in (("in turn", (row[::2], row[1::2])), ("in two halves", np.array_split(row, 2))):
            if all((part == part[0]).all() for part in parts):
                return f"0 and 1 {how}: the sines and cosines of position 0, which every base and spacing gives"
    what = "a mask of two values" if {"0", "-inf"} & {low, high} else "two values"
    several = " " in lines.low_text if lines.low is not None else False
    what = "a mask of several values" if several else what
    text = f"{what}, {low} and {high}: {_mask_pattern(lines, distinct[1], low, high)}"
    return text if lines.low is None else text.replace("-inf", lines.low_text)


def _matrices(lines: Lines) -> Iterator[Floats]:
    """Yield the matrices of the last two axes."""
    side = lines.shape[-2]
    yield from (lines.read(start, start + side) for start in range(0, lines.count, side))


def _counted(lines: Lines) -> str:
    """Return that whole numbers count up from 0, in each line or from line to line; "" of others."""
    each = whole = True
    for start, rows in lines.blocks():
        each &= bool(((np.diff(rows) == 1) | (rows[:, 1:] == 0)).all() and not rows[:, 0].any())
        whole &= np.array_equal(rows.ravel(), start * lines.width + np.arange(rows.size))
        if not each and not whole:
            return ""
    if whole:
        return f"whole numbers that count up from 0 to {lines.count * lines.width - 1}: positions, not an encoding"
    return "whole numbers that count up from 0 and begin again: positions of sequences, not an encoding of them"


def _ramp(values: Floats, lines: Lines) -> str:
    """Return the description of numbers with a constant step; "" for others."""
    step = (values[-1] - values[0]) / (len(values) - 1)
    off = np.abs(values - (values[0] + np.arange(len(values)) * step))
    near = 2 * units(np.abs(values).max(keepdims=True), lines.effective_dtype)
    if not np.isfinite(step) or step == 0 or (off > near).any():
        return ""
    text = f"{len(values)} numbers from {values[0]:g} to {values[-1]:g} in steps of {step:g}"
    return text + (": positions, not an encoding of them" if lines.integral and step == 1 else "")


def _mask_pattern(lines: Lines, value: float, low: str, high: str) -> str:
    """Return which pairs have the second value."""
    queries, keys = (1, *lines.shape)[-2:]
    each = [range(k, k + queries) for k in range(0, lines.count, queries)] if max(queries, keys) <= MAX_SIDE else []
    on = _equal(lines.read(0, queries if each else 0), value)
    if len(lines.shape) < 2 or not each or any((_equal(lines.read(k.start, k.stop), value) != on).any() for k in each):
        many = sum(int(_equal(values, value).sum()) for _, values in lines.blocks())
        return f"{many:,} of {lines.count * lines.width:,} are {high}"
    if (on == on[:1]).all():
        return f"{high} at {int(on[0].sum())} of {keys} keys, the same for every query"
    for chosen, label in ((on, high), (~on, low)):
        if (shape := named_pattern(chosen)) and not (label == "-inf" and "causal" in shape):
            return f"{label} {shape if label == high else shape.replace(' (an identity)', '')}"
    return f"{high} at {int(on.sum()):,} of {on.size:,} entries"


def _equal(values: Floats, value: float) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(values) if math.isnan(value) else values == value)


# Largest difference of narrow values, in units in the last place, for an identification to be sure.
MAX_SURE_ULP = 8.0
# Share of the values that the nearest recipe of an unknown table gives exactly: half of the heads may be others.
MIN_SHARE_NEAREST = 0.5
# Heads of a bias; an array with more rows along its first axis is no bias by head.
MAX_HEADS = 1024
# Keys of a bias that is read by distance; the profile of one head takes 1 MB.
MAX_KEYS = 1 << 17
# Values of an array with a row for each head, by distance or by key: 128 heads of the most keys, 128 MiB.
MAX_PROFILE = 1 << 24
# Share of the keys after the query that are minus infinity under a causal mask; the others are corrupted.
MIN_SHARE_HIDDEN = 0.5
# Relative error of a value that is a factor times a distance, both rounded; bfloat16 has 8 bits.
MAX_FACTOR_GAP = 2.0**-7
# Bytes of an array whose axes are exchanged in memory; raised, an unknown file takes several times as long.
MAX_REORDERED_BYTES = 1 << 25


def profiles(lines: Lines) -> Iterator[Profile]:
    """Yield the profiles of an array as a bias or an index, the likeliest first; of repeated heads, the first copy."""
    for found in _profiles(lines):
        many, values = found.heads, np.where(np.isneginf(found.values), np.nan, found.values)
        parts = [h for h in range(1, many) if many % h == 0 and np.array_equal(values[h], values[0], equal_nan=True)]
        heads = next((h for h in parts if np.array_equal(values[h:], values[:-h], equal_nan=True)), many)
        heads = many if heads == 1 and found.form == "dense" else heads  # heads may be alike
        yield replace(found, values=values[:heads], copies=many // heads)


def _profiles(lines: Lines) -> Iterator[Profile]:
    shape, raw = lines.shape, lines.array.shape
    *lead, queries, keys = (1, 1, *shape)
    heads, alone = math.prod(lead), raw[-2:-1] == (1,)
    make = partial(Profile, effective_dtype=lines.effective_dtype, integral=lines.integral, name=lines.name,
                   shape=shape, read=lines.read)  # fmt: skip
    if len(shape) <= 1 and keys <= MAX_HEADS and (len(raw) <= 1 or raw[-1] == 1):
        yield make("slopes", lines.read(0, 1).T, np.ones(1, np.int64), "slopes", "", 1, 1)
    if keys > MAX_KEYS:
        return
    if len(shape) > 1 and queries <= keys and heads <= MAX_HEADS and not alone:
        yield from _of_cube(lines, make, heads, queries, keys)
    few = lines.count <= MAX_HEADS and lines.count * keys <= MAX_PROFILE
    if (len(shape) <= 2 or alone) and keys > 2 and few and (len(raw) <= 1 or raw[-1] != 1):
        rows, at = lines.read(0, lines.count), np.arange(keys)
        if keys % 2:
            n = (keys + 1) // 2
            yield make("distance", rows, at + 1 - n, "distance", _masked(rows, at >= n), n, n)
        yield make("key", rows, at, "row", "", 1, keys)
        yield make("distance", rows, -at, "past", "", 1, keys)
    if keys == 2 < queries <= MAX_PROFILE:
        yield make("pair", np.full((1, 2), np.nan), np.arange(2), "dense", "", queries, keys)


def _of_cube(lines: Lines, make: Callable[..., Profile], heads: int, queries: int, keys: int) -> Iterator[Profile]:
    """Yield a bias by key, or by distance with the queries at either end of the keys, from a few rows of each head."""
    spread = (queries * np.array([0, 1, 2, 3]) / 4).astype(int).tolist()
    picked = sorted({*spread, 1, 2, queries - 3, queries - 2, queries - 1} & set(range(queries)))
    places = (np.arange(heads)[:, None] * queries + picked).ravel()
    rows = lines.at(places).reshape(heads, len(picked), keys)
    found = False
    for by, align in (("key", ""), ("distance", ""), ("distance", "first"))[: 2 + (queries < keys)]:
        own = np.array(picked) + (0 if align else keys - queries)
        at = np.arange(keys) if by == "key" else np.arange(1 - keys, keys)
        aligned = np.full((heads, len(picked), len(at)), np.nan)
        for k, low in enumerate([0] * len(own) if by == "key" else keys - 1 - own):
            aligned[:, k, low : low + keys] = rows[:, k]
        middle, finite = _middle(aligned), np.isfinite(aligned)
        finite &= finite.sum(axis=1, keepdims=True) > 1
        same = (aligned == middle[:, None])[finite]
        if not same.size or same.mean() < MIN_SHARE_ALIKE:
            continue
        if by == "distance" or np.nanmax(middle) > np.nanmin(middle):
            later = np.arange(keys) > own[:, None]
            yield make(by, middle, at, "dense", _masked(rows, later), queries, keys, align=align)
            found = True
            if by == "key":
                return
    if not found:
        yield make("pair", np.full((1, keys), np.nan), np.arange(keys), "dense", "", queries, keys)


def _masked(values: Floats, later: NDArray[np.bool_]) -> str:
    """Return the mask value of keys after the query, "0" or "-inf"; "" where they have values of their own."""
    after, before = values[:, later], np.nan_to_num(values[:, ~later], neginf=0.0)
    finite = np.isfinite(after)
    if finite.any() and not after[finite].any() and before.any(axis=1).all():
        return "0"
    return "-inf" if after.size and np.isneginf(after).mean() > MIN_SHARE_HIDDEN else ""


def _middle(aligned: Floats) -> Floats:
    """Return the lower median of the numbers along axis 1, (heads, m); NaN where there is none."""
    ordered = np.sort(np.where(np.isfinite(aligned), aligned, np.nan), axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    found: Floats = np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)[:, 0]
    return found


READINGS = {
    (1, 0): "query and key axes are exchanged",
    (2, 0, 1): "the heads are the last axis",
    (1, 0, 2): "the heads are the middle axis",
    (0, 2, 1): "query and key axes are exchanged",
}
# Note on a masked bias by distance, which does not show which of both was done.
PAST_HIDDEN = "the mask hides the keys before the query: a mask on the past, or query and key axes are exchanged"


def readings(table: Tabular, *, exchanged: bool = False) -> Iterator[Lines]:
    """Yield the arrays of a file as they are, then with other axes first or with a matrix in one row.

    Parameters
    ----------
    table : Tabular
    exchanged : bool
        Leave out the arrays as they are.
    """
    held = arrays_of(table)
    if not exchanged:
        yield from sorted(held, key=lambda lines: (len(lines.shape) < 2, lines.dtype in GRIDS))  # indices say most
    for lines in held:
        for order, note in READINGS.items():
            if len(order) == len(lines.shape) and lines.count > 1 and lines.array.bytes <= MAX_REORDERED_BYTES:
                past = order[-2:] == (len(order) - 1, len(order) - 2) and _hides_past(lines)
                yield Lines(table, lines.name, PAST_HIDDEN if past else note, order)
        side = math.isqrt(lines.width)
        if len(lines.shape) == 1 and lines.integral and side > 1 and side**2 == lines.width:
            yield Lines(table, lines.name, "its rows stand one after the other", shape=(side, side))


def _hides_past(lines: Lines) -> bool:
    """Whether the first query sees all keys, and the last one only a few of the keys before it."""
    first, last = lines.read(0, 1)[0], lines.read(lines.shape[-2] - 1, lines.shape[-2])[0]
    return bool(np.isneginf(last).mean() > MIN_SHARE_HIDDEN and not np.isneginf(first).any())


def fits(table: Tabular, only: str | None = None) -> Iterator[Fit]:
    """Yield the candidates that explain at least half of a file, with their tables, reading by reading.

    Parameters
    ----------
    table : Tabular
    only : str, optional
        The one encoding whose rule is asked.
    """
    rules = [e.hook("identify") for e in ([CATALOGUE[only]] if only else CATALOGUE.values()) if e.declares("identify")]
    for lines in readings(table):
        for profile in profiles(lines):
            for rule in rules:
                for candidate in rule(profile):
                    if lines.note and candidate.doubts:
                        continue
                    notes = (lines.note, *candidate.notes) if lines.note else candidate.notes
                    found = fit(replace(candidate, notes=notes), table, lines if lines.note else None)
                    if found is not None:
                        yield found


def best_fit(table: Tabular) -> Fit | None:
    """Return the candidate that explains a file best; None where none explains half of it."""
    best: Fit | None = None
    for found in fits(table):
        best = found if best is None else max(best, found, key=merit)
        if not best.unexplained and best.equal == 1.0 and not best.candidate.doubts and not best.candidate.open:
            break
    return best


def identify_bias(table: Tabular) -> Identification | None:
    """Return the identification of a bias, an index, a mask or a code; None for any other file.

    The file's arrays are real numbers. A mask, a constant and a ramp are unknown, with what was measured.
    """
    with np.errstate(all="ignore"):
        text = measured_of(table)
        found = None if text else best_fit(table)
        if found is not None:
            judged = verdict(found, table)
            masked = next((lines for lines in arrays_of(table) if lines.low is not None), None)
            if masked is not None and judged.recipe is not None:
                note = f"masked pairs hold {masked.low_text} in place of -inf"
                judged = replace(judged, equal=None, notes=(note, *judged.notes))
            if judged.recipe is not None or judged.measured:
                return judged
        text = text or distance_of(table) or dot_products_of(table)
        return Identification(None, "unknown", measured=(text,)) if text else None


DISTANCES = {
    ("the distance", 1): "the distance of query and key", ("the distance", -1): "minus the distance of query and key",
    ("key minus query", 1): "the distance, key minus query", ("key minus query", -1): "the distance, query minus key",
}  # fmt: skip


# Error of a dot product of float32 rows, relative to the largest.
MAX_PRODUCT_GAP = 1e-5
BY_DISTANCE = "that depends on key minus query alone"


def distance_of(table: Tabular) -> str | None:
    """Describe a matrix that depends only on the distance of query and key: the distance itself, or unknown."""
    for lines in arrays_of(table):
        for profile in profiles(lines) if len(lines.shape) > 1 else ():
            dense = profile.by == "distance" and profile.form == "dense" and profile.queries > 2
            if not dense or len(np.unique(profile.seen[0])) < 2 or not _by_distance(lines, profile):
                continue
            what = f"a bias of {profile.heads} heads" if profile.heads > 1 else "a matrix"
            (values, at), added = profile.seen, float(profile.values[0, profile.at == 0][0])
            near = 0.0 if profile.integral else MAX_FACTOR_GAP
            for by, number in (("the distance", np.abs(at)), ("key minus query", at)):
                factors = (values - added) @ number / (number @ number)
                if np.allclose(values - added, np.outer(factors, number), near, 0.0) and factors.any():
                    if profile.heads == 1 and not added and abs(factors[0]) == 1:
                        return f"{DISTANCES[by, int(factors[0])]}, for each pair"
                    some = ", ".join(f"{factor:.4g}" for factor in factors[:4]) + " .." * (len(factors) > 4)
                    hidden = ", under a causal mask" * bool(profile.masked)
                    return f"{what}: {some} times {by}" + f" plus {added:g}" * bool(added) + hidden
            return f"{what} {BY_DISTANCE}; no recipe was found"
    return None


def dot_products_of(table: Tabular) -> str | None:
    """Describe the dot products of all rows of a sinusoid with each other, or their cosine similarities; else None."""
    (side, *other) = [side for array in table.arrays for side in array.shape if side != 1] or [0]
    if len(table.arrays) > 1 or other != [side] or not 2 < side <= MAX_HEADS or table.arrays[0].dtype not in GRIDS:
        return None
    values, at = np.asarray(Lines(table, table.arrays[0].name).read(0, side)), np.arange(side)
    size = float(values[0, 0])
    first = values[0] / size
    if not 0 < size < np.inf or not (np.abs(values / size - first[np.abs(at[:, None] - at)]) < MAX_PRODUCT_GAP).all():
        return None
    whole = round(size)
    widths = [2 * whole] if whole > 1 and abs(size / whole - 1) < MAX_PRODUCT_GAP else range(2, MAX_HEADS, 2)
    for width in widths:
        w = 10000.0 ** (-2 * np.arange(width // 2) / width)
        near = (np.abs(np.cos(np.outer(at[:n], w)).mean(axis=1) - first[:n]).max() for n in (2, side))  # the second few
        if all(gap < MAX_PRODUCT_GAP for gap in near):
            of = f"of all rows of sinusoidal:dim={width},len={side} with each other"
            times = 2 * size / width
            if abs(times - 1) < MAX_PRODUCT_GAP:
                return f"the dot products {of}"
            similar = abs(size - 1) < MAX_PRODUCT_GAP
            return f"{'the cosine similarities' if similar else f'{times:.5g} times the dot products'} {of}"
    return f"a matrix {BY_DISTANCE}, symmetric, with {size:g} on the diagonal"


def _by_distance(lines: Lines, profile: Profile) -> bool:
    """Whether the values of all queries follow from their distances, but for a few of those that are not the median."""
    first, wrong, uncommon = int(profile.at[0]), 0, 0
    median = np.median(profile.seen[0])
    own = np.arange(profile.queries) + (0 if profile.align else profile.keys - profile.queries)
    for start, values in lines.blocks():
        head, query = np.divmod(np.arange(start, start + len(values)), profile.queries)
        at = np.arange(profile.keys) - own[query][:, None] - first
        expected = profile.values[head[:, None] % profile.heads, at]
        wrong += int(np.count_nonzero((values != expected) & ~np.isnan(expected)))
        uncommon += int(np.count_nonzero(values != median))
    return wrong <= (1 - MIN_SHARE_LIKELY) * uncommon


def verdict(found: Fit, table: Tabular) -> Identification:
    """Return the identification that a fit allows."""
    candidate = found.candidate
    recipe = recipe_text(found.table)
    if found.explained < MIN_SHARE_LIKELY:
        if candidate.trained or candidate.absolute or found.equal < MIN_SHARE_NEAREST:
            return Identification(None, "unknown")
        return Identification(None, "unknown", measured=(f"nearest: {recipe}", *found.places))
    if candidate.columns is not None or PAST_HIDDEN in candidate.notes:  # its table is another one
        why = PAST_HIDDEN if candidate.columns is None else "; ".join(candidate.notes)
        text = f"nearly {recipe}: {why}"
        return Identification(None, "unknown", measured=(text,), count=found.count, arrays=found.arrays)
    stand_in = [f"{key} stands for any: the values do not depend on it" for key in candidate.open]
    notes = [*candidate.notes, *stand_in, *candidate.doubts, *found.places]
    if found.max_ulp:
        which = "every value" if not found.unexplained else "each of the others"
        off = f"{math.ceil(found.max_ulp)} ulp and {limit(found.residual, 2)}"
        if found.arithmetic == "float64":  # as the values that they are compared with
            off = f"{math.ceil(found.max_ulp) + 1} ulp"
        notes.append(f"{found.arithmetic} rounding: {which} is within {off} of the exact one")
    left = [a.name for a in table.arrays if a.name not in found.arrays]
    if left:
        notes.append(f"not judged: the array{'s' * (len(left) > 1)} {', '.join(left)}")
    loose = found.arithmetic in ("float16", "bfloat16") and found.max_ulp > MAX_SURE_ULP
    sure = not (found.unexplained or candidate.doubts or loose)
    equal = None if candidate.trained else found.equal
    stated = split_recipe(recipe)[1].get("arithmetic", "exact")
    kind = stated if found.arithmetic == "exact" else found.arithmetic
    return Identification(recipe, "sure" if sure else "likely", found.residual, equal, kind, tuple(notes), (),
                          found.count, found.arrays)  # fmt: skip
