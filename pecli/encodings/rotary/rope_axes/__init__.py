"""Rotation of each axis' own pairs."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.encodings.shared.grids import Halves, Lattice, Merge, Prefix, Suffix, linear_axis, per_side, sides
from pecli.encodings.shared.parameters import WIDEST
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric, power
from pecli.spec.declaration import Facts, Family, Param, Preset, Source, encoding
from pecli.spec.plans import Band, Waves

ONE = Decimal(1)
_FLUX: dict[str, object] = {"axes": "16+56+56"}
AXES_CONVENTIONS: dict[str, dict[str, object]] = {
    "flux": _FLUX,
    "hunyuan-video": {**_FLUX, "base": "256"},
    "qwen-image": {**_FLUX, "centred": "0+1+1"},
    "wan": {"axes": "44+42+42"},
    "cogvideox": {"axes": "16+24+24"},
    "lumina2": {"axes": "32+32+32"},
    "v-jepa2": {"axes": "20+20+20", "halves": "axis"},
    "minimax-m3": {"axes": "26+26+26", "merge": "2"},
}


@encoding(
    family=Family.ROTARY,
    title="Rotary by axes",
    formula="""
        axis a has the width d_a and w_i = base^(-2i/d_a), i = 0 .. d_a/2 - 1
        pairs of axis a rotate by its coordinate times w_i; the axes' pairs follow one another
    """,
    source=(
        Source("Black Forest Labs 2024", "Flux.1", "EmbedND"),
        Source("Yang et al. 2024", "arXiv:2408.06072", "CogVideoX"),
        Source("Wan team 2025", "arXiv:2503.20314", "Wan"),
    ),
    facts=Facts(beyond="ends", longest="prod(grid) + prefix + suffix", cost="n * sum(axes)"),
    users="Flux, HunyuanVideo, Wan, CogVideoX, Qwen-Image, Lumina, V-JEPA 2, MiniMax-M3-VL",
    example="rope-axes:axes=4+4+4,grid=2x4x6",
    use_when="for video and images with axes of unequal weight",
    not_when="for plain text",
    place=3,
    hooks={"identify_axes": ".identify:identify"},
    presets=(Preset("Use this model's widths, base and coordinates (not its layout).", AXES_CONVENTIONS),),
)
def rope_axes(
    *,
    axes: Annotated[
        tuple[int, ...],
        Param("Width of each axis, such as frame, row, column.", ge=2, le=WIDEST, even=True, items=(1, 2, 3, 4)),
    ],
    grid: Annotated[
        tuple[int, ...], sides("Sides of the grid, one for each axis.", items=(1, 2, 3, 4), metavar="TxHxW")
    ],
    base: Annotated[
        tuple[Decimal, ...], Param("Base of the frequencies: one number, or one for each axis.", ge=1e-6, le=1e30)
    ] = (Decimal(10000),),
    ntk: Annotated[
        tuple[Decimal, ...],
        Param("Multiply the base by ntk^(d_a / (d_a - 2)), for larger grids (Cosmos).", gt=0, le=1e9),
    ] = (ONE,),
    first: Annotated[
        tuple[Decimal, ...], Param("First coordinate: one number, or one for each axis.", gt=-1e9, lt=1e9)
    ] = (Decimal(0),),
    scale: Annotated[
        tuple[Decimal, ...], Param("Multiplies the coordinates: one number, or one for each axis.", gt=0, le=1e9)
    ] = (ONE,),
    centred: Annotated[
        tuple[Decimal, ...],
        Param("1 for an axis that starts at minus half its side, rounded up (Qwen-Image), else 0.", ge=0, le=1),
    ] = (Decimal(0),),
    merge: Merge = 1,
    prefix: Prefix = 0,
    suffix: Suffix = 0,
    halves: Halves = "whole",
) -> Waves:
    """Rotation of each axis' own pairs by its coordinate: frame, row, column."""
    if len(axes) != len(grid):
        given, sides = "+".join(map(str, axes)), "x".join(map(str, grid))
        raise BadParameter("axes", given, f"must be as many as the sides of grid={sides}: {len(grid)}")
    lattice = Lattice(grid, merge, prefix, suffix)
    lists = {"base": base, "ntk": ntk, "first": first, "scale": scale, "centred": centred}
    each = {name: per_side(name, given, len(axes)) for name, given in lists.items()}
    found, coordinates, start = [], [], 0
    for side, width in enumerate(axes):
        scaled = _scaled_base(each["base"][side], each["ntk"][side], width)
        columns = slice(start, start + width // 2)
        found.append(Band(geometric(scaled, Fraction(2, width), width // 2), columns, columns, side))
        start += width // 2
        low = Fraction(each["first"][side]) - (grid[side] + 1) // 2 * int(each["centred"][side])
        step = Fraction(each["scale"][side])
        coordinates.append(linear_axis(lattice, side, low * step, step))
    parts = tuple(width // 2 for width in axes) if halves == "axis" else ()
    return Waves(start, tuple(found), axes=tuple(coordinates), parts=parts, **lattice.plan())


def _scaled_base(base: Decimal, ntk: Decimal, width: int) -> Decimal:
    if ntk == 1:
        return base
    if width == 2:
        raise BadParameter("ntk", ntk, "divides by the width less 2 = 0 for an axis of width 2: use a wider axis")
    return CONTEXT.multiply(base, power(ntk, Fraction(width, width - 2)))
