"""Absolute encodings: position -> a vector that is added to the embedding.

n rows, d width.  Positions are tokens.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pecli.declare.encoding import GIVEN, Facts, Family, Param, Preset, Source, encoding
from pecli.declare.plan import Band, Domain, Values, Waves
from pecli.encodings.shared.parameters import Base, Dim, MaxLen
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pecli.numbers.doubled import Doubled
    from pecli.numbers.points import Points

Order = Literal["interleaved", "sin-cos", "cos-sin"]
Odd = Literal["error", "truncate", "pad", "round-up"]

_PAPER: dict[str, object] = {"shift": "0", "order": "interleaved"}
_MARIAN: dict[str, object] = {"shift": "0", "order": "sin-cos", "odd": "truncate"}
_FAIRSEQ: dict[str, object] = {"shift": "1", "order": "sin-cos", "odd": "pad", "pad_row": "1"}
_TIMESCALES: dict[str, object] = {"min_timescale": "1", "max_timescale": "10000", "order": "sin-cos"}
CONVENTIONS: dict[str, dict[str, object]] = {
    "paper": _PAPER,
    "tensor2tensor": {**_TIMESCALES, "odd": "pad"},
    "fairseq": _FAIRSEQ,
    "whisper": {"shift": "1", "order": "sin-cos"},
    "marian": _MARIAN,
    "pegasus": _MARIAN,
    "xlm": {**_PAPER, "odd": "truncate"},
    "ctrl": _MARIAN,
    "musicgen": {"shift": "1", "order": "cos-sin", "odd": "pad"},
    "trocr": _FAIRSEQ,
    "timesfm": _TIMESCALES,
    "diffusers-function": {"shift": "1", "order": "sin-cos", "odd": "pad"},
    "diffusers-unet": {"shift": "0", "order": "cos-sin", "odd": "pad"},
    "diffusers-1d": _PAPER,
}


@encoding(
    family=Family.ABSOLUTE,
    title="Sinusoidal",
    formula="""
        w_i = base^(-i / (dim/2 - shift)), i = 0 .. dim/2 - 1; the paper has shift 0
        pe(p, 2i) = sin(p w_i)
        pe(p, 2i+1) = cos(p w_i)
        with max-timescale b and min-timescale a: w_i = a (b/a)^(-i / (dim/2 - 1))
    """,
    source=Source("Vaswani et al. 2017", "arXiv:1706.03762", "section 3.5"),
    facts=Facts(relative="rotation"),
    users="Transformer, tensor2tensor, fairseq, Marian, Pegasus, XLM, CTRL, Whisper, M2M100, MusicGen, TimesFM, "
    "diffusion time steps",
    example="sinusoidal:dim=4",
    presets=(
        Preset("convention", "Spacing, order and treatment of an odd dim as this framework has them.", CONVENTIONS),
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
    scale: Annotated[Decimal, Param("Multiplies the position.", ge=1e-12, le=1e12)] = Decimal(1),
    turns: Annotated[bool, Param("Frequencies count turns, as MLX's full_turns: angles are 2 pi p w_i.")] = False,
    amplitude: Annotated[Decimal, Param("Multiplies every value.", ge=1e-30, le=1e30)] = Decimal(1),
    odd: Annotated[
        Odd,
        Param("An odd dim: an error, the last cosine dropped, a zero column last, or the table of dim + 1 cut."),
    ] = "error",
    pad_row: Annotated[int | None, Param("Position whose row is zero (fairseq: 1).")] = None,
) -> Waves:
    """Sines and cosines of geometrically spaced frequencies.

    Position p turns pair i by p w_i radians, so a shift of the position is one
    rotation per pair, the same at every position.
    """
    if dim % 2 and odd == "error":
        near = f"{dim - 1} or {dim + 1}" if dim > 1 else "2"
        rule = f"must be even: use {near}, or --odd truncate{', pad' if dim > 1 else ''} or round-up"
        raise BadParameter("dim", dim, rule)
    if dim == 1 and odd == "pad":
        raise BadParameter("odd", odd, "leaves no column at dim=1, whose last one is zero: use a wider dim")
    wide, half = _half(dim, odd)
    if max_timescale is None:
        frequencies = geometric(base, 1 / (half - below_half(shift, half, f"dim={dim}")), wide)
        factor = scale
    else:
        ratio = CONTEXT.divide(max_timescale, min_timescale)
        frequencies = geometric(ratio, Fraction(1, max(1, wide - 1)), wide)
        factor = CONTEXT.multiply(scale, min_timescale)
    if factor != 1:
        frequencies = tuple(CONTEXT.multiply(w, factor) for w in frequencies)
    sin, cos = _columns(dim - dim % 2 if odd == "pad" else dim, order, odd)
    blank = () if pad_row is None else (pad_row,)
    return Waves(dim, (Band(frequencies, sin, cos, turns=turns),), amplitude, blank=blank)


def below_half(shift: Decimal, half: Fraction, of: str) -> Fraction:
    """Return the shift, once the exponent i / (half - shift) has a positive denominator."""
    if half == shift:
        rule = f"divides by {half} - {shift} = 0 at {of}: use a wider dim{' or --shift 0' if shift else ''}"
        raise BadParameter("shift", shift, rule)
    if half < shift:
        raise BadParameter("shift", shift, f"must lie below {half} at {of}: the exponent is i / ({half} - shift)")
    return Fraction(shift)


def _half(dim: int, odd: Odd) -> tuple[int, Fraction]:
    """Return the number of frequencies, and the half that exponents divide by."""
    if dim % 2 == 0 or odd == "pad":
        return dim // 2, Fraction(dim // 2)
    return dim // 2 + 1, Fraction(dim, 2) if odd == "truncate" else Fraction(dim + 1, 2)


def _columns(width: int, order: Order, odd: Odd) -> tuple[slice, slice]:
    """Return the columns of sines and cosines.

    An odd width has lost a cosine (truncate), or the last column (round-up), which is a sine
    where the cosines come first: [c0 c1 | s0 s1] cut to [c0 c1 | s0].
    """
    if order == "interleaved":
        return slice(0, width, 2), slice(1, width, 2)
    more, fewer = -(-width // 2), width // 2
    if order == "sin-cos":
        return slice(0, more), slice(more, width)
    cosines = more if odd == "round-up" else fewer
    return slice(cosines, width), slice(0, cosines)


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
    """Position itself, divided by the last one, in every column."""
    if scales is not None and dim == 1:
        raise BadParameter("dim", dim, "must be at least 2 with --scales: column i is scaled by (i/(dim-1))^a")
    if not raw and max_len == 1:  # left out, it is the table's length
        raise BadParameter("max-len", max_len, "must be at least 2: the position is divided by max-len - 1 = 0")
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
    """Bits of the position, one column each."""

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
