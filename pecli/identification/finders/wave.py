"""One explanation of a table of turning pairs: where it starts, how far its values may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.measures.phase_lines import Lines
from pecli.measures.readings import Reading
from pecli.measures.rhythm import TURN, Rhythm, wrap
from pecli.measures.spectra import Spectrum
from pecli.numbers.shortest import digits, shortest

Floats = NDArray[np.float64]

MOST_TURNS = 1 << 20  # of the slowest pair, among which a first position is looked for
ROUNDINGS = {"exact": 0.0, "float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
ENOUGH = 64  # pairs that settle a position
LEAST_TELLING = 0.2  # share of the values that must say something
CHANCE = 1e-6  # probability of a first position by chance that is believed in
SPREAD = 12.0  # roundings of an angle by which a framework's value may be off


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
        found: Floats = float(self.start) + float(self.step) * k
        return found

    def angles(self) -> Floats:
        """Angles of the reading's pairs, (n, m)."""
        m = len(self.lines.still)
        full = np.zeros(m)
        full[~self.lines.still] = self.spectrum.frequencies
        if self.lines.still.any() and underflowed(self):
            w = self.spectrum.frequencies
            full = w[0] * (w[-1] / w[0]) ** (np.arange(m) / max(1, len(w) - 1))
        found: Floats = np.outer(self.positions(), full)
        return found

    def misfit(self) -> float:
        """Return the largest difference of a value over what its arithmetic may be off by.

        Values whose angle may be off by half a radian say nothing; infinite where too few do.
        """
        angles, size = self.angles(), float(self.magnitude)
        allowed = SPREAD * ROUNDINGS[self.level] * (1 + np.abs(angles)) + 1e-15 * (1 + np.abs(angles))
        telling = allowed < 0.5
        if telling.mean() < LEAST_TELLING:
            return math.inf
        first, second = np.cos(angles), np.sin(angles)
        if self.lines.swapped:
            first, second = second, first
        gap = np.maximum(np.abs(first - self.reading.first / size), np.abs(second - self.reading.second / size))
        return float((gap / (allowed + self.resolution * 1.01))[telling].max(initial=0.0))


def underflowed(wave: Wave) -> bool:
    """Whether the next pairs of the rule would seem to stand still too: rounding hides so slow a turn."""
    w = wave.spectrum.frequencies
    if len(w) < 2 or "scaling" in wave.spectrum.keys:
        return False
    following = w[-1] * (w[-1] / w[-2])
    positions = wave.positions()
    span, last = float(np.ptp(positions)), float(np.abs(positions).max())
    return bool(following * span < 4 * wave.resolution * min(1.0, following * last) or following * last < 2.0**-24)


def placed(
    resolution: float, reading: Reading, rhythm: Rhythm, lines: Lines, spectrum: Spectrum, level: str
) -> Wave | None:
    """Find the first position for a rule."""
    moving = ~lines.still
    w, phases = spectrum.frequencies, lines.phases[moving]
    step = float(spectrum.step)
    errors = 4 * (rhythm.scatter[moving] + 2 * resolution)
    chain = lines.first * step
    best = _search(w, phases, errors, chain, level)
    if best is None:
        return None
    position, spread = best
    sign = -1 if lines.backward else 1
    row0 = sign * position - (-1 if lines.backward else 1) * step * reading.rows.start
    size = reading.magnitude
    scale = max(resolution / math.sqrt(max(1, reading.first.size)) * 4, 1e-15)
    loose = max(scale, ROUNDINGS[level])
    magnitude = shortest(size * (1 - loose), size * (1 + loose))
    for start in _starts(row0, spread):
        wave = Wave(reading, lines, spectrum, start, level, magnitude, resolution)
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
        return errors + SPREAD * ROUNDINGS[level] * (1 + abs(position) * w)

    position, spread = _refined(w, phases, loose(chain), np.array([chain]))
    if _agrees(w, phases, loose(float(position[0])), position)[0]:
        return float(position[0]), spread
    slow = np.argsort(w)[:8]
    period = TURN / w[slow[0]]
    most = min(MOST_TURNS, int(2**53 / period))
    while most > 64 and not _certain(loose(most * period), 2 * most):
        most //= 4
    if most <= 64:
        return None
    candidates = phases[slow[0]] / w[slow[0]] + np.arange(-64, most) * period
    tried = len(candidates)
    for i in slow[1:]:
        allowed = errors[i] + w[i] * errors[slow[0]] / w[slow[0]] + ROUNDINGS[level] * np.abs(candidates) * w[i] * 4
        candidates = candidates[np.abs(wrap(phases[i] - candidates * w[i])) <= np.minimum(2 * allowed, 2.0)]
        if len(candidates) <= 256:
            break
    if not 0 < len(candidates) <= 2048 or len(candidates) == tried:
        return None
    farthest = loose(float(np.abs(candidates).max()))
    refined, spread = _refined(w, phases, farthest, candidates)
    good = refined[_agrees(w, phases, farthest, refined)]
    return (float(good[np.abs(good).argmin()]), spread) if len(good) else None


def _certain(allowed: Floats, tried: int) -> bool:
    """Whether phases that agree so well among so many positions are no chance."""
    return float(np.log(np.minimum(1.0, 3 * allowed / np.pi)).sum()) + math.log(tried) < math.log(CHANCE)


def _refined(w: Floats, phases: Floats, allowed: Floats, positions: Floats) -> tuple[Floats, float]:
    """Narrow positions down from slow pairs to fast ones; of very many pairs some suffice."""
    order = np.argsort(w)
    if len(order) > ENOUGH:
        order = order[np.linspace(0, len(order) - 1, ENOUGH).astype(int)]
    weight = 0.0
    for i in order:
        mine = min((w[i] / allowed[i]) ** 2, 1e100) + 1e-300
        weight += mine
        positions = positions + mine / weight * wrap(phases[i] - positions * w[i]) / w[i]
    return positions, 1.0 / math.sqrt(weight)


def _agrees(w: Floats, phases: Floats, allowed: Floats, positions: Floats) -> NDArray[np.bool_]:
    """Whether the phases of all pairs are those of each position."""
    rest = np.abs(wrap(phases - positions[:, None] * w))
    return np.asarray((rest <= 3 * allowed).all(axis=1))
