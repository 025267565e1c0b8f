"""From measured rhythms to frequencies and the first position: which part is the cosine, and whole turns.

Pair i turns by theta_i a row, up to whole turns, and starts at phi_i.  If its
parts are cosine and sine of p w_i at p = P, P + S, ..., then theta_i = S w_i and
phi_i = P w_i = q theta_i with one q for all pairs, up to whole turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.inspection.rhythm import TURN, Rhythm, wrap

Floats = NDArray[np.float64]
FASTEST = 1e9  # radians a row; nothing is known of a faster pair
RESTING = 1e-13  # a step below it is no turning


@dataclass(frozen=True)
class PhaseLines:
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


def phase_lines(rhythm: Rhythm, tolerance: float) -> list[PhaseLines]:
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


def _lines(
    steps: Floats, phases: Floats, rhythm: Rhythm, swapped: bool, slow_last: bool, tolerance: float
) -> PhaseLines:
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
    return PhaseLines(swapped, backward, np.where(resting, 0.0, full), errors, phi, first, misfit, resting)


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
