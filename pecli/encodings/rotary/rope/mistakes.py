"""What people get instead of a rope: another base, a scaling left out, applied twice or taken for another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from pecli.declare.changes import Change, instead, other_exponent, other_values
from pecli.encodings.rotary.rope.scaling import Scaling
from pecli.encodings.rotary.rope.scalings import SCALINGS, TAKEN, scaling_of
from pecli.encodings.shared.parameters import OTHER_BASES
from pecli.numbers.decimals import number_text

DIVIDED = (2, 4, 8, 16, 32)
"""Factors of position interpolation that people add to a model."""
TIMES = (Decimal(2), Decimal(4), Decimal(8), Decimal(16), Decimal(32), Decimal("0.5"), Decimal("0.25"))
"""What the trained length is mistaken for, in its own: a model's longer context, and the other way round."""
other_factors = other_values("2", "4", "8", "16", "32", "64", "1.5", "3", "5", "6", "10", "12", "20", "40", "128", "1")


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield what a rope with these keys is mistaken for."""
    if "base" in keys:
        yield from _exponents(keys)
        yield from OTHER_BASES("base", keys["base"], ())
    name = keys.get("scaling", "none")
    if name == "none":
        for factor in DIVIDED:
            said = f"linear factor {factor} where none was expected"
            yield Change("scaling", f"scaling {said}", {"scaling": "linear", "factor": str(factor)})
        return
    scaling = scaling_of(name)
    plain: dict[str, str | None] = {**{key: None for key in keys if key in TAKEN}, "scaling": "none"}
    yield Change("scaling", f"scaling {name} is missing: the frequencies are unscaled", plain)
    both = f"scaling {name} and the base are missing: base 10000, unscaled"
    yield Change("scaling", both, {**plain, "base": None})
    factor_given = keys.get("factor")
    if factor_given is not None:
        squared = number_text(Decimal(factor_given) * Decimal(factor_given))
        twice = f"{name} factor applied twice ({squared} where {factor_given} was expected)"
        yield Change("factor", twice, {"factor": squared})
        yield from other_factors("factor", factor_given, ())
        for other in SCALINGS.values():
            if other.needs_factor_alone and other is not scaling:
                own = {**plain, "scaling": other.name, "factor": factor_given}
                yield Change("scaling", f"scaling {other.name} where {name} was expected", own)
    yield from scaling.mistakes(keys)
    if "original-max" in keys:
        yield from (
            instead("original-max", number_text(int(keys["original-max"]) * times), keys["original-max"])
            for times in TIMES
        )
    yield from _defaults(scaling, keys)
    for factor in DIVIDED:
        said = f"linear factor {factor} applied beside scaling {name}: every angle is {factor} times too small"
        yield Change("scaling", said, step=Fraction(1, factor))


def _exponents(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield exponents whose divisor is the last pair's, as linspace has it, or the last column's."""
    width = int(keys.get("rotary-dim", keys["dim"]))
    rotating = int(Decimal(keys["partial"]) * int(keys["dim"])) if "partial" in keys else width
    if 0 < rotating < int(keys["dim"]):
        said = f"exponent over the head's width {keys['dim']} where the rotary width {rotating} was expected"
        yield other_exponent("base", keys["base"], Fraction(rotating, int(keys["dim"])), said)
    if width > 2 and "partial" not in keys:
        said = "exponent over d - 2 where d was expected"
        yield other_exponent("base", keys["base"], Fraction(width, width - 2), said)
        said = "exponent over d - 1 where d was expected"
        yield other_exponent("base", keys["base"], Fraction(width, width - 1), said)


def _defaults(scaling: Scaling, keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the defaults of a scaling's numbers, taken where others were meant."""
    for option, parameter in scaling.options.items():
        if isinstance(parameter.default, Decimal) and option in keys:
            usual = number_text(parameter.default)
            if keys[option] != usual:
                yield instead(option, usual, keys[option], kind="scaling")
