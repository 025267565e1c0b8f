"""From an explanation of turning pairs to the recipes that it stands for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from pecli.identification.finders.guesses import Guess
from pecli.identification.finders.stretches import longrope_magnitude
from pecli.identification.finders.wave import ROUNDINGS, Wave, underflowed
from pecli.measures.spectra import text
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import digits


def guesses(wave: Wave) -> Iterator[Guess]:
    """Yield the recipes that an explanation stands for."""
    if wave.reading.family == "absolute":
        yield from _absolute(wave)
        if wave.reading.layout == "cos-sin" and not wave.lines.swapped:
            yield from _rotary(wave, "concat")
        elif wave.reading.layout == "cos-sin":
            yield from _rotary(wave, "sin-cos")
    else:
        layout = wave.reading.layout
        if layout == "concat":
            layout = "sin-cos" if wave.lines.swapped else "concat"
        yield from _rotary(wave, layout)


def _table_keys(wave: Wave) -> dict[str, str] | None:
    """Return first position and step; None where the step is no decimal."""
    found = {}
    if wave.start:
        found["start"] = text(wave.start)
    if wave.step != 1:
        if not decimal_exactly(wave.step):
            return None
        found["step"] = fraction_text(wave.step)
    return found


def decimal_exactly(value: Fraction) -> bool:
    """Whether a fraction is a decimal of finite length."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and value.denominator < 10**15


def _absolute(wave: Wave) -> Iterator[Guess]:
    reading, spectrum = wave.reading, wave.spectrum
    if "scaling" in spectrum.keys or "frequencies" in spectrum.keys:
        return
    order = {
        ("interleaved", True): "interleaved",
        ("cos-sin", False): "cos-sin",
        ("cos-sin", True): "sin-cos",
    }.get((reading.layout, wave.lines.swapped))
    if order is None or (wave.lines.still.any() and not underflowed(wave)):
        return
    keys = {"dim": str(reading.width), **spectrum.keys}
    if order != "interleaved":
        keys["order"] = order
    if wave.magnitude != 1:
        keys["amplitude"] = text(wave.magnitude)
    if len(reading.blank) == 1:
        keys["pad-row"] = fraction_text(Fraction(wave.start) + wave.step * reading.blank[0])
    elif reading.blank:
        return
    table = _table_keys(wave)
    if table is None:  # the step is no decimal: a factor of the position, to more digits than any type has
        scale = Decimal(spectrum.step.numerator) / Decimal(spectrum.step.denominator)
        keys["scale"] = str(scale)
        start = Fraction(wave.start) / wave.step
        near = Fraction(round(start)) if abs(start - round(start)) < Fraction(1, 10**6) else start
        if wave.lines.backward or not decimal_exactly(near):
            return
        table = {"start": fraction_text(near)} if near else {}
    for odd in {"": [""], "zero": ["pad"], "sine": ["truncate", "round-up"]}[reading.tail]:
        own = {**keys, "odd": odd} if odd else keys
        yield Guess("sinusoidal", own, table, spectrum.cost, wave.level)


def _rotary(wave: Wave, layout: str) -> Iterator[Guess]:
    spectrum, m = wave.spectrum, len(wave.lines.still)
    if wave.reading.blank or wave.reading.tail:
        return
    if "shift" in spectrum.keys:
        yield from _retnet(wave, layout)
        return
    keys = {"dim": str(2 * m), **spectrum.keys}
    turning = int((~wave.lines.still).sum())
    if turning < m and not underflowed(wave):
        if "scaling" in keys:
            return
        share = Decimal(turning) / Decimal(m)
        keys |= {"scaling": "proportional", "partial": text(share)}
    table = _table_keys(wave)
    more_table = {} if layout == "split" else {"layout": layout}
    exchanged = wave.lines.swapped and layout not in ("concat", "sin-cos")
    notes = ("cos and sin are exchanged",) if exchanged else ()
    inverse = 1 / spectrum.step
    slow = table is None or (
        decimal_exactly(inverse) and digits(as_decimal(inverse)) < digits(as_decimal(spectrum.step))
    )
    for more, cost in _magnitudes(wave, keys):
        own, total = {**keys, **more}, spectrum.cost + cost
        rest = (wave.level, notes, exchanged, spectrum.determined)
        if slow and wave.step > 0 and not {"scaling", "frequencies"} & keys.keys() and decimal_exactly(inverse):
            start = Fraction(wave.start) * inverse
            whole = Fraction(round(start)) if abs(start - round(start)) < Fraction(1, 10**6) else start
            if decimal_exactly(whole):
                linear = {"scaling": "linear", "factor": fraction_text(inverse)}
                where = {"start": fraction_text(whole)} if whole else {}
                yield Guess("rope", {**own, **linear}, {**where, **more_table}, total, *rest)
        if table is not None:
            yield Guess("rope", own, {**table, **more_table}, total, *rest)


def _retnet(wave: Wave, layout: str) -> Iterator[Guess]:
    """Yield RetNet's rotation: endpoint spacing, the decay apart."""
    table = _table_keys(wave)
    if table is None or wave.lines.still.any() or wave.magnitude != 1 or wave.lines.swapped:
        return
    base = {"base": wave.spectrum.keys["base"]} if "base" in wave.spectrum.keys else {}
    keys = {"dim": str(2 * len(wave.lines.still)), "heads": "1", "decay": "none", **base}
    more = {} if layout == "split" else {"layout": layout}
    yield Guess("retnet", keys, {**table, **more}, wave.spectrum.cost + 1, wave.level)


def as_decimal(value: Fraction) -> Decimal:
    """Return the nearest decimal of the context's digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _magnitudes(wave: Wave, keys: dict[str, str]) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the parameters that give the size of the pairs."""
    size = float(wave.magnitude)
    scaling, factor = keys.get("scaling", "none"), wave.spectrum.factor
    loose = max(2.0**-20, 4 * ROUNDINGS[wave.level], wave.resolution)
    if scaling == "longrope":
        yield longrope_magnitude(wave.reading.magnitude, max(loose / 32, 2.0**-20)), 0.0
    elif scaling == "yarn":
        assert factor is not None
        usual = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0
        if abs(size / usual - 1) <= loose:
            yield {}, 0.0
        elif abs(size - 1) <= loose:
            yield {"scaling": "ntk-by-parts"}, 0.0
        else:
            yield {"attention-factor": text(wave.magnitude)}, float(digits(wave.magnitude))
    elif wave.magnitude == 1 or abs(size - 1) <= loose:
        yield {}, 0.0
    elif scaling == "none" and "frequencies" not in keys:
        given = {"scaling": "yarn", "factor": "1", "original-max": "4096", "attention-factor": text(wave.magnitude)}
        yield given, float(digits(wave.magnitude)) + 2
