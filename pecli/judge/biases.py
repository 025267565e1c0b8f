"""Biases, slopes, relative indices and masks: which axes are heads, queries and keys, and the values by distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Tabular
from pecli.encodings import CATALOGUE
from pecli.judge.codes import Rows, measured_of
from pecli.judge.description import Candidate, Fit, Identification
from pecli.judge.fit import Floats, Integers, Lines, better, fit, recipe_text, units
from pecli.numbers.shortest import shortest
from pecli.numbers.types import GRIDS

MAX_HEADS = 1024
"""Heads of a bias; an array with more rows along its first axis is no bias by head."""
MAX_KEYS = 1 << 16
"""Keys of a bias that is read by distance; the profile of one head takes 1 MB."""
MIN_SHARE_ALIKE = 0.75
"""Share of the sampled values that must depend on the distance (or the key) alone; the others count as spoiled."""
MAX_ULP_OFF = 4.0
"""Units in the last place by which a value may miss its slope times the distance, as products of rounded factors do."""
MAX_DIGITS_CHOSEN = 4
"""Significant digits of a number that somebody chose; with more it was fitted, and the table is unknown."""
MIN_SHARE_LIKELY = 0.99
"""Share of the values that a likely recipe explains."""


@dataclass(frozen=True)
class Profile:
    """A bias or an index reduced to one row a head.

    Attributes
    ----------
    by : {"distance", "key", "slopes", "pair"}
        What the values depend on; "pair" stands for none of the others, with one row for each line of the array.
    values : (heads, m) float64
        NaN where masked or unknown.
    at : (m,) int64
        Distance (key minus query) or key of each column.
    form : {"dense", "distance", "past", "slopes", "row"}
        How the array holds them; "past" for distances 0 .. n - 1 before the query.
    masked : str
        What keys after the query hold where that hides them: "", "-inf" or "0".
    queries, keys : int
    align : str
        "first" where the queries are the first of the keys, "" otherwise.
    lines : Lines
        The array.
    copies : int
        How many times the heads are repeated, as a batch repeats them.
    """

    by: str
    values: Floats
    at: Integers
    form: str
    masked: str
    queries: int
    keys: int
    lines: Lines
    align: str = ""
    copies: int = 1

    @property
    def heads(self) -> int:
        """Number of heads."""
        return len(self.values)

    @property
    def integral(self) -> bool:
        """Whether all values are whole numbers, as those of an index are."""
        return self.lines.integral

    @property
    def grain(self) -> str:
        """The effective dtype."""
        return self.lines.grain

    @property
    def table(self) -> dict[str, str]:
        """The table's keys of a recipe."""
        found = {"length": str(self.keys)}
        if self.form in ("distance", "slopes"):
            found["form"] = self.form
        elif self.queries != self.keys:
            found["queries"] = str(self.queries)
            if self.align:
                found["align"] = self.align
        return found

    @property
    def mask(self) -> dict[str, str]:
        """The parameter of a bias that hides later keys."""
        return {"mask": "causal"} if self.masked else {}

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Columns that are known in every head but a few."""
        told = np.isfinite(self.values)
        found: NDArray[np.bool_] = np.asarray(told.mean(axis=0) > 0.5)
        return found

    @cached_property
    def seen(self) -> tuple[Floats, Integers]:
        """Values of the known columns, and what they belong to."""
        return self.values[:, self.known], self.at[self.known]

    def slopes(self, at: NDArray[Any], columns: NDArray[np.bool_]) -> Floats | None:
        """Return the factor of each head whose values are one number times `at` in these columns; None where none is.

        NaN stands for heads whose values are not in proportion.
        """
        chosen = columns & self.known & (at != 0)
        if not chosen.any():
            return None
        values, weights = self.values[:, chosen], at[chosen].astype(np.float64)
        far = np.abs(weights) >= np.abs(weights).max() / 2  # their rounding matters least
        found: Floats = np.nanmedian(values[:, far] / weights[far], axis=1)
        off = np.abs(values - found[:, None] * weights)
        good = off <= MAX_ULP_OFF * units(values, self.grain)
        good |= ~np.isfinite(values)
        found = np.where(good.mean(axis=1) >= MIN_SHARE_ALIKE, found, np.nan)
        at_zero = self.known & (at == 0) & columns
        if at_zero.any() and np.nan_to_num(self.values[:, at_zero]).any(axis=1).mean() > 0.5:
            return None
        return found if np.isfinite(found).mean() > 0.5 and np.nan_to_num(found).any() else None

    def factor(self, made: Floats, head: int, columns: NDArray[np.bool_], ulp: float = 0.5) -> Decimal | None:
        """Return the shortest factor of `made` within `ulp` units of a head's values; None where there is none."""
        values, weights = self.values[head, columns], made[columns]
        moving = (weights != 0) & np.isfinite(values)
        if not moving.any():
            return None
        half = ulp * 1.0001 * units(values[moving], self.grain)
        ends = np.stack([(values[moving] - half) / weights[moving], (values[moving] + half) / weights[moving]])
        low, high = ends.min(axis=0), ends.max(axis=0)
        for spoiled in (0.0, 0.1):
            least, most = np.quantile(low, 1 - spoiled), np.quantile(high, spoiled)
            if least <= most:
                return shortest(float(least), float(most))
        return None

    def curve(
        self, shape: Callable[[Floats, float], Floats], start: float, head: int
    ) -> tuple[Decimal, Decimal] | None:
        """Return the shortest a and b with values = a shape(abs(distance), b), b near `start`; None where none fit."""
        columns = self.known & (self.at != 0)
        size = np.abs(self.at).astype(np.float64)
        for ulp in (0.5, 4.0):  # rounded once, or computed in the type itself
            for places in range(1, 8):
                unit = 10.0 ** (math.floor(math.log10(start)) - places + 1)
                for guess in (round(start / unit) + step for step in (0, -1, 1)):
                    b = float(f"{guess * unit:.{places}g}")
                    a = self.factor(shape(size, b), head, columns, ulp) if b > 0 else None
                    if a is not None:
                        return a, Decimal(repr(b))
        return None


def profiles(lines: Lines) -> Iterator[Profile]:
    """Yield what an array may be as a bias or an index, the likeliest first."""
    shape, raw = lines.shape, lines._array.shape
    if len(shape) <= 1:
        values = lines.read(0, lines.count).reshape(1, -1)
        flat = np.where(np.isneginf(values), np.nan, values)
        if len(raw) <= 1 or raw[-1] == 1:
            yield Profile("slopes", flat.T, np.ones(1, np.int64), "slopes", "", 1, 1, lines)
        if len(raw) <= 1 or raw[-1] != 1:
            yield from _of_rows(lines, flat)
    elif len(shape) == 2:
        heads, width = shape
        if width > 2 * MAX_KEYS:
            return
        if heads <= width:
            yield from _of_cube(lines, 1, heads, width)
        if heads <= MAX_HEADS and heads != width:
            yield from _of_rows(lines, lines.read(0, heads))
    elif len(shape) == 3 and shape[0] <= MAX_HEADS and shape[2] <= MAX_KEYS and shape[1] <= shape[2]:
        yield from _of_cube(lines, *shape)
    elif len(shape) == 3 and shape[2] == 2:
        yield Profile("pair", lines.read(0, lines.count), np.arange(2), "dense", "", shape[1], 2, lines)
    elif len(shape) == 4 and shape[0] * shape[1] <= MAX_HEADS and shape[2] <= shape[3] <= MAX_KEYS:
        for found in _of_cube(lines, shape[0] * shape[1], *shape[2:]):
            first = found.values[: shape[1]]
            if np.array_equal(np.tile(first, (shape[0], 1)), found.values, equal_nan=True):
                yield replace(found, values=first, copies=shape[0])


def _of_rows(lines: Lines, rows: Floats) -> Iterator[Profile]:
    """Yield rows of one query: by distance where their number of columns is odd, by key, and by distance from 0."""
    hidden, width = np.isneginf(rows), rows.shape[1]
    values = np.where(hidden, np.nan, rows)
    period = next((p for p in _divisors(len(values)) if (values.reshape(-1, p, width) == values[:p]).all()), 0)
    copies = len(values) // period if period else 1
    values = values[: len(values) // copies]
    if width % 2 and width > 2:
        n = (width + 1) // 2
        at = np.arange(1 - n, n)
        yield Profile(
            "distance", values, at, "distance", _masked(values, at, np.asarray(hidden.any(axis=0))), n, n, lines
        )
    if width > 2:
        yield Profile("key", values, np.arange(width), "row", "", 1, width, lines, copies=copies)
        yield Profile("distance", values, -np.arange(width), "past", "", 1, width, lines)


def _divisors(count: int) -> Iterator[int]:
    return (p for p in range(1, count) if count % p == 0)


def _masked(values: Floats, at: Integers, hidden: NDArray[np.bool_]) -> str:
    """Return what keys after the query hold where that hides them; "" where they have values of their own."""
    later, earlier = values[:, at > 0], values[:, at < 0]
    told = np.isfinite(later)
    if told.any() and not later[told].any() and np.nan_to_num(earlier).any(axis=1).all():
        return "0"
    return "-inf" if hidden[at > 0].sum() > told.any(axis=0).sum() else ""


def _of_cube(lines: Lines, heads: int, queries: int, keys: int) -> Iterator[Profile]:
    """Yield the profiles of a bias (heads, queries, keys), from a few rows of each head."""
    picked = sorted({0, 1, 2, queries // 4, queries // 2, 3 * queries // 4, queries - 3, queries - 2, queries - 1} &
                    set(range(queries)))  # fmt: skip
    rows = np.stack([
        np.concatenate([lines.read(head * queries + query, head * queries + query + 1) for query in picked])
        for head in range(heads)
    ])  # fmt: skip
    raw, rows = rows, np.where(np.isneginf(rows), np.nan, rows)
    if queries > 1:
        last = _middle(rows)
        told = np.isfinite(rows)
        alike = (rows == last[:, None])[told].mean() if told.any() else 0.0
        if alike >= MIN_SHARE_ALIKE and np.nanmax(last) > np.nanmin(last):
            at = np.arange(keys)
            masked = "-inf" if np.isnan(rows[:, 0, 1:]).all() and keys > 1 else ""
            yield Profile("key", last, at, "dense", masked, queries, keys, lines)
            return
    found = False
    for align in ("", "first")[: 1 + (queries < keys)]:
        offset = 0 if align else keys - queries
        at = np.arange(1 - keys, keys)
        values = np.full((heads, len(at)), np.nan)
        fits = total = 0
        hidden = np.zeros(len(at), bool)
        for head in range(heads):
            laid = np.full((len(picked), len(at)), np.nan)
            for k, query in enumerate(picked):
                laid[k, (low := keys - 1 - query - offset) : low + keys] = rows[head, k]
                hidden[low : low + keys] |= np.isneginf(raw[head, k])
            values[head] = middle = _middle(laid[None])[0]
            told = np.isfinite(laid)
            shared = told & (told.sum(axis=0) > 1)
            fits, total = fits + int((laid == middle)[shared].sum()), total + int(shared.sum())
        if total and fits >= MIN_SHARE_ALIKE * total:
            yield Profile("distance", values, at, "dense", _masked(values, at, hidden), queries, keys, lines, align)
            found = True
    if not found:
        yield Profile("pair", raw.reshape(-1, keys), np.arange(keys), "dense", "", queries, keys, lines)


def _middle(rows: Floats) -> Floats:
    """Return the lower median of the numbers along axis 1, (heads, m); NaN where there is none."""
    ordered = np.sort(rows, axis=1)
    count = np.isfinite(rows).sum(axis=1)
    found: Floats = np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)[:, 0]
    return found


def readings(table: Tabular) -> Iterator[Lines]:
    """Yield the arrays of a file as they are, then with other axes first or with query and key exchanged."""
    held = [Lines(table, a.name) for a in table.arrays if not a.dtype.startswith("complex") and 0 not in a.shape]
    held.sort(key=lambda lines: (len(lines.shape) < 2, lines.dtype in GRIDS))  # an index says more than trained values
    yield from held
    for lines in held:
        for order, note in REORDERED.items():
            if len(order) == len(lines.shape) and lines.count > 1:
                yield Lines(table, lines.name, note, order)
        side = math.isqrt(lines.width)
        if len(lines.shape) == 1 and lines.integral and side > 1 and side**2 == lines.width:
            yield Lines(table, lines.name, "its rows stand one after the other", shape=(side, side))


REORDERED = {
    (1, 0): "query and key axes are exchanged",
    (2, 0, 1): "the heads are the last axis",
    (1, 0, 2): "the heads are the middle axis",
    (0, 2, 1): "query and key axes are exchanged",
}


def rules(signal: Any) -> Iterator[Candidate]:
    """Yield what the encodings' rules make of a signal: those whose parameter is declared to be of its type."""
    for encoding in (CATALOGUE[name] for name in CATALOGUE):
        if encoding.declares("identify"):
            rule = encoding.hook("identify")
            if next(iter(rule.__annotations__.values()), None) == type(signal).__name__:
                yield from rule(signal)


def fits(table: Tabular) -> Iterator[Fit]:
    """Yield the candidates that explain at least half of a file, with their tables, reading by reading."""
    for lines in readings(table):
        signals: list[Any] = list(profiles(lines))
        if not lines.note:
            signals += Rows.of(lines)
        for signal in signals:
            for candidate in rules(signal):
                if lines.note and candidate.doubts:
                    continue
                if lines.note:
                    candidate = replace(candidate, notes=(lines.note, *candidate.notes))
                found = fit(candidate, table, lines if lines.note else None)
                if found is not None:
                    yield found


def best_fit(table: Tabular) -> Fit | None:
    """Return the candidate that explains a file best; None where none explains half of it."""
    best: Fit | None = None
    for found in fits(table):
        if better(found, best):
            best = found
        if best is not None and not best.unexplained and best.equal == 1.0 and not best.candidate.doubts:
            break
    return best


def identify_bias(table: Tabular) -> Identification | None:
    """Return what a file of a bias, an index, a mask or a code is; None where it is none of them.

    The file's arrays are real numbers. A mask, a constant and a ramp are unknown, with what was measured.
    """
    with np.errstate(all="ignore"):
        measured = measured_of(table)
        if measured is not None:
            return measured
        found = best_fit(table)
        return unknown_of(table) if found is None else verdict(found, table)


def unknown_of(table: Tabular) -> Identification | None:
    """Return what was measured of a bias or an index that follows no rule; None where heads, queries, keys do not show.

    What depends on the distance between its last two axes alone is one.
    """
    for lines in readings(table):
        for profile in profiles(lines) if not lines.note and len(lines.shape) > 1 else ():
            values, at = profile.seen
            if profile.by != "distance" or profile.form != "dense" or profile.queries < 3 or not len(at):
                continue
            if profile.integral and profile.heads == 1:
                for sign, said in ((1, "key minus query"), (-1, "query minus key")):
                    added = float(values[0, 0] - sign * at[0])
                    if np.array_equal(values[0], sign * at + added):
                        more = f" plus {added:g}" if added else ""
                        return Identification(None, "unknown", measured=(f"the distance, {said}{more}, for each pair",))
            what = f"a bias of {profile.heads} head{'s' * (profile.heads > 1)}" if profile.heads > 1 else "a matrix"
            said = f"{what} that depends on the distance of query and key alone, by no known rule"
            return Identification(None, "unknown", measured=(said,))
    return None


def verdict(found: Fit, table: Tabular) -> Identification:
    """Return how much a fit is worth."""
    candidate = found.candidate
    recipe = recipe_text(found.table)
    notes = [*candidate.notes, *candidate.doubts, *found.places]
    if found.max_ulp:
        which = "every value" if not found.unexplained else "each of the others"
        within = f"{which} is within {found.max_ulp:.3g} ulp ({found.residual:.2g}) of the exact one"
        notes.append(f"{within}, as {found.arithmetic} arithmetic leaves it")
    left = [a.name for a in table.arrays if a.name not in found.arrays]
    if left:
        notes.append(f"not judged: the array{'s' * (len(left) > 1)} {', '.join(left)}")
    if found.explained < MIN_SHARE_LIKELY or candidate.fitted > MAX_DIGITS_CHOSEN:
        said = f"nearest: {recipe}" if candidate.fitted <= MAX_DIGITS_CHOSEN else "the numbers follow no known rule"
        return Identification(None, "unknown", measured=(*candidate.notes, said, *found.places))
    loose = bool(candidate.fitted and found.max_ulp) and found.arithmetic in ("float16", "bfloat16")
    sure = not (found.unexplained or candidate.doubts or loose)
    equal = None if candidate.trained else found.equal
    return Identification(recipe, "sure" if sure else "likely", found.residual, equal, found.arithmetic,
                          tuple(notes), (), found.count, found.arrays)  # fmt: skip


def bias_differences(actual, expected, found=None): return None
