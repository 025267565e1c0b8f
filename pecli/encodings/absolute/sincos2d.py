"""Sinusoids of row and column."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.grids import Grid2, Lattice, Prefix, linear_axis, per_side
from pecli.encodings.shared.parameters import SPACING, Base, Dim, Shift, series, share
from pecli.spec.declaration import Facts, Family, Param, Preset, Source, encoding
from pecli.spec.plans import Band, Waves

ONE = Decimal(1)

CONVENTIONS = {
    "mae": {"axis_order": "xy"},
    "diffusers": {"axis_order": "xy"},
    "big-vision": {"axis_order": "xy", "shift": "1"},
    "timm": {"axis_order": "yx", "order": "sin-sin"},
    "rt-detr": {"axis_order": "yx"},
    "aimv2": {"axis_order": "yx"},
    "jepa": {"axis_order": "yx"},
}


@encoding(
    family=Family.ABSOLUTE,
    title="2-D sine and cosine",
    formula="""
        w_k = base^(-k / (dim/4 - shift)), k = 0 .. dim/4 - 1
        row of column x and row y: [sin(x w), cos(x w), sin(y w), cos(y w)]
        axis-order yx: y before x; order sin-sin: [sin(x w), sin(y w), cos(x w), cos(y w)]
    """,
    source=(
        Source("He et al. 2021", "arXiv:2111.06377", "the authors' code: the column comes first"),
        Source("Beyer et al. 2022", "arXiv:2205.01580", "big_vision"),
    ),
    facts=Facts(beyond="ends", longest="prod(grid) + prefix"),
    users="MAE, DiT and diffusers, big_vision, timm, RT-DETR, AIMv2, I-JEPA",
    example="sincos2d:dim=8,grid=6x8",
    use_when="for images cut into patches, without trained positions",
    not_when="if attention should depend on offsets alone",
    place=5,
    hooks={"identify_axes": "pecli.encodings.shared.identify_grids:sincos2d"},
    presets=(Preset("Use this framework's order of axes and columns, and its spacing.", CONVENTIONS), SPACING),
)
def sincos2d(
    *,
    dim: Dim,
    grid: Grid2,
    base: Base = Decimal(10000),
    axis_order: Annotated[
        Literal["xy", "yx"], Param("Axis in the first half of the columns: x (MAE, diffusers) or y.")
    ] = "xy",
    order: Annotated[
        Literal["sin-cos", "sin-sin"], Param("Sines and cosines by axis, or the sines of both axes first (timm).")
    ] = "sin-cos",
    shift: Shift = Decimal(0),
    grid_scale: Annotated[
        tuple[Decimal, ...],
        Param("Divides the coordinates: one number, or one for rows and one for columns.", gt=0, le=1e9, items=(1, 2)),
    ] = (ONE,),
    base_size: Annotated[
        int | None,
        Param("Rescale coordinates to a grid of this size: i base-size / side (diffusers).", ge=1, le=1 << 24),
    ] = None,
    prefix: Prefix = 0,
) -> Waves:
    """Sines and cosines of row and column, half the width each."""
    quarter = share(dim, 4, "two axes with sine and cosine each")
    frequencies = series(base, quarter, shift, dim)
    lattice = Lattice(grid, prefix=prefix)
    axes = tuple(
        linear_axis(lattice, side, Fraction(0), Fraction(base_size or grid[side], grid[side]) / Fraction(scale))
        for side, scale in enumerate(per_side("grid-scale", grid_scale, 2))
    )
    bands = []
    for place, side in enumerate((1, 0) if axis_order == "xy" else (0, 1)):
        starts = (2 * place, 2 * place + 1) if order == "sin-cos" else (place, place + 2)
        sin, cos = (slice(start * quarter, (start + 1) * quarter) for start in starts)
        bands.append(Band(frequencies, sin, cos, axis=side))
    return Waves(dim, tuple(bands), axes=axes, **lattice.plan())
