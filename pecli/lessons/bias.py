"""Worked examples of biases: slopes, one row, the matrix; buckets of distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Bias
from pecli.encodings.recipe import Recipe
from pecli.lessons.lesson import Grid, Item, Step, text_of
from pecli.numbers.points import Points
from pecli.numbers.positions import Positions
from pecli.tables.table import Table

LENGTH = 5
HEADS = 16  # slopes that fit a board
MOST = 8  # rows and columns of a matrix


def slopes(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Work out ALiBi: slopes, one row of head 1, its matrix, what the softmax makes of it."""
    at = _places(positions, length)
    table = Table.make(recipe, positions=Positions.listed(at), dtype="float64")
    plan = table.plan
    assert isinstance(plan, Bias)
    assert plan.slopes is not None
    exact = list(plan.slopes())
    bias = table.read("bias")
    query = len(at) // 2
    how = recipe.keys().get("bias", "symmetric")
    cells = [_cell(how, exact[0], at, query, key, float(bias[0, query, key])) for key in range(len(at))]
    return [
        Step("Step 1: a slope for each head", _slope_lines(exact)),
        Step(
            f"Step 2: one row, the query at position {text_of(at[query])}, head 1 (m = {exact_text(exact[0])})", cells
        ),
        Step("Step 3: the matrix of head 1, added to the logits q_i . k_j / sqrt(d)", [_matrix(at, bias[0])]),
        Step("Step 4: what it leaves of equal logits, the softmax of that row", [_weights(at, bias, query)]),
    ]


def _places(positions: Positions | None, length: int | None) -> list[Fraction]:
    """Return the positions of queries and keys, the same for both."""
    return list(positions) if positions is not None else [Fraction(p) for p in range(min(length or LENGTH, MOST))]


def _slope_lines(exact: Sequence[Fraction]) -> list[str]:
    lines = []
    for head, slope in enumerate(exact[:HEADS], 1):
        power = power_of_two(slope)
        lines.append(f"head {head}: m = {f'2^({power}) = ' if power is not None else ''}{float(slope)!r}")
    if len(exact) > HEADS:
        lines.append(f".. {len(exact)} heads in all; pecli inspect --json has every slope")
    return lines


def power_of_two(slope: Fraction) -> Fraction | None:
    """Return the exponent x with slope = 2^x, a fraction of small numbers; None if there is none."""
    if slope <= 0:
        return None
    exponent = math.log2(float(slope))
    simple = Fraction(exponent).limit_denominator(256)
    return simple if abs(float(simple) - exponent) < 1e-12 else None


def exact_text(value: Fraction | float) -> str:
    """Return a number in full digits, without needless zeros."""
    text = repr(float(value) + 0.0)
    return text.removesuffix(".0")


def _cell(how: str, slope: Fraction, at: Sequence[Fraction], query: int, key: int, value: float) -> str:
    m, i, j, last = exact_text(slope), text_of(at[query]), text_of(at[key]), text_of(at[-1])
    if value == -np.inf:
        return f"key {j}: after the query, -inf"
    if how == "key-position":
        return f"key {j}: {m} x {j} = {exact_text(value)}"
    if how == "last-key":
        return f"key {j}: {m} x ({j} - {last}) = {exact_text(value)}"
    size = text_of(abs(at[key] - at[query]))
    return f"key {j}: -{m} x |{j} - {i}| = -{m} x {size} = {exact_text(value)}"


def _matrix(at: Sequence[Fraction], values: NDArray[Any]) -> Grid:
    """Return a matrix with its queries and keys."""
    head = ["query \\ key", *map(text_of, at[:MOST])]
    rows = [[text_of(p), *map(_number, r[:MOST].tolist())] for p, r in zip(at, values, strict=False)]
    return Grid(head, rows)


def _number(value: float) -> str:
    """Return a value in full where that is short."""
    if isinstance(value, int):
        return str(value)
    return "-inf" if value == -math.inf else exact_text(value) if len(exact_text(value)) <= 9 else f"{value:.4g}"


def _weights(at: Sequence[Fraction], bias: NDArray[np.float64], query: int) -> Grid:
    rows: list[list[str | float]] = []
    for head in dict.fromkeys((0, len(bias) - 1)):
        size = np.exp(bias[head, query] - bias[head, query].max())
        rows.append([f"head {head + 1}", *(size / size.sum()).tolist()])
    return Grid(["key", *map(text_of, at)], rows)


def matrices(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Show the matrices of any other bias, and that they depend on the distance alone where they do."""
    fixed = None if recipe.open_parameters else getattr(recipe.plan, "rows", None)
    if fixed is not None and positions is None:
        table = Table.make(recipe, dtype="float64")
        at = [Fraction(i) for i in range(fixed)]
    else:
        at = _places(positions, length)
        table = Table.make(recipe, positions=Positions.listed(at), dtype="float64")
    window = getattr(table.plan, "window", None) is not None  # its distance has two axes
    found: list[Step] = []
    for array in table.arrays:
        if len(array.shape) == 3:
            values = table.read(array.name)
            for head in range(min(2, len(values))):
                title = f"Step {len(found) + 1}: {array.name} of head {head + 1}, added to the logits"
                found.append(
                    Step(title, [_matrix(at, values[head]), *([] if window else _distance_line(values[head], at))])
                )
        elif len(array.shape) == 2 and array.shape[0] == array.shape[1] == len(at):
            title = f"Step {len(found) + 1}: {array.name}, for each query and key"
            found.append(Step(title, [_matrix(at, table.read(array.name))]))
    return found


def _distance_line(values: NDArray[Any], at: Sequence[Fraction]) -> list[Item]:
    if len(at) < 3 or {b - a for a, b in pairwise(at)} != {at[1] - at[0]}:
        return []
    if np.array_equal(values[1:, 1:], values[:-1, :-1]):
        return ["equal along every diagonal: it depends on key - query alone"]
    return ["not equal along the diagonals: the same distance has other values elsewhere"]


def buckets(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Work out T5's buckets: which distances share one, some distances, a matrix of buckets, the bias."""
    values = recipe.values
    count, reach = int(str(values["buckets"])), int(str(values["max_distance"]))
    both = bool(values["bidirectional"])
    side = count // 2 if both else count
    exact = side // 2
    plan = recipe.plan
    assert isinstance(plan, Bias)
    assert plan.index is not None
    before = plan.index(Points(-np.arange(2 * reach + 1, dtype=np.int64))).tolist()
    sides = f"{side} for keys up to the query, {side} for keys after it" if both else "all for keys up to the query"
    rule = [
        f"{count} buckets: {sides}",
        f"distances 0 to {exact - 1} have a bucket each; from {exact} on they share, up to {reach}:",
        f"bucket = {exact} + floor({side - exact} x ln(d / {exact}) / ln({reach} / {exact})), at most {side - 1}",
    ]
    tried = sorted({1, exact - 1, exact, exact + 1, 2 * exact, reach // 2, reach - 1, reach} - {0})
    lines = [_bucket(d, exact, reach, side, before[d]) for d in tried if d > 0]
    after = plan.index(Points(np.arange(1, 4, dtype=np.int64))).tolist()
    if both:
        lines.append(f"keys 1, 2, 3 after the query: {side} more, buckets {', '.join(map(str, after))}")
    else:
        lines.append(f"every key after the query: bucket {after[0]}")
    at = _places(positions, length or MOST)
    table = Table.make(recipe, positions=Positions.listed(at), dtype="float64")
    found = [
        Step("Step 1: distances share buckets", rule),
        Step("Step 2: some distances d of keys before the query", lines),
        Step("Step 3: all distances before the query", [_ranges(before, reach)]),
        Step("Step 4: the buckets of queries and keys", [_matrix(at, table.read("index"))]),
    ]
    if plan.heads:
        found.append(_trained(table, at, count, plan.heads))
    return found


def _bucket(d: int, exact: int, reach: int, side: int, bucket: int) -> str:
    if d < exact:
        return f"d = {d}: below {exact}, bucket {bucket}"
    share = (side - exact) * math.log(d / exact) / math.log(reach / exact)
    most = f", at most {side - 1}" if exact + share >= side else ""
    return f"d = {d}: {exact} + floor({share:.3f}){most} -> bucket {bucket}"


def _ranges(before: Sequence[int], reach: int) -> Grid:
    """Return the distances that share each bucket."""
    rows: list[list[str | float]] = []
    for bucket in dict.fromkeys(before):
        members = [d for d, b in enumerate(before) if b == bucket]
        last = "" if bucket == before[-1] else str(members[-1])
        rows.append(
            [bucket, f"{members[0]} and more" if not last else f"{members[0]} to {last}" if len(members) > 1 else last]
        )
    if len(rows) > 2 * MOST:
        rows = [*rows[: 4 + MOST // 2], ["…", "…"], *rows[-MOST // 2 :]]
    return Grid(["bucket", "distance"], rows)


def _trained(table: Table, at: Sequence[Fraction], count: int, heads: int) -> Step:
    name = next(a.name for a in table.arrays if len(a.shape) == 3)
    first = table.read(name)[0].tolist()
    where = "weights from a file" if table.source.values.get("weights") else "drawn here, as before training"
    items: list[Item] = [
        "bias(h, i, j) = b(bucket(j - i), h)",
        f"{count} buckets x {heads} heads = {count * heads:,} trained numbers, {where}",
        Grid(["query \\ key", *map(text_of, at)], [[text_of(p), *r] for p, r in zip(at, first, strict=True)]),
    ]
    return Step("Step 5: the bias of head 1", items)
