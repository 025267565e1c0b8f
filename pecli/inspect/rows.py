"""Distances of rows of a table, the matrix that takes each row to a later one, and products of rows.

n rows, d columns; pairs are the two numbers that rotate together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, UnknownName
from pecli.inspect.pairs import Floats, PairReading, is_matrix, planes_of, reading_of, take
from pecli.judge.planes import EPSILON
from pecli.spec.tabular import BLOCK_BYTES, Array, Tabular

FITTED_ROWS = 2048  # rows that a matrix is fitted to
MAX_DISTANCES = 1 << 21  # between rows that are held at once, 16 MiB
MAX_NEAREST_PAIRS = 1 << 12  # pairs of rows of a block that may be the nearest: more are alike but for roundings


def nearest_rows(values: NDArray[np.float64]) -> tuple[float, int, int]:
    """Return the smallest distance of two rows, and which they are; the first such pair.

    Products tell which pairs may be the nearest: they cancel, so that those within their error are measured again.
    """
    centred = values - values.mean(axis=0)
    square = (centred**2).sum(axis=1)
    error = 4 * (values.shape[1] + 2) * 2.0**-53 * float(square.max(initial=0.0))
    nearest: tuple[float, int, int] = (np.inf, 0, 0)
    for start in range(0, len(values), step := max(1, MAX_DISTANCES // len(values))):
        block = centred[start : start + step]
        distances = square[start : start + step, None] + square[None, :] - 2 * block @ centred.T
        distances[np.arange(len(values)) <= np.arange(start, start + len(block))[:, None]] = np.inf
        least = min(nearest[0] ** 2, max(0.0, float(distances.min()))) + 2 * error
        for k, j in np.argwhere(distances <= least)[:MAX_NEAREST_PAIRS].tolist():
            apart = float(np.linalg.norm(values[start + k] - values[j]))
            nearest = min(nearest, (apart, start + k, j))
    return nearest


def matrix_shift(values: NDArray[np.float64], shift: int) -> float | None:
    """Return how badly one matrix M, fitted on half the rows, takes row p to row p + shift on the others.

    The largest difference over the held-out rows, relative to the largest value; 0 means
    PE(p + k) = M PE(p) for every p.  None where there are not more rows than columns to fit.
    """
    before, after = values[:-shift], values[shift:]
    fit = np.arange(len(before)) % 2 == 0
    if fit.sum() <= values.shape[1]:
        return None
    m, *_ = np.linalg.lstsq(before[fit], after[fit], rcond=1e-12)
    scale = float(np.abs(values).max()) or 1.0
    return float(np.abs(before[~fit] @ m - after[~fit]).max() / scale)


def pair_shift(reading: PairReading, shift: int) -> float:
    """Return how badly one 2 x 2 matrix for each pair takes row p to row p + shift.

    FittedStep on every other row and measured on the rest, relative to the size of the pairs; 0 means
    PE(p + k) = M_k PE(p) for every p.
    """
    pairs = np.stack([reading.first, reading.second], axis=-1).swapaxes(0, 1)  # (m, n, 2)
    before, after = pairs[:, :-shift], pairs[:, shift:]
    matrices = np.linalg.pinv(before[:, ::2], rcond=1e-6) @ after[:, ::2]
    return float(np.abs(before[:, 1::2] @ matrices - after[:, 1::2]).max() / reading.magnitude)


class RowReader:
    """Rows of a table: the values of all arrays at one position as float64, complex ones as two parts.

    Attributes
    ----------
    count, columns : int
        n and d.
    sample : Sample
        The first of them.
    """

    def __init__(self, table: Tabular) -> None:
        names = [array.name for array in next(iter(table.groups()), [])]
        self.sample = take(table, FITTED_ROWS, names=names)
        self.count = min((view.rows for view in self.sample.views), default=0)
        self.columns = sum(int(np.prod(plane.values.shape[1:])) for plane in self.sample.planes)

    def read(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop`, (stop - start, d)."""
        planes = [plane for view in self.sample.views for plane in planes_of(view, start, stop)]
        return np.concatenate([plane.values.reshape(stop - start, -1) for plane in planes], axis=1)

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield all of them in order, with the first row's number."""
        step = max(1, BLOCK_BYTES // max(1, 8 * self.columns))
        for start in range(0, self.count, step):
            yield start, self.read(start, min(start + step, self.count))


@dataclass(frozen=True)
class ShiftStep(ABC):
    """The matrix M, (d, d), with PE(p + k) = M PE(p), as the first rows of a table give it.

    Attributes
    ----------
    scale : float
        The largest value.
    resolution : float
        Of the table's type, relative.
    """

    scale: float
    resolution: float

    @abstractmethod
    def rows(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop` of M, (stop - start, d)."""

    @abstractmethod
    def missed(self, before: Floats, after: Floats) -> Floats:
        """Return how far M takes each row from the one it should, relative to the largest value, (n,)."""


@dataclass(frozen=True)
class TurningStep(ShiftStep):
    """Shift of rotating pairs: one 2 x 2 block for each.

    Attributes
    ----------
    turn : (m,) complex128
        The turn of each pair.
    first, second : (m,) int64
        Their columns.
    """

    turn: NDArray[np.complex128]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def rows(self, start: int, stop: int) -> Floats:
        """Return some rows: the cosine and the sine of each pair."""
        made = np.zeros((stop - start, 2 * len(self.turn)))
        for row, other, sign in ((self.first, self.second, -1), (self.second, self.first, 1)):
            here = (row >= start) & (row < stop)
            made[row[here] - start, row[here]] = self.turn.real[here]
            made[row[here] - start, other[here]] = sign * self.turn.imag[here]
        return made

    def missed(self, before: Floats, after: Floats) -> Floats:
        """Return the largest miss of a pair."""
        was, became = (part[:, self.first] + 1j * part[:, self.second] for part in (before, after))
        return np.asarray(np.abs(became - self.turn * was).max(axis=1) / self.scale)


@dataclass(frozen=True)
class FittedStep(ShiftStep):
    """Shift of other tables: the whole matrix."""

    matrix: Floats

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows of it."""
        return np.asarray(self.matrix[start:stop])

    def missed(self, before: Floats, after: Floats) -> Floats:
        """Return the largest miss of a column."""
        return np.asarray(np.abs(before @ self.matrix.T - after).max(axis=1) / self.scale)


def step_of(rows: RowReader, shift: int, asked: tuple[str, object]) -> ShiftStep:
    """Return the matrix of a shift: a rotation of each pair if the values are rotating pairs, else a fitted matrix.

    Raises
    ------
    BadParameter
        If there are too few rows for it; `asked` is the option that wants it, and its value.
    """
    sample, count = rows.sample, min(rows.count, FITTED_ROWS, *(len(plane.values) for plane in rows.sample.planes))
    if count <= shift:
        raise BadParameter(*asked, f"takes more than {shift} rows, and there are {count}")
    values = rows.read(0, count)
    scale = float(np.abs(values).max(initial=0.0, where=np.isfinite(values))) or 1.0
    reading = reading_of(sample)
    if reading is not None and len(reading.first) == count and not reading.tail:
        first, second = reading.columns
        turning = values[:, first] + 1j * values[:, second]
        turn = (turning[shift:] * turning[: count - shift].conj()).mean(axis=0)
        return TurningStep(scale, sample.resolution, turn / np.abs(turn), first, second)
    if count - shift <= rows.columns:
        rule = (
            f"cannot be fitted: a matrix of {rows.columns} columns takes {rows.columns + shift + 1} rows of the first"
        )
        raise BadParameter(*asked, f"{rule} {FITTED_ROWS}, and there are {count}")
    finite = np.where(np.isfinite(values), values, 0.0)
    matrix = np.linalg.lstsq(finite[: count - shift], finite[shift:], rcond=1e-12)[0].T
    return FittedStep(scale, EPSILON.get(sample.dtype, 2.0**-53), matrix)


SIMILARITIES = ("dot", "cosine")


class Similarity(Tabular):
    """Products of every row with every other, (n, n) float64, made in blocks of rows.

    Parameters
    ----------
    table : Tabular
        Vectors, one for each position; several arrays stand beside each other.
    kind : {"dot", "cosine"}
        Whether the products are divided by both norms; a row of zeros has cosine 0 with every row.

    Notes
    -----
    Sums are NumPy's in float64: of d columns within d 2^-53 of the sum of the products' sizes.

    Raises
    ------
    UnknownName, BadParameter
        For another word, or a table that holds no vectors.
    """

    def __init__(self, table: Tabular, kind: str) -> None:
        if kind not in SIMILARITIES:
            raise UnknownName("similarity", kind, SIMILARITIES)
        self._rows, self._cosine = _vectors(table, "similarity", kind), kind == "cosine"
        n = self._rows.count
        self.arrays = (Array(kind, (n, n), "float64", ("query", "key")),)
        self.recipe, self.metadata = None, {"similarity": kind, **_of(table)}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        with np.errstate(all="ignore"):  # any bits may stand in a file
            left = self._read(start, stop)
            for target in out.values():
                for first, rows in self._rows.blocks():
                    right = self._unit(rows)
                    target[:, first : first + len(rows)] = left @ right.T

    def _read(self, start: int, stop: int) -> Floats:
        return self._unit(self._rows.read(start, stop))

    def _unit(self, rows: Floats) -> Floats:
        if not self._cosine:
            return rows
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms != 0))


class ShiftMatrix(Tabular):
    """The matrix M with PE(p + k) = M PE(p) for every p, (d, d) float64, made in blocks of rows.

    Of pairs that turn it is a rotation of each pair, by the turn that the first rows make on the average; of other
    tables the one that fits the first rows best.

    Parameters
    ----------
    table : Tabular
        Vectors, one for each position.
    shift : int
        k, at least 1.
    """

    def __init__(self, table: Tabular, shift: int) -> None:
        rows = _vectors(table, "shift-matrix", shift)
        self._step = step_of(rows, shift, ("shift-matrix", shift))
        d, count = rows.columns, min(rows.count, len(rows.sample.planes[0].values))
        values = rows.read(0, count)
        with np.errstate(all="ignore"):
            missed = float(self._step.missed(values[:-shift], values[shift:]).max())
        self.residual = np.inf if np.isnan(missed) else missed
        self.measured = f"the first {count:,} of {rows.count:,} rows" if count < rows.count else f"all {count:,} rows"
        self.arrays = (Array("matrix", (d, d), "float64", ("row", "channel")),)
        self.recipe, self.metadata = None, {"shift": str(shift), "residual": f"{self.residual:.3g}", **_of(table)}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for target in out.values():
            target[...] = self._step.rows(start, stop)


def _vectors(table: Tabular, option: str, given: object) -> RowReader:
    if any(is_matrix(table, array) for array in table.arrays):
        raise BadParameter(option, given, "is for vectors of positions, and this table relates two positions")
    return RowReader(table)


def _of(table: Tabular) -> dict[str, str]:
    return {} if table.recipe is None else {"of": table.recipe}
