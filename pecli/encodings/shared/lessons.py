"""Parts that lessons share: the exercise, rows and matrices on a board, products, and waves as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.positions import fraction_text as text_of
from pecli.numbers.printing import figure
from pecli.spec.hooks import Item, SmallTable, Step, decimal_text, short
from pecli.spec.plans import Band, Waves
from pecli.spec.recipe import Recipe

COLUMNS = 8  # of a row
MAX_ROWS = 8  # rows and columns of a matrix
LENGTH = 5  # rows and columns of a matrix without a given length

Cell = Callable[[Fraction, Fraction], str]
Compute = Callable[[Recipe, "Sequence[Fraction] | None", "int | None"], Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class Pair:
    """One frequency and its columns; None where a width has no room for one."""

    index: int
    axis: int
    frequency: float
    sin: int | None
    cos: int | None
    band: Band


class Exercise(NamedTuple):
    """Recipe, positions and functions that a lesson works from.

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
    cell : callable, optional
        Of the positions of a query and a key: the formula of a bias with these numbers put in.
    """

    recipe: Recipe
    asked: tuple[Fraction, ...] | None
    length: int | None
    compute: Compute
    family: Callable[[Exercise], Iterable[Step]] | None = None
    cell: Cell | None = None

    @property
    def values(self) -> Mapping[str, Any]:
        """The recipe's values by parameter, of the types that its encoding declares."""
        return self.recipe.values

    @property
    def plan(self) -> Any:
        """The recipe's plan, of the class that its encoding makes."""
        return self.recipe.plan

    def at(self, default: Sequence[int]) -> list[Fraction]:
        """Return the requested positions, or the default ones."""
        return [Fraction(p) for p in default] if self.asked is None else list(self.asked)

    def places(self, length: int | None = None) -> list[Fraction]:
        """Return the positions of queries and keys, the same for both."""
        return self.at(range(min(length or self.length or LENGTH, MAX_ROWS)))

    def arrays(self, at: Sequence[Fraction]) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of these positions; of a bias, of these queries and keys."""
        return self.compute(self.recipe, at, self.length)

    def whole(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a small whole table, or of the positions asked for."""
        return self.compute(self.recipe, self.asked, self.length)

    def of_family(self, cell: Cell | None = None) -> list[Step]:
        """Return the lesson of its family; of a bias with this formula for its entries."""
        assert self.family is not None
        return list(self.family(self._replace(cell=cell)))

    def resolved(self, length: int) -> Exercise:
        """Return the exercise on a whole table of `length` rows."""
        return self._replace(recipe=self.recipe.of_length(length))


def matrix_table(at: Sequence[Fraction], values: NDArray[Any]) -> SmallTable:
    """Return a matrix (q, k) with its queries and keys; of many the first, and an ellipsis."""
    more = ["…"] if values.shape[1] > MAX_ROWS else []
    head = ["query \\ key", *map(text_of, at[: min(MAX_ROWS, values.shape[1])]), *more]
    rows = [[text_of(p), *r[:MAX_ROWS].tolist(), *more] for p, r in zip(at, values[:MAX_ROWS], strict=False)]
    return SmallTable(head, [*rows, ["…"] * len(head)] if len(values) > MAX_ROWS else rows)


def one_row(at: Sequence[Fraction], values: NDArray[Any], cell: Cell) -> list[Item]:
    """Return the middle row of a matrix (q, k), each entry as `cell` writes it and as its value."""
    query, lines = at[len(at) // 2], []
    for key, value in zip(at, values[len(at) // 2].tolist(), strict=True):
        text = "after the query, -inf" if value == -math.inf else f"{cell(query, key)} = {figure(value)}"
        lines.append(f"key {text_of(key)}: {text}")
    return [*lines]


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
        return [
            f"{decimal_text(v.real)}{'-' if v.imag < 0 else '+'}{decimal_text(abs(v.imag))}i" for v in values.tolist()
        ]
    return list(values.tolist())


DIGITS = 4  # of a factor: four decimals leave too few of a small one to work with
QUERY, KEY = (1.0, -0.5, 0.25, 2.0), (0.5, 1.0, -1.0, 0.25)


def product(a: Sequence[float], b: Sequence[float]) -> tuple[str, float]:
    """Return a scalar product written out, and its value."""
    pairs = list(zip(a, b, strict=False))
    total = sum(x * y for x, y in pairs)
    return f"{' + '.join(f'{_short(x)} x {_short(y)}' for x, y in pairs)} = {_short(total)}", total


def _short(value: float) -> str:
    return figure(value, DIGITS)


PAIRS = 4  # that fit a board
MAX_LOG_GAP = 1e-12  # by which logarithms of frequencies of one series may differ: a few roundings
MAX_DENOMINATOR = 1 << 16  # of an exponent: the widest table
MAX_SEARCHED_ROWS = 1 << 16  # rows of a grid searched for a change of each coordinate
SIDES = ("column", "row", "frame")


def pairs_of(plan: Waves, per_axis: int | None = None) -> list[Pair]:
    """Return the first `per_axis` frequencies of each axis, with the columns that they fill."""
    found: list[Pair] = []
    for band in plan.bands:
        sines = range(plan.width)[band.sin] if band.sin is not None else range(0)
        cosines = range(plan.width)[band.cos] if band.cos is not None else range(0)
        turn = 2 * math.pi if band.turns else 1.0
        for i, w in enumerate(band.frequencies[:per_axis]):
            sin = sines[i] if i < len(sines) else None
            cos = cosines[i] if i < len(cosines) else None
            found.append(Pair(i, band.axis, float(w) * turn, sin, cos, band))
    return found


def coordinates(plan: Waves, at: Sequence[Fraction]) -> list[list[float]]:
    """Return the coordinates of each position, (positions, axes); the position itself where there are no axes."""
    if not plan.axes:
        return [[float(p)] for p in at]
    rows = np.array([int(p) - plan.prefix for p in at], np.int64)
    columns = [[float(axis.multiples[int(i)] * axis.unit) for i in axis.index(rows)] for axis in plan.axes]
    return [list(row) for row in zip(*columns, strict=True)]


def frequency_step(plan: Waves, pairs: Sequence[Pair], recipe: Recipe) -> Step:
    """Return the step with the frequency and the period of each pair, as powers of a base where they are."""
    axes, names = len({band.axis for band in plan.bands}) > 1, axis_names(plan)
    unit = "unit" if plan.axes else "position"
    head = (["axis"] if axes else []) + ["pair", "w", "one turn in"]
    rows: list[list[str | float]] = []
    lines: list[Item] = []
    for pair in pairs:
        turn = short(2 * math.pi / abs(pair.frequency)) if pair.frequency else "never"
        rows.append([*([names[pair.axis]] if axes else []), pair.index, pair.frequency, turn])
        if text := _series_text(pair, recipe):
            lines.append(f"{names[pair.axis] + ', ' if axes else ''}w_{pair.index} = {text} = {short(pair.frequency)}")
    total = sum(len(band.frequencies) for band in plan.bands)
    more = [] if len(pairs) == total else [f"{len(pairs)} of {total} pairs are shown"]
    return Step(f"a frequency for each pair, in radians per {unit}", [SmallTable(head, rows, None), *lines, *more])


def _series_text(pair: Pair, recipe: Recipe) -> str:
    """Return a frequency as a power of a parameter, or of the ratio of neighbours; "" where there is no such series."""
    band = pair.band
    series = [float(w) for w in band.frequencies]
    turn = " x 2 x pi" if band.turns else ""
    alone = f"{series[pair.index]:.9g}{turn}" if turn else ""
    if len(series) < 2 or min(series) <= 0:
        return alone
    logarithms = np.log(series)
    step = float(logarithms[1] - logarithms[0])
    if np.abs(logarithms - logarithms[0] - step * np.arange(len(series))).max() > MAX_LOG_GAP:
        gap = series[1] - series[0]
        even = np.abs(np.array(series) - series[0] - gap * np.arange(len(series))).max() <= MAX_LOG_GAP * series[-1]
        return f"({short(series[0])} + {pair.index} x {short(gap)}){turn}" if even else alone
    times = "" if series[0] == 1 else f"{short(series[0])} x "
    given = [v for value in recipe.values.values() for v in (value if isinstance(value, tuple) else [value])]
    for base in (float(v) for v in given if isinstance(v, Decimal) and v > 0 and v != 1):
        exponent = Fraction(-step / math.log(base)).limit_denominator(MAX_DENOMINATOR)
        if exponent > 0 and abs(float(exponent) * math.log(base) + step) < MAX_LOG_GAP:
            double = 2 if exponent.numerator % 2 else 1  # 2i/d, as papers have it
            above, below = exponent.numerator * double * pair.index, exponent.denominator * double
            return f"{times}{short(base)}^(-{above}/{below}){turn}"
    return f"{times}{short(math.exp(step))}^{pair.index}{turn}"


def angle_table(plan: Waves, pairs: Sequence[Pair], at: Sequence[Fraction]) -> SmallTable:
    """Return position (or coordinate) times frequency."""
    where = coordinates(plan, at)
    axes = axis_names(plan)
    names = [f"w_{p.index}" + (f" {axes[p.axis]}" if len(plan.axes) > 1 else "") for p in pairs[:COLUMNS]]
    rows: list[list[str | float]] = [
        [text_of(p), *(c[q.axis] * q.frequency for q in pairs[:COLUMNS])] for p, c in zip(at, where, strict=True)
    ]
    return SmallTable(["position", *names], rows, None)


def places_step(plan: Waves, at: Sequence[Fraction]) -> Step:
    """Return the step with the grid index and the coordinates of some rows, worked out where they are evenly spaced."""
    rows = np.array([int(p) - plan.prefix for p in at], np.int64)
    places = list(zip(*(axis.index(rows).tolist() for axis in plan.axes), strict=True))
    names = axis_names(plan)
    lines: list[Item] = []
    for p, place, found in zip(at, places, coordinates(plan, at), strict=True):
        lines.append(f"position {text_of(p)}: {', '.join(f'{n} {i}' for n, i in zip(names, place, strict=True))}")
        for axis, name, index, value in zip(plan.axes, names, place, found, strict=True):
            if value != index:
                phrase = "the coordinate"
                if isinstance(axis.multiples, range):
                    step, start = axis.multiples.step * axis.unit, axis.multiples.start * axis.unit
                    phrase = f"{index}" + (f" x {_ratio_text(step)}" if step != 1 else "")
                    phrase += f" {'-' if start < 0 else '+'} {_ratio_text(abs(start))}" if start else ""
                lines.append(f"{name} {index}: {phrase} = {short(value)}")
    return Step("where each position lies, and its coordinates", list(dict.fromkeys(map(str, lines))))


def _ratio_text(value: Fraction) -> str:
    """Return a fraction of small numbers as it is, another one as a decimal."""
    text = text_of(value)
    return text if len(text) <= len("1000/1000") else short(float(value))


def axis_names(plan: Waves) -> list[str]:
    """Return the names of a grid's axes: the one that changes from row to row along columns."""
    if len(plan.axes) < 2:
        return ["place"]
    if len(plan.axes) > len(SIDES):
        return [f"axis {axis}" for axis in range(len(plan.axes))]
    strides = _strides(plan)
    order = sorted(range(len(strides)), key=strides.__getitem__)
    return [SIDES[order.index(axis)] for axis in range(len(plan.axes))]


def _strides(plan: Waves) -> list[int]:
    """Return the first row of a grid at which each axis moves; the number of rows where it never does."""
    rows = np.arange(min((plan.rows or 1) - plan.prefix, MAX_SEARCHED_ROWS), dtype=np.int64)
    found = []
    for axis in plan.axes:
        moved = np.flatnonzero(axis.index(rows) != axis.index(rows[:1]))
        found.append(int(moved[0]) if len(moved) else len(rows))
    return found


def far_apart(plan: Waves, max_rows: int = PAIRS) -> list[int]:
    """Return rows whose coordinates differ in every axis: the first, one step along each, and the last."""
    count = (plan.rows or max_rows + plan.prefix) - plan.prefix
    if len(plan.axes) < 2:
        return list(range(plan.prefix, plan.prefix + min(max_rows, count)))
    strides = sorted(set(_strides(plan)) - {count})
    rows = (0, *strides[: max_rows - 2], sum(strides) % count, count - 1)
    return sorted({plan.prefix + row for row in rows})[: max_rows + 1]


def wave_lines(
    pairs: Sequence[Pair], where: Sequence[float], position: str, row: Sequence[float | complex]
) -> list[Item]:
    """Return the values of one row, with the coordinate and the frequency of each put in."""
    lines: list[Item] = []
    for pair in pairs:
        product, angle = f"{short(where[pair.axis])} x {short(pair.frequency)}", where[pair.axis] * pair.frequency
        size = "" if pair.band.magnitude == 1 else f"{short(float(pair.band.magnitude))} x "
        parts = {"cos": ", real part", "sin": ", imaginary part"} if pair.sin == pair.cos else {}
        for name, column in (("sin", pair.sin), ("cos", pair.cos)):
            if column is not None:
                value = row[column].imag if parts and name == "sin" else row[column].real
                text = f"{size}{name}({product}) = {size}{name}({short(angle)}) = {decimal_text(float(value))}"
                lines.append(f"PE({position}, {column}){parts.get(name, '')} = {text}")
    return lines
