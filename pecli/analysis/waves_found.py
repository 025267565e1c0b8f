"""Identification of tables of turning pairs: sinusoidal and rotary."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.analysis.arithmetics import Arithmetic, find_arithmetic
from pecli.analysis.guesses import Guess
from pecli.analysis.phase_lines import Lines, phase_lines
from pecli.analysis.ramps import ramps
from pecli.analysis.readings import Reading, readings
from pecli.analysis.rhythm import TURN, Rhythm, measure, wrap
from pecli.analysis.samples import Sample
from pecli.analysis.shortest import digits, shortest
from pecli.analysis.spectra import LEVELS, Measured, Spectrum, geometric, ntk, supposed, text
from pecli.analysis.stretches import longrope_magnitude, stretches
from pecli.plan import Waves
from pecli.positions import fraction_text

Floats = NDArray[np.float64]
Finder = Callable[[Reading, Rhythm, Lines, str], Iterator[Spectrum]]

MOST_TURNS = 1 << 20  # of the slowest pair, among which a first position is looked for
ROUNDINGS = {"exact": 0.0, "float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
LEAST_TELLING = 0.2  # share of the values that must say something
CHANCE = 1e-6  # probability of a first position by chance that is believed in
TORCH_SPREAD = 12.0  # roundings of an angle by which a framework's value may be off


@dataclass(frozen=True)
class Wave:
    """One explanation of a table of pairs.

    Attributes
    ----------
    reading, lines, spectrum : Reading, Lines, Spectrum
        What it was read as.
    start : Decimal
        Position of the table's row 0.
    level : str
        The arithmetic within whose error it fits.
    magnitude : Decimal
        Size of the pairs.
    resolution : float
        Of the values, relative.
    """

    reading: Reading
    lines: Lines
    spectrum: Spectrum
    start: Decimal
    level: str
    magnitude: Decimal
    resolution: float

    @property
    def step(self) -> Fraction:
        """Distance of rows, with its sign."""
        return -self.spectrum.step if self.lines.backward else self.spectrum.step

    def positions(self) -> Floats:
        """Positions of the reading's rows."""
        k = np.arange(len(self.reading.first)) + self.reading.rows.start
        return float(self.start) + float(self.step) * k

    def angles(self) -> Floats:
        """Angles of the reading's pairs, (n, m)."""
        m = len(self.lines.still)
        full = np.zeros(m)
        full[~self.lines.still] = self.spectrum.frequencies
        if self.lines.still.any() and _underflowed(self):
            w = self.spectrum.frequencies
            full = w[0] * (w[-1] / w[0]) ** (np.arange(m) / max(1, len(w) - 1))
        return np.outer(self.positions(), full)

    def misfit(self) -> float:
        """Return the largest difference of a value over what its arithmetic may be off by.

        Values whose angle may be off by half a radian say nothing; infinite where too few do.
        """
        angles, size = self.angles(), float(self.magnitude)
        allowed = TORCH_SPREAD * ROUNDINGS[self.level] * (1 + np.abs(angles)) + 1e-15 * (1 + np.abs(angles))
        telling = allowed < 0.5
        if telling.mean() < LEAST_TELLING:
            return math.inf
        first, second = np.cos(angles), np.sin(angles)
        if self.lines.swapped:
            first, second = second, first
        gap = np.maximum(np.abs(first - self.reading.first / size), np.abs(second - self.reading.second / size))
        return float((gap / (allowed + self.resolution * 1.01))[telling].max(initial=0.0))


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


def _explain(
    sample: Sample, reading: Reading, rhythm: Rhythm, lines: Lines, finder: Finder
) -> Iterator[Wave]:
    moving = ~lines.still
    turning = int(moving.sum())
    if turning == 0 or not moving[:turning].all():
        return  # pairs that stand still come last, if any
    for level in _levels(sample):
        found = False
        spectra = sorted(finder(reading, rhythm, lines, level), key=lambda s: s.cost)
        for spectrum in [s for s in spectra if (s.frequencies > 0).all()][:12]:
            own = replace(lines, steps=_with_turns(lines, spectrum)) if finder is _around else lines
            wave = _placed(sample, reading, rhythm, own, spectrum, level)
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


def _placed(
    sample: Sample, reading: Reading, rhythm: Rhythm, lines: Lines, spectrum: Spectrum, level: str
) -> Wave | None:
    """Find the first position for a rule."""
    moving = ~lines.still
    w, phases = spectrum.frequencies, lines.phases[moving]
    step = float(spectrum.step)
    errors = 4 * (rhythm.scatter[moving] + 2 * sample.resolution)
    chain = lines.first * step
    best = _search(w, phases, errors, chain, level)
    if best is None:
        return None
    position, spread = best
    sign = -1 if lines.backward else 1
    row0 = sign * position - (-1 if lines.backward else 1) * step * reading.rows.start
    size = reading.magnitude
    scale = max(sample.resolution / math.sqrt(max(1, reading.first.size)) * 4, 1e-15)
    loose = max(scale, ROUNDINGS[level])
    magnitude = shortest(size * (1 - loose), size * (1 + loose))
    for start in _starts(row0, spread):
        wave = Wave(reading, lines, spectrum, start, level, magnitude, sample.resolution)
        if wave.misfit() <= 1.0:
            return wave
    return None


def _starts(value: float, spread: float) -> list[Decimal]:
    """Return what a first position may be: a whole number, or the shortest decimal."""
    found = [Decimal(round(value))] if abs(value - round(value)) <= spread + 1e-9 * (1 + abs(value)) else []
    short = shortest(value - spread, value + spread)
    if digits(short) <= 12 and short not in found:
        found.append(short)
    return found


def _search(w: Floats, phases: Floats, errors: Floats, chain: float, level: str) -> tuple[float, float] | None:
    """Return the position that explains all first phases, and its uncertainty.

    The chain from slow to fast pairs finds positions within a turn of the
    slowest pair; beyond, whole turns of it are tried, as long as the phases of
    the others can tell a right one from chance.
    """
    def loose(position: float) -> Floats:
        return errors + TORCH_SPREAD * ROUNDINGS[level] * (1 + abs(position) * w)

    position, spread = _refined(w, phases, loose(chain), chain)
    if _agrees(w, phases, loose(position), position):
        return position, spread
    slow = np.argsort(w)[: min(len(w), 8)]
    period = TURN / w[slow[0]]
    most = min(MOST_TURNS, int(2**53 / period))
    while most > 64 and not _certain(loose(most * period), 2 * most):
        most //= 4
    if most <= 64:
        return None
    candidates = phases[slow[0]] / w[slow[0]] + np.arange(-64, most) * period
    tried = len(candidates)
    for j in slow[1:]:
        allowed = errors[j] + w[j] * errors[slow[0]] / w[slow[0]] + ROUNDINGS[level] * np.abs(candidates) * w[j] * 4
        candidates = candidates[np.abs(wrap(phases[j] - candidates * w[j])) <= np.minimum(2 * allowed, 2.0)]
        if len(candidates) <= 256:
            break
    if len(candidates) > 2048 or len(candidates) == tried:
        return None
    for guess in candidates[np.argsort(np.abs(candidates))]:
        position, spread = _refined(w, phases, loose(float(guess)), float(guess))
        if _agrees(w, phases, loose(position), position):
            return position, spread
    return None


def _certain(allowed: Floats, tried: int) -> bool:
    """Whether phases that agree so well among so many positions are no chance."""
    return float(np.log(np.minimum(1.0, 3 * allowed / np.pi)).sum()) + math.log(tried) < math.log(CHANCE)


def _refined(w: Floats, phases: Floats, allowed: Floats, position: float) -> tuple[float, float]:
    """Narrow a position down from slow pairs to fast ones."""
    weight = 0.0
    for i in np.argsort(w):
        rest = float(wrap(np.array([phases[i] - position * w[i]]))[0])
        mine = min((w[i] / allowed[i]) ** 2, 1e100) + 1e-300
        share = mine / (mine + weight)
        position += share * rest / w[i]
        weight += mine
    return position, 1.0 / math.sqrt(weight)


def _agrees(w: Floats, phases: Floats, allowed: Floats, position: float) -> bool:
    rest = np.abs(wrap(phases - position * w))
    return bool((rest <= 3 * allowed).all())


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
    if order is None or (wave.lines.still.any() and not _underflowed(wave)):
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
    if turning < m and not _underflowed(wave):
        if "scaling" in keys:
            return
        share = Decimal(turning) / Decimal(m)
        keys |= {"scaling": "proportional", "partial": text(share)}
    table = _table_keys(wave)
    more_table = {} if layout == "split" else {"layout": layout}
    exchanged = wave.lines.swapped and layout not in ("concat", "sin-cos")
    notes = ("cos and sin are exchanged",) if exchanged else ()
    inverse = 1 / spectrum.step
    slow = table is None or (decimal_exactly(inverse) and digits(as_decimal(inverse)) < digits(as_decimal(spectrum.step)))
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


def _underflowed(wave: Wave) -> bool:
    """Whether the next pairs of the rule would seem to stand still too: rounding hides so slow a turn."""
    w = wave.spectrum.frequencies
    if len(w) < 2 or "scaling" in wave.spectrum.keys:
        return False
    following = w[-1] * (w[-1] / w[-2])
    positions = wave.positions()
    span, last = float(np.ptp(positions)), float(np.abs(positions).max())
    return bool(following * span < 4 * wave.resolution * min(1.0, following * last) or following * last < 2.0**-24)


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
    return float(guess.table.get("start", 0)) + float(guess.table.get("step", 1)) * k
