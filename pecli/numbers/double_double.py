"""Double-double arithmetic (numbers held as the unevaluated sum of two float64), and logarithms and exponentials in it.

Only + - x / and comparisons of float64, each of which IEEE 754 defines to the bit, so results
are the same on every machine: no fused multiply-add, no function of a mathematical library.
The algorithms are Dekker's (1971) and Knuth's; bounds are from Joldes, Muller and Popescu,
"Tight and rigorous error bounds for basic building blocks of double-word arithmetic" (2017).
With u = 2^-53 the sum errs by at most 3u^2 and the product by 7u^2 relative to the result.

Logarithms and exponentials are the same bits on every machine.  NumPy's and libm's log, exp
and power change with the processor and the version.
These use + - x / of float64 and small tables made with the standard library's
``decimal``, so their results are a definition, and they are good to about 100
bits, so that rounding them to any storage type gives the nearest value.

`log`, `log1p` and `exp` err by less than 2^-96 of the result, as long as its second half is a
normal float64: below 1e-290 an exponential has fewer bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import FOR_DOUBLED
from pecli.numbers.rounding import Floats, Integers, narrow

Exact = Decimal | Fraction | int
SPLITTER = 134217729.0  # 2^27 + 1


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum and its error, exactly (Knuth); any order of size."""
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
    """Return the rounded product and its error, exactly, where nothing underflows (Dekker)."""
    product = a * b
    a1, a2 = split(a)
    b1, b2 = split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


class DoubleDouble:
    """An array of numbers hi + lo with hi = RN(hi + lo): about 106 bits.

    Parameters
    ----------
    hi, lo : ndarray of float64
        Of equal shape.
    """

    __slots__ = ("hi", "lo")

    def __init__(self, hi: Floats, lo: Floats) -> None:
        self.hi, self.lo = hi, lo

    def __add__(self, other: DoubleDouble) -> DoubleDouble:
        return add(self, other)

    def __sub__(self, other: DoubleDouble) -> DoubleDouble:
        return add(self, -other)

    def __mul__(self, other: DoubleDouble) -> DoubleDouble:
        return multiply(self, other)

    def __truediv__(self, other: DoubleDouble) -> DoubleDouble:
        return divide(self, other)

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.hi, -self.lo)

    def __getitem__(self, places: Any) -> DoubleDouble:
        """Return the numbers at these places."""
        return DoubleDouble(self.hi[places], self.lo[places])

    @property
    def T(self) -> DoubleDouble:  # noqa: N802 - as NumPy calls it
        """The numbers transposed."""
        return DoubleDouble(self.hi.T, self.lo.T)

    def scaled(self, power: Floats | float) -> DoubleDouble:
        """Multiply by a power of two, exactly."""
        return DoubleDouble(self.hi * power, self.lo * power)

    def spread(self, shape: tuple[int, ...]) -> DoubleDouble:
        """Return the numbers in a larger shape, in which they are repeated."""
        return DoubleDouble(np.broadcast_to(self.hi, shape), np.broadcast_to(self.lo, shape))


def add(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Add, within 3u^2 of the sum (AccurateDWPlusDW)."""
    s, t = two_sum(a.hi, b.hi)
    v, w = two_sum(a.lo, b.lo)
    s, t = quick_two_sum(s, t + v)
    return DoubleDouble(*quick_two_sum(s, t + w))


def concatenate(parts: Sequence[DoubleDouble]) -> DoubleDouble:
    """Join numbers along their first axis."""
    return DoubleDouble(np.concatenate([part.hi for part in parts]), np.concatenate([part.lo for part in parts]))


def multiply(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Multiply, within 7u^2 of the product (DWTimesDW1)."""
    product, error = two_prod(a.hi, b.hi)
    return DoubleDouble(*quick_two_sum(product, error + (a.hi * b.lo + a.lo * b.hi)))


def divide(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Divide, within 15u^2 of the quotient: a first quotient and one step of Newton."""
    first = a.hi / b.hi
    product, error = two_prod(first, b.hi)
    rest = (a.hi - product) - error + (a.lo - first * b.lo)
    return DoubleDouble(*quick_two_sum(first, rest / b.hi))


def from_decimal(value: Exact | Iterable[Exact]) -> DoubleDouble:
    """Round exact numbers to doubled ones; one number gives arrays without axes."""
    if isinstance(value, Decimal | Fraction | int):
        hi, lo = _halves(value)
        return DoubleDouble(np.asarray(hi), np.asarray(lo))
    pairs = np.array([_halves(v) for v in value], dtype=np.float64).reshape(-1, 2)
    return DoubleDouble(pairs[:, 0].copy(), pairs[:, 1].copy())


# Enough digits to write any float64 exactly, so differences lose nothing that matters.
_WIDE = Context(prec=1200, Emin=-999999, Emax=999999)


def _halves(value: Exact) -> tuple[float, float]:
    # Converting a Decimal by its text and an integer ratio by division are both correctly rounded.
    if isinstance(value, Decimal):
        hi = float(value)
        return hi, float(_WIDE.subtract(value, Decimal(hi)))
    exact = Fraction(value)
    hi = exact.numerator / exact.denominator
    rest = exact - Fraction(hi)
    return hi, rest.numerator / rest.denominator


_STEPS = 128  # of the logarithm's table between 1/2 and 1 doubled: 2^-8 is left of the argument
_PARTS = 64  # of the exponential's table: a power of two is split into so many
_UNDERFLOW = -800.0  # below it the exponential is 0 in every storage type
_OVERFLOW = 710.0


def doubled(values: NDArray[Any]) -> DoubleDouble:
    """Return float64 values (or whole numbers below 2^53) as doubled ones."""
    hi = np.asarray(values, np.float64)
    return DoubleDouble(hi, np.zeros_like(hi))


def log(x: DoubleDouble) -> DoubleDouble:
    """Return the natural logarithm of numbers above 0 (normal float64 in size)."""
    mantissa, exponent = np.frexp(x.hi)
    # A mantissa from 0.708 up to 1.416: then a number just below 1 keeps the exponent 0, and
    # nothing cancels in exponent x ln 2 + ln mantissa.
    low = mantissa < 0.708
    exponent = exponent - low
    scale = np.ldexp(1.0, -exponent)
    return _log_of(x.scaled(scale), exponent.astype(np.float64))


def log1p(x: DoubleDouble) -> DoubleDouble:
    """Return the logarithm of 1 + x, good for small x too."""
    near = np.abs(x.hi) < 1.0 / 256
    one = doubled(np.ones_like(x.hi))
    whole = log(add(one, DoubleDouble(np.where(near, 0.0, x.hi), np.where(near, 0.0, x.lo))))
    small = _log_near_one(DoubleDouble(np.where(near, x.hi, 0.0), np.where(near, x.lo, 0.0)))
    return DoubleDouble(np.where(near, small.hi, whole.hi), np.where(near, small.lo, whole.lo))


def exp(x: DoubleDouble) -> DoubleDouble:
    """Return e^x; values beyond float64 become 0 or infinity."""
    hi = np.clip(x.hi, _UNDERFLOW, _OVERFLOW)
    lo = np.where(hi == x.hi, x.lo, 0.0)
    parts, table, (c1, c2, c3) = _exp_tables()
    count = np.rint(hi * parts)
    # count has 17 bits and c1, c2 have 33 each, so both products are exact.
    r, error = two_sum(hi - count * c1, -count * c2)
    rest = DoubleDouble(*quick_two_sum(r, error + (lo - count * c3)))
    number = count.astype(np.int64)
    power = table[number % _PARTS]
    value = add(power, multiply(power, _expm1(rest)))
    exponent = number // _PARTS
    with np.errstate(over="ignore", under="ignore"):
        scaled = DoubleDouble(np.ldexp(value.hi, exponent), np.ldexp(value.lo, exponent))
    infinite = np.isinf(scaled.hi)
    return DoubleDouble(scaled.hi, np.where(infinite, 0.0, scaled.lo))


def power(base: DoubleDouble, exponent: DoubleDouble) -> DoubleDouble:
    """Return base^exponent for a base above 0; the error is the error of `exp` times the size of its argument."""
    return exp(multiply(exponent, log(base)))


def sigmoid(x: DoubleDouble) -> DoubleDouble:
    """Return 1 / (1 + e^-x)."""
    # From the side where the exponential is small, so that it cannot overflow.
    falling = exp(DoubleDouble(-np.abs(x.hi), np.where(x.hi < 0, x.lo, -x.lo)))
    one = doubled(np.ones_like(x.hi))
    below = divide(one, add(one, falling))
    above = multiply(falling, below)
    positive = x.hi >= 0
    return DoubleDouble(np.where(positive, below.hi, above.hi), np.where(positive, below.lo, above.lo))


def _log_of(m: DoubleDouble, exponent: Floats) -> DoubleDouble:
    """Return ln m + exponent x ln 2 for m from 0.708 to 1.416."""
    inverse, logs, ln2 = _log_tables()
    index = np.rint(m.hi * _STEPS).astype(np.int64)
    r = inverse[index]
    p, e = two_prod(m.hi, r)
    z, rest = two_sum(p - 1.0, e)  # p is near 1: the difference is exact
    near = _log_near_one(DoubleDouble(*quick_two_sum(z, rest + m.lo * r)))
    whole = add(multiply(doubled(exponent), ln2), logs[index])
    return add(whole, near)


def _log_near_one(z: DoubleDouble) -> DoubleDouble:
    """Return ln(1 + z) for abs(z) <= 2^-7: twice the inverse hyperbolic tangent of s = z / (2 + z).

    The series ends with s^11: abs(s) < 2^-8 leaves s^13/13, less than 2^-99 of s.
    """
    third, fifth, seventh = _odd()
    two = doubled(np.full_like(z.hi, 2.0))
    s = divide(z, add(two, z))
    s2 = multiply(s, s)
    x = s2.hi
    high = x * (seventh + x * (1.0 / 9 + x * (1.0 / 11)))
    inner = add(fifth, doubled(high))
    inner = add(third, multiply(s2, inner))
    doubled_s = s.scaled(2.0)
    return add(doubled_s, multiply(doubled_s, multiply(s2, inner)))


def _expm1(r: DoubleDouble) -> DoubleDouble:
    """Return e^r - 1 for abs(r) <= ln 2 / 128: its series to r^13."""
    factors, tail = _factorials()
    x = r.hi
    high = np.full_like(x, tail[-1])
    for c in reversed(tail[:-1]):
        high = high * x + c
    total = doubled(high * x)
    for index in range(len(factors.hi) - 1, 0, -1):
        total = add(factors[index], total)
        total = multiply(total, r)
    return add(r, multiply(r, total))


@cache
def _log_tables() -> tuple[Floats, DoubleDouble, DoubleDouble]:
    """Return 1/c, -ln(1/c) for c = k / 128, and ln 2; unused entries are 1."""
    inverse = np.ones(2 * _STEPS)
    for k in range(90, 183):
        inverse[k] = _STEPS / k
    logs = from_decimal([FOR_DOUBLED.minus(FOR_DOUBLED.ln(Decimal(v))) for v in inverse.tolist()])
    return inverse, logs, from_decimal(FOR_DOUBLED.ln(Decimal(2)))


@cache
def _exp_tables() -> tuple[float, DoubleDouble, tuple[float, float, float]]:
    """Return 64 / ln 2, the powers 2^(k/64), and ln 2 / 64 in three parts of which two are short."""
    ln2 = FOR_DOUBLED.ln(Decimal(2))
    step = FOR_DOUBLED.divide(ln2, Decimal(_PARTS))
    powers = from_decimal([FOR_DOUBLED.exp(FOR_DOUBLED.multiply(step, Decimal(k))) for k in range(_PARTS)])
    first = _short(step)
    second = _short(FOR_DOUBLED.subtract(step, Decimal(first)))
    third = float(FOR_DOUBLED.subtract(FOR_DOUBLED.subtract(step, Decimal(first)), Decimal(second)))
    return float(FOR_DOUBLED.divide(Decimal(_PARTS), ln2)), powers, (first, second, third)


def _short(value: Decimal) -> float:
    """Return the value cut to 33 bits."""
    mantissa, exponent = np.frexp(float(value))
    return float(np.ldexp(np.rint(mantissa * 2.0**33), int(exponent) - 33))


@cache
def _odd() -> tuple[DoubleDouble, DoubleDouble, float]:
    return from_decimal(FOR_DOUBLED.divide(Decimal(1), Decimal(3))), from_decimal(Decimal("0.2")), 1.0 / 7


@cache
def _factorials() -> tuple[DoubleDouble, tuple[float, ...]]:
    """Return 1/1! .. 1/7! doubled and 1/8! .. 1/13!."""
    values, product = [], Decimal(1)
    for k in range(1, 14):
        product *= k
        values.append(FOR_DOUBLED.divide(Decimal(1), product))
    return from_decimal(values[:7]), tuple(float(v) for v in values[7:])


@dataclass(frozen=True)
class Points:
    """Positions (or distances) p = multiple * unit, exactly.

    Attributes
    ----------
    multiples : (n,) int64
    unit : Fraction
    """

    multiples: NDArray[np.int64]
    unit: Fraction = Fraction(1)

    def __len__(self) -> int:
        return len(self.multiples)

    def whole(self) -> NDArray[np.int64]:
        """Return the positions as (n,) int64; the plan's domain has made sure that they are whole."""
        assert self.unit.denominator == 1
        return self.multiples * int(self.unit)

    def size(self) -> Points:
        """Return the absolute values."""
        return Points(np.abs(self.multiples), self.unit)

    def times(self, factors: Sequence[Fraction]) -> DoubleDouble:
        """Return (n, m) products of the positions with m exact factors, to 2^-100."""
        return self.by(from_decimal([factor * self.unit for factor in factors]))

    def by(self, factors: DoubleDouble) -> DoubleDouble:
        """Return (n, m) products of the multiples with m factors."""
        return multiply(self._doubled(), factors[None, :])

    def beyond(self, centre: Fraction) -> Points:
        """Return the distances from a centre, exactly.

        Raises
        ------
        BadParameter
            For more decimals than the distances can have.
        """
        if not centre:
            return self
        unit = Fraction(1, lcm(self.unit.denominator, centre.denominator))
        ratio, shift = int(self.unit / unit), int(centre / unit)
        if max(1, int(np.abs(self.multiples).max(initial=0))) * ratio + abs(shift) >= 1 << 63:
            raise BadParameter("centre", f"(near {float(centre):.6g})", "has too many decimals for these positions")
        return Points(self.multiples * ratio - shift, unit)

    def _doubled(self) -> DoubleDouble:
        """Return the multiples as (n, 1) pairs of float64; an int64 may need two."""
        column = self.multiples[:, None]
        hi = column.astype(np.float64)
        return DoubleDouble(hi, (column - hi.astype(np.int64)).astype(np.float64))


# Multiples that share a coarse row.
FINE = 256

# Largest number of rates for which all fine rows are kept, 32 MiB; of more, only the requested rows are computed.
MAX_FULL_RATES = 1 << 13

# Values worked on at once: a few arrays of 128 KiB stay in a core's cache.
CHUNK = 1 << 14

MAX_MAGNITUDE = 2.0**960


class Powers:
    """The function position -> e^(position * rate), for several rates.

    A multiple 256 q + r of the positions' unit gives a coarse row of q times a
    fine row of r; so the value of a position does not depend on which others
    are asked for.

    Parameters
    ----------
    rates : sequence of Decimal
        Logarithms of the bases.
    """

    def __init__(self, rates: Sequence[Decimal]) -> None:
        self.rates = [Fraction(rate) for rate in rates]
        self._steps: dict[Fraction, tuple[DoubleDouble, DoubleDouble, DoubleDouble | None]] = {}

    def at(self, points: Points) -> Exponentials:
        """Return the values at positions."""
        unit = points.unit
        found = self._steps.get(unit)
        if found is None:
            near, far = (from_decimal([rate * unit * many for rate in self.rates]) for many in (1, FINE))
            every = exp(Points(np.arange(FINE, dtype=np.int64)).by(near)) if len(self.rates) <= MAX_FULL_RATES else None
            self._steps = {unit: (near, far, every)}
            found = near, far, every
        near, far, fine = found
        q, r = np.divmod(points.multiples, FINE)
        levels, places = np.unique(q, return_inverse=True)
        if fine is None:
            wanted, r = np.unique(r, return_inverse=True)
            fine = exp(Points(wanted).by(near))
        return Exponentials(exp(Points(levels).by(far)), fine, places, r)


class Exponentials(NamedTuple):
    """Values (n, m): row `places` of `coarse` times row `rest` of `fine`.

    Parameters
    ----------
    coarse, fine : DoubleDouble
        (levels, m) and (256 or fewer, m), to 2^-94.
    places, rest : (n,) int64
        Rows of the two.
    """

    coarse: DoubleDouble
    fine: DoubleDouble
    places: Integers
    rest: Integers

    def doubled(self, rows: slice | Integers = slice(None), columns: Any = slice(None)) -> DoubleDouble:
        """Return values to 2^-92: whole rows, or one column of each row where there is one for each."""
        q, r = self.places[rows], self.rest[rows]
        a = self.coarse[q, columns]
        b = self.fine[r, columns]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found, plain = multiply(a, b), a.hi * b.hi
        # near infinity the halves of a product overflow before it does
        sound = (np.abs(plain) < MAX_MAGNITUDE) & (np.abs(a.hi) < MAX_MAGNITUDE) & (np.abs(b.hi) < MAX_MAGNITUDE)
        return DoubleDouble(np.where(sound, found.hi, plain), np.where(sound, found.lo, 0.0))

    def into(self, dtype: str, out: NDArray[Any]) -> None:
        """Write the values, correctly rounded, into (n, m) `out`."""
        for some in in_blocks(0, len(out), CHUNK // out.shape[1]):
            exact = self.doubled(some)
            narrow(exact.hi, exact.lo, dtype, out[some])
