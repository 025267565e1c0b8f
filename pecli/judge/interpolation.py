"""Tables that were interpolated to another length or another grid, as images are resized."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from pecli.judge.orders import span
from pecli.judge.planes import EPSILON, Floats, Integers

MAX_TOKENS = 5  # rows before a grid that are not resized: a class token and registers
MAX_ASPECT = 4  # of a grid that is resized, or to which one is
SAMPLE = 8  # rows and columns that a way of interpolation is tried on before it is tried on all
MAX_WEIGHTS = 1 << 25  # shares of all old rows in all new ones, 256 MiB
MAX_GAP = 0.02  # of the largest value, in these; bfloat16 leaves 0.004
MAX_SOURCE_ERRORS = 16  # roundings of its values by which a grid may be off that others of them were enlarged to

Sides = tuple[int, ...]


class Interpolation(NamedTuple):
    """A way of interpolating evenly spaced values.

    Attributes
    ----------
    name : str
        What is said of it.
    a : float or None
        Parameter of the cubic kernel; None of the linear one.
    aligned : bool
        Whether the first and the last value stay (PyTorch's align_corners).
    antialias : bool
        Whether the kernel is stretched where the table shrinks, and cut off at the ends instead of repeating them.
    added : float
        To the new length, of which the scale is computed: 0.1 in DINO.
    nearest : int or None
        Of ways that take one old value for a new one: where that stands, 0 at its begin or 1 in its middle.
    """

    name: str
    a: float | None = None
    aligned: bool = False
    antialias: bool = False
    added: float = 0.0
    nearest: int | None = None

    def words(self, axes: int) -> str:
        """Return what is said of it along one or two axes."""
        return "bi" * (axes > 1 and self.nearest is None) + self.name

    def places(self, old: int, new: int) -> Floats:
        """Return where `new` values stand among `old` ones."""
        if self.aligned:
            return np.linspace(0.0, old - 1.0, new)
        return np.asarray((np.arange(new) + 0.5) * old / (new + self.added) - 0.5)

    def weights(self, old: int, new: int, which: Integers | None = None) -> Floats:
        """Return the share of each of `old` values in some or all of `new` ones, (n, old), as in PyTorch."""
        which = np.arange(new) if which is None else which
        at = self.places(old, new)[which]
        places = np.arange(old) if self.antialias else np.arange(-2, old + 2)
        x = np.abs(at[:, None] - places) / (max(1.0, old / new) if self.antialias else 1.0)
        kernel = np.maximum(0.0, 1 - x)
        if (a := self.a) is not None:
            far = a * (((x - 5) * x + 8) * x - 4)
            kernel = np.where(x <= 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, far, 0.0))
        if self.nearest is not None:
            kernel = (places == ((2 * which + self.nearest) * old // (2 * new))[:, None]) * 1.0
        found = np.zeros((old, len(which)))
        np.add.at(found, np.clip(places, 0, old - 1), (kernel / kernel.sum(axis=1, keepdims=True)).T)
        return found.T


LINEAR = (Interpolation("linear interpolation, corners aligned", aligned=True), Interpolation("linear interpolation"))
WAYS = (
    *LINEAR,
    Interpolation("cubic interpolation", -0.75),
    Interpolation("cubic interpolation, corners aligned", -0.75, aligned=True),
    Interpolation("cubic interpolation with antialias", -0.5, antialias=True),
    Interpolation("linear interpolation with antialias", antialias=True),
    Interpolation("cubic interpolation, with 0.1 added to its sides as in DINO", -0.75, added=0.1),
    Interpolation("nearest neighbours", nearest=0),
    Interpolation("nearest neighbours (nearest-exact)", nearest=1),
)


def interpolated(table: Floats, like: Floats, sides: tuple[Sides, Sides] | None = None) -> Iterator[tuple[str, Floats]]:
    """Yield a table (n, width) interpolated to the rows of another, (count, width), with what was done to it.

    Only ways that give some of the other's rows are yielded.
    """
    count, n = len(like), len(table)
    if min(count, n) < 2 or n * count > MAX_WEIGHTS:
        return
    rows, columns = (np.linspace(0, side - 1, min(SAMPLE, side)).astype(np.int64) for side in like.shape)
    few, size = table[:, columns], np.abs(table).max(initial=0.0)
    for tokens, old, new in [(0, *sides)] if sides is not None else _grids(n, count):
        some = rows[rows >= tokens]
        what = f"{old[0]} x {old[1]} grid was" if len(old) > 1 else f"{old[0]} rows were"
        text = f"the expected {what} resized to {' x '.join(map(str, new))} by"
        kept = f" ({span(0, tokens - 1, 'row')} {'was' if tokens == 1 else 'were'} kept)" * (tokens > 0)
        for way in WAYS if old != new else ():
            made = _made(few[tokens:], way, old, new, some - tokens)
            if np.abs(made - like[np.ix_(some, columns)]).max(initial=0.0) <= MAX_GAP * size:
                every = _made(table[tokens:], way, old, new, np.arange(count - tokens))
                yield f"{text} {way.words(len(old))}{kept}", np.concatenate([table[:tokens], every])


def _made(table: Floats, way: Interpolation, old: Sides, new: Sides, rows: Integers) -> Floats:
    """Return some rows of a grid whose rows and columns were interpolated."""
    places = np.unravel_index(rows, new)
    shares, *others = (way.weights(a, b, at) for a, b, at in zip(old, new, places, strict=True))
    for other in others:
        shares = (shares[:, :, None] * other[:, None]).reshape(len(rows), -1)
    return np.asarray(shares @ table)


def _grids(n: int, count: int) -> Iterator[tuple[int, Sides, Sides]]:
    """Yield how many rows stay, and the sides before and after: of lines, and of squares that become other grids."""
    for tokens in range(min(MAX_TOKENS + 1, n - 1, count - 1)):
        side, left = math.isqrt(n - tokens), count - tokens
        yield tokens, (n - tokens,), (left,)
        if side * side == n - tokens and side > 1:
            yield from ((tokens, (side, side), sides) for sides in _grids_of(left))


def _grids_of(n: int) -> list[Sides]:
    """Return the sides of the grids of n cells that are at most MAX_ASPECT times as long as the other side."""
    sides = ((height, n // height) for height in range(2, n // 2 + 1) if n % height == 0)
    return [(a, b) for a, b in sides if a <= MAX_ASPECT * b <= MAX_ASPECT**2 * a]


def resized_otherwise(have: Floats, want: Floats, error: float) -> str:
    """Return how one table was enlarged in two ways, with rows before it that both have; "" where it was not.

    `error` is that of the values' type, relative to the largest.
    """
    drift = len(want) * EPSILON["float32"]  # of places, which float32 counts
    near = (MAX_SOURCE_ERRORS * error + drift) * np.abs(want).max(initial=0.0)
    columns = np.linspace(0, want.shape[1] - 1, min(SAMPLE, want.shape[1])).astype(np.int64)
    same = int((have != want).any(axis=1).argmax())
    for tokens in range(min(same, MAX_TOKENS) + 1):
        few, every = want[tokens:, columns], np.arange(len(want) - tokens)
        lines = ((way, (old,), few.shape[:1]) for old in _lines([few, have[tokens:, columns]], near) for way in LINEAR)
        for way, old, new in (*lines, *_enlarged(few, near)):
            shares = [way.weights(a, b) for a, b in zip(old, new, strict=True)]
            source = _source(few, new, shares)
            sample = every[:: max(1, len(every) // SAMPLE)]  # whose weights take less time than those of all
            gaps = (np.abs(_made(source, way, old, new, at) - few[at]).max() for at in (sample, every))
            if any(gap > near for gap in gaps):
                continue
            whole = np.concatenate([want[:tokens], _source(want[tokens:], new, shares)])
            for text, other in interpolated(whole, have):
                if np.abs(other - have).max() <= MAX_SOURCE_ERRORS * near:
                    return f"{text.replace('the expected', 'the', 1)}, where {way.words(len(old))} was expected"
    return ""


def _enlarged(table: Floats, near: float) -> Iterator[tuple[Interpolation, Sides, Sides]]:
    """Yield the ways by which a square grid may have become a table (n, width), whose lines have no higher rank."""
    for new in _grids_of(len(table)):
        grid = table.reshape(*new, -1)
        lines = (grid.reshape(new[0], -1), np.moveaxis(grid, 1, 0).reshape(new[1], -1))
        ranks = [int(np.sum(np.linalg.eigvalsh(one @ one.T) > near**2 * one.size)) for one in lines]
        yield from ((way, (old, old), new) for old in range(max(2, *ranks), min(new)) for way in WAYS)


def _lines(tables: Sequence[Floats], near: float) -> Iterator[int]:
    """Yield the lengths from which a linear way gives straight lines where one of some tables (n, width) has them."""
    for table in tables:
        count = len(table)
        straight = (np.abs(np.diff(table, 2, axis=0)) <= near).all(axis=1)
        for way, old in product(LINEAR, range(2, count) if straight.any() and not straight.all() else ()):
            at = way.places(old, count).clip(0, old - 1)
            within = np.floor(at[2:] - EPSILON["float32"]) <= np.floor(at[:-2])
            if np.array_equal(within & (np.abs(np.diff(at, 2)) < EPSILON["float32"]), straight):
                yield old


def not_resized(have: Floats, want: Floats, error: float) -> str:
    """Return how a grid was resized to another one of as many cells, behind rows that both have; "" if it was not.

    `error` is that of the values' type, relative to the largest.
    """
    near = MAX_SOURCE_ERRORS * error * max(np.abs(values).max(initial=0.0) for values in (have, want))
    for tokens in range(min(int((have != want).any(axis=1).argmax()), MAX_TOKENS) + 1):
        n = len(want) - tokens
        for sides in permutations(_grids_of(n), 2):
            for old, new, how in ((have, want, "its {} was not resized"), (want, have, "the expected {} was resized")):
                for text, made in interpolated(old[tokens:], new[tokens:], sides):
                    if np.abs(made - new[tokens:]).max() <= near:
                        grid, _, way = text.removeprefix("the expected ").partition(" was resized")
                        return how.format(grid) + way
    return ""


def _source(table: Floats, sides: Sides, shares: Sequence[Floats]) -> Floats:
    """Return the grid (rows of it, width) that some shares of its rows and columns made this one of."""
    grid = table.reshape(*sides, -1)
    for axis, one in enumerate(shares):
        grid = np.moveaxis(np.tensordot(np.linalg.pinv(one), grid, (1, axis)), 0, axis)
    return grid.reshape(-1, table.shape[1])
