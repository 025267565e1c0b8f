"""Evenly spaced frequencies of a coordinate, as Perceiver has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal

from pecli.encodings.shared import grids
from pecli.encodings.shared.parameters import half_frequencies
from pecli.errors import BadParameter
from pecli.numbers.decimals import decimal_of
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change
from pecli.spec.plans import Band, Waves


@encoding(
    family=Family.ABSOLUTE,
    title="Perceiver bands",
    facts=Facts(beyond="ends", longest="prod(grid)", cost="n * (2 * bands + 1)"),
    work=Work(additions="0"),
    example="bands:bands=4,grid=64",
    place=8,
    hooks={"identify_axes": "pecli.encodings.shared.identify_grids:bands", "mistakes": ":mistakes"},
)
def bands(
    *,
    bands: Annotated[int, Param(ge=1, le=1 << 16)],
    grid: grids.Grid = None,
    coordinates: grids.Where = "corners",
    axis_order: grids.AxisOrder = "yx",
    points: grids.PointList = None,
    point_axes: grids.PointAxes = 1,
    extent: grids.Extent = None,
    max_resolution: Annotated[tuple[Decimal, ...] | None, Param(gt=0, le=1e9)] = None,
    spacing: Literal["linear", "log"] = "linear",
    order: Literal["sin-cos", "by-axis"] = "sin-cos",
    include_input: grids.Include = "first",
    sine_only: bool = False,
) -> Waves:
    """Sines and cosines of evenly spaced frequencies; small k is the slow end.

    Formula
    -------
    f_k = 1 + k (R/2 - 1) / (bands - 1), k = 0 .. bands - 1; spacing log: f_k = (R/2)^(k / (bands - 1))
    pe(x) = [x, sin(pi f x), cos(pi f x)]; x from -1 to 1 over the grid, R its side

    Parameters
    ----------
    bands
        Number of frequencies of each coordinate.
    max_resolution
        Sampling rate R: one number, or one for each coordinate (default: the grid's sides).
    spacing
        Space the frequencies evenly (linear) or geometrically (log).
    order
        All sines before all cosines; or coordinate by coordinate, each with its sines, cosines and input.
    include_input
        Include the coordinates themselves, before or after the other columns.
    sine_only
        Omit the cosines.

    Source
    ------
    Jaegle et al. 2021, arXiv:2103.03206, section 3.2 and the authors' code

    Used by
    -------
    Perceiver, Perceiver IO, timm's pixel frequencies

    Use it
    ------
    for coordinates of a fixed box with frequencies up to a known resolution

    Not
    ---
    for token positions, which have no box
    """
    where = grids.coordinates_of(coordinates, grid, axis_order, points, point_axes, extent)
    columns = grids.Columns(where.count, bands, 1 if sine_only else 2, include_input, order)
    found = []
    for axis, rate in enumerate(_rates(max_resolution, where)):
        halved = half_frequencies(rate / 2, bands, spacing)
        found.append(Band(halved, columns.of(axis, 0), None if sine_only else columns.of(axis, 1), axis, turns=True))
    return Waves(columns.width, tuple(found), ramps=columns.ramps, **where.plan())


def _rates(given: tuple[Decimal, ...] | None, where: grids.Coordinates) -> tuple[Decimal, ...]:
    """Return the sampling rate of each coordinate."""
    if given is not None:
        return grids.per_side("max-resolution", given, where.count)
    if where.sides is None:
        raise BadParameter("max-resolution", None, "must be given with coordinates=given: no grid tells it")
    return tuple(map(Decimal, where.sides))


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield frequencies that run up to the sampling rate."""

    def doubled(plan: Waves) -> Waves:
        rates = (4 * decimal_of(band.frequencies[-1]) for band in plan.bands)  # R, of whose half the plan holds a half
        parts = ((band, half_frequencies(rate, len(band.frequencies), keys["spacing"]))
                 for band, rate in zip(plan.bands, rates, strict=True))  # fmt: skip
        return replace(plan, bands=tuple(band._replace(frequencies=w) for band, w in parts))

    yield Change("frequency", "frequencies run up to the resolution R where R / 2 was expected", waves=doubled)
