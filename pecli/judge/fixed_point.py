"""Values of fixed point: whole numbers, or multiples of a step, that stand for others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from pecli.judge.description import factor_text
from pecli.judge.planes import Floats
from pecli.numbers.decimals import shortest

# Whole numbers that show fixed point; of its values those that show the factor, as a share of the largest one; by how
# much, relative, float32 arithmetic may move the factor's bounds; and bits behind the point.
MIN_LEVELS, MIN_SHOWN, FACTOR_GAP, BITS = 8, 1 / 16, 2.0**-22, range(4, 17)
# By how much a number must exceed the largest one that is held for values to be held to that.
MIN_HELD = 0.25
# Ways of rounding to whole numbers: how far below and above a number those are for which it stands, and the function
# that brings them within half a number of it.
FIXED: dict[str, tuple[float, float, Callable[[Floats], Floats]]] = {
    "rounded": (0.5, 0.5, np.positive),
    "cut": (1.0, 1.0, lambda v: v - np.sign(v) / 2),
    "rounded down": (0.0, 1.0, lambda v: v - 0.5),
}


def fixed_point(y: Floats, x: Floats, unit: int) -> Iterator[tuple[str, str, Callable[[Floats], Floats], float]]:
    """Yield what makes multiples of 1 / unit of the expected values x: a factor, a zero point, a way of rounding.

    Each value bounds the factor, but for the largest and the least, to which larger ones may have been held.

    Yields
    ------
    str, str, callable, float
        The kind, what is said, with a place for whose values, the function, and by how much a value may be off.
    """
    own = y * unit
    if (own != np.rint(own)).any() or np.ptp(own) < MIN_LEVELS:
        return
    size = float(np.abs(x).max())
    added = float(np.polyfit(x, own, 1)[1]) if unit == 1 else 0.0
    power = math.copysign(2.0 ** round(math.log2(abs(added))), added) if abs(added) > 1 else 0.0  # a zero point
    added = power if abs(added - power) < MIN_HELD else 0.0
    for zero, (way, (below, above, middle)) in product({0.0, added}, FIXED.items()):
        low, high = float(own.min()) - zero, float(own.max()) - zero
        use = (np.abs(x) > MIN_SHOWN * size) & (own - zero < high) & (own - zero > low)
        have, want = own[use] - zero, x[use]
        if way == "cut":  # towards zero
            have, want = np.abs(have), np.abs(want)
        ends = np.array([[0.0 if way == "cut" else -below], [above]])
        bounds = np.sort((have + ends) / want, axis=0)
        least, most = (float(bounds[0].max(initial=0)), float(bounds[1].min(initial=np.inf)))
        least, most = least * (1 - FACTOR_GAP), most * (1 + FACTOR_GAP)
        if not 0 < least <= most < math.inf:
            continue
        power = 2.0 ** round(math.log2(most))
        factors = {power, power - 1, high / size, -low / size, float(shortest(least, most))}
        for factor in sorted(one for one in factors if least <= one <= most and (one, zero) != (1, 0)):
            text = f"{{}} are {way} to multiples of 1/{unit}"
            if unit == 1:
                product_text = f"{factor_text(factor)} times the expected ones" + f" plus {zero:g}" * bool(zero)
                text = f"{{}} are {product_text}, {way} to whole numbers"
            text += f" after a factor of {factor / unit:.6g}" * (unit not in (1, factor))
            largest, smallest = factor * x.max() - above, factor * x.min() + below
            held = bool(largest > high + MIN_HELD or smallest < low - MIN_HELD)
            text += f", and held to {(low + zero) / unit:g} .. {(high + zero) / unit:g}" * held
            made = partial(_in_steps, middle, factor, zero, (low, high), unit)
            kind, half = "factor" if unit == 1 else "cast", (0.5 + factor * size * FACTOR_GAP) / unit
            yield kind, text, made, half


def _in_steps(
    middle: Callable[[Floats], Floats], factor: float, zero: float, ends: tuple[float, float], unit: int, values: Floats
) -> Floats:
    return (np.clip(middle(values * factor), *ends) + zero) / unit
