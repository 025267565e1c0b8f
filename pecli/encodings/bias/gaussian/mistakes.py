"""What people get instead of a Gaussian: sigma^2 in the exponent where 2 sigma^2 belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from pecli.declare.changes import Change
from pecli.numbers.decimals import CONTEXT, number_text


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield widths that another exponent is as."""
    for said, times in (
        ("the exponent is -D^2 / sigma^2, where -D^2 / (2 sigma^2) was expected", Decimal("0.5")),
        ("the exponent is -D^2 / (4 sigma^2), where -D^2 / (2 sigma^2) was expected", Decimal(2)),
    ):
        widths = (CONTEXT.multiply(Decimal(text), CONTEXT.sqrt(times)) for text in keys["sigma"].split("+"))
        yield Change("sigma", said, {"sigma": "+".join(map(number_text, widths))})
