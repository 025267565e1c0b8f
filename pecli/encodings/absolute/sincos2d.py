"""Sinusoids of row and column."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.grids import Grid2, Lattice, Prefix, linear_axis, per_side
from pecli.encodings.shared.parameters import SPACING, Base, Dim, Shift, conventions, series, share
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.plans import Band, Waves


@encoding(
    family=Family.ABSOLUTE,
    title="2-D sine and cosine",
    facts=Facts(beyond="ends", longest="prod(grid) + prefix"),
    example="sincos2d:dim=8,grid=6x8",
    place=5,
    hooks={"identify_axes": "pecli.encodings.shared.identify_grids:sincos2d"},
    presets=(conventions("absolute", "sincos2d"), SPACING),
)
def sincos2d(
    *,
    dim: Dim,
    grid: Grid2,
    base: Base = Decimal(10000),
    axis_order: Literal["xy", "yx"] = "xy",
    order: Literal["sin-cos", "sin-sin", "interleaved"] = "sin-cos",
    shift: Shift = Decimal(0),
    grid_scale: Annotated[tuple[Decimal, ...], Param(gt=0, le=1e9, items=(1, 2))] = (Decimal(1),),
    base_size: Annotated[int | None, Param(ge=1, le=1 << 24)] = None,
    prefix: Prefix = 0,
) -> Waves:
    """Sines and cosines of row and column, half the width each.

    Formula
    -------
    w_k = base^(-k / (dim/4 - shift)), k = 0 .. dim/4 - 1
    row of column x and row y: [sin(x w), cos(x w), sin(y w), cos(y w)]
    axis-order yx: y before x; order sin-sin: [sin(x w), sin(y w), cos(x w), cos(y w)]
    order interleaved: sin and cos of each frequency side by side

    Parameters
    ----------
    axis_order
        Axis in the first half of the columns: x (MAE, diffusers) or y.
    order
        Sines and then cosines of each axis, the sines of both axes first (timm), or sin and cos in turn
        (positional-encodings).
    grid_scale
        Divides the coordinates: one number, or one for rows and one for columns.
    base_size
        Rescale coordinates to a grid of this size: i base-size / side (diffusers).

    Source
    ------
    He et al. 2021, arXiv:2111.06377, the authors' code: the column comes first
    Beyer et al. 2022, arXiv:2205.01580, big_vision

    Used by
    -------
    MAE, DiT and diffusers, big_vision, timm, RT-DETR, AIMv2, I-JEPA, positional-encodings

    Use it
    ------
    for images cut into patches, without trained positions

    Not
    ---
    if attention should depend on offsets alone
    """
    quarter = share(dim, 4, "two axes with sine and cosine each")
    frequencies = series(base, quarter, shift, dim)
    lattice = Lattice(grid, prefix=prefix)
    axes = tuple(
        linear_axis(lattice, side, Fraction(0), Fraction(base_size or grid[side], grid[side]) / Fraction(scale))
        for side, scale in enumerate(per_side("grid-scale", grid_scale, 2))
    )
    bands = []
    for place, side in enumerate((1, 0) if axis_order == "xy" else (0, 1)):
        starts = (place, place + 2) if order == "sin-sin" else (2 * place, 2 * place + 1)
        sin, cos = (slice(start * quarter, (start + 1) * quarter) for start in starts)
        if order == "interleaved":
            first, last = sin.start, cos.stop
            sin, cos = slice(first, last, 2), slice(first + 1, last, 2)
        bands.append(Band(frequencies, sin, cos, axis=side))
    return Waves(dim, tuple(bands), axes=axes, **lattice.plan())
