"""Exact decimals: series of frequencies, numbers and lists as text, and the simplest number in an interval.

Frequencies are computed in the standard library's ``decimal`` with `FREQUENCY_DIGITS` digits, in a context of its
own, so that neither the caller's context nor libm has a say in the result.

`shortest` gives the simplest number in an interval: the probable intention behind a measured value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction

from pecli.errors import BadParameter

# Digits of an irrational frequency.
#
# A position has up to 16 digits, a frequency up to 30 before the point, and the
# engine wants 58 after it (192 bits of a turn): 104.  Of a phase below 2^63 units
# they leave 292 bits to tell a value from a rounding boundary.
FREQUENCY_DIGITS = 110

CONTEXT = Context(
    prec=FREQUENCY_DIGITS + 10,  # ten guard digits: a product of 10^5 factors loses at most six
    rounding=ROUND_HALF_EVEN,
    Emin=-999_999,
    Emax=999_999,
    traps=[DivisionByZero, InvalidOperation, Overflow],
)
# Decimal context for values that are then rounded to two float64, which hold 32 digits: logarithms take half the
# time.
FOR_DOUBLED = Context(prec=50, Emin=-999_999, Emax=999_999)
_RESULT = Context(prec=FREQUENCY_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214"
    "8086513282306647093844609550582231725359408128481117"
)
TAU = CONTEXT.multiply(Decimal(2), PI)

ONE = Decimal(1)
_SHORT = 40  # a power of so few digits is rational: it agrees to 110 digits by no accident


def geometric(base: Decimal, step: Decimal | Fraction, count: int) -> tuple[Decimal, ...]:
    """Return base^(-i step) for i = 0..count-1.

    Parameters
    ----------
    base : Decimal
        Above 0.
    step : Decimal or Fraction
        Exponent between neighbours; 2/d for a rotary table of width d.
    count : int
        How many.

    Returns
    -------
    tuple of Decimal
        With a relative error below 10^-105 for up to 10^5 of them.

    Examples
    --------
    >>> geometric(Decimal(10000), Fraction(1, 2), 3)
    (Decimal('1'), Decimal('0.01'), Decimal('0.0001'))
    """
    ratio = power(base, -Fraction(step))
    found = []
    value = ONE
    for _ in range(count):
        found.append(_RESULT.plus(value))
        value = CONTEXT.multiply(value, ratio)
    return tuple(found)


def power(base: Decimal, exponent: Decimal | Fraction | int) -> Decimal:
    """Return base^exponent for a base above 0; a rational power of few digits is exact."""
    if base == ONE or exponent == 0:
        return ONE
    numerator, denominator = Fraction(exponent).as_integer_ratio()
    value = CONTEXT.exp(CONTEXT.divide(CONTEXT.multiply(CONTEXT.ln(base), Decimal(numerator)), Decimal(denominator)))
    short = _RESULT.plus(value).normalize(_RESULT)
    return short if len(short.as_tuple().digits) <= _SHORT else value


MAX_FLOAT_DIGITS = 17


def shortest(low: float, high: float) -> Decimal:
    """Return the decimal with the fewest digits in ``[low, high]``; of several the one nearest to the middle.

    Examples
    --------
    >>> shortest(9999.2, 10000.7), shortest(1.34655, 1.34659), shortest(-0.26, -0.24)
    (Decimal('1E+4'), Decimal('1.34657'), Decimal('-0.25'))
    """
    low, high = sorted((float(low), float(high)))
    if not (math.isfinite(low) and math.isfinite(high)) or low <= 0.0 <= high:
        return Decimal(0)
    if high < 0.0:
        return -shortest(-high, -low)
    middle = low / 2 + high / 2
    top = math.floor(math.log10(high))
    for digits in range(1, MAX_FLOAT_DIGITS + 1):
        unit = Decimal(1).scaleb(top - digits + 1)
        nearest = (Decimal(middle) / unit).to_integral_value() * unit
        if low <= nearest <= high:
            return nearest.normalize()
    return Decimal(repr(middle))


def near(value: float, relative: float) -> Decimal:
    """Return the shortest decimal within a relative distance of a value."""
    spread = abs(value) * relative
    return shortest(value - spread, value + spread)


def digits(value: Decimal) -> int:
    """Return how many significant digits a decimal has."""
    return len(value.normalize().as_tuple().digits) if value else 1


def decimal_of(value: Decimal | Fraction) -> Decimal:
    """Return a number as a decimal, to the digits of the context."""
    return value if isinstance(value, Decimal) else CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def decimal_exactly(value: Fraction) -> bool:
    """Whether a fraction is a decimal of finite length, and of few digits."""
    return value.denominator < 10**15 and 10**50 % value.denominator == 0  # 2^50 is larger


LONGEST_NUMBER = 400  # characters; a decimal may be the exact expansion of a double
LARGEST_EXPONENT = 400
_WRITTEN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")  # of Decimal's, ASCII alone


def parse_number(name: str, given: object, rule: str = "must be a finite number such as 10000, 0.5 or 1e6") -> Decimal:
    """Return the finite decimal that `given` (text, int, float or Decimal) writes, in ASCII digits.

    Raises
    ------
    BadParameter
        If it writes none, or one too long, too large or too small to compute with.
    """
    if isinstance(given, bool):
        raise BadParameter(name, given, rule)
    text = str(given).strip()
    written = _WRITTEN.fullmatch(text)
    if written is None:
        short = _THOUSANDS.fullmatch(text)
        if short is not None and len(short[1]) <= LONGEST_NUMBER:
            power = 1 if short[2] in "kK" else 2
            rule = f"may mean {int(short[1]) * 1000**power} or {int(short[1]) * 1024**power}: write it out"
        raise BadParameter(name, shorten(text), rule)
    if len(text) > LONGEST_NUMBER:
        raise BadParameter(name, shorten(text), f"must have at most {LONGEST_NUMBER} characters")
    exponent = int(written[1] or 0)
    if abs(exponent) <= 2 * LARGEST_EXPONENT:  # beyond it no number of such a length comes back into range
        value = Decimal(text)
        if not value:
            return Decimal(0)
        if abs(value.adjusted()) <= LARGEST_EXPONENT:
            return value
        exponent = value.adjusted()
    size = "large" if exponent > 0 else "small"
    span = f"-{LARGEST_EXPONENT} to {LARGEST_EXPONENT}"
    raise BadParameter(name, shorten(text), f"is too {size}: exponents of 10 go from {span}")


def parse_integer(name: str, given: object) -> int:
    """Return the whole number that `given` writes; "1e6" and "4096.0" are whole numbers too.

    Examples
    --------
    >>> parse_integer("len", "1e6"), parse_integer("len", 4096)
    (1000000, 4096)
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    value = parse_number(name, given, "must be a whole number")
    if value != value.to_integral_value():
        raise BadParameter(name, given, "must be a whole number")
    return int(value)


_THOUSANDS = re.compile(r"(\d+)([kKmM])")


def parse_count(name: str, given: object) -> int:
    """Return a number of positions: as `parse_integer`, and 128k or 1M in powers of 1024.

    Examples
    --------
    >>> parse_count("len", "128k"), parse_count("len", "1M"), parse_count("len", "4096")
    (131072, 1048576, 4096)
    """
    written = _THOUSANDS.fullmatch(str(given).strip())
    if written is None or len(written[1]) > LONGEST_NUMBER:
        return parse_integer(name, given)
    return int(written[1]) * 1024 ** (1 if written[2] in "kK" else 2)


def parse_position(name: str, given: object) -> Decimal:
    """Return a position: as `parse_number`, and 128k or 1M as in `parse_count`."""
    counted = _THOUSANDS.fullmatch(str(given).strip()) is not None
    return Decimal(parse_count(name, given)) if counted else parse_number(name, given)


def number_text(value: int | Decimal) -> str:
    """Return the shortest text of a number: 10000, 0.1, 1e30.

    Examples
    --------
    >>> number_text(Decimal("1.0E+4")), number_text(Decimal("0.10")), number_text(10**5)
    ('10000', '0.1', '100000')
    """
    if isinstance(value, int) or value == 0:
        return str(int(value))
    mantissa, _, power = f"{value:e}".partition("e")
    scientific = f"{_trimmed(mantissa)}e{int(power)}"
    if abs(value.adjusted()) > LARGEST_EXPONENT:  # a config may hold 1e999999999999, whose digits fill the memory
        return scientific
    plain = _trimmed(f"{value:f}")
    return plain if len(plain) <= max(8, len(scientific)) else scientific


def _trimmed(text: str) -> str:
    """Return a decimal without the zeros at the end of its fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def split_list(given: object, separator: str) -> list[object]:
    """Return the items of a list given as text or as a sequence."""
    if isinstance(given, list | tuple):
        return list(given)
    if separator == "+":  # a plus sign inside an exponent (1e+5) does not separate; recipes quote commas
        return list(re.split(r",|(?<![0-9.][eE])\+", str(given)))
    return list(str(given).lower().split(separator))


def join_list(items: Iterable[int | Decimal], separator: str) -> str:
    """Return a list as text."""
    return separator.join(number_text(item) for item in items)


def shorten(text: str, width: int = 60) -> str:
    """Return text cut to `width` characters, for messages.

    Examples
    --------
    >>> shorten("sinusoidal", 8)
    'sinus...'
    """
    return text if len(text) <= width else text[: width - 3] + "..."
