"""One value at a time, in integers of any size: the last word where a candidate cannot decide.

The real number is enclosed in an interval of integers over a power of two; both ends are rounded;
if they agree that is the correctly rounded value, otherwise the precision doubles.

Why this ends.  It fails to end only where the real value lies exactly on a boundary.
 - Turns: the phase is a rational fraction q of a turn.  By Niven's theorem the sine or cosine of
   2 pi q is rational only if it is 0, +-1/2 or +-1, and then 12 q is an integer: these are
   answered exactly, ties to even, before anything is enclosed.  Every other value is irrational
   algebraic, its product with the rational magnitude too, and a boundary is rational.
 - Radians: a decimal angle other than zero is a nonzero algebraic number, so its sine and cosine
   are transcendental (Lindemann and Weierstrass); angle zero is answered exactly.
 - Angles: p w is rational in radians and rounded exactly; in turns it is a rational multiple of
   pi, zero or transcendental.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pecli.engine.turns import inverse_turn, pi_bits
from pecli.numbers.types import FloatGrid

TABLE_BITS = 8
NONE = 9
HALVES = [0, 1, NONE, 2, NONE, 1, 0, -1, NONE, -2, NONE, -1]
"""Twice the sine of so many twelfths of a turn where it is rational."""

FIRST = 160
"""Bits after the point at the first attempt."""

ERROR_UNITS = 64
"""What `circle_point` may be off by, in its last place: 16 truncations, and room to spare."""


def round_ratio(numerator: int, denominator: int, grid: FloatGrid) -> float:
    """Round the exact quotient to the grid, half to even; zero is positive, overflow infinite."""
    if not numerator:
        return 0.0
    sign = -1.0 if numerator < 0 else 1.0
    n = abs(numerator)
    exponent = n.bit_length() - denominator.bit_length()  # floor(log2), or one more
    if (n << max(-exponent, 0)) < (denominator << max(exponent, 0)):
        exponent -= 1
    unit = max(exponent, grid.lowest) - (grid.precision - 1)
    whole, rest = divmod(n << max(-unit, 0), denominator << max(unit, 0))
    twice = 2 * rest - (denominator << max(unit, 0))
    if twice > 0 or (twice == 0 and whole & 1):
        whole += 1
    if whole.bit_length() + unit > grid.highest + 1:
        return sign * math.inf
    return sign * math.ldexp(whole, unit)


def circle_point(phase: int, bits: int) -> tuple[int, int]:
    """Compute cosine and sine of ``phase`` 2^-bits turns, times 2^bits, within `ERROR_UNITS`."""
    shift = bits - TABLE_BITS
    near = (phase + (1 << (shift - 1))) >> shift
    angle = ((phase - (near << shift)) * _two_pi(bits)) >> bits
    square = (angle * angle) >> bits
    sine, cosine = _series(angle, square, bits)
    c, s = circle_table(bits)[near & 255]
    return (c * cosine - s * sine) >> bits, (s * cosine + c * sine) >> bits


@lru_cache(maxsize=32)
def _two_pi(bits: int) -> int:
    return pi_bits(bits) << 1


def _series(angle: int, square: int, bits: int) -> tuple[int, int]:
    """Sum the Taylor series of sine and cosine; the terms fall by 2^12 a step."""
    sine, term, n = angle, angle, 2
    cosine, even = 1 << bits, 1 << bits
    while term or even:
        even = -((even * square) >> bits) // (n * (n - 1))
        cosine += even
        term = -((term * square) >> bits) // (n * (n + 1))
        sine += term
        n += 2
        if -1 <= term <= 0 and -1 <= even <= 0:  # floor division would linger at -1
            break
    return sine, cosine


@lru_cache(maxsize=32)
def circle_table(bits: int) -> list[tuple[int, int]]:
    """List cosine and sine of 0, 1/256 .. 255/256 turns, times 2^bits, within one unit.

    An eighth of the circle by repeated rotation with 32 spare bits, the rest by symmetry.
    """
    wide = bits + 32
    one = 1 << wide
    step = pi_bits(wide) >> (TABLE_BITS - 1)
    sine, cosine = _series(step, (step * step) >> wide, wide)
    c, s = one, 0
    eighth = []
    for _ in range(33):
        eighth.append((c, s))
        c, s = (c * cosine - s * sine) >> wide, (s * cosine + c * sine) >> wide
    quarter = eighth[:32] + [(s, c) for c, s in reversed(eighth)]
    quarter[0], quarter[64] = (one, 0), (0, one)
    points = quarter[:64]
    for _ in range(3):
        points += [(-s, c) for c, s in points[-64:]]
    return [(c >> 32, s >> 32) for c, s in points]


class Exact:
    """Exact values of one set of frequencies.

    Parameters
    ----------
    frequencies : sequence of Decimal or Fraction
        Per multiple of 1, in radians or turns.
    turns : bool
        Which of the two.
    unit : Fraction
        Position of multiple 1.
    magnitude : Decimal
        Factor of sine and cosine.
    """

    def __init__(
        self, frequencies: list[Decimal | Fraction], turns: bool, unit: Fraction, magnitude: Decimal | Fraction
    ) -> None:
        self.frequencies, self.turns, self.unit = frequencies, turns, unit
        self.factor = Fraction(magnitude)
        self._ratios: dict[int, Fraction] = {}

    def ratio(self, column: int) -> Fraction:
        """Give the frequency per multiple: exact radians, or exact turns."""
        if column not in self._ratios:
            self._ratios[column] = Fraction(self.frequencies[column]) * self.unit
        return self._ratios[column]

    def value(
        self, multiple: int, column: int, part: str, grid: FloatGrid, phase: Callable[[int, int], tuple[int, int]]
    ) -> float:
        """Round the sine, cosine or angle correctly.

        ``phase(multiple, column)`` gives the phase in 2^-FIRST turns and its error in those.
        """
        if part == "angle":
            return self._angle(multiple, column, grid)
        bits = FIRST
        fraction, error = phase(multiple, column)
        while True:
            c, s = circle_point(fraction, bits)
            found = self._enclosed(s if part == "sin" else c, ERROR_UNITS + 7 * error, bits, grid)
            if found is not None:
                return found
            if bits == FIRST and (known := self._rational(multiple, column, part)) is not None:
                return self.multiple(known, grid)
            bits *= 2
            fraction, error = self._phase(multiple, column, bits), 2

    def enclosed_point(
        self, multiple: int, column: int, bits: int
    ) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Enclose cosine and sine, magnitude included, in intervals of some 2^-bits; exact where they are rational."""
        known = [self._rational(multiple, column, part) for part in ("cos", "sin")]
        point = circle_point(self._phase(multiple, column, bits), bits)
        error = ERROR_UNITS + 14  # a phase is known to two units, a radian to one seventh of a turn
        ends = []
        for exact, middle in zip(known, point, strict=True):
            low, high = (exact, exact) if exact is not None else (middle - error, middle + error)
            one = 1 if exact is not None else 1 << bits
            ends.append(tuple(sorted((low * self.factor / one, high * self.factor / one))))
        (c, s) = ends
        return (c[0], c[1]), (s[0], s[1])

    def _enclosed(self, middle: int, error: int, bits: int, grid: FloatGrid) -> float | None:
        low, high = middle - error, middle + error
        if low <= 0 <= high:
            return None
        n, d = self.factor.numerator, self.factor.denominator << bits
        one, other = round_ratio(low * n, d, grid), round_ratio(high * n, d, grid)
        return one if one == other else None

    def _rational(self, multiple: int, column: int, part: str) -> Fraction | None:
        """Give the sine or cosine where it is 0, +-1/2 or +-1."""
        ratio = self.ratio(column)
        if not self.turns:
            return (Fraction(part == "cos")) if multiple * ratio == 0 else None
        twelfths = 12 * multiple * ratio
        half = HALVES[(twelfths.numerator + (3 if part == "cos" else 0)) % 12] if twelfths.denominator == 1 else NONE
        return None if half == NONE else Fraction(half, 2)

    def halves(self, multiples: NDArray[np.int64], columns: NDArray[np.int64], part: str) -> NDArray[np.int64]:
        """Give twice the sines or cosines that are 0, +-1/2 or +-1, and NONE for others; all of it in turns.

        Only for frequencies whose denominator is small; NONE says nothing about the others.
        """
        ratios = [self.ratio(j) for j in range(len(self.frequencies))]
        small = [r.denominator < 2**29 for r in ratios]
        denominator = np.array([r.denominator if fits else 1 for r, fits in zip(ratios, small, strict=True)])[columns]
        numerator = np.array(
            [r.numerator % r.denominator if fits else 0 for r, fits in zip(ratios, small, strict=True)]
        )
        turned = (multiples % denominator) * numerator[columns] % denominator * 12
        place = (turned // denominator + (3 if part == "cos" else 0)) % 12
        known = (turned % denominator == 0) & np.array(small)[columns]
        return np.where(known, np.array(HALVES)[place], NONE)

    def multiple(self, value: Fraction, grid: FloatGrid) -> float:
        """Round a rational cosine or sine times the magnitude."""
        product = value * self.factor
        return round_ratio(product.numerator, product.denominator, grid)

    def _phase(self, multiple: int, column: int, bits: int) -> int:
        """Compute the phase in 2^-bits turns, within two, from the exact frequency."""
        ratio = multiple * self.ratio(column)
        if self.turns:
            return ((ratio.numerator << bits) // ratio.denominator) % (1 << bits)
        spare = max(0, abs(ratio.numerator).bit_length() - ratio.denominator.bit_length()) + 8
        turn = inverse_turn(bits + spare)
        return ((ratio.numerator * turn // ratio.denominator) >> spare) % (1 << bits)

    def _angle(self, multiple: int, column: int, grid: FloatGrid) -> float:
        ratio = multiple * self.ratio(column)
        if not self.turns or not ratio:
            return round_ratio(ratio.numerator, ratio.denominator, grid)
        bits = FIRST
        while True:
            n, d = 2 * ratio.numerator, ratio.denominator << bits
            one = round_ratio(n * pi_bits(bits), d, grid)
            other = round_ratio(n * (pi_bits(bits) + 1), d, grid)
            if one == other:
                return one
            bits *= 2
