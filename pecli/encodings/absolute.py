"""Absolute encodings: position -> a vector that is added to the embedding.

n rows, d width.  Positions are tokens.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pecli.encodings.frequencies import CONTEXT, geometric
from pecli.encodings.parameters import Base, Dim, MaxLen
from pecli.errors import BadParameter
from pecli.plan import Band, Domain, Values, Waves
from pecli.spec import GIVEN, Facts, Family, Param, Preset, Source, encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pecli.phase.doubled import Doubled
    from pecli.points import Points

Order = Literal["interleaved", "sin-cos", "cos-sin"]
Odd = Literal["error", "truncate", "pad", "round-up"]
TENSOR2TENSOR = {"max_timescale": "10000", "order": "sin-cos", "odd": "pad"}


@encoding(
    family=Family.ABSOLUTE,
    title="Sinusoidal",
    formula="""
        w_i = base^(-2i/dim), i = 0 .. dim/2 - 1
        pe(p, 2i) = sin(p w_i)
        pe(p, 2i+1) = cos(p w_i)
    """,
    source=Source("Vaswani et al. 2017", "arXiv:1706.03762", "section 3.5"),
    facts=Facts(relative="rotation"),
    users="Transformer, Marian, Pegasus, XLM, Whisper, M2M100, diffusion time steps",
    example="sinusoidal:dim=4",
    presets=(
        Preset(
            "spacing",
            "Frequencies from 1 to the base's power short of 1/base (paper), or to 1/base itself (endpoint).",
            {"paper": {"shift": "0"}, "endpoint": {"shift": "1"}},
        ),
    ),
)
def sinusoidal(
    *,
    dim: Dim,
    base: Annotated[
        Base, Param("Base of the frequencies.", ge=1e-6, le=1e30, when=("max_timescale", (None,)))
    ] = Decimal(10000),
    order: Annotated[
        Order, Param("Columns: sin and cos in turn, all sines first, or all cosines first.")
    ] = "interleaved",
    shift: Annotated[
        Decimal, Param("Exponent of frequency i is i / (dim/2 - shift).", ge=0, when=("max_timescale", (None,)))
    ] = Decimal(0),
    max_timescale: Annotated[
        Decimal | None, Param("Slowest time scale; the last frequency is min/max of the first.", gt=0, le=1e30)
    ] = None,
    min_timescale: Annotated[
        Decimal,
        Param("Multiplies every frequency, as tensor2tensor does.", gt=0, le=1e30, when=("max_timescale", GIVEN)),
    ] = Decimal(1),
    scale: Annotated[Decimal, Param("Multiplies the position.", gt=0, le=1e12, ge=1e-12)] = Decimal(1),
    amplitude: Annotated[Decimal, Param("Multiplies every value.", gt=0, le=1e30, ge=1e-30)] = Decimal(1),
    odd: Annotated[
        Odd,
        Param(
            "An odd dim: an error, the last cosine dropped, a zero column last, or the table of dim + 1 cut.",
        ),
    ] = "error",
    pad_row: Annotated[int | None, Param("Position whose row is zero (fairseq: 1).")] = None,
) -> Waves:
    """Sines and cosines of geometrically spaced frequencies.

    Position p turns pair i by p w_i radians, so a shift of the position is one
    rotation per pair, the same at every position.
    """
    if dim % 2 and odd == "error":
        rule = f"must be even: use {max(2, dim - 1)} or {dim + 1}, or --odd truncate, pad or round-up"
        raise BadParameter("dim", dim, rule)
    sines, cosines, half = _halves(dim, odd)
    if max_timescale is None:
        if half == shift:
            raise BadParameter(
                "shift", shift, f"divides by dim/2 - shift = 0 at dim={dim}: use a wider dim or --shift 0"
            )
        if half < shift:
            raise BadParameter("shift", shift, f"must lie below dim/2 = {half}")
        frequencies = geometric(base, 1 / (half - Fraction(shift)), sines)
        factor = scale
    else:
        ratio = CONTEXT.divide(max_timescale, min_timescale)
        frequencies = geometric(ratio, Fraction(1, max(1, sines - 1)), sines)
        factor = CONTEXT.multiply(scale, min_timescale)
    if factor != 1:
        frequencies = tuple(CONTEXT.multiply(w, factor) for w in frequencies)
    blank = () if pad_row is None else (pad_row,)
    return Waves(dim, (_band(frequencies, order, sines, cosines),), amplitude, blank=blank)


def _halves(dim: int, odd: Odd) -> tuple[int, int, Fraction]:
    """Return the numbers of sines and of cosines, and the half that exponents divide by."""
    if dim % 2 == 0 or odd == "pad":
        return dim // 2, dim // 2, Fraction(dim // 2)
    return dim // 2 + 1, dim // 2, Fraction(dim, 2) if odd == "truncate" else Fraction(dim + 1, 2)


def _band(frequencies: tuple[Decimal, ...], order: Order, sines: int, cosines: int) -> Band:
    """Place the columns; an odd width that is not padded has one sine more than cosines."""
    if order == "interleaved":
        return Band(frequencies, sin=slice(0, 2 * sines, 2), cos=slice(1, 2 * cosines + 1, 2))
    if order == "sin-cos":
        return Band(frequencies, sin=slice(0, sines), cos=slice(sines, sines + cosines))
    return Band(frequencies, cos=slice(0, cosines), sin=slice(cosines, cosines + sines))


@encoding(
    family=Family.ABSOLUTE,
    title="Integer",
    formula="""
        pe(p, i) = p / (L - 1), L = max-len
        with scales a: pe(p, i) = p / (L - 1) (i / (dim - 1))^a
        with raw: pe(p, i) = p
    """,
    source=Source("a baseline of the guides", "the position itself, normalised"),
    facts=Facts(multi_scale=False, bounded=False),
    users="a baseline; scalar position features",
    example="integer:dim=1,max-len=10",
)
def integer(
    *,
    dim: Dim,
    max_len: Annotated[
        MaxLen, Param("Length L that maps to 1.", ge=2, lt=1 << 53, of_table="length", when=("raw", (False,)))
    ] = None,
    scales: Annotated[Decimal | None, Param("Exponent a of the column's scale (i/(dim-1))^a.", gt=0, le=1e6)] = None,
    raw: Annotated[bool, Param("Leave the position as it is.")] = False,
) -> Values:
    """The position itself, divided by the last one, in every column."""
    if scales is not None and dim == 1:
        raise BadParameter("dim", dim, "must be at least 2 with --scales: column i is scaled by (i/(dim-1))^a")
    columns = [Fraction(1)] * dim if scales is None else [_column_scale(i, dim, scales) for i in range(dim)]
    last = 1 if raw else (max_len or 2) - 1

    def at(points: Points) -> Doubled:
        return points.times([column / last for column in columns])

    return Values(dim, at)


def _column_scale(i: int, dim: int, exponent: Decimal) -> Fraction:
    """Return (i/(dim-1))^exponent to the digits of the decimal context."""
    if i == 0 or i == dim - 1:
        return Fraction(i, dim - 1)
    ratio = CONTEXT.divide(Decimal(i), Decimal(dim - 1))
    return Fraction(CONTEXT.power(ratio, exponent)) if exponent != 1 else Fraction(i, dim - 1)


@encoding(
    family=Family.ABSOLUTE,
    title="Binary",
    formula="""
        pe(p, i) = floor(p / 2^i) mod 2, least significant bit first
        with code gray: the bits of p xor floor(p / 2)
    """,
    source=Source("Gray 1953", "US patent 2,632,058", "for the Gray code"),
    facts=Facts(longest="2 ** dim", beyond="ends"),
    users="teaching; the discrete picture of what sinusoids do continuously",
    example="binary:dim=8",
)
def binary(
    *,
    dim: Dim,
    msb: Annotated[bool, Param("Most significant bit first.")] = False,
    code: Annotated[
        Literal["binary", "gray"], Param("Plain binary, or Gray: neighbours differ in one bit.")
    ] = "binary",
    signed: Annotated[bool, Param("Write -1 and 1 instead of 0 and 1.")] = False,
) -> Values:
    """The bits of the position, one column each."""

    def at(points: Points) -> NDArray[Any]:
        import numpy as np

        number = points.whole()
        if code == "gray":
            number = number ^ (number >> 1)
        shifts = np.minimum(np.arange(dim, dtype=np.int64), 62)  # positions end below 2^53
        bits = (number[:, None] >> (shifts[::-1] if msb else shifts)) & 1
        return (2 * bits - 1 if signed else bits).astype(np.float64)

    remedy = f"{dim} bits hold 0 to 2^{dim} - 1: use a wider --dim" if dim < 53 else "bits hold whole numbers from 0"
    return Values(dim, at, Domain(Fraction(0), Fraction(2**dim - 1), integral=True, remedy=remedy))
