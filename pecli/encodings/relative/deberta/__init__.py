"""DeBERTa: relative vectors for buckets of distances, query minus key."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from pecli.encodings.shared.biases import WHOLE, Arithmetic, LogBuckets
from pecli.encodings.shared.deferred import Integers, NDArray, dd, lessons, np
from pecli.encodings.shared.parameters import MODEL_WIDTH, WIDEST
from pecli.encodings.shared.weights import (
    GENERATOR,
    DrawnSeed,
    Generator,
    Std,
    VectorWeights,
    all_of,
    projection,
    vectors,
)
from pecli.errors import BadParameter
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import GIVEN, Facts, Family, Param, Source, Work, encoding
from pecli.spec.hooks import PLAIN, Effect, Item, Reach, Step, Term, decimal_text, joined
from pecli.spec.plans import Frame, Relative
from pecli.spec.recipe import Recipe


def reach(recipe: Recipe) -> Reach:
    """Say that far distances share a row: an index that leaves the rows is cut where it is used."""
    measured = "" if recipe.values["shifted"] else str(Recipe.bind("deberta", **{**recipe.keys(), "shifted": True}))
    return Reach("vectors", "the trained rows as they are: far distances share the last", measured=measured)


BOTH, PROJECTIONS = ("query", "key"), ("pos_key_proj", "pos_query_proj")
"""A query meets the positions as keys are projected, a key as queries are."""
TERMS = ("c2p", "p2c")
"""Names of the two terms in a config's pos_att_type."""


def effect(recipe: Recipe) -> Effect:
    """Say the terms: content by content, and those of content by position and position by content that are used."""
    buckets, reach, shifted = (recipe.values[key] for key in ("buckets", "max_distance", "shifted"))
    half = buckets or reach
    ready = not buckets if shifted is None else shifted

    def rows(index: Integers) -> Integers:

        found: Integers = index if ready else np.clip(index + half, 0, 2 * half - 1)
        return found

    used = [kind in _terms(recipe.values["pos_att_type"]) for kind in TERMS]
    names = [name if recipe.values[name] is not None else None for name in PROJECTIONS]
    met = [Term(content, "vector", rows=rows, projection=name)
           for content, name, one in zip(BOTH, names, used, strict=True) if one]  # fmt: skip
    sums = " + ".join(["q.k", *(text for text, one in zip(("q.r", "k.r"), used, strict=True) if one)])
    if not met:
        return Effect(note=f"{sums}: no term of positions")
    missing = [f"--{name.replace('_', '-')}" for name, one in zip(PROJECTIONS, used, strict=True)
               if one and recipe.values[name] is None]  # fmt: skip
    how = f"unprojected: give {' and '.join(missing)}" if missing else "projected"
    return Effect(
        terms=(*PLAIN, *met), divisor=1 + len(met),
        note=f"{sums}, r at the index of query and key, as the code has it, {how}",
    )  # fmt: skip


def _terms(phrase: object) -> tuple[str, ...]:
    return TERMS if phrase is None else tuple(kind for kind in str(phrase).split("+") if kind in TERMS)


@encoding(
    family=Family.RELATIVE,
    title="DeBERTa",
    formula="""
        D = i - j, mid = floor(buckets / 2)
        index = D where abs(D) <= mid, otherwise
        sign(D) (mid + ceil((mid - 1) ln(abs(D)/mid) / ln((max-distance - 1)/mid)))
        shifted: buckets added, cut to 0 .. 2 buckets - 1
        with buckets 0 (first version): D + max-distance, cut to 0 .. 2 max-distance - 1
    """,
    source=(
        Source("He et al. 2020", "arXiv:2006.03654", "equation 3"),
        Source("He et al. 2021", "arXiv:2111.09543", "log buckets of the code of version 2 and 3"),
    ),
    facts=Facts(
        learned=True, relative="distance", multi_scale=False,
        parameters="2 * buckets * dim + (pos_key_proj and dim * dim + dim or 0) "
        "+ (pos_query_proj and dim * dim + dim or 0)", cost="2 * buckets * dim + n * n",
    ),
    work=Work(
        kernel="2 * buckets * dim", additions="terms * n * n * width", products="terms * n * n * width",
        every_layer=True,
    ),
    users="DeBERTa, DeBERTa-v2, DeBERTa-v3, SEW-D",
    example="deberta:buckets=8,max-distance=16,dim=4",
    use_when="for masked language models that weigh content and position separately",
    not_when="if memory is scarce: scores need three products",
    place=3,
    hooks={
        "identify": ".identify:identify",
        "lesson": ":lesson", "extend": reach, "apply": effect,
    },
)  # fmt: skip
def deberta(
    *,
    buckets: Annotated[
        int,
        Param(
            "Buckets of each sign; 0 for the first version, without them.",
            ge=0,
            le=1 << 16,
            names=("position-buckets",),
        ),
    ] = 256,
    max_distance: Annotated[
        int,
        Param(
            "Distance at which the last bucket begins; in the first version the clip.",
            ge=1,
            lt=1 << 53,
            count=True,
            names=("max-relative-positions",),
        ),
    ] = 512,
    shifted: Annotated[bool | None, Param("Make every index a row of the vectors (default: with buckets 0).")] = None,
    clamp: Annotated[bool, Param("Cut the distance below max-distance first, as the authors do.")] = False,
    dim: Annotated[
        int | None, Param("Width of the vectors (default: none, the index alone).", ge=1, le=WIDEST, names=MODEL_WIDTH)
    ] = None,
    arithmetic: Arithmetic = "exact",
    weights: Annotated[
        VectorWeights, Param("File of the vectors (default: random, from the seed).", file=True, when=("dim", GIVEN))
    ] = None,
    pos_key_proj: Annotated[
        str | None,
        Param(
            "File of what projects the vectors that queries meet: weight (dim, dim), and bias (default: nothing).",
            file=True,
            when=("dim", GIVEN),
            names=("pos-proj",),
        ),
    ] = None,
    pos_query_proj: Annotated[
        str | None,
        Param("The same for the vectors that keys meet.", file=True, when=("dim", GIVEN), names=("pos-q-proj",)),
    ] = None,
    pos_att_type: Annotated[
        Literal["c2p+p2c", "c2p", "p2c", "none"] | None,
        Param("Terms of a score: query by position (c2p), position by key (p2c) (default: both)."),
    ] = None,
    std: Std = Decimal("0.02"),
    seed: DrawnSeed = 0,
    generator: Generator = GENERATOR,
) -> Relative:
    """Trained vector for each bucket of distances.

    Queries meet it as position and keys as content, and the other way round.
    """
    middle = buckets // 2
    if buckets == 1:
        raise BadParameter("buckets", buckets, "must be 0 or at least 2: half of them are exact distances")
    if buckets and max_distance - 1 <= middle:
        rule = f"must be above {middle + 1}: the first {middle} of buckets={buckets} are distances of their own"
        raise BadParameter("max-distance", max_distance, rule)
    if arithmetic != "exact" and not buckets:
        raise BadParameter("arithmetic", arithmetic, "has no effect with buckets=0: nothing is rounded")
    for name, path, kind in zip(PROJECTIONS, (pos_key_proj, pos_query_proj), TERMS, strict=True):
        if path is not None and kind not in _terms(pos_att_type):
            raise BadParameter(name.replace("_", "-"), path, f"has no effect with pos-att-type={pos_att_type}")
    shift = not buckets if shifted is None else shifted
    half = buckets or max_distance
    place = bucket_rule(buckets, max_distance, clamp, shift, arithmetic)

    def index(distances: dd.Points, _: Frame) -> Integers:
        return place(distances)

    if dim is None:
        return Relative(index, domain=WHOLE)
    vector, prepare = vectors("vector", weights, 2 * half, dim, "normal", float(std), seed, axes=("bucket", "channel"))
    layers = [projection(name, path, dim, dim, biased=True)
              for name, path in zip(PROJECTIONS, (pos_key_proj, pos_query_proj), strict=True)]  # fmt: skip

    fixed = (vector, *(array for arrays, _ in layers for array in arrays))
    return Relative(index, fixed=fixed, prepare=all_of([(vector, prepare), *layers]), domain=WHOLE)


def bucket_rule(
    buckets: int, max_distance: int, clamp: bool, shift: bool, arithmetic: str = "exact"
) -> Callable[[dd.Points], Integers]:
    """Return the function from distances, key minus query, to indices."""
    middle, half = buckets // 2, buckets or max_distance
    log_buckets = LogBuckets(max(1, middle), max_distance - 1, middle - 1, None, arithmetic, up=True)

    def index(distances: dd.Points) -> Integers:

        distance = -distances.whole()
        if clamp:
            distance = np.clip(distance, -max_distance if not buckets else 1 - max_distance, max_distance - 1)
        if buckets:
            distance = np.sign(distance) * log_buckets.of(np.abs(distance))
        return np.clip(distance + half, 0, 2 * half - 1) if shift else distance

    return index


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out buckets, the vectors that belong to them, and the three products of a score."""
    values = exercise.recipe.values
    buckets, reach = values["buckets"], values["max_distance"]
    middle, half = buckets // 2, buckets or reach
    sample_distances = (
        {0, 1, reach, reach + 1} if not buckets else {0, 1, middle, middle + 1, 2 * middle, reach - 1, reach + middle}
    )
    at = exercise.at(sorted(sample_distances))
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
        Step("the index of each query and key", [lessons.matrix_table(at, arrays["index"])]),
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
    phrase = f"{middle} + ceil({middle - 1} x {far})"
    return f"{f'-({phrase})' if sign else phrase} = {sign}{size}{cut}"


def _scores(
    at: Sequence[Fraction], arrays: Mapping[str, NDArray[Any]], half: int, shift: int, effect: Effect
) -> list[Step]:
    """Return the vectors, and the score of the second position's query with the first one's key."""
    vector = arrays["vector"]
    row = min(max(int(arrays["index"][min(1, len(at) - 1), 0]) + shift, 0), len(vector) - 1)
    shown = range(max(row - 2, 0), min(row + 3, len(vector)))
    r = vector[row].tolist()[: len(lessons.QUERY)]
    q, k = lessons.QUERY[: len(r)], lessons.KEY[: len(r)]
    terms = {"q . k": lessons.product(q, k)}
    terms |= {f"{one.content[0]} . r": lessons.product({"q": q, "k": k}[one.content[0]], r) for one in effect.terms[1:]}
    count = len(terms)
    total = sum(value for _, value in terms.values()) / math.sqrt(count * len(q))
    summed = " + ".join(decimal_text(value) for _, value in terms.values())
    trained = f"2 x {half} = {len(vector)} rows x {vector.shape[1]} = {vector.size:,} trained numbers"
    return [
        Step("a vector for each row", [trained, lessons.rows_table("row", [*map(str, shown)], vector[list(shown)])]),
        Step(
            f"{count} products make the score of the query at {text_of(at[min(1, len(at) - 1)])} and the key at "
            f"{text_of(at[0])}",
            [
                f"q = {joined(q)}, k = {joined(k)}, r = row {row}, as it is: a model projects it first",
                *(f"{name} = {text}" for name, (text, _) in terms.items()),
                f"({summed}) / sqrt({count} x {len(q)}) = {decimal_text(total)}",
            ],
        ),
    ]
