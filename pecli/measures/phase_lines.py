"""From measured rhythms to frequencies and the first position: which part is the cosine, and whole turns.

Pair i turns by theta_i a row, up to whole turns, and starts at phi_i.  If its
parts are cosine and sine of p w_i at p = P, P + S, ..., then theta_i = S w_i and
phi_i = P w_i = q theta_i with one q for all pairs, up to whole turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pecli.measures.rhythm import TURN, Rhythm, wrap

Floats = NDArray[np.float64]
FASTEST = 1e9  # radians a row; nothing is known of a faster pair
RESTING = 1e-13  # a step below it is no turning
FARTHER = 2  # times the number of rows that position 0 lies before them, to say more than they do
BESIDE = 2  # rows by which the first position may be off at first
FARTHEST = 1 << 14  # rows from position 0 that are tried where slow pairs do not tell
ASTRAY = 0.1  # radians by which a phase is off where whole turns were counted wrong
MOST_TOLD = 16  # pairs that tell a number of rows
SIFTING = 3  # of them that are asked first
CHANCE = 1e-6  # probability of such a number by chance that is believed in
SINGLE = 2.0**-24  # relative error of a frequency or an angle in float32, the same in all rows
QUITE = 1.0  # radians by which the turns since position 0 may be off, to be counted
BELIEVED = 4.0  # standard errors by which a step may be off


@dataclass(frozen=True)
class Lines:
    """Pairs as straight lines of phase.

    Attributes
    ----------
    swapped : bool
        Whether the first part of each pair is the sine.
    backward : bool
        Whether the angle falls from row to row: positions fall, or the sine has the other sign.
    steps : (m,) float64
        Radians a row, whole turns restored, at least 0.
    errors : (m,) float64
        Their uncertainty.
    first : float
        q: rows from position 0 to row 0.
    misfit : float
        Largest distance of a first phase from q times the step, in radians.
    resting : (m,) bool
        Pairs that do not turn.
    """

    swapped: bool
    backward: bool
    steps: Floats
    errors: Floats
    phases: Floats
    first: float
    misfit: float
    resting: NDArray[np.bool_]


def phase_lines(rhythm: Rhythm, tolerance: float) -> list[Lines]:
    """Return the ways to read a rhythm, those with the smallest misfit first."""
    found = []
    for swapped in (False, True):
        steps, phases = rhythm.steps, rhythm.phases
        if swapped:
            steps, phases = -steps, wrap(np.pi / 2 - phases)
        for slow_last in (True, False):
            found.append(_lines(steps, phases, rhythm, swapped, slow_last, tolerance))
            if not _ambiguous(rhythm.steps):
                break
    found.sort(key=lambda lines: (lines.misfit > 10 * tolerance, lines.backward, lines.misfit))
    return found


def _ambiguous(steps: Floats) -> bool:
    """Whether it matters which end is taken for the slow one: some pair may have gone around between rows."""
    return len(steps) > 2 and bool(abs(steps[0]) < abs(steps[-1]) or np.abs(steps).max() > 2.0)


def _lines(steps: Floats, phases: Floats, rhythm: Rhythm, swapped: bool, slow_last: bool, tolerance: float) -> Lines:
    resting = np.abs(steps) <= RESTING
    moving = ~resting
    order = np.flatnonzero(moving)
    order = order[::-1] if slow_last else order
    backward = _falls(steps[order])
    sign = -1.0 if backward else 1.0
    full = unwrapped(sign * steps, order)
    phi = wrap(sign * phases)
    first, misfit = first_row(full[moving], phi[moving], rhythm.errors[moving] + tolerance)
    if not moving.any():
        misfit = float(np.abs(phi).max(initial=0.0))
    errors = rhythm.errors.copy()
    hidden = resting & (np.cumsum(moving[::-1])[::-1] > 0)  # rounding holds a pair resting between others that move
    for i in np.flatnonzero(hidden):
        before, after = full[:i][moving[:i]], full[i:][moving[i:]]
        full[i] = np.sqrt(before[-1] * after[0]) if len(before) else after[0]
        errors[i] = full[i]
    resting &= ~hidden
    return Lines(swapped, backward, np.where(resting, 0.0, full), errors, phi, first, misfit, resting)


def _falls(steps: Floats) -> bool:
    """Whether the slowest quarter of the pairs, given slow ones first, turns backwards: it cannot have gone around."""
    slow = steps[: max(1, len(steps) // 4)]
    return bool(np.median(np.sign(slow)) < 0) if len(slow) else False


def unwrapped(steps: Floats, order: NDArray[np.intp]) -> Floats:
    """Restore whole turns, in this order, from slow to fast: each pair continues the ratio of the slower ones."""
    full = np.where(steps < 0, steps + TURN, steps)
    found, given = full[order].tolist(), steps[order].tolist()
    for k in range(2, len(found)):
        one, two = found[k - 1], found[k - 2]
        expected = min(one * min(one / two, 16.0) if two > 0 else one, FASTEST)
        turns = (expected - given[k]) / TURN
        found[k] = given[k] + TURN * (round(turns) if math.isfinite(turns) else turns)
        if found[k] <= 0:
            found[k] += TURN
    full[order] = found
    return full


def first_row(steps: Floats, phases: Floats, errors: Floats) -> tuple[float, float]:
    """Return q with phases = q steps up to whole turns, and the largest distance left.

    From slow to fast: each pair narrows q as far as its whole turns are certain.
    """
    if len(steps) == 0:
        return 0.0, 0.0
    order = np.argsort(steps)
    order = order[steps[order] > 0]
    weights = np.minimum((steps / errors) ** 2, 1e100) + 1e-300
    q, weight = 0.0, 0.0
    for step, phase, mine in zip(*(values[order].tolist() for values in (steps, phases, weights)), strict=True):
        if weight == 0.0:
            q, weight = phase / step, mine
            continue
        rest = (phase - q * step) / TURN
        q += (rest - math.ceil(rest - 0.5) if math.isfinite(rest) else rest) * TURN / step * mine / (mine + weight)
        weight += mine
    misfit = np.abs(wrap(phases - q * steps))
    return q, float(misfit.max(initial=0.0))


def sharpened(lines: Lines, rhythm: Rhythm) -> Lines | None:
    """Return lines whose steps the turns since position 0 tell, where these are many times the rows: else None.

    Rows that begin q rows after position 0 have turned by q steps and those within: the phase at their middle, whole
    turns restored, says a step as much better as q is larger than their number.  q is whole; a neighbour of it would
    move the fast pairs by more than they may be off.
    """
    moving, around = ~lines.resting, round(lines.first)
    if abs(around) >= FARTHER * rhythm.rows:
        found = _turned(lines, rhythm, np.arange(around - BESIDE, around + BESIDE + 1, dtype=np.float64))
        if found is not None:
            return found
    if lines.misfit > ASTRAY and moving.any():  # slow pairs did not count the turns of fast ones
        known = np.sort(lines.errors[moving])[:MOST_TOLD]
        return _turned(lines, rhythm, np.arange(rhythm.rows, min(FARTHEST, QUITE / known[-1]), dtype=np.float64))
    return None


def _turned(lines: Lines, rhythm: Rhythm, tried: Floats) -> Lines | None:
    """Return lines by the best of some numbers of rows since position 0; None where none is believed."""
    middle = (rhythm.rows - 1) / 2
    told = np.flatnonzero(~lines.resting & (np.abs(tried).max(initial=1.0) * lines.errors <= QUITE))
    if not len(told) or not len(tried):
        return None
    some = told[np.argsort(lines.errors[told])[:MOST_TOLD]]
    w, chance = lines.steps[some], np.log(len(tried))
    for part in (slice(0, SIFTING), slice(0, None)):  # few pairs leave few numbers
        far = np.abs(tried + middle)[:, None]
        allowed = BELIEVED * far * (lines.errors[some[part]] + SINGLE * w[part] * (1 + far / rhythm.rows))
        off = (np.abs(wrap(lines.phases[some[part]] - np.outer(tried, w[part]))) / allowed).max(axis=1)
        tried, off, allowed = tried[off <= 1], off[off <= 1], allowed[off <= 1]
        if not len(tried):
            return None
    best = int(off.argmin())
    if chance + np.log(np.minimum(allowed[best] / np.pi, 1.0)).sum() > np.log(CHANCE):
        return None
    at = float(tried[best]) + middle
    steps, errors = lines.steps.copy(), lines.errors.copy()
    steps[told] += wrap(lines.phases[told] + steps[told] * (middle - at)) / at
    errors[told] *= rhythm.rows / abs(at)
    return replace(lines, steps=steps, errors=errors, first=float(tried[best])) if (steps[told] > 0).all() else None


def shifted(lines: Lines, rows: int) -> Lines:
    """Return the lines as seen from `rows` rows earlier."""
    return replace(lines, first=lines.first - rows)
