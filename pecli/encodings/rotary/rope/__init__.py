"""Rotary encodings: position -> cos and sin that turn pairs of queries and keys.

d is the rotary width; pair i of position p turns by p w_i radians.
"""

from decimal import Decimal
from typing import Annotated, Literal, TypeVar

from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Waves, rotation
from pecli.encodings.rotary.rope import scalings as scaled
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.text import number_text

Scaling = Literal["none", "linear", "ntk", "dynamic", "ntk-by-parts", "yarn", "longrope", "llama3", "proportional"]
Ramp = Literal["index", "rotations"]

_YARN = ("scaling", ("yarn", "ntk-by-parts"))
_MAGNITUDE = ("scaling", ("yarn",))
_LONG = ("scaling", ("longrope",))
_LLAMA = ("scaling", ("llama3",))
_BY_LENGTH = ("scaling", ("dynamic", "longrope"))
_FACTORS = ("linear", "ntk", "dynamic", "ntk-by-parts", "yarn", "longrope", "llama3", "proportional")
_ORIGINAL = ("scaling", ("yarn", "ntk-by-parts", "longrope", "llama3"))
_COMPUTED = ("frequencies", (None,))

ONE = Decimal(1)
T = TypeVar("T")


@encoding(
    family=Family.ROTARY,
    title="Rotary",
    formula="""
        w_i = base^(-2i/d), i = 0 .. d/2 - 1
        cos(p, i) = cos(p w_i), sin(p, i) = sin(p w_i)
        pair i of query and key turns by p w_i: the product depends on the distance alone
        a scaling replaces w_i, and multiplies cos and sin by one magnitude
    """,
    source=(
        Source("Su et al. 2021", "arXiv:2104.09864", "section 3.2"),
        Source("Chen et al. 2023", "arXiv:2306.15595", "linear"),
        Source("Peng et al. 2023", "arXiv:2309.00071", "ntk, dynamic, ntk-by-parts, yarn"),
        Source("Ding et al. 2024", "arXiv:2402.13753", "longrope"),
        Source("Llama team 2024", "arXiv:2407.21783 and its code", "llama3"),
    ),
    facts=Facts(relative="rotation", cost="n * 2 * ((dim + 1) // 2)"),
    users="Llama, Mistral, Qwen, Gemma, DeepSeek, Phi, GPT-NeoX, GPT-J, Cohere and most decoders since 2022",
    example="rope:dim=4",
    place=1,
    hooks={"mistakes": ".mistakes:mistakes"},
)
def rope(
    *,
    dim: Annotated[int, Param("Width of one attention head.", ge=1, le=1 << 20)],
    rotary_dim: Annotated[
        int | None,
        Param("Width that rotates; an odd one is rounded up to whole pairs.", ge=1, le=1 << 20, when=_COMPUTED),
    ] = None,
    partial: Annotated[
        Decimal | None,
        Param(
            "Share of the head that rotates: the width is int(dim * share).", gt=0, le=1, when=("rotary_dim", (None,))
        ),
    ] = None,
    base: Annotated[
        Decimal, Param("Base of the geometric series of frequencies (theta).", ge=1e-6, le=1e30, when=_COMPUTED)
    ] = Decimal(10000),
    scaling: Annotated[Scaling, Param("How frequencies are stretched for longer contexts.", when=_COMPUTED)] = "none",
    factor: Annotated[
        Decimal | None, Param("How many times longer the context gets.", gt=0, le=1e9, when=("scaling", _FACTORS))
    ] = None,
    alpha: Annotated[
        Decimal | None, Param("The factor of ntk by Hunyuan's name.", gt=0, le=1e9, when=("scaling", ("ntk",)))
    ] = None,
    max_position: Annotated[
        int | None,
        Param("Positions of the unscaled model (dynamic), of the scaled one (longrope).", ge=1, when=_BY_LENGTH),
    ] = None,
    seq_len: Annotated[
        int | None,
        Param("Length of the longest sequence (default: last position + 1).", ge=1, of_table="last", when=_BY_LENGTH),
    ] = None,
    original_max: Annotated[
        int | None, Param("Positions the model was first trained on.", ge=1, when=_ORIGINAL)
    ] = None,
    beta_fast: Annotated[
        Decimal, Param("Pairs that turn more often than this in original-max are left alone.", gt=0, when=_YARN)
    ] = Decimal(32),
    beta_slow: Annotated[
        Decimal, Param("Pairs that turn less often than this are slowed by the whole factor.", gt=0, when=_YARN)
    ] = ONE,
    ramp: Annotated[
        Ramp, Param("Between them linear in the pair's index (the code) or in its rotations (the paper).", when=_YARN)
    ] = "index",
    truncate: Annotated[
        bool, Param("Round the ramp's ends outwards to whole indices.", when=("ramp", ("index",)))
    ] = True,
    mscale: Annotated[Decimal | None, Param("Weight of ln(factor) in the magnitude.", ge=0, when=_MAGNITUDE)] = None,
    mscale_all_dim: Annotated[
        Decimal | None, Param("Weight of ln(factor) in the magnitude's denominator.", ge=0, when=_MAGNITUDE)
    ] = None,
    coefficient: Annotated[
        Decimal, Param("What multiplies ln(factor) in the magnitude.", ge=0, le=1e9, when=_MAGNITUDE)
    ] = scaled.YARN_COEFFICIENT,
    attention_factor: Annotated[
        Decimal | None,
        Param("The magnitude of cos and sin, given.", ge=0, le=1e9, when=("scaling", ("yarn", "longrope"))),
    ] = None,
    short_factor: Annotated[
        tuple[Decimal, ...] | None,
        Param("What divides each frequency up to original-max: a list or a file of one.", gt=0, file=True, when=_LONG),
    ] = None,
    long_factor: Annotated[
        tuple[Decimal, ...] | None, Param("The same for longer sequences.", gt=0, file=True, when=_LONG)
    ] = None,
    short_mscale: Annotated[
        Decimal | None, Param("Magnitude up to original-max, given (Phi-3.5-MoE).", ge=0, le=1e9, when=_LONG)
    ] = None,
    long_mscale: Annotated[
        Decimal | None, Param("Magnitude for longer sequences, given.", ge=0, le=1e9, when=_LONG)
    ] = None,
    low_freq_factor: Annotated[
        Decimal, Param("Wavelengths above original-max over this are stretched by the factor.", gt=0, when=_LLAMA)
    ] = ONE,
    high_freq_factor: Annotated[
        Decimal, Param("Wavelengths below original-max over this are left alone.", gt=0, when=_LLAMA)
    ] = Decimal(4),
    frequencies: Annotated[
        tuple[Decimal, ...] | None,
        Param("Frequencies in radians per position: a list, or a text, JSON or npy file.", file=True),
    ] = None,
) -> Waves:
    """Rotation of each pair of a head by an angle that grows with the position.

    A query at m and a key at n, both turned, have a product that depends on
    n - m alone.  One frequency per pair, geometrically spaced.
    """
    if frequencies is not None:
        return _given(dim, frequencies)
    d = _rotary_width(dim, rotary_dim, partial, scaling)

    def needed(name: str, value: T | None) -> T:
        if value is None:
            raise BadParameter(name, "(none)", f"must be given for scaling {scaling}")
        return value

    magnitude = ONE
    match scaling:
        case "none":
            turning, magnitude = scaled.plain(d, base)
        case "linear":
            turning, magnitude = scaled.linear(d, base, needed("factor", factor))
        case "ntk":
            if factor is not None and alpha is not None:
                raise BadParameter("alpha", alpha, f"is another name for factor={factor}: give one of them")
            turning, magnitude = scaled.ntk(d, base, needed("factor", alpha if factor is None else factor))
        case "dynamic":
            length = needed("max-position", max_position), needed("seq-len", seq_len)
            turning, magnitude = scaled.dynamic(d, base, needed("factor", factor), *length)
        case "yarn" | "ntk-by-parts":
            times, original = needed("factor", factor), needed("original-max", original_max)
            ends = {"beta_fast": beta_fast, "beta_slow": beta_slow}
            if beta_fast < beta_slow:
                rule = f"must be at least beta-slow={number_text(beta_slow)}: fast pairs turn more often than slow ones"
                raise BadParameter("beta-fast", number_text(beta_fast), rule)
            turning = scaled.yarn(d, base, times, original, **ends, truncate=truncate, ramp=ramp)
            if scaling == "yarn":
                magnitude = _yarn_magnitude(times, attention_factor, mscale, mscale_all_dim, coefficient)
        case "longrope":
            original = needed("original-max", original_max)
            long = needed("seq-len", seq_len) > original
            lists = needed("short-factor", short_factor), needed("long-factor", long_factor)
            turning = scaled.longrope(d, base, _stretch(d, *lists, long))
            given = long_mscale if long else short_mscale
            magnitude = _longrope_magnitude(factor, max_position, original, attention_factor, given)
        case "llama3":
            times, original = needed("factor", factor), needed("original-max", original_max)
            turning, magnitude = scaled.llama3(d, base, times, original, low_freq_factor, high_freq_factor)
        case "proportional":
            turning, magnitude = scaled.proportional(dim, base, d // 2, ONE if factor is None else factor)
    return rotation(turning, magnitude)


def _given(dim: int, frequencies: tuple[Decimal, ...]) -> Waves:
    """Return the plan of frequencies from a file or a list."""
    if len(frequencies) > (dim + 1) // 2:
        rule = f"are too many for dim={dim}: it has {(dim + 1) // 2} pairs"
        raise BadParameter("frequencies", f"{len(frequencies)} numbers", rule)
    return rotation(frequencies)


def _rotary_width(dim: int, rotary_dim: int | None, partial: Decimal | None, scaling: Scaling) -> int:
    """Return the width that rotates."""
    if rotary_dim is not None:
        if rotary_dim > dim:
            raise BadParameter("rotary-dim", rotary_dim, f"must be at most dim={dim}, of which it is a part")
        return rotary_dim
    if partial is not None:
        width = int(dim * partial)
        if width == 0:
            raise BadParameter("partial", partial, f"leaves no column of dim={dim} to rotate: use at least 2/{dim}")
        return width
    if dim % 2 and scaling != "proportional":
        pairs = (dim + 1) // 2
        several = f"{pairs} pairs" if pairs > 1 else "one pair"
        rule = f"must be even: use {dim + 1}, or --rotary-dim {dim} for {several}, one column more than the head has"
        raise BadParameter("dim", dim, rule)
    return dim


def _yarn_magnitude(
    factor: Decimal,
    attention_factor: Decimal | None,
    weight: Decimal | None,
    all_dim: Decimal | None,
    coefficient: Decimal,
) -> Decimal:
    if attention_factor is None:
        return scaled.yarn_magnitude(factor, weight, all_dim, coefficient)
    if weight is not None or all_dim is not None:
        raise BadParameter("attention-factor", attention_factor, "excludes --mscale and --mscale-all-dim")
    return attention_factor


def _stretch(d: int, short: tuple[Decimal, ...], long: tuple[Decimal, ...], use_long: bool) -> tuple[Decimal, ...]:
    """Return the list in use; both must have one number for each pair."""
    pairs = (d + 1) // 2
    for name, items in (("short-factor", short), ("long-factor", long)):
        if len(items) != pairs:
            rule = f"must be {pairs} numbers, one for each pair of the rotary width {d}"
            raise BadParameter(name, f"{len(items)} numbers", rule)
    return long if use_long else short


def _longrope_magnitude(
    factor: Decimal | None,
    max_position: int | None,
    original: int,
    attention_factor: Decimal | None,
    mscale: Decimal | None,
) -> Decimal:
    """Return what is given, else the formula for the factor, else for the ratio of the lengths."""
    if mscale is not None and attention_factor is not None:
        raise BadParameter("attention-factor", attention_factor, "excludes --short-mscale and --long-mscale")
    given = attention_factor if mscale is None else mscale
    if given is not None:
        return given
    if factor is None:
        if max_position is None:
            rule = "must be given for scaling longrope, or --max-position, or the magnitude as --attention-factor"
            raise BadParameter("factor", "(none)", rule)
        factor = CONTEXT.divide(Decimal(max_position), Decimal(original))
    return scaled.longrope_magnitude(factor, original)
