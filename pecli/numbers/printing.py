"""Printing of numbers: in full where that is short, otherwise rounded; a column has one precision."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pecli.settings import settings

MAX_FULL_DECIMALS = 8  # decimals up to which a number is printed in full: 1/256 is 0.00390625
DECIMALS = 4  # of values that have more
DIGITS = 6  # of figures
MIN_SCIENTIFIC = 1e7  # from here on a rounded number is written with its power of ten
DECADES = 3  # that figures may span and still share their decimals


def column(
    values: Iterable[Any], decimals: int = DECIMALS, *, digits: int | None = None, noise: float = 0.0
) -> list[str]:
    """Return the texts of a column: all in full where all are short, otherwise all with the same precision.

    It is enough for powers of two: slopes of 12 heads are 0.03125000 and 0.70710678.

    Parameters
    ----------
    values : iterable
        Numbers, rounded from the value itself and never from its shortest text; anything else is printed as it is.
    decimals : int
        Where they are not short.
    digits : int, optional
        Significant digits instead of decimals, for figures whose sizes differ.
    noise : float
        Size below which a value is the 0 that exact arithmetic would have given.

    Examples
    --------
    >>> column([0.5, 0.00390625]), column([1.0, 0.1 + 0.2]), column([2000 / 3, 1.0], digits=3)
    (['0.50000000', '0.00390625'], ['1.0000', '0.3000'], ['666.67', '1.00'])
    """
    items = list(values)
    parts = [part for item in items for part in _parts(item) if math.isfinite(part) and abs(part) >= noise]
    asked = settings().decimals
    if asked is not None:
        decimals = asked
    elif None not in (needed := [places(part, digits) for part in parts]):
        decimals = max((count for count in needed if count is not None), default=0)
    elif digits is not None:
        powers = [_power(part, digits) for part in parts if part]
        if max(powers) - min(powers) >= DECADES or not -DECIMALS <= min(powers) <= digits:
            return [figure(item, digits) if isinstance(item, float) else str(item) for item in items]
        decimals = max(0, digits - 1 - min(powers))
    else:  # powers of two are not cut
        exact = (count for part, count in zip(parts, needed, strict=True) if math.frexp(abs(part))[0] == 0.5 and count)
        decimals = max(decimals, *exact, 0)
    return [fixed(item, decimals, noise) if _parts(item) else str(item) for item in items]


def padded(value: float, decimals: int, noise: float = 0.0) -> str:
    """Return one number with this number of decimals, or with the number that the user asked for."""
    asked = settings().decimals
    return fixed(value, decimals if asked is None else asked, noise)


def figure(value: float, digits: int = DIGITS) -> str:
    """Return one number of a sentence: in full where it is short, otherwise so many digits.

    Examples
    --------
    >>> figure(1 / 256), figure(1 / 3, 3), figure(62581.8 / 3, 4), figure(3.06892599e-07, 3)
    ('0.00390625', '0.333', '20861', '3.07e-07')
    """
    value = float(value) + 0.0  # without the sign of a zero
    asked = settings().decimals
    count = places(value, max(digits, MAX_FULL_DECIMALS)) if math.isfinite(value) else 0
    if count is not None and (asked is None or count <= asked):
        return f"{value:.{count}f}"
    if asked is not None:
        return fixed(value, asked)
    power = _power(value, digits)
    if -DECIMALS <= power < math.log10(MIN_SCIENTIFIC):
        text = f"{value:.{max(0, digits - 1 - power)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits - 1}e}"


def shortest_text(value: Any, dtype: str) -> str:
    """Return the shortest decimal that reads back to a value in its type.

    Examples
    --------
    >>> shortest_text(0.99985671043396, "float32"), shortest_text(3.140625, "bfloat16")
    ('0.9998567', '3.14')
    """
    import numpy as np

    from pecli.numbers.dtypes import real_type
    from pecli.numbers.rounding import nearest

    if isinstance(value, complex):
        return f"{shortest_text(value.real, dtype)} {shortest_text(value.imag, dtype)}i"
    kind = real_type(dtype)
    if kind == "bfloat16" and np.isfinite(value):
        texts = (f"{value:.{digits}g}" for digits in range(1, 10))
        return next((text for text in texts if nearest(np.array([float(text)]), kind)[0] == value), repr(value))
    return str(np.dtype(kind).type(value)) if kind in ("float16", "float32") else repr(value)


def at_least(value: float, digits: int = DIGITS) -> str:
    """Return a number above 0 rounded up to a number of digits, so that the printed value suffices as a limit.

    Examples
    --------
    >>> at_least(2049 / 2048), at_least(1234567.2), at_least(4.0)
    ('1.00049', '1234568', '4')
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    up = math.ceil(value / unit - 1e-9) * unit  # but for the error of the quotient
    return f"{up:.{digits}g}" if up < 10.0**digits else f"{up:.{digits - 1}e}" if up >= 1e9 else str(math.ceil(value))


def limit(value: float, digits: int = DIGITS) -> str:
    """Return the number of an "at most": that of :func:`figure`, rounded up where it is not in full.

    Examples
    --------
    >>> limit(1 / 256), limit(2.012e-06, 2), limit(1.0471234567, 1)
    ('0.00390625', '2.1e-06', '2')
    """
    text = figure(value, digits)
    return text if float(text) >= value else at_least(value, digits)


def percent(share: float, decimals: int) -> str:
    """Return a share in percent; none and all of it only where it is, with more decimals where few are left.

    Examples
    --------
    >>> percent(1.0, 1), percent(1 - 1e-6, 1), percent(1 / 3, 0)
    ('100.0 %', '99.9999 %', '33 %')
    """
    most = MAX_FULL_DECIMALS + DIGITS
    while share not in (0, 1) and decimals < most and float(f"{100 * share:.{decimals}f}") in (0, 100):
        decimals += 1
    return f"{100 * share:.{decimals}f} %"


def between(low: float, high: float, digits: int = DIGITS) -> str:
    """Return a range as text; one number where both ends print alike."""
    first, last = figure(low, digits), figure(high, digits)
    return first if first == last else f"{first} to {last}"


def places(value: float, digits: int | None = None) -> int | None:
    """Return how many decimals a number has; None where it is not short: of more decimals, or digits, than a few."""
    text = f"{value:.{MAX_FULL_DECIMALS}f}"
    if abs(value) >= MIN_SCIENTIFIC or float(text) != value:
        return None
    whole, _, decimals = text.rstrip("0").partition(".")
    if digits is not None and len((whole + decimals).lstrip("-0")) > max(digits, DIGITS):
        return None
    return len(decimals)


def fixed(value: Any, decimals: int, noise: float = 0.0) -> str:
    """Return a number with fixed decimals; a number that would round to zero is written with its power of ten."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, complex):
        sign = "" if math.copysign(1, value.imag) < 0 else "+"
        return f"{fixed(value.real, decimals, noise)}{sign}{fixed(value.imag, decimals, noise)}i"
    size = abs(value)
    if not math.isfinite(value):
        return str(value)
    if size >= MIN_SCIENTIFIC or (max(noise, 0.0) <= size < 0.5 * 10**-decimals and size):
        return f"{value:.{max(1, decimals - 2)}e}"
    return f"{0.0 if noise and size < noise else value:.{decimals}f}"


def _parts(item: Any) -> tuple[float, ...]:
    if isinstance(item, complex):
        return item.real, item.imag
    return (item,) if isinstance(item, int | float) else ()


def _power(value: float, digits: int) -> int:
    """Return the power of ten of a number's first digit, after rounding to `digits` digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])
