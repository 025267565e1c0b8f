"""T5: a trained number for each bucket of distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated

from pecli.encodings.shared import trained
from pecli.encodings.shared.biases import WHOLE, Arithmetic, LogBuckets, Mask, index_by
from pecli.encodings.shared.deferred import Floats, Integers, dd, lessons, np
from pecli.encodings.shared.parameters import WeightHeads
from pecli.errors import BadParameter
from pecli.numbers.printing import between
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change, Effect, SmallTable, Step, Values, decimal_text
from pecli.spec.plans import Bias

MAX_BUCKETS = 1 << 16


@encoding(
    family=Family.BIAS,
    title="T5 relative bias",
    facts=Facts(
        learned=True, relative="distance", multi_scale=False, parameters="buckets * heads", cost="(heads + 1) * n * n"
    ),
    work=Work(kernel="buckets * heads"),
    example="t5:heads=2,buckets=8,max-distance=16",
    place=5,
    hooks={
        "identify": ".identify:identify",
        "lesson": ":lesson",
        "mistakes": ":mistakes",
        "apply": lambda recipe: Effect(scale=1.0),
    },
)
def t5(
    *,
    heads: WeightHeads = None,
    buckets: Annotated[int, Param(ge=1, le=MAX_BUCKETS, names=("num-buckets", "relative-attention-num-buckets"))] = 32,
    max_distance: Annotated[int, Param(ge=1, lt=1 << 53)] = 128,
    bidirectional: Annotated[bool, Param(off="causal")] = True,
    mask: Mask = "none",
    scale: Annotated[Decimal, Param(ge=1e-30, le=1e30)] = Decimal(1),
    arithmetic: Arithmetic = "exact",
    weights: trained.Weights = None,
    std: Annotated[Decimal, trained.deviation()] = Decimal("0.02"),
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Bias:
    """Trained number for each head and bucket of distances.

    Without heads or weights the table holds the buckets alone, as the array index.

    Formula
    -------
    bias(h, i, j) = weight(bucket(j - i), h)
    bidirectional: half the buckets for each side, the upper half where j > i; otherwise j > i has bucket 0
    each side has n buckets; with e = floor(n / 2) and a = abs(j - i): bucket a if a < e,
    otherwise bucket min(n - 1, e + floor((n - e) ln(a/e) / ln(max-distance/e)))

    Parameters
    ----------
    buckets
        Number of buckets, for both directions together.
    max_distance
        Distance from which all keys share the last bucket.
    bidirectional
        Add buckets for keys after the query, as in encoders.
    scale
        Multiplies the bias (x-transformers: the root of the head's width).
    weights
        File of the bias of each bucket and head (default: random, from the seed).
    std
        Standard deviation of random values (T5: 1/sqrt(d_model); MPNet 0.02).

    Source
    ------
    Raffel et al. 2020, arXiv:1910.10683, section 2.1, and relative_position_bucket of its code

    Used by
    -------
    T5, mT5, UMT5, LongT5, Switch, Pop2Piano, UDOP, MPNet, LayoutLMv3

    Use it
    ------
    for encoders and decoders with one trained number per range of distances

    Not
    ---
    if distances beyond max-distance must be distinguished
    """
    if bidirectional and mask == "causal":
        rule = "hides the keys for which bidirectional=true keeps half of the buckets: use bidirectional=false"
        raise BadParameter("mask", mask, rule)
    index = bucket_rule(buckets, max_distance, bidirectional, arithmetic)
    names = ("relative_attention_bias.weight", "relative_attention_bias", "weight")
    phrase = f"a bias with buckets={buckets}"
    count, of, fixed = trained.by_head(weights, names, "bucket", buckets, heads, phrase, seed, "normal", float(std))

    def value(distances: dd.Points, chosen: range) -> Floats:
        return of(index(distances), chosen).T * float(scale)

    return Bias(count, value, causal=mask == "causal", index=index, fixed=fixed, domain=WHOLE)


def bucket_rule(
    buckets: int, max_distance: int, bidirectional: bool, arithmetic: str
) -> Callable[[dd.Points], Integers]:
    """Return the function from distances to buckets.

    Raises
    ------
    BadParameter
        If the buckets leave no distance one of its own, or all below the maximum have one.
    """
    side = buckets // 2 if bidirectional else buckets
    exact = side // 2
    if exact < 1:
        least, which = (4, "bidirectional") if bidirectional else (2, "causal")
        rule = f"must be at least {least} when {which}: half of a side's buckets are exact"
        raise BadParameter("buckets", buckets, rule)
    if max_distance <= exact:
        rule = f"must be above {exact}, the distances that have one of buckets={buckets} each"
        raise BadParameter("max-distance", max_distance, rule)
    log_buckets = LogBuckets(exact, max_distance, side - exact, side - 1, arithmetic)

    def index(distances: dd.Points) -> Integers:

        distance = distances.whole()
        if not bidirectional:
            return log_buckets.of(np.maximum(-distance, 0))
        return log_buckets.of(np.abs(distance)) + np.where(distance > 0, side, 0)

    return index


LOGARITHMS = (
    ("log2", "ln", 1 / math.log(2)), ("ln", "log2", math.log(2)), ("log10", "ln", 1 / math.log(10)),
    ("ln", "log10", math.log(10)),
)  # fmt: skip

MAX_EXACT = 64  # exact buckets that are tried; each costs a millisecond
MAX_LOG_ERROR = 1e-9  # how far a float64 logarithm may be from a whole number


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield mistaken bucket rules: other logarithms, other rounding, clipping."""
    for above, below, times in LOGARITHMS:
        text = (
            f"{above} of the distance is divided by {below} of max-distance, where one logarithm was expected of both"
        )
        yield Change("buckets", text, values=_buckets(keys, times, np.floor))
    for how, to in (("rounded up", np.ceil), ("rounded", np.rint)):
        text = f"buckets of far distances are {how} where they should be cut"
        yield Change("buckets", text, values=_buckets(keys, 1.0, to))
    side = int(keys["buckets"]) // (2 if keys["bidirectional"] == "true" else 1)
    for exact in range(1, min(side, MAX_EXACT)):
        text = f"{exact} of a side's {side} buckets hold one distance each (max_exact) where {side // 2} were expected"
        yield Change("buckets", text, values=_buckets(keys, 1.0, np.floor, exact))
    text = "distances are clipped to the buckets, one for each, where far ones should share them by their logarithm"
    yield Change("buckets", text, values=_buckets(keys, None, np.floor))
    if keys["bidirectional"] == "true":
        text = "distance 0 counts as after the query: >= 0 was tested where > 0 was expected"
        yield Change("buckets", text, values=_buckets(keys, 1.0, np.floor, after=0))
    else:
        text = "the distance lost its sign: keys after the query have the buckets of those before it, not bucket 0"
        yield Change("buckets", text, values=_buckets(keys, 1.0, np.floor, signed=False))
    text = "buckets beyond max-distance are not held to the last one: min(bucket, last) is missing"
    yield Change("buckets", text, values=_buckets(keys, 1.0, np.floor, end=1 << 30))


def _buckets(
    keys: Mapping[str, str], times: float | None, to: np.ufunc, exact: int | None = None, end: int | None = None,
    after: int = 1, *, signed: bool = True,
) -> Values:  # fmt: skip
    """Return the array ``index`` with the logarithmic steps multiplied by `times`; None clips distances instead.

    The first `exact` buckets hold one distance each, by default half of them; `end` is the last bucket of a side, and
    `after` the first distance after the query. If they are not `signed`, both sides have the buckets of keys before.
    """
    both = keys["bidirectional"] == "true"
    side = int(keys["buckets"]) // (2 if both else 1)
    single = max(1, side // 2) if exact is None else exact
    near = -MAX_LOG_ERROR if to is np.ceil else MAX_LOG_ERROR

    def bucket(query: Integers, key: Integers) -> Integers:
        distance = key - query
        size = np.abs(distance) if both or not signed else np.maximum(-distance, 0)
        steps = np.log(np.maximum(size, single) / single) / np.log(int(keys["max-distance"]) / single)
        far = size if times is None else single + to(steps * times * (side - single) + near)
        found = np.where(size < single, size, np.minimum(far, end or side - 1))
        return np.asarray(found + (side * (distance >= after) if both else 0))

    return index_by(bucket)


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out T5's buckets: which distances share one, some distances, a matrix of buckets, the bias."""
    recipe = exercise.recipe
    values = recipe.values
    count, reach = values["buckets"], values["max_distance"]
    both = values["bidirectional"]
    side = count // 2 if both else count
    exact = side // 2
    plan = exercise.plan
    before = plan.index(dd.Points(-np.arange(2 * reach + 1, dtype=np.int64))).tolist()
    sides = f"{side} for keys up to the query, {side} for keys after it" if both else "all for keys up to the query"
    rule = [
        f"{count} buckets: {sides}",
        f"distances 0 to {exact - 1} have a bucket each; from {exact} on they share, up to {reach}:",
        f"bucket = {exact} + floor({side - exact} x ln(d / {exact}) / ln({reach} / {exact})), at most {side - 1}",
    ]
    sample_distances = sorted({1, exact - 1, exact, exact + 1, 2 * exact, reach // 2, reach - 1, reach} - {0})
    lines = [_bucket(d, exact, reach, side, before[d]) for d in sample_distances if d > 0]
    after = plan.index(dd.Points(np.arange(1, 4, dtype=np.int64))).tolist()
    if both:
        lines.append(f"keys 1, 2, 3 after the query: {side} more, buckets {', '.join(map(str, after))}")
    else:
        lines.append(f"every key after the query: bucket {after[0]}")
    return [
        Step("distances share buckets", rule),
        Step("some distances d of keys before the query", lines),
        Step("all distances before the query", [_ranges(before, reach)]),
        *exercise.of_family(),
    ]


def _bucket(d: int, exact: int, reach: int, side: int, bucket: int) -> str:
    if d < exact:
        return f"d = {d}: below {exact}, bucket {bucket}"
    share = (side - exact) * math.log(d / exact) / math.log(reach / exact)
    most = f", at most {side - 1}" if exact + share >= side else ""
    phrase = decimal_text(share)
    if math.floor(float(phrase)) > math.floor(share):  # so near to the next that four decimals are not enough
        phrase = f"{share:.12f}".rstrip("0")
    return f"d = {d}: {exact} + floor({phrase}){most} -> bucket {bucket}"


def _ranges(before: Sequence[int], reach: int) -> SmallTable:
    """Return the distances that share each bucket."""
    rows: list[list[str | float]] = []
    for bucket in dict.fromkeys(before):
        members = [d for d, b in enumerate(before) if b == bucket]
        ends = between(members[0], members[-1])
        rows.append([bucket, f"{members[0]} and more" if bucket == before[-1] else ends])
    if len(rows) > 2 * lessons.MAX_ROWS:
        rows = [*rows[: 4 + lessons.MAX_ROWS // 2], ["…", "…"], *rows[-lessons.MAX_ROWS // 2 :]]
    return SmallTable(["bucket", "distance"], rows)
