"""Tables that were changed after they were computed: what the rest of them is, and what was done to the others.

The guesses come from a part that is intact, or from values of which a change was taken back; what they give is then
compared with the file, and must explain all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.figures import Figures
from pecli.comparison.results import Tolerance
from pecli.declare.guess import Guess
from pecli.declare.tabular import Tabular
from pecli.errors import PecliError
from pecli.identification.fitting import refitted
from pecli.identification.places import differences
from pecli.identification.relations import ROUNDED, Laid, Relation
from pecli.identification.rivals import fitted_once, likely
from pecli.identification.search import guesses_of
from pecli.identification.trial import SPOILED, Trial, make, pairs_of, read_rows, try_guess
from pecli.identification.verdict import UNKNOWN, WAYS, Identification, compared
from pecli.measures.evidence import Evidence
from pecli.measures.floats import floats
from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats, take
from pecli.measures.sides import UNCHANGED
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.types import DTYPES, real_type
from pecli.tables.selection import InMemory

MOST_VALUES = 1 << 23  # of a file that is looked at so
MOST_OF_ONE = 16  # guesses of one encoding that are tried on a view
MOST = 6  # guesses of one view that are compared with the file
MOST_DIGITS = 5  # of a base: a change leaves less to tell more of them
NEARLY = 0.4  # share of a view's values that a guess must give
SPAN = 4e-3  # share by which the largest of many sines and cosines may fall short of 1
SLIGHT = 0.05  # share of its size by which a table is off 1, or off the middle, without a change
INTACT = 0.5  # share of the rows that are as they were, where others are only counted
LEAST = 16  # rows of a table of which some may be spoiled
TOLD = 0.55  # share of the rows that are looked at where the last ones may be spoiled

Arrays = Mapping[str, NDArray[Any]]
Turned = Callable[[Guess], Guess | None]


@dataclass(frozen=True)
class Seen:
    """Values that guesses are taken from, what a guess of them is of the whole file, and a row that was put in."""

    evidence: Evidence
    whole: Turned = lambda guess: guess
    gap: int | None = None


def identify_changed(table: Tabular, names: list[str], beside: Arrays) -> Identification:
    """Return what most of a table is, with the one change that makes it the file's; unknown where there is none."""
    sample = take(table, names=names)
    if not sample.planes or sum(lane.rows * lane.row_size for lane in sample.lanes) > MOST_VALUES:
        return UNKNOWN
    evidence = Evidence(sample, beside)
    for view in _views(evidence):
        for trial in _tried(view):
            found = _explained(trial, view, evidence)
            if found is not None:
                return found
    return UNKNOWN


def _tried(view: Seen) -> list[Trial]:
    """Return the trials that give most values of a view, with numbers as the values have them."""
    evidence = view.evidence
    cheapest = [
        guess
        for guess in guesses_of(evidence, MOST_OF_ONE)
        if not (guess.vector or guess.listed or guess.partition) and view.whole(guess)
    ]
    trials = [t for guess in cheapest if (t := try_guess(guess, evidence)) is not None]
    if not any(_merit(t) > 1 - SLIGHT for t in trials):
        again = [g for guess in fitted_once(likely(trials, MOST)) for g in refitted(guess, evidence)]
        trials += [t for guess in again if (t := try_guess(guess, evidence)) is not None]
    found = [t for t in trials if _merit(t) > NEARLY and digits(Decimal(t.guess.keys.get("base", "1"))) <= MOST_DIGITS]
    return sorted(found, key=lambda t: (-round(_merit(t), 1), t.guess.cost, len(t.recipe)))[:MOST]


def _merit(trial: Trial) -> float:
    return max(trial.near, trial.equal + trial.beside)


def _explained(trial: Trial, view: Seen, evidence: Evidence) -> Identification | None:
    """Return a recipe with what was done to its values, if that is all that the file shows."""
    guess, own = view.whole(trial.guess), real_type(evidence.sample.dtype)
    kind = own if own in DTYPES else "float64"
    for dtype in dict.fromkeys((kind, view.evidence.sample.grain)) if guess is not None else ():
        assert guess is not None
        try:
            table = make(guess, dtype)
            pairs = pairs_of(guess, table, evidence if view.gap is None else view.evidence)
        except PecliError:
            return None
        if pairs is None:
            return None
        for loose in dict.fromkeys((0.0, trial.allowed if dtype in WAYS else 0.0)):
            laid = [Laid(*_laid(pair, view.gap), kind, loose, pair[0].plain_shape[:-1]) for pair in pairs]
            related = [values.related() for values in laid]
            spoiled = trial.units > SPOILED and (loose or trial.beside <= ROUNDED)
            if spoiled and not all(related) and np.mean([values.intact for values in laid]) >= INTACT:
                related = [Relation("", values.y) for values in laid]  # what differs is counted
            if all(related):
                whole = replace(trial, guess=guess, recipe=table.recipe or "", pairs=pairs)
                return _said(whole, laid, [r for r in related if r], dtype, counted=view.gap is None)
    return None


def _laid(pair: tuple[Lane, Lane], gap: int | None) -> tuple[Floats, Floats]:
    """Return the values of a file and of a recipe as rows of the last axis; the file's without a row put in."""
    x, y = (read_rows(lane, 0, lane.rows).reshape(-1, lane.shape[-1] if len(lane.shape) > 1 else 1) for lane in pair)
    y = y.reshape(x.shape) if y.size == x.size else y
    return (x if gap is None else np.delete(x, gap, axis=0)), y


def with_change(found: Identification, evidence: Evidence) -> Identification:
    """Add what was done to the values that differ from a recipe that most show, where one change explains them all."""
    own, size = real_type(evidence.sample.dtype), sum(lane.rows * lane.row_size for lane in evidence.sample.lanes)
    if found.confidence != "likely" or found.guess is None or found.count or found.equal in (None, 1.0):
        return found
    pairs = pairs_of(found.guess, make(found.guess, own), evidence) if own in DTYPES and size <= MOST_VALUES else None
    laid = [Laid(*_laid(pair, None), own, 0.0, pair[0].plain_shape[:-1]) for pair in pairs or ()]
    related = [values.related() for values in laid]
    if not all(related):
        return found
    words = _words([pair[0].name for pair in pairs or ()], laid, [r for r in related if r])
    return replace(found, notes=(*found.notes, *words))


def _words(names: list[str], laid: list[Laid], related: list[Relation]) -> Iterator[str]:
    """Yield what was done to each array, and what that leaves."""
    for name, values, relation in zip(names, laid, related, strict=True):
        if relation.words:
            of = f"of the array '{name}' " if len(laid) > 1 else ""
            rest = ~((values.x == relation.made) | np.isnan(values.x))
            gap = np.abs(values.x - relation.made)[rest].max(initial=0.0)
            but = f"; with that, {np.count_nonzero(rest)} values are off by at most {gap:.2g}" if rest.any() else ""
            yield f"{of}{relation.words}{but}"


def _said(trial: Trial, laid: list[Laid], related: list[Relation], grain: str, *, counted: bool) -> Identification:
    """Return what was found: how many values differ, and where; then what was done to them."""
    notes, loose = list(trial.guess.notes), max(values.loose for values in laid)
    shares: tuple[float | None, float | None] = None, None  # of a file that lacks rows nothing is counted
    if counted:
        arrays, shapes = compared(trial, Tolerance(atol=loose, rtol=loose))
        figures = sum(arrays, Figures())
        shares = figures.largest or None, 1 - figures.unequal / max(1, figures.compared)
        near = WAYS[grain] if loose and figures.unequal > figures.beyond and grain in WAYS else ""
        but = differences(arrays, shapes) if figures.beyond else ""
        notes += [", but ".join(filter(None, (near, but)))] if near or but else []
    notes += _words(list(trial.arrays), laid, related)
    arithmetic = "exact" if trial.equal > NEARLY else trial.guess.level
    return Identification(
        trial.recipe, "likely", *shares, arithmetic, tuple(notes), guess=trial.guess, arrays=trial.arrays
    )


def _views(evidence: Evidence) -> Iterator[Seen]:
    """Yield parts of the file, and what its values may have been before they were changed."""
    yield Seen(evidence)
    planes = evidence.sample.planes
    if any(plane.rows != len(plane.values) for plane in planes) or evidence.sample.dtype.startswith("complex"):
        return
    raw = [lane.read(0, lane.rows).reshape(lane.plain_shape) for lane in evidence.sample.lanes]
    if all(values.ndim > 1 for values in raw):
        yield from _parts(evidence, raw)
    if not evidence.integral:
        yield from _taken_back(evidence, raw)
    if len(raw) == 1 and raw[0].ndim > 0:
        yield from _rows(evidence, raw[0])


def _parts(evidence: Evidence, raw: list[NDArray[Any]]) -> Iterator[Seen]:
    """Yield the cosines alone and the sines alone, or what stands twice once: one of them may be intact."""
    layouts = ("", "")
    if len(raw) == 1 and raw[0].ndim == 3 and raw[0].shape[2] == 2:
        raw, layouts = [raw[0][..., 0], raw[0][..., 1]], ("pairs", "")
    elif len(raw) == 1 and raw[0].ndim == 2 and raw[0].shape[1] % 2 == 0:
        half, columns = raw[0].shape[1] // 2, raw[0]
        turns, raw = [columns[:, ::2], columns[:, 1::2]], [columns[:, :half], columns[:, half:]]
        double = next(
            (name for name, (a, b) in (("half", raw), ("interleaved", turns)) if (a == b).mean() > INTACT), ""
        )
        raw, layouts = turns if double == "interleaved" else raw, (double, double) if double else ("concat", "sin-cos")
    elif len(raw) != 2:
        return
    for number, values in enumerate(raw):
        sample = take(InMemory({"array": np.ascontiguousarray(values)}))
        yield Seen(Evidence(sample), partial(_whole, number, layouts))


def _whole(number: int, layouts: tuple[str, str], guess: Guess) -> Guess | None:
    """Return a guess of one of two parts as one of both, which have these layouts if cosines come first, or sines."""
    if guess.arrays not in (("cos",), ("sin",)):
        return None
    layout = layouts[number ^ (guess.arrays == ("sin",))] if any(layouts) else guess.table["layout"]
    table = {**guess.table, "layout": layout}
    if layouts[0] == layouts[1] != "":
        return replace(guess, table=table)  # both are the same
    return replace(guess, arrays=(), notes=(), table=table) if layout else None


def _taken_back(evidence: Evidence, raw: list[NDArray[Any]]) -> Iterator[Seen]:
    """Yield values less what was added to all, or over what all were multiplied by."""
    arrays = [floats(values, evidence.sample.dtype).astype(np.float64) for values in raw]
    values = np.concatenate([array.reshape(-1) for array in arrays])
    told = values[np.isfinite(values)]
    if not told.size or not all(array.ndim for array in arrays):
        return
    low, high, width = float(told.min()), float(told.max()), raw[0].shape[-1]
    for by, over in dict.fromkeys(list(_of_waves(low, high, width)) or list(_of_ends(low, high, values, width))):
        if (by, over) == (0.0, 1.0):
            continue
        names = [lane.name for lane in evidence.sample.lanes]
        sample = take(InMemory({name: (array - by) / over for name, array in zip(names, arrays, strict=True)}))
        sample = replace(sample, grain=evidence.sample.grain, dtype=evidence.sample.dtype)
        slack = 0.0 if over != 1 else evidence.resolution * max(abs(low), abs(high))
        yield Seen(Evidence(sample, slack=slack))


def _of_waves(low: float, high: float, width: int) -> Iterator[tuple[float, float]]:
    """Yield what sines and cosines were raised by, or multiplied by, from their largest and smallest."""
    middle, size = (low + high) / 2, (high - low) / 2
    if abs(size - 1) < SLIGHT:
        yield (float(shortest(middle - SPAN, middle + SPAN)) if abs(middle) > SLIGHT / 4 else 0.0), 1.0
        yield 0.0, -1.0
    elif abs(middle) < SLIGHT * size:
        root = float(np.sqrt(width))
        yield 0.0, root if 0 <= root - size < SPAN * root else float(shortest(size, size * (1 + SPAN)))


def _of_ends(low: float, high: float, values: Floats, width: int) -> Iterator[tuple[float, float]]:
    """Yield the value that many have at an end: 0 before it was raised, or 1 before it was multiplied or raised."""
    for end in (low, high):
        if end and np.count_nonzero(values == end) >= values.size / width:
            yield from ((0.0, end), (end, 1.0), (end - 1.0, 1.0))


def _rows(evidence: Evidence, raw: NDArray[Any]) -> Iterator[Seen]:
    """Yield the rows as they may have stood before one was lost or repeated, and the first of them alone."""
    rows = raw.reshape(-1, raw.shape[-1]) if raw.ndim > 1 else raw[:, None]
    whole, name = not evidence.integral, evidence.sample.lanes[0].name

    def view(found: NDArray[Any], gap: int | None = None) -> Seen:
        shaped = found.reshape(raw.shape if gap is None else found.shape)
        return Seen(Evidence(take(InMemory({name: shaped})), plain=True), gap=gap)

    blank = rows[:1].copy()
    if whole:
        blank[...] = 0x7FC0 if raw.dtype == np.uint16 else np.nan
    same = np.flatnonzero((rows[1:] == rows[:-1]).all(axis=1))
    skipped = _skipped(rows)
    for gap in skipped:  # by the distances of its neighbours
        lost = np.concatenate([rows[gap, 1:2], rows[gap - 1, :-1]])
        found = np.insert(rows, gap, lost, axis=0)
        yield view(found, gap) if raw.ndim == 2 else view(found[:-1])
    if len(same) == 1:
        yield view(np.concatenate([np.delete(rows, same[0] + 1, axis=0), blank]))
        yield view(np.concatenate([blank, rows[:-1]]))
    elif raw.ndim == 2 and not skipped:
        for gap in dict.fromkeys((len(rows), 0, *_jump(floats(rows, evidence.sample.dtype)))):
            yield view(np.insert(rows, gap, blank, axis=0), gap)
    if whole and len(rows) > LEAST:
        told = int(TOLD * len(rows))
        yield view(np.concatenate([rows[:told], np.repeat(blank, len(rows) - told, axis=0)]))


def _skipped(rows: NDArray[Any]) -> list[int]:
    """Return the row before which one is missing where values depend on the distance: they move by two columns."""
    if rows.shape[1] < LEAST // 2 or len(rows) < LEAST // 2:
        return []
    by_one = (rows[1:, 1:] == rows[:-1, :-1]).all(axis=1)
    by_two = (rows[1:, 2:] == rows[:-1, :-2]).all(axis=1) & ~by_one
    return (np.flatnonzero(by_two) + 1).tolist() if np.count_nonzero(by_two) == 1 and by_one.mean() > INTACT else []


def _jump(rows: NDArray[Any]) -> list[int]:
    """Return the row before which the slowest column changes most: one is missing there, if it is a line of points."""
    values = rows.astype(np.float64)
    with np.errstate(all="ignore"):
        steps = np.abs(np.diff(values, axis=0))
    moving = np.flatnonzero((np.ptp(values, axis=0) > UNCHANGED) & np.isfinite(values).all(axis=0))
    if not len(moving):
        return []
    slowest = moving[steps[:, moving].sum(axis=0).argmin()]
    bends = np.abs(np.diff(values[:, slowest], 2))
    return [int(bends.argmax()) + 2] if len(bends) else []
