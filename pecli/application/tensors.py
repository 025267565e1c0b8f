"""The tensors that a table is applied to: vectors along named axes, read in blocks from any file.

Axes are letters: b batch, h heads, s (or t, tokens of a packed batch) positions, d the vector, last; of logits
q queries and k keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter
from pecli.numbers.dtypes import DTYPES
from pecli.numbers.rounding import widen
from pecli.tables.selection import InMemory
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
        Where its values are read, one vector a row.
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
