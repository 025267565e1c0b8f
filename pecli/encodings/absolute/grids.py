"""Absolute encodings of images and videos: each side of a grid has its own sines and cosines.

d is the width; rows run over the grid, the last side fastest.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Preset, Source, encoding
from pecli.declare.plan import Axis, Band, Waves
from pecli.encodings.absolute.sinusoidal import below_half
from pecli.encodings.shared.lattice import LARGEST_SIDE, Grid2, Grid3, Lattice, Prefix, linear_axis, per_side
from pecli.encodings.shared.parameters import Base, Dim
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Shift = Annotated[Decimal, Param("Exponent of frequency k of m is k / (m - shift).", ge=0)]
SPACING = Preset(
    "spacing",
    "Frequencies from 1 to the base's power short of 1/base (paper), or to 1/base itself (endpoint).",
    {"paper": {"shift": "0"}, "endpoint": {"shift": "1"}},
)
ONE = Decimal(1)


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
    presets=(
        Preset(
            "convention",
            "Order of axes and columns, and spacing, as this framework has them.",
            {
                "mae": {"axis_order": "xy"},
                "diffusers": {"axis_order": "xy"},
                "big-vision": {"axis_order": "xy", "shift": "1"},
                "timm": {"axis_order": "yx", "order": "sin-sin"},
                "rt-detr": {"axis_order": "yx"},
                "aimv2": {"axis_order": "yx"},
                "jepa": {"axis_order": "yx"},
            },
        ),
        SPACING,
    ),
)
def sincos2d(
    *,
    dim: Dim,
    grid: Grid2,
    base: Base = Decimal(10000),
    axis_order: Annotated[
        Literal["xy", "yx"], Param("Which axis has the first half: the column (MAE, diffusers), or the row.")
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
        int | None, Param("Coordinates run up to this on any grid: i base-size / side (diffusers).", ge=1, le=1 << 24)
    ] = None,
    prefix: Prefix = 0,
) -> Waves:
    """Sines and cosines of row and column, half the width each."""
    quarter = _share(dim, 4, "two axes with sine and cosine each")
    frequencies = _series(base, quarter, shift, dim)
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


@encoding(
    family=Family.ABSOLUTE,
    title="3-D sine and cosine",
    formula="""
        each axis of width m: [sin(c w), cos(c w)], w_k = base^(-k / (m/2 - shift)), c its coordinate
        split quarter-rest: frame dim/4, then column and row 3 dim/8 each
        split half-quarters: frame dim/2, then row and column dim/4 each
        split thirds: frame, row, column 2 ceil(dim/6) each, cut to dim
    """,
    source=(
        Source("von Platen et al. 2022", "diffusers, get_3d_sincos_pos_embed", "quarter-rest"),
        Source("Bardes et al. 2024", "arXiv:2404.08471", "V-JEPA's code: half-quarters, thirds"),
    ),
    facts=Facts(beyond="ends", longest="prod(grid) + prefix"),
    users="CogVideoX, V-JEPA",
    example="sincos3d:dim=16,grid=3x4x4",
    presets=(
        Preset(
            "convention",
            "Widths and order of the axes as this framework has them.",
            {
                "diffusers": {"split": "quarter-rest"},
                "v-jepa": {"split": "half-quarters"},
                "v-jepa-uniform": {"split": "thirds"},
            },
        ),
        SPACING,
    ),
)
def sincos3d(
    *,
    dim: Dim,
    grid: Grid3,
    base: Base = Decimal(10000),
    split: Annotated[
        Literal["quarter-rest", "half-quarters", "thirds"], Param("Widths of the axes and their order.")
    ] = "quarter-rest",
    shift: Shift = Decimal(0),
    grid_scale: Annotated[
        tuple[Decimal, ...],
        Param("Divides the coordinates: one number, or one for frame, row, column.", gt=0, le=1e9, items=(1, 3)),
    ] = (ONE,),
    prefix: Prefix = 0,
) -> Waves:
    """Sines and cosines of frame, row and column of a video."""
    lattice = Lattice(grid, prefix=prefix)
    scales = per_side("grid-scale", grid_scale, 3)
    axes = tuple(linear_axis(lattice, side, Fraction(0), 1 / Fraction(scale)) for side, scale in enumerate(scales))
    bands, start = [], 0
    for side, width in _widths(dim, split):
        frequencies = _series(base, width // 2, shift, dim)
        ends = [min(start + part * (width // 2), dim) for part in range(3)]  # thirds: what lies beyond dim is cut
        bands.append(Band(frequencies, slice(ends[0], ends[1]), slice(ends[1], ends[2]), axis=side))
        start += width
    return Waves(dim, tuple(bands), axes=axes, **lattice.plan())


def _widths(dim: int, split: str) -> tuple[tuple[int, int], ...]:
    """Return sides (0 frame, 1 row, 2 column) and their widths, in the order of the columns."""
    match split:
        case "quarter-rest":
            part = _share(dim, 16, "dim/4 and twice 3 dim/8, all even")
            return (0, 4 * part), (2, 6 * part), (1, 6 * part)
        case "half-quarters":
            part = _share(dim, 8, "dim/2 and twice dim/4, all even")
            return (0, 4 * part), (1, 2 * part), (2, 2 * part)
    each = 2 * -(-_share(dim, 2, "pairs of sine and cosine") // 3)
    return (0, each), (1, each), (2, each)


def _share(dim: int, parts: int, why: str) -> int:
    """Return dim / parts; an error names the nearest widths where it is not whole."""
    if dim % parts:
        low = dim // parts * parts
        near = f"{low} or {low + parts}" if low else str(parts)
        raise BadParameter("dim", dim, f"must be a multiple of {parts} ({why}): use {near}")
    return dim // parts


def _series(base: Decimal, count: int, shift: Decimal, dim: int) -> tuple[Decimal, ...]:
    return geometric(base, 1 / (count - below_half(shift, Fraction(count), f"dim={dim}")), count)


@encoding(
    family=Family.ABSOLUTE,
    title="DETR sine",
    formula="""
        w_k = temperature^(-2k / (dim/2)), k = 0 .. dim/4 - 1
        y = row from 1, x = column from 1; normalised: y scale / (last y + 1e-6), scale 2 pi
        pe = [sin(y w_0), cos(y w_0), sin(y w_1) .. | sin(x w_0), cos(x w_0) ..]
    """,
    source=(
        Source("Carion et al. 2020", "arXiv:2005.12872", "the authors' PositionEmbeddingSine"),
        Source("Zhu et al. 2020", "arXiv:2010.04159", "center"),
        Source("Liu et al. 2022", "arXiv:2201.12329", "temperature 20"),
    ),
    facts=Facts(beyond="ends", longest="prod(grid)"),
    users="DETR, Deformable DETR, Conditional DETR, DAB-DETR, Grounding DINO, Mask2Former, Table Transformer",
    example="detr:dim=8,grid=6x8",
    presets=(
        Preset(
            "convention",
            "Normalisation, centre and temperature as this model has them.",
            {
                "detr": {"normalize": True},
                "conditional-detr": {"normalize": True},
                "deformable-detr": {"normalize": True, "center": True},
                "dab-detr": {"normalize": True, "temperature": "20"},
                "grounding-dino": {"normalize": True, "temperature": "20"},
                "mask2former": {"normalize": True},
                "table-transformer": {"normalize": True},
            },
        ),
    ),
)
def detr(
    *,
    dim: Dim,
    grid: Grid2,
    temperature: Annotated[
        tuple[Decimal, ...],
        Param(
            "Base of the frequencies: one number, or one for rows and one for columns.", ge=1e-6, le=1e30, items=(1, 2)
        ),
    ] = (Decimal(10000),),
    normalize: Annotated[bool, Param("Divide coordinates by the last one, so that they end at the scale.")] = False,
    coordinate_scale: Annotated[
        Decimal | None,
        Param("Where normalised coordinates end (default 2 pi).", ge=1e-9, le=1e9, when=("normalize", (True,))),
    ] = None,
    center: Annotated[bool, Param("Take centres of cells: subtract 0.5 first.", when=("normalize", (True,)))] = False,
    valid: Annotated[
        tuple[int, ...] | None,
        Param(
            "Rows and columns of the image within a padded grid, as its mask says (default: the grid).",
            ge=1,
            le=LARGEST_SIDE,
            separator="x",
            items=(2,),
            metavar="HxW",
        ),
    ] = None,
) -> Waves:
    """Sines and cosines of row and column, counted from 1, the row first."""
    quarter = _share(dim, 4, "two axes with sine and cosine each")
    lattice = Lattice(grid)
    inside = grid if valid is None else valid
    for given, side in zip(inside, grid, strict=True):
        if given > side:
            raise BadParameter("valid", "x".join(map(str, inside)), f"must lie within grid={grid[0]}x{grid[1]}")
    turning = normalize and coordinate_scale is None
    factor = coordinate_scale if normalize and coordinate_scale is not None else ONE
    bands, axes = [], []
    for side, base in enumerate(per_side("temperature", temperature, 2)):
        frequencies = geometric(base, Fraction(1, quarter), quarter)
        if factor != 1:
            frequencies = tuple(CONTEXT.multiply(w, factor) for w in frequencies)
        start, stop = side * 2 * quarter, (side + 1) * 2 * quarter
        bands.append(Band(frequencies, slice(start, stop, 2), slice(start + 1, stop, 2), side, turning))
        axes.append(_counted(lattice, side, inside, normalize, center))
    return Waves(dim, tuple(bands), axes=tuple(axes), rows=lattice.rows, domain=lattice.domain)


def _counted(lattice: Lattice, side: int, inside: tuple[int, ...], normalize: bool, center: bool) -> Axis:
    """Return the running count of unmasked cells along one side, normalised by the last count.

    Beyond the image the count stays.  In a line that is masked from its start the count and the
    last one are 0, so the normalised coordinate is 0 / 1e-6, or -0.5 / 1e-6 with `center`, which
    is -(10^6 last + 1) of the halves of 1 / (last + 1e-6) that the others are odd multiples of.
    """
    last, own = inside[side], lattice.index(side)
    unit = 1 / (last + Fraction(1, 10**6)) if normalize else Fraction(1)
    if center:
        counts, unit = range(-(10**6 * last + 1), 2 * last, 2), unit / 2
    else:
        counts = range(last + 1)
    first = len(counts) - last  # place of the count 1; that of a masked line is 0
    if inside == lattice.sides:
        return Axis(counts[first:], own, unit)
    other, limit = lattice.index(1 - side), inside[1 - side]

    def index(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        import numpy as np

        return np.where(other(rows) < limit, np.minimum(own(rows), last - 1) + first, 0)

    return Axis(counts, index, unit)
