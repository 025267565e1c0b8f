"""Transformer-XL: a sinusoid of the distance."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared import trained
from pecli.encodings.shared.deferred import Integers, dd, np
from pecli.encodings.shared.parameters import HEAD_COUNT, MODEL_WIDTH, WIDEST, Base, Seed, conventions
from pecli.errors import BadParameter
from pecli.numbers.decimals import geometric
from pecli.spec.declaration import GIVEN, Facts, Family, Param, Work, encoding
from pecli.spec.hooks import PLAIN, Effect, Term
from pecli.spec.plans import Band, Fixed, Frame, Relative, Waves
from pecli.spec.recipe import Recipe


def effect(recipe: Recipe) -> Effect:
    """Return the four terms of a score, of which u and v need heads: (q + u).k + (q + v).r."""
    name = "r_net" if recipe.values["r_net"] is not None else None
    terms: tuple[Term, ...] = (*PLAIN, Term("query", "vector", projection=name))
    if recipe.values["heads"] is not None:
        terms = (*terms, Term("u", "key"), Term("v", "vector", projection=name))
    sums = "q.k + q.r" if recipe.values["heads"] is None else "(q + u).k + (q + v).r"
    how = "r unprojected: give r-net= to project it" if name is None else "r projected"
    return Effect(terms=terms, note=f"{sums}, {how}")


@encoding(
    family=Family.RELATIVE,
    title="Transformer-XL",
    facts=Facts(
        learned=True, relative="distance",
        parameters="2 * heads * head_dim + (r_net and dim * (head_dim and heads * head_dim or dim) or 0)",

        cost="n * dim + n * n + 2 * heads * head_dim",
    ),
    work=Work(
        kernel="n * dim + 2 * heads * head_dim", additions="n * n * dim + 2 * n * dim", products="n * n * dim",
        every_layer=True,
    ),
    example="transformer-xl:dim=8,heads=2,head-dim=4",
    place=2,
    hooks={"apply": effect},
    presets=(conventions("relative", "transformer-xl"),),
)  # fmt: skip
def transformer_xl(
    *,
    dim: Annotated[int, Param(ge=2, le=WIDEST, even=True, names=MODEL_WIDTH)],
    base: Base = Decimal(10000),
    span: Literal["past", "both", "xlnet", "xlnet-uni", "local"] = "past",
    local: Annotated[tuple[int, ...] | None, Param(ge=0, lt=1 << 53, items=(2,), when=("span", ("local",)))] = None,
    order: Literal["sin-cos", "interleaved"] = "sin-cos",
    clamp: Annotated[int | None, Param(ge=1, lt=1 << 53)] = None,
    backward: bool = False,
    heads: Annotated[int | None, Param(ge=1, le=1 << 16, names=HEAD_COUNT)] = None,
    head_dim: Annotated[int | None, Param(ge=1, le=WIDEST, names=("d-head",))] = None,
    r_net: Annotated[str | None, Param(file=True, names=("linear-pos",))] = None,
    u: Annotated[trained.Weights, Param(when=("heads", GIVEN), names=("r-w-bias", "pos-bias-u"))] = None,
    v: Annotated[trained.Weights, Param(when=("heads", GIVEN), names=("r-r-bias", "pos-bias-v"))] = None,
    std: Annotated[Decimal, trained.deviation(None)] = Decimal("0.02"),
    seed: Seed = 0,
    generator: Annotated[trained.Philox, trained.generation(None)] = trained.GENERATOR,
) -> Relative:
    """Sinusoid of the distance between query and key.

    A trained matrix projects it.  With heads the table also has the trained vectors
    u and v, which replace the query's position.

    Formula
    -------
    vector row of distance D = i - j: [sin(D w_k), cos(D w_k)], w_k = base^(-2k/dim), k = 0 .. dim/2 - 1
    rows from the farthest distance down: past n - 1 .. 0; both n - 1 .. -(n - 1); xlnet n .. -(q - 1)
    with clamp c: D is cut to -c .. c; u and v: N(0, std^2), one row for each head

    Parameters
    ----------
    dim
        Width of each vector.
    span
        Distances of the rows: n-1..0, n-1..-(n-1), n..-(q-1), n..0, or left..-right.
    local
        Distances before and after the query, for span=local.
    order
        Columns: all sines first, or alternating.
    clamp
        Clip distances to this size.
    backward
        Negate every distance, as in the second half of XLNet's bi_data.
    heads
        Heads of u and v (default: neither).
    head_dim
        Width of u and v (default: dim/heads).
    r_net
        File of W_kR, which projects the rows: (heads head-dim, dim), or XLNet's r (dim, heads, head-dim).
    u
        File of u (heads, head-dim) (default: random).
    v
        File of v (heads, head-dim) (default: random).
    std
        Standard deviation of u and v.

    Source
    ------
    Dai et al. 2019, arXiv:1901.02860, section 3.3 and the authors' code

    Used by
    -------
    Transformer-XL, XLNet, Conformer (Wav2Vec2-Conformer, NeMo), Parakeet

    Use it
    ------
    for segments that follow each other with a memory

    Not
    ---
    with fused attention: it adds a term to each score

    Not recognised
    --------------
    its rows are sinusoids of falling distances, and are named so
    """
    if span == "local" and local is None:
        raise BadParameter("span", span, "needs local=LEFT+RIGHT: the distances on both sides")
    bias, width = _query_vectors(dim, heads, head_dim, float(std), seed, {"u": u, "v": v})
    matrix = trained.projection("r_net", r_net, width, dim)
    frequencies = geometric(base, Fraction(2, dim), dim // 2)
    half = dim // 2
    columns = (slice(0, half), slice(half, dim)) if order == "sin-cos" else (slice(0, dim, 2), slice(1, dim, 2))
    waves = Waves(dim, (Band(frequencies, *columns),))

    def ends(frame: Frame) -> tuple[int, int]:
        q, n = frame.queries, frame.keys
        table = {"past": (n - 1, 0), "both": (n - 1, 1 - n), "xlnet": (n, 1 - q), "xlnet-uni": (n, 0)}
        return table[span] if local is None else (local[0], -local[1])

    def distances(frame: Frame) -> range | Integers:

        first, last = ends(frame)
        sign = -1 if backward else 1
        rows = range(sign * first, sign * (last - 1), -sign)
        if clamp is None or max(abs(first), abs(last)) <= clamp:
            return rows
        return np.clip(np.arange(rows.start, rows.stop, rows.step, dtype=np.int64), -clamp, clamp)

    def index(points: dd.Points, frame: Frame) -> Integers:

        first, last = ends(frame)
        return np.clip(first + points.multiples // frame.step, 0, first - last)

    return Relative(index, waves, distances, fixed=(*bias, *matrix))


def _query_vectors(
    dim: int, heads: int | None, head_dim: int | None, std: float, seed: int, files: dict[str, str | None]
) -> tuple[list[Fixed], int]:
    """Return the vectors u and v, and the total width of the heads."""
    if heads is None:
        if head_dim is not None:
            raise BadParameter("head-dim", head_dim, "needs heads=: it is the width of u and v, one row for each head")
        return [], dim
    if head_dim is None and dim % heads:
        raise BadParameter("heads", heads, f"does not divide dim={dim}: give head-dim=")
    width = dim // heads if head_dim is None else head_dim
    axes = ("head", "channel")
    found = [
        trained.vectors(name, path, heads, width, "normal", std, seed, stream, axes, role="parameter")
        for stream, (name, path) in enumerate(files.items())
    ]
    return found, heads * width
