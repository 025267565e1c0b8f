"""Angles as exact fractions of a turn, and their sines and cosines: in float64, double-double and exactly.

A turn is the natural unit: taking a phase modulo one turn is dropping the integer part, which integer multiplication
does for nothing. Everything here is integers and exact decimals.

`Exact` computes one value at a time, in integers of any size, where a candidate cannot decide. The real number is
enclosed in an interval of integers over a power of two; both ends are rounded; if they agree that is the correctly
rounded value, otherwise the precision doubles.

Why this ends.  It fails to end only where the real value lies exactly on a boundary.
 - Turns: the phase is a rational fraction q of a turn.  By Niven's theorem the sine or cosine of
   2 pi q is rational only if it is 0, +-1/2 or +-1, and then 12 q is an integer: these are
   answered exactly, ties to even, before anything is enclosed.  Every other value is irrational
   algebraic, its product with the rational magnitude too, and a boundary is rational.
 - Radians: a decimal angle other than zero is a nonzero algebraic number, so its sine and cosine
   are transcendental (Lindemann and Weierstrass); angle zero is answered exactly.
 - Angles: p w is rational in radians and rounded exactly; in turns it is a rational multiple of
   pi, zero or transcendental.

`single_point` and `doubled_point` compute sine and cosine of fixed-point phases by table and short polynomials, with
only + - x on float64, integers and tables. A phase is split into the nearest 1/256 turn, whose sine and cosine stand
in a table, and a rest below 1/512 turn, kept as a size and a sign so that it stays relatively exact however close it
is to zero. With theta = 2 pi rest, |theta| < 0.01228 = 2^-6.34, the power series are short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers.double_double import DoubleDouble, add, from_decimal, multiply, quick_two_sum
from pecli.numbers.dtypes import FloatGrid

LIMB = 32
Limbs = NDArray[np.uint64]


def _arctan_inverse(x: int, one: int) -> int:
    total = term = one // x
    n, sign = 1, 1
    while term:
        term //= x * x
        n, sign = n + 2, -sign
        total += sign * (term // n)
    return total


@lru_cache(maxsize=64)
def pi_bits(bits: int) -> int:
    """Pi times 2^bits, rounded down: Machin's formula with 64 spare bits."""
    one = 1 << (bits + 64)
    return (16 * _arctan_inverse(5, one) - 4 * _arctan_inverse(239, one)) >> 64


def inverse_turn(bits: int) -> int:
    """2^bits / (2 pi), within one unit."""
    return (1 << (2 * bits + 16)) // (pi_bits(bits + 16) << 1)


def _size(number: Decimal | Fraction) -> Decimal | Fraction:
    # abs() of a Decimal rounds to the caller's context
    return number.copy_abs() if isinstance(number, Decimal) else abs(number)


def fraction_bits(frequencies: Sequence[Decimal | Fraction], unit: Fraction) -> int:
    """Return the bits after the point that keep 100 significant ones of the slowest frequency; at least 256.

    The spare ones (a phase is below 1, so its error of |multiple| 2^-bits is at most the share
    2^-bits / frequency of it) serve the relative accuracy of the smallest sines.
    """
    smallest = min((_size(f) for f in frequencies if f), default=None)
    if smallest is None:
        return 256
    exponent = float(unit.numerator.bit_length() - unit.denominator.bit_length() - 6)
    if isinstance(smallest, Decimal):
        exponent += smallest.adjusted() * 3.3219281
    else:
        exponent += smallest.numerator.bit_length() - smallest.denominator.bit_length()
    return max(256, -(-int(120 - exponent) // LIMB) * LIMB)


def fixed_turns(frequencies: Sequence[Decimal | Fraction], turns: bool, unit: Fraction, bits: int) -> list[int]:
    """Return the absolute frequencies in units of 2^-bits turns per multiple, within one unit."""
    if turns:
        fractions = [abs(Fraction(f) * unit) for f in frequencies]
        return [(f.numerator << bits) // f.denominator for f in fractions]
    # radians * unit / 2 pi * 2^bits, in decimal: one multiplication and one conversion each
    context = Context(prec=bits * 31 // 100 + 40, Emin=-999999, Emax=999999)
    wide = bits + 64
    factor = context.divide(inverse_turn(wide) * unit.numerator, unit.denominator << (wide - bits))
    sizes = map(_size, frequencies)
    decimals = (s if isinstance(s, Decimal) else context.divide(s.numerator, s.denominator) for s in sizes)
    return [int(context.multiply(size, factor)) for size in decimals]


def limbs_of(fixed: Sequence[int], bits: int) -> Limbs:
    """Limbs of 32 bits, lowest first: shape (bits / 32, count); whole turns dropped."""
    mask = (1 << bits) - 1
    raw = b"".join((f & mask).to_bytes(bits // 8, "little") for f in fixed)
    rows = np.frombuffer(raw, dtype="<u4").reshape(len(fixed), bits // LIMB)
    return np.ascontiguousarray(rows.T.astype(np.uint64))


def check_frequencies(frequencies: Sequence[Decimal | Fraction], magnitude: Decimal) -> None:
    """Raise BadParameter for a frequency or a magnitude that is not finite."""
    for f in (*frequencies, magnitude):
        if isinstance(f, Decimal) and not f.is_finite():
            name = "magnitude" if f is magnitude else "frequency"
            raise BadParameter(name, f, "is not a finite number")


LOW32 = np.uint64(0xFFFFFFFF)
SHIFT32 = np.uint64(LIMB)


def phases(size: NDArray[np.uint64], limbs: Limbs | list[NDArray[np.uint64]]) -> list[NDArray[np.uint64]]:
    """``size`` times the fixed-point frequencies, modulo one turn, in limbs of 32 bits, lowest first.

    Parameters
    ----------
    size : ndarray of uint64
        Multiples without their sign, below 2^63; broadcasts against the frequencies.
    limbs : sequence of ndarray of uint64
        The frequencies.

    Notes
    -----
    Schoolbook multiplication: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1, so a product of two limbs,
    the limb it is added to and the carry never overflow.
    """
    low, high = size & LOW32, size >> SHIFT32
    result: list[NDArray[np.uint64]] = []
    carry: NDArray[np.uint64] | None = None
    for limb in limbs:
        total = limb * low
        if carry is not None:
            total += carry
        carry = total >> SHIFT32
        total &= LOW32
        result.append(total)
    if high.any():
        carry = None
        for i in range(1, len(result)):
            total = limbs[i - 1] * high
            total += result[i]
            if carry is not None:
                total += carry
            carry = total >> SHIFT32
            result[i] = total & LOW32
    return result


TABLE_BITS = 8
NONE = 9
# Twice the sine of each multiple of 1/12 turn; NONE for irrational sines.
HALVES = [0, 1, NONE, 2, NONE, 1, 0, -1, NONE, -2, NONE, -1]

# Bits after the point at the first attempt.
FIRST = 160

# Error bound of `circle_point` in units of its last place: 16 truncations, and room to spare.
ERROR_UNITS = 64


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
    """Compute cosine and sine of ``phase`` 2^-bits turns as multiples of 2^-bits, within `ERROR_UNITS`."""
    shift = bits - TABLE_BITS
    near = (phase + (1 << (shift - 1))) >> shift
    angle = ((phase - (near << shift)) * (pi_bits(bits) << 1)) >> bits
    square = (angle * angle) >> bits
    sine, cosine = _series(angle, square, bits)
    c, s = circle_table(bits)[near & 255]
    return (c * cosine - s * sine) >> bits, (s * cosine + c * sine) >> bits


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
        """Return the frequency per multiple: exact radians, or exact turns."""
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

    def _enclosed(self, middle: int, error: int, bits: int, grid: FloatGrid) -> float | None:
        low, high = middle - error, middle + error
        if low <= 0 <= high:
            return None
        n, d = self.factor.numerator, self.factor.denominator << bits
        one, other = round_ratio(low * n, d, grid), round_ratio(high * n, d, grid)
        return one if one == other else None

    def _rational(self, multiple: int, column: int, part: str) -> Fraction | None:
        """Return the sine or cosine where it is 0, +-1/2 or +-1; None elsewhere."""
        ratio = self.ratio(column)
        if not self.turns:
            return (Fraction(part == "cos")) if multiple * ratio == 0 else None
        twelfths = 12 * multiple * ratio
        half = HALVES[(twelfths.numerator + (3 if part == "cos" else 0)) % 12] if twelfths.denominator == 1 else NONE
        return None if half == NONE else Fraction(half, 2)

    def halves(self, multiples: NDArray[np.int64], columns: NDArray[np.int64], part: str) -> NDArray[np.int64]:
        """Return twice the sines or cosines that are 0, +-1/2 or +-1, and NONE for others; frequencies are in turns.

        Only for frequencies whose denominator is small; NONE says nothing about the others.
        """
        ratios = [self.ratio(j) for j in range(len(self.frequencies))]
        small = np.array([r.denominator < 2**29 for r in ratios])[columns]
        parts = [(r.numerator % r.denominator, r.denominator) if r.denominator < 2**29 else (0, 1) for r in ratios]
        numerator, denominator = np.array(parts)[columns].T
        twelfths = (multiples % denominator) * numerator % denominator * 12
        place = (twelfths // denominator + (3 if part == "cos" else 0)) % 12
        known = (twelfths % denominator == 0) & small
        return np.where(known, np.array(HALVES)[place], NONE)

    def multiple(self, value: Fraction, grid: FloatGrid) -> float:
        """Round a rational cosine or sine times the magnitude."""
        product = value * self.factor
        return round_ratio(product.numerator, product.denominator, grid)

    def _phase(self, multiple: int, column: int, bits: int) -> int:
        """Compute the phase in units of 2^-bits turns, within two units, from the exact frequency."""
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


Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

# Bound on the error of `single_point`, relative to each sine and cosine.
#
# With u = 2^-53.  The size of the rest is a sum of limbs, each added to a smaller partial sum:
# less than 2u of it in all, then the product with 2 pi (its own rounding and u): theta errs by 4u.
# The polynomials err by less than 2u (their last omitted terms are 2^-63 and below), so the
# correction to the table's entry errs by at most 6u of its size, 0.0124.  Where the entry is 0, the
# value is theta times 1.  Elsewhere |entry| >= sin(2 pi/256) = 0.0245, twice the correction, so the
# value is no smaller than the correction, the entry's rounding is at most 2u of it, the sum's u.
SINGLE_ERROR = 2.0**-50.5

# Bound on the error of `single_point` with its tails, absolute: the correction's, 6u of 0.0124.
#
# The table's entries and the sum are then exact to 2^-106.
TAILED_ERROR = 2.0**-56.5

# The same for `doubled_point`.
#
# Each doubled operation errs by at most 7u^2 = 2^-103.1 of its result (pecli.numbers.double_double), the
# constants by 2^-106, the omitted terms by theta^14/15! < 2^-128.  The coefficients from theta^6 on
# are single: they enter with weight 2^-25 and below and err by 2^-78 of the sum, together 2^-100.  The
# cancellation against the table's entry at most doubles a relative error, as above; a dozen
# operations give less than 2^-97.
DOUBLED_ERROR = 2.0**-94


@lru_cache(maxsize=1)
def table() -> DoubleDouble:
    """Return the sines of 0..319/256 turns; each cosine is 64 entries after its sine."""
    sines = [s for _, s in circle_table(FIRST)]
    hi = [s / (1 << FIRST) for s in sines]
    # none but zero is below 2^-6, so all are whole multiples of 2^-80
    lo = [(s - (int(h * 2.0**80) << (FIRST - 80))) / (1 << FIRST) for s, h in zip(sines, hi, strict=True)]
    return DoubleDouble(np.array(hi + hi[:64]), np.array(lo + lo[:64]))


@lru_cache(maxsize=1)
def two_pi() -> DoubleDouble:
    """Return 2 pi in double-double."""
    return from_decimal(Fraction(pi_bits(256) << 1, 1 << 256))


class Remainder(NamedTuple):
    """Result of `reduce`: the table's index, the remainder's limbs (lowest first) and its sign."""

    places: NDArray[np.int64]
    limbs: list[Words]
    sign: Floats


def reduce(phase: list[Words]) -> Remainder:
    """Split phases into the nearest multiple of 1/256 turn and the remainder; the limbs are overwritten.

    A negative remainder is complemented limb by limb, which leaves it one unit of the last place too
    small: like the phase itself, it is known to a few units.
    """
    top = phase[-1].view(np.int64)
    index = (top + (1 << 23)) >> 24
    top -= index << 24
    negative = top >> 63  # all ones where the rest is negative
    top ^= negative
    mask = (negative & 0xFFFFFFFF).view(np.uint64)
    for limb in phase[:-1]:
        limb ^= mask
    index &= 255
    return Remainder(index, phase, (2 * negative + 1).astype(np.float64))


def _limb_turns(limb: Words, place: int, places: int) -> Floats:
    """Return the exact value of a limb in turns."""
    return np.asarray(np.multiply(limb.view(np.int64), 2.0 ** (-LIMB * (places - place))))


class Point(NamedTuple):
    """Cosine and sine in float64, and the tails that their roundings left, where requested."""

    cosine: Floats
    sine: Floats
    cosine_tail: Floats | None = None
    sine_tail: Floats | None = None


def single_point(rest: Remainder, tails: bool = False) -> Point:
    """Cosine and sine, each within `SINGLE_ERROR` of itself, or with tails within `TAILED_ERROR`."""
    places = len(rest.limbs)
    angle = _limb_turns(rest.limbs[0], 0, places)
    for place in range(1, places):
        angle += _limb_turns(rest.limbs[place], place, places)
    angle *= rest.sign
    angle *= float(two_pi().hi)
    square = angle * angle
    s = square * (-1 / 5040)
    s += 1 / 120
    s *= square
    s += -1 / 6
    s *= square
    s *= angle
    s += angle  # sine of the rest
    v = square * (-1 / 720)
    v += 1 / 24
    v *= square
    v += -0.5
    v *= square  # its cosine less 1
    t = table()
    a, b = t.hi[rest.places], t.hi[64:][rest.places]
    of_cosine = b * v
    of_cosine -= a * s
    v *= a
    s *= b
    s += v
    if not tails:
        return Point(b + of_cosine, a + s)
    cosine, lost = quick_two_sum(b, of_cosine)
    sine, missed = quick_two_sum(a, s)
    lost += t.lo[64:][rest.places]
    missed += t.lo[rest.places]
    return Point(cosine, sine, lost, missed)


def doubled_point(rest: Remainder) -> tuple[DoubleDouble, DoubleDouble]:
    """Cosine and sine, doubled, each within `DOUBLED_ERROR` of itself and the phase's own error."""
    places = len(rest.limbs)
    hi = _limb_turns(rest.limbs[0], 0, places)
    lo = np.zeros_like(hi)
    for place in range(1, places):
        # a limb is zero or at least the sum of those below it
        hi, error = quick_two_sum(_limb_turns(rest.limbs[place], place, places), hi)
        lo += error
    hi, lo = quick_two_sum(hi, lo)
    angle = multiply(DoubleDouble(hi * rest.sign, lo * rest.sign), two_pi())
    square = multiply(angle, angle)
    s = add(angle, multiply(angle, multiply(square, _even_series(square, _SINE))))
    v = multiply(square, _even_series(square, _COSINE))
    a, b = table()[rest.places], table()[64:][rest.places]
    cosine = add(b, add(multiply(b, v), -multiply(a, s)))
    sine = add(a, add(multiply(b, s), multiply(a, v)))
    return cosine, sine


def _coefficients(first: int) -> tuple[list[DoubleDouble], list[float]]:
    """List the coefficients of theta^2 and theta^4, doubled, and of theta^6 .. theta^12, single."""
    values, factorial = [], Fraction(1)
    for n in range(1, 7):
        factorial *= (2 * n + first - 1) * (2 * n + first - 2 if 2 * n + first > 2 else 1)
        values.append(Fraction((-1) ** n) / factorial)
    return [from_decimal(v) for v in values[:2]], [float(v) for v in values[2:]]


_SINE = _coefficients(2)
_COSINE = _coefficients(1)


def _even_series(square: DoubleDouble, coefficients: tuple[list[DoubleDouble], list[float]]) -> DoubleDouble:
    """c1 + x c2 + x^2 c3 ..., of x = theta^2."""
    (first, second), tail = coefficients
    inner = np.full_like(square.hi, tail[-1])
    for c in tail[-2::-1]:
        inner *= square.hi
        inner += c
    inner *= square.hi
    inner += second.lo
    return add(first, multiply(square, DoubleDouble(*quick_two_sum(second.hi, inner))))
