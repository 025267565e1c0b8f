"""Which arithmetic made a table of cosines and sines, once its recipe is known.

The roundings of a calculation leave traces: frequencies, positions, angles and
values each rounded to some type.  Combinations are tried on rows spread over
the table, and the one that gives most values to the bit is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.measures.computing import AFTER, BOUNDED, CLOSE, ENOUGH, Arithmetic, spacing
from pecli.measures.samples import RESOLUTION, Floats, rounded
from pecli.records import dataclass

ROWS = 192
FEW = 24  # of them that tell which arithmetics are worth a look at all
APART = 0.15  # share of these by which one may be worse than the best
NEIGHBOURS = {"float32": 14, "float16": 8, "bfloat16": 4}
"""Units by which a frequency may be off: exp instead of a power gives up to 9 in float32, an odd base some more."""
UNITS = NEIGHBOURS["float32"] * 2.0**-24  # by so much, relative
TWICE = {"bfloat16": ("cut", "float16", "float32"), "float16": ("float32",)}  # how values come to a type in two steps
SEEN = 1 / 16  # of half a unit of a value: what an angle moves by then shows in some of the values
SPREAD = 12.0  # roundings of an angle in float32
ROUNDED = {"bfloat16": 2.0**-24, "float16": 2.0**-24, "float32": 2.0**-50, "float64": 2.0**-50}
"""What a calculation before the last rounding adds: narrow values come from float32 ones."""


@dataclass(frozen=True)
class Shown:
    """Cosines and sines of some rows, and a unit in the last place of each, (n, m); positions (n,)."""

    positions: Floats
    cos: Floats
    sin: Floats
    units: tuple[Floats, Floats]

    @classmethod
    def of(cls, positions: Floats, cos: Floats, sin: Floats, grain: str) -> Shown:
        """Return rows of a grain."""
        return cls(positions, cos, sin, (spacing(cos, grain), spacing(sin, grain)))

    def some(self, most: int) -> Shown:
        """Return so many of the rows, spread over them."""
        rows = np.unique(np.linspace(0, len(self.positions) - 1, most).astype(np.int64))
        units = self.units[0][rows], self.units[1][rows]
        return Shown(self.positions[rows], self.cos[rows], self.sin[rows], units)


def find_arithmetic(
    positions: Floats, frequencies: Floats, magnitude: float, cos: Floats, sin: Floats, grain: str, part: str = ""
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
    part : str
        "cos" or "sin" where both are the same values, of one of them alone.
    """
    rows = spread_rows(len(positions))
    shown = Shown.of(positions[rows], cos[rows], sin[rows], grain)
    few, ways = shown.some(FEW), list(_ways(frequencies, magnitude, grain, part))
    glance = [scored(way, few) for way in ways] if len(rows) > 2 * FEW else ways
    best = max(_share(way) for way in glance)
    tried: list[Arithmetic] = []
    for number, way in enumerate(glance):
        if number < 2 or _share(way) >= best - APART:
            tried.append(scored(way, shown))
            if tried[-1].equal == 1.0:
                return tried[-1]
    units_show = grain != "float64" and float(np.abs(positions).max()) * UNITS > SEEN * RESOLUTION[grain]
    if units_show and tried[0].bounded >= ENOUGH:  # early rows of narrower values hide a unit of a frequency
        tried.append(nearest(tried[1], shown))
    elif grain == "float32":  # frequencies that a library's powers gave, and narrower positions or angles
        tried.extend([nearest(way, shown) for way in tried if way.frequencies == "float32" and way.bounded >= BOUNDED])
    exact = tried[0]
    found = max(tried, key=lambda found: (round(found.equal, 3), found.close))
    if exact.bounded >= BOUNDED:  # what exact phases explain needs no narrower ones, unless to the bit
        return found if found.equal >= ENOUGH or (found.close >= CLOSE and found.equal >= exact.equal) else exact
    return found if found.fits else max(tried, key=lambda found: (found.fits, found.bounded, found.equal))


def _share(way: Arithmetic) -> float:
    """Return how much of some rows an arithmetic explains: to the bit, or within what float32 leaves."""
    return max(way.equal, way.bounded)


def _ways(frequencies: Floats, magnitude: float, grain: str, part: str) -> Iterator[Arithmetic]:
    """Yield the ways to compute: exact, in float32, with narrower steps, with values that were narrowed otherwise."""
    single = rounded(frequencies, "float32")
    exact = Arithmetic("float64", "float64", "float64", frequencies, frequencies, magnitude, grain, part=part)
    float32 = replace(exact, frequencies="float32", positions="float32", angles="float32", used=single)
    yield exact
    yield float32
    for low in ("bfloat16", "float16"):
        for f, p, a in product((low, "float32"), repeat=3):
            if low in (f, p, a):
                yield replace(float32, frequencies=f, positions=p, angles=a, used=rounded(single, f))
    if grain in NEIGHBOURS and grain != "float32" and magnitude != 1:
        yield replace(exact, way=AFTER)
        yield replace(float32, way=AFTER)
    for way in TWICE.get(grain, ()):
        yield replace(exact, way=way)
        if way != "float32":
            yield replace(float32, way=way)


def spread_rows(n: int) -> NDArray[np.int64]:
    """Return rows to look at: the first ones and ones spread over the rest."""
    if n <= ROWS:
        return np.arange(n)
    return np.unique(np.concatenate([np.arange(32), np.linspace(32, n - 1, ROWS - 32).astype(np.int64)]))


def scored(way: Arithmetic, shown: Shown) -> Arithmetic:
    """Return an arithmetic with the shares of some rows that it gives."""
    angles = way.angles_at(shown.positions)
    made = way.parts(angles)
    equal, close = _shares(way, made, shown)
    bounded = 0.0
    if way.name in ("float64", "float16", "bfloat16") and not way.way:
        bounded = _bounded(way, angles, made, shown)
    return replace(way, equal=float(equal.mean()), close=float(close.mean()), bounded=bounded)


def _shares(way: Arithmetic, made: tuple[Floats, Floats], shown: Shown) -> tuple[Floats, Floats]:
    """Return which values are equal, and equal or next to it, each (rows, m), cosine and sine averaged."""
    equal, close = np.zeros(shown.cos.shape), np.zeros(shown.cos.shape)
    for values, real, unit in zip((shown.cos, shown.sin), made, shown.units, strict=True):
        gap = np.abs(way.valued(real) - values)
        equal += gap == 0
        close += gap <= 1.01 * unit
    return equal / 2, close / 2


def nearest(way: Arithmetic, shown: Shown) -> Arithmetic:
    """Return an arithmetic with each frequency the number of its type near the exact one that does best."""
    best_equal, best_close = np.full(len(way.used), -1.0), np.zeros(len(way.used))
    best, unit = way.used, spacing(way.used, way.frequencies)
    for k in sorted(range(-NEIGHBOURS[way.frequencies], NEIGHBOURS[way.frequencies] + 1), key=abs):
        used = way.used + k * unit
        angles = replace(way, used=used).angles_at(shown.positions)
        equal, close = (share.mean(axis=0) for share in _shares(way, way.parts(angles), shown))
        better = equal + close > best_equal + best_close + 1e-9
        best_equal, best_close = np.where(better, equal, best_equal), np.where(better, close, best_close)
        best = np.where(better, used, best)
        if (best_equal == 1.0).all():
            break
    return replace(way, used=best, equal=float(best_equal.mean()), close=float(best_close.mean()))


def _bounded(way: Arithmetic, angles: Floats, made: tuple[Floats, Floats], shown: Shown) -> float:
    """Return the share of values that differ by no more than float32 angles and the last rounding may make."""
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = way.magnitude * SPREAD * 2.0**-24 * (1 + np.abs(angles))
        good = 0.0
        for values, real, unit in zip((shown.cos, shown.sin), made, shown.units, strict=True):
            gap = np.abs(real * way.magnitude - values)
            good += float((gap <= allowed + 0.51 * unit).mean())
    return good / 2
