"""Which arithmetic made a table of cosines and sines, once its recipe is known.

The roundings of a calculation leave traces: frequencies, positions, angles and
values each rounded to some type.  Combinations are tried on rows spread over
the table, and the one that gives most values to the bit is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.measures.samples import Floats, rounded

ROWS = 192
NEIGHBOURS = 14  # float32 units by which a framework's frequency may be off: exp instead of a power gives up to 9
ENOUGH = 0.9  # share of values that must be equal to the bit
BOUNDED = 0.999  # share that must lie within what float32 leaves, where the steps after are not known
SPREAD = 12.0  # roundings of an angle in float32
CLOSE = 0.995  # share that must be equal or next to it, where the mathematical library's own cosine shows


@dataclass(frozen=True)
class Arithmetic:
    """Types to which the steps of a calculation were rounded.

    Attributes
    ----------
    frequencies, positions, angles : str
        "float64" stands for exact.
    equal : float
        Share of the values reproduced to the bit.
    close : float
        Share reproduced within one unit in the last place.
    bounded : float
        Share within the error that float32 angles may add.
    """

    frequencies: str
    positions: str
    angles: str
    equal: float
    close: float
    bounded: float = 0.0

    @property
    def name(self) -> str:
        """The coarsest of the types, which is what matters."""
        order = ("bfloat16", "float16", "float32", "float64")
        return min((self.frequencies, self.positions, self.angles), key=order.index)

    @property
    def fits(self) -> bool:
        """Whether it explains the values."""
        if self.equal >= ENOUGH or (self.close >= CLOSE and self.equal >= 0.6):
            return True
        return self.bounded >= BOUNDED and self.name not in ("float64", "float32")

    def words(self) -> str:
        """Say which steps were rounded."""
        parts = {"frequencies": self.frequencies, "positions": self.positions, "angles": self.angles}
        coarse = [name for name, kind in parts.items() if kind == self.name]
        if self.name == "float64":
            return "computed in float64"
        return f"{' and '.join(coarse)} rounded to {self.name}"


def find_arithmetic(
    positions: Floats, frequencies: Floats, magnitude: float, cos: Floats, sin: Floats, grain: str
) -> Arithmetic:
    """Return the arithmetic that reproduces most values.

    Parameters
    ----------
    positions : (n,) float64
    frequencies : (m,) float64
        The exact ones.
    magnitude : float
    cos, sin : (n, m) float64
        The table's values.
    grain : str
        Type to which they are rounded.
    """
    rows = spread_rows(len(positions))
    case = _Case(positions[rows], frequencies, magnitude, cos[rows], sin[rows], grain)
    exact = case.score("float64", "float64", "float64")
    tried = [exact]
    tried.append(case.score_float32())
    for low in ("bfloat16", "float16"):
        for f, p, a in product((low, "float32"), repeat=3):
            if low in (f, p, a):
                tried.append(case.score(f, p, a))
    best = max(tried, key=lambda found: (round(found.equal, 3), found.close))
    if exact.bounded >= BOUNDED:  # what exact phases explain needs no narrower ones, unless to the bit
        return best if best.equal >= ENOUGH or (best.close >= CLOSE and best.equal >= exact.equal) else exact
    return best if best.fits else max(tried, key=lambda found: (found.fits, found.bounded, found.equal))


def spread_rows(n: int) -> NDArray[np.int64]:
    """Return rows to look at: the first ones and ones spread over the rest."""
    if n <= ROWS:
        return np.arange(n)
    return np.unique(np.concatenate([np.arange(32), np.linspace(32, n - 1, ROWS - 32).astype(np.int64)]))


@dataclass(frozen=True)
class _Case:
    positions: Floats
    frequencies: Floats
    magnitude: float
    cos: Floats
    sin: Floats
    grain: str

    def score(self, f: str, p: str, a: str) -> Arithmetic:
        """Compute with frequencies, positions and angles rounded to these types."""
        w = rounded(rounded(self.frequencies, "float32") if f != "float64" else self.frequencies, f)
        with np.errstate(invalid="ignore", over="ignore"):
            angles = rounded(np.outer(rounded(self.positions, p), w), a)
        equal, close = self._shares(angles)
        return Arithmetic(f, p, a, float(equal.mean()), float(close.mean()), self._bounded(angles))

    def score_float32(self) -> Arithmetic:
        """Compute in float32, each frequency the float32 number near the exact one that does best."""
        p = rounded(self.positions, "float32")
        w = rounded(self.frequencies, "float32")
        best_equal, best_close = np.full(len(w), -1.0), np.zeros(len(w))
        for k in sorted(range(-NEIGHBOURS, NEIGHBOURS + 1), key=abs):
            near = w.copy()
            for _ in range(abs(k)):
                near = np.nextafter(near.astype(np.float32), np.float32(np.inf if k > 0 else 0)).astype(np.float64)
            equal, close = (share.mean(axis=0) for share in self._shares(rounded(np.outer(p, near), "float32")))
            better = equal + close > best_equal + best_close + 1e-9
            best_equal, best_close = np.where(better, equal, best_equal), np.where(better, close, best_close)
            if (best_equal == 1.0).all():
                break
        return Arithmetic("float32", "float32", "float32", float(best_equal.mean()), float(best_close.mean()))

    def _shares(self, angles: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return which values are equal, and equal or next to it, each (rows, m), cosine and sine averaged."""
        equal, close = np.zeros(angles.shape), np.zeros(angles.shape)
        for values, function in ((self.cos, np.cos), (self.sin, np.sin)):
            with np.errstate(invalid="ignore"):  # a position may exceed what a narrow type holds
                made = function(angles)
            if self.magnitude != 1:
                made = self._sized(made)
            made = rounded(made, self.grain)
            gap = np.abs(made - values)
            equal += gap == 0
            close += gap <= 1.01 * spacing(values, self.grain)
        return equal / 2, close / 2

    def _bounded(self, angles: Floats) -> float:
        """Return the share of values that differ by no more than float32 angles and the last rounding may make."""
        allowed = self.magnitude * SPREAD * 2.0**-24 * (1 + np.abs(angles))
        good = 0.0
        for values, function in ((self.cos, np.cos), (self.sin, np.sin)):
            with np.errstate(invalid="ignore"):
                gap = np.abs(function(angles) * self.magnitude - values)
            good += float((gap <= allowed + 0.51 * spacing(values, self.grain)).mean())
        return good / 2

    def _sized(self, made: Floats) -> Floats:
        """Return values times the magnitude, as frameworks multiply: both in float32, or in a narrower type."""
        if self.grain == "float64":
            return made * self.magnitude
        kind = "float32" if self.grain == "float32" else self.grain
        return rounded(rounded(made, "float32"), kind) * rounded(np.array(self.magnitude), "float32")


def spacing(values: Floats, kind: str) -> Floats:
    """Return one unit in the last place of values of a type."""
    bits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}[kind]
    found: Floats = np.ldexp(1.0, np.frexp(np.maximum(np.abs(values), 1e-30))[1] - 1 - bits)
    return found
