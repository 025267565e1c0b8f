"""How far rows of a table are apart, and how well a matrix takes each to one further down.

n rows, d columns; pairs are the two numbers that turn together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.measures.readings import Reading


def nearest_rows(values: NDArray[np.float64]) -> tuple[float, int, int]:
    """Return the smallest distance of two rows, and which they are; the first such pair."""
    square = (values**2).sum(axis=1)
    distances = square[:, None] + square[None, :] - 2 * values @ values.T
    distances[np.diag_indices_from(distances)] = np.inf
    i, j = sorted(divmod(int(distances.argmin()), len(values)))
    return float(np.linalg.norm(values[i] - values[j])), i, j  # exactly: the product above cancels


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


def pair_shift(reading: Reading, shift: int) -> float:
    """Return how badly one 2 x 2 matrix for each pair takes row p to row p + shift.

    Fitted on every other row and measured on the rest, relative to the size of the pairs; 0 means
    PE(p + k) = M_k PE(p) for every p.
    """
    pairs = np.stack([reading.first, reading.second], axis=-1).swapaxes(0, 1)  # (m, n, 2)
    before, after = pairs[:, :-shift], pairs[:, shift:]
    matrices = np.linalg.pinv(before[:, ::2], rcond=1e-6) @ after[:, ::2]
    return float(np.abs(before[:, 1::2] @ matrices - after[:, 1::2]).max() / reading.magnitude)
