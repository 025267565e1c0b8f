"""One explanation of turning pairs: its frequencies, where its rows begin, and how far values may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.measures.phase_lines import Lines
from pecli.measures.placing import ROUNDINGS, SPREAD
from pecli.measures.readings import Reading
from pecli.measures.samples import rounded
from pecli.measures.spectra import Spectrum

Floats = NDArray[np.float64]

NARROW = ("float16", "bfloat16")
LEAST_TELLING = 0.2  # share of the values that must say something


@dataclass(frozen=True)
class Wave:
    """One explanation of a table of pairs.

    Attributes
    ----------
    reading, lines, spectrum : Reading, Lines, Spectrum
        What it was read as.
    start : Decimal
        Position of the table's row 0.
    level : str
        The arithmetic within whose error it fits.
    magnitude : Decimal
        Size of the pairs.
    chosen : (n,) float64, optional
        Positions of the reading's rows, where they are not evenly spaced.
    used : (m,) float64, optional
        The frequencies as a narrow type holds them, where only they were rounded to one.
    """

    reading: Reading
    lines: Lines
    spectrum: Spectrum
    start: Decimal
    level: str
    magnitude: Decimal
    chosen: Floats | None = None
    used: Floats | None = None

    @property
    def resolution(self) -> float:
        """Of the values, relative."""
        return self.reading.resolution

    @property
    def step(self) -> Fraction:
        """Distance of rows, with its sign."""
        return -self.spectrum.step if self.lines.backward else self.spectrum.step

    @property
    def cost(self) -> float:
        """Digits that were chosen to fit."""
        return self.spectrum.cost

    @property
    def free(self) -> tuple[str, ...]:
        """Parameters whose numbers were fitted."""
        return ("base",) if len(self.spectrum.frequencies) > 1 else ()

    def positions(self) -> Floats:
        """Positions of the reading's rows."""
        if self.chosen is not None:
            return self.chosen
        k = np.arange(len(self.reading.first)) + self.reading.rows.start
        found: Floats = float(self.start) + float(self.step) * k
        return found

    def angles(self) -> Floats:
        """Angles of the reading's pairs, (n, m)."""
        m = len(self.lines.resting)
        full = np.zeros(m)
        full[~self.lines.resting] = self.spectrum.frequencies if self.used is None else self.used
        if self.lines.resting.any() and underflowed(self):
            w = self.spectrum.frequencies
            full[len(w) :] = w[-1] * (w[-1] / w[-2]) ** np.arange(1, m - len(w) + 1)
        found: Floats = np.outer(self.positions(), full)
        return found

    def misfit(self) -> float:
        """Return the largest difference of a value over what its arithmetic may be off by.

        Values whose angle may be off by half a radian say nothing; infinite where too few do.
        """
        angles, size = self.angles(), float(self.magnitude)
        level = self.level if self.used is None else "float32"
        allowed = SPREAD * ROUNDINGS[level] * (1 + np.abs(angles)) + 1e-15 * (1 + np.abs(angles))
        telling = allowed < 0.5
        if telling.mean() < LEAST_TELLING:
            return math.inf
        first, second = np.cos(angles), np.sin(angles)
        if self.lines.swapped:
            first, second = second, first
        gap = np.maximum(np.abs(first - self.reading.first / size), np.abs(second - self.reading.second / size))
        return float((gap / (allowed + self.resolution * 1.01))[telling].max(initial=0.0))


def underflowed(wave: Wave) -> bool:
    """Whether the next pairs of the rule would seem to stand still too: rounding hides so slow a turn."""
    w = wave.spectrum.frequencies
    if len(w) < 2 or ("scaling" in wave.spectrum.keys and wave.level != "float16"):
        return False
    following = w[-1] * (w[-1] / w[-2])
    positions = wave.positions()
    span, last = float(np.ptp(positions)), float(np.abs(positions).max())
    if wave.level in NARROW and not rounded(np.array(following * abs(float(wave.step))), "float16"):
        return True
    return bool(following * span < 4 * wave.resolution * min(1.0, following * last) or following * last < 2.0**-24)
