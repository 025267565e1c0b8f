"""The sinusoid on the board: frequencies, angles, each value, the rows, what a shift does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.shared.lessons import PAIRS, Exercise, Pair, angle_table, by_position, frequency_step, pairs_of
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.board import Equation, Matrix, SmallTable, Step, joined, off_by, short, three
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe

TRIED = 64  # positions at which a property is checked


def steps(exercise: Exercise) -> list[Step]:
    """Work out a sinusoid: frequencies, angles, each value, the rows, what a shift does."""
    recipe, plan = exercise.recipe, exercise.recipe.plan
    assert isinstance(plan, Waves)
    at = exercise.at((0, 1, 2))
    values = exercise.arrays(at)["pe"]
    every = pairs_of(plan)
    pairs = every[:PAIRS]
    found = [
        _rules(recipe, plan, pairs),
        Step("angles, position times frequency", [angle_table(plan, pairs, at)]),
        Step("sines and cosines of the angles", _cells(recipe, pairs, at, values)),
        Step("one row for each position", [by_position(at, values)]),
    ]
    whole = [p for p in pairs if p.sin is not None and p.cos is not None]
    if whole and not plan.blank:
        found += [_shift(exercise, whole, at), *_differences(exercise)]
        if all(p.sin is not None and p.cos is not None for p in every):
            found.append(_products(exercise))
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
    return Step("a frequency for each pair of columns, in radians per position", lines)


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


def _shift(exercise: Exercise, pairs: Sequence[Pair], at: Sequence[Fraction]) -> Step:
    """Show M_k with PE(p + k) = M_k PE(p): the same at every position."""
    p, k = (at[0], at[1] - at[0]) if len(at) > 1 else (at[0], Fraction(1))
    tried = [p + j for j in range(TRIED)]
    before = exercise.arrays(tried)["pe"]
    after = exercise.arrays([t + k for t in tried])["pe"]
    items: list[str | Equation | SmallTable] = [
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
    return Step(f"the relative property, PE(p + k) = M_k PE(p), here with k = {name}", items)


def _differences(exercise: Exercise) -> Iterator[Step]:
    """Show that differences of rows are not alike, where they are not: whole turns make no difference."""
    zero, five, ten = exercise.arrays([Fraction(p) for p in (0, 5, 10)])["pe"]
    if np.allclose(five - zero, ten - five):
        return
    lines = [
        f"PE(5) - PE(0)  = {joined((five - zero)[:4])}",
        f"PE(10) - PE(5) = {joined((ten - five)[:4])}",
        "the same distance and yet another difference: it is the matrix that is the same, not the difference",
    ]
    yield Step("what does not hold", lines)


def _products(exercise: Exercise) -> Step:
    """Show that the product of two rows depends on their distance."""
    at = [Fraction(p) for p in (0, 1, 10, 100)]
    rows, further = (exercise.arrays([p + k for p in at])["pe"] for k in (0, 3))
    products = np.einsum("ij,ij->i", rows, further)
    grid = SmallTable(
        ["p", "PE(p) . PE(p + 3)"], [[text_of(p), float(v)] for p, v in zip(at, products, strict=True)], None
    )
    size = float(exercise.recipe.keys().get("amplitude", "1")) ** 2
    times = "" if size == 1 else f"{short(size)} times "
    note = f"sin a sin b + cos a cos b = cos(a - b): {times}a sum of cos(3 w_i), whatever p is"
    return Step("the product of two rows depends on their distance", [grid, note])
