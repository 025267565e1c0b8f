"""Rotation of each axis' own pairs."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.encodings.shared.grids import Halves, Lattice, Merge, Prefix, Suffix, linear_axis, per_side, sides
from pecli.encodings.shared.parameters import WIDEST, conventions
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, ONE, geometric, power
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.plans import Band, Waves


@encoding(
    family=Family.ROTARY,
    title="Rotary by axes",
    facts=Facts(beyond="ends", longest="prod(grid) + prefix + suffix", cost="n * sum(axes)"),
    example="rope-axes:axes=4+4+4,grid=2x4x6",
    place=3,
    hooks={"identify_axes": ".identify:identify"},
    presets=(conventions("rotary", "rope-axes"),),
)
def rope_axes(
    *,
    axes: Annotated[tuple[int, ...], Param(ge=2, le=WIDEST, even=True, items=(1, 2, 3, 4))],
    grid: Annotated[tuple[int, ...], sides(items=(1, 2, 3, 4), metavar="TxHxW")],
    base: Annotated[tuple[Decimal, ...], Param(ge=1e-6, le=1e30)] = (Decimal(10000),),
    ntk: Annotated[tuple[Decimal, ...], Param(gt=0, le=1e9)] = (ONE,),
    first: Annotated[tuple[Decimal, ...], Param(gt=-1e9, lt=1e9)] = (Decimal(0),),
    scale: Annotated[tuple[Decimal, ...], Param(gt=0, le=1e9)] = (ONE,),
    centred: Annotated[tuple[Decimal, ...], Param(ge=0, le=1)] = (Decimal(0),),
    merge: Merge = 1,
    prefix: Prefix = 0,
    suffix: Suffix = 0,
    halves: Halves = "whole",
) -> Waves:
    """Rotation by frame, row and column, each with pairs of its own.

    Formula
    -------
    axis a has the width d_a and w_i = base^(-2i/d_a), i = 0 .. d_a/2 - 1
    pairs of axis a rotate by its coordinate times w_i; the axes' pairs follow one another

    Parameters
    ----------
    axes
        Width of each axis, such as frame, row, column.
    grid
        Sides of the grid, one for each axis.
    base
        Base of the frequencies: one number, or one for each axis.
    ntk
        Multiply the base by ntk^(d_a / (d_a - 2)), for larger grids (Cosmos).
    first
        First coordinate: one number, or one for each axis.
    scale
        Multiplies the coordinates: one number, or one for each axis.
    centred
        1 for an axis that starts at minus half its side, rounded up (Qwen-Image), else 0.

    Source
    ------
    Black Forest Labs 2024, Flux.1, EmbedND
    Yang et al. 2024, arXiv:2408.06072, CogVideoX
    Wan team 2025, arXiv:2503.20314, Wan

    Used by
    -------
    Flux, HunyuanVideo, Wan, CogVideoX, Qwen-Image, Lumina, V-JEPA 2, MiniMax-M3-VL

    Use it
    ------
    for video and images with axes of unequal weight

    Not
    ---
    for plain text
    """
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
