"""Few rows, or rows in no order: every pair from its own phase."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.engine.circle import DOUBLED_ERROR, SINGLE_ERROR
from pecli.engine.layout import PairLayout
from pecli.engine.narrowing import (
    SMALLEST_NORMAL,
    DoubtWindow,
    Flags,
    Product,
    Rounder,
    decide,
    ordinary,
    product_type,
    put,
)
from pecli.engine.scratch import Scratch
from pecli.engine.wheel import Wheel
from pecli.numbers.doubled import Doubled, multiply

Integers = NDArray[np.int64]
Complex = NDArray[np.complex128]

CALL = 1 << 14
"""Pairs rounded at once."""

RELATIVE = SINGLE_ERROR + 2.0**-51
"""Relative error of a candidate but for `phase_error`: the magnitude is rounded, and its product."""

SMALL = 2.0**-19
"""Parts below this are doubted: `phase_error` is below 2^-60, so above it less than 2^-41 of them."""

WINDOW = DoubtWindow(2.0**-40)


def fill_short(wheel: Wheel, multiples: Integers, layout: PairLayout, dtype: str, scratch: Scratch) -> None:
    """Fill rows of any multiples."""
    step = max(1, CALL // wheel.count)
    for at in range(0, len(multiples), step):
        here = slice(at, at + step)
        if dtype == "float64":
            _wide(wheel, multiples[here], layout.rows(here))
        else:
            _narrow(wheel, multiples[here], layout.rows(here), dtype, scratch)


def _narrow(wheel: Wheel, multiples: Integers, layout: PairLayout, dtype: str, scratch: Scratch) -> None:
    points, bits = wheel.single_rows(multiples)
    magnitude = float(wheel.magnitude.hi)
    points *= magnitude
    if ordinary(magnitude, dtype):
        places = _doubtful(points, layout, dtype, abs(magnitude), scratch)
    else:
        places = np.arange(points.size)
    rows, columns = np.divmod(places, wheel.count)
    moving = (multiples[rows] != 0) & (wheel.speed[columns] != 0)
    rows, columns = rows[moving], columns[moving]
    if not rows.size:
        return
    chosen = multiples[rows]
    absolute = wheel.phase_error(chosen, bits) * abs(magnitude)
    value = points[rows, columns]
    error = np.abs(value.view(np.float64).reshape(-1, 2)) * RELATIVE + absolute[:, None]
    values = decide(wheel, chosen, columns, value, error, dtype)
    put(layout, "cos", rows, columns, values[:, 0])
    put(layout, "sin", rows, columns, values[:, 1])


def _doubtful(points: Complex, layout: PairLayout, dtype: str, magnitude: float, scratch: Scratch) -> Integers:
    """Round into the outputs; places that may be wrong."""
    swapped = layout.pair is not None and layout.sine_first
    biased: Product = points * WINDOW.bias
    if swapped:
        biased = biased.conj() * 1j
    biased = biased.astype(product_type(dtype), copy=False)
    flags = Flags(2 * points.size, "doubtful", scratch)
    doubtful = flags.part(0, 2 * points.size)
    Rounder(biased, layout, swapped, dtype, WINDOW, scratch)(0, doubtful)
    doubtful |= np.abs(points.reshape(-1).view(np.float64)) < max(magnitude * SMALL, SMALLEST_NORMAL[dtype])
    return flags.places() >> 1


def _wide(wheel: Wheel, multiples: Integers, layout: PairLayout) -> None:
    point = wheel.doubled_rows(multiples)
    bits = wheel.kept_bits(multiples, 100)
    absolute = (wheel.phase_error(multiples, bits) * abs(float(wheel.magnitude.hi)))[:, None]
    for part, number in zip(("cos", "sin"), point, strict=True):
        if not any(kind == part for kind, _ in layout.views()):
            continue
        shape = number.hi.shape
        factor = Doubled(np.broadcast_to(wheel.magnitude.hi, shape), np.broadcast_to(wheel.magnitude.lo, shape))
        value = number if wheel.exact.factor == 1 else multiply(number, factor)
        error = np.abs(value.hi) * (DOUBLED_ERROR * 2) + absolute
        above, below = value.hi + (value.lo + error), value.hi + (value.lo - error)
        rows, columns = np.nonzero(above != below)
        moving = (multiples[rows] != 0) & (wheel.speed[columns] != 0)
        rows, columns = rows[moving], columns[moving]
        if rows.size:
            above[rows, columns] = wheel.settle(multiples[rows], columns, part, "float64")
        for kind, view in layout.views():
            if kind == part:
                view[...] = above[:, : view.shape[1]]
