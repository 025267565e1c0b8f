"""Rotations among turning pairs: plain series, NTK's, ramps, lists of frequencies, and the size of the pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from pecli.declare.guess import Guess
from pecli.encodings.rotary.rope.ramps import ramps
from pecli.encodings.rotary.rope.stretches import longrope_magnitude, stretches
from pecli.encodings.shared.waves import rotary_layout
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats
from pecli.measures.spectra import COMMON_BASES, LARGEST_LOG, LEVELS, Measured, Spectrum, fit_line, geometric
from pecli.measures.waves import (
    ROUNDINGS,
    Wave,
    as_decimal,
    decimal_exactly,
    rows_between,
    table_keys,
    underflowed,
)  # fmt: skip
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield rotations: of a plain series, else of a scaled one, else of any list of frequencies; and angles."""
    found = False
    for wave in (*evidence.series, *evidence.waves(_scaled)):
        for guess in _rotary(wave, evidence.length):
            found = True
            yield guess
    if not found:
        for wave in evidence.waves(stretches):
            yield from _rotary(wave, evidence.length)
    if evidence.matrix is not None and not evidence.integral:
        yield from _angles(evidence, evidence.matrix)


def _scaled(measured: Measured) -> Iterator[Spectrum]:
    """Yield NTK readings of a series, or scalings whose frequencies are none."""
    plain = list(geometric(measured))
    for spectrum in plain:
        yield from _ntk(measured, spectrum)
    if not plain:
        yield from ramps(measured)


def _rotary(wave: Wave, length: dict[str, str]) -> Iterator[Guess]:
    """Yield the parameters that one explanation stands for."""
    layout = rotary_layout(wave)
    spectrum, m = wave.spectrum, len(wave.lines.resting)
    if layout is None or wave.reading.blank or wave.reading.tail or "shift" in spectrum.keys:
        return
    keys = {"dim": str(2 * m), **spectrum.keys}
    turning = int((~wave.lines.resting).sum())
    if turning < m and not underflowed(wave):
        if "scaling" in keys:
            return
        share = Decimal(turning) / Decimal(m)
        keys |= {"scaling": "proportional", "partial": number_text(share)}
    table = table_keys(wave)
    more_table = {**length, **({} if layout == "split" else {"layout": layout})}
    exchanged = wave.lines.swapped and layout not in ("concat", "sin-cos")
    notes = ("cos and sin are exchanged",) if exchanged else ()
    inverse = 1 / spectrum.step
    slow = table is None or (
        decimal_exactly(inverse) and digits(as_decimal(inverse)) < digits(as_decimal(spectrum.step))
    )
    for more, cost in _magnitudes(wave, keys):
        own, total = {**keys, **more}, spectrum.cost + cost
        rest = (wave.level, notes, exchanged, wave.free, spectrum.listed)
        if slow and wave.step > 0 and not {"scaling", "frequencies"} & keys.keys() and decimal_exactly(inverse):
            start = rows_between(wave, spectrum.step)
            if decimal_exactly(start):
                linear = {"scaling": "linear", "factor": fraction_text(inverse)}
                where = {"start": fraction_text(start)} if start else {}
                yield Guess("rope", {**own, **linear}, {**where, **more_table}, total, *rest)
        if table is not None:
            yield Guess("rope", own, {**table, **more_table}, total, *rest)


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
            yield {"attention-factor": number_text(wave.magnitude)}, float(digits(wave.magnitude))
    elif wave.magnitude == 1 or abs(size - 1) <= loose:
        yield {}, 0.0
    elif scaling == "none" and "frequencies" not in keys:
        given = {
            "scaling": "yarn",
            "factor": "1",
            "original-max": "4096",
            "attention-factor": number_text(wave.magnitude),
        }
        yield given, float(digits(wave.magnitude)) + 2


def _ntk(measured: Measured, found: Spectrum) -> Iterator[Spectrum]:
    """Yield NTK readings of a geometric series whose base is no short number."""
    if "shift" in found.keys or measured.half <= 1:
        return
    base = Decimal(found.keys.get("base", "10000"))
    if digits(base) <= 3:
        return
    line = fit_line(measured.logs, measured.errors, 0, len(measured.steps))
    if not 0 < line.slope * measured.half < LARGEST_LOG:
        return
    exponent = (measured.half - 1) / measured.half
    middle, spread = math.exp(line.slope * measured.half), min(line.slope_error * measured.half, 0.7)
    for common in COMMON_BASES:
        ratio = (middle / float(common)) ** exponent
        factor = shortest(ratio * math.exp(-spread * exponent), ratio * math.exp(spread * exponent))
        if factor <= 1 or digits(factor) > 3:
            continue
        grown = float(common) * float(factor) ** (1 / exponent)
        i = np.arange(len(measured.steps))
        frequencies = np.exp(-i / measured.half * math.log(grown))
        if measured.fits(frequencies, float(found.step)):
            keys = {
                "scaling": "ntk",
                "factor": number_text(factor),
                **({} if common == 10000 else {"base": number_text(common)}),
            }
            cost = digits(factor) + digits(common) + (0 if found.step == 1 else 1)
            yield Spectrum(keys, found.step, frequencies, cost, float(factor))


def _angles(evidence: Evidence, values: Floats) -> Iterator[Guess]:
    """Yield angles that were not reduced: columns that rise evenly, whose frequencies can be read off."""
    rows, width = values.shape
    if rows < 3:
        return
    rise = (values[-1] - values[0]) / (rows - 1)
    line = values[0] + np.outer(np.arange(rows), rise)
    errors = 2 * evidence.resolution * np.maximum(np.abs(values[-1]), np.abs(values[0])) / (rows - 1)
    even = np.abs(values - line) <= 4 * evidence.resolution * np.maximum(np.abs(values), np.abs(rise)) + 1e-300
    if width < 2 or not (rise > 0).all() or not even.all() or (rise == rise[0]).all():
        return
    for level in LEVELS:
        spectra = sorted(_even_more(Measured(rise, errors, float(width)).at(level)), key=lambda s: s.cost)
        for spectrum in spectra[:4]:
            start = round(float(values[0, 0]) / float(rise[0]) * float(spectrum.step))
            table = {"layout": "angles", **evidence.length, **({"start": str(start)} if start else {})}
            table |= {"step": fraction_text(spectrum.step)} if spectrum.step != 1 else {}
            keys = {"dim": str(2 * width), **spectrum.keys}
            if keys.get("scaling") == "yarn":  # angles have no magnitude
                keys["scaling"] = "ntk-by-parts"
            yield Guess("rope", keys, table, spectrum.cost, level, free=("base",))
        if spectra:
            return


def _even_more(measured: Measured) -> Iterator[Spectrum]:
    yield from geometric(measured)
    yield from _scaled(measured)
