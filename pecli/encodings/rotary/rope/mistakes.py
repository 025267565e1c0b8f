"""What people get instead of a rope: another base, a scaling left out, applied twice or taken for another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from pecli.declare.changes import Change, instead, other_values
from pecli.declare.words import USUAL_BASES
from pecli.encodings.rotary.rope.scaling import Scaling
from pecli.encodings.rotary.rope.scalings import SCALINGS, TAKEN, scaling_of
from pecli.numbers.text import number_text


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield what a rope with these keys is mistaken for."""
    if "base" in keys:
        yield from other_values(*USUAL_BASES)("base", keys["base"], ())
    name = keys.get("scaling", "none")
    if name == "none":
        return
    scaling = scaling_of(name)
    plain: dict[str, str | None] = {**{key: None for key in keys if key in TAKEN}, "scaling": "none"}
    yield Change("scaling", f"scaling {name} is missing: the frequencies are unscaled", plain)
    both = f"scaling {name} and the base are missing: base 10000, unscaled"
    yield Change("scaling", both, {**plain, "base": None})
    factor = keys.get("factor")
    if factor is not None:
        squared = number_text(Decimal(factor) * Decimal(factor))
        twice = f"{name} factor applied twice ({squared} where {factor} was expected)"
        yield Change("factor", twice, {"factor": squared})
        for other in SCALINGS.values():
            if other.needs_factor_alone and other is not scaling:
                own = {**plain, "scaling": other.name, "factor": factor}
                yield Change("scaling", f"scaling {other.name} where {name} was expected", own)
    yield from scaling.mistakes(keys)
    yield from _defaults(scaling, keys)


def _defaults(scaling: Scaling, keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the defaults of a scaling's numbers, taken where others were meant."""
    for option, parameter in scaling.options.items():
        if isinstance(parameter.default, Decimal) and option in keys:
            usual = number_text(parameter.default)
            if keys[option] != usual:
                yield instead(option, usual, keys[option], kind="scaling")
