"""Few rows, or rows in no order: every pair from its own phase."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.phase.circle import DOUBLED_ERROR, SINGLE_ERROR
from pecli.phase.doubled import Doubled, multiply
from pecli.phase.layout import Layout
from pecli.phase.rounding import narrow
from pecli.phase.wheel import Wheel

Integers = NDArray[np.int64]


def fill_short(wheel: Wheel, multiples: Integers, layout: Layout, dtype: str) -> None:
    """Fill rows of any multiples."""
    step = max(1, (1 << 14) // wheel.count)
    for at in range(0, len(multiples), step):
        here = slice(at, at + step)
        if dtype == "float64":
            _wide(wheel, multiples[here], layout.rows(here))
        else:
            _narrow(wheel, multiples[here], layout.rows(here), dtype)


def _narrow(wheel: Wheel, multiples: Integers, layout: Layout, dtype: str) -> None:
    """Candidates of relative error SINGLE_ERROR and what the fixed point and the magnitude add."""
    points, bits = wheel.single_rows(multiples)
    magnitude = float(wheel.magnitude.hi)
    absolute = (wheel.phase_error(multiples, bits) * abs(magnitude))[:, None]
    for part, number in (("cos", points.real), ("sin", points.imag)):
        if not any(kind == part for kind, _ in layout.views()):
            continue
        value = number * magnitude
        error = np.abs(value) * (SINGLE_ERROR + 2.0**-51) + absolute
        above = narrow(value + error, None, dtype)
        below = narrow(value - error, None, dtype)
        bits = f"u{above.itemsize}"
        rows, columns = np.nonzero(above.view(bits) != below.view(bits))
        moving = (multiples[rows] != 0) & (wheel.speed[columns] != 0)
        rows, columns = rows[moving], columns[moving]
        if rows.size:
            exact = wheel.settle(multiples[rows], columns, part, dtype)
            above[rows, columns] = narrow(exact, None, dtype)
        for kind, view in layout.views():
            if kind == part:
                view[...] = above[:, : view.shape[1]]


def _wide(wheel: Wheel, multiples: Integers, layout: Layout) -> None:
    point = wheel.doubled_rows(multiples)
    bits = wheel.kept_bits(multiples, 100)
    magnitude = float(wheel.magnitude.hi)
    absolute = (wheel.phase_error(multiples, bits) * abs(magnitude))[:, None]
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
