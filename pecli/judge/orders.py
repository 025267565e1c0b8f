"""Order of rows, heads or columns: which expected one stands at each place, and the words for it.

The map is found by content. A run of the expected order is extended as far as it reaches, so a table costs one search
for each run, and a cut, a repetition, an exchange and a reversal are all found in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNKNOWN, ZERO, NAN = -1, -2, -3
"""Instead of an expected row: one that is not among the expected ones, zeros, NaN."""

MAX_MISSES = 16  # searches without a result after which half of all must have one; raised, noise takes seconds
FIRST_COLUMNS = 8  # by which a search begins, beside those that may be wrong
MAX_PARTS = 4  # parts of a sentence: more is no description any more, and is said as "another order"
MAX_BAD_SHARE = 1 / 32  # of a row's values may be wrong by themselves: a column of NaN does not hide where the row is
MAX_LISTED = 3  # places of a permutation that are named as examples


class OrderRun(NamedTuple):
    """Places `first` to `last` that hold the expected ones from `target` on, `step` further each time."""

    first: int
    last: int
    target: int
    step: int

    @property
    def places(self) -> int:
        """Number of places."""
        return self.last - self.first + 1


def match(mine: Floats, theirs: Floats, near: float) -> Integers:
    """Return which expected row stands at each place, by the columns given; `UNKNOWN`, `ZERO` or `NAN` for none.

    Its own row is preferred, then the one after its predecessor's, then whatever the search finds.
    """
    n, m = len(mine), len(theirs)
    found = np.full(n, UNKNOWN, np.int64)
    most_bad = int(MAX_BAD_SHARE * mine.shape[1])
    with np.errstate(invalid="ignore"):
        blank = np.where((mine == 0).all(axis=1), ZERO, np.where(np.isnan(mine).all(axis=1), NAN, 0))
    misses = 0

    def like(first: int, rows: Integers) -> NDArray[np.bool_]:
        """Tell which of the places from `first` on hold these expected rows."""
        inside = (rows >= 0) & (rows < m)
        off = _departures(mine[first : first + len(rows)], theirs[np.where(inside, rows, 0)])
        return np.asarray(inside & (np.count_nonzero(~(off <= near), axis=1) <= most_bad))

    def extended(first: int, target: int, step: int) -> int:
        """Return how many places from `first` on follow the expected rows from `target` on."""
        done, size = 0, 16
        while first + done < n:
            count = min(size, n - first - done)
            good = like(first + done, target + step * np.arange(done, done + count))
            if not good.all():
                return done + int(np.argmin(good))
            done, size = done + count, 2 * size
        return done

    place = 0
    while place < n:
        before = int(found[place - 1]) if place else -1
        target = next((t for t in (place, before + 1) if t >= 0 and like(place, np.array([t]))[0]), None)
        if target is None and blank[place] < 0:
            found[place] = blank[place]
            place += 1
            continue
        if target is None and misses < max(MAX_MISSES, place - misses):
            target = _nearest(mine[place], theirs, near, most_bad, before + 1)
            misses += target is None
        if target is None and misses < max(MAX_MISSES, place - misses):
            place += 1
            continue
        if target is None:  # no more searches: on to the next row that stands in its own place
            own = like(place, np.arange(place, n))
            place = place + int(np.argmax(own)) if own.any() else n
            continue
        steps = (1,) if target == place else (1, 0, -1, 2)
        length, step = max((extended(place, target, s), -abs(s - 1), s) for s in steps)[::2]
        if target == place and length == 1 < n - place:  # equal by chance, as the middle row of reversed ones
            other = before - 1 if before > place else -1
            target = other if other >= 0 and like(place, np.array([other]))[0] else target
        found[place : place + length] = target + step * np.arange(length)
        place += length
    return found


def _departures(a: Floats, b: Floats) -> Floats:
    """Return abs(a - b), where two equal values that are no numbers, or infinite, are 0 apart."""
    with np.errstate(invalid="ignore"):
        return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))


def _nearest(row: Floats, theirs: Floats, near: float, most_bad: int, likely: int) -> int | None:
    """Return the expected row that has these values; of several the nearest to a likely one."""
    good = np.arange(len(theirs))
    few = np.linspace(0, len(row) - 1, min(len(row), FIRST_COLUMNS + most_bad)).astype(np.int64)
    for columns in (few, np.arange(len(row))):
        off = _departures(
            row[columns], theirs[np.ix_(good, columns)] if len(good) < len(theirs) else theirs[:, columns]
        )
        like = np.count_nonzero(~(off <= near), axis=1) <= most_bad
        good, off = good[like], off[like]
    if not good.size:
        return None
    cost = np.minimum(off, 2 * near).sum(axis=1)
    good = good[cost <= cost.min() + 0.5 * near]
    return int(good[np.argmin(np.abs(good - likely))])


def along_axis(found: Integers, sides: tuple[int, ...]) -> tuple[int, Integers] | None:
    """Return the only axis along which a map of rows moves them, and the map of its indices; None of several."""
    for axis, side in enumerate(sides):
        line = found.reshape(sides)[tuple(slice(None) if k == axis else 0 for k in range(len(sides)))]
        moved = np.where(line < 0, line, line // int(np.prod(sides[axis + 1 :])) % side)
        if np.array_equal(whole_rows(moved, sides, axis), found):
            return axis, moved
    return None


def whole_rows(moved: Integers, sides: tuple[int, ...], axis: int) -> Integers:
    """Return the map of all rows whose index along one axis is mapped."""
    index = list(np.indices(sides).reshape(len(sides), -1))
    target = moved[index[axis]]
    index[axis] = np.maximum(target, 0)
    return np.where(target < 0, target, np.ravel_multi_index(tuple(index), sides))


def descriptions(found: Integers, count: int, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield what a map may be called, the simplest first, and the map that the words say.

    Parameters
    ----------
    found : (n,) int ndarray
        As `match` returns it.
    count : int
        Number of expected rows.
    unit : str
        "row", "column", "head".
    """
    n, units = len(found), f"{unit}s"
    places = np.arange(n)
    if np.array_equal(found, places):
        if n < count:
            yield f"{span(n, count - 1, unit)} {_are(count - n)} missing", places
        return
    if n == count > 1:
        yield f"the {units} are reversed", places[::-1]
    yield from _rules(found, count, unit)
    said = _edited(found, count, unit) or _listed(found, count, unit)
    if said:
        yield said
    if n == count and (found >= 0).all() and len(np.unique(found)) == n:
        for text, order in _grids(n, unit):
            if np.array_equal(order, found):
                yield text, order
        off = np.flatnonzero(found != places)
        some = ", ".join(f"{unit} {k} holds {unit} {found[k]}" for k in off[:MAX_LISTED].tolist())
        yield f"the {units} are in another order: {some}{', ...' if len(off) > MAX_LISTED else ''}", found


def _rules(found: Integers, count: int, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield the maps that one number gives: every k-th row, every row k times, the first k again and again."""
    n, places = len(found), np.arange(len(found))
    if found[0] >= 0 and n > 2 and found[1] - found[0] > 1:
        step = int(found[1] - found[0])
        order = found[0] + step * places
        if order[-1] < count:
            begin = f", from {unit} {found[0]} on" if found[0] else ""
            kept = f"only every {ordinal(step)} {unit} is there{begin}"
            yield f"{kept}: {unit} 1 holds what was expected at {unit} {found[1]}", order
    times = int(np.argmax(found != found[0])) if (found != found[0]).any() else 0
    if times > 1 and found[0] == 0:
        yield (
            f"every {unit} is there {times} times: {unit} {times} holds what was expected at {unit} 1",
            places // times,
        )
    again = np.flatnonzero(found[1:] == 0)
    if again.size and n > 2:
        period = int(again[0]) + 1
        if period > 1:
            yield (
                f"{_from(period, unit)} repeat the first {period}: {unit} {period} is {unit} 0 again",
                places % period,
            )


def runs_of(found: Integers) -> list[OrderRun]:
    """Return the runs of a map; neighbours without an expected row, of one kind, are a run of step 0."""
    runs, first, n = list[OrderRun](), 0, len(found)
    while first < n:
        target = int(found[first])
        counts = {}
        for step in (1, 0, -1) if target >= 0 else (0,):
            follows = found[first:] == target + step * np.arange(n - first)
            counts[step] = int(np.argmin(follows)) if not follows.all() else n - first
        step = 1 if counts.get(1, 0) > 1 else max(counts, key=lambda s: counts[s])
        if step == 0 and target == first:  # the row that the following ones repeat
            runs.append(OrderRun(first, first, target, 1))
        elif target >= 0 and counts[step] == 1:
            runs.append(OrderRun(first, first, target, 0 if first and found[first - 1] == target else 1))
        else:
            runs.append(OrderRun(first, first + counts[step] - 1, target, step))
        first = runs[-1].last + 1
    return runs


def _edited(found: Integers, count: int, unit: str) -> tuple[str, Integers] | None:
    """Say what was left out of the expected order and put into it; None where the order itself is another.

    Places that hold nothing expected are named only where something was put in; elsewhere they are left to be counted.
    """
    n, parts, order = len(found), list[str](), found.copy()
    expected, pending = 0, list[OrderRun]()
    left_out = put_twice = False
    for run in [*runs_of(found), OrderRun(n, n - 1, count, 1)]:
        if run.target < 0 or run.step == 0:
            pending.append(run)
            continue
        if run.step == -1:
            return None
        end, put, gap = run.first == n, sum(one.places for one in pending), run.target - expected
        overwritten = gap == put or (end and 0 < put <= gap)
        for one in pending:
            if one.target == UNKNOWN and overwritten:
                order[one.first : one.last + 1] = expected + np.arange(one.first, one.last + 1) - pending[0].first
            else:
                parts.append(_filled(one, unit))
        by = 0 if overwritten else put - gap
        if put and gap and not overwritten:
            return None
        if gap < 0:
            if put_twice:
                return None
            put_twice = True
            parts.append(f"{span(run.target, expected - 1, unit)} {_are(-gap)} there twice")
        elif gap and run.first == 0:
            left_out = True
            parts.append(f"the first {unit} is what was expected at {unit} {gap}")
        elif gap and not put:
            left_out = left_out or not end
            parts.append(f"{span(expected, run.target - 1, unit)} {_are(gap)} missing")
        if left_out and put_twice:  # what is missing may stand elsewhere
            return None
        if by and run.first and not end:
            parts.append(f"later {unit}s have moved {'up' if by < 0 else 'down'}")
        expected, pending = run.target + run.places, []
    return (", ".join(parts), order) if 0 < len(parts) <= 2 * MAX_PARTS else None


def _filled(run: OrderRun, unit: str) -> str:
    """Say what stands at places that hold no expected row of their own."""
    where, one = span(run.first, run.last, unit), run.places == 1
    if run.target == UNKNOWN:
        return f"{where} {_are(run.places)} not among the expected ones"
    if run.target in (ZERO, NAN):
        return f"{where} {_are(run.places)} {'zero' if run.target == ZERO else 'NaN'}"
    return f"{where} {'repeats' if one else 'repeat'} {unit} {run.target}"


def _listed(found: Integers, count: int, unit: str) -> tuple[str, Integers] | None:
    """Say which places hold which expected rows, run by run."""
    n = len(found)
    off = [run for run in runs_of(found) if run.target != run.first or (run.step != 1 and run.places > 1)]
    if len(off) == 2 and all(run.step == 1 and run.target >= 0 for run in off):
        one, other = off
        if one.places == other.places and one.target == other.first and other.target == one.first:
            if one.places == 1:
                return f"{unit}s {one.first} and {other.first} are exchanged", found
            return f"{span(*one[:2], unit)} are exchanged with {span(*other[:2], unit)}", found
    if n == count and len(off) == 2 and off[0].places + off[1].places == n and all(run.step == 1 for run in off):
        one, other = off
        if other.target == 0 and one.target == other.places:
            by = one.places if one.places <= n // 2 else one.places - n
            place = (by, 0) if by > 0 else (0, -by)
            text = f"the {unit}s are shifted cyclically by {by}: {unit} {place[0]} holds {unit} {place[1]}"
            return text, found
    if len(off) > MAX_PARTS or any(run.target == UNKNOWN for run in off):
        return None
    parts = list[str]()
    for run in off:
        if run.target < 0 or run.step == 0:
            parts.append(_filled(run, unit))
        elif run.step == -1 and run.target == run.last and run.places == 2:
            parts.append(f"{unit}s {run.first} and {run.last} are exchanged")
        elif run.step == -1 and run.target == run.last:
            parts.append(f"{span(*run[:2], unit)} are reversed")
        else:
            ends = (run.target, run.target + run.step * (run.places - 1))
            backwards = ", backwards" if run.step < 0 else ""
            verb = "holds" if run.places == 1 else "hold"
            source = span(min(ends), max(ends), unit)
            parts.append(f"{span(*run[:2], unit)} {verb} what was expected at {source}{backwards}")
    return (", ".join(parts), found) if parts else None


def _grids(n: int, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield the orders of a grid of which an axis is reversed or both are exchanged."""
    places = np.arange(n)
    for width in range(2, n // 2 + 1):
        if n % width == 0:
            grid, said = places.reshape(-1, width), f"the {unit}s are those of a grid of {n // width} x {width}"
            yield f"{said} whose first axis is reversed", grid[::-1].ravel()
            yield f"{said} whose second axis is reversed", grid[:, ::-1].ravel()
            yield f"{said} whose axes are exchanged", grid.T.ravel()


def span(first: int, last: int, unit: str) -> str:
    """Return "row 3" or "rows 3 to 7"."""
    return f"{unit} {first}" if first == last else f"{unit}s {first} to {last}"


def _from(first: int, unit: str) -> str:
    return f"{unit}s from {first} on"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def ordinal(k: int) -> str:
    """Return 2nd, 3rd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th") if k // 10 % 10 != 1 else "th"
    return "second" if k == 2 else f"{k}{ending}"
