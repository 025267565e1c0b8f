"""Absolute encodings of coordinates by many frequencies at once: Fourier features, bands, NeRF; and the complex form.

x is a coordinate; a frequency in turns is one of 2 pi x.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Preset, Source, encoding
from pecli.declare.plan import Band, Frequency, Ramp, Waves
from pecli.encodings.shared.coordinates import (
    WORD_HELP,
    AxisOrder,
    Coordinates,
    CoordinateWord,
    Extent,
    Grid,
    PointAxes,
    PointList,
    coordinates_of,
)
from pecli.encodings.shared.lattice import per_side
from pecli.encodings.shared.parameters import Base
from pecli.errors import BadParameter
from pecli.numbers.decimals import geometric, power

Where = Annotated[CoordinateWord, Param(WORD_HELP)]
Include = Literal["none", "first", "last"]
Bands = Annotated[int, Param("Number of frequencies of each coordinate.", ge=1, le=1 << 16)]
LARGEST_EXPONENT = 96
"""Of NeRF's frequencies: a float64 coordinate of about 1 ends 53 bits after the point, and the digits of
a frequency suffice for 2^96 times the largest scale."""


@dataclass(frozen=True)
class Columns:
    """Places of the sines (part 0) and cosines (part 1) of several axes, and of the coordinates themselves.

    Parameters
    ----------
    axes, count, parts : int
        Numbers of coordinates, of frequencies, of sin and cos.
    include : {"none", "first", "last"}
        Where the coordinates stand: before or after all else; with "by-axis" and "in-turn", of their own axis.
    order : {"sin-cos", "by-axis", "in-turn", "by-frequency"}
        [sin of all axes | cos of all axes]; [sin x | cos x | sin y | cos y]; [sin x, cos x, sin 2x, ..
        | sin y, cos y ..]; or by frequency, and within it the sines of all axes before their cosines.
    """

    axes: int
    count: int
    parts: int
    include: str
    order: str

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.axes * (self.count * self.parts + (self.include != "none"))

    def of(self, axis: int, part: int) -> slice:
        """Return the columns of the sines or cosines of an axis."""
        whole = self.count * self.parts
        if self.order in ("by-axis", "in-turn"):
            start = axis * (whole + (self.include != "none")) + (self.include == "first")
            if self.order == "in-turn":
                return slice(start + part, start + whole, self.parts)
            return slice(start + part * self.count, start + (part + 1) * self.count)
        start = self.axes if self.include == "first" else 0
        if self.order == "sin-cos":
            start += (part * self.axes + axis) * self.count
            return slice(start, start + self.count)
        first = start + part * self.axes + axis
        return slice(first, start + self.axes * whole, self.axes * self.parts)

    @property
    def ramps(self) -> tuple[Ramp, ...]:
        """Return the columns of the coordinates."""
        whole = self.count * self.parts
        if self.include == "none":
            return ()
        if self.order in ("by-axis", "in-turn"):
            inner = 0 if self.include == "first" else whole
            return tuple(Ramp(axis * (whole + 1) + inner, axis) for axis in range(self.axes))
        start = 0 if self.include == "first" else self.axes * whole
        return tuple(Ramp(start + axis, axis) for axis in range(self.axes))


@encoding(
    family=Family.ABSOLUTE,
    title="Perceiver bands",
    formula="""
        f_k = 1 + k (R/2 - 1) / (bands - 1), k = 0 .. bands - 1; spacing log: f_k = (R/2)^(k / (bands - 1))
        pe(x) = [x, sin(pi f x), cos(pi f x)]; x from -1 to 1 over the grid, R its side
    """,
    source=Source("Jaegle et al. 2021", "arXiv:2103.03206", "section 3.2 and the authors' code"),
    facts=Facts(beyond="ends", longest="prod(grid)", cost="n * (2 * bands + 1)"),
    users="Perceiver, Perceiver IO, timm's pixel frequencies",
    example="bands:bands=4,grid=64",
)
def bands(
    *,
    bands: Bands,
    grid: Grid = None,
    coordinates: Where = "corners",
    axis_order: AxisOrder = "yx",
    points: PointList = None,
    point_axes: PointAxes = 1,
    extent: Extent = None,
    max_resolution: Annotated[
        tuple[Decimal, ...] | None,
        Param("Sampling rate R: one number, or one for each coordinate (default: the grid's sides).", gt=0, le=1e9),
    ] = None,
    spacing: Annotated[Literal["linear", "log"], Param("Frequencies evenly spaced, or their logarithms.")] = "linear",
    order: Annotated[
        Literal["sin-cos", "by-axis"],
        Param("All sines before all cosines; or coordinate by coordinate, each with its sines, cosines and input."),
    ] = "sin-cos",
    include_input: Annotated[Include, Param("Whether the coordinates stand before or after.")] = "first",
    sine_only: Annotated[bool, Param("Leave the cosines out.")] = False,
) -> Waves:
    """Sines and cosines of evenly spaced frequencies, small k the slow end."""
    where = coordinates_of(coordinates, grid, axis_order, points, point_axes, extent)
    columns = Columns(where.count, bands, 1 if sine_only else 2, include_input, order)
    found = []
    for axis, rate in enumerate(_rates(max_resolution, where)):
        halved = _spaced(rate / 2, bands, spacing)
        found.append(Band(halved, columns.of(axis, 0), None if sine_only else columns.of(axis, 1), axis, turns=True))
    return Waves(columns.width, tuple(found), ramps=columns.ramps, **where.plan())


def _rates(given: tuple[Decimal, ...] | None, where: Coordinates) -> tuple[Decimal, ...]:
    """Return the sampling rate of each coordinate."""
    if given is not None:
        return per_side("max-resolution", given, where.count)
    if where.sides is None:
        raise BadParameter("max-resolution", "(none)", "must be given with coordinates=given: no grid tells it")
    return tuple(map(Decimal, where.sides))


def _spaced(top: Decimal, count: int, spacing: str) -> tuple[Frequency, ...]:
    """Return half the frequencies from 1 to `top`: sin(pi f x) makes f/2 turns a unit."""
    gaps = max(1, count - 1)
    if spacing == "linear":
        return tuple((1 + k * (Fraction(top) - 1) / gaps) / 2 for k in range(count))
    return tuple(Fraction(power(top, Fraction(k, gaps))) / 2 for k in range(count))


@encoding(
    family=Family.ABSOLUTE,
    title="NeRF",
    formula="""
        pe(x) = sin(2^k pi x), cos(2^k pi x), k = 0 .. bands - 1; x from -1 to 1 over the grid
        no-pi: sin(2^k x), cos(2^k x), as the authors' code has it
    """,
    source=Source("Mildenhall et al. 2020", "arXiv:2003.08934", "equation 4; the authors' code has no pi"),
    facts=Facts(beyond="ends", unique=False, relative="rotation", longest="prod(grid)", cost="n * 2 * bands"),
    users="NeRF, nerfstudio, coordinate networks",
    example="nerf:bands=4,grid=64",
    presets=(
        Preset(
            "convention",
            "Columns, input and factor as this code has them.",
            {
                "paper": {"order": "in-turn"},
                "code": {"order": "by-frequency", "include_input": "first", "pi": False},
                "nerfstudio": {"order": "sin-cos", "scale": "2"},
            },
        ),
    ),
)
def nerf(
    *,
    bands: Annotated[int, Param("Number of frequencies of each coordinate.", ge=1, le=LARGEST_EXPONENT)],
    grid: Grid = None,
    coordinates: Where = "corners",
    axis_order: AxisOrder = "xy",
    points: PointList = None,
    point_axes: PointAxes = 1,
    extent: Extent = None,
    pi: Annotated[bool, Param("Whether pi multiplies the coordinate, as in the paper.")] = True,
    scale: Annotated[Decimal, Param("Multiplies the coordinate (nerfstudio: 2, for 2 pi).", gt=0, le=1e9)] = Decimal(1),
    max_exponent: Annotated[
        Decimal | None, Param("Exponent of the fastest frequency (default: bands - 1).", ge=0, le=LARGEST_EXPONENT)
    ] = None,
    spacing: Annotated[
        Literal["log", "linear"], Param("Exponents evenly spaced, or the frequencies themselves.")
    ] = "log",
    order: Annotated[
        Literal["in-turn", "by-frequency", "sin-cos", "by-axis"],
        Param(
            "Coordinate by coordinate, sin and cos in turn; frequency by frequency (the code); "
            "all sines before all cosines (nerfstudio); or so within each coordinate."
        ),
    ] = "in-turn",
    include_input: Annotated[Include, Param("Whether the coordinates stand before or after.")] = "none",
) -> Waves:
    """Sines and cosines of frequencies that double, small k the slow end."""
    where = coordinates_of(coordinates, grid, axis_order, points, point_axes, extent)
    columns = Columns(where.count, bands, 2, include_input, order)
    top, gaps = Decimal(bands - 1) if max_exponent is None else max_exponent, max(1, bands - 1)
    if spacing == "log":
        powers = [Fraction(power(Decimal(2), Fraction(top) * k / gaps)) for k in range(bands)]
    else:
        last = Fraction(power(Decimal(2), top))
        powers = [1 + k * (last - 1) / gaps for k in range(bands)]
    factor = Fraction(scale) / (2 if pi else 1)
    frequencies = tuple(factor * f for f in powers)
    found = tuple(Band(frequencies, columns.of(a, 0), columns.of(a, 1), a, turns=pi) for a in range(where.count))
    return Waves(columns.width, found, ramps=columns.ramps, **where.plan())


@encoding(
    family=Family.ABSOLUTE,
    title="Complex",
    name="complex",
    formula="""
        w_i = base^(-2i/dim), i = 0 .. dim/2 - 1
        pe(p, i) = exp(i p w_i), a complex number
    """,
    source=Source("Wang et al. 2020", "arXiv:1912.12333", "with fixed frequencies, amplitude 1 and phase 0"),
    facts=Facts(relative="rotation"),
    users="complex word embeddings; complex rotary caches",
    example="complex:dim=4",
)
def complex_numbers(
    *,
    dim: Annotated[int, Param("Width; half as many complex columns.", ge=2, le=1 << 20, even=True)],
    base: Base = Decimal(10000),
) -> Waves:
    """Complex numbers of size 1 that turn with geometrically spaced frequencies."""
    half = dim // 2
    every = slice(0, half)
    return Waves(half, (Band(geometric(base, Fraction(2, dim), half), every, every),), form="complex")
