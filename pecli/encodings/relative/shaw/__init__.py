"""Shaw: a trained vector for each clipped distance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated, Literal

from pecli.encodings.shared import trained
from pecli.encodings.shared.biases import index_by
from pecli.encodings.shared.deferred import Floats, Integers, dd, np
from pecli.encodings.shared.parameters import VectorDim
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import PLAIN, Change, Effect, Term
from pecli.spec.plans import Domain, Fixed, Frame, Relative
from pecli.spec.recipe import Recipe

WHOLE = Domain(integral=True, remedy="rows of vectors belong to whole distances")


def effect(recipe: Recipe) -> Effect:
    """Return the terms of a score, q.k + q.r and maybe k.r; values may have vectors too."""
    counted = "query minus key, as BERT's relative_key" if recipe.values["backward"] else "key minus query"
    other = "" if recipe.values["backward"] else "; BERT's relative_key counts query minus key: --backward"
    both = recipe.values["kind"] == "key-query"
    sums = "q.k + q.r + k.r" if both else "q.k + q.r"
    met = [Term(content, "vector") for content in (("query", "key") if both else ("query",))]
    return Effect(terms=(*PLAIN, *met), values="value_vector", note=f"{sums}, r the row of {counted}{other}")


@encoding(
    family=Family.RELATIVE,
    title="Shaw relative vectors",
    facts=Facts(
        learned=True, relative="distance", multi_scale=False,
        parameters="(clip + (right or clip) + 1) * dim * (value_weights and 2 or 1)",
        cost="(clip + (right or clip) + 1) * dim + n * n",
    ),
    work=Work(
        kernel="(clip + (right or clip) + 1) * dim", additions="terms * h * n * n * dim",
        products="terms * h * n * n * dim",
        every_layer=True,
    ),
    example="shaw:dim=4,clip=3",
    place=1,
    hooks={"identify": ".identify:identify", "words": ".identify:words", "apply": effect, "mistakes": ":mistakes"},
)  # fmt: skip
def shaw(
    *,
    dim: VectorDim,
    clip: Annotated[int, Param(ge=1, le=1 << 30, names=("max-relative-position", "max-relative-positions"))],
    right: Annotated[int | None, Param(ge=0, le=1 << 30)] = None,
    init: Annotated[
        Literal["xavier-uniform", "normal", "truncated-normal", "zeros"], Param(when=("weights", (None,)))
    ] = "xavier-uniform",
    std: Annotated[Decimal, trained.deviation(("init", ("normal", "truncated-normal")))] = Decimal("0.02"),
    weights: trained.VectorWeights = None,
    value_weights: Annotated[str | None, Param(file=True)] = None,
    backward: bool = False,
    kind: Literal["key", "key-query"] | None = None,
    far: Literal["clip", "zero"] = "clip",
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Relative:
    """Trained vector for each clipped distance.

    Formula
    -------
    index(i, j) = min(max(j - i, -clip), right) + clip; backward: of i - j
    far zero: past the clip the index is clip + right + 1, a row of zeros
    vector: clip + right + 1 trained rows; row index(i, j) is added to the key
    value_vector: as many rows, added to the values

    Parameters
    ----------
    clip
        Largest distance K with a vector of its own.
    right
        Largest distance above 0, if it differs (default: clip): of keys after the query; backward: before it.
    init
        Distribution of the initial vectors.
    std
        Standard deviation of normal values.
    value_weights
        File of the vectors that are added to values, one row each (default: none).
    backward
        Count distances from key to query, as BERT's relative_key does.
    kind
        Position terms of a score: q.r (key), or q.r + k.r as BERT's relative_key_query (default: key).
    far
        Vector past the clip: that of the clip, or zeros (VITS, Music Transformer).

    Source
    ------
    Shaw et al. 2018, arXiv:1803.02155, section 3.2; tensor2tensor's code

    Used by
    -------
    tensor2tensor, Music Transformer (Huang et al. 2018), Wav2Vec2-BERT (clip 64, right 8), SeamlessM4T v2

    Use it
    ------
    for tasks with short-range structure such as translation and music

    Not
    ---
    if distances beyond the clip must be distinguished
    """
    after = clip if right is None else right
    rows = clip + after + 1
    rule: trained.Rule = "uniform" if init == "xavier-uniform" else init
    spread = trained.glorot(rows, dim) if init == "xavier-uniform" else float(std)
    held = [trained.vectors("vector", weights, rows, dim, rule, spread, seed)]
    if value_weights is not None:
        held.append(trained.vectors("value_vector", value_weights, rows, dim, rule, spread, seed))
    fixed = tuple(array if far == "clip" else _with_zeros(array, rows, dim) for array in held)

    def index(distances: dd.Points, _: Frame) -> Integers:
        found = (-distances.whole() if backward else distances.whole()) + clip
        if far == "zero":
            return np.where((found < 0) | (found >= rows), rows, found)
        return np.clip(found, 0, rows - 1)

    return Relative(index, fixed=fixed, domain=WHOLE)


def _with_zeros(array: Fixed, rows: int, dim: int) -> Fixed:
    """Return an array of vectors with a row of zeros after its last one."""

    def values(start: int, stop: int) -> Floats:
        out = np.zeros((stop - start, dim))
        out[: max(0, rows - start)] = np.asarray(array.values(start, min(stop, rows)))
        return out

    return array._replace(shape=(rows + 1, dim), values=values)


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield distances modulo the rows of the table, counted from its first row and from its middle one."""
    clip = int(keys["clip"])
    rows = clip + int(keys.get("right", clip)) + 1
    sign = -1 if keys.get("backward") == "true" else 1

    def around(by: int, queries: Integers, keys: Integers) -> Integers:
        return (sign * (keys - queries) + by) % rows

    for by, phrase in ((clip, "key - query + clip"), (0, "key - query")):
        text = f"distances go around where they should be clipped: the index is ({phrase}) modulo {rows}"
        yield Change("clip", text, values=index_by(partial(around, by)))
