"""Coordinates of what is encoded by features: places of a grid, points from a file, or the positions themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Annotated, Any, Literal

from pecli.declare.encoding import GIVEN, Param
from pecli.declare.plan import Coordinate, Domain
from pecli.encodings.shared.lattice import Lattice, linear_axis, per_side, sides
from pecli.errors import BadParameter
from pecli.records import dataclass

LARGEST_LIST = 16384
"""Numbers of points: they stand in the recipe."""

CoordinateWord = Literal["corners", "centres", "given"]
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
        "Coordinates of the points, row by row: a list, or a file of them, in any format (default: the positions).",
        file=True,
        matrix=True,
        when=("coordinates", ("given",)),
    ),
]
PointAxes = Annotated[int, Param("Coordinates of each point.", ge=1, le=16, when=("points", GIVEN))]
Extent = Annotated[
    tuple[Decimal, ...] | None,
    Param(
        "Size of the space that points lie in: coordinates x become 2 x / extent - 1 (SAM).",
        gt=0,
        when=("points", GIVEN),
    ),
]
WORD_HELP = "From -1 to 1 over the grid, its corners at the ends or centres of cells; or given, as points or positions."


@dataclass(frozen=True)
class Coordinates:
    """Where rows lie.

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
        """Return what a plan says of its rows."""
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


def place_formula(values: Mapping[str, Any]) -> Callable[[int, int], str] | None:
    """Return what a lesson says of a place along an axis of :func:`on_grid`; None where there is no grid."""
    grid, word = values["grid"], values["coordinates"]
    if grid is None or word == "given":
        return None
    sides = grid[::-1] if values["axis_order"] == "xy" else grid
    if word == "centres":
        return lambda axis, place: f"(2 x {place} + 1) / {sides[axis]} - 1"
    return lambda axis, place: f"2 x {place} / {max(1, sides[axis] - 1)} - 1"


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
