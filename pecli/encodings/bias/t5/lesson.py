"""T5's buckets on the board: which distances share one, some distances, a matrix of buckets, the bias."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.shared.lessons import MAX_ROWS, Exercise, matrix_table
from pecli.numbers.double_double import Points
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.board import Item, SmallTable, Step, three
from pecli.spec.plans import Bias
from pecli.spec.recipe import Recipe


def steps(exercise: Exercise) -> list[Step]:
    """Work out T5's buckets: which distances share one, some distances, a matrix of buckets, the bias."""
    recipe = exercise.recipe
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
    at = exercise.places(exercise.length or MAX_ROWS)
    arrays = exercise.arrays(at)
    found = [
        Step("distances share buckets", rule),
        Step("some distances d of keys before the query", lines),
        Step("all distances before the query", [_ranges(before, reach)]),
        Step("the buckets of queries and keys", [matrix_table(at, arrays["index"])]),
    ]
    if plan.heads:
        found.append(_trained(recipe, arrays["bias"], at, count))
    return found


def _bucket(d: int, exact: int, reach: int, side: int, bucket: int) -> str:
    if d < exact:
        return f"d = {d}: below {exact}, bucket {bucket}"
    share = (side - exact) * math.log(d / exact) / math.log(reach / exact)
    most = f", at most {side - 1}" if exact + share >= side else ""
    phrase = three(share)
    if math.floor(float(phrase)) > math.floor(share):  # so near to the next that three decimals are not enough
        phrase = f"{share:.12f}".rstrip("0")
    return f"d = {d}: {exact} + floor({phrase}){most} -> bucket {bucket}"


def _ranges(before: Sequence[int], reach: int) -> SmallTable:
    """Return the distances that share each bucket."""
    rows: list[list[str | float]] = []
    for bucket in dict.fromkeys(before):
        members = [d for d, b in enumerate(before) if b == bucket]
        last = "" if bucket == before[-1] else str(members[-1])
        rows.append(
            [bucket, f"{members[0]} and more" if not last else f"{members[0]} to {last}" if len(members) > 1 else last]
        )
    if len(rows) > 2 * MAX_ROWS:
        rows = [*rows[: 4 + MAX_ROWS // 2], ["…", "…"], *rows[-MAX_ROWS // 2 :]]
    return SmallTable(["bucket", "distance"], rows)


def _trained(recipe: Recipe, bias: NDArray[Any], at: Sequence[Fraction], count: int) -> Step:
    heads, first = len(bias), bias[0].tolist()
    where = "weights from a file" if recipe.values["weights"] else "drawn here, as before training"
    items: list[Item] = [
        "bias(h, i, j) = b(bucket(j - i), h)",
        f"{count} buckets x {heads} heads = {count * heads:,} trained numbers, {where}",
        SmallTable(["query \\ key", *map(text_of, at)], [[text_of(p), *r] for p, r in zip(at, first, strict=True)]),
    ]
    return Step("the bias of head 0", items)
