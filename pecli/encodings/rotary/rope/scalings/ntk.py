"""NTK-aware: the base grows, whatever the length (Peng et al. 2023, arXiv:2309.00071, section 3.1)."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Annotated

from pecli.declare.encoding import Param
from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import Factor, Frequencies, Scaling, Series
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, power


def grown(series: Series, factor: Decimal) -> Frequencies:
    """Return the frequencies of base * factor^(d/(d-2)).

    The slowest pair slows down by the whole factor and the fastest not at all.

    Raises
    ------
    BadParameter
        For a width of 2, which leaves no exponent.
    """
    d = series.width
    if d <= 2:
        raise BadParameter("dim", d, "must be above 2 for scaling ntk and dynamic: they divide by dim - 2")
    with localcontext(CONTEXT):
        return Series(series.dim, d, series.base * power(factor, Fraction(d, d - 2))).frequencies


def _frequencies(
    series: Series,
    *,
    factor: Factor | None = None,
    alpha: Annotated[Decimal | None, Param("The factor of ntk by Hunyuan's name.", gt=0, le=1e9)] = None,
) -> Frequencies:
    if factor is not None and alpha is not None:
        raise BadParameter("alpha", alpha, f"is another name for factor={factor}: give one of them")
    times = alpha if factor is None else factor
    if times is None:
        raise BadParameter("factor", "(none)", "must be given for scaling ntk")
    return grown(series, times)


def _float32(series: Series, *, factor: Decimal | None, alpha: Decimal | None) -> Float32:
    times, d = alpha if factor is None else factor, series.width
    assert times is not None
    return inverse_powers(float(series.base) * float(times) ** (d / (d - 2)), d)


SCALING = Scaling("ntk", 3, _frequencies, _float32)
