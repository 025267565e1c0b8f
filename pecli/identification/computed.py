"""Tables that were computed with roundings: which ones, and what base its rounded frequencies came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.errors import PecliError
from pecli.identification.trial import make
from pecli.measures.arithmetics import ROUNDED, Arithmetic, find_arithmetic, spacing
from pecli.measures.evidence import Evidence
from pecli.measures.readings import Reading
from pecli.measures.samples import Floats, rounded
from pecli.measures.spectra import LARGEST_LOG
from pecli.measures.waves import NARROW
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

EARLY = 4  # rows that tell a cosine from a sine
NEAR = 0.5  # sum of the largest differences of both in them: the wrong part is off by more
BITS = {"bfloat16": 8, "float16": 11, "float32": 24}  # of a significand
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
        for swapped in (False, True):
            cos, sin = (reading.second, reading.first) if swapped else (reading.first, reading.second)
            if any(_near(cos, sin, positions, used, size) for used in _held(w, guess.level)):
                how = find_arithmetic(positions, w, size, cos, sin, evidence.sample.grain)
                return Workings(reading, swapped, how, start, step)
    return None


def _held(w: Floats, level: str) -> tuple[Floats, ...]:
    """Return frequencies, and how a narrow type holds them."""
    return (w, rounded(w, level)) if level in NARROW else (w,)


def _near(cos: Floats, sin: Floats, positions: Floats, w: Floats, size: float) -> bool:
    """Whether the first rows are those of an angle, and not its sines taken for cosines."""
    angles = np.outer(positions[:EARLY], w)
    gaps = (np.abs(cos[:EARLY] - size * np.cos(angles)), np.abs(sin[:EARLY] - size * np.sin(angles)))
    return sum(float(gap.max()) for gap in gaps) < NEAR * size


def refined(guess: Guess, found: Workings) -> Iterator[tuple[Guess, tuple[str, str] | None]]:
    """Yield the guess with the bases that its rounded frequencies may come from, and their range."""
    log, exponents = _powers(guess, found)
    if exponents is None:
        return
    for low, high in _bounds(found, exponents):
        other = _with_base(guess, low, high)
        yield other, _text(low, high)
    for low, high, all_of_them in _fitted(found, log, exponents):
        yield _with_base(guess, low, high), _text(low, high) if all_of_them else None


def ends_of(guess: Guess, found: Workings) -> tuple[str, str] | None:
    """Return from which base to which the rounded frequencies would be the same; None where that is unknown."""
    _, exponents = _powers(guess, found)
    if exponents is None:
        return None
    base = float(guess.keys.get("base", "10000"))
    return next((_text(*ends) for ends in _bounds(found, exponents, base)), None)


def _text(low: float, high: float) -> tuple[str, str]:
    return f"{low:.12g}", f"{high:.12g}"


def _powers(guess: Guess, found: Workings) -> tuple[float, Floats | None]:
    """Return the logarithm of the base and the exponents of its powers; None where frequencies are no powers."""
    exact = found.how.exact
    log = float(np.log(float(guess.keys.get("base", "10000"))))
    if "base" not in guess.free or len(exact) < 2 or not log or not (exact > 0).all() or exact[1] == exact[0]:
        return log, None
    exponents = -np.log(exact / exact[0]) / log
    halves = 2 / exponents[1]
    if abs(halves - round(halves)) > 1e-6 * halves or np.ptp(np.diff(exponents)) > 1e-9:
        return log, None  # no powers of the base over half a width: another scaling's
    return log, exponents


def _bounds(found: Workings, exponents: Floats, base: float | None = None) -> Iterator[tuple[float, float]]:
    """Yield bases from which to which rounded frequencies are as they are, exactly or within a power's errors.

    If a base is given, those that hold it.
    """
    top, some = found.how.exact[0], exponents > 0
    for used, kind in ((_second_row(found), "bfloat16"), (found.how.used, found.how.frequencies)):
        if used is None or kind not in BITS or (used <= 0).any():
            continue
        unit = np.ldexp(1.0, np.frexp(used)[1] - BITS[kind])
        for slack in SLACKS[: 1 if kind == "bfloat16" else None]:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                low = (top / (used[some] + slack * unit[some])) ** (1 / exponents[some])
                high = (top / (used[some] - slack * unit[some])) ** (1 / exponents[some])
            ends = float(np.nanmax(low, initial=1e-6)), float(np.nanmin(high, initial=1e30))
            if ends[0] <= (ends[1] if base is None else base) <= ends[1]:
                yield ends
                break


def _with_base(guess: Guess, low: float, high: float) -> Guess:
    base = shortest(low, high)
    return replace(
        guess,
        keys={**guess.keys, "base": number_text(base)},
        cost=guess.cost + digits(base) - digits(Decimal(guess.keys.get("base", "10000"))),
    )


def _fitted(found: Workings, log: float, exponents: Floats) -> Iterator[tuple[float, float, bool]]:
    """Yield ends of the bases that fit all values: what every value allows (True), then what all do on average.

    By Newton's method on the logarithm.  An angle p w changes by -e p w with it, e the exponent of the pair; early
    rows come first, whose angles are right to a fraction of a turn.
    """
    reading, how = found.reading, found.how
    parts = (reading.second, reading.first) if found.swapped else (reading.first, reading.second)
    positions = found.start + found.step * (np.arange(len(parts[0]), dtype=np.float64) + reading.rows.start)
    half = [spacing(part, how.grain) / 2 + ROUNDED[how.grain] * np.abs(part) for part in parts]
    if how.way == "cut":  # towards zero: the middle of what is cut to a value lies half a unit beyond it
        parts = tuple(part + np.copysign(spacing(part, how.grain) / 2, part) for part in parts)
    error = 1.0
    for rows in (*(2**k for k in range(4, 13) if 2**k < len(parts[0])), len(parts[0]), len(parts[0])):
        angles = np.outer(positions[:rows], how.exact[0] * np.exp(-exponents * log))
        turn = -angles * exponents
        made = how.magnitude * np.cos(angles), how.magnitude * np.sin(angles)
        slopes = -made[1] * turn, made[0] * turn
        rests = parts[0][:rows] - made[0], parts[1][:rows] - made[1]
        total = sum(float((slope**2).sum()) for slope in slopes) or 1.0
        change = sum(float((rest * slope).sum()) for rest, slope in zip(rests, slopes, strict=True)) / total
        log += change
        error = float(np.sqrt(sum((rest**2).mean() for rest in rests) / 2 / total)) + 2.0**-50
    low, high = -np.inf, np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        for rest, slope, unit in zip(rests, slopes, half, strict=True):
            ends = (rest - unit) / slope, (rest + unit) / slope
            low = max(low, float(np.nanmax(np.minimum(*ends))))
            high = min(high, float(np.nanmin(np.maximum(*ends))))
    log -= change
    soft = [(change - width * error, change + width * error, False) for width in (2.0, 8.0)]
    for start, stop, every in ((low, high, how.name == "float64"), *soft):
        if start <= stop and log + stop < LARGEST_LOG:
            yield float(np.exp(log + start)), float(np.exp(log + stop)), every


def _second_row(found: Workings) -> Floats | None:
    """Return the frequencies that the row of position 1 shows, rounded to bfloat16: its angles are they themselves."""
    at = (1 - found.start) / found.step - found.reading.rows.start
    if at != int(at) or not 0 <= at < len(found.reading.first):
        return None
    parts = found.reading.first[int(at)], found.reading.second[int(at)]
    cos, sin = parts[::-1] if found.swapped else parts
    return rounded(np.arctan2(sin, cos), "bfloat16")
