"""Biases, slopes, relative indices and masks: which axes are heads, queries and keys, and the values by distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.judge.codes import measured_of, rows_of
from pecli.judge.description import Candidate, Fit, Identification
from pecli.judge.fit import MIN_SHARE_LIKELY, Lines, arrays_of, better, fit, recipe_text
from pecli.numbers.dtypes import GRIDS
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.profiles import MAX_DIGITS_CHOSEN, MIN_SHARE_ALIKE, CodeRows, Floats, Integers, Profile
from pecli.spec.tabular import Tabular

# Largest difference of narrow values, in units in the last place, for an identification to be sure.
MAX_SURE_ULP = 8.0
# Share of the values that the nearest recipe of an unknown table gives exactly: half of the heads may be others.
MIN_SHARE_NEAREST = 0.5
# Heads of a bias; an array with more rows along its first axis is no bias by head.
MAX_HEADS = 1024
# Heads by which most arrays are found not to depend on the distance.
FIRST_HEADS = 4
# Keys of a bias that is read by distance; the profile of one head takes 1 MB.
MAX_KEYS = 1 << 17
# Values of an array with a row for each head, by distance or by key: 128 heads of the most keys, 128 MiB.
MAX_PROFILE = 1 << 24
# Share of the keys after the query that are minus infinity under a causal mask; the others are corrupted.
MIN_SHARE_HIDDEN = 0.5
# Bytes of an array whose axes are exchanged in memory; raised, an unknown file takes several times as long.
MAX_REORDERED_BYTES = 1 << 25


def profiles(lines: Lines) -> Iterator[Profile]:
    """Yield the profiles of an array as a bias or an index, the likeliest first; of repeated heads, the first copy."""
    for found in _profiles(lines):
        many, values = found.heads, found.values
        parts = [h for h in range(1, many) if many % h == 0 and np.array_equal(values[h], values[0], equal_nan=True)]
        heads = next((h for h in parts if np.array_equal(values[h:], values[:-h], equal_nan=True)), many)
        equal = heads == 1 and found.form == "dense"  # heads may be alike
        yield found if equal else replace(found, values=values[:heads], copies=many // heads)


def _profiles(lines: Lines) -> Iterator[Profile]:
    shape, raw = lines.shape, lines.array.shape
    *lead, queries, keys = (1, 1, *shape)
    heads, alone = math.prod(lead), raw[-2:-1] == (1,)

    def make(
        by: str, values: Floats, at: Integers, form: str, masked: str, queries: int, keys: int, align: str = ""
    ) -> Profile:
        values = np.where(np.isneginf(values), np.nan, values)
        array = (lines.effective_dtype, lines.integral, lines.name, shape, lines.read)
        return Profile(by, values, at, form, masked, queries, keys, *array, align)

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
    if keys == 2 < queries:
        yield make("pair", np.full((1, 2), np.nan), np.arange(2), "dense", "", queries, keys)


def _of_cube(lines: Lines, make: Callable[..., Profile], heads: int, queries: int, keys: int) -> Iterator[Profile]:
    """Yield a bias by key, or by distance with the queries at either end of the keys, from a few rows of each head."""
    spread = (queries * np.array([0, 1, 2, 3]) / 4).astype(int).tolist()
    picked = sorted({*spread, 1, 2, queries - 3, queries - 2, queries - 1} & set(range(queries)))
    rows = np.stack([
        np.concatenate([lines.read(head * queries + query, head * queries + query + 1) for query in picked])
        for head in range(heads)
    ])  # fmt: skip
    found = False
    for by, align in (("key", ""), ("distance", ""), ("distance", "first"))[: 2 + (queries < keys)]:
        own = np.array(picked) + (0 if align else keys - queries)
        at = np.arange(keys) if by == "key" else np.arange(1 - keys, keys)
        for some in (rows[:FIRST_HEADS], rows):
            aligned = np.full((len(some), len(picked), len(at)), np.nan)
            for k, low in enumerate([0] * len(own) if by == "key" else keys - 1 - own):
                aligned[:, k, low : low + keys] = some[:, k]
            middle = _middle(aligned)
            finite = np.isfinite(aligned)
            finite &= finite.sum(axis=1, keepdims=True) > 1
            same = (aligned == middle[:, None])[finite]
            if not same.size or same.mean() < MIN_SHARE_ALIKE:
                break
        else:
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
    asked = cache(lambda kind: [*rules(kind, only)])
    for lines in readings(table):
        for signal in signals(lines):
            for rule in asked(type(signal).__name__):
                for candidate in rule(signal):
                    if lines.note and candidate.doubts:
                        continue
                    notes = (lines.note, *candidate.notes) if lines.note else candidate.notes
                    found = fit(replace(candidate, notes=notes), table, lines if lines.note else None)
                    if found is not None:
                        yield found


def signals(lines: Lines) -> Iterator[Profile | CodeRows]:
    """Yield the signals of an array that the rules of the encodings read: profiles and rows of codes."""
    yield from profiles(lines)
    yield from () if lines.note else rows_of(lines)


def rules(kind: str, only: str | None = None) -> Iterator[Callable[[Any], Iterator[Candidate]]]:
    """Yield the rules of all encodings, or of one, that read a type of signal."""
    for encoding in [CATALOGUE[only]] if only else CATALOGUE.values():
        if encoding.declares("identify"):
            rule = encoding.hook("identify")
            reads = next(iter(rule.__annotations__.values()))  # a name, or the type itself without __future__
            if getattr(reads, "__name__", reads) == kind:
                yield rule


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
    """Return the identification of a bias, an index, a mask or a code; None for any other file.

    The file's arrays are real numbers. A mask, a constant and a ramp are unknown, with what was measured.
    """
    with np.errstate(all="ignore"):
        text = plain_of(table)
        found = None if text else best_fit(table)
        if found is not None:
            judged = verdict(found, table)
            if judged.recipe is not None or judged.measured:
                return judged
        text = text or distance_of(table)
        return Identification(None, "unknown", measured=(text,)) if text else None


def plain_of(table: Tabular) -> str | None:
    """Return a description of an array without an encoding: empty, constant, a mask, a ramp; None for binary codes."""
    text = measured_of(table)
    if text is None:
        return None
    rows = [one for lines in arrays_of(table) for one in rows_of(lines)]
    counted = any(True for one in rows for rule in rules(type(one).__name__) for _ in rule(one))
    return None if counted else text


def distance_of(table: Tabular, *, indices: bool = False) -> str | None:
    """Describe a matrix that depends only on the distance of query and key: the distance itself, or unknown.

    Parameters
    ----------
    table : Tabular
    indices : bool
        Whether only an index is spoken of that holds the distance itself.
    """
    for lines in arrays_of(table):
        for profile in profiles(lines) if len(lines.shape) > 1 else ():
            dense = profile.by == "distance" and profile.form == "dense" and profile.queries > 2
            if not dense or not profile.known.any() or not _by_distance(lines, profile):
                continue
            values, at = profile.seen
            whole = {"key minus query": at, "query minus key": -at, "its size": abs(at), "minus its size": -abs(at)}
            for what, number in whole.items() if profile.heads == 1 else ():
                added = float(values[0, 0] - number[0])
                if np.array_equal(values[0], number + added):
                    return f"the distance, {what}{f' plus {added:g}' if added else ''}, for each pair"
            if not indices:
                what = f"a bias of {profile.heads} heads" if profile.heads > 1 else "a matrix"
                for by, number in (("key minus query", profile.at), ("the distance", np.abs(profile.at))):
                    slopes = profile.slopes(number, np.ones(len(profile.at), bool))
                    if slopes is not None and (slopes > 0).all():
                        some = ", ".join(f"{slope:.4g}" for slope in slopes[:4])
                        return f"{what} in proportion to {by}, slopes {some}: ALiBi's have the other sign"
                return f"{what} that depends on the distance of query and key alone, by no known rule"
    return None


def _by_distance(lines: Lines, profile: Profile) -> bool:
    """Whether the values of all queries follow from their distances, except a few."""
    first, count = int(profile.at[0]), 0
    own = np.arange(profile.queries) + (0 if profile.align else profile.keys - profile.queries)
    for start, values in lines.blocks():
        head, query = np.divmod(np.arange(start, start + len(values)), profile.queries)
        at = np.arange(profile.keys) - own[query][:, None] - first
        expected = profile.values[head[:, None] % profile.heads, at]
        count += int(np.count_nonzero((values == expected) | np.isnan(expected)))
    return bool(count >= MIN_SHARE_LIKELY * lines.count * lines.width)


def verdict(found: Fit, table: Tabular) -> Identification:
    """Return the identification that a fit allows."""
    candidate = found.candidate
    recipe = recipe_text(found.table)
    if not is_named(found):
        if candidate.trained or candidate.absolute or found.equal < MIN_SHARE_NEAREST:
            return Identification(None, "unknown")
        nearest = f"nearest: {recipe}" if candidate.fitted <= MAX_DIGITS_CHOSEN else "the numbers follow no known rule"
        own = candidate.notes if found.explained >= MIN_SHARE_LIKELY else ()
        return Identification(None, "unknown", measured=(*own, nearest, *found.places))
    notes = [*candidate.notes, *candidate.doubts, *found.places]
    if found.max_ulp:
        which = "every value" if not found.unexplained else "each of the others"
        within = f"{which} is within {math.ceil(found.max_ulp)} ulp ({found.residual:.2g}) of the exact one"
        notes.append(f"{found.arithmetic} rounding: {within}")
    left = [a.name for a in table.arrays if a.name not in found.arrays]
    if left:
        notes.append(f"not judged: the array{'s' * (len(left) > 1)} {', '.join(left)}")
    narrow = found.arithmetic in ("float16", "bfloat16")
    loose = narrow and (bool(candidate.fitted and found.max_ulp) or found.max_ulp > MAX_SURE_ULP)
    sure = not (found.unexplained or candidate.doubts or loose)
    equal = None if candidate.trained else found.equal
    return Identification(recipe, "sure" if sure else "likely", found.residual, equal, found.arithmetic,
                          tuple(notes), (), found.count, found.arrays)  # fmt: skip
