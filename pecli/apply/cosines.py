"""Pairs of a head, and the cosines and sines that rotate them: exact, stored, scaled or inverted.

A pair (x, y) at position p with frequency w becomes (x c - y s, x s + y c), c = m cos(p w), s = m sin(p w),
m the magnitude.  The inverse of a rotation is its transposed matrix over m^2, its gradient the transposed matrix.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.exact import ExactRows, Floats, WavePoints, bands_of
from pecli.engine.runs import fill_points, plane_error
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.double_double import DoubleDouble, add, divide, multiply
from pecli.numbers.rounding import widen
from pecli.spec.plans import Waves
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table

Integers = NDArray[np.int64]

PAIRINGS = ("half", "interleaved")
# Pairing implied by a stored layout; other layouts imply none.
OF_LAYOUT = {"half": "half", "concat": "half", "interleaved": "interleaved"}

# A model's pairing, as its config is read.
OF_MODEL = {"half": "half", "adjacent": "interleaved", "deinterleave": "interleaved:half"}


@dataclass(frozen=True)
class HeadPairs:
    """Pairing of columns in the input and output vectors.

    Attributes
    ----------
    from_pairs, to_pairs : {"half", "interleaved"}
        In the input, and in the output: x_i with x_(i + d/2), or x_2i with x_(2i+1).
    """

    from_pairs: str
    to_pairs: str

    @classmethod
    def parse(cls, text: str) -> HeadPairs:
        """Return the pairing for "half", "interleaved" or "interleaved:half".

        Raises
        ------
        BadParameter
            For another word.
        """
        from_pairs, colon, to_pairs = text.partition(":")
        to_pairs = to_pairs if colon else from_pairs
        if from_pairs not in PAIRINGS or to_pairs not in PAIRINGS:
            raise BadParameter("pairs", text, "must be half, interleaved or interleaved:half")
        return cls(from_pairs, to_pairs)

    def __str__(self) -> str:
        return self.from_pairs if self.from_pairs == self.to_pairs else f"{self.from_pairs}:{self.to_pairs}"

    def inverse(self) -> HeadPairs:
        """Return the inverse pairing."""
        return HeadPairs(self.to_pairs, self.from_pairs)


Columns = slice | Integers


def columns(width: int, pairing: str, parts: tuple[int, ...] = ()) -> tuple[Columns, Columns]:
    """Return the columns of the first and of the second members of the pairs among the first `width`.

    half:        [a0 a1 b0 b1 | rest] -> a, b; of parts (1, 2), blocks with halves of their own:
                 [a0 b0 | a1 a2 b1 b2 | rest]
    interleaved: [a0 b0 a1 b1 | rest] -> a, b
    """
    if pairing == "interleaved":
        return slice(0, width, 2), slice(1, width, 2)
    if len(parts) < 2:
        return slice(0, width // 2), slice(width // 2, width)
    counts = np.array(parts)
    first = np.arange(width // 2) + np.repeat(np.cumsum(counts) - counts, counts)  # past the second members before
    return first, first + np.repeat(counts, counts)


def members(vectors: NDArray[Any], width: int, pairing: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return views of the first and second members of the pairs in the first `width` columns, (.., width/2) each."""
    first, second = columns(width, pairing)
    return vectors[..., first], vectors[..., second]


def scatter_pairs(pairs: NDArray[Any], target: NDArray[Any], destination: tuple[Columns, Columns]) -> None:
    """Scatter interleaved pairs to the columns of their first and second members.

    Parameters
    ----------
    pairs : (k + 1,) ndarray
        The pairs of each row of `target` in turn, and one number that is not used.
    target : (.., m) ndarray
        The output, of the same type.
    destination : (columns, columns)
        Columns of the first and of the second members.

    Notes
    -----
    Numbers at every other place are gathered one by one.  Many at once are cut out of pairs that are seen as integers
    of twice the width, whose lower half is the first member; seen from one number further on, it is the second.
    """
    size = pairs.itemsize
    shape = *target.shape[:-1], (len(pairs) - 1) // (2 * prod(target.shape[:-1]))
    if size == 8 or sys.byteorder != "little":
        target[..., destination[0]], target[..., destination[1]] = (pairs[k:-1:2].reshape(shape) for k in (0, 1))
        return
    bits = target.view(f"u{size}")
    for k in (0, 1):
        bits[..., destination[k]] = np.ndarray(shape, f"u{2 * size}", pairs, offset=k * size)


Points = NDArray[np.complex128]


class Rotations(ABC):
    """Cosines and sines of rows at the requested accuracy; exact as stored unless a subclass differs.

    Attributes
    ----------
    pairs : int
        Pairs of columns.
    coarse : float
        Factor of `CANDIDATE_ERROR`: 1 if the parts of `rows` are correctly rounded or exact.
    loose : float
        Further error of the points of `near`, in the complex plane.
    """

    pairs: int
    coarse: float = 1.0
    loose: float = 0.0

    @abstractmethod
    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows `start` to `stop`, (n, pairs) complex128, an array of the caller's own."""

    def approximate(self, start: int, stop: int) -> Points:
        """Return `rows` to within `loose`, where that is less work."""
        return self.rows(start, stop)

    @abstractmethod
    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places (k,), as double-double numbers, and a bound on the absolute error of each."""


class ExactRotations(Rotations):
    """The real cosines and sines of a recipe's rotary plan.

    Parameters
    ----------
    table : Table
        Float64, of a rotary encoding in the layout split.
    """

    def __init__(self, table: Table) -> None:
        plan = table.plan
        assert isinstance(plan, Waves)
        self.table, self.plan, self.pairs = table, plan, plan.width
        self.points = WavePoints(plan, table.part)
        self.loose = plane_error(self.points.run[0]) if self.points.run is not None else 0.0
        self.where = bands_of(plan, "sin")

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Rotations`."""
        found = np.empty((stop - start, self.pairs), np.complex128)
        self.table.fill(start, stop, {"cos": found.real, "sin": found.imag})
        return found

    def approximate(self, start: int, stop: int) -> Points:
        """Return c + i s of rows as products of a rotation table, not rounded to float64; see `Rotations`."""
        if self.points.run is None:
            return self.rows(start, stop)
        frequencies, multiples = self.points.run
        found = np.empty((stop - start, self.pairs), np.complex128)
        fill_points(frequencies, multiples[start:stop], found)
        return found

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Rotations`."""
        return self.points.doubled(rows, self.where[:, pairs])


class StoredRotations(Rotations):
    """Cosines and sines of a file, exact as stored.

    Parameters
    ----------
    table : Tabular
        With arrays cos and sin (n, pairs).
    """

    def __init__(self, table: Tabular) -> None:
        self.table, array = table, table.array("cos")
        self.count, self.pairs = array.shape
        self.dtype = array.dtype

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Rotations`."""
        if stop > self.count:
            rule = f"lies past the table, which has rows 0 to {self.count - 1}: give a longer one, or other positions"
            raise BadRecipe(f"position {stop - 1} {rule}")
        found = self.table.read_rows(["cos", "sin"], start, stop)
        return complex_points(widen(found["cos"], self.dtype), widen(found["sin"], self.dtype))

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Rotations`."""
        distinct, place = np.unique(rows, return_inverse=True)
        found = np.concatenate([self.rows(row, row + 1) for row in distinct.tolist()])[place, pairs]
        nothing = np.zeros(len(rows))
        return DoubleDouble(found.real, nothing), DoubleDouble(found.imag, nothing), nothing


def rotations_of(table: Tabular) -> Rotations:
    """Return the real cosines and sines of a recipe's table, or those of a file."""
    return ExactRotations(table) if isinstance(table, Table) else StoredRotations(table)


def complex_points(c: Floats, s: Floats) -> Points:
    """Return c + i s."""
    found = np.empty(c.shape, np.complex128)
    found.real, found.imag = c, s
    return found


# Factors and squares between this and its reciprocal neither overflow nor lose digits.
MAX_RATIO = 2.0**400


class ScaledRotations(Rotations):
    """Rotations whose cosines and sines a number above zero for each row and pair multiplies or divides.

    Parameters
    ----------
    rotations : Rotations
        What is scaled.
    scale : ExactRows
        The numbers, (n, pairs) or (n, 1).
    divides : bool
        Whether they divide.
    """

    def __init__(self, rotations: Rotations, scale: ExactRows, divides: bool) -> None:
        self.rotations, self.scale, self.divides = rotations, scale, divides
        self.pairs = rotations.pairs
        # two more roundings of scaled ones; of inverse ones the square errs by 8u, the quotient by 12u, the sums by 15u
        self.coarse = rotations.coarse + 1

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows, by float64 where nothing overflows; see `Rotations`."""
        points, size = self.rotations.rows(start, stop), self.scale.rows(start, stop)
        if ((size > 1 / MAX_RATIO) & (size < MAX_RATIO)).all():
            with np.errstate(all="ignore"):
                for part in (points.real, points.imag):
                    (np.divide if self.divides else np.multiply)(part, size, out=part)
            return points
        rows, pairs = (index.reshape(-1) for index in np.indices(points.shape))
        c, s, _ = self.doubled(rows + start, pairs)
        return complex_points(c.hi, s.hi).reshape(points.shape)

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Rotations`."""
        c, s, error = self.rotations.doubled(rows, pairs)
        scale, scale_error = self.scale.doubled(rows, pairs)
        with np.errstate(all="ignore"):
            change = divide if self.divides else multiply
            found = change(c, scale), change(s, scale)
            # the operation errs by at most 15u^2 of the result, the scale by its own relative error
            relative = 2.0**-98 + 2 * scale_error / scale.hi
            largest = np.maximum(*(np.abs(part.hi) for part in found))
            return *found, largest * relative + 2 * error * (1 / scale.hi if self.divides else scale.hi)


class SquaredLengths(ExactRows):
    """c^2 + s^2 of each pair of rotations: of a recipe the square of the magnitude."""

    def __init__(self, rotations: Rotations) -> None:
        self.rotations = rotations

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows; see `ExactRows`."""
        points = self.rotations.rows(start, stop)
        with np.errstate(all="ignore"):
            return np.asarray(points.real * points.real + points.imag * points.imag)

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        c, s, error = self.rotations.doubled(rows, columns)
        square = add(multiply(c, c), multiply(s, s))
        # the sum errs by at most 10u^2 of itself, and by 2 (|c| + |s|) times the error of c and s
        return square, 2.0**-102 * square.hi + 3 * error * np.sqrt(square.hi)


def inverse_of(rotations: Rotations) -> Rotations:
    """Return the inverse of each pair's matrix, without its transposition: that of a rotation alone is itself."""
    if isinstance(rotations, ExactRotations) and all(size == 1 for size in rotations.plan.magnitudes):
        return rotations
    return ScaledRotations(rotations, SquaredLengths(rotations), divides=True)
