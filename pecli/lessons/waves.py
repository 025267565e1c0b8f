"""Worked examples of sines and cosines: the sinusoid, and whatever else oscillates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.lessons.lesson import Equation, Grid, Matrix, Step, few, joined, off_by, short, table_at, text_of, three
from pecli.numbers.positions import Positions

PAIRS = 4  # that fit a board
COLUMNS = 8
TRIED = 64  # positions at which a property is checked


@dataclass(frozen=True)
class Pair:
    """One frequency and its columns; None where a width has no room for one."""

    index: int
    axis: int
    frequency: float
    sin: int | None
    cos: int | None


def pairs_of(plan: Waves, most: int | None = None) -> list[Pair]:
    """Return the first `most` frequencies of each axis, with the columns that they fill."""
    found: list[Pair] = []
    for band in plan.bands:
        sines = range(plan.width)[band.sin] if band.sin is not None else range(0)
        cosines = range(plan.width)[band.cos] if band.cos is not None else range(0)
        turn = 2 * math.pi if band.turns else 1.0
        for i, w in enumerate(band.frequencies[:most]):
            sin = sines[i] if i < len(sines) else None
            cos = cosines[i] if i < len(cosines) else None
            found.append(Pair(i, band.axis, float(w) * turn, sin, cos))
    return found


def coordinates(plan: Waves, at: Sequence[Fraction]) -> list[list[float]]:
    """Return the coordinates of each position, (positions, axes); the position itself where there are no axes."""
    if not plan.axes:
        return [[float(p)] for p in at]
    rows = np.array([int(p) - plan.prefix for p in at], np.int64)
    columns = [[float(axis.multiples[int(i)] * axis.unit) for i in axis.index(rows)] for axis in plan.axes]
    return [list(row) for row in zip(*columns, strict=True)]


def frequency_step(plan: Waves, pairs: Sequence[Pair], number: int = 1) -> Step:
    """Return frequencies and how far apart their turns are."""
    axes = len({band.axis for band in plan.bands}) > 1
    head = (["axis"] if axes else []) + ["pair", "w", "one turn in"]
    rows: list[list[str | float]] = []
    for pair in pairs:
        turn = short(2 * math.pi / abs(pair.frequency)) if pair.frequency else "never"
        rows.append([*([pair.axis] if axes else []), pair.index, pair.frequency, turn])
    total = sum(len(band.frequencies) for band in plan.bands)
    more = [] if len(pairs) == total else [f"{len(pairs)} of {total} pairs are shown"]
    return Step(f"Step {number}: a frequency for each pair, in radians per position", [Grid(head, rows, False), *more])


def angle_grid(plan: Waves, pairs: Sequence[Pair], at: Sequence[Fraction]) -> Grid:
    """Return position (or coordinate) times frequency."""
    where = coordinates(plan, at)
    names = [f"w_{p.index}" + (f" axis {p.axis}" if len(plan.axes) > 1 else "") for p in pairs[:COLUMNS]]
    rows: list[list[str | float]] = [
        [text_of(p), *(c[q.axis] * q.frequency for q in pairs[:COLUMNS])] for p, c in zip(at, where, strict=True)
    ]
    return Grid(["position", *names], rows, False)


def sinusoid(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Work out a sinusoid: frequencies, angles, each value, the rows, what a shift does."""
    at = few(positions, (0, 1, 2))
    table = table_at(recipe, at)
    plan = table.plan
    assert isinstance(plan, Waves)
    values = table.read("pe")
    every = pairs_of(plan)
    pairs = every[:PAIRS]
    found = [
        _rules(recipe, plan, pairs),
        Step("Step 2: angles, position times frequency", [angle_grid(plan, pairs, at)]),
        Step("Step 3: sines and cosines of the angles", _cells(recipe, pairs, at, values)),
        Step("Step 4: one row for each position", [row_grid(at, values)]),
    ]
    whole = [p for p in pairs if p.sin is not None and p.cos is not None]
    if whole and not plan.blank:
        found += [_shift(recipe, whole, at, 5), _differences(recipe, 6)]
        if all(p.sin is not None and p.cos is not None for p in every):
            found.append(_products(recipe, 7))
    return found


def _rules(recipe: Recipe, plan: Waves, pairs: Sequence[Pair]) -> Step:
    keys = recipe.keys()
    simple = all(keys.get(k, v) == v for k, v in (("shift", "0"), ("scale", "1"), ("turns", "false")))
    if not simple or "base" not in keys or plan.width % 2:
        return frequency_step(plan, pairs)
    lines = [
        f"w_{p.index} = 1 / {keys['base']}^({2 * p.index}/{plan.width}) = {short(p.frequency)}, "
        f"one turn in {short(2 * math.pi / p.frequency)} positions"
        for p in pairs
    ]
    total = plan.width // 2
    if total > len(pairs):
        w = float(plan.frequencies[-1])
        lines.append(f".. to w_{total - 1} = {short(w)}, one turn in {short(2 * math.pi / w)} positions")
    return Step("Step 1: a frequency for each pair of columns, in radians per position", lines)


def _cells(recipe: Recipe, pairs: Sequence[Pair], at: Sequence[Fraction], values: NDArray[Any]) -> list[str]:
    size = recipe.keys().get("amplitude", "1")
    factor = "" if size == "1" else f"{size} "
    lines = []
    for pair in pairs[:2]:
        for name, column in (("sin", pair.sin), ("cos", pair.cos)):
            for k, p in enumerate(at if column is not None else ()):
                angle = short(float(p) * pair.frequency)
                product = f"{text_of(p)} x {short(pair.frequency)}"
                lines.append(
                    f"PE({text_of(p)}, {column}) = {factor}{name}({product}) = {factor}{name}({angle}) "
                    f"= {three(float(values[k, column]))}"
                )
    return lines


def row_grid(at: Sequence[Fraction], values: NDArray[Any]) -> Grid:
    """Return rows of a table by position, the first columns of wide ones."""
    shown = min(COLUMNS, values.shape[1])
    more = values.shape[1] > shown
    head = ["position", *map(str, range(shown)), *(["…"] if more else [])]
    return Grid(
        head, [[text_of(p), *_row(r[:shown]), *(["…"] if more else [])] for p, r in zip(at, values, strict=True)]
    )


def _row(values: NDArray[Any]) -> list[str | float]:
    if values.dtype.kind == "c":
        return [f"{three(v.real)}{'-' if v.imag < 0 else '+'}{three(abs(v.imag))}i" for v in values.tolist()]
    return list(values.tolist())


def _shift(recipe: Recipe, pairs: Sequence[Pair], at: Sequence[Fraction], number: int) -> Step:
    """Show M_k with PE(p + k) = M_k PE(p): the same at every position."""
    p, k = (at[0], at[1] - at[0]) if len(at) > 1 else (at[0], Fraction(1))
    tried = [p + j for j in range(TRIED)]
    before = table_at(recipe, tried).read("pe")
    after = table_at(recipe, [t + k for t in tried]).read("pe")
    items: list[str | Equation | Grid] = [
        "each pair is turned by k w_i radians, so one matrix takes every row to the row k further:",
        "M_k = [ cos(k w_i)  sin(k w_i); -sin(k w_i)  cos(k w_i) ] on (sin, cos)",
    ]
    worst = 0.0
    name, last = text_of(k), len(tried) // 2
    for i, pair in enumerate(pairs):
        c, s = math.cos(float(k) * pair.frequency), math.sin(float(k) * pair.frequency)
        columns = np.array([pair.sin, pair.cos], np.int64)
        matrix = np.array([[c, s], [-s, c]])
        worst = max(worst, float(np.abs(before[:, columns] @ matrix.T - after[:, columns]).max()))
        for row in (0, last) if i == 0 else (0,):
            terms: list[Matrix | str] = [
                Matrix(f"M_{name}, w_{pair.index}", matrix.tolist()),
                Matrix(f"PE({text_of(tried[row])})", before[row, columns][:, None].tolist()),
                "=",
                Matrix(f"PE({text_of(tried[row] + k)})", after[row, columns][:, None].tolist()),
            ]
            items.append(Equation(terms))
    where = f"{text_of(tried[0])} to {text_of(tried[-1])}"
    items.append(f"checked at positions {where}: the largest difference is {off_by(worst)}")
    return Step(f"Step {number}: the relative property, PE(p + k) = M_k PE(p), here with k = {name}", items)


def _differences(recipe: Recipe, number: int) -> Step:
    """Show that differences of rows are not alike."""
    zero, five, ten = table_at(recipe, [Fraction(p) for p in (0, 5, 10)]).read("pe")
    lines = [
        f"PE(5) - PE(0)  = {joined((five - zero)[:4])}",
        f"PE(10) - PE(5) = {joined((ten - five)[:4])}",
        "the same distance and yet another difference: it is the matrix that is the same, not the difference",
    ]
    return Step(f"Step {number}: what does not hold", lines)


def _products(recipe: Recipe, number: int) -> Step:
    """Show that the product of two rows depends on their distance."""
    at = [Fraction(p) for p in (0, 1, 10, 100)]
    rows, further = (table_at(recipe, [p + k for p in at]).read("pe") for k in (0, 3))
    products = np.einsum("ij,ij->i", rows, further)
    grid = Grid(["p", "PE(p) . PE(p + 3)"], [[text_of(p), float(v)] for p, v in zip(at, products, strict=True)], False)
    note = "sin a sin b + cos a cos b = cos(a - b): a sum of cos(3 w_i), whatever p is"
    return Step(f"Step {number}: the product of two rows depends on their distance", [grid, note])


def waves(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Work out any other table of sines and cosines: frequencies, coordinates, angles, rows."""
    plan = recipe.plan
    assert isinstance(plan, Waves)
    most = min(4, plan.rows or 4)
    at = few(positions, range(most))
    table = table_at(recipe, at, length)
    pairs = pairs_of(plan, max(1, PAIRS // max(1, len(plan.bands))))
    found = [frequency_step(plan, pairs)]
    if plan.axes and plan.prefix == 0:
        names = [f"axis {a}" for a in range(len(plan.axes))]
        grid = Grid(["position", *names], [[text_of(p), *c] for p, c in zip(at, coordinates(plan, at), strict=True)])
        found.append(Step(f"Step {len(found) + 1}: coordinates of each position", [grid]))
    if plan.prefix == 0 and not any(p < 0 for p in at):
        grid = angle_grid(plan, pairs, at)
        found.append(Step(f"Step {len(found) + 1}: angles, coordinate times frequency", [grid]))
    values = table.read("pe")
    found.append(Step(f"Step {len(found) + 1}: one row for each position", [*_filling(pairs), row_grid(at, values)]))
    return found


def _filling(pairs: Sequence[Pair]) -> list[str]:
    """Return which columns hold the sine and the cosine of a pair."""
    lines = []
    for pair in pairs[:3]:
        parts = [f"{n} in column {c}" for n, c in (("sin", pair.sin), ("cos", pair.cos)) if c is not None]
        if parts:
            where = f"axis {pair.axis}, " if any(p.axis for p in pairs) else ""
            lines.append(f"{where}pair {pair.index}: {', '.join(parts)}")
    return lines
