"""Biases, slopes, relative indices and masks: which axes are heads, queries and keys, and the values by distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.judge.codes import measured_of, rows_of
from pecli.judge.description import Candidate, Fit, Identification
from pecli.judge.fit import MIN_SHARE_LIKELY, Lines, arrays_of, better, fit, recipe_text
from pecli.numbers.dtypes import GRIDS
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.profiles import MAX_DIGITS_CHOSEN, MIN_SHARE_ALIKE, Floats, Integers, Profile
from pecli.spec.tabular import Tabular

MAX_SURE_ULP = 8.0
"""Units in the last place within which narrow values are those of an arithmetic; of more, nothing is sure."""
MAX_HEADS = 1024
"""Heads of a bias; an array with more rows along its first axis is no bias by head."""
FEW_HEADS = 3
"""Heads by which most arrays are found not to depend on the distance."""
MAX_KEYS = 1 << 16
"""Keys of a bias that is read by distance; the profile of one head takes 1 MB."""
MAX_REORDERED_BYTES = 1 << 25
"""Bytes of an array whose axes are exchanged in memory; raised, an unknown file takes several times as long."""


def profiles(lines: Lines) -> Iterator[Profile]:
    """Yield what an array may be as a bias or an index, the likeliest first."""
    shape, raw = lines.shape, lines.array.shape
    if len(shape) <= 1:
        values = lines.read(0, lines.count).reshape(1, -1)
        flat = np.where(np.isneginf(values), np.nan, values)
        if flat.size <= MAX_HEADS and (len(raw) <= 1 or raw[-1] == 1):
            yield _profile(lines, "slopes", flat.T, np.ones(1, np.int64), "slopes", "", 1, 1)
        if len(raw) <= 1 or raw[-1] != 1:
            yield from _of_rows(lines, flat)
    elif shape[-1] == 2 < shape[-2] and len(shape) <= 3:
        yield _profile(lines, "pair", lines.read(0, lines.count), np.arange(2), "dense", "", shape[-2], 2)
    elif len(shape) == 2:
        heads, width = shape
        if width > 2 * MAX_KEYS:
            return
        if heads <= width and raw[-2:-1] != (1,):
            yield from _of_cube(lines, 1, heads, width)
        if heads <= MAX_HEADS:
            yield from _of_rows(lines, lines.read(0, heads))
    elif len(shape) == 3 and shape[0] <= MAX_HEADS and shape[2] <= MAX_KEYS and shape[1] <= shape[2]:
        for found in _of_cube(lines, *shape):
            period = _period(found.values)
            if period > 1 and found.by != "pair":
                yield replace(found, values=found.values[:period], copies=shape[0] // period)
            yield found
    elif len(shape) == 4 and shape[0] * shape[1] <= MAX_HEADS and shape[2] <= shape[3] <= MAX_KEYS:
        for found in _of_cube(lines, shape[0] * shape[1], *shape[2:]):
            first = found.values[: shape[1]]
            if np.array_equal(np.tile(first, (shape[0], 1)), found.values, equal_nan=True):
                yield replace(found, values=first, copies=shape[0])


def _of_rows(lines: Lines, rows: Floats) -> Iterator[Profile]:
    """Yield rows of one query: by distance where their number of columns is odd, by key, and by distance from 0."""
    hidden, width = np.isneginf(rows), rows.shape[1]
    values = np.where(hidden, np.nan, rows)
    period = _period(values)
    copies = len(values) // period if period else 1
    values = values[: len(values) // copies]
    if width % 2 and width > 2:
        n = (width + 1) // 2
        at = np.arange(1 - n, n)
        masked = _masked(values, at, np.asarray(hidden.any(axis=0)))
        yield _profile(lines, "distance", values, at, "distance", masked, n, n)
    if width > 2:
        yield _profile(lines, "key", values, np.arange(width), "row", "", 1, width, copies=copies)
        yield _profile(lines, "distance", values, -np.arange(width), "past", "", 1, width)


def _profile(lines: Lines, *measured: Any, **more: Any) -> Profile:
    """Return a profile with what it says of its array."""
    array: dict[str, Any] = {"grain": lines.grain, "integral": lines.integral, "name": lines.name}
    found: Profile = partial(Profile, **array, shape=lines.shape, read=lines.read, **more)(*measured)
    return found


def _period(values: Floats) -> int:
    """Return of how many rows all are copies; 0 where they are not copies of fewer."""
    every = (p for p in range(1, len(values)) if len(values) % p == 0)
    return next((p for p in every if np.array_equal(values[p:], values[:-p], equal_nan=True)), 0)


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
            yield _profile(lines, "key", last, at, "dense", masked, queries, keys)
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
            if head == FEW_HEADS and fits < MIN_SHARE_ALIKE * total:
                break
        if total and fits >= MIN_SHARE_ALIKE * total:
            masked = _masked(values, at, hidden)
            yield _profile(lines, "distance", values, at, "dense", masked, queries, keys, align=align)
            found = True
    if not found:
        yield _profile(lines, "pair", raw.reshape(-1, keys), np.arange(keys), "dense", "", queries, keys)


def _middle(rows: Floats) -> Floats:
    """Return the lower median of the numbers along axis 1, (heads, m); NaN where there is none."""
    ordered = np.sort(rows, axis=1)
    count = np.isfinite(rows).sum(axis=1)
    found: Floats = np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)[:, 0]
    return found


def readings(table: Tabular) -> Iterator[Lines]:
    """Yield the arrays of a file as they are, then with other axes first or with query and key exchanged."""
    held = arrays_of(table)
    held.sort(key=lambda lines: (len(lines.shape) < 2, lines.dtype in GRIDS))  # an index says more than trained values
    yield from held
    yield from readings_of(held)


def readings_of(held: Sequence[Lines]) -> Iterator[Lines]:
    """Yield arrays with other axes first, with query and key exchanged, or with a matrix in one row."""
    for lines in held:
        for order, note in READINGS.items():
            if len(order) == len(lines.shape) and lines.count > 1 and lines.array.bytes <= MAX_REORDERED_BYTES:
                yield Lines(lines.table, lines.name, note, order)
        side = math.isqrt(lines.width)
        if len(lines.shape) == 1 and lines.integral and side > 1 and side**2 == lines.width:
            yield Lines(lines.table, lines.name, "its rows stand one after the other", shape=(side, side))


READINGS = {
    (1, 0): "query and key axes are exchanged",
    (2, 0, 1): "the heads are the last axis",
    (1, 0, 2): "the heads are the middle axis",
    (0, 2, 1): "query and key axes are exchanged",
}


Rule = tuple[str, Callable[[Any], Iterator[Candidate]]]


def rules(only: str | None = None) -> list[Rule]:
    """Return the rules of the encodings, or of one, each with the name of the type of signal that it reads."""
    encodings = [CATALOGUE[only]] if only else CATALOGUE.values()
    hooks = [encoding.hook("identify") for encoding in encodings if encoding.declares("identify")]
    return [(next(iter(hook.__annotations__.values())), hook) for hook in hooks]


def fits(table: Tabular, only: str | None = None) -> Iterator[Fit]:
    """Yield the candidates that explain at least half of a file, with their tables, reading by reading.

    Parameters
    ----------
    table : Tabular
    only : str, optional
        The one encoding whose rule is asked.
    """
    every = rules(only)
    for lines in readings(table):
        signals: list[Any] = list(profiles(lines))
        if not lines.note:
            signals += rows_of(lines)
        for signal in signals:
            for candidate in (c for kind, rule in every if kind == type(signal).__name__ for c in rule(signal)):
                if lines.note and candidate.doubts:
                    continue
                notes = (lines.note, *candidate.notes) if lines.note else candidate.notes
                found = fit(replace(candidate, notes=notes), table, lines if lines.note else None)
                if found is not None:
                    yield found


def is_named(found: Fit) -> bool:
    """Whether a fit explains nearly all values with numbers that somebody chose."""
    return found.explained >= MIN_SHARE_LIKELY and found.candidate.fitted <= MAX_DIGITS_CHOSEN


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


def distance_of(table: Tabular) -> str | None:
    """Return what is said of an index that holds the distance itself; None where it holds another function of it."""
    for lines in readings(table):
        for profile in profiles(lines) if not lines.note and len(lines.shape) > 1 and lines.integral else ():
            values, at = profile.seen
            if not profile.indexes:
                continue
            for sign, said in ((1, "key minus query"), (-1, "query minus key")):
                added = float(values[0, 0] - sign * at[0])
                if np.array_equal(values[0], sign * at + added):
                    return f"the distance, {said}{f' plus {added:g}' if added else ''}, for each pair"
    return None


def unknown_of(table: Tabular) -> Identification | None:
    """Return what was measured of a bias or an index that follows no rule; None where heads, queries, keys do not show.

    What depends on the distance between its last two axes alone is one.
    """
    if (said := distance_of(table)) is not None:
        return Identification(None, "unknown", measured=(said,))
    for lines in readings(table):
        for profile in profiles(lines) if not lines.note and len(lines.shape) > 1 else ():
            if profile.by != "distance" or profile.form != "dense" or profile.queries < 3 or not profile.known.any():
                continue
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
        within = f"{which} is within {math.ceil(found.max_ulp)} ulp ({found.residual:.2g}) of the exact one"
        notes.append(f"{found.arithmetic} rounding: {within}")
    left = [a.name for a in table.arrays if a.name not in found.arrays]
    if left:
        notes.append(f"not judged: the array{'s' * (len(left) > 1)} {', '.join(left)}")
    if found.explained < MIN_SHARE_LIKELY or candidate.fitted > MAX_DIGITS_CHOSEN:
        said = f"nearest: {recipe}" if candidate.fitted <= MAX_DIGITS_CHOSEN else "the numbers follow no known rule"
        return Identification(None, "unknown", measured=(*candidate.notes, said, *found.places))
    narrow = found.arithmetic in ("float16", "bfloat16")
    loose = narrow and (bool(candidate.fitted and found.max_ulp) or found.max_ulp > MAX_SURE_ULP)
    sure = not (found.unexplained or candidate.doubts or loose)
    equal = None if candidate.trained else found.equal
    return Identification(recipe, "sure" if sure else "likely", found.residual, equal, found.arithmetic,
                          tuple(notes), (), found.count, found.arrays)  # fmt: skip
