"""Frequencies that double, as NeRF has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Annotated, Literal

from pecli.encodings.shared import grids
from pecli.encodings.shared.parameters import conventions, half_frequencies
from pecli.numbers.decimals import power
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change
from pecli.spec.plans import Band, Waves

# Of NeRF's frequencies: a float64 coordinate of about 1 ends 53 bits after the point, and the digits of
# a frequency suffice for 2^96 times the largest scale.
LARGEST_EXPONENT = 96


@encoding(
    family=Family.ABSOLUTE,
    title="NeRF",
    facts=Facts(beyond="ends", unique=False, relative="rotation", longest="prod(grid)", cost="n * 2 * bands"),
    work=Work(additions="0"),
    example="nerf:bands=4,grid=64",
    place=9,
    hooks={
        "identify_axes": "pecli.encodings.shared.identify_grids:nerf",
        "identify_arrays": "pecli.encodings.shared.identify_grids:nerf_points",
        "mistakes": ":mistakes",
    },
    presets=(conventions("absolute", "nerf"),),
)
def nerf(
    *,
    bands: Annotated[int, Param(ge=1, le=LARGEST_EXPONENT)],
    grid: grids.Grid = None,
    coordinates: grids.Where = "corners",
    axis_order: grids.AxisOrder = "xy",
    points: grids.PointList = None,
    point_axes: grids.PointAxes = 1,
    extent: grids.Extent = None,
    pi: bool = True,
    scale: Annotated[Decimal, Param(gt=0, le=1e9)] = Decimal(1),
    max_exponent: Annotated[Decimal | None, Param(ge=0, le=LARGEST_EXPONENT)] = None,
    spacing: Literal["log", "linear"] = "log",
    order: Literal["in-turn", "by-frequency", "sin-cos", "by-axis"] = "in-turn",
    include_input: grids.Include = "none",
) -> Waves:
    """Sines and cosines of frequencies that double; small k is the slow end.

    Formula
    -------
    pe(x) = sin(2^k pi x), cos(2^k pi x), k = 0 .. bands - 1; x from -1 to 1 over the grid
    no-pi: sin(2^k x), cos(2^k x), as in the authors' code

    Parameters
    ----------
    bands
        Number of frequencies of each coordinate.
    pi
        Multiply the coordinate by pi, as in the paper.
    scale
        Multiplies the coordinate (nerfstudio: 2, for 2 pi).
    max_exponent
        Exponent of the fastest frequency (default: bands - 1).
    spacing
        Space the frequencies geometrically (log) or evenly (linear).
    order
        Coordinate by coordinate, sin and cos in turn; frequency by frequency (the code); all sines before all cosines
        (nerfstudio); or so within each coordinate.
    include_input
        Include the coordinates themselves, before or after the other columns.

    Source
    ------
    Mildenhall et al. 2020, arXiv:2003.08934, equation 4; the authors' code has no pi

    Used by
    -------
    NeRF, nerfstudio, coordinate networks

    Use it
    ------
    for coordinates of a scene that a network must resolve finely

    Not
    ---
    for token positions: rows repeat with the period
    """
    where = grids.coordinates_of(coordinates, grid, axis_order, points, point_axes, extent)
    columns = grids.Columns(where.count, bands, 2, include_input, order)
    top = power(Decimal(2), Decimal(bands - 1) if max_exponent is None else max_exponent)
    factor = Fraction(scale) * (1 if pi else 2)
    frequencies = tuple(factor * Fraction(w) for w in half_frequencies(top, bands, spacing))
    found = tuple(Band(frequencies, columns.of(a, 0), columns.of(a, 1), a, turns=pi) for a in range(where.count))
    return Waves(columns.width, found, ramps=columns.ramps, **where.plan())


# Rules that are written instead of 2^k.
RULES: dict[str, Callable[[int], int]] = {
    "k + 1": lambda k: k + 1,
    "2 k + 1": lambda k: 2 * k + 1,
    "k^2": lambda k: k * k,
}


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield frequencies that do not double, and whole numbers in place of coordinates."""

    def other(rule: Callable[[int], int], plan: Waves) -> Waves:
        bands = (
            b._replace(frequencies=tuple(b.frequencies[0] * rule(k) for k in range(len(b.frequencies))))
            for b in plan.bands
        )
        return replace(plan, bands=tuple(bands))

    for text, rule in RULES.items():
        first = ", ".join(str(rule(k)) for k in range(3))
        text = f"frequencies are {text} ({first}, ..) where they should double: 2^k (1, 2, 4, ..)"
        yield Change("frequency", text, waves=partial(other, rule))
    bands = int(keys["bands"])
    if "max-exponent" not in keys and bands < LARGEST_EXPONENT:
        text = f"max-exponent {bands} where {bands - 1} was expected: the exponents are those of linspace(0, N, N)"
        yield Change("max-exponent", text, {"max-exponent": keys["bands"]})
    if keys["coordinates"] in ("corners", "centres") and (numbered := grids.points_instead(keys, lambda k, _: k)):
        text = "coordinates are the numbers of rows and columns, 0, 1, 2 and so on, where -1 .. 1 was expected"
        yield Change("points", text, numbered)
