"""Tables that were computed with roundings: which ones, and what base its rounded frequencies came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.errors import PecliError
from pecli.identification.trial import make
from pecli.measures.arithmetics import Arithmetic, find_arithmetic, spacing
from pecli.measures.evidence import Evidence
from pecli.measures.readings import Reading
from pecli.measures.samples import Floats, rounded
from pecli.measures.spectra import LARGEST_LOG
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

EARLY = 4  # rows that tell a cosine from a sine
NEAR = 0.5  # sum of the largest differences of both in them: the wrong part is off by more
BITS = {"bfloat16": 8, "float16": 11, "float32": 24}  # of a significand
SHIFTED = 0.5  # digits that another spacing counts for
SLACKS = (0.5, 1.5, 4.5, 9.5)  # units by which a frequency may be off: rounded, a power's, an exponential's


@dataclass(frozen=True)
class Workings:
    """How the pairs of a reading were computed.

    Attributes
    ----------
    reading : Reading
    swapped : bool
        Whether its first part is the sine.
    how : Arithmetic
    start, step : float
        Positions of the rows.
    """

    reading: Reading
    swapped: bool
    how: Arithmetic
    start: float
    step: float

    def over_all(self, evidence: Evidence) -> tuple[int, int, float]:
        """Return how many values of the file the arithmetic does not give, of how many, and their largest error.

        The error is the difference from the recipe's exact values.
        """
        wrong, count, residual = 0, 0, 0.0
        for first, planes in evidence.blocks():
            rows = len(planes[0])
            positions: Floats = self.start + self.step * np.arange(first, first + rows, dtype=np.float64)
            angles = np.outer(positions, self.how.exact)
            made = self.how.compute(positions)
            real = (self.how.magnitude * np.cos(angles), self.how.magnitude * np.sin(angles))
            for number, (plane, index) in enumerate(self.reading.places):
                part = number % 2 ^ self.swapped
                values = planes[plane][index]
                wrong += int((values != made[part]).sum())
                count += values.size
                gap = np.abs(values - real[part])
                residual = max(residual, float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0)))
        return wrong, count, residual


def explained(guess: Guess, evidence: Evidence) -> Workings | None:
    """Return the arithmetic that reproduces most values of a sample for the frequencies of a guess."""
    try:
        plan = make(guess, "float64").plan
    except PecliError:
        return None
    if not isinstance(plan, Waves) or len(plan.bands) != 1 or plan.axes or "positions" in guess.table:
        return None
    frequencies, size = np.array([float(w) for w in plan.frequencies]), float(plan.magnitude)
    start, step = float(guess.table.get("start", 0)), float(guess.table.get("step", 1))
    for reading in evidence.readings:
        m = reading.first.shape[1]
        if m > len(frequencies):
            continue
        w = frequencies[:m]
        positions = start + step * (np.arange(len(reading.first)) + reading.rows.start)
        early = np.outer(positions[:EARLY], w)
        for swapped in (False, True):
            cos, sin = (reading.second, reading.first) if swapped else (reading.first, reading.second)
            gaps = (np.abs(cos[:EARLY] - size * np.cos(early)), np.abs(sin[:EARLY] - size * np.sin(early)))
            if sum(float(gap.max()) for gap in gaps) < NEAR * size:
                how = find_arithmetic(positions, w, size, cos, sin, evidence.sample.grain)
                return Workings(reading, swapped, how, start, step)
    return None


def refined(guess: Guess, found: Workings) -> Iterator[tuple[Guess, tuple[str, str] | None]]:
    """Yield the guess with the bases that its rounded frequencies may come from, and their range."""
    if "base" not in guess.free or len(found.how.exact) < 2:
        return
    log = np.log(float(guess.keys.get("base", "10000")))
    if not log or not (found.how.exact > 0).all():
        return
    top, exponents = found.how.exact[0], -np.log(found.how.exact / found.how.exact[0]) / log
    halves = 2 / exponents[1]
    if not np.isfinite(halves) or abs(halves - round(halves)) > 1e-6 * halves or np.ptp(np.diff(exponents)) > 1e-9:
        return  # no powers of the base over half a width: another scaling's
    for used, kind in ((_second_row(found), "bfloat16"), (found.how.used, found.how.frequencies)):
        if used is None or kind not in BITS or (used <= 0).any():
            continue
        unit = np.ldexp(1.0, np.frexp(used)[1] - BITS[kind])
        some = exponents > 0
        for slack in SLACKS[: 1 if kind == "bfloat16" else None]:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                low = (top / (used[some] + slack * unit[some])) ** (1 / exponents[some])
                high = (top / (used[some] - slack * unit[some])) ** (1 / exponents[some])
            ends = float(np.nanmax(low, initial=1e-6)), float(np.nanmin(high, initial=1e30))
            if ends[0] <= ends[1]:
                yield _with_base(guess, *ends), (f"{ends[0]:.9g}", f"{ends[1]:.9g}")
                break
    base, error = _fitted(found, log, exponents)
    for width in (2.0, 8.0):
        yield _with_base(guess, base * (1 - width * error), base * (1 + width * error)), None


def _with_base(guess: Guess, low: float, high: float) -> Guess:
    base = shortest(low, high)
    return replace(
        guess, keys={**guess.keys, "base": number_text(base)}, cost=float(digits(base)) + SHIFTED * _shifted(guess)
    )


def _shifted(guess: Guess) -> bool:
    return guess.keys.get("shift", "0") != "0"


def _fitted(found: Workings, log: float, exponents: Floats) -> tuple[float, float]:
    """Return the base that fits all values best, by Newton's method on its logarithm, and its relative error.

    An angle p w changes by -e p w with the logarithm of the base, e the exponent of the pair; early rows come
    first, whose angles are right to a fraction of a turn.
    """
    reading, how = found.reading, found.how
    cos, sin = (reading.second, reading.first) if found.swapped else (reading.first, reading.second)
    positions = found.start + found.step * (np.arange(len(cos), dtype=np.float64) + reading.rows.start)
    half = spacing(cos, how.grain) / 2, spacing(sin, how.grain) / 2
    if how.way == "cut":  # towards zero: the middle of what is cut to a value lies half a unit beyond it
        cos, sin = cos + np.copysign(half[0], cos), sin + np.copysign(half[1], sin)
    error = 1.0
    for rows in (*(2**k for k in range(4, 13) if 2**k < len(cos)), len(cos), len(cos)):
        w = how.exact[0] * np.exp(-exponents * log)
        angles = np.outer(positions[:rows], w)
        slope = -angles * exponents
        away = (sin[:rows] * np.cos(angles) - cos[:rows] * np.sin(angles)) / how.magnitude  # sine of the angle's error
        total = float((slope**2).sum()) or 1.0
        log += float((away * slope).sum()) / total
        error = float(np.sqrt((away**2).mean() / total)) + 2.0**-50
    return float(np.exp(min(log, LARGEST_LOG))), error


def _second_row(found: Workings) -> Floats | None:
    """Return the frequencies that the row of position 1 shows, rounded to bfloat16: its angles are they themselves."""
    at = (1 - found.start) / found.step - found.reading.rows.start
    if at != int(at) or not 0 <= at < len(found.reading.first):
        return None
    parts = found.reading.first[int(at)], found.reading.second[int(at)]
    cos, sin = parts[::-1] if found.swapped else parts
    return rounded(np.arctan2(sin, cos), "bfloat16")
