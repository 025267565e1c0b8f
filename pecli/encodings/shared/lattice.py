"""Rows of a grid: which coordinates each has, and coordinates as exact multiples of a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import lcm, prod
from typing import Annotated, Any, Literal

from pecli.declare.encoding import Param
from pecli.declare.plan import Coordinate, Domain
from pecli.encodings.shared.kernel_types import Integers
from pecli.errors import BadParameter
from pecli.records import dataclass

LARGEST_SIDE = 1 << 31
LARGEST_GRID = 1 << 53


def sides(help: str, *, ge: int = 1, le: int = LARGEST_SIDE, items: tuple[int, ...] = (2,), **more: Any) -> Param:  # noqa: A002
    """Return what is known of a parameter that gives the sides of a grid, such as 6x8."""
    return Param(help, ge=ge, le=le, separator="x", items=items, **more)


Grid2 = Annotated[
    tuple[int, ...],
    sides("Rows and columns of the grid.", metavar="HxW"),
]
Grid3 = Annotated[
    tuple[int, ...],
    sides("Frames, rows and columns of the grid.", items=(3,), metavar="TxHxW"),
]
Prefix = Annotated[
    int, Param("Rows without a coordinate before the grid, such as a class token.", ge=0, le=LARGEST_SIDE)
]
Suffix = Annotated[int, Param("Rows without a coordinate after the grid.", ge=0, le=LARGEST_SIDE)]
Merge = Annotated[
    int, Param("Order of the rows: block by block of this many rows and columns, as patch mergers take them.", ge=1)
]

Halves = Annotated[
    Literal["whole", "axis"],
    Param("In the layout half: two halves for the whole head, or for each side's block (Gemma 4, V-JEPA 2)."),
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
        """How many rows there are, prefix and suffix included."""
        return prod(self.sides) + self.prefix + self.suffix

    @property
    def domain(self) -> Domain:
        """The positions that have a value: the rows."""
        extra = self.prefix + self.suffix
        beside = f" and {extra} beside it" if extra else ""
        remedy = f"grid={grid_text(self.sides)}{beside} has rows 0 to {self.rows - 1}: use a larger grid"
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

    def axis(
        self, side: int, coordinates: range | tuple[int, ...] | None = None, unit: Fraction | None = None
    ) -> Coordinate:
        """Return the coordinate along one side: the index itself, or what it stands for."""
        values = range(self.sides[side]) if coordinates is None else coordinates
        return Coordinate(values, self.index(side), Fraction(1) if unit is None else unit)

    def plan(self) -> dict[str, Any]:
        """Return what a plan on this grid says of its rows."""
        return {"prefix": self.prefix, "suffix": self.suffix, "rows": self.rows, "domain": self.domain}


def linear_axis(lattice: Lattice, side: int, first: Fraction, step: Fraction) -> Coordinate:
    """Return the coordinate first + step i of the i-th place along one side, exactly."""
    unit = Fraction(1, lcm(first.denominator, step.denominator))
    start, by = int(first / unit), int(step / unit)
    return lattice.axis(side, range(start, start + by * lattice.sides[side], by), unit)


def per_side(name: str, given: tuple[Decimal, ...], count: int) -> tuple[Decimal, ...]:
    """Return one number for each of `count` sides; a single one stands for all.

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
