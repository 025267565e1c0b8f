"""Tensors that a table is applied to, tiles of them, random ones, and several tables as one.

Axes are letters: b batch, h heads, s (or t, tokens of a packed batch) positions, d the vector, last; of logits
q queries and k keys.

A tile holds the vectors of several heads at the same positions: few large calls of NumPy rather than many small ones,
between which threads would wait for the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers import random as draws
from pecli.numbers.dtypes import DTYPES
from pecli.numbers.rounding import narrow, widen
from pecli.spec.tabular import Array, InMemory, Tabular
from pecli.tables.views import ArrayView, view_of

AXES = ("bhsd", "bshd", "thd", "bsd", "sd", "d", "bhqk", "hqk", "qk")
BY_RANK = {1: "d", 2: "sd", 3: "bsd", 4: "bhsd"}
"""What the axes are taken for where nobody says."""

OF_LOGITS = {"sd": "qk", "bsd": "hqk", "bhsd": "bhqk"}
"""What they are taken for in logits."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Tensor:
    """An array of vectors.

    Attributes
    ----------
    name : str
        What to call it.
    view : ArrayView
        The view that reads its values, one vector a row.
    axes : str
        What each axis is, a letter of "bhstdqk" each; the last is d, of logits k.
    """

    name: str
    view: ArrayView
    axes: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The sides."""
        return self.view.shape

    @property
    def dtype(self) -> str:
        """Type of the values."""
        return self.view.dtype

    @property
    def width(self) -> int:
        """Length of a vector."""
        return self.shape[-1]

    @property
    def vectors(self) -> int:
        """How many vectors there are."""
        return prod(self.shape[:-1])

    def side(self, axis: str) -> int:
        """Return the length of an axis; 1 where it has none."""
        axis = "t" if axis == "s" and "t" in self.axes else axis
        return self.shape[self.axes.index(axis)] if axis in self.axes else 1

    def places(self, vectors: Integers, axis: str) -> Integers:
        """Return where vectors (n,) int64, counted in C order, stand along an axis."""
        axis = "t" if axis == "s" and "t" in self.axes else axis
        if axis not in self.axes:
            return np.zeros_like(vectors)
        at = self.axes.index(axis)
        return vectors // prod(self.shape[at + 1 : -1]) % self.shape[at]

    def rows(self, vectors: Integers, rows: Integers | None) -> Integers:
        """Return which row of a table vectors (n,) have: that of their position, or of its batch's row (b, s)."""
        where = self.places(vectors, "s")
        return where if rows is None else rows[self.places(vectors, "b") % len(rows), where]

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return vectors `start` to `stop`, (n, width) float64, exactly."""
        return widen(self.view.read(start, stop).reshape(stop - start, self.width), self.dtype)

    def like(self, name: str, dtype: str | None = None, width: int | None = None) -> Array:
        """Return the description of an array of the same axes."""
        shape = (*self.shape[:-1], self.width if width is None else width)
        return Array(name, shape, dtype or self.dtype, tuple(LONG[letter] for letter in self.axes), len(shape) - 1)


LONG = {"b": "batch", "h": "head", "s": "position", "t": "token", "d": "channel", "q": "query", "k": "key"}


def tensor_of(table: Tabular, name: str, axes: str | None = None, called: str | None = None) -> Tensor:
    """Return an array of a table as a tensor, called so or by its name.

    Raises
    ------
    BadParameter
        If it holds no floating-point numbers, or the axes do not fit its shape.
    """
    array = table.array(name)
    name, shape = called or name, array.shape
    if array.dtype not in DTYPES:
        rule = f"is of type {array.dtype}: give numbers of type {', '.join(DTYPES)}"
        raise BadParameter("input", name, rule)
    if not shape or not prod(shape):
        raise BadParameter("input", name, f"has the shape {_sides(shape)}: it holds no vectors")
    if axes is None:
        if len(shape) not in BY_RANK:
            raise BadParameter("input", name, f"has the shape {_sides(shape)}: say what its axes are, as --axes bhsd")
        axes = BY_RANK[len(shape)]
    if axes not in AXES:
        raise BadParameter("axes", axes, f"must be one of {', '.join(AXES)}")
    if len(axes) != len(shape):
        rule = f"names {len(axes)} axes, and {name} has the shape {_sides(shape)}"
        raise BadParameter("axes", axes, rule)
    if len(shape) == 1:  # its values are one row
        table = InMemory({array.name: table.read(array.name)[None]})
    elif array.row_shape != shape[-1:]:  # a last axis of 2 was read as pairs
        table = InMemory({array.name: table.read(array.name).reshape(-1, shape[-1])})
    return Tensor(name, replace(view_of(table, array), name=name, shape=shape, lead=len(shape) - 1), axes)


def as_logits(tensor: Tensor) -> Tensor:
    """Return a tensor as logits, (b, h, q, k), (h, q, k) or (q, k).

    Raises
    ------
    BadParameter
        If its axes are said to be others.
    """
    axes = OF_LOGITS.get(tensor.axes, tensor.axes)
    if axes not in OF_LOGITS.values():
        raise BadParameter("axes", axes, "are no logits: bhqk, hqk or qk are; with queries and keys give --scores")
    return replace(tensor, axes=axes)


def _sides(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "()"


HEADS = 8
"""Heads of a tile: a row of the table is read from memory once for all of them."""


@dataclass(frozen=True)
class Tile:
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


def tiles(tensor: Tensor, start: int, stop: int, run: int, most: int, aligned: bool) -> Iterator[Tile]:
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
            yield Tile(at * inner, end - at, inner, 0, inner, 1, where)
    else:
        heads = min(max(HEADS, most // inner), high - low)
        step = min(run, max(1, most >> (heads - 1).bit_length()))
        for (at, end), head in product(_cut(0, inner, inner, step), range(low, high, heads)):
            yield Tile(head * inner, min(heads, high - head), inner, at, end, 0, range(at, end))
    yield from _lines(high * inner, stop, inner, run, not apart)


def _lines(start: int, stop: int, length: int, run: int, straight: bool) -> Iterator[Tile]:
    """Yield parts of single lines, whose places are positions if it goes `straight` on."""
    for at, end in _cut(start, stop, length, run):
        where = range(at % length, at % length + end - at) if straight else None
        yield Tile(at, 1, end - at, 0, end - at, 0, where)


def _cut(start: int, stop: int, length: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut start..stop at the multiples of `length`, and between two of them at those of `step`."""
    while start < stop:
        inside = start % length
        end = min(stop, start - inside + length, start - inside % step + step)
        yield start, end
        start = end


class ConcatTable(Tabular):
    """The arrays of several tables, under names of their own.

    Parameters
    ----------
    parts : sequence of (name, table, name in the table)
        In the order of the output.
    recipe : str, optional
        What the file says it was made with.
    """

    def __init__(self, parts: Sequence[tuple[str, Tabular, str]], metadata: Mapping[str, str] | None = None) -> None:
        self.parts = {name: (table, own) for name, table, own in parts}
        arrays = [(name, table.array(own)) for name, table, own in parts]
        self.arrays = tuple(Array(name, a.shape, a.dtype, a.axes, a.lead) for name, a in arrays)
        self.recipe, self.metadata = None, metadata or {}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, target in out.items():
            table, own = self.parts[name]
            table.fill(start, stop, {own: target})

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows, as each table reads its own."""
        found = {}
        for name in names:
            table, own = self.parts[self.array(name).name]
            found[name] = table.read_rows([own], start, stop)[own]
        return found


class RandomTensor(Tabular):
    """Standard normal vectors drawn from a seed, so that any slice equals the whole.

    Parameters
    ----------
    name : str
        Of the array.
    shape : tuple of int
        Its shape; a row is a vector.
    dtype : str
        Type to which each value is rounded.
    seed, stream : int
        Key of the generator.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str, seed: int, stream: int) -> None:
        self.arrays = (Array(name, shape, dtype, tuple(f"axis{i}" for i in range(len(shape))), len(shape) - 1),)
        self.seed, self.stream, self.dtype = seed, stream, dtype
        self.recipe, self.metadata = None, {}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for target in out.values():
            width = target.shape[-1]
            words = draws.words(self.seed, start * width, (stop - start) * width, self.stream)
            narrow(draws.normal(draws.uniform(words)).reshape(-1, width), None, self.dtype, target)
