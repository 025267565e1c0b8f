"""Phases, scores and neighbours of rotating pairs beyond the training length.

Training on positions 0 .. T-1 is taken to show a frequency w the arc of the
circle from 0 up to T w, the whole circle where T w reaches a turn: a position
stands for the step to the next, and what lies between two phases that were seen
counts as seen.  A test position p is *outside* where the phase p w mod 2 pi
lies beyond that arc.  Frequencies are fractions of a turn in 256-bit integers,
so that the count over any number of positions is exact, in closed form.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from pecli.numbers.decimals import CONTEXT, PI, TAU
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe

TURN = 1 << 256
TAU_UNIT = 10**110
TAU_INTEGER = int(CONTEXT.multiply(TAU, Decimal(TAU_UNIT)))


@dataclass(frozen=True)
class Coverage:
    """Coverage of one frequency beyond its training length.

    Attributes
    ----------
    index : int
        Of the pair, 0 the first column.
    frequency : float
        Radians per position at the test length.
    trained : float
        Radians per position in training; another one where a scaling is added for the test.
    wavelength : float
        Positions per turn at the test length; infinite for a frequency of 0.
    turns : float
        Turns made in training.
    seen : float
        Share of the circle that training showed.
    unseen : float
        Further share of the circle that the test length reaches.
    outside : int
        Test positions (T .. M-1) whose phase was never seen.
    first : int or None
        The first of them.
    """

    index: int
    frequency: float
    trained: float
    wavelength: float
    turns: float
    seen: float
    unseen: float
    outside: int
    first: int | None


def cover(frequencies: Sequence[Decimal], train: int, test: int, trained: Sequence[Decimal]) -> tuple[Coverage, ...]:
    """Return the coverage of each frequency.

    Parameters
    ----------
    frequencies : sequence of Decimal
        At the test length, radians per position.
    train, test : int
        Lengths: positions 0 .. train-1 were seen, train .. test-1 are new.
    trained : sequence of Decimal
        Frequencies in training.
    """
    pairs = enumerate(zip(frequencies, trained, strict=True))
    return tuple(_cover_one(i, *both, train, test) for i, both in pairs)


def critical_dimension(frequencies: Sequence[Decimal], train: int) -> int:
    """Return twice the number of pairs that make a whole turn in training.

    For w_i = base^(-2i/d) that is 2 ceil((d/2) log_base(T / 2 pi)): Liu et al.
    2023, arXiv:2310.05209, section 4.
    """
    return 2 * sum(CONTEXT.multiply(abs(w), Decimal(train)) > TAU for w in frequencies)


def _cover_one(index: int, new: Decimal, old: Decimal, train: int, test: int) -> Coverage:
    step, seen_step = turn_fraction(new), turn_fraction(old)
    arc = min(train * min(seen_step, TURN - seen_step), TURN)
    reach = min(test * min(step, TURN - step), TURN)
    if seen_step > TURN // 2:  # more than half a turn a position is, at whole positions, less than that backwards
        step = (TURN - step) % TURN
    outside = _outside(train, test, step, arc)
    return Coverage(
        index=index, frequency=float(new), trained=float(old),
        wavelength=float(CONTEXT.divide(TAU, abs(new))) if new else float("inf"),
        turns=float(CONTEXT.divide(CONTEXT.multiply(abs(old), Decimal(train)), TAU)),
        seen=arc / TURN, unseen=max(0, reach - arc) / TURN, outside=outside,
        first=_first(train, test, step, arc) if outside else None,
    )  # fmt: skip


def turn_fraction(frequency: Decimal) -> int:
    """Return radians as a fraction of a turn in units of 2^-256, modulo one turn."""
    numerator, denominator = frequency.as_integer_ratio()
    return (numerator * TURN * TAU_UNIT // (denominator * TAU_INTEGER)) % TURN


def _outside(train: int, test: int, step: int, arc: int) -> int:
    """Return how many of the positions train .. test-1 have a phase of `arc` or more."""
    if arc >= TURN:
        return 0
    if test * step <= TURN:  # no wrap: from some position on
        return max(0, test - max(train, -(-arc // step))) if step else 0
    return (test - train) - (_inside(test, step, arc) - _inside(train, step, arc))


def _inside(count: int, step: int, arc: int) -> int:
    """Return how many p below `count` have p step mod TURN < arc.

    With p step = q TURN + r the difference of floor(p step / TURN) and
    floor((p step - arc) / TURN) is 1 where r < arc, and 0 elsewhere.
    """
    return floor_sum(count, TURN, step, 0) - floor_sum(count, TURN, step, -arc)


def floor_sum(count: int, modulus: int, slope: int, offset: int) -> int:
    """Return the sum of floor((slope p + offset) / modulus) for p = 0 .. count-1, by Euclid's algorithm."""
    total, sign = 0, 1
    while count > 0:
        whole, slope = divmod(slope, modulus)
        total += sign * whole * (count * (count - 1) // 2)
        whole, offset = divmod(offset, modulus)
        total += sign * whole * count
        top = slope * (count - 1) + offset
        rows = top // modulus
        if rows == 0:
            break
        # Count the lattice points under the line by rows instead of by columns: all of the
        # rectangle, less those to the left of the line.
        total += sign * rows * count
        sign = -sign
        count, modulus, slope, offset = rows, slope, modulus, modulus - offset - 1 + slope
    return total


def _first(train: int, test: int, step: int, arc: int) -> int:
    """Return the first position of train .. test-1 whose phase was not seen; there is one."""
    # the count of those up to a position grows with it
    return train + bisect_left(range(train, test), 1, key=lambda p: _outside(train, p + 1, step, arc))


LARGEST = float(CONTEXT.ln(Decimal("1e30")))
# Distances at which a curve is sampled.
CURVE = 240


@dataclass(frozen=True)
class Curve:
    """A value at growing distances."""

    distances: tuple[int, ...]
    values: tuple[float, ...]

    def at(self, distance: int) -> float:
        """Return the value at the nearest distance that was sampled."""
        near = min(range(len(self.distances)), key=lambda i: abs(self.distances[i] - distance))
        return self.values[near]


@dataclass(frozen=True)
class WaveReach:
    """Coverage of a set of frequencies between two lengths.

    Attributes
    ----------
    pairs : tuple of Coverage
    columns : int
        Twice the number of pairs.
    critical_dimension : int
        Columns whose pair makes a whole turn in training.
    inside : float
        Share of the phases of the new positions, over all pairs, that training showed.
    magnitude : float
        Factor of cos and sin at the test length.
    resolution : float
        How far neighbouring positions are apart: root mean square of 2 sin(w/2) over the pairs.
    resolution_kept : float
        The same as a share of what it is in training.
    smallest_factor : float or None
        Least factor by which all frequencies must be divided to bring no unseen phase; None where that is not known.
    smallest_base : float or None
        Least base that does so where frequencies are powers of a base; None where no base does that is allowed.
    score : Curve
        Mean over the pairs of cos(D w) times the magnitude squared: the product of a query and a key of
        ones, turned, at distance D (for a sinusoidal table, of two of its rows).
    """

    pairs: tuple[Coverage, ...]
    columns: int
    critical_dimension: int
    inside: float
    magnitude: float
    resolution: float
    resolution_kept: float
    smallest_factor: float | None
    smallest_base: float | None
    score: Curve


def wave_reach(
    plan: Waves, train: int, test: int, trained: Waves | None = None, base: Decimal | None = None
) -> WaveReach:
    """Return the coverage of a plan's frequencies between two lengths.

    Parameters
    ----------
    plan : Waves
        At the test length.
    trained : Waves, optional
        In training (default: the same).
    base : Decimal, optional
        Where the frequencies in training are powers of one base.
    """
    old = trained or plan
    frequencies, seen = plan.frequencies, old.frequencies
    pairs = cover(frequencies, train, test, seen)
    fine, before = _resolution(frequencies), _resolution(seen)
    outside = sum(pair.outside for pair in pairs) / (max(1, len(pairs)) * (test - train))
    return WaveReach(
        pairs, columns=2 * len(pairs), critical_dimension=critical_dimension(seen, train), inside=1.0 - outside,
        magnitude=float(plan.magnitude), resolution=fine,
        resolution_kept=fine / before if before else 1.0, smallest_factor=smallest_factor(pairs, train, test),
        smallest_base=smallest_base(seen, base, train, test),
        score=score(frequencies, float(plan.magnitude), train, test),
    )  # fmt: skip


def smallest_factor(pairs: Sequence[Coverage], train: int, test: int) -> float | None:
    """Return the least divisor of all frequencies that keeps every phase inside.

    A pair that made no whole turn in training reaches T w; at the test length
    it reaches M w / f.  One that did is inside at any speed.  Half a turn a
    position and more is seen as less than that backwards, and stays there for
    no divisor that is known.
    """
    open_pairs = [pair for pair in pairs if pair.seen < 1 and pair.frequency]
    if any(abs(w) > math.pi for pair in open_pairs for w in (pair.frequency, pair.trained)):
        return None
    return max([1.0, *(test * pair.frequency / (train * pair.trained) for pair in open_pairs)])


def smallest_base(frequencies: Sequence[Decimal], base: Decimal | None, train: int, test: int) -> float | None:
    """Return the least base with which w_i = w_0 base^(-e_i) brings no unseen phase, None where no base does.

    The first pair without a whole turn in training binds: it must slow down by
    test/train, and with it base^e; every slower pair then slows down by more.
    """
    whole = critical_dimension(frequencies, train) // 2
    if base is None or base <= 1 or not frequencies or abs(frequencies[0]) > PI:
        return None
    rest = [w for w in frequencies[whole:] if w]
    if not rest:
        return float(base)
    exponent = float(CONTEXT.divide(CONTEXT.ln(CONTEXT.divide(frequencies[0], rest[0])), CONTEXT.ln(base)))
    if exponent <= 0:
        return None
    logarithm = float(CONTEXT.ln(base)) + math.log(test / train) / exponent
    return math.exp(logarithm) if logarithm < LARGEST else None


def score(frequencies: Sequence[Decimal], magnitude: float, train: int, test: int) -> Curve:
    """Return the mean of cos(D w), times the magnitude squared, at distances up to `test` - 1."""
    distances = sorted({*sample(test), train - 1, train})
    steps = [turn_fraction(w) for w in frequencies]
    # Whole numbers reduce the phase without loss, whatever the distance; 53 bits of it are left for the cosine.
    phases = np.array([[(d * step % TURN) >> 192 for step in steps] for d in distances], np.float64)
    values = np.cos(phases * (2 * np.pi / 2.0**64)).mean(1) * magnitude**2 if steps else np.zeros(len(distances))
    return Curve(tuple(distances), tuple(values.tolist()))


def sample(test: int, count: int = CURVE) -> list[int]:
    """Return distances 0 .. test-1: all of them, or as many as `count`, half evenly and half geometrically spaced."""
    if test <= count:
        return list(range(test))
    half = count // 2
    even = {round(i * (test - 1) / (half - 1)) for i in range(half)}
    return sorted(even | {round((test - 1) ** (i / (half - 1))) for i in range(half)} | {0, 1, 2, 3})


def _resolution(frequencies: Sequence[Decimal]) -> float:
    total = sum(math.sin(float(w) / 2) ** 2 for w in frequencies)
    return 2 * math.sqrt(total / max(1, len(frequencies)))


def base_of(recipe: Recipe) -> Decimal | None:
    """Return the base whose powers the unscaled frequencies are, where the recipe has one."""
    values = recipe.values
    fixed = values.get("frequencies") is not None or values.get("max_timescale") is not None
    base = values.get("base")
    one_band = isinstance(recipe.plan, Waves) and len(recipe.plan.bands) == 1
    family = recipe.encoding.family in (Family.ABSOLUTE, Family.ROTARY)
    return base if isinstance(base, Decimal) and family and one_band and not fixed else None
