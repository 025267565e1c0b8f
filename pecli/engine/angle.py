"""Angles: position times frequency in radians, not reduced, correctly rounded."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.turns import pi_bits
from pecli.engine.wheel import CHUNK, Wheel
from pecli.numbers.doubled import Doubled, from_decimal, multiply, quick_two_sum
from pecli.numbers.rounding import midpoints, narrow, to_grid
from pecli.numbers.types import GRIDS

Integers = NDArray[np.int64]

ERROR = 2.0**-98
"""Relative error of a doubled frequency (2^-105) times a doubled multiple (exact): 7u^2 and that."""


def frequencies(wheel: Wheel) -> Doubled:
    """Radians per multiple, doubled."""
    if wheel.exact.turns:
        ratios = [wheel.exact.ratio(j) for j in range(wheel.count)]
        scale = [max(0, r.denominator.bit_length() - r.numerator.bit_length()) for r in ratios]
        return from_decimal(
            [r * Fraction(pi_bits(192 + s) << 1, 1 << (192 + s)) for r, s in zip(ratios, scale, strict=True)]
        )
    unit = wheel.exact.unit
    context = Context(prec=160, Emin=-999999, Emax=999999)
    factor = context.divide(Decimal(unit.numerator), Decimal(unit.denominator))
    values = [context.multiply(f, factor) if isinstance(f, Decimal) else f * unit for f in wheel.exact.frequencies]
    return from_decimal(values)


def fill_angles(wheel: Wheel, multiples: Integers | range, out: NDArray[Any], dtype: str) -> None:
    """Fill one view with angles."""
    width = out.shape[1]
    if not width:
        return
    speed = frequencies(wheel)
    speed = Doubled(speed.hi[:width], speed.lo[:width])
    step = max(1, CHUNK // width)
    for at in range(0, len(multiples), step):
        here = np.asarray(multiples[at : at + step], dtype=np.int64)
        hi = here.astype(np.float64)
        # the float64 nearest to a multiple near 2^63 may be 2^63 itself, which int64 cannot hold
        lo = (here - np.minimum(hi, 2.0**63 - 1024).astype(np.int64)).astype(np.float64)
        lo -= hi - np.minimum(hi, 2.0**63 - 1024)
        value = multiply(Doubled(hi[:, None], lo[:, None]), speed)
        error = np.abs(value.hi) * ERROR
        if not wheel.exact.turns:
            # one float64 times one float64 is exact in doubled
            error[(lo[:, None] == 0) & (speed.lo == 0)] = 0.0
        view = out[at : at + step]
        if dtype == "float64":
            unsure = value.hi + (value.lo + error) != value.hi + (value.lo - error)
        else:
            # hi is the nearest double or one beside it, and a midpoint is a double: unless hi is one,
            # the true angle lies on the same side of it
            unsure = midpoints(value.hi, dtype)
        rows, columns = np.nonzero(unsure)
        narrow(value.hi + 0.0, None, dtype, view)
        if rows.size:
            high, low, bound = (x[rows, columns] for x in (value.hi, value.lo, error))
            above = to_grid(*quick_two_sum(high, low + bound), GRIDS[dtype])
            below = to_grid(*quick_two_sum(high, low - bound), GRIDS[dtype])
            for k in (above != below).nonzero()[0].tolist():
                i, j = int(rows[k]), int(columns[k])
                above[k] = wheel.exact.value(int(here[i]), j, "angle", GRIDS[dtype], wheel.phase)
            view[rows, columns] = narrow(above + 0.0, None, dtype)
