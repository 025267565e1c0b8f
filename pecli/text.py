"""Numbers and lists as text: what users write, and the shortest form that reads back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from pecli.errors import BadParameter

LONGEST_NUMBER = 400  # characters; a decimal may be the exact expansion of a double
LARGEST_EXPONENT = 400


def parse_number(name: str, given: object) -> Decimal:
    """Return the finite decimal that `given` (text, int, float or Decimal) writes."""
    if isinstance(given, bool):
        raise BadParameter(name, given, "must be a number")
    text = str(given).strip()
    try:
        value = Decimal(text) if len(text) <= LONGEST_NUMBER else None
    except InvalidOperation:
        value = None
    if value is None or not value.is_finite() or abs(value.adjusted()) > LARGEST_EXPONENT:
        raise BadParameter(name, shorten(text), "must be a finite number such as 10000, 0.5 or 1e6")
    return value


def parse_integer(name: str, given: object) -> int:
    """Return the whole number that `given` writes; "1e6" and "4096.0" are whole numbers too."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    try:
        value = parse_number(name, given)
    except BadParameter:
        raise BadParameter(name, shorten(str(given)), "must be a whole number") from None
    if value != value.to_integral_value():
        raise BadParameter(name, given, "must be a whole number")
    return int(value)


def number_text(value: int | Decimal) -> str:
    """Return the shortest text of a number: 10000, 0.1, 1e30."""
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
    if separator == "+":  # a plus sign inside an exponent (1e+5) does not separate
        return list(re.split(r"(?<![eE])\+", str(given)))
    return list(str(given).lower().split(separator))


def join_list(items: Iterable[int | Decimal], separator: str) -> str:
    """Return a list as text."""
    return separator.join(number_text(item) for item in items)


def shorten(text: str, width: int = 60) -> str:
    """Return text cut to `width` characters, for messages."""
    return text if len(text) <= width else text[: width - 3] + "..."
