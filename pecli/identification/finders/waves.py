"""Identification of tables of turning pairs: sinusoidal and rotary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Waves
from pecli.identification.finders.guesses import Guess
from pecli.identification.finders.ramps import ramps
from pecli.identification.finders.stretches import stretches
from pecli.identification.finders.wave import Wave, placed
from pecli.identification.finders.wave_recipes import guesses
from pecli.measures.arithmetics import Arithmetic, find_arithmetic
from pecli.measures.phase_lines import Lines, phase_lines
from pecli.measures.readings import Reading, readings
from pecli.measures.rhythm import Rhythm, measure
from pecli.measures.samples import Sample
from pecli.measures.spectra import LEVELS, Measured, Spectrum, geometric, ntk, supposed

__all__ = ["Wave", "arithmetic", "guesses", "waves"]

Floats = NDArray[np.float64]
Finder = Callable[[Reading, Rhythm, Lines, str], Iterator[Spectrum]]


def waves(sample: Sample) -> Iterator[Wave]:
    """Yield explanations of a table as sinusoidal or rotary, reading by reading, finest arithmetic first."""
    for reading in readings(sample):
        rhythm = measure(reading.turning, sample.resolution)
        tolerance = 4 * max(sample.resolution, float(np.median(rhythm.scatter)))
        every = phase_lines(rhythm, tolerance)
        for finder in (_ruled, _around, _listed):
            explained = (wave for lines in every for wave in _explain(sample, reading, rhythm, lines, finder))
            found = [wave for wave in explained if next(guesses(wave), None) is not None]
            yield from found
            if found:
                break


def _explain(sample: Sample, reading: Reading, rhythm: Rhythm, lines: Lines, finder: Finder) -> Iterator[Wave]:
    moving = ~lines.still
    turning = int(moving.sum())
    if turning == 0 or not moving[:turning].all():
        return  # pairs that stand still come last, if any
    for level in _levels(sample):
        found = False
        spectra = sorted(finder(reading, rhythm, lines, level), key=lambda s: s.cost)
        for spectrum in [s for s in spectra if (s.frequencies > 0).all()][:12]:
            own = replace(lines, steps=_with_turns(lines, spectrum)) if finder is _around else lines
            wave = placed(sample.resolution, reading, rhythm, own, spectrum, level)
            if wave is not None and wave.misfit() <= 1.0:
                found = True
                yield wave
        if found:
            return


def _with_turns(lines: Lines, spectrum: Spectrum) -> Floats:
    full = lines.steps.copy()
    full[~lines.still] = spectrum.frequencies * float(spectrum.step)
    return full


def _levels(sample: Sample) -> list[str]:
    """Return the arithmetics to consider."""
    return [level for level in LEVELS if level != "float64" or sample.grain == "float64"]


def _measured(reading: Reading, lines: Lines, level: str) -> Iterator[Measured]:
    moving = ~lines.still
    if (lines.steps[moving] <= 0).any():
        return
    for half in _halves(reading, len(moving)):
        yield Measured(lines.steps[moving], lines.errors[moving], half).at(level)


def _ruled(reading: Reading, rhythm: Rhythm, lines: Lines, level: str) -> Iterator[Spectrum]:
    """Yield the rules that give the frequencies."""
    for measured in _measured(reading, lines, level):
        plain = list(geometric(measured, shifts=_shifts(reading)))
        yield from plain
        if _may_rotate(reading):
            for spectrum in plain:
                yield from ntk(measured, spectrum)
            if not plain:
                yield from ramps(measured)


def _around(reading: Reading, rhythm: Rhythm, lines: Lines, level: str) -> Iterator[Spectrum]:
    """Yield usual rules where every pair may have gone around between two rows."""
    if lines.still.any():
        return
    sign = (-1 if lines.swapped else 1) * (-1 if lines.backward else 1)
    errors = 4 * rhythm.errors + LEVELS[level] + 1e-14
    for half in _halves(reading, len(lines.still)):
        yield from supposed(sign * rhythm.steps, errors, half, _shifts(reading))


def _listed(reading: Reading, rhythm: Rhythm, lines: Lines, level: str) -> Iterator[Spectrum]:
    """Yield frequencies of no ramp, for rotary tables."""
    if _may_rotate(reading) and not lines.still.any():
        for measured in _measured(reading, lines, level):
            yield from stretches(measured, level)


def _shifts(reading: Reading) -> tuple[float, ...]:
    return (0.0, 1.0)  # rotary tables with endpoint spacing are RetNet's


def _may_rotate(reading: Reading) -> bool:
    return reading.family == "rotary" or (reading.layout == "cos-sin" and not reading.tail)


def _halves(reading: Reading, m: int) -> list[float]:
    """Return what exponents may be divided by: half the width, by the rules for an odd one."""
    if reading.tail == "sine":
        return [reading.width / 2, (reading.width + 1) / 2]
    return [float(m)]


def arithmetic(wave: Wave, sample: Sample, guess: Guess) -> Arithmetic | None:
    """Return how the values were computed, the frequencies those of the recipe."""
    plan = guess.make("float64").plan
    assert isinstance(plan, Waves)
    m = len(wave.lines.still)
    exact = np.array([float(w) for w in plan.frequencies[:m]])
    parts = wave.reading.first, wave.reading.second
    cos, sin = parts[::-1] if wave.lines.swapped else parts
    positions = _positions(guess, wave)
    return find_arithmetic(positions, exact, float(plan.magnitude), cos, sin, sample.grain)


def _positions(guess: Guess, wave: Wave) -> Floats:
    """Return the positions that a guess gives to the reading's rows."""
    k = np.arange(len(wave.reading.first)) + wave.reading.rows.start
    found: Floats = float(guess.table.get("start", 0)) + float(guess.table.get("step", 1)) * k
    return found
