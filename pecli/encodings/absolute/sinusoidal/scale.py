"""The scalings of a sinusoid: those of rope that leave a geometric series one, by its scale and its base."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import cast

from pecli.declare.rescaling import Rescaling
from pecli.encodings.absolute.sinusoidal import Odd, exponents
from pecli.encodings.rotary.rope.scaling import Scaling
from pecli.encodings.rotary.rope.scalings import SCALINGS
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT

_SHORT = Context(prec=17)


def scale(keys: Mapping[str, str]) -> dict[str, Rescaling]:
    """Return the scalings of a sinusoid with these keys; time scales have none."""
    if "max-timescale" in keys:
        return {}
    return {
        name: Rescaling(partial(_made, scaling, keys), scaling.least, scaling.by_base)
        for name, scaling in SCALINGS.items()
        if scaling.series
    }


def _made(
    scaling: Scaling, keys: Mapping[str, str], train: int, test: int, factor: Decimal | None
) -> tuple[Mapping[str, object], Decimal | None]:
    assert scaling.series is not None
    if not scaling.parameters:
        return keys, None
    times = CONTEXT.divide(Decimal(test), Decimal(train)) if factor is None else factor
    count, half = exponents(int(keys["dim"]), cast(Odd, keys["odd"]))
    if scaling.by_base and count < 2:
        rule = f"has one frequency, and {scaling.name} keeps the first: use a wider dim or linear"
        raise BadParameter("dim", keys["dim"], rule)
    last = (count - 1) / (half - Fraction(keys["shift"]))
    slower, base = scaling.series(Decimal(keys["base"]), last, times, Fraction(test, train))
    if scaling.by_base:
        return {**keys, "base": _SHORT.plus(base)}, times
    return {**keys, "scale": CONTEXT.multiply(Decimal(keys["scale"]), slower)}, times
