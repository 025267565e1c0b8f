"""Rotary encodings: position -> cos and sin that turn pairs of queries and keys.

d is the rotary width; pair i of position p turns by p w_i radians.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Waves, rotation
from pecli.encodings.rotary.rope.scaling import PlainSeries, Scaling, taking
from pecli.encodings.rotary.rope.scalings import SCALINGS, scaling_of
from pecli.encodings.shared import reaches
from pecli.encodings.shared.parameters import HEAD_WIDTH, NO_MODEL, THETA, WIDEST
from pecli.errors import BadParameter

_COMPUTED = ("frequencies", (None,))


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
    use_when="for decoders: it is what most of them have had since 2022",
    not_when="past the trained length without a scaling",
    place=1,
    hooks={
        "identify_waves": ".identify:identify",
        "layout": ".identify:layout",
        "differences": ".identify:differences",
        "mistakes": ".mistakes:mistakes",
        "lesson": ".lesson:steps",
        "emulate": ".arithmetic:emulate",
        "scale": ".scale:scale",
        "extend": reaches.phases,
        "why": ".why:why",
        "code": ".code:code",
    },
)
@taking(SCALINGS)
def rope(
    *,
    dim: Annotated[int, Param("Width of one attention head.", ge=1, le=WIDEST, names=HEAD_WIDTH, wrong=NO_MODEL)],
    rotary_dim: Annotated[
        int | None,
        Param(
            "Width that rotates; an odd one is rounded up to whole pairs.",
            ge=1,
            le=WIDEST,
            when=_COMPUTED,
            names=("rotary-ndims",),
        ),
    ] = None,
    partial: Annotated[
        Decimal | None,
        Param(
            "Share of the head that rotates: the width is int(dim * share).",
            gt=0,
            le=1,
            when=("rotary_dim", (None,)),
            names=("partial-rotary-factor", "rotary-pct", "rotary-percent"),
        ),
    ] = None,
    base: Annotated[
        Decimal,
        Param("Base of the geometric series of frequencies (theta).", ge=1e-6, le=1e30, when=_COMPUTED, names=THETA),
    ] = Decimal(10000),
    scaling: Annotated[
        str,
        Param(
            "How frequencies are stretched for longer contexts.", when=_COMPUTED, names=("rope-type", "rope-scaling")
        ),
    ] = "none",
    frequencies: Annotated[
        tuple[Decimal, ...] | None,
        Param("Frequencies in radians per position: a list, or a file of them, in any format.", file=True),
    ] = None,
    **of_scaling: Any,
) -> Waves:
    """Rotation of each pair of a head by an angle that grows with the position.

    A query at m and a key at n, both turned, have a product that depends on
    n - m alone.  One frequency per pair, geometrically spaced.
    """
    if frequencies is not None:
        return _given(dim, frequencies)
    scaled = scaling_of(scaling)
    series = PlainSeries(dim, rotary_width(dim, rotary_dim, partial, scaled), base)
    return rotation(*scaled.rotation(series, of_scaling))


def series_of(values: Mapping[str, Any]) -> PlainSeries:
    """Return the unscaled series of checked parameters."""
    width = rotary_width(values["dim"], values["rotary_dim"], values["partial"], scaling_of(values["scaling"]))
    return PlainSeries(values["dim"], width, values["base"])


def _given(dim: int, frequencies: tuple[Decimal, ...]) -> Waves:
    """Return the plan of frequencies from a file or a list."""
    if len(frequencies) > (dim + 1) // 2:
        rule = f"are too many for dim={dim}: it has {(dim + 1) // 2} pairs"
        raise BadParameter("frequencies", f"{len(frequencies)} numbers", rule)
    return rotation(frequencies)


def rotary_width(dim: int, rotary_dim: int | None, partial: Decimal | None, scaling: Scaling) -> int:
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
    if dim % 2 and not scaling.odd_heads:
        pairs = (dim + 1) // 2
        several = f"{pairs} pairs" if pairs > 1 else "one pair"
        rule = f"must be even: use {dim + 1}, or rotary-dim={dim} for {several}, one column more than the head has"
        raise BadParameter("dim", dim, rule)
    return dim
