"""Tables that were computed with roundings: which ones, and what base its rounded frequencies came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.errors import PecliError
from pecli.identification.trial import make
from pecli.measures.arithmetics import ROUNDED, Arithmetic, Shown, find_arithmetic, nearest, spacing, spread_rows
from pecli.measures.evidence import Evidence
from pecli.measures.readings import Reading
from pecli.measures.samples import Floats, rounded
from pecli.measures.waves import NARROW
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

EARLY = 4  # rows that tell a cosine from a sine
NEAR = 0.5  # sum of the largest differences of both in them: the wrong part is off by more
NUDGE = 2.0**-20  # relative change of a base, whose effect is measured
NONE = 1e-6  # of a power: that of no base
FARTHEST = 1.0  # logarithm by which a base may be off
TURNED = 2 * 2.0**-24  # roundings of an angle in float32, of its size
OUTLYING = 8.0  # half units, or usual differences, beyond which a value is spoiled
OVERLAP = 0.9  # share of the pairs whose frequencies must allow a base: a value spoiled, and one is off
SLACKS = (0.5, 0.51, 1.5, 4.5, 9.5)  # units by which a frequency may be off: rounded, a power's, an exponential's


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

    @property
    def parts(self) -> tuple[Floats, Floats]:
        """Cosines and sines of the reading."""
        cos, sin = self.reading.first, self.reading.second
        return (sin, cos) if self.swapped else (cos, sin)

    @property
    def positions(self) -> Floats:
        """Positions of the reading's rows."""
        first = self.reading.rows.start
        found: Floats = np.arange(first, first + len(self.reading.first), dtype=np.float64) * self.step + self.start
        return found

    def nearest(self) -> Floats:
        """Return the frequencies of the same type that do best, pair by pair."""
        rows = spread_rows(len(self.positions))
        cos, sin = self.parts
        return nearest(self.how, Shown.of(self.positions[rows], cos[rows], sin[rows], self.how.grain)).used

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
    if not isinstance(plan, Waves) or len(plan.bands) != 1 or plan.axes or "positions" in guess.table or guess.arrays:
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


def refined(guess: Guess, found: Workings) -> Iterator[tuple[Guess, tuple[str, str], bool]]:
    """Yield the guess with the bases that its values may come from, their range, and whether all in it are as good."""
    for low, high, every in _intervals(guess, found):
        yield _with_base(guess, low, high), _text(low, high), every


def ends_of(guess: Guess, found: Workings) -> tuple[tuple[str, str] | None, bool]:
    """Return from which base to which the values would be the same, and whether all between; None if unknown."""
    base = float(guess.keys.get("base", "10000"))
    holding = (((low, high), every) for low, high, every in _intervals(guess, found, base) if low <= base <= high)
    ends, every = next(holding, (None, True))
    return _text(*ends) if ends else None, every


def _intervals(guess: Guess, found: Workings, base: float | None = None) -> Iterator[tuple[float, float, bool]]:
    """Yield ends of bases, and whether all values between are as good, the frequencies' first where they show."""
    given = float(guess.keys.get("base", "10000"))
    exponents = exponents_of(guess, found.how.exact, given) if "base" in guess.free else None
    if exponents is None:
        return
    if found.how.frequencies in NARROW or found.how.grain not in NARROW:
        for ends in _bounds(found, exponents, given, base):
            yield *ends, True
    yield from _fitted(found, given, exponents)


def _text(low: float, high: float) -> tuple[str, str]:
    return f"{low:.12g}", f"{high:.12g}"


def exponents_of(guess: Guess, exact: Floats, base: float) -> Floats | None:
    """Return by which power of the base each frequency falls, those of pairs that rest 0; None where all rest."""
    other = replace(guess, keys={**guess.keys, "base": number_text(Decimal(repr(base * (1 + NUDGE))))})
    try:
        plan = make(other, "float64").plan
    except PecliError:
        return None
    moved = np.array([float(w) for w in plan.frequencies])[: len(exact)] if isinstance(plan, Waves) else exact
    told = (exact > 0) & (moved > 0)
    exponents = np.zeros(len(exact))
    exponents[told] = -np.log(moved[told] / exact[told]) / np.log1p(NUDGE)
    exponents[np.abs(exponents) < NONE] = 0.0
    return exponents if exponents.any() else None


def _bounds(
    found: Workings, exponents: Floats, given: float, base: float | None = None
) -> Iterator[tuple[float, float]]:
    """Yield bases from which to which rounded frequencies are as they are, exactly or within a power's errors.

    If a base is asked for, those that hold it.
    """
    narrow = found.how.frequencies if found.how.frequencies in NARROW else "bfloat16"
    shown = [(_second_row(found, narrow), narrow), (found.how.used, found.how.frequencies)]
    if found.how.frequencies in NARROW and base is None:
        shown.append((found.nearest(), found.how.frequencies))
    for used, kind in shown:
        if used is None or kind == "float64":
            continue
        unit = spacing(used, kind)
        slacks = SLACKS[: 2 if kind in NARROW else None]
        for slack, most in (*((slack, 1.0) for slack in slacks), *((slack, OVERLAP) for slack in slacks)):
            ends = between(given, found.how.exact, exponents, used, slack * unit, most)
            if ends[0] <= (ends[1] if base is None else base) <= ends[1]:
                yield ends
                break


def between(
    base: float, exact: Floats, exponents: Floats, used: Floats, loose: Floats, most: float = OVERLAP
) -> tuple[float, float]:
    """Return from which base to which frequencies are as shown, to so much; an empty interval where they disagree."""
    some = exponents > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low = base * (exact[some] / (used[some] + loose[some])) ** (1 / exponents[some])
        high = base * (exact[some] / (used[some] - loose[some])) ** (1 / exponents[some])
    return _most(np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1e30), most)


def _most(low: Floats, high: Floats, least: float) -> tuple[float, float]:
    """Return where most of some intervals overlap, a share of them at least; an empty one else."""
    inside = ((low[:, None] <= low) & (low <= high[:, None])).sum(axis=0)  # of how many each lower end is part
    best = int(inside.argmax())
    if inside[best] < least * len(low):
        return 1.0, 0.0
    return float(low[best]), float(high[(low <= low[best]) & (low[best] <= high)].min())


def _with_base(guess: Guess, low: float, high: float) -> Guess:
    base = shortest(low, high)
    return replace(
        guess,
        keys={**guess.keys, "base": number_text(base)},
        cost=guess.cost + digits(base) - digits(Decimal(guess.keys.get("base", "10000"))),
    )


def _fitted(found: Workings, base: float, exponents: Floats) -> Iterator[tuple[float, float, bool]]:
    """Yield ends of the bases that fit all values: what every value allows (True), then what all do on average.

    By Newton's method on its logarithm.  An angle p w changes by -e p w with it, e the exponent of the pair; early
    rows come first, whose angles are right to a fraction of a turn.
    """
    how = found.how
    parts, positions = found.parts, found.positions
    half = [spacing(part, how.grain) / 2 + ROUNDED[how.grain] * np.abs(part) for part in parts]
    if how.way == "cut":  # towards zero: the middle of what is cut to a value lies half a unit beyond it
        up = [np.copysign(spacing(part, how.grain) / 2, part) for part in parts]
        parts = parts[0] + up[0], parts[1] + up[1]
    log, error, turned = 0.0, 1.0, 0.0 if how.name == "float64" else TURNED
    for rows in (*(2**k for k in range(4, 13) if 2**k < len(parts[0])), len(parts[0]), len(parts[0])):
        angles = np.outer(positions[:rows], how.exact * np.exp(-exponents * log))
        turn = -angles * exponents
        made = how.magnitude * np.cos(angles), how.magnitude * np.sin(angles)
        slopes = -made[1] * turn, made[0] * turn
        rests = parts[0][:rows] - made[0], parts[1][:rows] - made[1]
        total = sum(float((slope**2).sum()) for slope in slopes) or 1.0
        change = sum(float((rest * slope).sum()) for rest, slope in zip(rests, slopes, strict=True)) / total
        log += change
        error = float(np.sqrt(sum((rest**2).mean() for rest in rests) / 2 / total)) + 2.0**-50
    for loose in dict.fromkeys((turned, TURNED)):  # exact angles first, where they may be such
        low, high = _allowed(rests, slopes, [unit + loose * np.abs(slope / np.where(exponents == 0, 1, exponents))
                                             for slope, unit in zip(slopes, half, strict=True)])  # fmt: skip
        if low <= high:
            break
    log -= change
    soft = [(change - width * error, change + width * error, False) for width in (2.0, 8.0)]
    for start, stop, every in ((low, high, how.name not in NARROW), *soft):
        if start <= stop and abs(log) + abs(stop) + abs(start) < FARTHEST:
            yield base * float(np.exp(log + start)), base * float(np.exp(log + stop)), every


def _allowed(rests: Sequence[Floats], slopes: Sequence[Floats], loose: Sequence[Floats]) -> tuple[float, float]:
    """Return from where to where a logarithm may lie, by all values that are not spoiled."""
    low, high = -np.inf, np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        for rest, slope, unit in zip(rests, slopes, loose, strict=True):
            kept = np.abs(rest) <= OUTLYING * np.maximum(unit, np.median(np.abs(rest)))
            ends = np.where(kept, (rest - unit) / slope, np.nan), np.where(kept, (rest + unit) / slope, np.nan)
            low = max(low, float(np.nanmax(np.minimum(*ends))))
            high = min(high, float(np.nanmin(np.maximum(*ends))))
    return low, high


def _second_row(found: Workings, kind: str) -> Floats | None:
    """Return the frequencies that the row of position 1 shows, rounded to a type: its angles are they themselves."""
    at = (1 - found.start) / found.step - found.reading.rows.start
    if at != int(at) or not 0 <= at < len(found.reading.first):
        return None
    cos, sin = found.parts
    return rounded(np.arctan2(sin[int(at)], cos[int(at)]), kind)
