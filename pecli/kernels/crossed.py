"""Sines and cosines of phases that are no product of one frequency and one coordinate."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.frequencies import CONTEXT
from pecli.phase import Part, Wheel, fill
from pecli.plan import Cross
from pecli.points import Points

Views = list[tuple[Part, NDArray[Any]]]

BLOCK = 1 << 16
"""Phases worked on at once."""


def fill_cross(cross: Cross, points: Points, out: NDArray[Any], dtype: str, threads: int) -> None:
    """Fill the columns of crossed phases, rows `points` of ``pe``.

    A sum over coordinates is one whole multiple of a unit of a turn for each value: one wheel of a
    single frequency, turned by all of them; or, where that would be too large, a wheel for each row.
    With a logarithm the parts change places: the
    positions' logarithms are the frequencies, the columns' factors the multiples.
    """
    if cross.multiples is not None:
        _sums(cross, cross.multiples(points.whole()), out, dtype, threads)
        return
    if cross.phases is not None:
        for row, position in enumerate(points.whole().tolist()):
            wheel = Wheel(cross.phases(position), turns=True, unit=cross.unit)
            views: Views = [("sin", out[row : row + 1, cross.sin]), ("cos", out[row : row + 1, cross.cos])]
            fill(wheel, range(1, 2), views, dtype)
        return
    assert cross.logarithm is not None
    factors = np.array(cross.logarithm, np.int64)
    step = max(1, BLOCK // len(factors))
    for at in range(0, len(points), step):
        here = points.multiples[at : at + step].tolist()
        wheel = Wheel([logarithm(m * points.unit) for m in here], turns=True, unit=cross.unit)
        rows = out[at : at + step]
        fill(wheel, factors, [("sin", rows[:, cross.sin].T), ("cos", rows[:, cross.cos].T)], dtype, threads=threads)


def _sums(cross: Cross, multiples: NDArray[np.int64], out: NDArray[Any], dtype: str, threads: int) -> None:
    wheel = Wheel([cross.unit], turns=True)
    step = max(1, BLOCK // multiples.shape[1])
    for at in range(0, len(multiples), step):
        here = multiples[at : at + step]
        made = np.empty((2, here.size, 1), out.dtype)
        fill(wheel, here.reshape(-1), [("sin", made[0]), ("cos", made[1])], dtype, threads=threads)
        out[at : at + step, cross.sin] = made[0].reshape(here.shape)
        out[at : at + step, cross.cos] = made[1].reshape(here.shape)


def logarithm(value: Fraction) -> Decimal:
    """Return the natural logarithm of a number above 0, in decimals."""
    return CONTEXT.ln(CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator)))
