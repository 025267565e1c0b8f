"""Arithmetic of a table of waves: the types in which frequencies, positions, angles and values were computed.

The named table is computed exactly and as float64, float32, bfloat16 and float16 code computes it; values are compared
with the nearest of these in units in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.judge.planes import Floats, Integers, rounded, unit

MAX_LIBRARY_ULP = 1.01
"""Units in the last place that a library's own sine may be off by; the 0.01 covers this comparison's own rounding."""
MAX_MAGNIFIED_ULP = 2.5
"""Units in the last place allowed where rounded values were multiplied by a magnitude."""
MAX_SLACK_GAP = 0.02
"""Median gap from which the slack of float32 frequencies is not looked at: the arithmetic, or the name, is another."""
MIN_CLOSE = 0.98
"""Share of sampled values within `MAX_LIBRARY_ULP` for an arithmetic to be named; 0.9 passes frequencies 1 ulp off."""
FREQUENCY_UNITS = 2
"""Float32 units in the last place by which a library's frequencies differ from the simulated ones; with more, a base
that is wrong in its eighth digit passes."""
FIRST_ROWS = 8
PLAUSIBLE_GAP = 0.1
"""Median gap in the first rows from which a name is no candidate: bfloat16 angles of them are off by 0.03."""
MIN_GLANCE = 0.3
"""Share of values within `MAX_LIBRARY_ULP` in the first rows below which a name is not looked at further."""
MAX_DOUBLE = 1e-6
"""Largest error that double precision may leave; more, at positions beyond 1e8, would explain any value."""
LIBRARY_SINE = 1.0
"""Units in the last place by which float32 sines of libraries may be off besides; NumPy's are by up to 1.5."""
MAX_SERIES = 0.12
"""Largest angle error in radians for which a series gives cosine and sine from the exact ones; float32 phases of
position 1048576 are off by 0.06, and the terms left out are below 2e-12."""
MIN_EQUAL = 0.9
"""Share of equal values, all others within `MAX_LIBRARY_ULP`, from which a way needs no rival."""
GLANCE_ROWS = 40
"""Rows by which all ways are looked at first; the best ones are compared on more."""
MAX_WAYS = 6
"""Ways that are compared on all sampled rows; more cost time."""
LOW_TYPES = ("bfloat16", "float16")
FLOAT64_UNITS = 3.0
"""Roundings of a double-precision angle, and of the exponent of its frequency: logarithm, quotient, product."""


class Circle(NamedTuple):
    """Angles with their cosines and sines."""

    angles: Floats
    cos: Floats
    sin: Floats


def _circle(angles: Floats, near: Circle | None) -> tuple[Floats, Floats]:
    """Return cosines and sines; by series from angles so near that these are exact in every type."""
    if near is not None:
        apart = angles - near.angles
        square = apart * apart
        if square.max(initial=0.0) < MAX_SERIES**2:
            c = 1 - square * (1 / 2 - square * (1 / 24 - square / 720))
            s = apart * (1 - square * (1 / 6 - square * (1 / 120 - square / 5040)))
            return near.cos * c - near.sin * s, near.sin * c + near.cos * s
    return np.cos(angles), np.sin(angles)


@dataclass(frozen=True)
class Way:
    """Arithmetic by which cosines and sines are computed.

    Attributes
    ----------
    name : {"exact", "float64", "float32", "bfloat16", "float16"}
        The narrowest type in which a step was computed.
    frequencies : (m,) float64
        As rounded.
    positions, angles : str
        Types of positions and angles; "float64" for exact ones.
    method : str
        How float32 frequencies came about.
    running : bool
        Whether each angle is the one before times a constant, rounded each time.
    """

    name: str
    frequencies: Floats = field(repr=False)
    positions: str = "float64"
    angles: str = "float64"
    method: str = ""
    running: bool = False

    def angles_at(self, positions: Floats) -> Floats:
        """Return the angles of positions (n,) or, each pair with its own, (n, m)."""
        p = rounded(positions, self.positions)
        p = p[:, None] if p.ndim == 1 else p
        if not self.running:
            return rounded(p * self.frequencies, self.angles)
        w, k = self.frequencies, np.arange(len(self.frequencies))
        ratio = rounded(w[1:2] / w[0], "float32")
        slower = rounded(w / (w[1] / w[0]) ** k, "float32")  # a scaling is applied to each angle
        found = np.empty((len(p), len(w)))
        current = rounded(p[:, 0], "float32")
        for number in k:
            found[:, number] = current
            current = rounded(current * ratio, "float32")
        return rounded(found * slower, "float32")

    def valued(self, values: Floats, magnitude: Floats | float, dtype: str) -> Floats:
        """Return cosines or sines multiplied by the magnitude and rounded to the table's type."""
        if self.name in ("exact", "float64") or dtype == "float64":
            return rounded(values * magnitude, dtype)
        product = rounded(values, "float32") * rounded(np.asarray(magnitude, float), "float32")
        return rounded(rounded(product, "float32"), dtype)

    def compute(
        self, positions: Floats, magnitude: Floats | float, dtype: str, near: Circle | None = None
    ) -> tuple[Floats, Floats]:
        """Return cosines and sines (n, m) in a type, as float64; `near` are points of the circle close to them."""
        cos, sin = _circle(self.angles_at(positions), near)
        return self.valued(cos, magnitude, dtype), self.valued(sin, magnitude, dtype)

    def doubt(self, positions: Floats) -> Floats:
        """Return by how much angles change where float32 frequencies are some units larger or smaller."""
        angles, found = self.angles_at(positions), np.zeros(1)
        for sign in (-1, 1):
            moved = replace(self, frequencies=self.frequencies * (1 + sign * FREQUENCY_UNITS * 2.0**-23))
            found = np.maximum(found, np.abs(moved.angles_at(positions) - angles))
        return found

    def parts(
        self, positions: Floats, size: float, dtype: str, near: Circle | None = None, *, angles: bool = False
    ) -> dict[str, Floats]:
        """Return the cosines and sines of `compute` by name, or the angles alone."""
        if angles:
            return {"angles": rounded(self.angles_at(positions), dtype)}
        return dict(zip(("cos", "sin"), self.compute(positions, size, dtype, near), strict=True))

    def words(self) -> str:
        """Return the rounded steps of the computation, as text."""
        if self.name == "exact":
            return "exact values, rounded once"
        if self.name == "float64":
            return "float64 arithmetic"
        steps = {"frequencies": self.frequency_type, "positions": self.positions, "angles": self.angles}
        coarse = [step for step, kind in steps.items() if kind == self.name]
        return f"{self.name} {' and '.join(coarse)}" if self.name in LOW_TYPES else f"{self.name} phases"

    @property
    def frequency_type(self) -> str:
        """Type of the frequencies."""
        for kind in ("bfloat16", "float16", "float32"):
            if np.array_equal(rounded(self.frequencies, kind), self.frequencies):
                return kind
        return "float64"


@dataclass(frozen=True)
class Score:
    """Agreement of an arithmetic with sampled values: shares equal and within one ulp, and the largest departure."""

    way: Way
    equal: float
    close: float
    worst: float

    @property
    def fits(self) -> bool:
        """Whether the way explains the sample."""
        return self.close >= MIN_CLOSE

    @property
    def is_good(self) -> bool:
        """Whether no other way need be looked at."""
        return self.close == 1.0 and self.equal > MIN_EQUAL


@dataclass(frozen=True)
class Limits:
    """Allowed differences between the values of some rows and an arithmetic.

    `typical` is the gap that half of the values must be below for float32 frequencies to explain any.
    """

    way: Way
    positions: Floats
    dtype: str
    size: float
    typical: float = np.inf

    @cached_property
    def _doubt(self) -> Floats:
        return self.way.doubt(self.positions)

    def judge(
        self, have: Floats, made: Floats, odd: Integers, *, angles: bool = False
    ) -> tuple[Floats, NDArray[np.bool_], float]:
        """Return of the places that differ, counted in C order, by how much, which are explained, and the most units.

        The unit is one in the last place; what float32 frequencies leave open is not counted in units.
        """
        some, other, exact = have.ravel()[odd], made.ravel()[odd], self.way.name == "exact"
        gap, one = np.abs(some - other), unit(some, self.dtype)
        allowed = (MAX_LIBRARY_ULP if self.size == 1 else MAX_MAGNIFIED_ULP) * one
        in_double = self.way.name == "float64" or (self.dtype == "float64") != exact
        if in_double:
            rows, columns = np.divmod(odd, have.shape[1])
            w = np.abs(self.way.frequencies)
            steps = w * FLOAT64_UNITS * (1 + np.abs(np.log(np.maximum(w, 1e-300))))
            double = 2.0**-53 * (2 + np.abs(self.positions[rows]) * steps[columns]) * max(1.0, self.size)
            allowed = np.maximum(allowed, np.minimum(double, MAX_DOUBLE))
        inside = gap <= allowed
        worst = float((gap / one)[inside].max(initial=0.0))
        doubted = not in_double and not exact and not inside.all()
        if doubted and 2 * np.count_nonzero(~(gap < self.typical)) < have.size:
            slack = self._doubt.ravel()[odd]
            if not angles:  # times the sine of what a cosine is of, and the other way round
                least = np.minimum(np.abs(some), np.abs(other))
                slack *= np.sqrt(np.maximum(self.size**2 - least * least, 0)) + self.size * slack / 2
            inside |= gap <= allowed + LIBRARY_SINE * one + slack
        return gap, inside, worst


@dataclass(frozen=True)
class Shown:
    """Sampled "cos", "sin" or "angles" with their positions."""

    positions: Floats
    parts: Mapping[str, Floats]
    dtype: str
    size: float

    def few(self, most: int = 192) -> Shown:
        """Return a view of at most `most` rows, spread over all."""
        n = len(self.positions)
        if n <= most:
            return self
        first = min(32, most)
        rows = np.unique(np.concatenate([np.arange(first), np.linspace(first, n - 1, most - first).astype(np.int64)]))
        return replace(self, positions=self.positions[rows], parts={name: v[rows] for name, v in self.parts.items()})

    def pairs(self, way: Way) -> Iterator[tuple[Floats, Floats]]:
        """Yield the stored values of each component with the computed ones."""
        made = way.parts(self.positions, self.size, self.dtype, angles="angles" in self.parts)
        return ((values, made[name]) for name, values in self.parts.items())


def float32_series(base: float, exponents: Floats, factor: float = 1.0) -> Iterator[tuple[str, Floats]]:
    """Yield float32 frequencies of base^-e / factor by each way in which libraries compute them.

    Parameters
    ----------
    base : float
    exponents : (m,) float64
        e of each pair, ascending from 0.
    factor : float
        What divides the frequencies.
    """
    f32 = np.float32
    with np.errstate(all="ignore"):
        exact = np.exp(-exponents * np.log(base)) / factor
        yield "power in float64", exact.astype(f32).astype(np.float64)
        single = exponents.astype(f32)
        power = np.exp(single.astype(np.float64) * np.log(np.float64(f32(base)))).astype(f32)
        inverse = f32(1) / power
        yield "reciprocal of a float32 power", (inverse / f32(factor)).astype(np.float64)
        direct = np.exp(-single.astype(np.float64) * np.log(np.float64(f32(base)))).astype(f32)
        yield "float32 power", (direct / f32(factor)).astype(np.float64)
        if len(exponents) > 1:
            count = np.arange(len(exponents))
            for index, scale in (("2i", 2), ("i", 1)):
                slope = f32(-np.log(base) * exponents[1] / scale)
                argument = ((count * scale).astype(f32) * slope).astype(f32)
                logs = np.exp(argument.astype(np.float64)).astype(f32)
                yield f"exponential of {index} times a float32 logarithm", (logs / f32(factor)).astype(np.float64)
            half = 1 / exponents[1]
            quotient = ((f32(-np.log(base)) * count.astype(f32)).astype(f32) / f32(half)).astype(f32)
            logs = np.exp(quotient.astype(np.float64)).astype(f32)
            yield "exponential of a float32 quotient", (logs / f32(factor)).astype(np.float64)
            argument = (f32(np.log(base)) * -single).astype(f32)
            logs = np.exp(argument.astype(np.float64)).astype(f32)
            yield "exponential of a float32 product", (logs / f32(factor)).astype(np.float64)


def ways(exact: Floats, singles: Mapping[str, Floats], dtype: str, positions: Floats) -> Iterator[Way]:
    """Yield the ways to compute a table of a type: the best that doubles give, then float32, then narrower types.

    A float64 table that this process computes is no exact one: only a comparison of all values tells them apart.
    """
    yield Way("float64" if dtype == "float64" else "exact", exact)
    singles = {**singles, "rounded": rounded(exact, "float32")}
    for method, frequencies in singles.items():
        yield Way("float32", frequencies, "float32", "float32", method)
    first = next(iter(singles.values()))
    for method, frequencies in singles.items():
        yield Way("float32", frequencies, "float64", "float64", method)
    if len(exact) > 1 and (exact > 0).all():
        yield Way("float32", exact, "float32", "float32", "running product", running=True)
    for low in LOW_TYPES:
        coarse = not np.array_equal(rounded(positions, low), positions)
        yield from [Way(low, exact, low)] if coarse else ()
        yield Way(low, rounded(exact, low))
        for f, p, a in sorted(product((low, "float32"), repeat=3), key=lambda steps: steps.count(low)):
            if low in (f, a) or (p == low and coarse):
                yield Way(low, rounded(first, f), p, a, "rounded")


def _typical(gap: Floats) -> float:
    """Return the median of the gaps that are numbers; infinity of none."""
    known = gap[np.isfinite(gap)]
    return float(np.median(known)) if known.size else np.inf


def score(way: Way, shown: Shown) -> Score:
    """Return how well a way gives sampled values."""
    limits = Limits(way, shown.positions, shown.dtype, shown.size, MAX_SLACK_GAP)
    equal, close, count, worst = 0, 0, 0, 0.0
    with np.errstate(all="ignore"):
        for values, made in shown.pairs(way):
            odd = np.flatnonzero(values != made)
            _, inside, most = limits.judge(values, made, odd, angles="angles" in shown.parts)
            count, equal = count + values.size, equal + values.size - len(odd)
            close += values.size - int(np.count_nonzero(~inside))
            worst = max(worst, most)
    return Score(way, equal / max(1, count), close / max(1, count), worst)


def best_way(exact: Floats, singles: Mapping[str, Floats], shown: Shown) -> Score:
    """Return the way that gives most sampled values, exact before float64 before float32 before narrower ones."""
    some, plain = shown.few(), Way("exact", exact)
    gaps = [np.abs(values - made) for values, made in some.few(FIRST_ROWS).pairs(plain)]
    if "angles" not in some.parts and not min(map(_typical, gaps)) < PLAUSIBLE_GAP:
        return Score(plain, 0.0, 0.0, np.inf)
    looked, glance = list[Score](), some.few(GLANCE_ROWS)
    for way in ways(exact, singles, shown.dtype, shown.positions):
        looked.append(score(way, glance))
        if looked[-1].is_good and (full := score(way, some)).is_good:
            return full
    looked.sort(key=lambda one: (-round(one.close, 2), -round(one.equal, 2)))
    if looked[0].close < MIN_GLANCE:
        return looked[0]
    full_scores = [score(one.way, some) for one in looked[:MAX_WAYS]]
    return max(full_scores, key=lambda one: (round(one.close, 3), round(one.equal, 2)))
