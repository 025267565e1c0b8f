"""Order of rows, heads or columns: the expected one at each place, and the words for it.

The map is found by content, so that a cut, a repetition, an exchange and a reversal are all found in the same way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.rounding import Floats, Integers

# Instead of an expected row: one that is not among the expected ones, zeros, NaN.
UNKNOWN, ZERO, NAN = -1, -2, -3

MAX_SHIFTS = 16  # distances between places and rows that are tried for every row; more cost 20 ms each
MAX_BREAKS = 64  # places where a map stops to follow the last rows, beyond which it is no list of parts
MAX_PARTS = 4  # parts of a sentence: more is no description any more, and is reported as "another order"
MAX_LISTED = 3  # places of a permutation that are named as examples
MAX_LISTED_PARTS = 8
MAX_RUNS = 3  # runs of numbers that are named; the others are counted
MAX_TEXT_PARTS = 1000  # of a file, whose numbers may be sorted as text
MAX_WIDTH = 1 << 12  # places among which the axes of a grid are looked for
MIN_BLOCKS = 3  # of such a grid along each side; of fewer, other permutations have the same order
MERGES = (2, 3, 4)  # sides of the blocks in which vision towers order their patches


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


def match(actual: Floats, expected: Floats, near: float) -> Integers:
    """Return the expected row at each place, matched by the columns given; `UNKNOWN`, `ZERO` or `NAN` for none.

    A place's own row is preferred, but for zeros, then a row as far away as that of many other places, then the nearest
    of those whose values have nearly the same sum.  Where every row equals an expected one, a tolerance would only mix
    up those that are close.
    """
    if near and ((found := match(actual, expected, 0.0)) != UNKNOWN).all():
        return found
    places, actual, expected = np.arange(len(actual)), np.ascontiguousarray(actual), np.ascontiguousarray(expected)

    def far(at: Integers, rows: Integers) -> Floats:
        """Return how far the values of these places are from the expected rows given for them."""
        inside = np.flatnonzero((rows >= 0) & (rows < len(expected)))
        off = np.full(len(at), np.inf)
        inside = inside[~(np.abs(actual[at[inside], 0] - expected[rows[inside], 0]) > near)]  # most are not
        off[inside] = gaps(actual[at[inside]], expected[rows[inside]]).max(axis=1, initial=0.0)
        return off

    zero = (actual == 0).all(axis=1) & (expected != 0).any(axis=1).all()
    blank = np.where(zero, ZERO, np.where(np.isnan(actual).all(axis=1), NAN, UNKNOWN))
    found = np.where((far(places, places) <= near) & ~zero, places, blank)
    left = np.flatnonzero(found == UNKNOWN)
    least = np.full(len(left), np.inf)
    for rows in _by_sum(actual[left], expected):
        off = far(left, rows)
        good = (off <= near) & (off < least)
        found[left[good]], least[good] = rows[good], off[good]
    known = left[found[left] >= 0]
    lines = list[tuple[int, int, Integers, NDArray[np.bool_]]]()
    gone = len(expected) - len(actual)  # by as many the rows after missing ones have moved
    for step in (-1, 1):  # backwards, and forwards, which is simpler
        shifts, counts = np.unique(found[known] - step * known, return_counts=True)
        common = {*shifts[counts > max(1, len(left) // MAX_SHIFTS)].tolist(), *[gone] * (gone != 0 and step == 1)}
        for shift in sorted(common):
            good = far(left, shift + step * left) <= near
            lines.append((int(np.count_nonzero(good)), -abs(shift - gone), shift + step * left, good))
    for *_, line, good in sorted(lines, key=lambda one: one[:2]):  # the commonest is the last
        found[left[good]] = line[good]
    return found


def gaps(a: Floats, b: Floats) -> Floats:
    """Return abs(a - b); 0 between equal infinities and between NaNs, infinite between a number and NaN."""
    off: Floats = np.abs(a - b)
    if math.isnan(off.sum()):
        odd = np.isnan(off)
        a, b = (np.broadcast_to(side, off.shape)[odd] for side in (a, b))
        off[odd] = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.inf)
    return off


def _by_sum(actual: Floats, expected: Floats) -> Iterator[Integers]:
    """Yield for each row the expected ones whose weighted sums of values are nearest."""
    weights = np.cos(np.arange(actual.shape[1]) ** 2)  # of no relation to the columns
    sums, wanted = expected @ weights, actual @ weights
    order = np.argsort(sums, kind="stable")
    at = np.searchsorted(sums[order], wanted)
    for offset in (0, -1, 1, -2, 2, -3):  # of many rows, noise makes others nearer
        yield order[np.clip(at + offset, 0, len(order) - 1)]


def descriptions(found: Integers, count: int, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield descriptions of an order of rows, the simplest first, each with the map that it describes.

    Parameters
    ----------
    found : (n,) int ndarray
        As `match` returns it.
    count : int
        Number of expected rows.
    unit : str
        "row", "column", "head".
    """
    n, units = len(found), plural(unit)
    places = np.arange(n)
    if unit == "head" and n < count and np.array_equal(found, found[0] + places) and found[0] >= 0:
        first, last = int(found[0]), int(found[-1])
        rank = " (a rank's slice)" if n > 1 and count % n == 0 and first % n == 0 else ""
        heads = f"{n} of {count} heads: {span(first, last, unit)}{rank}"
        yield f"this is head {first} of {count}" if n == 1 else heads, found
        return
    if np.array_equal(found, places):
        if n < count:
            yield f"{span(n, count - 1, unit)} {_are(count - n)} missing", places
        return
    if n == count > 1:
        yield f"the {units} are reversed", places[::-1]
    as_text = sorted(range(n), key=str)  # 0, 1, 10, 11, 2 ..
    if n == count and found.tolist() == as_text:
        yield f"the {units} are in the order of numbers sorted as text: {', '.join(map(str, as_text[:4]))}, ..", found
    yield from _rules(found, count, unit)
    few = np.count_nonzero(np.diff(found, 2)) <= MAX_BREAKS
    description = (_edited(found, count, unit) or _listed(found, unit)) if few else None
    if description:
        yield description
    if n == count and (found >= 0).all() and len(np.unique(found)) == n:
        first = int((found != places).argmax())
        for skipped in sorted({0, max(0, first - 1), first}) if n <= MAX_WIDTH else ():  # of a grid the first may stay
            if text := _grid_order(found[skipped:] - skipped):
                after = f", after {unit}s 0 to {skipped - 1}" if skipped > 1 else f", after {unit} 0" * skipped
                yield f"the {units} are those of a grid of {text}{after}", found
        ends = 1 + np.flatnonzero(np.maximum.accumulate(found) == places)  # of rows that stay among themselves
        for side in (int(end) for end in ends if 1 < end < n and n % end == 0):
            inside = found.reshape(-1, side) - places[::side, None]
            if (inside == inside[0]).all() and (text := _grid_order(inside[0])):
                pairs = ", as of interleaved and half-split pairs of heads" * bool(PAIRED.match(text))
                yield f"in each part of {side} {units}, the {units} are those of a grid of {text}{pairs}", found
        starts = np.flatnonzero(np.diff(found, prepend=-2) != 1)
        size = math.gcd(n, *starts.tolist(), *found[starts].tolist())
        if 1 < size < n:
            parts, order = f"parts of {size} {units}", found[::size] // size
            listed = ", ".join(map(str, order[:MAX_LISTED_PARTS].tolist())) + ", .." * (len(order) > MAX_LISTED_PARTS)
            text = f"{parts} stand in the order {listed}"
            yield (f"the {parts} are those of a grid of {grid}" if (grid := _grid_order(order)) else text), found
        off = np.flatnonzero(found != places)
        some = ", ".join(f"{unit} {k} holds {unit} {found[k]}" for k in off[:MAX_LISTED].tolist())
        yield f"the {units} are in another order: {some}{', ...' if len(off) > MAX_LISTED else ''}", found


# Grids with two rows or two columns, as the pairs of a head are.
PAIRED = re.compile(r"(2 x \d+|\d+ x 2) whose axes are exchanged")


def _grid_order(found: Integers) -> str:
    """Return the sides of a grid whose places are in another order, and that order; "" where there is none."""
    for width in (k for k in range(2, len(found) // 2 + 1) if len(found) % k == 0):
        grid = np.arange(len(found)).reshape(-1, width)
        high = len(grid)
        ways = {"whose axes are exchanged": grid.T, "flipped left to right": grid[:, ::-1],
                "flipped upside down": grid[::-1]}  # fmt: skip
        for k in (k for k in MERGES if high % k == width % k == 0 and min(high, width) >= MIN_BLOCKS * k):
            merged = grid.reshape(high // k, k, width // k, k).swapaxes(1, 2)
            ways[f"in blocks of {k} x {k}, where it was expected row by row"] = merged
            ways[f"row by row, where blocks of {k} x {k} were expected"] = np.argsort(merged, axis=None)
        if text := next((text for text, order in ways.items() if np.array_equal(found, order.ravel())), ""):
            return f"{high} x {width} {text}"
    return ""


def groups(expected: Floats, count: int, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield the other order of rows that are expected several times: in turn for one after the other, and back."""
    same = (expected == expected[0]).all(axis=1)
    times = np.count_nonzero(same)
    if not 1 < times < len(same) == count or count % times:
        return
    places, number = np.arange(count), count // times
    ways = [f"each of {number} {plural(unit)} stands {times} times in a row", f"all {number} in turn, {times} times"]
    if same[1]:
        ways = [f"all {number} {plural(unit)} stand in turn, {times} times", f"each {times} times in a row"]
    yield "{}; expected: {}".format(*ways), places % number * times if same[1] else places // times


def repeated(source: Integers, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield the text for a table that has every expected row once, though some were expected again, and the map.

    `source` is the place at which each expected row stands.
    """
    off = [run for run in runs_of(source) if run.target != run.first or (run.step != 1 and run.places > 1)]
    if (source < 0).any() or not 0 < len(off) <= MAX_PARTS:
        return
    texts = []
    for run in off:
        low, high = sorted((run.target, run.target + run.step * (run.places - 1)))
        verb = "holds" if low == high else "hold"
        texts.append(f"{span(run.first, run.last, unit)} should hold what {span(low, high, unit)} {verb}")
    order = np.full(len(source), UNKNOWN)
    order[source[::-1]] = np.arange(len(source))[::-1]
    yield ", ".join(texts), order


def _rules(found: Integers, count: int, unit: str) -> Iterator[tuple[str, Integers]]:
    """Yield one rule for all places: every second one, each several times, the first ones again and again, a shift."""
    n, places = len(found), np.arange(len(found))
    if text := _parts_as_text(found, unit) if n == count else "":
        yield text, found
    step = int(found[1] - found[0]) if n > 2 and found[0] >= 0 else 0
    if step > 1 and found[0] + step * (n - 1) < count:
        begin = f", from {unit} {found[0]} on" if found[0] else ""
        kept = f"only every {ordinal(step)} {unit} is there{begin}"
        yield f"{kept}: {unit} 1 holds what was expected at {unit} {found[1]}", found[0] + step * places
    times = int(np.argmax(found != found[0]))
    if times > 1 and found[0] == 0:
        often = "twice" if times == 2 else f"{times} times"
        text = f"every {unit} is there {often}: {unit} {times} holds what was expected at {unit} 1"
        if n <= count * times:
            yield text, places // times
        text = f"{plural(unit)} 0 to {times - 1} are {unit} 0, the next {times} are {unit} {times}, and so on"
        if n <= count:
            yield f"numbers of {plural(unit)} are rounded down to multiples of {times}: {text}", places // times * times
    twice = 1 + np.flatnonzero(np.diff(found) == 0)
    if len(twice) > 1 and found[0] == 0 and {*np.diff(found).tolist()} == {0, 1} and np.diff(twice).min() > 1:
        yield f"{numbered(unit, twice)} repeat the {unit} before, and later {plural(unit)} have moved down", found
    again = 1 + int(np.argmax(found[1:] == 0)) if n > 2 and (found[1:] == 0).any() else 0
    if 1 < again <= count and found[0] == 0:
        which = f"the first {min(again, n - again)}"
        yield f"{units_from(again, unit)} repeat {which}: {unit} {again} is {unit} 0 again", places % again
    if again and n == count and found[0] == n - again:
        by = again if again <= n // 2 else again - n
        place = (by, 0) if by > 0 else (0, -by)
        text = f"the {plural(unit)} are shifted cyclically by {by}: {unit} {place[0]} holds {unit} {place[1]}"
        yield text, np.roll(places, by)


def _parts_as_text(found: Integers, unit: str) -> str:
    """Return that equal parts stand in the order of their numbers sorted as text, as file names are; "" elsewhere."""
    n = len(found)
    counts = [many for many in range(11, min(n // 2, MAX_TEXT_PARTS) + 1) if n % many == 0]
    for many, first in product(counts, (0, 1)):
        names, size = sorted(map(str, range(first, many + first))), n // many
        order = np.array(names).astype(np.int64) - first
        if np.array_equal(found, (order[:, None] * size + np.arange(size)).ravel()):
            parts = f"{many} parts of {size} {plural(unit)}"
            return f"{parts} stand in the order of their numbers as text: {', '.join(names[:4])}, .."
    return ""


def runs_of(found: Integers) -> list[OrderRun]:
    """Return the runs of a map; neighbours without an expected row, of one kind, are a run of step 0."""
    runs, first, n = list[OrderRun](), 0, len(found)
    known = found[1:] >= 0  # a run backwards ends at row 0, and what follows it is no row
    breaks = [np.append(np.flatnonzero((np.diff(found) != s) | ((s < 0) & ~known)), n - 1) for s in (1, 0, -1)]
    while first < n:
        target = int(found[first])
        ends = [int(at[np.searchsorted(at, first)]) for at in breaks]
        if target < 0:
            last, step = ends[1], 0
        elif ends[0] > first or max(ends) == first:
            alone = first == ends[0] and first != target
            last, step = ends[0], 0 if alone and first and found[first - 1] == target else 1
        elif ends[1] > first:
            last, step = (first, 1) if target == first else (ends[1] - (target == ends[1]), 0)  # but for the row itself
        else:
            last, step = ends[2], -1
        runs.append(OrderRun(first, last, target, step))
        first = last + 1
    return runs


def _edited(found: Integers, count: int, unit: str) -> tuple[str, Integers] | None:
    """Describe rows left out of the expected order and rows inserted into it; None where the order itself differs.

    Places that hold nothing expected are named only where something was put in; elsewhere they are left to be counted.
    """
    n, parts, order = len(found), list[str](), found.copy()
    expected, pending = 0, list[OrderRun]()
    left_out = put_twice = False
    runs = runs_of(found)
    if all(run.places == 1 for run in runs if run.target >= 0) and len(runs) > MAX_PARTS:  # no rows that stay together
        return None
    for run in [*runs, OrderRun(n, n - 1, count, 1)]:
        if run.target < 0 or run.step == 0:
            pending.append(run)
            continue
        end, put, gap = run.first == n, sum(one.places for one in pending), run.target - expected
        again = gap < 0 and run.target == 0 and run.last == n - 1
        ends_again = run.last == n - 1 and run.places <= -gap and not again
        overwritten = gap == put or (end and 0 < put <= gap)
        if run.step == -1 or (put and gap and not overwritten) or (gap < 0 and put_twice):
            return None
        if end and left_out and not gap and expected == n and all(one.target == UNKNOWN for one in pending):
            if parts and pending and pending[0].first > 1 and pending[0].places > n // 4:  # these may be any others
                last = pending[0].first - 1
                if found[last] - found[0] == last:
                    where = span(int(found[0]), int(found[last]), unit)
                    parts[0] = f"{span(0, last, unit)} hold what was expected at {where}"
                parts += [_filled(one, unit) for one in pending]
            elif unit == "column":
                parts += [_filled(one, unit) for one in pending]
            break  # a table without these rows that is as long goes on after the last expected row
        for one in pending:
            if one.target == UNKNOWN and overwritten:
                order[one.first : one.last + 1] = expected + np.arange(one.first, one.last + 1) - pending[0].first
            else:
                parts.append(_filled(one, unit))
        if gap < 0:
            put_twice = True
            which = span(run.target, expected - 1, unit)
            twice = f"{which} {_are(-gap)} repeated"
            if ends_again:
                which = span(run.target, run.target + run.places - 1, unit)
                twice = f"{span(run.first, n - 1, unit)} repeat{'s' * (run.places == 1)} {which}"
            parts.append(f"{units_from(run.first, unit)} start again at {unit} 0" if again else twice)
        elif gap and run.first == 0:
            left_out = True
            text = f"{unit} 0 holds what was expected at {unit} {gap}"
            parts.append(f"{span(0, gap - 1, unit)} {_are(gap)} missing" if n == count - gap else text)
        elif gap and not put and not (end and n == count and parts):  # rows put in push the last ones out
            left_out = left_out or not end
            parts.append(f"{span(expected, run.target - 1, unit)} {_are(gap)} missing")
        if left_out and put_twice:  # the missing rows may be at another place
            return None
        if end and put and gap > put:
            parts.append(f"{span(expected + put, count - 1, unit)} {_are(gap - put)} missing")
        if gap != put and run.first and not end and not again and not ends_again:
            moved = f"have moved {'up' if (by := run.first - run.target) < 0 else 'down'} by {abs(by)}"
            parts.append(f"later {plural(unit)} {moved if by else 'are in their places'}")
        expected, pending = run.target + run.places, []
    if len(parts) > 1 and "expected at" in parts[0] and (listed := _listed(found, unit)) is not None:
        return listed  # shorter than all that is missing
    parts += ["and so on"] * (len(parts) == 1 and "expected at" in parts[0] and n > 1)
    return (", ".join(parts), order) if 0 < len(parts) <= 2 * MAX_PARTS else None


def _filled(run: OrderRun, unit: str) -> str:
    """Describe the contents of places that hold no expected row of their own."""
    where, one = span(run.first, run.last, unit), run.places == 1
    if run.target == UNKNOWN:
        return f"{where} {_are(run.places)} not among the expected ones"
    if run.target in (ZERO, NAN):
        return f"{where} {_are(run.places)} {'zero' if run.target == ZERO else 'NaN'}"
    verb = "repeat" if run.target < run.first else "hold" if one else "all hold"
    return f"{where} {verb}{'s' * one} {unit} {run.target}"


def _listed(found: Integers, unit: str) -> tuple[str, Integers] | None:
    """Describe the expected row at each place, run by run."""
    off = [run for run in runs_of(found) if run.target != run.first or (run.step != 1 and run.places > 1)]
    if len(off) > MAX_PARTS or any(run.target == UNKNOWN for run in off):
        return None
    ends = [run.first for run in off if run.step == 1]
    if len(ends) == 2 and [run.target for run in off] == ends[::-1]:
        one, other = (span(*run[:2], unit) for run in off)
        single = f"{plural(unit)} {off[0].first} and {off[1].first} are exchanged"
        return single if off[0].places == 1 else f"{one} are exchanged with {other}", found
    parts = list[str]()
    for run in off:
        last = run.target + run.step * (run.places - 1)
        if run.target < 0 or run.step == 0:
            parts.append(_filled(run, unit))
        elif run.step == -1 and run.target == run.last:
            reversed_ = f"{span(*run[:2], unit)} are reversed"
            parts.append(reversed_ if run.places > 2 else f"{plural(unit)} {run.first} and {run.last} are exchanged")
        else:
            verb = "holds" if run.places == 1 else "hold"
            source = span(min(run.target, last), max(run.target, last), unit)
            backwards = ", backwards" if run.step < 0 else ""
            parts.append(f"{span(*run[:2], unit)} {verb} what was expected at {source}{backwards}")
    return (", ".join(parts), found) if parts else None


def distances(off: NDArray[np.bool_]) -> str:
    """Return at which distances all entries of square matrices (n, q, k) are marked; "" where others are as well."""
    behind = np.arange(off.shape[1])[:, None] - np.arange(off.shape[2])
    found = np.unique(behind[off.any(axis=0)])
    one_side = len(found) and (found[0] >= 0 or found[-1] <= 0) and found[-1] - found[0] + 1 == len(found)
    if not one_side or not (off == np.isin(behind, found)).all():
        return ""
    first, last = sorted((abs(int(found[0])), abs(int(found[-1]))))
    if last == 0:
        return "where query and key are at the same position"
    keys = f"{first}" if first == last else f"{first} to {last}"
    return f"where the key is {keys} {'before' if found[-1] > 0 else 'after'} the query"


def consecutive(numbers: Integers) -> list[slice]:
    """Return the slices of consecutive numbers."""
    edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [slice(a, b) for a, b in pairwise(edges) if a < b]


def column_word(row_shape: tuple[int, ...]) -> str:
    """Return the word for a value of a row, which in rows of several axes is no column of the array."""
    return "column" if len(row_shape) == 1 else "flattened column"


def triangle(side: int, rows: Integers, *, after: bool) -> NDArray[np.bool_]:
    """Return which keys of some rows of square matrices are after, or before, the query."""
    distance = np.arange(side) - (rows % side)[:, None]
    return np.asarray(distance > 0 if after else distance < 0)


def plural(unit: str) -> str:
    """Return "rows", "batches", "queries" or "batch indices"."""
    if unit.endswith("index"):
        return f"{unit[:-2]}ices"
    if unit.endswith(("ry", "py", "cy")):
        return f"{unit[:-1]}ies"
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"


def span(first: int, last: int, unit: str) -> str:
    """Return "row 3", "rows 3 and 4" or "rows 3 to 7"."""
    some = f"{first} and {last}" if last == first + 1 else f"{first} to {last}"
    return f"{unit} {first}" if first == last else f"{plural(unit)} {some}"


def units_from(first: int, unit: str) -> str:
    """Return "rows from 3 on"."""
    return f"{plural(unit)} from {first} on"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def numbered_are(word: str, numbers: Integers) -> str:
    """Return row or column numbers as the subject of a sentence: row 7 is; rows 3 to 9 are."""
    return f"{numbered(word, numbers)} {_are(len(numbers))}"


def ordinal(k: int) -> str:
    """Return second, 3rd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th") if k // 10 % 10 != 1 else "th"
    return "second" if k == 2 else f"{k}{ending}"


def numbered(word: str, numbers: Integers) -> str:
    """Return row or column numbers as runs: row 7; rows 7 and 8; rows 3 to 9, 12 and 40 to 50."""
    if not len(numbers):
        return f"no {word}"
    runs = consecutive(numbers)
    ends = [(numbers[run.start], numbers[run.stop - 1]) for run in runs[:MAX_RUNS]]
    texts = [text for a, b in ends for text in ([f"{a} to {b}"] if b > a + 1 else [f"{k}" for k in range(a, b + 1)])]
    if len(runs) > MAX_RUNS:
        texts.append(f"{sum(run.stop - run.start for run in runs[MAX_RUNS:]):,} more")
    joined = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"{word if len(numbers) == 1 else plural(word)} {joined}"
