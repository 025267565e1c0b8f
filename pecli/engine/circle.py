"""Sine and cosine of fixed-point phases, in float64 and doubled, by table and short polynomials.

Only + - x on float64, integers and tables.  A phase is split into the nearest 1/256 turn, whose
sine and cosine stand in a table, and a rest below 1/512 turn, kept as a size and a sign so that
it stays relatively exact however close it is to zero.  With theta = 2 pi rest, |theta| < 0.01228
= 2^-6.34, the power series are short.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.exact import FIRST, circle_table
from pecli.engine.turns import LIMB, pi_bits
from pecli.numbers.doubled import Doubled, add, from_decimal, multiply, quick_two_sum

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

SINGLE_ERROR = 2.0**-50.5
"""Bound on the error of `single_point`, relative to each sine and cosine.

With u = 2^-53.  The size of the rest is a sum of limbs, each added to a smaller partial sum:
less than 2u of it in all, then the product with 2 pi (its own rounding and u): theta errs by 4u.
The polynomials err by less than 2u (their last omitted terms are 2^-63 and below), so the
correction to the table's entry errs by at most 6u of its size, 0.0124.  Where the entry is 0, the
value is theta times 1.  Elsewhere |entry| >= sin(2 pi/256) = 0.0245, twice the correction, so the
value is no smaller than the correction, the entry's rounding is at most 2u of it, the sum's u.
"""

TAILED_ERROR = 2.0**-56.5
"""Bound on the error of `single_point` with its tails, absolute: the correction's, 6u of 0.0124.

The table's entries and the sum are then exact to 2^-106.
"""

DOUBLED_ERROR = 2.0**-94
"""The same for `doubled_point`.

Each doubled operation errs by at most 7u^2 = 2^-103.1 of its result (pecli.numbers.doubled), the
constants by 2^-106, the omitted terms by theta^14/15! < 2^-128.  The coefficients from theta^6 on
are single: they enter with weight 2^-25 and below and err by 2^-78 of the sum, together 2^-100.  The
cancellation against the table's entry at most doubles a relative error, as above; a dozen
operations give less than 2^-97.
"""


class CircleTable(NamedTuple):
    """Sines of 0..319/256 turns; the cosine stands 64 further on."""

    hi: Floats
    lo: Floats


@lru_cache(maxsize=1)
def table() -> CircleTable:
    """Make the table of sines, doubled."""
    sines = [s for _, s in circle_table(FIRST)]
    hi = [s / (1 << FIRST) for s in sines]
    # none but zero is below 2^-6, so all are whole multiples of 2^-80
    lo = [(s - (int(h * 2.0**80) << (FIRST - 80))) / (1 << FIRST) for s, h in zip(sines, hi, strict=True)]
    return CircleTable(np.array(hi + hi[:64]), np.array(lo + lo[:64]))


@lru_cache(maxsize=1)
def two_pi() -> Doubled:
    """Give 2 pi, doubled."""
    return from_decimal(Fraction(pi_bits(256) << 1, 1 << 256))


class Rest(NamedTuple):
    """What `reduce` leaves: the table's index, the rest's limbs (lowest first) and its sign."""

    places: NDArray[np.int64]
    limbs: list[Words]
    sign: Floats


def reduce(phase: list[Words]) -> Rest:
    """Split phases into the nearest 1/256 turn and the rest; the limbs are overwritten.

    A negative rest is complemented limb by limb, which leaves it one unit of the last place too
    small: as the phase itself, it is known to a few of those.
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
    return Rest(index, phase, (2 * negative + 1).astype(np.float64))


def _in_turns(limb: Words, place: int, places: int) -> Floats:
    """Give a limb's worth, exactly."""
    worth: Floats = np.multiply(limb.view(np.int64), 2.0 ** (-LIMB * (places - place)))
    return worth


class Point(NamedTuple):
    """Cosine and sine in float64, and what their roundings left, where asked for."""

    cosine: Floats
    sine: Floats
    cosine_tail: Floats | None = None
    sine_tail: Floats | None = None


def single_point(rest: Rest, tails: bool = False) -> Point:
    """Cosine and sine, each within `SINGLE_ERROR` of itself, or with tails within `TAILED_ERROR`."""
    places = len(rest.limbs)
    angle = _in_turns(rest.limbs[0], 0, places)
    for place in range(1, places):
        angle += _in_turns(rest.limbs[place], place, places)
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


def doubled_point(rest: Rest) -> tuple[Doubled, Doubled]:
    """Cosine and sine, doubled, each within `DOUBLED_ERROR` of itself and the phase's own error."""
    places = len(rest.limbs)
    hi = _in_turns(rest.limbs[0], 0, places)
    lo = np.zeros_like(hi)
    for place in range(1, places):
        # a limb is zero or at least the sum of those below it
        hi, error = quick_two_sum(_in_turns(rest.limbs[place], place, places), hi)
        lo += error
    hi, lo = quick_two_sum(hi, lo)
    angle = multiply(Doubled(hi * rest.sign, lo * rest.sign), two_pi())
    square = multiply(angle, angle)
    s = add(angle, multiply(angle, multiply(square, _even_series(square, _SINE))))
    v = multiply(square, _even_series(square, _COSINE))
    t = table()
    a = Doubled(t.hi[rest.places], t.lo[rest.places])
    b = Doubled(t.hi[64:][rest.places], t.lo[64:][rest.places])
    cosine = add(b, add(multiply(b, v), -multiply(a, s)))
    sine = add(a, add(multiply(b, s), multiply(a, v)))
    return cosine, sine


def _coefficients(first: int) -> tuple[list[Doubled], list[float]]:
    """List the coefficients of theta^2 and theta^4, doubled, and of theta^6 .. theta^12, single."""
    values, factorial = [], Fraction(1)
    for n in range(1, 7):
        factorial *= (2 * n + first - 1) * (2 * n + first - 2 if 2 * n + first > 2 else 1)
        values.append(Fraction((-1) ** n) / factorial)
    return [from_decimal(v) for v in values[:2]], [float(v) for v in values[2:]]


_SINE = _coefficients(2)
_COSINE = _coefficients(1)


def _even_series(square: Doubled, coefficients: tuple[list[Doubled], list[float]]) -> Doubled:
    """c1 + x c2 + x^2 c3 ..., of x = theta^2."""
    (first, second), tail = coefficients
    inner = np.full_like(square.hi, tail[-1])
    for c in tail[-2::-1]:
        inner *= square.hi
        inner += c
    inner *= square.hi
    inner += second.lo
    hi, lo = quick_two_sum(np.broadcast_to(second.hi, inner.shape), inner)
    return add(_spread(first, inner.shape), multiply(square, Doubled(hi, lo)))


def _spread(number: Doubled, shape: tuple[Any, ...]) -> Doubled:
    return Doubled(np.broadcast_to(number.hi, shape), np.broadcast_to(number.lo, shape))
