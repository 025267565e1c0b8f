"""Identification of tables whose rows are no evenly spaced positions: chosen ones, known or not.

A few rows at equal distance show the rule; the positions of all others follow
from their phases, slow pairs first, and are then put to the test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Tabular
from pecli.identification.finders.guesses import Guess, try_guess
from pecli.measures.readings import Reading, readings
from pecli.measures.rhythm import wrap
from pecli.measures.samples import Floats, Sample, take
from pecli.measures.spectra import COMMON_BASES, text
from pecli.numbers.positions import LIMIT
from pecli.tables.selection import InMemory

if TYPE_CHECKING:
    from pecli.identification.judging import Identification

MOST_ROWS = 256
PREFIXES = (4, 3)  # rows that may be at equal distance at the beginning
LEAST_ROWS = 3
LEAST_PAIRS = 8
LOOSE_ANGLE = 0.02  # radians by which a phase may be off before it is put to the test
LARGEST_REST = 2.0**-8  # largest difference that is laid to float32 angles
SHORT_DIGITS = 3  # decimals of a position that somebody chose
MOST_TURNS = 4096  # of the slowest pair, among which a position is looked for
SPREAD = 16.0  # roundings of an angle by which a value may be off


def identify_scattered(
    table: Tabular, identify: Callable[[Tabular], Identification], positions: Floats | None
) -> Identification | None:
    """Return what a table of chosen positions is; None if no rows at equal distance show a rule."""
    sample = take(table, MOST_ROWS)
    if not sample.planes or sample.planes[0].rows > MOST_ROWS or any(p.values.ndim != 2 for p in sample.planes):
        return None
    for rows in _runs(positions, len(sample.planes[0].values)):
        part = InMemory({p.name: p.values[rows] for p in sample.planes})
        found = identify(part)
        if found.guess is None or found.guess.name not in ("rope", "sinusoidal"):
            continue
        at = positions if positions is not None else _located(sample, found.guess)
        if at is not None and len(at) == len(sample.planes[0].values):
            whole = _whole(sample, found, at)
            if whole is not None:
                return whole
    return _supposed(sample) if positions is None else None


def _supposed(sample: Sample) -> Identification | None:
    """Return what a table of unknown positions is if its frequencies are usual ones."""
    from pecli.identification.judging import Identification

    for reading in readings(sample):
        everything = slice(0, len(sample.planes[0].values))
        if reading.rows != everything or len(reading.first) < LEAST_ROWS or reading.tail == "sine":
            continue
        m = reading.first.shape[1]
        for swapped in (True, False):
            cos, sin = (reading.second, reading.first) if swapped else (reading.first, reading.second)
            phases = np.arctan2(sin, cos)
            for base in COMMON_BASES:
                for shift in (0, 1):
                    if m < LEAST_PAIRS:  # a few phases agree with some position by chance
                        continue
                    w = np.exp(-np.arange(m) / (m - shift) * np.log(float(base)))
                    at = _positions(phases, w, digits=SHORT_DIGITS)
                    guess = None if at is None else _usual(reading, swapped, base, shift)
                    if at is None or guess is None:
                        continue
                    known = Identification(None, "unknown", None, 0.0, "unknown", (), guess)
                    whole = _whole(sample, known, at)
                    if whole is not None:
                        return whole
    return None


def _usual(reading: Reading, swapped: bool, base: Decimal, shift: int) -> Guess | None:
    """Return the guess of a usual base for a reading."""
    keys = {} if base == 10000 else {"base": text(base)}
    if reading.family == "absolute":
        order = {("interleaved", True): "interleaved", ("cos-sin", False): "cos-sin", ("cos-sin", True): "sin-cos"}
        word = order.get((reading.layout, swapped))
        if word is None:
            return None
        keys |= {"dim": str(reading.width), "order": word, "shift": str(shift)}
        keys |= {"odd": "pad"} if reading.tail == "zero" else {}
        return Guess("sinusoidal", keys)
    if swapped or shift:
        return None
    table = {} if reading.layout == "split" else {"layout": reading.layout}
    return Guess("rope", {**keys, "dim": str(2 * reading.first.shape[1])}, table)


def _runs(positions: Floats | None, count: int) -> list[slice]:
    """Return rows at equal distance: the longest such run, or the first few where positions are unknown."""
    if positions is None:
        return [slice(0, k) for k in PREFIXES if count > k]
    steps = np.diff(positions)
    best, start = (0, 1), 0
    for k in range(1, len(steps) + 1):
        if k == len(steps) or steps[k] != steps[start]:
            if k - start > best[1] - best[0]:
                best = (start, k)
            start = k
    return [slice(best[0], best[1] + 1)] if best[1] - best[0] >= 2 else []


def _located(sample: Sample, guess: Guess) -> Floats | None:
    """Return the positions of all rows from their phases, for the frequencies of a guess."""
    from pecli.declare.plan import Waves

    plan = guess.make("float64").plan
    if not isinstance(plan, Waves) or len(plan.bands) != 1:
        return None
    w = np.array([float(f) for f in plan.frequencies])
    turning = w > 0
    for reading in readings(sample):
        if reading.first.shape[1] >= len(w) and reading.rows == slice(0, len(sample.planes[0].values)):
            for first, second in ((reading.first, reading.second), (reading.second, reading.first)):
                at = _positions(np.arctan2(second, first)[:, : len(w)][:, turning], w[turning])
                if at is not None:
                    return at
    return None


def _positions(phases: Floats, w: Floats, digits: int = 0) -> Floats | None:
    """Return positions (whole, or with few decimals) whose angles are these, one a row; None where a row has none."""
    slow = w.min()
    first = phases[:, w.argmin()] / slow
    whole = _refined(phases, w, first, digits)
    for k in np.flatnonzero(~_agree(phases, w, whole)):
        # beyond a turn of the slowest pair: whole turns of it are tried
        turns = first[k] + 2 * np.pi / slow * np.arange(-8, MOST_TURNS)
        row = np.broadcast_to(phases[k], (len(turns), len(w)))
        candidates = _refined(row, w, turns, digits)
        good = _agree(row, w, candidates)
        if not good.any():
            return None
        whole[k] = candidates[good][np.abs(candidates[good]).argmin()]
    return whole


def _refined(phases: Floats, w: Floats, positions: Floats, digits: int) -> Floats:
    """Return the positions nearest to given ones that the phases allow, narrowed from slow pairs to fast ones."""
    for i in np.argsort(w):
        positions = positions + wrap(phases[:, i] - positions * w[i]) / w[i]
    return np.round(positions, digits)


def _agree(phases: Floats, w: Floats, positions: Floats) -> NDArray[np.bool_]:
    """Whether all pairs of a row have the angles of a position."""
    angles = np.abs(positions[:, None]) * w
    allowed = np.minimum(SPREAD * 2.0**-24 * angles, LOOSE_ANGLE) + LOOSE_ANGLE
    near = np.abs(wrap(phases - positions[:, None] * w)) <= allowed
    found: NDArray[np.bool_] = near.all(axis=1) & (np.abs(positions) < LIMIT)
    return found


def _whole(sample: Sample, found: Identification, at: Floats) -> Identification | None:
    """Test the guess on every row at its position."""
    assert found.guess is not None
    listed = "+".join(_text(p) for p in at)
    own = {k: v for k, v in found.guess.table.items() if k not in ("length", "start", "step")}
    guess = replace(found.guess, table={**own, "positions": listed})
    trial = try_guess(guess, sample)
    if trial is None:
        return None
    allowed = SPREAD * 2.0**-24 * (1 + float(np.abs(at).max())) + 2 * sample.resolution
    if trial.equal == 1.0:
        how, confidence = "exact", "sure"
    elif trial.residual <= min(allowed, LARGEST_REST):
        how, confidence = "float32", "sure" if guess.determined else "likely"
    else:
        return None
    again = (
        try_guess(replace(guess, table={**guess.table, "arithmetic": "float32"}), sample)
        if guess.name == "rope"
        else None
    )
    if how == "float32" and again is not None and again.equal > trial.equal:
        trial = again
    return replace(
        found, recipe=trial.recipe, confidence=confidence, residual=trial.residual, equal=trial.equal, arithmetic=how,
        guess=guess,
    )  # fmt: skip


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def evenly_spaced(positions: Sequence[float] | Floats | None) -> bool:
    """Whether positions, where they are known, are a range."""
    if positions is None or len(positions) < 3:
        return True
    steps = np.diff(np.asarray(positions, np.float64))
    return bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0) and steps[0] != 0)
