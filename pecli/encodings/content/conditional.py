"""Encodings that need content: a gate on an absolute table, a convolution, and a factor for queries.

n rows, c channels of content, d width.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Conditional, Domain, Values
from pecli.encodings.shared.drawn import GENERATOR, DrawnSeed, Generator, Weights, draw, fan_in
from pecli.encodings.shared.parameters import Dim
from pecli.errors import BadParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.numbers.doubled import Doubled
    from pecli.numbers.points import Points

    Floats = NDArray[np.float64]

Content = Annotated[
    str, Param("Content, a row of numbers for each position: a file (npy, text ..), or a recipe.", metavar="SOURCE")
]


@encoding(
    family=Family.CONDITIONAL,
    title="Conditional position embedding",
    formula="""
        pe(p) = f(x) P(p), P the absolute table `position`
        gate scalar: f(x) = sigmoid(x w + b); gate vector: one such number for each column
    """,
    source=Source("a form of the guides", "P_cond(i, x) = f(x) P(i)", "with a sigmoid gate for f"),
    facts=Facts(learned=True, parameters="channels + 1", cost="n * dim"),
    users="research; gated positions",
    example='conditional:dim=4,content="learned:dim=3,max-len=512",channels=3',
)
def conditional(
    *,
    content: Content,
    dim: Dim,
    position: Annotated[str, Param("Recipe of the absolute table that is gated.", metavar="RECIPE")] = "sinusoidal",
    gate: Annotated[Literal["scalar", "vector"], Param("One gate for a row, or one for each column.")] = "scalar",
    channels: Annotated[
        int | None, Param("Channels that the content must have (default: as it has).", ge=1, le=1 << 20)
    ] = None,
    weights: Annotated[
        Weights, Param("File with weight (c) or (d, c), and bias (default: drawn from the seed).", file=True)
    ] = None,
    seed: Annotated[DrawnSeed, Param("Seed of drawn values.", ge=0, lt=1 << 64, when=("weights", (None,)))] = 0,
    generator: Annotated[
        Generator, Param("How values are drawn: one Philox word each, by row and column.", when=("weights", (None,)))
    ] = GENERATOR,
) -> Conditional:
    """Absolute table whose rows a function of the content turns up or down.

    Needs content: a file with one row of numbers for each position, or a recipe.
    """

    @cache
    def layer(inputs: int, width: int) -> tuple[Floats, Floats]:
        if channels is not None and inputs != channels:
            raise BadParameter("content", content, f"has {inputs} channels, and channels={channels}")
        outputs = 1 if gate == "scalar" else width
        if weights is None:
            bound = fan_in(inputs)
            weight = draw(seed, 0, 0, outputs, inputs, "uniform", bound)
            return weight, draw(seed, 1, 0, outputs, 1, "uniform", bound)[:, 0]
        return _layer(weights, outputs, inputs)

    def value(rows: Floats, offset: int, start: int, stop: int, _: int, base: Floats | None) -> Floats:
        from pecli.numbers import elementary

        assert base is not None
        weight, bias = layer(rows.shape[1], base.shape[1])
        found: Floats = elementary.sigmoid(elementary.doubled(affine(rows, weight, bias))).hi * base
        return found

    def prepare(inputs: int, width: int) -> None:
        layer(inputs, width)

    return Conditional(content, lambda c: c, value, base=position, dim=dim, prepare=prepare)


def _layer(path: str, outputs: int, inputs: int) -> tuple[Floats, Floats]:
    """Return weight (outputs, inputs) and bias (outputs,) of a file; a bias left out is 0."""
    import numpy as np

    from pecli.encodings.shared.files import one_array, read_arrays, shaped

    arrays = read_arrays(path)
    said = f"a gate of content with {inputs} channels" + (f" and width {outputs}" if outputs > 1 else "")
    weight = one_array(arrays, path, "weight")
    weight = shaped(
        weight.reshape(1, -1) if outputs == 1 and weight.ndim == 1 else weight, path, (outputs, inputs), said
    )
    if len(arrays) == 1:
        return weight, np.zeros(outputs)
    return weight, shaped(one_array(arrays, path, "bias").reshape(-1), path, (outputs,), said)


def affine(rows: Floats, weight: Floats, bias: Floats) -> Floats:
    """Return rows x weight + bias, (m, outputs); sums in one order, so that they are the same on every machine."""
    import numpy as np

    total = np.zeros((len(rows), len(weight)))
    for channel in range(rows.shape[1]):
        total += rows[:, channel, None] * weight[:, channel]
    return total + bias


@encoding(
    family=Family.CONDITIONAL,
    title="Conditional positional encoding (PEG)",
    formula="""
        pe = x + conv(x) + b: each channel by a kernel of its own over the neighbours, zeros beyond the ends
        on a grid the kernel is square; the first cls rows stay as they are
    """,
    source=Source("Chu et al. 2021", "arXiv:2102.10882", "section 3.3 and the authors' PosCNN"),
    facts=Facts(learned=True, multi_scale=False, parameters="channels * kernel + channels", cost="n * channels"),
    users="CPVT, Twins, Conformer-like stems",
    example='cpe:content="learned:dim=4,max-len=512",channels=4',
)
def cpe(
    *,
    content: Content,
    kernel: Annotated[int, Param("Width of the kernel, odd.", ge=1, le=255)] = 3,
    grid: Annotated[
        tuple[int, ...] | None,
        Param(
            "Height and width of the rows after cls (default: one line).", ge=1, le=1 << 16, separator="x", items=(2,)
        ),
    ] = None,
    cls: Annotated[int, Param("Rows at the beginning that are left out.", ge=0, le=1 << 16)] = 0,
    residual: Annotated[bool, Param("Add the content itself, as the authors do.")] = True,
    channels: Annotated[
        int | None, Param("Channels that the content must have (default: as it has).", ge=1, le=1 << 20)
    ] = None,
    weights: Annotated[
        Weights,
        Param(
            "File with weight (c, kernel) or (c, kernel, kernel), and bias (default: drawn from the seed).", file=True
        ),
    ] = None,
    seed: Annotated[DrawnSeed, Param("Seed of drawn values.", ge=0, lt=1 << 64, when=("weights", (None,)))] = 0,
    generator: Annotated[
        Generator, Param("How values are drawn: one Philox word each, by channel and place.", when=("weights", (None,)))
    ] = GENERATOR,
) -> Conditional:
    """Content plus a depth-wise convolution of it.

    The zeros beyond the ends tell where a row stands.

    Needs content: a file with one row of numbers for each position, or a recipe.
    """
    if kernel % 2 == 0:
        raise BadParameter(
            "kernel", kernel, f"must be odd, so that rows stay where they are: use {kernel - 1} or {kernel + 1}"
        )
    places = kernel if grid is None else kernel * kernel

    @cache
    def layer(inputs: int) -> tuple[Floats, Floats]:
        if channels is not None and inputs != channels:
            raise BadParameter("content", content, f"has {inputs} channels, and channels={channels}")
        if weights is None:
            bound = fan_in(places)
            return draw(seed, 0, 0, inputs, places, "uniform", bound), draw(seed, 1, 0, inputs, 1, "uniform", bound)[
                :, 0
            ]
        return _kernels(weights, inputs, (kernel,) if grid is None else (kernel, kernel))

    def reach(n: int) -> int:
        if grid is not None and n != cls + grid[0] * grid[1]:
            rule = f"has {n} rows, and the grid {grid[0]}x{grid[1]} with cls={cls} takes {cls + grid[0] * grid[1]}"
            raise BadParameter("content", content, rule)
        if n <= cls:
            raise BadParameter("cls", cls, f"must be below the {n} rows of the content")
        return kernel // 2 * (1 if grid is None else grid[1] + 1)

    def value(rows: Floats, offset: int, start: int, stop: int, n: int, _: Floats | None) -> Floats:
        import numpy as np

        weight, bias = layer(rows.shape[1])
        own = rows[start - offset : stop - offset]
        number = np.arange(start, stop) - cls
        total = np.zeros_like(own)
        for place in range(places):
            if grid is None:
                down, right, width, height = 0, place - kernel // 2, n - cls, 1
            else:
                down, right = place // kernel - kernel // 2, place % kernel - kernel // 2
                height, width = grid
            y, x = number // width + down, number % width + right
            inside = (number >= 0) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            other = y[inside] * width + x[inside] + cls - offset
            total[inside] += rows[other] * weight[:, place]
        total += bias
        found: Floats = np.where((number >= 0)[:, None], total + own if residual else total, own)
        return found

    return Conditional(content, lambda c: c, value, reach, prepare=lambda inputs, _: (layer(inputs), None)[1])


def _kernels(path: str, channels: int, sides: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return weight (channels, places) and bias (channels,) of a file; a bias left out is 0."""
    import numpy as np

    from pecli.encodings.shared.files import one_array, read_arrays, shaped

    arrays = read_arrays(path)
    weight = one_array(arrays, path, "weight")
    if weight.ndim == len(sides) + 2 and weight.shape[1] == 1:  # torch keeps one input channel of each group
        weight = weight[:, 0]
    weight = shaped(weight, path, (channels, *sides), f"content with {channels} channels and kernel={sides[0]}")
    weight = weight.reshape(channels, -1)
    if len(arrays) == 1:
        return weight, np.zeros(channels)
    return weight, shaped(one_array(arrays, path, "bias"), path, (channels,), f"content with {channels} channels")


@encoding(
    family=Family.CONDITIONAL,
    title="Query scale",
    formula="""
        kind llama4: 1 + beta ln(1 + floor((p + 1) / length))
        kind ministral: 1 + beta ln(1 + floor(p / length))
        kind log-n: max(1, ln(p + 1) / ln length), length that of the training
    """,
    source=(
        Source("Nakanishi 2025", "arXiv:2501.19399", "scalable softmax, as Llama 4's code computes it"),
        Source("Chiang and Cholak 2022", "arXiv:2202.12172", "log-n scaling, as Qwen's code computes it"),
    ),
    facts=Facts(bounded=False, unique=False, multi_scale=False, cost="n"),
    users="Llama 4, Ministral 3, Mistral 4, Qwen (log-n)",
    example="query-scale:length=16,beta=1",
)
def query_scale(
    *,
    kind: Annotated[Literal["llama4", "ministral", "log-n"], Param("Whose rule.")] = "llama4",
    length: Annotated[
        int,
        Param("Positions of one step (Llama 4 8192, Ministral 3 16384), or of the training (log-n).", ge=2, lt=1 << 53),
    ] = 8192,
    beta: Annotated[Decimal, Param("Size of a step.", ge=0, le=1e6, when=("kind", ("llama4", "ministral")))] = Decimal(
        "0.1"
    ),
) -> Values:
    """Factor on the queries that grows with the logarithm of the position.

    It keeps attention sharp over many keys.
    """

    def at(points: Points) -> Doubled:
        import numpy as np

        from pecli.numbers import elementary
        from pecli.numbers.doubled import Doubled, add, from_decimal, multiply

        position = points.whole()[:, None]
        one = from_decimal([Fraction(1)])
        if kind == "log-n":
            logarithm = elementary.log(elementary.doubled(position + 1))
            found = logarithm / elementary.log(from_decimal([Fraction(length)]))
            below = found.hi < 1.0
            return Doubled(np.where(below, 1.0, found.hi), np.where(below, 0.0, found.lo))
        steps = (position + (kind == "llama4")) // length
        grown = elementary.log(elementary.doubled(1 + steps))
        return add(one, multiply(from_decimal([Fraction(beta)]), grown))

    remedy = "a query's position is a whole number from 0"
    return Values(1, at, Domain(Fraction(0), integral=True, remedy=remedy))
