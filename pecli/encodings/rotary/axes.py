"""Rotary encodings of images and videos: each pair of a head turns with one side's coordinate.

d is the width of the head, pairs are its d/2 planes of rotation.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Preset, Source, encoding
from pecli.declare.plan import Axis, Band, Frequency, Waves
from pecli.encodings.shared.lattice import LARGEST_SIDE, Lattice, Merge, Prefix, Suffix, linear_axis, per_side
from pecli.encodings.shared.parameters import Base
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric, power

Halves = Annotated[
    Literal["whole", "axis"],
    Param("In the layout half: two halves for the whole head, or for each side's block (Gemma 4, V-JEPA 2)."),
]
Coordinates = Literal["index", "separate", "max", "min", "corners"]
ONE = Decimal(1)
_QWEN: dict[str, object] = {"merge": "2"}
CONVENTIONS: dict[str, dict[str, object]] = {
    "qwen2-vl": _QWEN,
    "qwen3-vl": _QWEN,
    "glm4v": _QWEN,
    "pixtral": {"series": "even-odd"},
    "llama4-vision": {"axis_order": "xy", "first": "1", "suffix": "1"},
    "dinov3": {"base": "100", "coordinates": "separate"},
    "eva": {},
    "sam2": {"axis_order": "xy"},
    "kimi-k2.5": {"axis_order": "xy", "pairs": "alternate"},
    "step3": {"axis_order": "xy"},
    "gemma4": {"base": "100", "halves": "axis"},
    "efficientloftr": {"pairs": "alternate", "first": "1"},
    "timm-pixel": {"coordinates": "corners", "series": "pixel"},
}


@encoding(
    family=Family.ROTARY,
    title="2-D rotary",
    formula="""
        w_k = base^(-2k / (dim/2)), k = 0 .. dim/4 - 1
        series even-odd: base^(-2i/dim), the even i for rows, the odd i for columns
        pair k turns by y w_k, pair dim/4 + k by x w_k; axis-order xy: x before y
        pairs alternate: pair 2k turns by y w_k, pair 2k + 1 by x w_k
        coordinates separate: x = 2 (i + 1/2) / side - 1, and angles are 2 pi x w_k
    """,
    source=(
        Source("Wang et al. 2024", "arXiv:2409.12191", "Qwen2-VL"),
        Source("Agrawal et al. 2024", "arXiv:2410.07073", "Pixtral"),
        Source("Simeoni et al. 2025", "arXiv:2508.10104", "DINOv3"),
        Source("Fang et al. 2023", "arXiv:2303.11331", "EVA-02"),
        Source("Ravi et al. 2024", "arXiv:2408.00714", "SAM 2"),
    ),
    facts=Facts(beyond="ends", longest="prod(grid) + prefix + suffix"),
    users="vision towers of Qwen2-VL to Qwen3.5, GLM-4V, Pixtral, Llama 4, Kimi K2.5, Gemma 4; "
    "DINOv3, EVA-02, SAM 2, timm",
    example="rope2d:dim=8,grid=6x8",
    presets=(
        Preset("convention", "Frequencies, order and coordinates as this model has them (layout apart).", CONVENTIONS),
    ),
)
def rope2d(
    *,
    dim: Annotated[int, Param("Width of one attention head.", ge=4, le=1 << 20)],
    grid: Annotated[
        tuple[int, ...],
        Param(
            "Rows and columns of the grid; frames before them repeat it.",
            ge=1,
            le=LARGEST_SIDE,
            separator="x",
            items=(2, 3),
            metavar="HxW",
        ),
    ],
    base: Base = Decimal(10000),
    axis_order: Annotated[Literal["yx", "xy"], Param("Which side has the first pairs: the row, or the column.")] = "yx",
    pairs: Annotated[Literal["blocks", "alternate"], Param("Pairs of one side together, or sides in turn.")] = "blocks",
    series: Annotated[
        Literal["half", "even-odd", "pixel"],
        Param(
            "Frequencies of a side: the series of half the width; every second of the whole one (Pixtral); "
            "or evenly from 1 to max-resolution / 2, times pi (timm's pixel)."
        ),
    ] = "half",
    max_resolution: Annotated[
        Decimal, Param("Sampling rate of the pixel series.", gt=0, le=1e9, when=("series", ("pixel",)))
    ] = Decimal(224),
    coordinates: Annotated[
        Coordinates,
        Param(
            "The index; centres from -1 to 1 by each side, by the larger or by the smaller, in turns of 2 pi "
            "(DINOv3); or from -1 to 1, corners at the ends."
        ),
    ] = "index",
    first: Annotated[
        Decimal, Param("Coordinate of the first row and column.", gt=-1e9, lt=1e9, when=("coordinates", ("index",)))
    ] = Decimal(0),
    reference: Annotated[
        tuple[int, ...] | None,
        Param(
            "Rows and columns that coordinates are stretched or squeezed to, as in pretraining (EVA).",
            ge=1,
            le=LARGEST_SIDE,
            separator="x",
            items=(2,),
            metavar="HxW",
            when=("coordinates", ("index",)),
        ),
    ] = None,
    merge: Merge = 1,
    prefix: Prefix = 0,
    suffix: Suffix = 0,
    halves: Halves = "whole",
) -> Waves:
    """Rotation of half the pairs by the row and half by the column.

    A query and a key at two places have a product that depends on the
    difference of their rows and of their columns.
    """
    if dim % 4:
        rule = f"must be a multiple of 4 (pairs for two sides): use {max(4, dim // 4 * 4)} or {dim // 4 * 4 + 4}"
        raise BadParameter("dim", dim, rule)
    if halves == "axis" and pairs == "alternate":
        raise BadParameter("halves", halves, "needs the pairs of a side together: it cannot stand with pairs=alternate")
    quarter = dim // 4
    lattice = Lattice(grid, merge, prefix, suffix)
    turning = coordinates in ("separate", "max", "min") or series == "pixel"
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
    """Return the frequencies of one side; of the pixel series in turns."""
    if series == "half":
        return geometric(base, Fraction(1, count), count)
    if series == "even-odd":
        offset = power(base, Fraction(-side, 2 * count))
        return tuple(CONTEXT.multiply(w, offset) for w in geometric(base, Fraction(1, count), count))
    gaps = max(1, count - 1)
    return tuple((1 + k * (Fraction(resolution) / 2 - 1) / gaps) / 2 for k in range(count))


def _coordinate(lattice: Lattice, side: int, word: str, first: Decimal, reference: tuple[int, ...] | None) -> Axis:
    """Return the coordinate along rows (0) or columns (1)."""
    number = len(lattice.sides) - 2 + side
    length = lattice.sides[number]
    if word == "index":
        stretch = Fraction(1) if reference is None else Fraction(reference[side], length)
        return linear_axis(lattice, number, Fraction(first), stretch)
    if word == "corners":
        return linear_axis(lattice, number, Fraction(-1), Fraction(2, max(1, length - 1)))
    height, width = lattice.sides[-2:]
    divisor = {"separate": length, "max": max(height, width), "min": min(height, width)}[word]
    return linear_axis(lattice, number, Fraction(1, divisor) - 1, Fraction(2, divisor))


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
        pairs of axis a turn by its coordinate times w_i; the axes' pairs follow one another
    """,
    source=(
        Source("Labs 2024", "Flux.1", "EmbedND"),
        Source("Yang et al. 2024", "arXiv:2408.06072", "CogVideoX"),
        Source("Wan team 2025", "arXiv:2503.20314", "Wan"),
    ),
    facts=Facts(beyond="ends", longest="prod(grid) + prefix + suffix", cost="n * sum(axes)"),
    users="Flux, HunyuanVideo, Wan, CogVideoX, Qwen-Image, Lumina, V-JEPA 2, MiniMax-M3-VL",
    example="rope-axes:axes=4+4+4,grid=2x4x6",
    presets=(
        Preset("convention", "Widths, base and coordinates as this model has them (layout apart).", AXES_CONVENTIONS),
    ),
)
def rope_axes(
    *,
    axes: Annotated[
        tuple[int, ...],
        Param("Width of each axis, such as frame, row, column.", ge=2, le=1 << 20, even=True, items=(1, 2, 3, 4)),
    ],
    grid: Annotated[
        tuple[int, ...],
        Param(
            "Sides of the grid, one for each axis.",
            ge=1,
            le=LARGEST_SIDE,
            separator="x",
            items=(1, 2, 3, 4),
            metavar="TxHxW",
        ),
    ],
    base: Annotated[
        tuple[Decimal, ...],
        Param("Base of the frequencies: one number, or one for each axis.", ge=1e-6, le=1e30),
    ] = (Decimal(10000),),
    ntk: Annotated[
        tuple[Decimal, ...],
        Param("Stretches the base by ntk^(d_a / (d_a - 2)), for longer sides (Cosmos).", gt=0, le=1e9),
    ] = (ONE,),
    first: Annotated[
        tuple[Decimal, ...], Param("First coordinate: one number, or one for each axis.", gt=-1e9, lt=1e9)
    ] = (Decimal(0),),
    scale: Annotated[
        tuple[Decimal, ...], Param("Multiplies the coordinates: one number, or one for each axis.", gt=0, le=1e9)
    ] = (ONE,),
    centred: Annotated[
        tuple[Decimal, ...],
        Param("1 where an axis counts from minus half its side, rounded up (Qwen-Image), else 0.", ge=0, le=1),
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
        stretched = _stretched(each["base"][side], each["ntk"][side], width)
        columns = slice(start, start + width // 2)
        found.append(Band(geometric(stretched, Fraction(2, width), width // 2), columns, columns, side))
        start += width // 2
        low = Fraction(each["first"][side]) - (grid[side] + 1) // 2 * int(each["centred"][side])
        step = Fraction(each["scale"][side])
        coordinates.append(linear_axis(lattice, side, low * step, step))
    parts = tuple(width // 2 for width in axes) if halves == "axis" else ()
    return Waves(start, tuple(found), axes=tuple(coordinates), parts=parts, **lattice.plan())


def _stretched(base: Decimal, ntk: Decimal, width: int) -> Decimal:
    if ntk == 1:
        return base
    if width == 2:
        raise BadParameter("ntk", ntk, "divides by the width less 2 = 0 for an axis of width 2: use a wider axis")
    return CONTEXT.multiply(base, power(ntk, Fraction(width, width - 2)))
