"""DeBERTa on the board: buckets of distances, their vectors, the three products of a score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from pecli.declare.board import Item, Step, joined, three
from pecli.declare.effect import Effect
from pecli.encodings.shared.lessons import Exercise, matrix_table, rows_table
from pecli.encodings.shared.products import KEY, QUERY, product
from pecli.numbers.positions import fraction_text as text_of


def steps(exercise: Exercise) -> list[Step]:
    """Work out buckets, the vectors that belong to them, and the three products of a score."""
    values = exercise.recipe.values
    buckets, reach = int(str(values["buckets"])), int(str(values["max_distance"]))
    middle, half = buckets // 2, buckets or reach
    tried = (
        {0, 1, reach, reach + 1} if not buckets else {0, 1, middle, middle + 1, 2 * middle, reach - 1, reach + middle}
    )
    at = exercise.at(sorted(tried))
    arrays = exercise.arrays(at)
    shift = half if values["shifted"] or not buckets else 0
    lines: list[Item] = []
    for key, place in zip(at, arrays["index"][-1].tolist(), strict=True):
        distance = at[-1] - key
        lines.append(
            f"{text_of(at[-1])} - {text_of(key)} = {distance}: {_bucket(distance, place - shift, buckets, reach)}"
        )
    lines.append(
        f"a row is that number + {half}, at least 0 and at most {2 * half - 1}; a key after its query has a minus"
    )
    found = [
        Step("distances D = query - key, and the bucket of each", lines),
        Step("the index of each query and key", [matrix_table(at, arrays["index"])]),
    ]
    if "vector" not in arrays:
        return found
    return [*found, *_scores(at, arrays, half, half - shift, exercise.recipe.encoding.hook("apply")(exercise.recipe))]


def _bucket(distance: Fraction, bucket: int, buckets: int, reach: int) -> str:
    if not buckets:
        return f"its place is {bucket}"
    middle = buckets // 2
    if abs(distance) <= middle:
        return f"at most {middle}, so it is {bucket}"
    far = f"ln({abs(distance)}/{middle}) / ln({reach - 1}/{middle})"
    size = middle + math.ceil((middle - 1) * math.log(abs(distance) / middle) / math.log((reach - 1) / middle) - 1e-12)
    sign = "-" if distance < 0 else ""
    cut = "" if size == abs(bucket) else f", cut to {bucket}"
    said = f"{middle} + ceil({middle - 1} x {far})"
    return f"{f'-({said})' if sign else said} = {sign}{size}{cut}"


def _scores(
    at: Sequence[Fraction], arrays: Mapping[str, NDArray[Any]], half: int, shift: int, effect: Effect
) -> list[Step]:
    """Return the vectors, and the score of the second position's query with the first one's key."""
    vector = arrays["vector"]
    row = min(max(int(arrays["index"][min(1, len(at) - 1), 0]) + shift, 0), len(vector) - 1)
    shown = range(max(row - 2, 0), min(row + 3, len(vector)))
    r = vector[row].tolist()[: len(QUERY)]
    q, k = QUERY[: len(r)], KEY[: len(r)]
    terms = {"q . k": product(q, k)}
    terms |= {f"{one.content[0]} . r": product({"q": q, "k": k}[one.content[0]], r) for one in effect.terms[1:]}
    count = len(terms)
    total = sum(value for _, value in terms.values()) / math.sqrt(count * len(q))
    summed = " + ".join(three(value) for _, value in terms.values())
    trained = f"2 x {half} = {len(vector)} rows x {vector.shape[1]} = {vector.size:,} trained numbers"
    return [
        Step("a vector for each row", [trained, rows_table("row", [*map(str, shown)], vector[list(shown)])]),
        Step(
            f"{count} products make the score of the query at {text_of(at[min(1, len(at) - 1)])} and the key at "
            f"{text_of(at[0])}",
            [
                f"q = {joined(q)}, k = {joined(k)}, r = row {row}, as it is: a model projects it first",
                *(f"{name} = {text}" for name, (text, _) in terms.items()),
                f"({summed}) / sqrt({count} x {len(q)}) = {three(total)}",
            ],
        ),
    ]
