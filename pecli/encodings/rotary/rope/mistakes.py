"""What people get instead of a rope: another base, a scaling left out, applied twice or taken for another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from pecli.declare.changes import Change, instead, other_values
from pecli.declare.words import USUAL_BASES
from pecli.numbers.text import number_text

UNSCALED = ("dim", "rotary-dim", "partial", "base", "frequencies")  # what a rope without a scaling has
USUAL = {"low-freq-factor": "1", "high-freq-factor": "4", "beta-fast": "32", "beta-slow": "1"}
MAGNITUDES = ("mscale", "mscale-all-dim", "coefficient", "attention-factor")


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield what a rope with these keys is mistaken for."""
    if "base" in keys:
        yield from other_values(*USUAL_BASES)("base", keys["base"], ())
    scaling = keys.get("scaling", "none")
    if scaling == "none":
        return
    plain: dict[str, str | None] = {**dict.fromkeys(k for k in keys if k not in UNSCALED), "scaling": "none"}
    yield Change("scaling", f"scaling {scaling} is missing: the frequencies are unscaled", plain)
    both = f"scaling {scaling} and the base are missing: base 10000, unscaled"
    yield Change("scaling", both, {**plain, "base": None})
    factor = keys.get("factor")
    if factor is not None:
        squared = number_text(Decimal(factor) * Decimal(factor))
        twice = f"{scaling} factor applied twice ({squared} where {factor} was expected)"
        yield Change("factor", twice, {"factor": squared})
        for other in ("linear", "ntk"):
            if other != scaling:
                own = {**plain, "scaling": other, "factor": factor}
                yield Change("scaling", f"scaling {other} where {scaling} was expected", own)
    if scaling == "yarn":
        bare: dict[str, str | None] = {name: None for name in MAGNITUDES if name in keys}
        yield Change("magnitude", "the magnitude is missing", {**bare, "scaling": "ntk-by-parts"})
        if keys.get("ramp", "index") == "index":
            yield Change("scaling", "yarn with truncate=false", {"truncate": "false"})
            yield Change("scaling", "yarn with ramp=rotations", {"ramp": "rotations", "truncate": None})
    for key, usual in USUAL.items():
        if keys.get(key, usual) != usual:
            yield instead(key, usual, keys[key], kind="scaling")
