"""The shape of a table's frequencies: which rule gives them, with which numbers.

Frequencies were measured with an error; a rule is looked for whose values lie
within it, with parameters as short as possible.  A geometric series is a line
in the logarithm.  A scaled one is a line at its fast end, the same line lowered
by the factor at its slow end, and a ramp between: linear in the index (YaRN's
code) or in the frequency (YaRN's paper, Llama 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import SHIFTED
from pecli.declare.words import USUAL_BASES
from pecli.numbers.shortest import digits, price, shortest
from pecli.numbers.text import number_text

Floats = NDArray[np.float64]

LEVELS = {"exact": 0.0, "float64": 2.0**-45, "float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7.4}
"""What each arithmetic does to a frequency, relative; float32 powers and exponentials err by up to nine units."""

COMMON_BASES = tuple(map(Decimal, USUAL_BASES))
USUAL_BASE = Decimal(10000)
LEAST_BASE, LARGEST_BASE = Decimal("1e-6"), Decimal("1e30")
LARGEST_LOG = 600.0  # of a base: beyond it nothing is a double
SHIFTS = (0.0, 1.0)  # what the exponent's denominator is short of half the width by: the paper's, tensor2tensor's
MISFIT = 2.0  # errors by which pairs may lie off the line that is nearest to all: another one may be within them
UNCHOSEN = Decimal("1e-5")  # difference of a step from 1 that roundings leave and nobody chooses
SELDOM = Decimal("0.01")  # difference that is more often that of narrow frequencies
SHORT = 4  # digits of a number that somebody chose
SAFETY = 4.0  # standard errors within which a measured frequency is believed


@dataclass(frozen=True)
class Spectrum:
    """A rule for frequencies.

    Attributes
    ----------
    keys : dict of str
        Parameters of the encoding that give it.
    step : Fraction
        Distance of neighbouring rows in positions.
    frequencies : (m,) float64
        Radians per position.
    cost : float
        Digits that had to be chosen: fewer are more likely meant.
    factor : float or None
        Of a scaling, for its magnitude.
    listed : bool
        Whether numbers stand for the pairs one by one, as any frequencies could have them.
    """

    keys: dict[str, str]
    step: Fraction
    frequencies: Floats
    cost: float
    factor: float | None = None
    listed: bool = False


@dataclass(frozen=True)
class Measured:
    """Frequencies in radians a row, and what they may be off by, relative.

    Parameters
    ----------
    steps, errors : (m,) float64
        Above 0.
    half : float
        What the exponent i is divided by: half the width, fractional for an odd one.
    """

    steps: Floats
    errors: Floats
    half: float
    logs: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "logs", np.log(self.steps))

    def at(self, level: str) -> Measured:
        """Return the same with the error of an arithmetic."""
        errors = SAFETY * self.errors / self.steps + LEVELS[level] + 4e-15
        if level == "float16":  # its smallest numbers have few digits
            errors = errors + 2.0**-24 / self.steps
        return Measured(self.steps, errors, self.half)

    def fits(self, frequencies: Floats, step: float, times: float = 1.0) -> bool:
        """Whether a rule's values lie within so many times the errors (which are relative here)."""
        if (frequencies <= 0).any() or step <= 0:
            return False
        return bool((np.abs(self.logs - np.log(frequencies) - math.log(step)) <= times * self.errors).all())


@dataclass(frozen=True)
class Line:
    """ln theta_i = top - slope i over some pairs, and how far both may be off."""

    top: float
    slope: float
    top_error: float
    slope_error: float
    misfit: float


def fit_line(logs: Floats, errors: Floats, first: int, stop: int) -> Line:
    """Fit pairs `first` to `stop` by least squares; the misfit is in errors."""
    i = np.arange(first, stop, dtype=np.float64)
    y, e = logs[first:stop], errors[first:stop]
    if len(i) < 2:
        return Line(float(y[0]), 0.0, float(e[0]), math.inf, 0.0)
    weights = (e.min() / e) ** 2
    total = weights.sum()
    middle = (weights @ i) / total
    spread = weights @ (i - middle) ** 2
    slope = -(weights @ ((i - middle) * y)) / spread
    top = (weights @ y) / total + slope * middle
    # Two ends that are off by their whole error in opposite directions turn the line by this much;
    # independent errors by less.
    unit = e.min() / math.sqrt(spread)
    unit_top = e.min() * math.sqrt(1 / total + middle**2 / spread)
    misfit = float((np.abs(y - top + slope * i) / e).max())
    return Line(float(top), float(slope), unit_top, unit, misfit)


def series(measured: Measured) -> Iterator[Spectrum]:
    """Yield geometric series, down to the base's power short of 1/base or to 1/base itself."""
    yield from geometric(measured, shifts=SHIFTS)


def geometric(measured: Measured, *, shifts: tuple[float, ...] = (0.0,)) -> Iterator[Spectrum]:
    """Yield geometric series: base and step; `shifts` are those of the exponent's denominator."""
    m = len(measured.steps)
    if m == 1:
        for step, cost in steps_near(float(measured.logs[0]), float(measured.errors[0])):
            yield Spectrum({}, step, np.ones(1), cost)
        return
    line = fit_line(measured.logs, measured.errors, 0, m)
    if line.misfit > MISFIT or line.slope < -line.slope_error:
        return
    for shift in shifts:
        half = measured.half - shift
        if half <= 0:
            continue
        yield from _based(measured, line, half, shift_keys(shift))


def shift_keys(shift: float) -> dict[str, str]:
    """Return the parameter of a shift; none for the paper's."""
    return {"shift": f"{shift:g}"} if shift else {}


def _based(measured: Measured, line: Line, half: float, keys: dict[str, str]) -> Iterator[Spectrum]:
    i = np.arange(len(measured.steps), dtype=np.float64)
    weights = measured.errors.min() ** 2 / measured.errors**2
    found: dict[tuple[Decimal, Fraction], float] = {}
    for width, base in _bases(line, half):
        # with the base settled the step is the mean of what is left, and only that
        rest = measured.logs + i / half * math.log(float(base))
        top = float(weights @ rest / weights.sum())
        for step, cost in steps_near(top, float(measured.errors.min()) * width):
            found.setdefault((base, step), cost)
    steps = {step: cost for (_, step), cost in found.items()}
    if not steps or abs(measured.logs[0]) <= measured.errors[0]:
        steps[Fraction(1)] = 0.0
    for step, cost in steps.items():
        common = _allowed(measured, half, i, step)
        if common is not None:
            found.setdefault((common, step), cost)
    for (base, step), step_cost in found.items():
        frequencies = np.exp(-i / half * math.log(float(base)))
        if measured.fits(frequencies, float(step)):
            own = {**keys, **({} if base == USUAL_BASE else {"base": number_text(base)})}
            cost = (0 if base == USUAL_BASE else price(base)) + step_cost + (SHIFTED if keys else 0)
            yield Spectrum(own, step, frequencies, cost)


def _bases(line: Line, half: float) -> Iterator[tuple[float, Decimal]]:
    """Yield short bases near the line, and how many errors wide they were looked for."""
    if line.slope * half > LARGEST_LOG:
        return
    middle = math.exp(line.slope * half)
    for width in (1.0, 3.0, 0.3):
        spread = min(width * line.slope_error * half, 0.7)
        base = shortest(middle * math.exp(-spread), middle * math.exp(spread))
        if LEAST_BASE <= base <= LARGEST_BASE:
            yield width, base


def _allowed(measured: Measured, half: float, i: Floats, step: Fraction) -> Decimal | None:
    """Return the shortest base that all pairs allow, where rows are so far apart."""
    logs, errors = measured.logs[1:] - math.log(step), np.minimum(measured.errors[1:], 1.0)
    low, high = float(np.max(-(logs + errors) * half / i[1:])), float(np.min(-(logs - errors) * half / i[1:]))
    base = shortest(math.exp(low), math.exp(high)) if low <= high < LARGEST_LOG else Decimal(0)
    return base if LEAST_BASE <= base <= LARGEST_BASE else None


def steps_near(log: float, error: float) -> list[tuple[Fraction, float]]:
    """Return what a distance of rows may be, with its cost: a short decimal, or one over a short decimal."""
    value = math.exp(log)
    spread = max(error, 1e-15)  # the whole of the value, and nothing is known
    if not 0 < spread < 1:
        return []
    plain = shortest(value * (1 - spread), value * (1 + spread))
    if abs(plain - 1) < UNCHOSEN:
        return [(Fraction(1), 0.0)]
    inverse = shortest((1 - spread) / value, (1 + spread) / value)
    found = [(Fraction(plain), float(digits(plain)))]
    if digits(inverse) < digits(plain):
        found.insert(0, (1 / Fraction(inverse), digits(inverse) + 0.5))
    return [(Fraction(1), 0.0), *found] if abs(plain - 1) < SELDOM else found


STEPS = (1, 2, 3, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000, 1024, 2000, 4096, 10000)
FIRST = 16  # pairs that are looked at before the others


def gone_around(measured: Floats, errors: Floats, half: float) -> Iterator[Spectrum]:
    """Yield usual series whose steps, whole turns left out, are the measured ones: all pairs may have gone around.

    Parameters
    ----------
    measured, errors : (m,) float64
        Steps modulo a turn, and what they may be off by, in radians a row.
    """
    i = np.arange(len(measured))
    for shift in SHIFTS:
        if half - shift <= 0:
            continue
        for base in COMMON_BASES:
            frequencies = np.exp(-i / (half - shift) * math.log(float(base)))
            steps = np.array(STEPS)
            for some in (slice(0, FIRST), slice(FIRST, None)):  # few of them leave most steps out
                rest = np.outer(steps, frequencies[some]) - measured[some]
                rest -= 2 * np.pi * np.round(rest / (2 * np.pi))
                allowed = errors[some] * (1 + np.outer(steps, frequencies[some]))
                steps = steps[(np.abs(rest) <= allowed).all(axis=1)]
            for step in steps:
                keys = {} if base == 10000 else {"base": number_text(base)}
                yield Spectrum(keys | shift_keys(shift), Fraction(int(step)), frequencies, digits(base) + 2.0)
