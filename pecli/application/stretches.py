"""Vectors that are turned at once: those of several heads that stand at the same positions.

Few large calls of NumPy rather than many small ones: between them threads contend for the interpreter, and one that
has to wait for it sleeps, which costs more than what it waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.tensors import Tensor

Integers = NDArray[np.int64]

HEADS = 8
"""Heads that are turned in one go: a row of the table is then read from memory once for so many vectors."""


@dataclass(frozen=True)
class Stretch:
    """A grid of vectors, counted in C order of their tensor: the same places of some lines, which follow each other.

    Attributes
    ----------
    start : int
        The vector that the first line begins with.
    lines, length : int
        How many lines there are, and of how many vectors.
    low, high : int
        The places of each line that are meant.
    heads : {0, 1}
        Whether lines are heads, and places positions, or the other way round.
    positions : range, optional
        What positions they have, where these follow each other and are the same in all heads.
    """

    start: int
    lines: int
    length: int
    low: int
    high: int
    heads: int = 0
    positions: range | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Sides of the grid."""
        return self.lines, self.high - self.low

    @property
    def first(self) -> int:
        """The first vector."""
        return self.start + self.low

    def vectors(self, line: Integers, place: Integers) -> Integers:
        """Return which vectors stand at some places of the grid."""
        return self.first + line * self.length + place

    def of(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        """Return a view of the grid's vectors, (*shape, width), in rows (n, width) that begin with vector `first`."""
        whole = rows[self.start - first :][: self.lines * self.length]
        return whole.reshape(self.lines, self.length, -1)[:, self.low : self.high]

    def read(self, tensor: Tensor, out: NDArray[Any]) -> NDArray[Any]:
        """Return the grid's vectors where they stand in memory, to be read only, or read into `out`, of that shape."""
        held = tensor.view.held(self.start, self.start + self.lines * self.length)
        if held is not None:
            return self.of(held, self.start)
        for number, line in enumerate(out):
            at = self.first + number * self.length
            tensor.view.fill(at, at + len(line), line)
        return out


def stretches(tensor: Tensor, start: int, stop: int, run: int, most: int, aligned: bool) -> Iterator[Stretch]:
    """Yield grids that make up vectors `start` to `stop`, those of equal positions together.

    Parameters
    ----------
    run : int
        A power of two; no grid has positions on both sides of one of its multiples.
    most : int
        How many vectors a grid has about, a power of two; at most `run` where they are of one head.
    aligned : bool
        Whether equal positions have equal rows in every batch; otherwise vectors are taken as they come.
    """
    if not aligned or len(tensor.shape) < 3:
        yield from _lines(start, stop, max(1, tensor.vectors), run, aligned)
        return
    inner, apart = tensor.shape[-2], tensor.axes[-2] == "h"
    low, high = -(-start // inner), stop // inner  # what lies between is whole
    if low >= high:
        yield from _lines(start, stop, inner, run, not apart)
        return
    yield from _lines(start, low * inner, inner, run, not apart)
    if apart:
        length = tensor.side("s")
        for at, end in _cut(low, high, length, min(run, max(1, most >> (inner - 1).bit_length()))):
            where = range(at % length, at % length + end - at)
            yield Stretch(at * inner, end - at, inner, 0, inner, 1, where)
    else:
        heads = min(max(HEADS, most // inner), high - low)
        step = min(run, max(1, most >> (heads - 1).bit_length()))
        for (at, end), head in product(_cut(0, inner, inner, step), range(low, high, heads)):
            yield Stretch(head * inner, min(heads, high - head), inner, at, end, 0, range(at, end))
    yield from _lines(high * inner, stop, inner, run, not apart)


def _lines(start: int, stop: int, length: int, run: int, straight: bool) -> Iterator[Stretch]:
    """Yield parts of single lines, whose places are positions if it goes `straight` on."""
    for at, end in _cut(start, stop, length, run):
        where = range(at % length, at % length + end - at) if straight else None
        yield Stretch(at, 1, end - at, 0, end - at, 0, where)


def _cut(start: int, stop: int, length: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut start..stop at the multiples of `length`, and between two of them at those of `step`."""
    while start < stop:
        inside = start % length
        end = min(stop, start - inside + length, start - inside % step + step)
        yield start, end
        start = end
