"""Ways to read arrays as cosines and sines, or as one of them, of pairs that turn by any coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.measures.readings import doublings, twice
from pecli.measures.samples import Floats
from pecli.measures.sides import UNCHANGED, Sides, alike, sides_of
from pecli.numbers.shortest import price, shortest
from pecli.numbers.text import number_text

ROUND = 8.0  # roundings by which the squares of a cosine and its sine may miss 1
MOSTLY = 0.5  # share of the values that must be such parts: others may be spoiled
BOUNDED = 0.9  # share of the values that are no larger than 1
REACHED, LEAST_REACHED = 0.9, 1e-3  # what a few of the values at least are beyond
STAYS = 0.4  # what most values of the slowest cosine are above
LEAVES = 0.85  # and what most of the slowest sine are below, in size
NEAR_TURN = {"both": 2.9, "cos": 2.8, "sin": 1.2}  # radians up to which an angle is told by what is there
FLAT = {"both": 0.0, "cos": 0.15, "sin": 0.0}  # and from which on: a cosine near 1 says little
FOLLOWED = 0.7  # share of the rows in which two angles must have one ratio
SAME = 16.0  # times what an angle may be off by, that a ratio may
SINGLE = 2.0**-24
MOST_BASES = 2  # of a series: the surest
ALL = slice(None)
ROWS = 512  # that are looked at for a ratio
LEAST = 3  # rows whose angles tell a ratio


@dataclass(frozen=True)
class Pairs:
    """One way to read a table as rotations.

    Attributes
    ----------
    layout : str
        Of a rotary table.
    cos, sin : (n, pairs) float64, optional
        The parts; one alone where the table holds no other.
    resolution : float
        Half a unit in the last place of a value of size 1.
    """

    layout: str
    cos: Floats | None
    sin: Floats | None
    resolution: float

    @property
    def parts(self) -> tuple[Floats, ...]:
        """The parts there are, cosines first."""
        return tuple(part for part in (self.cos, self.sin) if part is not None)

    @property
    def pairs(self) -> int:
        """How many pairs turn."""
        return len(self.parts[0][0])

    @property
    def dim(self) -> str:
        """Width of a head, as a recipe has it."""
        return str(2 * self.pairs)

    @property
    def arrays(self) -> tuple[str, ...]:
        """Arrays of a recipe that the table holds: one alone, or all (none named)."""
        return () if len(self.parts) == 2 else (self.kind,)

    @property
    def kind(self) -> str:
        """Which parts there are: "both", "cos" or "sin"."""
        return "both" if len(self.parts) == 2 else "sin" if self.cos is None else "cos"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a recipe does not say."""
        return (f"the {self.kind} alone of a rotary table",) if self.arrays else ()

    def guess(self, name: str, keys: Mapping[str, str], cost: float, free: tuple[str, ...] = ()) -> Guess:
        """Return a recipe for the pairs as they are stored; a base costs what it has of digits."""
        cost += price(Decimal(keys["base"])) - 1 if "base" in free else 0
        return Guess(name, keys, {"layout": self.layout}, cost, notes=self.notes, free=free, arrays=self.arrays)

    @cached_property
    def grids(self) -> tuple[Sides, ...]:
        """Grids whose sides the pairs follow."""
        blank = [np.full(self.pairs, float(part is self.cos)) for part in self.parts]
        return tuple(sides_of(np.concatenate(self.parts, axis=1), np.concatenate(blank)))

    def owners(self, sides: Sides, order: NDArray[np.intp] | None = None) -> NDArray[np.intp] | None:
        """Return which side of a grid each pair turns with, -1 where it shows none; None where one turns with several.

        `order`: the points that stand for the grid's, row by row.
        """
        body, shown = sides.shown(len(self.parts[0]))
        parts = [part[body] if order is None else part[body][order] for part in self.parts]
        moves = np.zeros((len(shown), self.pairs), np.bool_)
        for part in parts:
            cube = part.reshape(*shown, -1)
            moves |= np.stack([~alike(cube, axis, UNCHANGED) for axis in range(len(shown))])
        found: NDArray[np.intp] = np.where(moves.any(axis=0), moves.argmax(axis=0), -1)
        return None if (moves.sum(axis=0) > 1).any() else found

    @cached_property
    def angles(self) -> Floats:
        """Angles of the pairs, (n, pairs); NaN where the parts do not tell them."""
        with np.errstate(invalid="ignore", over="ignore"):
            if self.cos is not None and self.sin is not None:
                told = np.abs(self.cos**2 + self.sin**2 - 1) <= ROUND * max(self.resolution, SINGLE)
                return np.where(told, np.arctan2(self.sin, self.cos), np.nan)
            return np.arccos(self.cos) if self.cos is not None else np.arcsin(self.parts[0])

    @cached_property
    def errors(self) -> Floats:
        """What angles may be off by, (n, pairs)."""
        a = np.abs(self.angles)
        if self.kind == "both":
            return self.resolution * np.minimum(1.0, a + self.resolution)
        slope = np.sin(a) if self.kind == "cos" else np.cos(a)
        size = np.cos(a) if self.kind == "cos" else np.sin(a)
        near = np.sqrt(2 * self.resolution)  # a turn's end, where the part does not change
        return self.resolution * np.abs(size) / np.maximum(np.abs(slope), near)

    @cached_property
    def slow(self) -> NDArray[np.bool_]:
        """Pairs that stay within a turn, so that their angles are their coordinates, (pairs,)."""
        low, high = FLAT[self.kind], NEAR_TURN[self.kind]
        most = np.quantile(np.nan_to_num(np.abs(self.angles)), 0.98, axis=0)
        return np.asarray((most > low) & (most < high))

    def ratios(self, lag: int, within: slice) -> Iterator[tuple[float, float]]:
        """Yield logarithms by which a pair is slower than the one `lag` before, of the same coordinate, and errors."""
        first, stop, _ = within.indices(self.pairs)
        for k in range(first, stop - lag):
            if not (self.slow[k] and self.slow[k + lag]):
                continue
            rows = slice(None, None, max(1, len(self.angles) // ROWS))
            (a, b), (x, y) = (part[rows, k : k + lag + 1 : lag].T for part in (self.angles, self.errors))
            with np.errstate(invalid="ignore", divide="ignore"):
                found = b / a
                off = x / np.abs(a) + y / np.abs(b)
            told = np.isfinite(found) & (found > 0) & (off < 0.1)
            if told.sum() < max(LEAST, FOLLOWED * np.count_nonzero(np.abs(a) > 0)):
                continue
            middle = float(np.median(found[told]))
            close = told & (np.abs(found / middle - 1) <= SAME * off)
            if close.sum() >= FOLLOWED * told.sum() and middle < 1:
                weight = 1 / np.maximum(off[close], 1e-17) ** 2
                mean = float((weight * np.log(found[close])).sum() / weight.sum())
                least = 1e-16 if self.resolution < SINGLE else 2 * SINGLE  # angles may be in single precision
                yield -mean, float(max(4 / np.sqrt(weight.sum()), 0.25 * off[close].min(), least))

    def bases(self, pairs: float, lag: int = 1, within: slice = ALL) -> tuple[str, ...]:
        """Return bases of a series of so many pairs, of which the next stands `lag` farther on, the surest first."""
        found: dict[str, None] = {}
        for log, error in sorted(self.ratios(lag, within), key=lambda r: r[1])[:MOST_BASES]:
            log, error = log * pairs, error * pairs
            if error < 0.1:
                found[number_text(shortest(np.exp(log - error), np.exp(log + error)))] = None
        return tuple(found)


def rotations_of(arrays: Sequence[Floats], resolution: float, *, joined: bool = False) -> Iterator[Pairs]:
    """Yield what arrays (n, m), or one of pairs (n, m, 2), may be as rotations, doubled layouts first.

    Parameters
    ----------
    arrays : sequence of float64
        Cosines and sines, or one array.
    resolution : float
        Half a unit in the last place of a value of size 1.
    joined : bool
        Whether two arrays are the parts of complex values.
    """
    if len(arrays) == 2:
        cos, sin = arrays
        for layout, a, b in [] if joined else doublings(cos.shape[1]):
            if all(twice(part, a, b) for part in arrays):
                yield Pairs(layout, cos[a], sin[a], resolution)
        yield Pairs("complex" if joined else "split", cos, sin, resolution)
        return
    if len(arrays) != 1:  # complex values of a stack
        return
    (values,) = arrays
    size = np.abs(values)
    if np.mean(size <= 1 + resolution) < BOUNDED or np.mean(size > REACHED) < LEAST_REACHED:
        return
    if values.ndim == 3:
        yield from _joined("pairs", "", values[..., 0], values[..., 1], resolution)
        return
    width = values.shape[1]
    found = []
    if width % 2 == 0:
        halves = values[:, : width // 2], values[:, width // 2 :]
        found = list(_joined("concat", "sin-cos", *halves, resolution))
    yield from found or _alone(values, resolution)


def _joined(layout: str, other: str, a: Floats, b: Floats, resolution: float) -> Iterator[Pairs]:
    """Yield cosines and sines that stand in one array: the cosines are those that are larger on the whole."""
    with np.errstate(over="ignore", invalid="ignore"):
        round_ones = np.abs(a * a + b * b - 1) <= ROUND * max(resolution, SINGLE)
    if round_ones.mean() > MOSTLY:
        if a[round_ones].mean() >= b[round_ones].mean():
            yield Pairs(layout, a, b, resolution)
        elif other:
            yield Pairs(other, b, a, resolution)


def _alone(values: Floats, resolution: float) -> Iterator[Pairs]:
    """Yield cosines alone, or sines alone: told by the slowest pair, which stays near 1 or near 0."""
    layout, shown = "split", values
    for name, a, b in doublings(values.shape[1]):
        if twice(values, a, b):
            layout, shown = name, values[a]
            break
    size = np.abs(shown := np.nan_to_num(shown))
    if np.quantile(shown, 0.1, axis=0).max() > STAYS:
        yield Pairs(layout, shown, None, resolution)
    if np.quantile(size, 0.9, axis=0).min() < LEAVES:
        yield Pairs(layout, None, shown, resolution)
