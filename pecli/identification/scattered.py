"""Identification of tables whose rows are no evenly spaced positions: chosen ones, known or not.

A few rows at equal distance show the rule, or it is a usual one; the positions
of all others follow from their phases, slow pairs first, and are then put to the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.errors import PecliError
from pecli.identification.search import guesses_of
from pecli.identification.trial import Trial, make, try_guess
from pecli.identification.verdict import UNKNOWN, Identification, verdict
from pecli.measures.evidence import Evidence
from pecli.measures.phase_lines import Lines
from pecli.measures.placing import SPREAD
from pecli.measures.rhythm import wrap
from pecli.measures.samples import Floats
from pecli.measures.spectra import COMMON_BASES, SHIFTS, Spectrum, shift_keys
from pecli.measures.wave import Wave
from pecli.numbers.positions import LIMIT

MOST_ROWS = 256
PREFIXES = (4, 3)  # rows that may be at equal distance at the beginning
LEAST_ROWS = 3
LEAST_PAIRS = 8  # fewer phases agree with some position by chance
MOST_PAIRS = 64  # spread over all, which tell a position as well
LOOSE_ANGLE = 0.02  # radians by which a phase may be off before it is put to the test
LARGEST_REST = 2.0**-8  # largest difference that is laid to float32 angles
SHORT_DIGITS = 3  # decimals of a position that somebody chose
MOST_TURNS = 4096  # of the slowest pair, among which a position is looked for


def identify_scattered(evidence: Evidence, positions: Floats | None) -> Identification:
    """Return what a table of chosen positions is; unknown if neither rows at equal distance nor a usual base tell."""
    sample = evidence.sample
    rows = sample.planes[0].rows
    if rows > MOST_ROWS or any(p.values.ndim != 2 or p.rows != rows for p in sample.planes):
        return UNKNOWN
    for guess in (*_from_runs(evidence, positions), *(_from_bases(evidence) if positions is None else ())):
        for trial in _with_arithmetic(guess, evidence):
            if trial.equal == 1.0 or trial.residual <= _allowed(evidence, guess):
                found = verdict(trial, evidence)
                if found.confidence != "unknown":
                    return found
    return UNKNOWN


def _allowed(evidence: Evidence, guess: Guess) -> float:
    """Return what angles in float32 may be off by at the farthest position."""
    farthest = max(abs(float(p)) for p in guess.table["positions"].split("+"))
    return min(SPREAD * 2.0**-24 * (1 + farthest) + 2 * evidence.resolution, LARGEST_REST)


def _with_arithmetic(guess: Guess, evidence: Evidence) -> list[Trial]:
    """Return the trials of a guess, exact and as frameworks compute it, the best first."""
    tried = [try_guess(guess, evidence)]
    if tried[0] is not None and tried[0].equal < 1.0:
        tried.append(try_guess(replace(guess, table={**guess.table, "arithmetic": "float32"}), evidence))
    return sorted((trial for trial in tried if trial is not None), key=lambda t: -t.equal)


def _from_runs(evidence: Evidence, positions: Floats | None) -> Iterator[Guess]:
    """Yield what rows at equal distance suggest, the positions of all others from their phases."""
    for rows in _runs(positions, len(evidence.sample.planes[0].values)):
        planes = [replace(p, values=p.values[rows], rows=rows.stop - rows.start) for p in evidence.sample.planes]
        for guess in guesses_of(Evidence(replace(evidence.sample, planes=planes))):
            at = positions if positions is not None else _located(evidence, guess)
            if at is not None and len(at) == len(evidence.sample.planes[0].values) and not evenly_spaced(at):
                own = {k: v for k, v in guess.table.items() if k not in ("length", "start", "step")}
                yield replace(guess, table={**own, "positions": _listed(at)})


def _from_bases(evidence: Evidence) -> Iterator[Guess]:
    """Yield series of usual bases whose phases agree with some position in every row."""
    waves = []
    for reading in evidence.readings:
        m = reading.first.shape[1]
        everything = slice(0, len(evidence.sample.planes[0].values))
        if reading.rows != everything or len(reading.first) < LEAST_ROWS or reading.tail == "sine" or m < LEAST_PAIRS:
            continue
        for swapped in (True, False):
            parts = (reading.second, reading.first) if swapped else (reading.first, reading.second)
            phases = np.arctan2(parts[1], parts[0])
            for base in COMMON_BASES:
                for shift in SHIFTS:
                    w = np.exp(-np.arange(m) / (m - shift) * np.log(float(base)))
                    at = _positions(phases, w, SHORT_DIGITS)
                    if at is not None:
                        resting = np.zeros(m, bool)
                        lines = Lines(swapped, False, w, np.zeros(m), phases[0], 0.0, 0.0, resting)
                        spectrum = Spectrum({"base": str(base), **shift_keys(shift)}, Fraction(1), w, 1.0)
                        waves.append(Wave(reading, lines, spectrum, Decimal(0), "exact", Decimal(1), at))
    for guess in guesses_of(replace(evidence, given=tuple(waves))) if waves else ():
        if "positions" in guess.table:
            yield replace(guess, table={k: v for k, v in guess.table.items() if k != "length"})


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


def _located(evidence: Evidence, guess: Guess) -> Floats | None:
    """Return the positions of all rows from their phases, for the frequencies of a guess."""
    try:
        plan = make(guess, "float64").plan
    except PecliError:
        return None
    if not isinstance(plan, Waves) or len(plan.bands) != 1:
        return None
    w = np.array([float(f) for f in plan.frequencies])
    turning = w > 0
    for reading in evidence.readings:
        if reading.first.shape[1] >= len(w) and reading.rows == slice(0, len(evidence.sample.planes[0].values)):
            for first, second in ((reading.first, reading.second), (reading.second, reading.first)):
                at = _positions(np.arctan2(second, first)[:, : len(w)][:, turning], w[turning])
                if at is not None:
                    return at
    return None


def _positions(phases: Floats, w: Floats, digits: int = 0) -> Floats | None:
    """Return positions (whole, or with few decimals) whose angles are these, one a row; None where a row has none."""
    if len(w) > MOST_PAIRS:
        some = np.unique(np.linspace(0, len(w) - 1, MOST_PAIRS).astype(np.int64))
        phases, w = phases[:, some], w[some]
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


def _listed(positions: Floats) -> str:
    return "+".join(str(int(p)) if p == int(p) else repr(float(p)) for p in positions)


def evenly_spaced(positions: Sequence[float] | Floats | None) -> bool:
    """Whether positions, where they are known, are a range."""
    if positions is None or len(positions) < 3:
        return True
    steps = np.diff(np.asarray(positions, np.float64))
    return bool(np.allclose(steps, steps[0], rtol=1e-9, atol=0) and steps[0] != 0)
