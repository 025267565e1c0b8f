"""Rotations among turning pairs: plain series, NTK's, ramps, lists of frequencies, and the size of the pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pecli.declare.guess import Guess
from pecli.declare.hooks import load
from pecli.encodings.rotary.rope.ramps import NICE, PairSize, suspected
from pecli.encodings.rotary.rope.scalings import SCALINGS, scaling_of
from pecli.encodings.shared.angles import angles, resting_keys
from pecli.encodings.shared.vectors import rules_of, vectors
from pecli.encodings.shared.waves import rotary_layout
from pecli.measures.evidence import Evidence
from pecli.measures.parts import Lone
from pecli.measures.spectra import LEVELS, Measured, Spectrum, geometric
from pecli.measures.wave import NARROW, Wave, underflowed
from pecli.measures.wave_keys import rows_between, table_keys
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import as_decimal, decimal_exactly, digits, shortest  # fmt: skip
from pecli.numbers.text import join_list

FITTED = ("attention-factor", "factor", "original-max")  # numbers of scalings that the values may leave a range
MOST = 4  # rules for a part of rotations
COARSEST = 2.0**-15  # relative error of frequencies that are worth listing


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield rotations: of a plain series, else of a scaled one, else of any list of frequencies; and angles."""
    found = False
    for wave in (*evidence.series, *evidence.waves(_scaled)):
        for guess in _rotary(wave, evidence.length):
            found = True
            yield guess
    if not found:
        for wave in evidence.waves(_listed):
            yield from _rotary(wave, evidence.length)
    for part in evidence.lone:
        yield from _alone(part, evidence.length)
    yield from vectors("rope", evidence, _even_more, {}, fitted=FITTED, accept=_usual)
    yield from angles("rope", evidence, _even_more, {})


def _usual(spectrum: Spectrum, spoiled: bool) -> bool:
    """Whether somebody may have chosen a length: one number less, and an unusual one makes up for it."""
    return not spoiled or int(spectrum.keys.get("original-max", NICE[0])) in NICE


def _alone(part: Lone, length: dict[str, str]) -> Iterator[Guess]:
    """Yield what one part of rotations may be a part of."""
    notes = (f"the {part.part} alone of a rotary table",)
    loose = max(2.0**-20, part.reading.resolution)
    single = part.reading.resolution > LEVELS["float64"]
    for spectrum in rules_of(part.measured, _even_more, MOST, single=single) or list(_listed(part.measured)):
        start, inverse = part.start(spectrum.frequencies, spectrum.step), 1 / spectrum.step
        if start is None:
            continue
        keys = {"dim": str(2 * part.reading.first.shape[1]), **spectrum.keys}
        table = {**length, "layout": part.reading.layout}
        if inverse > 1 and decimal_exactly(inverse) and (start * inverse).denominator == 1 and "scaling" not in keys:
            keys |= {"scaling": "linear", "factor": fraction_text(inverse)}
            start *= inverse
        elif spectrum.step != 1:
            table["step"] = fraction_text(spectrum.step)
        if not decimal_exactly(start):
            continue
        table |= {"start": fraction_text(start)} if start else {}
        size = shortest(part.size * (1 - loose), part.size * (1 + loose))
        for more, cost in _sized(keys, PairSize(size, part.size, loose, spectrum.factor)):
            for rest in _resting(part, keys):
                own = {**keys, **more, **rest}
                free = ("base", *(key for key in FITTED if key in own))
                alone = Guess("rope", own, table, spectrum.cost + cost, notes=notes, free=free, arrays=(part.part,),
                              listed=spectrum.listed)  # fmt: skip
                yield alone
                yield replace(alone, table={**table, "arithmetic": "float32"}, cost=alone.cost + 1)


def _resting(part: Lone, keys: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield the parameters of pairs that all turn, then of those of which some do not, where columns stand still."""
    yield {}
    columns, turning = part.reading.first, len(part.measured.steps)
    still = columns[:, turning:] == (part.size if part.part == "cos" else 0.0)
    if still.size and still.all() and "scaling" not in keys:
        yield resting_keys(turning, columns.shape[1])


def _scaled(measured: Measured) -> Iterator[Spectrum]:
    """Yield what the scalings tell from a series, or from frequencies that are none."""
    seen = suspected(measured, tuple(geometric(measured)))
    for scaling in SCALINGS.values():
        if scaling.spectra is not None:
            yield from load(scaling.spectra, "")(seen)


def _listed(measured: Measured) -> Iterator[Spectrum]:
    """Yield what stands for the pairs one by one: a scaling's lists, then plain lists of frequencies."""
    for scaling in SCALINGS.values():
        if scaling.lists is not None:
            yield from load(scaling.lists, "")(measured)
    if (measured.errors < COARSEST).all():
        listed = [shortest(w * (1 - e), w * (1 + e)) for w, e in zip(measured.steps, measured.errors / 4, strict=True)]
        frequencies = np.array([float(w) for w in listed])
        yield Spectrum({"frequencies": join_list(listed, "+")}, Fraction(1), frequencies, 100.0, listed=True)


def _rotary(wave: Wave, length: dict[str, str]) -> Iterator[Guess]:
    """Yield the parameters that one explanation stands for."""
    layout = rotary_layout(wave)
    spectrum, m = wave.spectrum, len(wave.lines.resting)
    padded = wave.reading.blank and wave.reading.family == "absolute"
    if layout is None or padded or wave.reading.tail or "shift" in spectrum.keys:
        return
    keys = {"dim": str(2 * m), **spectrum.keys}
    turning = int((~wave.lines.resting).sum())
    if turning < m and not underflowed(wave):
        if "scaling" in keys:
            return
        keys |= resting_keys(turning, m)
    table = table_keys(wave)
    more_table = {**length, **({} if layout == "split" else {"layout": layout})}
    exchanged = wave.lines.swapped and layout not in ("concat", "sin-cos")
    notes = ("cos and sin are exchanged",) if exchanged else ()
    linear = None if {"scaling", "frequencies"} & keys.keys() else _interpolated(wave)
    for more, cost in _magnitudes(wave, keys):
        own, total = {**keys, **more}, spectrum.cost + cost
        by_base = "scaling" in own and scaling_of(own["scaling"]).by_base  # factor and base are one number
        free = (*(() if by_base else wave.free), *(key for key in FITTED if key in own))
        rest = (wave.level, notes, exchanged, free, spectrum.listed)
        if linear is not None:
            scaled, where = linear
            yield Guess("rope", {**own, **scaled}, {**where, **more_table}, total, *rest)
        if table is not None:
            yield Guess("rope", own, {**table, **more_table}, total, *rest)


def _interpolated(wave: Wave) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return a step below 1 as linear scaling: its keys and the table's; None where a step is the shorter text."""
    step = wave.step
    if step <= 0 or not decimal_exactly(1 / step):
        return None
    start = rows_between(wave, step)
    if not decimal_exactly(start):
        return None
    scaled, plain = ((as_decimal(1 / step), as_decimal(start)), (as_decimal(step), wave.start))
    shorter = sum(map(digits, scaled)) <= sum(map(digits, plain))
    if decimal_exactly(step) and not (step < 1 and (shorter or wave.level in NARROW)):
        return None
    return (
        {"scaling": "linear", "factor": fraction_text(1 / step)},
        {"start": fraction_text(start)} if start else {},
    )


def _magnitudes(wave: Wave, keys: dict[str, str]) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the parameters that give the size of the pairs."""
    loose = max(2.0**-20, wave.resolution)
    return _sized(keys, PairSize(wave.magnitude, wave.reading.magnitude, loose, wave.spectrum.factor))


def _sized(keys: dict[str, str], size: PairSize) -> Iterator[tuple[dict[str, str], float]]:
    sizes = None if "frequencies" in keys else scaling_of(keys.get("scaling", "none")).sizes
    if sizes is not None:
        yield from load(sizes, "")(size)
    elif size.near(1.0):
        yield {}, 0.0


def _even_more(measured: Measured) -> Iterator[Spectrum]:
    yield from geometric(measured)
    yield from _scaled(measured)
