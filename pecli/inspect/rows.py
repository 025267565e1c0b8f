"""Distances of rows of a table, and the matrix that takes each row to a later one.

n rows, d columns; pairs are the two numbers that rotate together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.inspect.pairs import Floats, PairReading, planes_of, reading_of, take
from pecli.judge.planes import EPSILON
from pecli.spec.tabular import BLOCK_BYTES, Tabular

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

    Fitted on every other row and measured on the rest, relative to the size of the pairs; 0 means
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
class RowStep:
    """The matrix M with PE(p + 1) = M PE(p), as the first rows of a table give it.

    Attributes
    ----------
    scale : float
        The largest value.
    resolution : float
        Of the table's type, relative.
    missed : callable
        Of rows and the rows that follow them, how far M takes each from the one it should, relative to `scale`, (n,).
    """

    scale: float
    resolution: float
    missed: Callable[[Floats, Floats], Floats]


def step_of(rows: RowReader) -> RowStep:
    """Return the step to the next row: a rotation of each pair if the values are rotating pairs, else a fitted matrix.

    Raises
    ------
    BadParameter
        If there are too few rows for it.
    """
    sample, count = rows.sample, min(rows.count, FITTED_ROWS, *(len(plane.values) for plane in rows.sample.planes))
    values = rows.read(0, count)
    scale = float(np.abs(values).max(initial=0.0, where=np.isfinite(values))) or 1.0
    reading = reading_of(sample)
    if reading is not None and len(reading.first) == count and not reading.tail:
        first, second = reading.columns
        turning = values[:, first] + 1j * values[:, second]
        turn = (turning[1:] * turning[:-1].conj()).mean(axis=0)
        turn /= np.abs(turn)

        def miss_of_turns(before: Floats, after: Floats) -> Floats:
            was, became = (part[:, first] + 1j * part[:, second] for part in (before, after))
            return np.asarray(np.abs(became - turn * was).max(axis=1) / scale)

        return RowStep(scale, sample.resolution, miss_of_turns)
    if count - 1 <= rows.columns:
        rule = f"cannot be fitted: a matrix of {rows.columns} columns takes {rows.columns + 2} rows of the first"
        raise BadParameter("expect", "relative", f"{rule} {FITTED_ROWS}, and there are {count}")
    finite = np.where(np.isfinite(values), values, 0.0)
    matrix = np.linalg.lstsq(finite[:-1], finite[1:], rcond=1e-12)[0]

    def miss_of_matrix(before: Floats, after: Floats) -> Floats:
        return np.asarray(np.abs(before @ matrix - after).max(axis=1) / scale)

    return RowStep(scale, EPSILON.get(sample.dtype, 2.0**-53), miss_of_matrix)
