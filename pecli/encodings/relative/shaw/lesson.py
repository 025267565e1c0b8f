"""Shaw's vectors on the board: clipped distances, the rows that belong to them, a score."""

from __future__ import annotations

from pecli.declare.board import Item, Step, joined
from pecli.declare.effect import Effect
from pecli.encodings.shared.lessons import Exercise, matrix_table, rows_table
from pecli.encodings.shared.products import KEY, QUERY, product
from pecli.numbers.positions import fraction_text as text_of


def steps(exercise: Exercise) -> list[Step]:
    """Work out which vector a query and a key meet, and what it adds to their score."""
    at = exercise.places(exercise.length or 6)
    arrays = exercise.arrays(at)
    vector, index = arrays["vector"], arrays["index"]
    values = exercise.recipe.values
    clip = int(str(values["clip"]))
    right = clip if values["right"] is None else int(str(values["right"]))
    query, counted = len(at) // 2, "query - key" if values["backward"] else "key - query"
    lines = []
    for key, place in enumerate(index[query].tolist()):
        distance = int(at[query] - at[key]) if values["backward"] else int(at[key] - at[query])
        cut = min(max(distance, -clip), right)
        lines.append(f"key {text_of(at[key])}: D = {distance}, cut to {cut}, row {cut} + {clip} = {place}")
    row, width = int(index[query, -1]), vector.shape[1]
    effect: Effect = exercise.recipe.encoding.hook("apply")(exercise.recipe)
    met = {one.content[0]: {"query": QUERY, "key": KEY}[one.content][:width] for one in effect.terms[1:]}
    adds = [f"{name} . r" for name in met]
    adds_lines = [f"{name} = {joined(x)}, r = row {row}: {name} . r = {product(x, vector[row].tolist())[0]}"
                  for name, x in met.items()]  # fmt: skip
    names = [str(r) for r in range(min(len(vector), 9))]
    trained: list[Item] = [
        f"{clip} + {right} + 1 = {len(vector)} rows x {vector.shape[1]} = {vector.size:,} trained numbers",
        rows_table("row", names, vector[: len(names)]),
    ]
    return [
        Step(f"distances D = {counted}, cut to -{clip} .. {right}; the query at {text_of(at[query])}", lines),
        Step("the row of each query and key", [matrix_table(at, index)]),
        Step("a vector for each row", trained),
        Step(f"what it adds to a score, ({' + '.join(['q . k', *adds])}) / sqrt(d)", adds_lines),
    ]
