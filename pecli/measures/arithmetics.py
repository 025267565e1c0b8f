"""Which arithmetic made a table of cosines and sines, once its recipe is known.

The roundings of a calculation leave traces: frequencies, positions, angles and
values each rounded to some type.  Combinations are tried on rows spread over
the table, and the one that gives most values to the bit is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.measures.samples import Floats, rounded
from pecli.records import dataclass

ROWS = 192
NEIGHBOURS = {"float32": 14, "float16": 8, "bfloat16": 4}
"""Units by which a frequency may be off: exp instead of a power gives up to 9 in float32, an odd base some more."""
ENOUGH = 0.9  # share of values that must be equal to the bit
BOUNDED = 0.999  # share that must lie within what float32 leaves, where the steps after are not known
SPREAD = 12.0  # roundings of an angle in float32
CLOSE = 0.995  # share that must be equal or next to it, where the mathematical library's own cosine shows
ROUNDED = {"bfloat16": 2.0**-24, "float16": 2.0**-24, "float32": 2.0**-50, "float64": 2.0**-50}
"""What a calculation before the last rounding adds: narrow values come from float32 ones."""
ORDER = ("bfloat16", "float16", "float32", "float64")


@dataclass(frozen=True)
class Arithmetic:
    """Types to which the steps of a calculation were rounded, and how many values that reproduces.

    Attributes
    ----------
    frequencies, positions, angles : str
        "float64" stands for exact.
    way : str
        How values came to their type: "" for rounded, "cut", or the type that they were rounded to before.
    equal, close : float
        Share of the values reproduced to the bit, and within one unit in the last place.
    bounded : float
        Share within the error that float32 angles may add.
    exact : (m,) float64
        The frequencies it started from.
    used : (m,) float64
        The frequencies as rounded.
    magnitude : float
    grain : str
        Type of the values.
    """

    frequencies: str
    positions: str
    angles: str
    exact: Floats = field(compare=False, repr=False)
    used: Floats = field(compare=False, repr=False)
    magnitude: float
    grain: str
    way: str = ""
    equal: float = 0.0
    close: float = 0.0
    bounded: float = 0.0

    @property
    def name(self) -> str:
        """The coarsest of the types, which is what matters."""
        return min((self.frequencies, self.positions, self.angles), key=ORDER.index)

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
        said = [] if self.name == "float64" else [f"{' and '.join(coarse)} rounded to {self.name}"]
        if self.way:
            how = "cut, not rounded, to" if self.way == "cut" else f"rounded to {self.way}, then to"
            said.append(f"values {how} {self.grain}")
        return "; ".join(said) or "computed in float64"

    def compute(self, positions: Floats) -> tuple[Floats, Floats]:
        """Return cosines and sines, (n, m), with these roundings."""
        with np.errstate(invalid="ignore", over="ignore"):  # a position may exceed what a narrow type holds
            angles = rounded(np.outer(rounded(positions, self.positions), self.used), self.angles)
            return self._sized(np.cos(angles)), self._sized(np.sin(angles))

    def _sized(self, made: Floats) -> Floats:
        """Return values times the magnitude, as frameworks multiply: both in float32, or in a narrower type."""
        if self.way == "cut":
            return _cut(made * self.magnitude)
        if self.way:
            return rounded(rounded(made * self.magnitude, self.way), self.grain)
        if self.magnitude == 1 or self.grain == "float64":
            return rounded(made * self.magnitude, self.grain)
        factor = rounded(np.array(self.magnitude), "float32")
        return rounded(rounded(rounded(made, "float32"), self.grain) * factor, self.grain)


def _cut(values: Floats) -> Floats:
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


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
    at, cosines, sines = positions[rows], cos[rows], sin[rows]
    tried: list[Arithmetic] = []
    for way in _ways(frequencies, magnitude, grain):
        tried.append(_scored(way, at, cosines, sines))
        if tried[-1].equal == 1.0:
            return tried[-1]
    if grain == "float32":  # narrower values hide a unit of a frequency
        tried.append(nearest(tried[1], at, cosines, sines))
    exact = tried[0]
    best = max(tried, key=lambda found: (round(found.equal, 3), found.close))
    if exact.bounded >= BOUNDED:  # what exact phases explain needs no narrower ones, unless to the bit
        return best if best.equal >= ENOUGH or (best.close >= CLOSE and best.equal >= exact.equal) else exact
    return best if best.fits else max(tried, key=lambda found: (found.fits, found.bounded, found.equal))


def _ways(frequencies: Floats, magnitude: float, grain: str) -> Iterator[Arithmetic]:
    """Yield the ways to compute: exact, in float32, with narrower steps, with values that were narrowed otherwise."""
    single = rounded(frequencies, "float32")
    exact = Arithmetic("float64", "float64", "float64", frequencies, frequencies, magnitude, grain)
    float32 = replace(exact, frequencies="float32", positions="float32", angles="float32", used=single)
    yield exact
    yield float32
    for low in ("bfloat16", "float16"):
        for f, p, a in product((low, "float32"), repeat=3):
            if low in (f, p, a):
                yield replace(float32, frequencies=f, positions=p, angles=a, used=rounded(single, f))
    if grain == "bfloat16":
        for way in ("cut", "float16", "float32"):
            yield replace(exact, way=way)
            yield replace(float32, way=way)


def spread_rows(n: int) -> NDArray[np.int64]:
    """Return rows to look at: the first ones and ones spread over the rest."""
    if n <= ROWS:
        return np.arange(n)
    return np.unique(np.concatenate([np.arange(32), np.linspace(32, n - 1, ROWS - 32).astype(np.int64)]))


def _scored(way: Arithmetic, positions: Floats, cos: Floats, sin: Floats) -> Arithmetic:
    equal, close = _shares(way, positions, cos, sin)
    bounded = 0.0
    if way.name in ("float64", "float16", "bfloat16") and not way.way:
        bounded = _bounded(way, positions, cos, sin)
    return replace(way, equal=float(equal.mean()), close=float(close.mean()), bounded=bounded)


def _shares(way: Arithmetic, positions: Floats, cos: Floats, sin: Floats) -> tuple[Floats, Floats]:
    """Return which values are equal, and equal or next to it, each (rows, m), cosine and sine averaged."""
    equal, close = np.zeros(cos.shape), np.zeros(cos.shape)
    for values, made in zip((cos, sin), way.compute(positions), strict=True):
        gap = np.abs(made - values)
        equal += gap == 0
        close += gap <= 1.01 * spacing(values, way.grain)
    return equal / 2, close / 2


def nearest(way: Arithmetic, positions: Floats, cos: Floats, sin: Floats) -> Arithmetic:
    """Return an arithmetic with each frequency the number of its type near the exact one that does best."""
    best_equal, best_close = np.full(len(way.used), -1.0), np.zeros(len(way.used))
    best, unit = way.used, spacing(way.used, way.frequencies)
    for k in sorted(range(-NEIGHBOURS[way.frequencies], NEIGHBOURS[way.frequencies] + 1), key=abs):
        used = way.used + k * unit
        equal, close = (share.mean(axis=0) for share in _shares(replace(way, used=used), positions, cos, sin))
        better = equal + close > best_equal + best_close + 1e-9
        best_equal, best_close = np.where(better, equal, best_equal), np.where(better, close, best_close)
        best = np.where(better, used, best)
        if (best_equal == 1.0).all():
            break
    return replace(way, used=best, equal=float(best_equal.mean()), close=float(best_close.mean()))


def _bounded(way: Arithmetic, positions: Floats, cos: Floats, sin: Floats) -> float:
    """Return the share of values that differ by no more than float32 angles and the last rounding may make."""
    with np.errstate(invalid="ignore", over="ignore"):
        angles = rounded(np.outer(rounded(positions, way.positions), way.used), way.angles)
        allowed = way.magnitude * SPREAD * 2.0**-24 * (1 + np.abs(angles))
        good = 0.0
        for values, function in ((cos, np.cos), (sin, np.sin)):
            gap = np.abs(function(angles) * way.magnitude - values)
            good += float((gap <= allowed + 0.51 * spacing(values, way.grain)).mean())
    return good / 2


def spacing(values: Floats, kind: str) -> Floats:
    """Return one unit in the last place of values of a type."""
    bits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}[kind]
    smallest = 2.0**-14 if kind == "float16" else 1e-30  # of full precision
    with np.errstate(invalid="ignore"):
        found: Floats = np.ldexp(1.0, np.frexp(np.maximum(np.abs(values), smallest))[1] - 1 - bits)
    return found
