"""Double-double arithmetic: numbers held as the unevaluated sum of two float64.

Only + - x / and comparisons of float64, each of which IEEE 754 defines to the bit, so results
are the same on every machine: no fused multiply-add, no function of a mathematical library.
The algorithms are Dekker's (1971) and Knuth's; bounds are from Joldes, Muller and Popescu,
"Tight and rigorous error bounds for basic building blocks of double-word arithmetic" (2017).
With u = 2^-53 the sum errs by at most 3u^2 and the product by 7u^2 relative to the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Exact = Decimal | Fraction | int
SPLITTER = 134217729.0  # 2^27 + 1


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Give the rounded sum and its error, exactly (Knuth); any order of size."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def quick_two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Do the same where |a| >= |b| or a = 0 (Dekker)."""
    total = a + b
    return total, b - (total - a)


def split(a: Floats) -> tuple[Floats, Floats]:
    """Split into two halves of at most 26 bits each (Veltkamp); |a| must stay below 2^996."""
    c = a * SPLITTER
    high = c - (c - a)
    return high, a - high


def two_prod(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Give the rounded product and its error, exactly, where nothing underflows (Dekker)."""
    product = a * b
    a1, a2 = split(a)
    b1, b2 = split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


class Doubled:
    """An array of numbers hi + lo with hi = RN(hi + lo): about 106 bits.

    Parameters
    ----------
    hi, lo : ndarray of float64
        Of equal shape.
    """

    __slots__ = ("hi", "lo")

    def __init__(self, hi: Floats, lo: Floats) -> None:
        self.hi, self.lo = hi, lo

    def __add__(self, other: Doubled) -> Doubled:
        return add(self, other)

    def __sub__(self, other: Doubled) -> Doubled:
        return add(self, -other)

    def __mul__(self, other: Doubled) -> Doubled:
        return multiply(self, other)

    def __truediv__(self, other: Doubled) -> Doubled:
        return divide(self, other)

    def __neg__(self) -> Doubled:
        return Doubled(-self.hi, -self.lo)

    def __getitem__(self, places: Any) -> Doubled:
        """Return the numbers at these places."""
        return Doubled(self.hi[places], self.lo[places])

    @property
    def T(self) -> Doubled:  # noqa: N802 - as NumPy calls it
        """The numbers transposed."""
        return Doubled(self.hi.T, self.lo.T)

    def scaled(self, power: Floats | float) -> Doubled:
        """Multiply by a power of two, exactly."""
        return Doubled(self.hi * power, self.lo * power)

    def across(self, columns: int) -> Doubled:
        """Return (n, columns) of these, of which one column may stand for all."""
        shape = (len(self.hi), columns)
        return Doubled(np.broadcast_to(self.hi, shape), np.broadcast_to(self.lo, shape))


def add(a: Doubled, b: Doubled) -> Doubled:
    """Add, within 3u^2 of the sum (AccurateDWPlusDW)."""
    s, t = two_sum(a.hi, b.hi)
    v, w = two_sum(a.lo, b.lo)
    s, t = quick_two_sum(s, t + v)
    return Doubled(*quick_two_sum(s, t + w))


def concatenate(parts: Sequence[Doubled]) -> Doubled:
    """Join numbers along their first axis."""
    return Doubled(np.concatenate([part.hi for part in parts]), np.concatenate([part.lo for part in parts]))


def multiply(a: Doubled, b: Doubled) -> Doubled:
    """Multiply, within 7u^2 of the product (DWTimesDW1)."""
    product, error = two_prod(a.hi, b.hi)
    return Doubled(*quick_two_sum(product, error + (a.hi * b.lo + a.lo * b.hi)))


def divide(a: Doubled, b: Doubled) -> Doubled:
    """Divide, within 15u^2 of the quotient: a first quotient and one step of Newton."""
    first = a.hi / b.hi
    product, error = two_prod(first, b.hi)
    rest = (a.hi - product) - error + (a.lo - first * b.lo)
    return Doubled(*quick_two_sum(first, rest / b.hi))


def from_decimal(value: Exact | Iterable[Exact]) -> Doubled:
    """Round exact numbers to doubled ones; one number gives arrays without axes."""
    if isinstance(value, Decimal | Fraction | int):
        hi, lo = _halves(value)
        return Doubled(np.asarray(hi), np.asarray(lo))
    pairs = np.array([_halves(v) for v in value], dtype=np.float64).reshape(-1, 2)
    return Doubled(pairs[:, 0].copy(), pairs[:, 1].copy())


_WIDE = Context(prec=1200, Emin=-999999, Emax=999999)
"""Enough digits to write any float64 exactly, so differences lose nothing that matters."""


def _halves(value: Exact) -> tuple[float, float]:
    # Converting a Decimal by its text and an integer ratio by division are both correctly rounded.
    if isinstance(value, Decimal):
        hi = float(value)
        return hi, float(_WIDE.subtract(value, Decimal(hi)))
    exact = Fraction(value)
    hi = exact.numerator / exact.denominator
    rest = exact - Fraction(hi)
    return hi, rest.numerator / rest.denominator
