"""T5: a trained number for each bucket of distances."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated

from pecli.declare.changes import other_choices, other_values
from pecli.declare.effect import Effect
from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.facts import Work
from pecli.declare.plan import Bias, Fixed
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared import reaches
from pecli.encodings.shared.biases import Mask
from pecli.encodings.shared.drawn import GENERATOR, DrawnSeed, Generator, Weights, by_head, deviation
from pecli.encodings.shared.kernel_types import Floats, Integers, Points
from pecli.encodings.shared.log_buckets import WHOLE, Arithmetic, LogBuckets
from pecli.encodings.shared.parameters import HEAD_COUNT
from pecli.errors import BadParameter

MOST_BUCKETS = 1 << 16


def effect(recipe: Recipe) -> Effect:
    """Say that T5 does not divide its scores."""
    return Effect(scale=1.0)


@encoding(
    family=Family.BIAS,
    title="T5 relative bias",
    formula="""
        bias(h, i, j) = weight(bucket(j - i), h)
        bidirectional: half the buckets for each side, the upper half where j > i; otherwise j > i has bucket 0
        of a side's n buckets, with e = floor(n / 2) and a = abs(j - i): a < e has its own,
        the others bucket min(n - 1, e + floor((n - e) ln(a/e) / ln(max-distance/e)))
    """,
    source=Source("Raffel et al. 2020", "arXiv:1910.10683", "section 2.1, and relative_position_bucket of its code"),
    facts=Facts(
        learned=True, relative="distance", multi_scale=False, parameters="buckets * heads", cost="(heads + 1) * n * n"
    ),
    work=Work(kernel="buckets * heads"),
    users="T5, mT5, UMT5, LongT5, Switch, Pop2Piano, UDOP, MPNet, LayoutLMv3",
    example="t5:heads=2,buckets=8,max-distance=16",
    use_when="for encoders and decoders that train a number for each range of distances",
    not_when="where distances beyond max-distance must be told apart",
    place=5,
    hooks={
        "identify": ".identify:identify",
        "lesson": ".lesson:steps",
        "extend": reaches.vectors,
        "why": ".why:why",
        "code": ".code:code",
        "mistakes": ".mistakes:mistakes",
        "apply": effect,
    },
)
def t5(
    *,
    heads: Annotated[
        int | None,
        Param(
            "Number of heads (default: those of the weights; without either, the index alone).",
            ge=1,
            le=1 << 16,
            names=HEAD_COUNT,
        ),
    ] = None,
    buckets: Annotated[
        int,
        Param(
            "Number of buckets, both sides together.",
            ge=1,
            le=MOST_BUCKETS,
            mistaken=other_values("32", "64", "16", "128"),
            names=("num-buckets", "relative-attention-num-buckets"),
        ),
    ] = 32,
    max_distance: Annotated[
        int,
        Param(
            "Distance from which all share the last bucket.",
            ge=1,
            lt=1 << 53,
            mistaken=other_values("128", "256", "64", "512", "20"),
        ),
    ] = 128,
    bidirectional: Annotated[
        bool,
        Param("Buckets for keys after the query too, as encoders have them.", off="causal", mistaken=other_choices),
    ] = True,
    mask: Mask = "none",
    scale: Annotated[
        Decimal, Param("Multiplies the bias (x-transformers: the root of the head's width).", ge=1e-30, le=1e30)
    ] = Decimal(1),
    arithmetic: Arithmetic = "exact",
    weights: Annotated[
        Weights, Param("File of the bias of each bucket and head (default: drawn from the seed).", file=True)
    ] = None,
    std: Annotated[
        Decimal, deviation("Standard deviation of drawn values (T5: 1/sqrt(d_model); MPNet 0.02).")
    ] = Decimal("0.02"),
    seed: DrawnSeed = 0,
    generator: Annotated[
        Generator, Param("How values are drawn: one Philox word each, by bucket and head.", when=("weights", (None,)))
    ] = GENERATOR,
) -> Bias:
    """Trained number for each head and bucket of distances.

    Without heads or weights the table holds the buckets alone, as the array index.
    """
    if bidirectional and mask == "causal":
        rule = "hides the keys for which bidirectional=true keeps half of the buckets: use bidirectional=false"
        raise BadParameter("mask", mask, rule)
    index = bucket_rule(buckets, max_distance, bidirectional, arithmetic)
    names = ("relative_attention_bias.weight", "relative_attention_bias", "weight")
    said = f"a bias with buckets={buckets}"
    count, rows, prepare = by_head(weights, names, buckets, heads, said, seed, "normal", float(std))

    def value(distances: Points, chosen: range) -> Floats:
        table = rows()[:, chosen.start : chosen.stop] * float(scale)
        found: Floats = table.T[:, index(distances)]
        return found

    fixed = (
        (Fixed("weight", (buckets, count), ("bucket", "head"), lambda start, stop: rows()[start:stop]),)
        if count
        else ()
    )
    return Bias(count, value, causal=mask == "causal", index=index, fixed=fixed, prepare=prepare, domain=WHOLE)


def bucket_rule(buckets: int, max_distance: int, bidirectional: bool, arithmetic: str) -> Callable[[Points], Integers]:
    """Return what gives the bucket of each distance.

    Raises
    ------
    BadParameter
        If the buckets leave no distance one of its own, or all below the maximum have one.
    """
    side = buckets // 2 if bidirectional else buckets
    exact = side // 2
    if exact < 1:
        least, which = (4, "bidirectional") if bidirectional else (2, "causal")
        raise BadParameter(
            "buckets", buckets, f"must be at least {least} when {which}: half of a side's buckets are exact"
        )
    if max_distance <= exact:
        rule = f"must be above {exact}, the distances that have one of buckets={buckets} each"
        raise BadParameter("max-distance", max_distance, rule)
    log_buckets = LogBuckets(exact, max_distance, side - exact, side - 1, arithmetic)

    def index(distances: Points) -> Integers:
        import numpy as np

        distance = distances.whole()
        if not bidirectional:
            return log_buckets.of(np.maximum(-distance, 0))
        return log_buckets.of(np.abs(distance)) + np.where(distance > 0, side, 0)

    return index
