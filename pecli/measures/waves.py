"""The search for what turning pairs are: a rule for the frequencies, an arithmetic, and where the rows begin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pecli.measures.computing import spacing
from pecli.measures.phase_lines import Lines, phase_lines, sharpened
from pecli.measures.placing import ROUNDINGS, position_of, whole_position
from pecli.measures.readings import Reading
from pecli.measures.rhythm import Rhythm
from pecli.measures.samples import rounded
from pecli.measures.spectra import LEVELS, SAFETY, SHORT, Measured, Spectrum, gone_around, series
from pecli.measures.wave import NARROW, Wave
from pecli.numbers.shortest import as_decimal, decimal_exactly, digits, shortest

Floats = NDArray[np.float64]
Rule = Callable[[Measured], Iterator[Spectrum]]
"""What frequencies may be, of those that were measured."""

LEAST_ROWS = 8  # that show frequencies of a narrow arithmetic
MOST_RULES = 12  # of one arithmetic that are placed: the cheapest
TELLING = 4  # pairs that are cosines and sines in one way alone

SHOWN = 0.9  # share of the pairs that must show the frequency of a narrow type
SHARP = 0.4  # share of the pairs whose frequency must be known to less than half a unit
ROUNDED_TWICE = 1 + 2.0**-10  # half a unit of a narrow type, of numbers that were rounded to float32 before
STEPPED = 2.0**-22  # what multiplying in float32 may change of a size
WHOLE = 1e-9  # relative difference of a position from a whole number that computing it leaves
BIASED = 1 / 16  # of half a unit of a value: what roundings of few different values may add up to
PLAIN = 2  # digits of a size that is hardly met by chance
FINE = ("exact", "float64")
CHOSEN = 7.0  # digits of a rule that need no other reading of the rows: a base of six alone
OF_LINE = 2.0  # times what a line's slope may be off by over all rows, for its beginning: three standard errors
CUT = 2  # half units of a type by which values that were cut to it, not rounded, may be shorter: all of one


def explain(reading: Reading, grain: str, rule: Rule, *, around: bool = False) -> Iterator[Wave]:
    """Yield what a reading may be by a rule, the finest arithmetic that explains it alone.

    Parameters
    ----------
    reading : Reading
    grain : str
        The type that holds the values.
    rule : callable
        What the frequencies may be.
    around : bool
        Try usual series for pairs that may all have gone around between two rows, instead of the rule.
    """
    rhythm = reading.rhythm
    tolerance = 4 * max(reading.resolution, float(np.median(rhythm.scatter)))
    settled = False
    for lines in _each(phase_lines(rhythm, tolerance), rhythm):
        moving = ~lines.resting
        turning = int(moving.sum())
        if turning == 0 or not moving[:turning].all():
            continue  # pairs that rest come last, if any
        told = False
        for level in LEVELS:
            few = around or len(reading.first) < LEAST_ROWS
            if (level == "float64" and grain != "float64") or (level in NARROW and few):
                continue
            found, dear = False, True
            spectra = list(_around(reading, rhythm, lines, level) if around else _ruled(reading, lines, level, rule))
            sharper = _sharper(reading, lines, level, rule, spectra) if level in NARROW else []
            for ways in (sharper, _cheapest((spectrum, None) for spectrum in spectra)):
                for wave in _each_placed(reading, rhythm, lines, level, ways, around=around, far=ways is sharper):
                    found, dear = True, dear and wave.cost >= CHOSEN
                    settled = settled or (level not in NARROW and not dear)
                    yield wave
                if found:
                    break
            told = told or found
            if dear and level in FINE:  # float32 may have made many digits of a number of few
                continue
            if told and level != "float16":  # what fits either narrow type may be of the other
                break
        if settled and turning >= TELLING:
            return


def _each(ways: Iterable[Lines], rhythm: Rhythm) -> Iterator[Lines]:
    """Yield lines with the steps that the turns since position 0 tell, where they are many; then as the rows do."""
    for lines in ways:
        better = sharpened(lines, rhythm)
        if better is not None:
            yield better
        yield lines


def _each_placed(
    reading: Reading,
    rhythm: Rhythm,
    lines: Lines,
    level: str,
    ways: list[tuple[Spectrum, Floats | None]],
    *,
    around: bool,
    far: bool,
) -> Iterator[Wave]:
    """Yield the waves of rules whose first position is found."""
    for spectrum, used in ways:
        own = replace(lines, steps=_with_turns(lines, spectrum)) if around else lines
        given = [rounded(spectrum.frequencies, level), None] if level in NARROW and used is None else [used]
        tried = (list(_placed(reading, rhythm, own, spectrum, level, used, far=far or used is None)) for used in given)
        yield from next((waves for waves in tried if waves), ())


def _ruled(reading: Reading, lines: Lines, level: str, rule: Rule) -> Iterator[Spectrum]:
    moving = ~lines.resting
    if (lines.steps[moving] > 0).all():
        for half in _halves(reading, len(moving)):
            yield from rule(Measured(lines.steps[moving], lines.errors[moving], half).at(level))


def _around(reading: Reading, rhythm: Rhythm, lines: Lines, level: str) -> Iterator[Spectrum]:
    if lines.resting.any():
        return
    sign = (-1 if lines.swapped else 1) * (-1 if lines.backward else 1)
    errors = 4 * rhythm.errors + LEVELS[level] + 1e-14
    for half in _halves(reading, len(lines.resting)):
        yield from gone_around(sign * rhythm.steps, errors, half)


def _cheapest(ways: Iterable[tuple[Spectrum, Floats | None]]) -> list[tuple[Spectrum, Floats | None]]:
    return sorted((way for way in ways if (way[0].frequencies > 0).all()), key=lambda way: way[0].cost)[:MOST_RULES]


def _sharper(
    reading: Reading, lines: Lines, level: str, rule: Rule, coarse: list[Spectrum]
) -> list[tuple[Spectrum, Floats | None]]:
    """Return rules for frequencies that were rounded to a narrow type and nothing else was, with these frequencies.

    The pairs then turn by numbers of that type, which show, and what each was rounded from lies half a unit from it.
    """
    moving = ~lines.resting
    steps, errors = lines.steps[moving], SAFETY * lines.errors[moving] + STEPPED * lines.steps[moving]
    found: dict[str, tuple[Spectrum, Floats | None]] = {}
    for by in dict.fromkeys([Fraction(1), *(s.step for s in coarse)]):  # frequencies divided before, or positions
        held = rounded(steps / float(by), level)
        half = spacing(held, level) / 2 * ROUNDED_TWICE
        sharp = errors < half * float(by) / 2
        shown = (np.abs(held * float(by) - steps) <= errors) & (held > 0)
        if not (coarse and sharp.mean() >= SHARP and shown[sharp].mean() >= SHOWN):
            continue
        bounds = np.where(sharp, half / held, errors / steps + half / held)
        for width in _halves(reading, len(moving)):
            for spectrum in rule(Measured(np.where(sharp, held * float(by), steps), bounds, width)):
                share = float(by / spectrum.step)
                used = np.where(sharp, held, rounded(spectrum.frequencies / share, level)) * share
                found.setdefault(f"{spectrum.step}{spectrum.keys}", (spectrum, used))
    return _cheapest(found.values())


def _with_turns(lines: Lines, spectrum: Spectrum) -> Floats:
    full = lines.steps.copy()
    full[~lines.resting] = spectrum.frequencies * float(spectrum.step)
    return full


def _halves(reading: Reading, m: int) -> list[float]:
    """Return what exponents may be divided by: half the width, by the rules for an odd one."""
    if reading.tail == "sine":
        return [reading.width / 2, (reading.width + 1) / 2]
    return [float(m)]


def in_series(reading: Reading, grain: str) -> tuple[Wave, ...]:
    """Return the readings of frequencies as a geometric series; usual ones where every pair has gone around."""
    found = tuple(explain(reading, grain, series))
    return found or tuple(explain(reading, grain, series, around=True))


def _placed(
    reading: Reading,
    rhythm: Rhythm,
    lines: Lines,
    spectrum: Spectrum,
    level: str,
    used: Floats | None,
    *,
    far: bool,
) -> Iterator[Wave]:
    """Yield first positions for a rule, whose frequencies may have been rounded to a narrow type."""
    moving, resolution = ~lines.resting, reading.resolution
    w, phases = spectrum.frequencies if used is None else used, lines.phases[moving]
    if not (w > 0).all() or _made_up(spectrum):
        return
    step = float(spectrum.step)
    errors = 4 * (rhythm.scatter[moving] + 2 * resolution)
    chain = lines.first * step
    kind = level if used is None else "float32"
    found = [position_of(w, phases, errors, chain, kind, far=far)]
    if far and (found[0] is None or not _near_whole(*found[0])):
        fitted = rhythm.rows * rhythm.errors[moving] * OF_LINE  # of a line through all rows: less than one row's
        found.append(whole_position(w, phases, np.minimum(errors, fitted), kind))
    sign = -1 if lines.backward else 1
    size = reading.magnitude
    scale = max(resolution / math.sqrt(max(1, reading.first.size)) * 4, 1e-15)
    loose = max(scale, min(ROUNDINGS[level], STEPPED))  # narrow angles leave a cosine and a sine of one angle
    one = 1 - CUT * resolution <= size <= 1 + resolution  # values cut to a narrow type are shorter by so much
    magnitude = Decimal(1) if one else _size(size, loose, resolution * BIASED)
    for position, spread in (one for one in found if one is not None):
        row0 = sign * position - sign * step * reading.rows.start
        waves = (
            Wave(reading, lines, spectrum, start, level, magnitude, used=used)
            for start in _starts(row0, spread, spectrum.step)
        )
        yield from islice((wave for wave in waves if wave.misfit() <= 1.0), 1)


def _size(size: float, loose: float, biased: float) -> Decimal:
    """Return what a size is, to the precision of all values; one of two digits where their roundings may lean so."""
    short = shortest(size * (1 - biased), size * (1 + biased))
    return short if digits(short) <= PLAIN else shortest(size * (1 - loose), size * (1 + loose))


def _near_whole(position: float, spread: float) -> bool:
    return abs(position - round(position)) <= spread + WHOLE * (1 + abs(position))


def _made_up(spectrum: Spectrum) -> bool:
    """Whether a base and a step that nobody would choose were made of two frequencies, as they can be of any two."""
    steps = [as_decimal(step) for step in (spectrum.step, 1 / spectrum.step) if decimal_exactly(step)]
    long_step = all(digits(step) > SHORT for step in steps)
    long_base = digits(Decimal(spectrum.keys.get("base", "10000"))) > SHORT
    return long_step + long_base >= len(spectrum.frequencies)


def _starts(value: float, spread: float, step: Fraction) -> list[Decimal]:
    """Return what a first position may be: a whole number, a whole number of steps, or the shortest decimal."""
    loose = spread + WHOLE * (1 + abs(value))
    steps = Fraction(round(value / float(step))) * step
    found = [Decimal(round(value))] if _near_whole(value, spread) else []
    if abs(value - float(steps)) <= loose:
        found.append(as_decimal(steps) if decimal_exactly(steps) else Decimal(steps.numerator) / steps.denominator)
    short = shortest(value - spread, value + spread)
    if digits(short) <= 12:
        found.append(short)
    return list(dict.fromkeys(found))
