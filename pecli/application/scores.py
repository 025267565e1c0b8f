"""Scores of queries and keys, and weights: float64, within a stated bound of the real numbers.

A score is a sum of inner products times a scale, mostly 1/sqrt(d), with a bias added or a weight multiplied; masked,
and through the softmax where asked.  With u = 2^-53 an inner product of d numbers, each rounded once, errs by at most
(d + 2) u times the product of the lengths, in any order of sums; the scale by 3 u, its product, each sum and each
factor by a further u of the result.  Logits that err by e give weights that err by at most 2e + (n + 8) u, n the keys:
the exponential is taken to be within 4u, the sum within n u.  Matrix products and exponentials are NumPy's, so the last
bits may differ between machines.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pecli.application.biases import BiasRows
from pecli.application.products import Floats
from pecli.application.tensors import Tensor
from pecli.application.wishes import Wish
from pecli.declare.tabular import Array, Tabular
from pecli.numbers.rounding import narrow

UNIT = 2.0**-53
AT_ONCE = 1 << 19
"""Values worked on at once."""


@dataclass(frozen=True)
class QueryRows:
    """Some queries of one batch and head: `start` to `stop`."""

    batch: int
    head: int
    start: int
    stop: int


class Logits(Protocol):
    """What scores begin with."""

    sides: tuple[int, int, int, int]
    name: str

    def values(self, rows: QueryRows) -> tuple[Floats, float]:
        """Return (stop - start, keys) float64 of the caller's own, and a bound on their error."""
        ...


class Adjustment(Protocol):
    """What is done to them."""

    def change(self, values: Floats, error: float, rows: QueryRows) -> float:
        """Change values in place; return the new bound."""
        ...


class GivenLogits:
    """Logits as they stand in a tensor (b, h, q, k)."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.name = tensor, tensor.name
        self.sides = (tensor.side("b"), tensor.side("h"), tensor.side("q"), tensor.side("k"))

    def values(self, rows: QueryRows) -> tuple[Floats, float]:
        """Return logits; see `Logits`."""
        at = (rows.batch * self.sides[1] + rows.head) * self.sides[2]
        return np.array(self.tensor.read(at + rows.start, at + rows.stop)), 0.0


@dataclass(frozen=True)
class WithBias:
    """A bias that is added, or a weight that multiplies.

    Attributes
    ----------
    rows : BiasRows
        The numbers.
    how : {"add", "multiply"}
        What is done with them.
    scale : float
        What multiplies the numbers first.
    """

    rows: BiasRows
    how: str
    scale: float = 1.0

    def change(self, values: Floats, error: float, rows: QueryRows) -> float:
        """Change values; see `Adjustment`."""
        bias = self.rows
        at = rows.head % bias.heads * bias.queries
        found = bias.rows(at + rows.start, at + rows.stop)
        with np.errstate(invalid="ignore"):
            if self.how == "add":
                values += found * self.scale
                return error + UNIT * (5 * abs(self.scale) * finite_size(found) + finite_size(values))
            values *= found
        return error * finite_size(found) + 2 * UNIT * finite_size(values)


class ScoreRows(Tabular):
    """Scores or weights; a row is a query of a batch and a head.

    Parameters
    ----------
    logits : Logits
        What they begin with.
    changes : sequence of Adjustment
        Biases and decays, in order.
    wish : Wish
        Mask, softmax and type.
    name : str, optional
        Of the array (default: that of the logits).

    Attributes
    ----------
    error : float
        How far from the real numbers what was read so far may be.
    """

    def __init__(self, logits: Logits, changes: Sequence[Adjustment], wish: Wish, axes: str = "bhqk") -> None:
        self.logits, self.changes, self.wish = logits, changes, wish
        self.dtype = wish.dtype or "float64"
        self.queries, self.width = logits.sides[2:]
        letters = {"b": "batch", "h": "head", "q": "query", "k": "key"}
        shape = tuple(side for side, letter in zip(logits.sides, "bhqk", strict=True) if letter in axes)
        self.arrays = (
            Array(logits.name, shape, self.dtype, tuple(letters[letter] for letter in axes), len(shape) - 1),
        )
        self.recipe, self.metadata = None, {}
        self.error, self._lock = 0.0, threading.Lock()

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for target in out.values():
            at = start
            for rows in self.split(start, stop):
                values, error = self.values(rows)
                narrow(values, None, self.dtype, target[at - start : at - start + len(values)])
                at += len(values)
                with self._lock:
                    self.error = max(self.error, error)

    def split(self, start: int, stop: int) -> Iterator[QueryRows]:
        """Yield the queries of each batch and head, so many that their scores fit."""
        most = max(1, AT_ONCE // self.width)
        while start < stop:
            head, first = divmod(start, self.queries)
            last = min(self.queries, first + min(most, stop - start))
            yield QueryRows(*divmod(head, self.logits.sides[1]), first, last)
            start += last - first

    def values(self, rows: QueryRows) -> tuple[Floats, float]:
        """Return scores or weights (queries, keys), and a bound on their error."""
        values, error = self.logits.values(rows)
        for change in self.changes:
            error = change.change(values, error, rows)
        if self.wish.causal:
            last = np.arange(rows.start, rows.stop) + self.width - self.queries
            values[np.arange(self.width) > last[:, None]] = -np.inf
        if self.wish.softmax:
            with np.errstate(invalid="ignore", under="ignore"):
                values -= values.max(axis=-1, keepdims=True)
                np.exp(values, out=values)
                values /= values.sum(axis=-1, keepdims=True)
            error = 2 * error + (self.width + 8) * UNIT
        return values, error


@dataclass(frozen=True)
class HeadVectors:
    """The vectors of one tensor, head by head."""

    tensor: Tensor

    @property
    def heads(self) -> int:
        """How many."""
        return self.tensor.side("h")

    def read(self, batch: int, head: int, start: int, stop: int) -> Floats:
        """Return vectors (stop - start, width) float64."""
        tensor, heads, length = self.tensor, self.heads, self.tensor.side("s")
        if "h" in tensor.axes and tensor.axes.index("h") == len(tensor.axes) - 2:  # (.., s, h, d)
            at = (batch * length + start) * heads
            return tensor.read(at, at + (stop - start) * heads)[head::heads]
        at = (batch * heads + head) * length
        return tensor.read(at + start, at + stop)

    def keeping(self, number: int) -> Any:
        """Return a function of batch and head that reads all vectors and keeps the last few."""
        return lru_cache(maxsize=number)(lambda batch, head: self.read(batch, head, 0, self.tensor.side("s")))


def finite_size(values: Floats) -> float:
    """Return the largest size of those that are finite."""
    sizes = np.abs(values)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def longest_vector(vectors: Floats) -> float:
    """Return the largest length of some vectors (n, d)."""
    return float(np.sqrt(np.max(np.einsum("ij,ij->i", vectors, vectors), initial=0.0))) * (1 + 2**-40)
