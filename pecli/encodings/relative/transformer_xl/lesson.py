"""Transformer-XL on the board: the sinusoid of a distance, and the four terms of a score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from pecli.declare.board import Item, Step, joined, short, three
from pecli.declare.plan import Relative
from pecli.encodings.shared.lessons import Exercise, matrix_table, rows_table
from pecli.encodings.shared.products import KEY, QUERY, product
from pecli.encodings.shared.wave_lessons import frequency_step, pairs_of

ROWS = 8  # of a table


def steps(exercise: Exercise) -> list[Step]:
    """Work out the row of a distance, which row a query and a key meet, and the terms of a score."""
    plan = exercise.recipe.plan
    assert isinstance(plan, Relative)
    assert plan.waves is not None
    arrays = exercise.whole()
    vector, index = arrays["vector"], arrays["index"]
    query = min(1, len(index) - 1)
    row = int(index[query, 0])
    distance, counted = (-query, "key - query") if exercise.recipe.values["backward"] else (query, "query - key")
    pairs = pairs_of(plan.waves, 4)
    base, dim = (exercise.recipe.keys()[name] for name in ("base", "dim"))
    met: list[Item] = [matrix_table(exercise.places(len(index)), index)]
    if len(index) > 1 and index[0, 1] == index[0, 0]:
        met.append("a key after its query has no row of its own: it is masked, and stands here with that of distance 0")
    lines: list[Item] = []
    for pair in pairs[:2]:
        for name, column in (("sin", pair.sin), ("cos", pair.cos)):
            angle = f"{distance} x {short(pair.frequency)}"
            lines.append(f"column {column}: {name}({angle}) = {three(float(vector[row, column]))}")
    names = [str(number) for number in range(min(ROWS, len(vector)))]
    found = [
        frequency_step(plan.waves, pairs, lambda pair: f"{base}^(-2 x {pair.index}/{dim})"),
        Step(
            f"sines and cosines of the distance {counted}; {distance} is row {row} of {len(vector)}",
            [*lines, rows_table("row", names, vector[:ROWS])],
        ),
        Step("the row of each query and key", met),
    ]
    return [*found, *_scores(arrays, row, query)] if "u" in arrays else found


def _scores(arrays: Mapping[str, NDArray[Any]], row: int, query: int) -> list[Step]:
    """Return u and v, and the four terms of a score in head 0."""
    u, v = (arrays[name][0].tolist() for name in "uv")
    r = arrays["vector"][row].tolist()[: len(u)]
    q, k = QUERY[: len(u)], KEY[: len(u)]
    terms = {"q . k": product(q, k), "q . r": product(q, r), "u . k": product(u, k), "v . r": product(v, r)}
    total = sum(value for _, value in terms.values()) / math.sqrt(len(q))
    heads = [str(head) for head in range(min(4, len(arrays["u"])))]
    return [
        Step(
            "two trained vectors for each head stand for the query's position",
            [
                rows_table("u of head", heads, arrays["u"][:4]),
                rows_table("v of head", heads, arrays["v"][:4]),
                f"2 x {len(arrays['u'])} heads x {len(u)} = {2 * arrays['u'].size:,} trained numbers",
            ],
        ),
        Step(
            f"four terms make the score of the query at {query} and the key at 0 in head 0",
            [
                f"q = {joined(q)}, k = {joined(k)}",
                f"r = {joined(r)}, the first numbers of row {row}: a model projects the row",
                *(f"{name} = {text}" for name, (text, _) in terms.items()),
                f"({' + '.join(three(value) for _, value in terms.values())}) / sqrt({len(q)}) = {three(total)}",
            ],
        ),
    ]
