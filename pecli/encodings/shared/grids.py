"""Grids: the places of rows, their coordinates as exact multiples of a unit, and the columns of several axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Annotated, Any, Literal

from pecli.encodings.shared.deferred import Integers
from pecli.errors import BadParameter
from pecli.spec.declaration import GIVEN, Param
from pecli.spec.plans import Coordinate, Domain, Ramp

LARGEST_SIDE = 1 << 31
LARGEST_GRID = 1 << 53


def sides(help: str = "", *, ge: int = 1, le: int = LARGEST_SIDE, items: tuple[int, ...] = (2,), **more: Any) -> Param:  # noqa: A002
    """Return the declaration of a parameter for the sides of a grid, such as 6x8."""
    return Param(help, ge=ge, le=le, separator="x", items=items, **more)


Grid2 = Annotated[tuple[int, ...], sides("Rows and columns of the grid.", metavar="HxW")]
Grid3 = Annotated[tuple[int, ...], sides("Frames, rows and columns of the grid.", items=(3,), metavar="TxHxW")]
Prefix = Annotated[
    int, Param("Rows before the grid that have no coordinate, such as a class token.", ge=0, le=LARGEST_SIDE)
]
Suffix = Annotated[int, Param("Rows without a coordinate after the grid.", ge=0, le=LARGEST_SIDE)]
Merge = Annotated[int, Param("Order rows in blocks of N x N patches, as patch mergers do.", ge=1)]

Halves = Annotated[
    Literal["whole", "axis"],
    Param("In the layout half: split the whole head, or the block of each axis (Gemma 4, V-JEPA 2)."),
]


def grid_text(sides: Sequence[int]) -> str:
    """Return a grid as users write it."""
    return "x".join(map(str, sides))


@dataclass(frozen=True)
class Lattice:
    """The rows of a grid, the last side fastest, or in blocks of `merge` x `merge` of the last two sides.

    Raises
    ------
    BadParameter
        If blocks do not tile the grid, or there are 2^53 rows or more.
    """

    sides: tuple[int, ...]
    merge: int = 1
    prefix: int = 0
    suffix: int = 0

    def __post_init__(self) -> None:
        if self.rows >= LARGEST_GRID:
            raise BadParameter("grid", grid_text(self.sides), "has 2^53 rows or more: use a smaller one")
        if self.merge > 1 and (len(self.sides) < 2 or any(side % self.merge for side in self.sides[-2:])):
            rule = f"must divide the sides of grid={grid_text(self.sides)}: rows come in {self.merge} x {self.merge}"
            raise BadParameter("merge", self.merge, rule)

    @property
    def rows(self) -> int:
        """Number of rows, prefix and suffix included."""
        return prod(self.sides) + self.prefix + self.suffix

    @property
    def domain(self) -> Domain:
        """The positions that have a value: the rows."""
        extra = self.prefix + self.suffix
        extra_text = f" and {extra} beside it" if extra else ""
        remedy = f"grid={grid_text(self.sides)}{extra_text} has rows 0 to {self.rows - 1}: use a larger grid"
        return Domain(Fraction(0), Fraction(self.rows - 1), integral=True, remedy=remedy)

    def index(self, side: int) -> Callable[[Integers], Integers]:
        """Return the function from rows of the grid to their coordinates along one side."""
        last, m = len(self.sides) - 1, self.merge
        inner = prod(self.sides[side + 1 :])
        length = self.sides[side]
        if m == 1 or side < last - 1:
            return lambda rows: rows // inner % length
        height_of_block, width = (m * self.sides[last], self.sides[last])

        def row(rows: Integers) -> Integers:
            # [rows of blocks | blocks of a row | rows of a block | columns of a block]
            return rows // height_of_block % (length // m) * m + rows // m % m

        def column(rows: Integers) -> Integers:
            return rows // (m * m) % (width // m) * m + rows % m

        return column if side == last else row

    def plan(self) -> dict[str, Any]:
        """Return the arguments of a plan that describe the rows of this grid."""
        return {"prefix": self.prefix, "suffix": self.suffix, "rows": self.rows, "domain": self.domain}


def linear_axis(lattice: Lattice, side: int, first: Fraction, step: Fraction) -> Coordinate:
    """Return the coordinate first + step i of the i-th place along one side, exactly."""
    unit = Fraction(1, lcm(first.denominator, step.denominator))
    start, by = int(first / unit), int(step / unit)
    return Coordinate(range(start, start + by * lattice.sides[side], by), lattice.index(side), unit)


def per_side(name: str, given: tuple[Decimal, ...], count: int) -> tuple[Decimal, ...]:
    """Return one number for each of `count` sides, repeating a single one.

    Raises
    ------
    BadParameter
        If there are neither one nor `count` of them.
    """
    if len(given) == 1:
        return given * count
    if len(given) != count:
        raise BadParameter(name, "+".join(map(str, given)), f"must be one number or {count}, one for each side")
    return given


# Maximum count of point coordinates, since the recipe contains them all.
LARGEST_LIST = 16384


def points_instead(keys: Mapping[str, str], coordinate: Callable[[int, int], float]) -> dict[str, str | None]:
    """Return the parameters that give each cell of a grid another coordinate, of place k of n; {} of large grids."""
    sides = [int(side) for side in keys.get("grid", "1").split("x")]
    if not 1 < prod(sides) * len(sides) <= LARGEST_LIST:
        return {}
    cells = product(*([f"{coordinate(k, n):.12g}" for k in range(n)] for n in sides))
    order = -1 if keys.get("axis-order", "xy") == "xy" else 1
    points = "+".join(text for cell in cells for text in cell[::order])
    given = {"coordinates": "given", "grid": None, "axis-order": None, "point-axes": str(len(sides))}
    return {**given, "points": points}


Grid = Annotated[
    tuple[int, ...] | None,
    sides(
        "Sides of the grid that runs from -1 to 1; one side is a line (default: the table's length).",
        items=(1, 2, 3),
        metavar="N|HxW|TxHxW",
        of_table="length",
        when=("coordinates", ("corners", "centres")),
    ),
]
AxisOrder = Annotated[
    Literal["xy", "yx"],
    Param(
        "Order of a grid's coordinates: the last side first, or the first.",
        when=("coordinates", ("corners", "centres")),
    ),
]
PointList = Annotated[
    tuple[Decimal, ...] | None,
    Param(
        "Coordinates of the points, row by row: a list, or a file of any format (default: the positions).",
        file=True,
        matrix=True,
        when=("coordinates", ("given",)),
    ),
]
PointAxes = Annotated[int, Param("Number of coordinates of each point.", ge=1, le=16, when=("points", GIVEN))]
Extent = Annotated[
    tuple[Decimal, ...] | None,
    Param("Size of the space: coordinates x become 2 x / extent - 1 (SAM).", gt=0, when=("points", GIVEN)),
]


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the rows.

    Attributes
    ----------
    count : int
        Coordinates of each row.
    axes : tuple of Coordinate
        What they are; empty where the one coordinate is the position.
    sides : tuple of int or None
        Of the grid, in the order of the coordinates.
    rows : int or None
        How many there are, where that is fixed.
    """

    count: int = 1
    axes: tuple[Coordinate, ...] = ()
    sides: tuple[int, ...] | None = None
    rows: int | None = None
    domain: Domain = field(default_factory=Domain)

    def plan(self) -> dict[str, Any]:
        """Return the arguments of a plan that describe its rows."""
        return {"axes": self.axes, "rows": self.rows, "domain": self.domain}


def on_grid(sides: tuple[int, ...], word: str, order: str) -> Coordinates:
    """Return the coordinates of a grid from -1 to 1.

    Parameters
    ----------
    sides : tuple of int
        Of the grid.
    word : {"corners", "centres"}
        Whether -1 and 1 are the first and last place (a single one is at -1), or the outer edges.
    order : {"xy", "yx"}
        Whether the last side's coordinate is the first.
    """
    lattice = Lattice(sides)
    axes = []
    for side, length in enumerate(sides):
        if word == "centres":
            first, step = Fraction(1 - length, length), Fraction(2, length)
        else:
            first, step = Fraction(-1), Fraction(2, max(1, length - 1))
        axes.append(linear_axis(lattice, side, first, step))
    if order == "xy":
        axes, sides = axes[::-1], sides[::-1]
    return Coordinates(len(sides), tuple(axes), sides, lattice.rows, lattice.domain)


def of_points(numbers: tuple[Decimal, ...], count: int, extent: tuple[Decimal, ...] | None) -> Coordinates:
    """Return the coordinates of points, `count` numbers each.

    Raises
    ------
    BadParameter
        If the numbers do not divide into points, or have too many digits.
    """
    given = f"{len(numbers)} numbers"
    if len(numbers) > LARGEST_LIST:
        raise BadParameter("points", given, f"are too many for a recipe: at most {LARGEST_LIST}; make several tables")
    if len(numbers) % count:
        raise BadParameter("points", given, f"do not divide into points of point-axes={count} coordinates")
    exact = [Fraction(number) for number in numbers]
    columns = [exact[axis::count] for axis in range(count)]
    if extent is not None:
        sizes = per_side("extent", extent, count)
        columns = [[2 * x / Fraction(s) - 1 for x in column] for column, s in zip(columns, sizes, strict=True)]
    rows = len(columns[0])
    remedy = f"there are {rows} points: rows 0 to {rows - 1}"
    domain = Domain(Fraction(0), Fraction(rows - 1), integral=True, remedy=remedy)
    return Coordinates(count, tuple(map(_listed, columns)), None, rows, domain)


def _listed(column: Sequence[Fraction]) -> Coordinate:
    unit = Fraction(1, lcm(*(x.denominator for x in column)))
    multiples = tuple(int(x / unit) for x in column)
    if max(map(abs, multiples)) >= 1 << 63:
        raise BadParameter("points", None, "have too many digits together: round them to fewer")
    return Coordinate(multiples, lambda rows: rows, unit)


def coordinates_of(
    word: str,
    grid: tuple[int, ...] | None,
    order: str,
    points: tuple[Decimal, ...] | None,
    count: int,
    extent: tuple[Decimal, ...] | None,
) -> Coordinates:
    """Return the coordinates that the parameters of an encoding describe."""
    if points is not None:
        return of_points(points, count, extent)
    return Coordinates() if word == "given" else on_grid(grid or (1,), word, order)


Where = Annotated[
    Literal["corners", "centres", "given"],
    Param(
        "Grid from -1 to 1, which are its outer points (corners) or its outer edges (centres); "
        "or given points or positions."
    ),
]
Include = Literal["none", "first", "last"]


@dataclass(frozen=True)
class Columns:
    """Places of the sines (part 0) and cosines (part 1) of several axes, and of the coordinates themselves.

    Parameters
    ----------
    axes, count, parts : int
        Numbers of coordinates, of frequencies, of sin and cos.
    include : {"none", "first", "last"}
        Place of the coordinates: before or after all other columns; with "by-axis" and "in-turn", of their own axis.
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
        """Number of columns."""
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
