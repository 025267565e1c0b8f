"""Rotation by row and column."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.grids import Halves, Lattice, Merge, Prefix, Suffix, linear_axis, sides
from pecli.encodings.shared.parameters import HEAD_WIDTH, NO_MODEL, WIDEST, Base, conventions, half_frequencies
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric, power
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.plans import Band, Coordinate, Frequency, Waves

Coordinates = Literal["index", "separate", "max", "min", "corners"]


@encoding(
    family=Family.ROTARY,
    title="2-D rotary",
    facts=Facts(beyond="ends", longest="prod(grid) + prefix + suffix"),
    example="rope2d:dim=8,grid=6x8",
    place=2,
    hooks={"identify_axes": ".identify:identify"},
    presets=(conventions("rotary", "rope2d"),),
)
def rope2d(
    *,
    dim: Annotated[int, Param(ge=4, le=WIDEST, names=HEAD_WIDTH, wrong=NO_MODEL)],
    grid: Annotated[tuple[int, ...], sides(items=(2, 3), metavar="HxW")],
    base: Base = Decimal(10000),
    axis_order: Literal["yx", "xy"] = "yx",
    pairs: Literal["blocks", "alternate"] = "blocks",
    series: Literal["half", "even-odd", "pixel", "pixel-log"] = "half",
    max_resolution: Annotated[Decimal, Param(gt=0, le=1e9, when=("series", ("pixel", "pixel-log")))] = Decimal(224),
    coordinates: Coordinates = "index",
    first: Annotated[Decimal, Param(gt=-1e9, lt=1e9, when=("coordinates", ("index",)))] = Decimal(0),
    reference: Annotated[tuple[int, ...] | None, sides(metavar="HxW", when=("coordinates", ("index",)))] = None,
    merge: Merge = 1,
    prefix: Prefix = 0,
    suffix: Suffix = 0,
    halves: Halves = "whole",
) -> Waves:
    """Rotation of half the pairs by the row and half by the column.

    After rotation, the product of a query and a key depends only on the
    difference of their rows and of their columns.

    Formula
    -------
    w_k = base^(-2k / (dim/2)), k = 0 .. dim/4 - 1
    series even-odd: base^(-2i/dim), the even i for rows, the odd i for columns
    pair k rotates by y w_k, pair dim/4 + k by x w_k; axis-order xy: x before y
    pairs alternate: pair 2k rotates by y w_k, pair 2k + 1 by x w_k
    coordinates separate: x = 2 (i + 1/2) / side - 1, and angles are 2 pi x w_k

    Parameters
    ----------
    dim
        Width of one attention head.
    grid
        Rows and columns of the grid; frames before them repeat it.
    axis_order
        Axis of the first pairs: y (row) or x (column).
    pairs
        All pairs of one axis first (blocks), or axes alternating.
    series
        Frequencies of a side: the series of half the width; every second of the whole one (Pixtral); or from 1 to
        max-resolution / 2, times pi, evenly (pixel) or by equal factors (pixel-log, timm's default).
    max_resolution
        Sampling rate of the pixel series.
    coordinates
        The index; centres from -1 to 1 by each side, by the larger or by the smaller, in turns of 2 pi (DINOv3); or
        from -1 to 1, corners at the ends.
    first
        Coordinate of the first row and column.
    reference
        Rescale coordinates to this grid, as in pretraining (EVA).

    Source
    ------
    Wang et al. 2024, arXiv:2409.12191, Qwen2-VL
    Agrawal et al. 2024, arXiv:2410.07073, Pixtral
    Simeoni et al. 2025, arXiv:2508.10104, DINOv3
    Fang et al. 2023, arXiv:2303.11331, EVA-02
    Ravi et al. 2024, arXiv:2408.00714, SAM 2

    Used by
    -------
    vision towers of Qwen2-VL to Qwen3.5, GLM-4V, Pixtral, Llama 4, Kimi K2.5, Gemma 4; DINOv3, EVA-02, SAM 2, timm

    Use it
    ------
    for vision transformers whose images vary in size

    Not
    ---
    for plain text
    """
    if dim % 4:
        rule = f"must be a multiple of 4 (pairs for two sides): use {max(4, dim // 4 * 4)} or {dim // 4 * 4 + 4}"
        raise BadParameter("dim", dim, rule)
    if halves == "axis" and pairs == "alternate":
        raise BadParameter("halves", halves, "needs the pairs of a side together: it cannot go with pairs=alternate")
    quarter = dim // 4
    lattice = Lattice(grid, merge, prefix, suffix)
    turning = coordinates in ("separate", "max", "min") or series.startswith("pixel")
    found, axes = [], []
    for side in (0, 1):
        place = side if axis_order == "yx" else 1 - side
        start, step = (place * quarter, 1) if pairs == "blocks" else (place, 2)
        columns = slice(start, start + quarter * step if pairs == "blocks" else 2 * quarter, step)
        frequencies = _side_series(series, base, quarter, side, max_resolution)
        found.append(Band(frequencies, columns, columns, side, turning))
        axes.append(_coordinate(lattice, side, coordinates, first, reference))
    parts = (quarter, quarter) if halves == "axis" else ()
    return Waves(2 * quarter, tuple(found), axes=tuple(axes), parts=parts, **lattice.plan())


def _side_series(series: str, base: Decimal, count: int, side: int, resolution: Decimal) -> tuple[Frequency, ...]:
    """Return the frequencies of one side; for the pixel series in rotations per unit."""
    if series == "half":
        return geometric(base, Fraction(1, count), count)
    if series == "even-odd":
        offset = power(base, Fraction(-side, 2 * count))
        return tuple(CONTEXT.multiply(w, offset) for w in geometric(base, Fraction(1, count), count))
    return half_frequencies(resolution / 2, count, "log" if series == "pixel-log" else "linear")


def _coordinate(
    lattice: Lattice, side: int, word: str, first: Decimal, reference: tuple[int, ...] | None
) -> Coordinate:
    """Return the coordinate along rows (0) or columns (1)."""
    number = len(lattice.sides) - 2 + side
    length = lattice.sides[number]
    if word == "index":
        scale = Fraction(1) if reference is None else Fraction(reference[side], length)
        return linear_axis(lattice, number, Fraction(first), scale)
    if word == "corners":
        return linear_axis(lattice, number, Fraction(-1), Fraction(2, max(1, length - 1)))
    height, width = lattice.sides[-2:]
    divisor = {"separate": length, "max": max(height, width), "min": min(height, width)}[word]
    return linear_axis(lattice, number, Fraction(1, divisor) - 1, Fraction(2, divisor))
