"""DeBERTa: relative vectors for buckets of distances, query minus key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from typing import Annotated, Literal

from pecli.encodings.shared import trained
from pecli.encodings.shared.biases import WHOLE, Arithmetic, LogBuckets
from pecli.encodings.shared.deferred import Floats, Integers, dd, np
from pecli.encodings.shared.parameters import MODEL_WIDTH, WIDEST
from pecli.errors import BadParameter
from pecli.spec.declaration import GIVEN, Facts, Family, Param, Work, encoding
from pecli.spec.hooks import PLAIN, Change, Effect, Reach, Term
from pecli.spec.plans import Frame, Relative
from pecli.spec.recipe import Recipe


def reach(recipe: Recipe) -> Reach:
    """Return the length behaviour: far distances share a row, since an index beyond the rows is clipped in use."""
    measured = "" if recipe.values["shifted"] else str(Recipe.bind("deberta", **{**recipe.keys(), "shifted": True}))
    return Reach("vectors", "the trained rows as they are: far distances share the last", measured=measured)


ROWS = ("as in the code", "of key and query for k.r, as in the paper")
# By their names in a config's pos_att_type, whose content meets the positions in the two terms, and the projection of
# these: a query meets the positions as keys are projected, a key as queries are.
# Of a logarithm that is a whole number: neither rounded up nor cut.
MAX_WHOLE_ERROR = 1e-9
TERMS = {"c2p": ("query", "pos_key_proj"), "p2c": ("key", "pos_query_proj")}


def effect(recipe: Recipe) -> Effect:
    """Return the terms of a score: content-content, content-position and position-content as far as used."""
    buckets, reach, shifted = (recipe.values[key] for key in ("buckets", "max_distance", "shifted"))
    half = buckets or reach
    ready = not buckets if shifted is None else shifted

    def rows(index: Integers) -> Integers:

        return np.asarray(index if ready else np.clip(index + half, 0, 2 * half - 1))

    paper = recipe.values["p2c_row"] == "paper"
    met, sums, missing = list[Term](), ["q.k"], []
    for content, option in (TERMS[kind] for kind in _terms(recipe.values["pos_att_type"])):
        name = None if recipe.values[option] is None else option
        met.append(Term(content, "vector", rows=rows, projection=name, opposite=paper and content == "key"))
        sums.append(f"{content[0]}.r")
        if name is None:
            missing.append(f"--{option.replace('_', '-')}")
    text = " + ".join(sums)
    if not met:
        return Effect(note=f"{text}: no term of positions")
    how = f"unprojected: give {' and '.join(missing)}" if missing else "projected"
    note = f"{text}, r at the index of query and key, {ROWS[paper]}, {how}"
    return Effect(terms=(*PLAIN, *met), divisor=1 + len(met), note=note)


def _terms(phrase: object) -> tuple[str, ...]:
    return tuple(kind for kind in TERMS if phrase is None or kind in str(phrase).split("+"))


@encoding(
    family=Family.RELATIVE,
    title="DeBERTa",
    facts=Facts(
        learned=True, relative="distance", multi_scale=False,
        parameters="2 * buckets * dim + (pos_key_proj and dim * dim + dim or 0) "
        "+ (pos_query_proj and dim * dim + dim or 0)", cost="2 * buckets * dim + n * n",
    ),
    work=Work(
        kernel="2 * buckets * dim", additions="terms * n * n * width", products="terms * n * n * width",
        every_layer=True,
    ),
    example="deberta:buckets=8,max-distance=16,dim=4",
    place=3,
    hooks={"identify": ".identify:identify", "extend": reach, "apply": effect, "mistakes": ":mistakes"},
)  # fmt: skip
def deberta(
    *,
    buckets: Annotated[int, Param(ge=0, le=1 << 16, names=("position-buckets",))] = 256,
    max_distance: Annotated[int, Param(ge=1, lt=1 << 53, count=True, names=("max-relative-positions",))] = 512,
    shifted: bool | None = None,
    clamp: bool = False,
    dim: Annotated[int | None, Param(ge=1, le=WIDEST, names=MODEL_WIDTH)] = None,
    arithmetic: Arithmetic = "exact",
    weights: Annotated[trained.VectorWeights, Param(when=("dim", GIVEN))] = None,
    pos_key_proj: Annotated[str | None, Param(file=True, when=("dim", GIVEN), names=("pos-proj",))] = None,
    pos_query_proj: Annotated[str | None, Param(file=True, when=("dim", GIVEN), names=("pos-q-proj",))] = None,
    pos_att_type: Literal["c2p+p2c", "c2p", "p2c", "none"] | None = None,
    p2c_row: Literal["code", "paper"] | None = None,
    std: trained.Std = Decimal("0.02"),
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Relative:
    """Trained vector for each bucket of distances.

    One term of the score multiplies it by the content of queries, another by the content of keys.

    Formula
    -------
    D = i - j, mid = floor(buckets / 2)
    index = D where abs(D) <= mid, otherwise
    sign(D) (mid + ceil((mid - 1) ln(abs(D)/mid) / ln((max-distance - 1)/mid)))
    shifted: buckets added, cut to 0 .. 2 buckets - 1
    with buckets 0 (first version): D + max-distance, cut to 0 .. 2 max-distance - 1

    Parameters
    ----------
    buckets
        Buckets of each sign; 0 for the first version, without them.
    max_distance
        Distance at which the last bucket begins; in the first version, where distances are clipped.
    shifted
        Shift indices so that they are rows of the vectors (default: only with buckets=0).
    clamp
        Clip the distance below max-distance first, as the authors do.
    dim
        Width of the vectors (default: only the index).
    weights
        File of the vectors (default: random, from the seed).
    pos_key_proj
        File of the projection of the vectors in query terms: weight (dim, dim), and bias (default: none).
    pos_query_proj
        The same for the vectors in key terms.
    pos_att_type
        Terms of a score: query by position (c2p), position by key (p2c) (default: both).
    p2c_row
        Row for the term of the key: query minus key (code), or key minus query as in equation 4 (default: code).

    Source
    ------
    He et al. 2020, arXiv:2006.03654, equation 3
    He et al. 2021, arXiv:2111.09543, log buckets of the code of version 2 and 3

    Used by
    -------
    DeBERTa, DeBERTa-v2, DeBERTa-v3, SEW-D

    Use it
    ------
    for masked language models that weigh content and position separately

    Not
    ---
    if memory is scarce: scores need three products
    """
    middle = buckets // 2
    if buckets == 1:
        raise BadParameter("buckets", buckets, "must be 0 or at least 2: half of them are exact distances")
    if buckets and max_distance - 1 <= middle:
        rule = f"must be above {middle + 1}: the first {middle} of buckets={buckets} are distances of their own"
        raise BadParameter("max-distance", max_distance, rule)
    if arithmetic != "exact" and not buckets:
        raise BadParameter("arithmetic", arithmetic, "has no effect with buckets=0: nothing is rounded")
    projections = {"c2p": pos_key_proj, "p2c": pos_query_proj}
    for kind, path in projections.items():
        if path is not None and kind not in _terms(pos_att_type):
            option = TERMS[kind][1].replace("_", "-")
            raise BadParameter(option, path, f"has no effect with pos-att-type={pos_att_type}")
    shift = not buckets if shifted is None else shifted
    half = buckets or max_distance
    place = bucket_rule(buckets, max_distance, clamp, shift, arithmetic)

    def index(distances: dd.Points, _: Frame) -> Integers:
        return place(distances)

    if dim is None:
        return Relative(index, domain=WHOLE)
    vector = trained.vectors("vector", weights, 2 * half, dim, "normal", float(std), seed, axes=("bucket", "channel"))
    layers = [trained.projection(TERMS[kind][1], path, dim, dim, biased=True) for kind, path in projections.items()]
    return Relative(index, fixed=(vector, *chain(*layers)), domain=WHOLE)


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


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield buckets that are cut, where each far one is the one below, or clipped distances in the place of buckets."""
    middle, zero = int(keys["buckets"]) // 2, int(keys["buckets"]) if keys.get("shifted") == "true" else 0

    last = int(keys["max-distance"]) - 1

    def cut(name: str, values: Floats, first: int) -> Floats:
        if name != "index" or values.ndim != 2:
            return values
        size = np.abs(np.arange(values.shape[1]) - (first + np.arange(len(values)))[:, None])
        steps = (middle - 1) * np.log(np.maximum(size, middle) / middle) / np.log(last / middle)
        far = (np.abs(values - zero) > middle) & (np.abs(steps - np.rint(steps)) > MAX_WHOLE_ERROR)
        return np.asarray(values - far * np.sign(values - zero))

    def clipped(name: str, values: Floats, first: int) -> Floats:
        if name != "index" or values.ndim != 2:
            return values
        distances = (first + np.arange(len(values)))[:, None] - np.arange(values.shape[1])
        return np.asarray(np.clip(distances, -2 * middle, 2 * middle - 1) + zero, np.float64)

    if middle:
        text = f"distances are clipped to -{2 * middle} .. {2 * middle - 1}, where far ones were expected in buckets"
        yield Change("buckets", text, values=clipped)
        yield Change("buckets", "buckets of far distances are cut where they should be rounded up", values=cut)
