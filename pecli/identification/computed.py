"""Tables that were computed with roundings: which ones, and how many values that gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.errors import PecliError
from pecli.identification.places import rows_said
from pecli.identification.trial import make
from pecli.measures.arithmetics import ROWS, Shown, find_arithmetic, nearest, spread_rows
from pecli.measures.computing import Arithmetic
from pecli.measures.evidence import Evidence
from pecli.measures.readings import Reading
from pecli.measures.samples import Floats, rounded
from pecli.measures.wave import NARROW

EARLY = 4  # rows that tell a cosine from a sine
WHOLE = 1e-9  # what steps from position 0 to the first row may be off a whole number by
NEAR = 0.5  # sum of the largest differences of both in them: the wrong part is off by more


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
    share : float
        What the frequencies were multiplied by, where a step of the positions was taken for one of theirs.
    beyond : (k,) float64
        Frequencies of the recipe after those of the pairs: of a sine whose cosine an odd width leaves out.
    last : (k,) float64, optional
        The same as they were used, where they are others than the nearest of their type.
    blank : int
        The row that the recipe leaves blank; -1 for none.
    """

    reading: Reading
    swapped: bool
    how: Arithmetic
    start: float
    step: float
    share: float = 1.0
    beyond: Floats = field(default_factory=lambda: np.empty(0))
    last: Floats | None = None
    blank: int = -1

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

    @property
    def shown(self) -> int:
        """How many values the arithmetic was judged by."""
        rows, pairs = self.reading.first.shape
        return int((1 if self.how.part else 2) * min(rows, ROWS) * pairs)

    def nearest(self) -> Floats:
        """Return the frequencies of the same type that do best, pair by pair."""
        rows = spread_rows(len(self.positions))
        cos, sin = self.parts
        return nearest(self.how, Shown.of(self.positions[rows], cos[rows], sin[rows], self.how.grain)).used

    def shifted(self, exponents: Floats, log: float) -> Workings:
        """Return the same of another base, by its logarithm; `exponents` are those of all frequencies."""
        m = len(self.how.exact)
        beyond = self.beyond * np.exp(-exponents[m:] * log)
        return replace(self, how=self.how.shifted(exponents[:m], log), beyond=beyond, last=None)

    def over_all(self, evidence: Evidence) -> Left:
        """Return what the arithmetic leaves of all values of the file."""
        left = Left()
        for first, planes in evidence.blocks():
            rows = len(planes[0])
            positions: Floats = self.start + self.step * np.arange(first, first + rows, dtype=np.float64)
            angles = np.outer(positions, self.how.exact)
            made = self.how.compute(positions)
            real = tuple(self.how.magnitude * part for part in self.how.parts(angles))
            wrong, count, residual = np.zeros(rows, np.int64), 0, 0.0
            sides = [number % 2 ^ self.swapped for number in range(len(self.reading.places))]
            places = zip(self.reading.places, sides, strict=True)
            parts = [(planes[plane][index], made[side], real[side]) for (plane, index), side in places]
            if self.reading.tail:
                parts.append((planes[0][self.reading.tail_at][:, None], *self._tail(positions)))
            for values, computed, exact in parts:
                if self.blank in range(first, first + rows):
                    computed[self.blank - first] = exact[self.blank - first] = 0.0
                wrong += (values != computed).sum(axis=1)
                count += values.size
                gap = np.abs(values - exact)
                residual = max(residual, float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0)))
            left = left.and_rows(first, wrong, count, residual)
        return left

    def _tail(self, positions: Floats) -> tuple[Floats, Floats]:
        """Return the column beside the pairs, (n, 1), as computed and exactly: zeros, or the sine of one more pair."""
        if self.reading.tail == "zero" or not len(self.beyond):
            return np.zeros((len(positions), 1)), np.zeros((len(positions), 1))
        made = self._of_tail().compute(positions)[1]
        return made, self.how.magnitude * np.sin(np.outer(positions, self.beyond))

    def _of_tail(self) -> Arithmetic:
        """Return how that sine was computed."""
        single = self.beyond if self.how.frequencies == "float64" else rounded(self.beyond, "float32")
        used = rounded(single, self.how.frequencies) if self.last is None else self.last
        return replace(self.how, exact=self.beyond, used=used)

    def with_tail(self, column: Floats) -> Workings:
        """Return the same with the frequency that the column of that sine, (n,), shows, as those of the pairs do."""
        if not self.how.off or not len(self.beyond):
            return self
        rows = spread_rows(len(self.positions))
        tail = column[rows][:, None]
        how = replace(self._of_tail(), part="sin")
        return replace(self, last=nearest(how, Shown.of(self.positions[rows], tail, tail, how.grain)).used)


@dataclass(frozen=True)
class Left:
    """What an arithmetic does not give.

    Attributes
    ----------
    wrong, count : int
        How many values, of how many.
    residual : float
        The largest difference from the recipe's exact values.
    rows : int
        How many rows have such a value.
    first, last : int
        The first and the last of them, where there is one.
    """

    wrong: int = 0
    count: int = 0
    residual: float = 0.0
    rows: int = 0
    first: int = 0
    last: int = 0

    def and_rows(self, start: int, wrong: NDArray[np.int64], count: int, residual: float) -> Left:
        """Return the same with rows that begin at `start`: how many values of each are wrong, (n,)."""
        at = np.flatnonzero(wrong)
        ends = (self.first if self.rows else start + int(at[0]), start + int(at[-1])) if len(at) else (
            self.first, self.last
        )  # fmt: skip
        residual = max(self.residual, residual)
        return Left(self.wrong + int(wrong.sum()), self.count + count, residual, self.rows + len(at), *ends)

    @property
    def where(self) -> str:
        """Which rows, in words."""
        return rows_said(self.first, self.last, self.rows)


def explained(guess: Guess, evidence: Evidence) -> Workings | None:
    """Return the arithmetic that reproduces most values of a sample for the frequencies of a guess."""
    try:
        plan = make(guess, "float64").plan
    except PecliError:
        return None
    if not isinstance(plan, Waves) or len(plan.bands) != 1 or plan.axes or "positions" in guess.table:
        return None
    part = guess.arrays[0] if guess.arrays in (("cos",), ("sin",)) else ""
    if guess.arrays and not part:
        return None
    frequencies, size = np.array([float(w) for w in plan.frequencies]), float(plan.magnitude)
    start, step = float(guess.table.get("start", 0)), float(guess.table.get("step", 1))
    readings = [alone.reading for alone in evidence.lone if alone.part == part] if part else evidence.readings
    for reading in readings:
        m = reading.first.shape[1]
        if m > len(frequencies):
            continue
        w, beyond = frequencies[:m], frequencies[m:]
        rows = np.arange(len(reading.first)) + reading.rows.start
        for swapped in (False,) if part else (False, True):
            cos, sin = (reading.second, reading.first) if swapped else (reading.first, reading.second)
            if any(_near(cos, sin, start + step * rows, used, size, part) for used in _held(w, guess.level)):
                ways = [(start, step, 1.0)]
                if step != 1 and abs(start / step - round(start / step)) < WHOLE:
                    ways.append((float(round(start / step)), 1.0, step))  # a step of 1/4 is a frequency over 4 as well
                found = [
                    Workings(reading, swapped, find_arithmetic(first + by * rows, w * share, size, cos, sin,
                                                               evidence.sample.grain, part), first, by, share,
                             beyond * share)
                    for first, by, share in ways
                ]  # fmt: skip
                best = replace(
                    max(found, key=lambda one: (one.how.fits, one.how.equal)), blank=_blank(guess, start, step)
                )
                return best if reading.last is None or reading.tail == "zero" else best.with_tail(reading.last)
    return None


def _blank(guess: Guess, start: float, step: float) -> int:
    """Return the row that a guess leaves blank; -1 for none."""
    return round((float(guess.keys["pad-row"]) - start) / step) if "pad-row" in guess.keys else -1


def _held(w: Floats, level: str) -> tuple[Floats, ...]:
    """Return frequencies, and how a narrow type holds them."""
    return (w, rounded(w, level)) if level in NARROW else (w,)


def _near(cos: Floats, sin: Floats, positions: Floats, w: Floats, size: float, part: str) -> bool:
    """Whether the first rows are those of an angle, and not its sines taken for cosines."""
    angles = np.outer(positions[:EARLY], w)
    real = (np.sin if part == "sin" else np.cos)(angles), (np.cos if part == "cos" else np.sin)(angles)
    gaps = (np.abs(cos[:EARLY] - size * real[0]), np.abs(sin[:EARLY] - size * real[1]))
    return sum(float(gap.max()) for gap in gaps) < NEAR * size
