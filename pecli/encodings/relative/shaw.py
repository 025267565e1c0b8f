"""Relative vectors: one for each distance or bucket of distances, and which of them a query and a key take.

d width, H heads.  The distance is key minus query for Shaw, query minus key for Transformer-XL.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Preset, Source, encoding
from pecli.declare.plan import Band, Domain, Fixed, Relative, Waves
from pecli.encodings.shared.drawn import GENERATOR, DrawnSeed, Generator, Rule, Std, Weights, draw, glorot
from pecli.encodings.shared.parameters import Base, Dim
from pecli.errors import BadParameter
from pecli.numbers.decimals import geometric

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pecli.declare.plan import Frame
    from pecli.numbers.points import Points

    Integers = NDArray[np.int64]

WHOLE = Domain(integral=True, remedy="rows of vectors belong to whole distances")
WithoutWeights = Annotated[
    Generator, Param("How values are drawn: one Philox word each, by row and column.", when=("weights", (None,)))
]
SeedOfVectors = Annotated[DrawnSeed, Param("Seed of drawn values.", ge=0, lt=1 << 64, when=("weights", (None,)))]
StdOfVectors = Annotated[
    Std, Param("Standard deviation of drawn values.", ge=1e-30, le=1e30, when=("weights", (None,)))
]
VectorWeights = Annotated[
    Weights, Param("File of the vectors, one row each (default: drawn from the seed).", file=True)
]


@encoding(
    family=Family.RELATIVE,
    title="Shaw relative vectors",
    formula="""
        index(i, j) = min(max(j - i, -clip), right) + clip
        vector: clip + right + 1 trained rows; a key takes row index(i, j) beside its own
    """,
    source=Source("Shaw et al. 2018", "arXiv:1803.02155", "section 3.2; tensor2tensor's code"),
    facts=Facts(
        learned=True, relative="distance", multi_scale=False,
        parameters="(2 * clip + 1) * dim", cost="(2 * clip + 1) * dim + n * n",
    ),
    users="tensor2tensor, Music Transformer, Wav2Vec2-BERT (clip 64, right 8), SeamlessM4T v2",
    example="shaw:dim=4,clip=3",
)  # fmt: skip
def shaw(
    *,
    dim: Dim,
    clip: Annotated[int, Param("Largest distance K with a vector of its own.", ge=1, le=1 << 30)],
    right: Annotated[
        int | None,
        Param("Largest distance of keys after the query, where it differs (default: clip).", ge=0, le=1 << 30),
    ] = None,
    init: Annotated[
        Literal["xavier-uniform", "normal", "truncated-normal", "zeros"],
        Param("Distribution of the initial vectors.", when=("weights", (None,))),
    ] = "xavier-uniform",
    std: Annotated[
        Std,
        Param(
            "Standard deviation of normal values.",
            ge=1e-30,
            le=1e30,
            when=("init", ("normal", "truncated-normal")),
        ),
    ] = Decimal("0.02"),
    weights: VectorWeights = None,
    seed: SeedOfVectors = 0,
    generator: WithoutWeights = GENERATOR,
) -> Relative:
    """Trained vector for each clipped distance."""
    after = clip if right is None else right
    rows = clip + after + 1
    rule, spread = _distribution(init, float(std), rows, dim)
    vector, prepare = vectors("vector", weights, rows, dim, rule, spread, seed)

    def index(distances: Points, _: Frame) -> Integers:
        import numpy as np

        return np.clip(distances.whole(), -clip, after) + clip

    return Relative((vector,), index, prepare=prepare, domain=WHOLE)


def _distribution(init: str, std: float, rows: int, dim: int) -> tuple[Rule, float]:
    if init == "xavier-uniform":
        return "uniform", glorot(rows, dim)
    rules: dict[str, Rule] = {"normal": "normal", "truncated-normal": "truncated-normal", "zeros": "zeros"}
    return rules[init], std


def vectors(
    name: str, path: str | None, rows: int, dim: int, rule: Rule, spread: float, seed: int, stream: int = 0,
    axes: tuple[str, str] = ("row", "channel"), ending: str | None = None,
) -> tuple[Fixed, Callable[[], None]]:  # fmt: skip
    """Return an array of trained vectors, drawn or from a file, and what reads and checks the file."""
    if path is None:

        def drawn(start: int, stop: int) -> NDArray[np.float64]:
            return draw(seed, stream, start, stop, dim, rule, spread)

        return Fixed(name, (rows, dim), axes, drawn), lambda: None

    @cache
    def read() -> NDArray[np.float64]:
        from pecli.encodings.shared.files import one_array, read_arrays, shaped

        endings = (ending or name, "weight") if ending is None else (ending,)
        return shaped(
            one_array(read_arrays(path), path, *endings), path, (rows, dim), f"{name} of {rows} rows and dim={dim}"
        )

    def prepare() -> None:
        read()

    return Fixed(name, (rows, dim), axes, lambda start, stop: read()[start:stop]), prepare


@encoding(
    family=Family.RELATIVE,
    title="Transformer-XL",
    formula="""
        vector row of distance D = i - j: [sin(D w_k), cos(D w_k)], w_k = base^(-2k/dim), k = 0 .. dim/2 - 1
        rows from the farthest distance down: past n - 1 .. 0; both n - 1 .. -(n - 1); xlnet n .. -(q - 1)
        with clamp c: D is cut to -c .. c; u and v: N(0, std^2), one row for each head
    """,
    source=Source("Dai et al. 2019", "arXiv:1901.02860", "section 3.3 and the authors' code"),
    facts=Facts(
        learned=True, relative="distance", parameters="2 * heads * head_dim",
        cost="n * dim + n * n + 2 * heads * head_dim",
    ),
    users="Transformer-XL, XLNet, Conformer (Wav2Vec2-Conformer, NeMo), Parakeet",
    example="transformer-xl:dim=8,heads=2,head-dim=4",
    presets=(
        Preset(
            "convention",
            "What a framework lists: XLNet's rows (also one-sided), or a Conformer's with columns in turn.",
            {
                "transformer-xl": {"span": "past", "order": "sin-cos"},
                "xlnet": {"span": "xlnet", "order": "sin-cos"},
                "xlnet-uni": {"span": "xlnet-uni", "order": "sin-cos"},
                "conformer": {"span": "both", "order": "interleaved"},
            },
        ),
    ),
)  # fmt: skip
def transformer_xl(
    *,
    dim: Annotated[Dim, Param("Width of each vector.", ge=2, le=1 << 20, even=True)],
    base: Base = Decimal(10000),
    span: Annotated[
        Literal["past", "both", "xlnet", "xlnet-uni", "local"],
        Param("Distances of the rows: n-1..0, n-1..-(n-1), n..-(q-1), n..0, or left..-right."),
    ] = "past",
    local: Annotated[
        tuple[int, ...] | None,
        Param(
            "Distances before and after the query with span local.",
            ge=0,
            lt=1 << 53,
            items=(2,),
            when=("span", ("local",)),
        ),
    ] = None,
    order: Annotated[Literal["sin-cos", "interleaved"], Param("Columns: all sines first, or in turn.")] = "sin-cos",
    clamp: Annotated[int | None, Param("Cut distances to at most this size.", ge=1, lt=1 << 53)] = None,
    backward: Annotated[bool, Param("Turn the sign of every distance, as the second half of XLNet's bi_data.")] = False,
    heads: Annotated[int | None, Param("Heads of u and v (default: neither).", ge=1, le=1 << 16)] = None,
    head_dim: Annotated[int | None, Param("Width of u and v (default: dim/heads).", ge=1, le=1 << 20)] = None,
    std: Annotated[Std, Param("Standard deviation of u and v.", ge=1e-30, le=1e30)] = Decimal("0.02"),
    seed: DrawnSeed = 0,
    generator: Generator = GENERATOR,
) -> Relative:
    """Sinusoid of the distance between query and key.

    A trained matrix projects it.  With heads the table has the trained vectors u and v,
    which stand for the query's position.
    """
    if span == "local" and local is None:
        raise BadParameter("span", span, "needs --local LEFT+RIGHT: the distances on both sides")
    bias = _query_vectors(dim, heads, head_dim, float(std), seed)
    frequencies = geometric(base, Fraction(2, dim), dim // 2)
    half = dim // 2
    columns = (slice(0, half), slice(half, dim)) if order == "sin-cos" else (slice(0, dim, 2), slice(1, dim, 2))
    waves = Waves(dim, (Band(frequencies, *columns),))

    def ends(frame: Frame) -> tuple[int, int]:
        q, n = frame.queries, frame.keys
        table = {"past": (n - 1, 0), "both": (n - 1, 1 - n), "xlnet": (n, 1 - q), "xlnet-uni": (n, 0)}
        return table[span] if local is None else (local[0], -local[1])

    def distances(frame: Frame) -> range | Integers:
        import numpy as np

        first, last = ends(frame)
        sign = -1 if backward else 1
        rows = range(sign * first, sign * (last - 1), -sign)
        if clamp is None or max(abs(first), abs(last)) <= clamp:
            return rows
        return np.clip(np.arange(rows.start, rows.stop, rows.step, dtype=np.int64), -clamp, clamp)

    def index(points: Points, frame: Frame) -> Integers:
        import numpy as np

        first, last = ends(frame)
        return np.clip(first + points.multiples // frame.step, 0, first - last)

    return Relative(bias, index, waves, distances)


def _query_vectors(dim: int, heads: int | None, head_dim: int | None, std: float, seed: int) -> tuple[Fixed, ...]:
    """Return u and v, where there are heads."""
    if heads is None:
        if head_dim is not None:
            raise BadParameter("head-dim", head_dim, "needs --heads: it is the width of u and v, one row for each head")
        return ()
    if head_dim is None and dim % heads:
        raise BadParameter("heads", heads, f"does not divide dim={dim}: give --head-dim")
    width = dim // heads if head_dim is None else head_dim
    return tuple(
        vectors(name, None, heads, width, "normal", std, seed, stream, ("head", "channel"))[0]
        for stream, name in enumerate("uv")
    )
