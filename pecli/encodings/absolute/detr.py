"""DETR's sinusoids of row and column, counted from 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import Integers, np
from pecli.encodings.shared.grids import Grid2, Lattice, per_side, sides
from pecli.encodings.shared.parameters import THETA, Dim, conventions, share
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, ONE, geometric
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Change
from pecli.spec.plans import Band, Coordinate, Waves


@encoding(
    family=Family.ABSOLUTE,
    title="DETR sine",
    facts=Facts(beyond="ends", longest="prod(grid)"),
    example="detr:dim=8,grid=6x8",
    place=7,
    hooks={"identify_axes": "pecli.encodings.shared.identify_grids:detr", "mistakes": ":mistakes"},
    presets=(conventions("absolute", "detr"),),
)
def detr(
    *,
    dim: Dim,
    grid: Grid2,
    temperature: Annotated[tuple[Decimal, ...], Param(ge=1e-6, le=1e30, items=(1, 2), names=("base", *THETA))] = (
        Decimal(10000),
    ),
    normalize: bool = False,
    coordinate_scale: Annotated[Decimal | None, Param(ge=1e-9, le=1e9, when=("normalize", (True,)))] = None,
    center: Annotated[bool, Param(when=("normalize", (True,)))] = False,
    valid: Annotated[tuple[int, ...] | None, sides(metavar="HxW")] = None,
    pairs: Literal["blocks", "alternate"] = "blocks",
) -> Waves:
    """Sines and cosines of row and column, counted from 1, the row first.

    Formula
    -------
    w_k = temperature^(-2k / (dim/2)), k = 0 .. dim/4 - 1
    y = row from 1, x = column from 1; normalised: y scale / (last y + 1e-6), scale 2 pi
    pe = [sin(y w_0), cos(y w_0), sin(y w_1) .. | sin(x w_0), cos(x w_0) ..]
    pairs alternate: [sin(x w_0), cos(x w_0), sin(y w_0), cos(y w_0), sin(x w_1) ..]

    Parameters
    ----------
    temperature
        Base of the frequencies: one number, or one for rows and one for columns.
    normalize
        Divide coordinates by the last one and multiply by coordinate-scale.
    coordinate_scale
        Largest normalised coordinate (default: 2 pi).
    center
        Take cell centres: subtract 0.5 before normalising.
    valid
        Rows and columns of the image within a padded grid, as its mask says (default: the grid).
    pairs
        All pairs of the row first (blocks), or axes alternating, the column first (LoFTR).

    Source
    ------
    Carion et al. 2020, arXiv:2005.12872, the authors' PositionEmbeddingSine
    Zhu et al. 2020, arXiv:2010.04159, center
    Liu et al. 2022, arXiv:2201.12329, temperature 20
    Sun et al. 2021, arXiv:2104.00680, the authors' code: pairs alternate

    Used by
    -------
    DETR, Deformable DETR, Conditional DETR, DAB-DETR, Grounding DINO, Mask2Former, Table Transformer, LoFTR

    Use it
    ------
    for detection, where coordinates are normalised to the image

    Not
    ---
    if patch indices matter and not places in the image
    """
    quarter = share(dim, 4, "two axes with sine and cosine each")
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
        first, stop, step = (side * 2 * quarter, (side + 1) * 2 * quarter, 2)
        if pairs == "alternate":
            first, stop, step = 2 * (1 - side), dim, 4
        bands.append(Band(frequencies, slice(first, stop, step), slice(first + 1, stop, step), side, turning))
        axes.append(_counted(lattice, side, inside, normalize, center))
    return Waves(dim, tuple(bands), axes=tuple(axes), rows=lattice.rows, domain=lattice.domain)


def _counted(lattice: Lattice, side: int, inside: tuple[int, ...], normalize: bool, center: bool) -> Coordinate:
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
    first = len(counts) - last  # index of the count 1; a masked line has the count 0
    if inside == lattice.sides:
        return Coordinate(counts[first:], own, unit)
    other, limit = lattice.index(1 - side), inside[1 - side]

    def index(rows: Integers) -> Integers:

        return np.where(other(rows) < limit, np.minimum(own(rows), last - 1) + first, 0)

    return Coordinate(counts, index, unit)


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield exponents without the floor division of the column's number, and with one of the whole constant."""
    from pecli.encodings.absolute.sinusoidal.identify import APART, by_column

    for times, own in ((1, "i"), (2, "2i")):
        text = f"{APART}: temperature^({own}/n) in column i of n of an axis, where 2 (i // 2)/n was expected"
        yield Change("exponent", text, waves=partial(by_column, times))
    text = "frequencies are e^(-2k): the constant -ln(temperature) / d // 2 is rounded down to -1"
    yield Change("exponent", text, waves=_rounded_down)


def _rounded_down(waves: Waves) -> Waves:
    """Return waves whose frequencies fall by e^2 from pair to pair, as in LoFTR's code, which lacked brackets."""
    falling = tuple(CONTEXT.exp(Decimal(-2 * k)) for k in range(len(waves.bands[0].frequencies)))
    return replace(waves, bands=tuple(band._replace(frequencies=falling) for band in waves.bands))
