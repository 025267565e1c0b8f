"""Worked examples: an encoding computed on a board, step by step, from its own exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.shared import lessons as shared
from pecli.encodings.shared.lessons import COLUMNS, PAIRS, Exercise, Pair
from pecli.errors import BadParameter, BadRecipe
from pecli.inspect.facts import formula_value
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.positions import Positions
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import Family
from pecli.spec.hooks import Effect, Equation, Item, Matrix, SmallTable, Step, decimal_text, joined, off_by, short
from pecli.spec.plans import Bias, Conditional, Fixed, Plan, Waves
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table


def wave_steps(exercise: Exercise) -> Iterator[Step]:
    """Work out a table of sines and cosines: frequencies, coordinates, angles, values, rows."""
    plan = exercise.plan
    at = exercise.at(shared.far_apart(plan) if plan.axes else (0, 1, 2))
    pairs = shared.pairs_of(plan, max(2, PAIRS // max(1, len(plan.bands))))
    yield shared.frequency_step(plan, pairs, exercise.recipe)
    values = exercise.arrays(at)["pe"]
    on_grid = plan.axes and plan.prefix <= min(at)
    if on_grid:
        yield shared.places_step(plan, at)
    if on_grid or not plan.axes:
        what = "coordinate" if plan.axes else "position"
        yield Step(f"angles, {what} times frequency", [shared.angle_table(plan, pairs, at)])
        shown = [(len(at) - 1, pairs)] if plan.axes else [(row, pairs[:2]) for row in range(len(at))]
        where = shared.coordinates(plan, at)
        lines = [
            line for row, some in shown
            for line in shared.wave_lines(some, where[row], text_of(at[row]), values[row].tolist())
        ]  # fmt: skip
        yield Step("sines and cosines of the angles", lines)
    yield Step("one row for each position", [shared.by_position(at, values)])


def bias_steps(exercise: Exercise) -> Iterator[Step]:
    """Work out a bias: its numbers for each head, a row and the matrix of the first head, and its index."""
    recipe, rows = exercise.recipe, exercise.recipe.rows
    at = exercise.places() if rows is None or exercise.asked is not None else _of_window(recipe.plan, rows)
    whole = len(at) == rows and exercise.asked is None
    table = Table.make(recipe, positions=None if whole else Positions.listed(at), dtype="float64")
    plan = table.plan
    assert isinstance(plan, Bias)
    if plan.fixed and all(fixed.axes == ("head",) for fixed in plan.fixed):
        names, numbers = [fixed.name for fixed in plan.fixed], [_numbers(fixed) for fixed in plan.fixed]
        heads: list[list[str | float]] = [[str(head), *each] for head, each in enumerate(zip(*numbers, strict=True))]
        yield Step("the numbers of each head", [SmallTable(["head", *names], heads)])
    for array in sorted(table.arrays, key=lambda array: len(array.shape)):  # an index before what it points to
        if array.shape[-2:] != (len(at), len(at)):
            continue
        values = table.read_rows([array.name], 0, len(at))[array.name]  # of the first head
        if len(array.shape) == 2:
            if array.name == "x" and exercise.cell is not None:
                yield Step("x of one query", shared.one_row(at, values, exercise.cell))
            yield Step(f"{array.name}, for each query and key", [shared.matrix_table(at, values)])
        else:
            if exercise.cell is not None and plan.shared is None:
                title = f"one row of head 0, the query at position {text_of(at[len(at) // 2])}"
                yield Step(title, shared.one_row(at, values, exercise.cell))
            matrix = [shared.matrix_table(at, values), *_distance_line(plan, values, at)]
            yield Step(f"{array.name} of head 0, for each query and key", matrix)
    yield from trained_step(table)


def _of_window(plan: Plan, rows: int) -> list[Fraction]:
    """Return the tokens of a small window, or of a large one some of its first rows, and the last."""
    if rows <= MAX_POSITIONS:
        return [Fraction(i) for i in range(rows)]
    width = plan.window.width if isinstance(plan, Bias) and plan.window is not None else 1
    return [Fraction(i) for i in sorted({0, 1, 2, width, width + 1, 2 * width, rows - 1}) if i < rows]


def _numbers(fixed: Fixed) -> list[float]:
    """Return the values of an array with one number for each head."""
    values = fixed.values(0, fixed.shape[0])
    return [float(v) for v in (values.hi if isinstance(values, DoubleDouble) else values)]


def relative_steps(exercise: Exercise) -> Iterator[Step]:
    """Work out relative vectors: which of them a query and a key take, and the terms that they add to the score."""
    recipe, plan = exercise.recipe, exercise.plan
    whole = recipe.rows is not None or plan.waves is not None  # whose rows are those of a whole table
    at = exercise.places(exercise.length or 6)
    arrays = exercise.whole() if whole else exercise.arrays(at)
    effect: Effect = recipe.encoding.hook("apply")(recipe)
    for name in dict.fromkeys(term.index for term in effect.terms if term.against != "key"):
        places = [Fraction(i) for i in range(max(arrays[name].shape))] if whole else at
        yield Step(f"{name}, the row of each query and key", [shared.matrix_table(places, arrays[name])])
    if plan.waves is not None:
        yield shared.frequency_step(plan.waves, shared.pairs_of(plan.waves, PAIRS), recipe)
    for name in (name for name in arrays if arrays[name].ndim == 2 and not name.startswith("index")):
        shown = arrays[name][:MAX_POSITIONS]
        yield Step(f"the rows of {name}", [shared.rows_table("row", [str(row) for row in range(len(shown))], shown)])
    if all(term.against == "key" or term.against in arrays for term in effect.terms):
        yield _relative_score(effect, arrays)
    yield from trained_step(small_table(exercise))


def _relative_score(effect: Effect, arrays: Mapping[str, NDArray[Any]]) -> Step:
    """Return the terms of the score of the second query and the first key in the first head, written out."""
    query, key = np.array(1), np.array(0)
    given = {"query": shared.QUERY, "key": shared.KEY}
    given |= {term.content: arrays[term.content][0].tolist() for term in effect.terms if term.content in arrays}
    against = (arrays[term.against].shape[1] for term in effect.terms if term.against in arrays)
    width = min(len(shared.QUERY), *against, *map(len, given.values()))
    lines: list[Item] = [f"q = {joined(shared.QUERY[:width])}, k = {joined(shared.KEY[:width])}"]
    scaled, others, total = list[str](), list[str](), 0.0
    for term in effect.terms:
        name, right, where = "k", shared.KEY, ""
        if term.against != "key":
            i, j = (at if side is None else side(at) for at, side in ((query, term.queries), (key, term.keys)))
            index = arrays[term.index]
            i, j = (j, i) if term.opposite else (i, j)
            place = index[min(int(i), len(index) - 1), int(j)]
            row = int(place if term.rows is None else term.rows(place))
            name, right, where = "r", arrays[term.against][row].tolist(), f", r = row {row} of {term.against}"
        text, value = shared.product(given[term.content][:width], right[:width])
        total += value * (effect.factor_of(width) if term.scaled else 1)
        (scaled if term.scaled else others).append(short(value))
        lines.append(f"{term.content[0]} . {name} = {text}{where}")
    below = f" / sqrt({effect.divisor * width})" if effect.scale is None else ""
    projected = ["r is projected first, which is not shown"] if any(term.projection for term in effect.terms) else []
    score = " + ".join([f"({' + '.join(scaled)}){below}", *others])
    return Step("the score of query 1 and key 0", [*lines, effect.note, *projected, f"score: {score} = {short(total)}"])


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
        recipe = recipe.of_length(max(length or 0, int(max(at)) + 1, 1))
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
        count = sum(math.prod(fixed.shape) for fixed in held)
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
    pairs = _spread(plan)
    cos, sin = (table.read(name) for name in ("cos", "sin"))
    names = text_of(m), text_of(n)
    yield shared.frequency_step(plan, pairs, recipe)
    if plan.axes:
        yield shared.places_step(plan, (m, n))
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
    if plan.magnitude:  # a config may give an attention factor of 0
        yield _difference(table.source, plan, (m, n), turning, places)
    yield from _other_arrays(table, names)
    if not plan.axes:
        yield _scores(table.source, plan, (m, n))


def _default(recipe: Recipe) -> tuple[int, int]:
    """Return two positions; of a grid, such that every coordinate differs where it can."""
    plan = recipe.plan if recipe.rows is not None else None
    if not isinstance(plan, Waves) or not plan.axes:
        return (1, 3)
    one, other = shared.far_apart(plan)[-2:] if (recipe.rows or 0) > 1 else (0, 0)
    return one, other


def _spread(plan: Waves) -> list[Pair]:
    """Return four pairs from the first to the last, or of several axes at least two of each."""
    found: list[Pair] = []
    every = [pair for pair in shared.pairs_of(plan) if pair.cos is not None]
    axes = dict.fromkeys(pair.axis for pair in every)
    count = max(2, PAIRS // len(axes))
    for axis in axes:
        own = [pair for pair in every if pair.axis == axis]
        found += [own[i] for i in sorted({round(k * (len(own) - 1) / (count - 1)) for k in range(count)})]
    return found


def _angles(plan: Waves, pairs: Sequence[Pair], at: Sequence[Fraction]) -> Step:
    lines = []
    for p, where in zip(at, shared.coordinates(plan, at), strict=True):
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
    halves = f"rotate_half pairs q_i with q_i+{width}, and its cos and sin are two equal halves"
    lines: list[Item] = [
        f"q'_0 = cos q_0 - sin q_1 = {c} q_0 - {s} q_1".replace("- -", "+ "),
        f"q'_1 = sin q_0 + cos q_1 = {s} q_0 + {c} q_1".replace("+ -", "- "),
        "and so on for each pair; the other columns of the query are unchanged, and so are the values",
        f"never mix the two conventions: the paper pairs q_2i with q_2i+1; {halves}",
    ]
    return Step(f"rotate a query at position {name}; keys are rotated in the same way", lines)


def _difference(
    recipe: Recipe, plan: Waves, at: Sequence[Fraction], turning: Sequence[Sequence[NDArray[np.float64]]],
    places: Sequence[int | None],
) -> Step:  # fmt: skip
    """Multiply R_m transposed and R_n, and compare the product with the rotation by the difference."""
    (m, n), size = at, float(plan.magnitude)
    square = size**2
    if plan.axes:  # a difference of rows of a grid is no row of it: its coordinates may be negative
        angles = [_angle(b) - _angle(a) for a, b in zip(*turning, strict=True)]
        target, name = _turns(np.cos(angles), np.sin(angles), range(len(angles))), "rotation by the difference"
    else:
        row = table_at(recipe, [n - m])
        target, name = _turns(row.read("cos")[0] / size, row.read("sin")[0] / size, places), f"R_{text_of(n - m)}"
    items: list[Item] = []
    worst = 0.0
    for a, b, right in zip(*turning, target, strict=True):
        worst = max(worst, float(np.abs(a.T @ b / square - right).max()))
        over = f" / {short(square)}" if square != 1 else ""
        terms: list[Matrix | str] = [
            Matrix(f"R_{text_of(m)}^T", a.T.tolist()), Matrix(f"R_{text_of(n)}", b.tolist()), f"{over} =".strip(),
            Matrix(name, right.tolist()),
        ]  # fmt: skip
        items.append(Equation(terms))
    items.append(f"the largest difference between the two sides is {off_by(worst)}")
    what = "the rotation by the difference of coordinates" if plan.axes else f"R_(n-m) = R_{text_of(n - m)}"
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
    other = "; the score at another distance differs" if apart > 1e-9 * max(map(abs, same)) else ""
    items: list[Item] = [
        f"q = {joined(QUERY[: 2 * count])}, k = {joined(KEY[: 2 * count])}: score = "
        + ("(scale_m R_m q) . (R_n k / scale_n)" if fading else "(R_m q) . (R_n k)"),
        SmallTable(["m", "n", "n - m", "score"], rows, None),
        f"the first {len(SHIFTS)} scores differ by at most {off_by(max(same) - min(same))}{other}",
    ]
    return Step("the score depends on n - m alone", items)


def _other_arrays(table: Table, names: Sequence[str]) -> Iterator[Step]:
    """Yield the arrays of the table other than cos and sin, as far as they fit."""
    for array in table.arrays:
        if array.name in ("cos", "sin") or len(array.shape) > 2:
            continue
        values = table.read_rows([array.name], 0, min(2, array.shape[0]) * math.prod(array.shape[1 : array.lead]))
        by_position = array.axes[0] == "position"
        rows = names if by_position else [str(number) for number in range(min(2, array.shape[0]))]
        shown = values[array.name].reshape(len(rows), -1)
        how = f"a number for each {'pair' if by_position else array.axes[1]}"
        yield Step(f"{array.name}, {how}", [shared.rows_table(array.axes[0], rows, shown)])


MAX_POSITIONS = 8  # positions that fit a board
MAX_BYTES = 1 << 28  # of the values of an example, which shows some of them


class Example(NamedTuple):
    """A worked example: title, recipe, formula, and steps with their numbers."""

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
    lessons = {Family.ROTARY: rotary_steps, Family.BIAS: bias_steps, Family.RELATIVE: relative_steps}
    plan = None if recipe.open_parameters else recipe.plan
    usual = wave_steps if isinstance(plan, Waves) and plan.bands else row_steps
    return lessons.get(recipe.encoding.family, usual)


def compute(recipe: Recipe, at: Sequence[Fraction] | None, length: int | None = None) -> dict[str, NDArray[Any]]:
    """Return the float64 arrays of these positions; of a small whole table without any."""
    table = small_table(Exercise(recipe, None, length, compute)) if at is None else table_at(recipe, at, length)
    if (size := sum(array.bytes for array in table.arrays)) > MAX_BYTES:
        raise BadRecipe(f"{recipe.short} has {size >> 20:,} MiB of values, too many to work through: take fewer")
    return {array.name: table.read(array.name) for array in table.arrays}
