"""Sinusoids of frame, row and column."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.grids import Grid3, Lattice, Prefix, linear_axis, per_side
from pecli.encodings.shared.parameters import SPACING, Base, Dim, Shift, conventions, series, share
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.plans import Band, Waves


@encoding(
    family=Family.ABSOLUTE,
    title="3-D sine and cosine",
    facts=Facts(beyond="ends", longest="prod(grid) + prefix"),
    example="sincos3d:dim=16,grid=3x4x4",
    place=6,
    hooks={"identify_axes": "pecli.encodings.shared.identify_grids:sincos3d"},
    presets=(conventions("absolute", "sincos3d"), SPACING),
)
def sincos3d(
    *,
    dim: Dim,
    grid: Grid3,
    base: Base = Decimal(10000),
    split: Literal["quarter-rest", "half-quarters", "thirds"] = "quarter-rest",
    order: Literal["sin-cos", "interleaved"] = "sin-cos",
    shift: Shift = Decimal(0),
    grid_scale: Annotated[tuple[Decimal, ...], Param(gt=0, le=1e9, items=(1, 3))] = (Decimal(1),),
    prefix: Prefix = 0,
) -> Waves:
    """Sines and cosines of frame, row and column of a video.

    Formula
    -------
    each axis of width m: [sin(c w), cos(c w)], w_k = base^(-k / (m/2 - shift)), c its coordinate
    split quarter-rest: frame dim/4, then column and row 3 dim/8 each
    split half-quarters: frame dim/2, then row and column dim/4 each
    split thirds: frame, row, column 2 ceil(dim/6) each, cut to dim
    order interleaved: sin and cos of each frequency side by side

    Parameters
    ----------
    split
        Widths of the axes and their order.
    order
        Sines and then cosines of each axis, or sin and cos in turn (positional-encodings).
    grid_scale
        Divides the coordinates: one number, or one for frame, row, column.

    Source
    ------
    von Platen et al. 2022, diffusers, get_3d_sincos_pos_embed, quarter-rest
    Bardes et al. 2024, arXiv:2404.08471, V-JEPA's code: half-quarters, thirds

    Used by
    -------
    CogVideoX, V-JEPA, positional-encodings

    Use it
    ------
    for video cut into patches, without trained positions

    Not
    ---
    if attention should depend on offsets alone
    """
    lattice = Lattice(grid, prefix=prefix)
    scales = per_side("grid-scale", grid_scale, 3)
    axes = tuple(linear_axis(lattice, side, Fraction(0), 1 / Fraction(scale)) for side, scale in enumerate(scales))
    bands, start = [], 0
    for side, width in widths_of(dim, split):
        frequencies = series(base, width // 2, shift, dim)
        ends = [min(start + part * (width // 2), dim) for part in range(3)]  # thirds: what lies beyond dim is cut
        sin, cos = slice(ends[0], ends[1]), slice(ends[1], ends[2])
        if order == "interleaved":
            sin, cos = slice(ends[0], ends[2], 2), slice(min(ends[0] + 1, dim), ends[2], 2)
        bands.append(Band(frequencies, sin, cos, axis=side))
        start += width
    return Waves(dim, tuple(bands), axes=axes, **lattice.plan())


def widths_of(dim: int, split: str) -> tuple[tuple[int, int], ...]:
    """Return sides (0 frame, 1 row, 2 column) and their widths, in the order of the columns."""
    match split:
        case "quarter-rest":
            part = share(dim, 16, "dim/4 and twice 3 dim/8, all even")
            return (0, 4 * part), (2, 6 * part), (1, 6 * part)
        case "half-quarters":
            part = share(dim, 8, "dim/2 and twice dim/4, all even")
            return (0, 4 * part), (1, 2 * part), (2, 2 * part)
    each = 2 * -(-share(dim, 2, "pairs of sine and cosine") // 3)
    return (0, each), (1, each), (2, each)
