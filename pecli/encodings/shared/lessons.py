"""What the lessons of several encodings share: the exercise, and rows and matrices on a board."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.board import Item, SmallTable, Step, three
from pecli.encodings import CATALOGUE
from pecli.encodings.recipe import Recipe, split_recipe
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.positions import fraction_text as text_of
from pecli.numbers.printing import figure

COLUMNS = 8  # of a row
MOST = 8  # rows and columns of a matrix
MATRIX_DECIMALS = 4
LENGTH = 5  # rows and columns of a matrix where nobody said how many

Compute = Callable[[Recipe, "Sequence[Fraction] | None", "int | None"], Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class Pair:
    """One frequency and its columns; None where a width has no room for one."""

    index: int
    axis: int
    frequency: float
    sin: int | None
    cos: int | None


@dataclass(frozen=True)
class Exercise:
    """What a lesson works out.

    Parameters
    ----------
    recipe : Recipe
        Its parameters; what depends on a whole table may be open.
    asked : tuple of Fraction, optional
        Positions that were asked for.
    length : int, optional
        Rows of the table, for encodings that depend on it.
    compute : callable
        Of a recipe, positions and a length: gives the exact float64 arrays of these positions, by name; without
        positions those of a small whole table.
    family : callable, optional
        The lesson of its family, which one of its own may go on from.
    frequency : callable, optional
        Of a pair: its frequency as the formula gives it, with the numbers put in.
    coordinate : callable, optional
        Of an axis and a place along it: the coordinate there, with the numbers put in; empty where it is the place.
    width : int, optional
        What the exponents 2i of one series are divided by, where that is not twice the number of its pairs.
    """

    recipe: Recipe
    asked: tuple[Fraction, ...] | None
    length: int | None
    compute: Compute
    family: Callable[[Exercise], Iterable[Step]] | None = None
    frequency: Callable[[Pair], str] | None = None
    coordinate: Callable[[int, int], str] | None = None
    width: int | None = None

    @property
    def values(self) -> Mapping[str, Any]:
        """The recipe's values by parameter, of the types that its encoding declares."""
        return self.recipe.values

    def at(self, default: Sequence[int]) -> list[Fraction]:
        """Return the positions to work out: those asked for, or the default."""
        return [Fraction(p) for p in default] if self.asked is None else list(self.asked)

    def places(self, length: int | None = None) -> list[Fraction]:
        """Return the positions of queries and keys, the same for both."""
        return self.at(range(min(length or self.length or LENGTH, MOST)))

    def arrays(self, at: Sequence[Fraction]) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of these positions; of a bias, of these queries and keys."""
        return self.compute(self.recipe, at, self.length)

    def whole(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a small whole table, or of the positions asked for."""
        return self.compute(self.recipe, self.asked, self.length)

    def of_family(
        self, frequency: Callable[[Pair], str] | None = None, coordinate: Callable[[int, int], str] | None = None,
        width: int | None = None,
    ) -> list[Step]:  # fmt: skip
        """Return the lesson of its family, with frequencies and coordinates as these formulas give them."""
        assert self.family is not None
        return list(self.family(replace(self, frequency=frequency, coordinate=coordinate, width=width)))

    def content(self, source: str, at: Sequence[Fraction], **sizes: object) -> NDArray[np.float64] | None:
        """Return the rows of another recipe at these positions; None where the source is a file."""
        name, keys = split_recipe(source)
        if name not in CATALOGUE:
            return None
        recipe = Recipe.bind(name, **{**keys, **{key: str(size) for key, size in sizes.items()}})
        (rows,) = self.compute(recipe, at, self.length).values()
        return np.asarray(rows, np.float64)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a parameter that is a list of numbers; empty where it is not given."""
        value = self.recipe.values[name]
        return tuple(float(str(item)) for item in value) if isinstance(value, tuple) else ()

    def parameter(self, name: str) -> list[float]:
        """Return the trained numbers of a plan, one for each head, given or drawn."""
        (fixed,) = (found for found in self.recipe.plan.fixed if found.name == name)
        values = fixed.values(0, fixed.shape[0])
        return [float(v) for v in (values.hi if isinstance(values, DoubleDouble) else values)]

    def resolved(self, length: int) -> Exercise:
        """Return the exercise on a whole table of so many rows."""
        return replace(self, recipe=self.recipe.resolve(length=length, last=length - 1, whole=True))


def matrix_table(at: Sequence[Fraction], values: NDArray[Any]) -> SmallTable:
    """Return a matrix (q, k) with its queries and keys; of many keys the first, and a mark that there are more."""
    more = ["…"] if values.shape[1] > MOST else []
    head = ["query \\ key", *map(text_of, at[:MOST]), *more]
    rows = [[text_of(p), *r[:MOST].tolist(), *more] for p, r in zip(at, values, strict=False)]
    return SmallTable(head, rows, MATRIX_DECIMALS)


def one_row(at: Sequence[Fraction], values: NDArray[Any], cell: Callable[[float], str]) -> list[Item]:
    """Return the middle row of a matrix (q, k), each entry as `cell` of key - query writes it and as its value."""
    query = len(at) // 2
    lines: list[Item] = []
    for key, value in enumerate(values[query].tolist()):
        distance = float(at[key] - at[query])
        said = "after the query, masked" if value == -math.inf else f"{cell(distance)} = {figure(value)}"
        lines.append(f"query {text_of(at[query])}, key {text_of(at[key])}: {said}")
    return lines


def rows_table(corner: str, names: Sequence[str], values: NDArray[Any]) -> SmallTable:
    """Return rows (n, width) by their names, the first columns of wide ones."""
    shown = min(COLUMNS, values.shape[1])
    more = ["…"] if values.shape[1] > shown else []
    return SmallTable(
        [corner, *map(str, range(shown)), *more],
        [[name, *_cells(row[:shown]), *more] for name, row in zip(names, values, strict=True)],
    )


def by_position(at: Sequence[Fraction], values: NDArray[Any]) -> SmallTable:
    """Return rows of a table by position."""
    return rows_table("position", [text_of(p) for p in at], values)


def _cells(values: NDArray[Any]) -> list[str | float]:
    if values.dtype.kind == "c":
        return [f"{three(v.real)}{'-' if v.imag < 0 else '+'}{three(abs(v.imag))}i" for v in values.tolist()]
    return list(values.tolist())
