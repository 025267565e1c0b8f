"""What sines and cosines do beyond the training length: coverage, score against distance, resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.extrapolation.coverage import TURN, Coverage, cover, critical_dimension, turn_fraction
from pecli.numbers.decimals import CONTEXT, PI
from pecli.records import dataclass

LARGEST = float(CONTEXT.ln(Decimal("1e30")))
CURVE = 240
"""Distances at which a curve is sampled."""


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
    """What a set of frequencies does between two lengths.

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
    """Return what the frequencies of a plan do between two lengths.

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
    return WaveReach(
        pairs, columns=2 * len(pairs), critical_dimension=critical_dimension(seen, train),
        inside=inside_share(pairs, train, test), magnitude=float(plan.magnitude), resolution=fine,
        resolution_kept=fine / before if before else 1.0, smallest_factor=smallest_factor(pairs, train, test),
        smallest_base=smallest_base(seen, base, train, test),
        score=score(frequencies, float(plan.magnitude), train, test),
    )  # fmt: skip


def inside_share(pairs: Sequence[Coverage], train: int, test: int) -> float:
    """Return the share of phases of positions train .. test-1 that training showed."""
    return 1.0 - sum(pair.outside for pair in pairs) / (max(1, len(pairs)) * (test - train))


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
