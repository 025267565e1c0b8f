"""Numbers and lists as text: what users write, and the shortest form that reads back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from pecli.errors import BadParameter

LONGEST_NUMBER = 400  # characters; a decimal may be the exact expansion of a double
LARGEST_EXPONENT = 400
_WRITTEN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")  # of Decimal's, ASCII alone


def parse_number(name: str, given: object) -> Decimal:
    """Return the finite decimal that `given` (text, int, float or Decimal) writes, in ASCII digits.

    Raises
    ------
    BadParameter
        If it writes none, or one too long, too large or too small to compute with.
    """
    return _number(name, given, "must be a finite number such as 10000, 0.5 or 1e6")


def _number(name: str, given: object, rule: str) -> Decimal:
    if isinstance(given, bool):
        raise BadParameter(name, given, rule)
    text = str(given).strip()
    written = _WRITTEN.fullmatch(text)
    if written is None:
        short = _THOUSANDS.fullmatch(text)
        if short is not None and len(short[1]) <= LONGEST_NUMBER:
            count = int(short[1]) * (1000 if short[2] in "kK" else 10**6)
            rule = f"is short for another number in every program: write it out, such as {count}"
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
    value = _number(name, given, "must be a whole number")
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
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole = "".join(map(str, digits)).lstrip("0")
    trimmed = whole.rstrip("0")
    exponent += len(whole) - len(trimmed)
    minus = "-" if sign else ""
    scientific = f"{minus}{trimmed[0]}{'.' + trimmed[1:] if len(trimmed) > 1 else ''}e{exponent + len(trimmed) - 1}"
    if exponent >= 0:
        plain = minus + trimmed + "0" * exponent if exponent < 30 else scientific
    elif -exponent < len(trimmed):
        plain = f"{minus}{trimmed[:exponent]}.{trimmed[exponent:]}"
    else:
        plain = f"{minus}0.{'0' * (-exponent - len(trimmed))}{trimmed}" if exponent > -60 else scientific
    return plain if len(plain) <= max(8, len(scientific)) else scientific


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
