"""What the engine's tests compare with: mpmath, and frequencies made for them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from pecli.engine import STORAGE, FrequencySet, fill, widen

GRID = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127), "float32": (24, -126, 127), "float64": (53, -1022, 1023)}


def frequencies(base: str, dim: int, digits: int = 110) -> list[Decimal]:
    """base^(-2i/dim), i < dim/2, in ``digits`` digits."""
    with localcontext() as context:
        context.prec = digits + 10
        ratio = (-Decimal(base).ln() * 2 / dim).exp()
        found = [Decimal(1)]
        while len(found) < dim // 2:
            found.append(found[-1] * ratio)
        context.prec = digits
        return [+f for f in found]


def real(number: Decimal | Fraction | int) -> Any:
    """As mpmath's, at its working precision."""
    exact = Fraction(number)
    return mpmath.mpf(exact.numerator) / exact.denominator


def rounded(value: Any, dtype: str) -> float:
    """Round an mpmath number to nearest; a number from a wider computation is never a tie."""
    precision, lowest, highest = GRID[dtype]
    if not value:
        return 0.0
    exponent = int(mpmath.frexp(abs(value))[1]) - 1
    unit = max(exponent, lowest) - precision + 1
    scaled = mpmath.ldexp(value, -unit)
    result = mpmath.ldexp(mpmath.nint(scaled), unit)
    if abs(result) >= mpmath.ldexp(1, highest + 1):
        return float(mpmath.sign(value)) * float("inf")
    return float(result)


def wanted(
    multiple: int, frequency: Decimal | Fraction, part: str, dtype: str, unit: Fraction, magnitude: Decimal, turns: bool
) -> float:
    """The correctly rounded value, from 500 bits."""
    with mpmath.workprec(500):
        angle = multiple * real(unit) * real(frequency)
        if part == "angle":
            return rounded(angle * (2 * mpmath.pi if turns else 1), dtype)
        if turns:
            half_turns = real(2 * (multiple * unit * Fraction(frequency) % 1))
            value = (mpmath.sinpi if part == "sin" else mpmath.cospi)(half_turns)
        else:
            value = (mpmath.sin if part == "sin" else mpmath.cos)(angle)
        return rounded(value * real(magnitude), dtype)


def filled(
    wheel: FrequencySet, multiples: Iterable[int], dtype: str, columns: int, **options: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sines and cosines as stored, from two views of one table."""
    given = multiples if isinstance(multiples, range) else np.array(list(multiples), dtype=np.int64)
    table = np.zeros((len(given), 2 * columns), STORAGE[dtype])
    fill(wheel, given, [("sin", table[:, 0::2]), ("cos", table[:, 1::2])], dtype, **options)
    return table[:, 0::2], table[:, 1::2]


def wrong_values(
    wheel: FrequencySet,
    given: list[Decimal] | list[Fraction],
    multiples: Any,
    dtype: str,
    rows: Iterable[int],
    columns: Iterable[int],
    *,
    unit: Fraction = Fraction(1),
    magnitude: Decimal = Decimal(1),
    turns: bool = False,
) -> list[tuple[Any, ...]]:
    """Values of a filled table at some places that are not the correctly rounded ones."""
    sine, cosine = filled(wheel, multiples, dtype, len(given))
    found = []
    for i, j in zip(rows, columns, strict=True):
        for part, table in (("sin", sine), ("cos", cosine)):
            got = float(widen(table[i : i + 1, j], dtype)[0])
            expected = wanted(int(multiples[i]), given[j], part, dtype, unit, magnitude, turns)
            if got != expected:
                found.append((int(multiples[i]), j, part, got, expected))
    return found
