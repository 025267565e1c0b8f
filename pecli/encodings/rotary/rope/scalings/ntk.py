"""NTK-aware: the base grows, whatever the length (Peng et al. 2023, arXiv:2309.00071, section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pecli.declare.board import short
from pecli.declare.encoding import Param
from pecli.declare.rescaling import Slowed
from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, Factor, Frequencies, PlainSeries, Scaling
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, power


def grown(series: PlainSeries, factor: Decimal) -> Frequencies:
    """Return the frequencies of base * factor^(d/(d-2)).

    The slowest pair slows down by the whole factor and the fastest not at all.

    Raises
    ------
    BadParameter
        For a width of 2, which leaves no exponent.
    """
    d = series.width
    if d <= 2:
        raise BadParameter("dim", d, "must be above 2 for scaling=ntk and scaling=dynamic: they divide by dim - 2")
    return PlainSeries(series.dim, d, larger_base(series.base, Fraction(d - 2, d), factor)).frequencies


def larger_base(base: Decimal, last: Fraction, factor: Decimal) -> Decimal:
    """Return the base whose power of the last exponent is `factor` times as large."""
    return CONTEXT.multiply(base, power(factor, 1 / last))


def least(slowed: Slowed) -> float | None:
    """Return the factor with which the first binding pair slows down enough, and every slower one by more.

    A pair at share e of the way to the slowest is slowed by factor^e.
    """
    w, first = slowed.frequencies, slowed.binding[0]
    if first == 0:
        return None
    share = math.log(float(w[0] / w[first])) / math.log(float(w[0] / w[-1]))
    return float(slowed.growth ** (1 / share))


def _frequencies(
    series: PlainSeries,
    *,
    factor: Factor | None = None,
    alpha: Annotated[Decimal | None, Param("The factor of ntk by Hunyuan's name.", gt=0, le=1e9)] = None,
) -> Frequencies:
    if factor is not None and alpha is not None:
        raise BadParameter("alpha", alpha, f"is another name for factor={factor}: give one of them")
    times = alpha if factor is None else factor
    if times is None:
        raise BadParameter("factor", None, "must be given for scaling=ntk")
    return grown(series, times)


def _float32(series: PlainSeries, *, factor: Decimal | None, alpha: Decimal | None) -> Float32:
    times, d = alpha if factor is None else factor, series.width
    assert times is not None
    return inverse_powers(float(series.base) * float(times) ** (d / (d - 2)), d)


def base_lines(series: PlainSeries, factor: float, pairs: Sequence[int]) -> list[str]:
    """Return the larger base of a factor, and frequencies of it, with the numbers put in."""
    d, base = series.width, short(float(series.base))
    larger = float(series.base) * factor ** (d / (d - 2))
    found = [f"base' = {base} x {short(factor)}^({d}/{d - 2}) = {short(larger)}"]
    return [*found, *(f"w_{i} = {short(larger)}^(-{2 * i}/{d}) = {short(larger ** (-2 * i / d))}" for i in pairs)]


def _board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    return base_lines(series, float(given["alpha"] if given["factor"] is None else given["factor"]), pairs)


SCALING = Scaling(
    "ntk", 3, _frequencies, _float32, least=least, by_base=True, factor_names=("factor", "alpha"),
    series=lambda base, last, factor, growth: (ONE, larger_base(base, last, factor)), board=_board,
)  # fmt: skip
