"""Sinusoids among turning pairs: orders of columns, odd widths, rows of padding."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.measures.wave import Wave, underflowed
from pecli.measures.wave_keys import rows_between, table_keys
from pecli.measures.waves import STEPPED
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import as_decimal, decimal_exactly, digits
from pecli.numbers.text import number_text

ORDERS = {("interleaved", True): "interleaved", ("cos-sin", False): "cos-sin", ("cos-sin", True): "sin-cos"}
"""Of a reading's layout and whether the sines come first, the order of columns."""
ROOT = 16  # decimals of the square root of a width, by which frameworks multiply or divide
TAILS = {"": ("",), "zero": ("pad",), "sine": ("truncate", "round-up")}


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield sinusoids whose frequencies are a geometric series."""
    for wave in evidence.series:
        for keys, table in _of_wave(wave):
            cost = wave.cost + (digits(Decimal(keys["scale"])) if "scale" in keys else 0)
            yield Guess("sinusoidal", keys, {**table, **evidence.length}, cost, wave.level, free=wave.free)


def _of_wave(wave: Wave) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Yield the parameters and the table's keys that one explanation stands for."""
    reading = wave.reading
    order = ORDERS.get((reading.layout, wave.lines.swapped))
    resting = wave.lines.resting.any() and not underflowed(wave)
    if reading.family != "absolute" or order is None or resting:
        return
    keys = {"dim": str(reading.width), "order": order, **wave.spectrum.keys}
    if wave.magnitude != 1:
        root, loose = Decimal(reading.width).sqrt(), Decimal(max(2 * wave.resolution, STEPPED))
        near = (usual for usual in (root, 1 / root) if abs(wave.magnitude / usual - 1) <= loose)
        keys["amplitude"] = number_text(CONTEXT.quantize(next(near, wave.magnitude), Decimal(1).scaleb(-ROOT)))
    if len(reading.blank) == 1:  # more rows of zeros are no padding
        keys["pad-row"] = fraction_text(Fraction(wave.start) + wave.step * reading.blank[0])
    table = table_keys(wave)
    if table is None:  # the step is no decimal: a factor of the position, to more digits than any type has
        start = rows_between(wave, wave.step)
        if wave.lines.backward or not decimal_exactly(start):
            return
        keys["scale"] = str(as_decimal(wave.spectrum.step))
        table = {"start": fraction_text(start)} if start else {}
    for odd in TAILS[reading.tail]:
        yield ({**keys, "odd": odd} if odd else keys), table
