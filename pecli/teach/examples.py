"""Worked examples: an encoding computed on a board, step by step, from its own exact values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.shared import lessons as shared
from pecli.encodings.shared.lessons import (
    COLUMNS,
    PAIRS,
    Exercise,
    Pair,
    coordinates,
    far_apart,
    frequency_step,
    pairs_of,
    places_step,
)
from pecli.errors import BadParameter, BadRecipe
from pecli.inspect.facts import formula_value
from pecli.numbers.positions import Positions
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import Family
from pecli.spec.hooks import Equation, Item, Matrix, SmallTable, Step, decimal_text, joined, off_by, short
from pecli.spec.plans import Bias, Conditional, Waves
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table


def wave_steps(exercise: Exercise) -> Iterator[Step]:
    """Work out any other table of sines and cosines: frequencies, coordinates, angles, rows."""
    plan = exercise.recipe.plan
    assert isinstance(plan, Waves)
    at = exercise.at(shared.far_apart(plan))
    pairs = shared.pairs_of(plan, max(2, PAIRS // max(1, len(plan.bands))))
    yield shared.frequency_step(plan, pairs, exercise.frequency)
    on_grid = plan.axes and plan.prefix <= min(at)
    if on_grid:
        yield shared.places_step(plan, at, exercise.coordinate)
    if on_grid or not plan.axes:
        what = "coordinate" if plan.axes else "position"
        yield Step(f"angles, {what} times frequency", [shared.angle_table(plan, pairs, at)])
    values = exercise.arrays(at)["pe"]
    if (on_grid or not plan.axes) and plan.magnitude == 1:
        last = len(at) - 1
        name, where = text_of(at[last]), shared.coordinates(plan, at)[last]
        yield Step(
            f"sines and cosines of the angles, at position {name}",
            shared.wave_lines(pairs, where, name, values[last].tolist()),
        )
    yield Step("one row for each position", [shared.by_position(at, values)])


def bias_steps(exercise: Exercise) -> Iterator[Step]:
    """Show the matrix of the first head of any other bias, whether it depends on the distance alone, and its index."""
    recipe = exercise.recipe
    if recipe.rows is not None and exercise.asked is None:
        at = [Fraction(i) for i in range(recipe.rows)]
        table = Table.make(recipe, dtype="float64")
    else:
        at = exercise.places()
        table = Table.make(recipe, positions=Positions.listed(at), dtype="float64")
    plan = table.plan
    assert isinstance(plan, Bias)
    for array in sorted(table.arrays, key=lambda array: len(array.shape)):  # an index before what it points to
        if len(array.shape) == 3:
            first = table.read(array.name)[0]
            title = f"{array.name} of head 0, added to the logits"
            yield Step(title, [shared.matrix_table(at, first), *_distance_line(plan, first, at)])
        elif len(array.shape) == 2 and array.shape[0] == array.shape[1] == len(at):
            yield Step(f"{array.name}, for each query and key", [shared.matrix_table(at, table.read(array.name))])
    yield from trained_step(table)


def _distance_line(plan: Bias, values: NDArray[Any], at: Sequence[Fraction]) -> list[Item]:
    if plan.window is not None or len(at) < 3 or {b - a for a, b in pairwise(at)} != {at[1] - at[0]}:
        return []
    if np.array_equal(values[1:, 1:], values[:-1, :-1]):
        if plan.by == "distance":
            return ["equal along every diagonal: it depends on key - query alone"]
        return ["equal along the diagonals of these rows; in longer tables it depends on the query as well"]
    return ["not equal along the diagonals: the same distance has other values elsewhere"]


def row_steps(exercise: Exercise) -> Iterator[Step]:
    """Show the first rows of every array: for encodings without an example of their own."""
    table = small_table(exercise)
    for array in table.arrays:
        if not array.axes or not array.bytes:
            continue
        shown = min(array.rows, COLUMNS)
        values = table.read_rows([array.name], 0, shown)[array.name].reshape(shown, -1)
        axis = array.axes[array.lead - 1]
        where = table.position(0, min(shown, table.part.count)) if axis == "position" else None
        names = [str(i) for i in (range(shown) if where is None or len(where) < shown else where.tolist())]
        across = array.axes[-1] if array.row_shape else "value"
        sides = " x ".join(map(str, array.shape))
        rows_word = f"a row for each {' and '.join(array.axes[: array.lead])}" if axis != "row" else "its rows"
        yield Step(f"{array.name} ({sides}), {rows_word}", [shared.rows_table(f"{axis} \\ {across}", names, values)])
    yield from trained_step(table)


def table_at(recipe: Recipe, at: Sequence[Fraction], length: int | None = None) -> Table:
    """Return the float64 table of these positions; values that depend on the table's length take `length`."""
    if recipe.open_parameters:
        last = max(int(max(at)), 0)
        rows = max(length or 0, last + 1)
        recipe = recipe.resolve(length=rows, last=rows - 1, whole=True)
    return Table.make(recipe, positions=Positions.listed(list(at)), dtype="float64")


def small_table(exercise: Exercise) -> Table:
    """Return a small table of any encoding: the positions asked for, all that it has, or a few rows."""
    recipe = exercise.recipe
    if exercise.asked is not None:
        return table_at(recipe, exercise.asked, exercise.length)
    if recipe.rows is not None:
        return Table.make(recipe, dtype="float64")
    if not recipe.open_parameters and isinstance(recipe.plan, Conditional):
        try:
            return Table.make(recipe, dtype="float64")  # as many rows as its content has
        except BadRecipe:
            return Table.make(recipe, length=exercise.length or shared.LENGTH, dtype="float64")
    return Table.make(recipe, length=min(exercise.length or shared.LENGTH, COLUMNS), dtype="float64")


def trained_step(table: Table) -> Iterator[Step]:
    """Yield how many values are trained: of the plan's own arrays, or else by the declared formula."""
    held = [fixed for fixed in table.plan.fixed if fixed.role in ("parameter", "vector")]
    formula = table.source.encoding.facts.parameters
    if held:
        phrase = ", ".join(f"{fixed.name} {' x '.join(map(str, fixed.shape))}" for fixed in held)
        count = sum(prod(fixed.shape) for fixed in held)
        line = f"{phrase}: {count:,} numbers"
    else:
        count = formula_value(formula, table.source.values) if formula != "0" else 0
        line = f"{formula} = {count:,} numbers"
    if count:
        yield Step("what is trained", [line])


QUERY = (1.0, 2.0, -1.0, 1.0)
KEY = (2.0, 1.0, 1.0, -1.0)
SHIFTS = (0, 1, 10, 100)


def rotary_steps(exercise: Exercise) -> Iterator[Step]:
    """Work out rotations of two positions, and that their product depends on the distance alone."""
    recipe = exercise.recipe
    at = exercise.at(_default(recipe))
    m, n = (at[0], at[1]) if len(at) > 1 else (at[0], at[0] + 2)
    table = table_at(recipe, [m, n], exercise.length)
    plan = table.plan
    if not isinstance(plan, Waves) or plan.form != "real" or plan.cross is not None or not plan.bands:
        yield from row_steps(exercise)
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
    yield from _other_arrays(table, names)


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
    """Whether the frequencies are scaled."""
    scaling = recipe.encoding.parameters.get("scaling")
    return scaling is not None and recipe.values["scaling"] != scaling.default


def _scaled(keys: Mapping[str, str], plan: Waves, pairs: Sequence[Pair], width: int | None) -> Step:
    """Return scaled and unscaled frequencies side by side."""
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
    c, s = (decimal_text(float(turning[0][row, 0])) for row in (0, 1))
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
    """Multiply R_m transposed and R_n, and compare the product with the rotation by the difference."""
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


def _other_arrays(table: Table, names: Sequence[str]) -> Iterator[Step]:
    """Yield the arrays of the table other than cos and sin."""
    for array in table.arrays:
        if array.name in ("cos", "sin") or array.rows != 2 or len(array.row_shape) != 1:
            continue
        values = table.read(array.name)[:, :PAIRS].tolist()
        head = ["position", *(f"pair {i}" for i in range(len(values[0])))]
        note = [f"the query is multiplied by {array.name}, the key divided by it"] if array.name == "scale" else []
        grid = SmallTable(head, [[name, *row] for name, row in zip(names, values, strict=True)], None)
        yield Step(f"{array.name}, a number for each pair", [grid, *note])


MAX_POSITIONS = 8  # positions that fit a board


@dataclass(frozen=True)
class Example:
    """A worked example: what it is of, its formula, its steps with their numbers."""

    title: str
    recipe: str
    formula: Sequence[str]
    steps: Sequence[Step]

    @classmethod
    def of(cls, recipe: Recipe, done: str, steps: Iterable[Step]) -> Example:
        """Return the example of a recipe, its steps numbered from 1."""
        numbered = [Step(f"Step {number}: {step.title}", step.items) for number, step in enumerate(steps, 1)]
        return cls(f"{recipe.encoding.title}, {done}", recipe.short, recipe.encoding.formula, numbered)

    def as_dict(self) -> dict[str, object]:
        """Return the JSON object of a worked example."""
        steps = [step.as_dict() for step in self.steps]
        return {"title": self.title, "recipe": self.recipe, "formula": list(self.formula), "steps": steps}


def work_through(recipe: Recipe, positions: Positions | None = None, length: int | None = None) -> Example:
    """Return a worked example of a recipe.

    Parameters
    ----------
    recipe : Recipe
        Its parameters; small ones fit a board best, and of wide tables the first pairs are shown.
    positions : Positions, optional
        Which to work out, at most 8; by default a few small ones.
    length : int, optional
        Rows of the table, for encodings that depend on it.

    Raises
    ------
    BadParameter
        For more positions than fit, or one that has no value.
    """
    if positions is not None and positions.count > MAX_POSITIONS:
        rule = f"are too many for a worked example: give at most {MAX_POSITIONS}, such as positions=1+3"
        raise BadParameter("positions", f"({positions.count} positions)", rule)
    encoding = recipe.encoding
    family = of_family(recipe)
    exercise = Exercise(recipe, None if positions is None else tuple(positions), length, compute, family)
    lesson = encoding.hook("lesson") if encoding.declares("lesson") else family
    return Example.of(recipe, "worked through", lesson(exercise))


def of_family(recipe: Recipe) -> Callable[[Exercise], Iterable[Step]]:
    """Return the lesson of a recipe's family, for encodings that have none of their own."""
    family = recipe.encoding.family
    if family is Family.ROTARY:
        return rotary_steps
    if family is Family.BIAS:
        return bias_steps
    plan = None if recipe.open_parameters else recipe.plan
    return wave_steps if isinstance(plan, Waves) and plan.bands else row_steps


def compute(recipe: Recipe, at: Sequence[Fraction] | None, length: int | None = None) -> dict[str, NDArray[Any]]:
    """Return the float64 arrays of these positions; of a small whole table without any."""
    table = small_table(Exercise(recipe, None, length, compute)) if at is None else table_at(recipe, at, length)
    return {array.name: table.read(array.name) for array in table.arrays}
