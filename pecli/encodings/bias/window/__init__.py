"""Windows of an image: a bias for each offset of two patches.

A window has height x width patches in row order.  The offset is query minus key.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Annotated, Literal

from pecli.encodings.shared import trained
from pecli.encodings.shared.deferred import Floats, dd, np
from pecli.encodings.shared.grids import sides
from pecli.encodings.shared.parameters import WeightHeads, conventions
from pecli.errors import BadParameter
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Effect
from pecli.spec.plans import Bias, Domain, Fixed, ImageWindow, nothing
from pecli.spec.recipe import Recipe

Grid = Annotated[tuple[int, ...], sides("Height and width in patches.", le=1 << 12)]


def effect(recipe: Recipe) -> Effect:
    """Return the effect: scores of version 2 are cosines over a trained temperature."""
    if recipe.values["version"] != "2":
        return Effect()
    return Effect(unscored="Swin v2 takes cosines of queries and keys over a trained temperature: give its logits")


@encoding(
    family=Family.BIAS,
    title="Window bias",
    facts=Facts(
        learned=True, beyond="ends", relative="distance", multi_scale=False, longest="prod(grid)",
        parameters="(prod(grid) * 4 - sum(grid) * 2 + 1) * heads",
        cost="heads * n * n + n * n",
    ),
    work=Work(kernel="(prod(grid) * 4 - sum(grid) * 2 + 1) * heads"),
    example="window:grid=3x4,heads=2",
    place=7,
    hooks={"identify": ".identify:identify", "mistakes": ".identify:mistakes", "apply": effect},
    presets=(conventions("bias", "window"),),
)  # fmt: skip
def window(
    *,
    grid: Grid,
    version: Literal["1", "2"] = "1",
    cls: Annotated[bool, Param(when=("version", ("1",)))] = False,
    pretrained: Annotated[tuple[int, ...] | None, sides(ge=2, le=1 << 12, when=("version", ("2",)))] = None,
    heads: WeightHeads = None,
    hidden: Annotated[int, Param(ge=1, le=1 << 16, when=("version", ("2",)))] = 512,
    weights: trained.Weights = None,
    std: Annotated[Decimal, trained.deviation()] = Decimal("0.02"),
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Bias:
    """Trained number for each head and each offset between patches of a window.

    Without heads or weights the table holds the entries alone, as the array index.

    Formula
    -------
    entry = (dy + h - 1)(2w - 1) + dx + w - 1, dy and dx query minus key; bias(head) = table(entry, head)
    with cls, of T entries: T - 3 class token to patch, T - 2 patch to class token, T - 1 class token to itself
    version 2: coordinates sign(x) log2(1 + 8 abs(x)/(h - 1)) / log2 8, y and x alike,
    bias = 16 sigmoid(W2 max(0, W1 coordinates + b1))

    Parameters
    ----------
    version
        Trained table (1), or a network of log-spaced coordinates (2).
    cls
        A class token comes before the patches.
    pretrained
        Window in pretraining, which scales the coordinates (default: grid).
    hidden
        Width of the network.
    weights
        File of the table, or of the network (default: random, from the seed).
    std
        Standard deviation of random values, cut at two deviations.

    Source
    ------
    Liu et al. 2021, arXiv:2103.14030, equation 4 and the authors' code
    Liu et al. 2022, arXiv:2111.09883, section 3.3, log-spaced continuous bias
    Bao et al. 2022, arXiv:2106.08254, the class token's entries, in the code of BEiT

    Used by
    -------
    Swin, Swin v2, BEiT, Data2Vec vision

    Use it
    ------
    for attention within the windows of an image, as in Swin

    Not
    ---
    for sequences, or windows of another size without resizing
    """
    shape = ImageWindow(grid[0], grid[1], cls)
    remedy = f"a window of {grid[0]}x{grid[1]} has {shape.tokens} tokens: use a larger grid"
    domain = Domain(Fraction(0), Fraction(shape.tokens - 1), integral=True, remedy=remedy)
    if version == "2":
        return _continuous(shape, pretrained or grid, heads, hidden, weights, float(std), seed, domain)
    names, phrase = ("relative_position_bias_table",), f"a window with {shape.entries} entries"
    rule: trained.Rule = "truncated-normal"
    count, of, fixed = trained.by_head(weights, names, "entry", shape.entries, heads, phrase, seed, rule, float(std))

    def value(entries: dd.Points, chosen: range) -> Floats:
        return of(entries.multiples, chosen).T

    return Bias(count, value, by="entry", window=shape, rows=shape.tokens, fixed=fixed, domain=domain)


def _continuous(
    shape: ImageWindow, pretrained: tuple[int, ...], heads: int | None, hidden: int, path: str | None, std: float,
    seed: int, domain: Domain,
) -> Bias:  # fmt: skip
    """Return Swin v2's bias: a network of log-spaced coordinates."""
    if min(pretrained) < 2:
        rule = "must be at least 2x2 for version=2, which divides by height - 1 and width - 1"
        raise BadParameter("grid", "x".join(map(str, pretrained)), rule)

    coordinates = cache(partial(_log_coordinates, shape, pretrained))

    @cache
    def network() -> tuple[Floats, Floats, Floats]:
        file = trained.WeightFile(path or "")
        phrase = f"the network with hidden={hidden}" + (f" and heads={heads}" if heads else "")
        first = file.values((hidden, 2), phrase, "0.weight", "weight1")
        bias = file.values((hidden,), phrase, "0.bias", "bias1")
        return first, bias, file.values((heads, hidden), phrase, "2.weight", "weight2")

    def first_layer() -> tuple[Floats, Floats]:
        if path is None:
            return trained.draw(seed, 0, 0, hidden, 2, "truncated-normal", std), np.zeros(hidden)
        return network()[:2]

    def second_layer(start: int, stop: int) -> Floats:
        if path is None:
            return trained.draw(seed, 1, start, stop, hidden, "truncated-normal", std)
        return network()[2][start:stop]

    @lru_cache(maxsize=2)
    def outputs(some: range) -> Floats:
        return _perceptron(coordinates().hi, *first_layer(), second_layer(some.start, some.stop))

    def value(entries: dd.Points, chosen: range) -> dd.DoubleDouble:
        return dd.sigmoid(dd.doubled(outputs(chosen)[:, entries.multiples])).scaled(16.0)

    count = heads if heads is not None or path is None else len(network()[2])
    fixed: tuple[Fixed, ...] = ()
    if count:
        fixed = (
            Fixed("weight1", (hidden, 2), ("unit", "axis"), lambda a, b: first_layer()[0][a:b]),
            Fixed("bias1", (hidden,), ("unit",), lambda a, b: first_layer()[1][a:b]),
            Fixed("weight2", (count, hidden), ("head", "unit"), second_layer),
        )
    given = Fixed("coordinates", (shape.entries, 2), ("entry", "axis"), lambda a, b: coordinates()[a:b], role="input")
    return Bias(
        count or 0, value, by="entry", window=shape, rows=shape.tokens, fixed=(given, *fixed),
        prepare=nothing if path is None else network, domain=domain,
    )  # fmt: skip


def _log_coordinates(shape: ImageWindow, pretrained: tuple[int, ...]) -> dd.DoubleDouble:
    """Return the coordinates of every entry, (entries, 2), y first."""
    eight = dd.log(dd.from_decimal([Fraction(8)]))
    sides = []
    for side, whole in zip((shape.height, shape.width), pretrained, strict=True):
        sizes = dd.log1p(dd.from_decimal([Fraction(8 * x, whole - 1) for x in range(side)])) / eight
        offsets = np.arange(1 - side, side)
        sides.append(sizes[np.abs(offsets)].scaled(np.sign(offsets).astype(np.float64)))
    y, x = sides
    rows, columns = np.divmod(np.arange(len(y.hi) * len(x.hi)), len(x.hi))
    return dd.concatenate([y[None, rows], x[None, columns]]).T


def _perceptron(inputs: Floats, first: Floats, bias: Floats, second: Floats) -> Floats:
    """Return W2 max(0, W1 x + b1), (heads, m); sums in one order, so that they are the same on every machine."""
    total = np.zeros((len(second), len(inputs)))
    for unit in range(len(first)):
        active = inputs[:, 0] * first[unit, 0] + inputs[:, 1] * first[unit, 1]
        active += bias[unit]
        total += second[:, unit, None] * np.maximum(active, 0.0)
    return total
