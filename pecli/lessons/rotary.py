"""Worked examples of rotations: angles, matrices, and why a score depends on the distance alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.board import Equation, Item, Matrix, SmallTable, Step, joined, off_by, short, three
from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.lessons import Exercise, Pair
from pecli.encodings.shared.wave_lessons import (
    PAIRS,
    coordinates,
    far_apart,
    frequency_step,
    pairs_of,
    places_step,
)
from pecli.lessons.families import rows, table_at
from pecli.numbers.positions import fraction_text as text_of
from pecli.tables.table import Table

QUERY = (1.0, 2.0, -1.0, 1.0)
KEY = (2.0, 1.0, 1.0, -1.0)
SHIFTS = (0, 1, 10, 100)


def steps(exercise: Exercise) -> Iterator[Step]:
    """Work out rotations of two positions, and that their product depends on the distance alone."""
    recipe = exercise.recipe
    at = exercise.at(_default(recipe))
    m, n = (at[0], at[1]) if len(at) > 1 else (at[0], at[0] + 2)
    table = table_at(recipe, [m, n], exercise.length)
    plan = table.plan
    if not isinstance(plan, Waves) or plan.form != "real" or plan.cross is not None or not plan.bands:
        yield from rows(exercise)
        return
    scaled = _is_scaled(recipe)
    pairs = _spread(plan) if scaled else _shown(plan)
    cos, sin = (table.read(name) for name in ("cos", "sin"))
    names = text_of(m), text_of(n)
    yield _frequencies(exercise, plan, pairs)
    if plan.axes and exercise.coordinate is not None:
        yield places_step(plan, (m, n), exercise.coordinate)
    yield _angles(plan, pairs, (m, n))
    size = float(plan.magnitude)
    if size != 1:
        note = f"the scaling multiplies every cos and sin by {short(size)}: R = {short(size)} times a rotation"
        yield Step("a magnitude", [note])
    places = [p.cos for p in pairs]
    turning = [_turns(cos[row], sin[row], places) for row in (0, 1)]
    matrices: list[Item] = [
        Equation([Matrix(f"R_{names[k]}, pair {place}", turning[k][i].tolist()) for k in (0, 1)])
        for i, place in enumerate(places)
    ]
    yield Step("a rotation for each pair, [ cos -sin; sin cos ]", matrices)
    yield _apply(names[0], turning[0], plan.width)
    yield _difference(table.source, plan, (m, n), turning, places)
    if not plan.axes:
        yield _scores(table.source, plan, (m, n))
    yield from _beside(table, names)


def _default(recipe: Recipe) -> tuple[int, int]:
    """Return two positions; of a grid, such that every coordinate differs where it can."""
    plan = recipe.plan if recipe.rows is not None else None
    if not isinstance(plan, Waves) or not plan.axes:
        return (1, 3)
    one, other = far_apart(plan)[-2:] if (recipe.rows or 0) > 1 else (0, 0)
    return one, other


def _shown(plan: Waves) -> list[Pair]:
    """Return the pairs to work out: the first four, or, of several axes, the first two of each at least."""
    axes = max(1, len({band.axis for band in plan.bands}))
    found: list[Pair] = []
    for pair in pairs_of(plan):
        if pair.cos is not None and sum(p.axis == pair.axis for p in found) < max(2, PAIRS // axes):
            found.append(pair)
    return found


def _spread(plan: Waves) -> list[Pair]:
    """Return pairs from the fastest to the slowest: a scaling treats them differently."""
    every = [pair for pair in pairs_of(plan) if pair.cos is not None]
    return [every[i] for i in sorted({round(k * (len(every) - 1) / (PAIRS - 1)) for k in range(PAIRS)})]


def _frequencies(exercise: Exercise, plan: Waves, pairs: Sequence[Pair]) -> Step:
    recipe = exercise.recipe
    keys = recipe.keys()
    one = "base" in keys and "scaling" in recipe.encoding.parameters and len(plan.bands) == 1
    if one and _is_scaled(recipe):
        return _scaled(keys, plan, pairs, exercise.width)
    if not one:
        return frequency_step(plan, pairs, exercise.frequency)
    count = len(plan.frequencies)
    width = exercise.width or 2 * count
    lines = [f"w_{p.index} = {keys['base']}^(-{2 * p.index}/{width}) = {short(p.frequency)}" for p in pairs]
    if count > len(pairs):
        last = short(float(plan.frequencies[-1]))
        lines.append(f".. to w_{count - 1} = {last}; the first {len(pairs)} are worked out here")
    return Step("a frequency for each pair, in radians per position", lines)


def _is_scaled(recipe: Recipe) -> bool:
    """Whether the frequencies are those of a scaling."""
    scaling = recipe.encoding.parameters.get("scaling")
    return scaling is not None and recipe.values["scaling"] != scaling.default


def _scaled(keys: Mapping[str, str], plan: Waves, pairs: Sequence[Pair], width: int | None) -> Step:
    """Return frequencies beside those without the scaling."""
    base, count = float(keys["base"]), len(plan.frequencies)
    width = width or 2 * count
    rows_of: list[list[str | float]] = []
    for p in pairs:
        plain = base ** (-2 * p.index / width)
        turn = 2 * np.pi / p.frequency if p.frequency else "never"
        rows_of.append([p.index, plain, p.frequency, p.frequency / plain, turn])
    heads = ["pair i", f"{keys['base']}^(-2i/{width})", "w_i, scaled", "ratio", "one turn in"]
    falling = all(a >= b for a, b in pairwise(plan.frequencies))
    more = f"{len(pairs)} of {count} pairs are shown" + (", from the fastest to the slowest" if falling else "")
    title = f"a frequency for each pair, in radians per position, scaled by {keys['scaling']}"
    return Step(title, [SmallTable(heads, rows_of, None), more])


def _angles(plan: Waves, pairs: Sequence[Pair], at: Sequence[Fraction]) -> Step:
    lines = []
    for p, where in zip(at, coordinates(plan, at), strict=True):
        if plan.axes:
            lines.append(f"position {text_of(p)} has the coordinates {', '.join(map(short, where))}")
        for pair in pairs:
            place, w = where[pair.axis], pair.frequency
            product = f"{short(place)} x {short(w)} = {short(place * w)}"
            lines.append(f"position {text_of(p)}, pair {pair.cos}: {product}")
    return Step("angles, position times frequency" if not plan.axes else "angles", lines)


def _turns(cos: NDArray[Any], sin: NDArray[Any], places: Sequence[int | None]) -> list[NDArray[np.float64]]:
    return [np.array([[cos[i], -sin[i]], [sin[i], cos[i]]], np.float64) for i in places]


def _apply(name: str, turning: Sequence[NDArray[np.float64]], width: int) -> Step:
    c, s = (three(float(turning[0][row, 0])) for row in (0, 1))
    lines: list[Item] = [
        f"q'_0 = cos q_0 - sin q_1 = {c} q_0 - {s} q_1".replace("- -", "+ "),
        f"q'_1 = sin q_0 + cos q_1 = {s} q_0 + {c} q_1".replace("+ -", "- "),
        "and so on for each pair; nothing else of the query, and nothing of the values, is turned",
        "which two numbers are a pair is a convention: the paper takes q_2i and q_2i+1,",
        f"rotate_half takes q_i and q_i+{width}, its cos and sin are two equal halves: not to be mixed",
    ]
    return Step(f"turn a query at position {name}; a key in the same way", lines)


def _difference(
    recipe: Recipe, plan: Waves, at: Sequence[Fraction], turning: Sequence[Sequence[NDArray[np.float64]]],
    places: Sequence[int | None],
) -> Step:  # fmt: skip
    """Multiply R_m transposed and R_n, and set the rotation by the difference beside it."""
    m, n = at
    square = float(plan.magnitude) ** 2
    if plan.axes:  # a difference of rows of a grid is no row of it: its coordinates may be negative
        angles = [_angle(turning[1][i]) - _angle(turning[0][i]) for i in range(len(places))]
        cos, sin = np.cos(angles), np.sin(angles)
        target = [np.array([[c, -s], [s, c]]) for c, s in zip(cos, sin, strict=True)]
        name = "turn by the difference"
    else:
        row = table_at(recipe, [n - m])
        target = _turns(row.read("cos")[0], row.read("sin")[0], places)
        target = [t / float(plan.magnitude) for t in target]
        name = f"R_{text_of(n - m)}"
    items: list[Item] = []
    worst = 0.0
    for i, right in enumerate(target):
        a, b = turning[0][i], turning[1][i]
        worst = max(worst, float(np.abs(a.T @ b / square - right).max()))
        over = f" / {short(square)}" if square != 1 else ""
        terms: list[Matrix | str] = [
            Matrix(f"R_{text_of(m)}^T", a.T.tolist()), Matrix(f"R_{text_of(n)}", b.tolist()), f"{over} =".strip(),
            Matrix(name, right.tolist()),
        ]  # fmt: skip
        items.append(Equation(terms))
    items.append(f"the largest difference between the two sides is {off_by(worst)}")
    what = "the turn by the difference of coordinates" if plan.axes else f"R_(n-m) = R_{text_of(n - m)}"
    return Step(f"R_m^T R_n is {what}", items)


def _angle(matrix: NDArray[np.float64]) -> float:
    return float(np.arctan2(matrix[1, 0], matrix[0, 0]))


def _scores(recipe: Recipe, plan: Waves, at: Sequence[Fraction]) -> Step:
    """Compute scores of one query and key at several positions of the same distance, and one of another."""
    m, n = at
    count = min(plan.width, 2)
    q, k = (np.array(v[: 2 * count]).reshape(-1, 2) @ np.array([1, 1j]) for v in (QUERY, KEY))
    pairs = [(m + s, n + s) for s in SHIFTS] + [(m, n + 1)]
    table = table_at(recipe, [p for pair in pairs for p in pair])
    turning = (table.read("cos") + 1j * table.read("sin"))[:, :count]
    fading = any(array.name == "scale" for array in table.arrays)
    scale = table.read("scale")[:, :count] if fading else np.ones((len(turning), 1))
    rows: list[list[str | float]] = []
    for i, (a, b) in enumerate(pairs):
        query, key = turning[2 * i] * scale[2 * i] * q, turning[2 * i + 1] / scale[2 * i + 1] * k
        score = (query.conj() * key).real.sum()
        rows.append([text_of(a), text_of(b), text_of(b - a), float(score)])
    same = [float(r[3]) for r in rows[: len(SHIFTS)]]
    apart = min(abs(float(rows[-1][3]) - score) for score in same)
    other = ", another distance differs" if apart > 1e-9 * max(map(abs, same)) else ""
    items: list[Item] = [
        f"q = {joined(QUERY[: 2 * count])}, k = {joined(KEY[: 2 * count])}: score = "
        + ("(scale_m R_m q) . (R_n k / scale_n)" if fading else "(R_m q) . (R_n k)"),
        SmallTable(["m", "n", "n - m", "score"], rows, None),
        f"the first {len(SHIFTS)} scores differ by {off_by(max(same) - min(same))} at most{other}",
    ]
    return Step("the score depends on n - m alone", items)


def _beside(table: Table, names: Sequence[str]) -> Iterator[Step]:
    """Yield what the table holds beside cos and sin."""
    for array in table.arrays:
        if array.name in ("cos", "sin") or array.rows != 2 or len(array.row_shape) != 1:
            continue
        values = table.read(array.name)[:, :PAIRS].tolist()
        head = ["position", *(f"pair {i}" for i in range(len(values[0])))]
        note = [f"the query is multiplied by {array.name}, the key divided by it"] if array.name == "scale" else []
        grid = SmallTable(head, [[name, *row] for name, row in zip(names, values, strict=True)], None)
        yield Step(f"{array.name}, a number for each pair", [grid, *note])
