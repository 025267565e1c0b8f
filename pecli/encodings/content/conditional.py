"""Absolute table gated by the content."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from pecli.encodings.shared import trained
from pecli.encodings.shared.deferred import Floats, dd, np
from pecli.encodings.shared.parameters import Channels, Content, Dim
from pecli.errors import BadParameter
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Effect, Reach
from pecli.spec.plans import Conditional
from pecli.spec.recipe import Recipe, join_recipe, split_recipe


def reach(recipe: Recipe) -> Reach:
    """Return the length behaviour of the gated table, with the recipe of its base."""
    name, keys = split_recipe(str(recipe.values["position"]))
    measured = join_recipe(name, {"dim": str(recipe.values["dim"]), **keys})
    return Reach("content", f"rows of {name}, gated by the content", measured=measured)


EFFECT = Effect(content="adds", note="the input stands for the content, and the gated rows are added to it")


@encoding(
    family=Family.CONDITIONAL,
    title="Conditional position embedding",
    facts=Facts(learned=True, parameters="channels + 1", cost="n * dim"),
    work=Work(additions="n * (channels + dim)", products="n * (channels + dim)"),
    example='conditional:dim=4,content="learned:dim=3,max-len=512",channels=3',
    place=1,
    hooks={"extend": reach, "apply": lambda recipe: EFFECT},
)
def conditional(
    *,
    content: Content,
    dim: Dim,
    position: Annotated[str, Param(metavar="RECIPE")] = "sinusoidal",
    gate: Literal["scalar", "vector"] = "scalar",
    channels: Channels = None,
    weights: trained.Weights = None,
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Conditional:
    """Absolute table gated by the content.

    Needs content: a file with one row of numbers for each position, or a recipe.

    Formula
    -------
    pe(p) = f(x) P(p), P the absolute table `position`
    gate scalar: f(x) = sigmoid(x w + b); gate vector: one such number for each column

    Parameters
    ----------
    position
        Recipe of the absolute table that is gated.
    gate
        One gate for a row, or one for each column.
    weights
        File with weight (c) or (d, c), and bias (default: random, from the seed).

    Source
    ------
    a form of teaching texts, P_cond(i, x) = f(x) P(i), with a sigmoid gate for f

    Used by
    -------
    research

    Use it
    ------
    in research, where content decides how much position counts

    Not
    ---
    if one table must serve every input

    Not recognised
    --------------
    its rows depend on content that the table does not hold
    """

    @cache
    def layer(inputs: int, width: int) -> tuple[Floats, Floats]:
        if channels is not None and inputs != channels:
            raise BadParameter("content", content, f"has {inputs} channels, and channels={channels}")
        outputs = 1 if gate == "scalar" else width
        return trained.linear_layer(seed, outputs, inputs) if weights is None else _layer(weights, outputs, inputs)

    def value(rows: Floats, offset: int, start: int, stop: int, _: int, base: Floats | None) -> Floats:

        assert base is not None
        weight, bias = layer(rows.shape[1], base.shape[1])
        return np.asarray(dd.sigmoid(dd.doubled(affine(rows, weight, bias))).hi * base)

    return Conditional(content, value, base=position, dim=dim, fit=layer)


def _layer(path: str, outputs: int, inputs: int) -> tuple[Floats, Floats]:
    """Return weight (outputs, inputs) and bias (outputs,) of a file; a bias left out is 0."""
    file = trained.WeightFile(path)
    phrase = f"a gate of content with {inputs} channels" + (f" and width {outputs}" if outputs > 1 else "")
    held = file.one("weight")
    one_row = outputs == 1 and len(held.shape) == 1
    weight = file.shaped(held.reshape(1, -1) if one_row else held, (outputs, inputs), phrase)
    return weight, file.bias(outputs, phrase)


def affine(rows: Floats, weight: Floats, bias: Floats) -> Floats:
    """Return rows x weight + bias, (m, outputs); sums in one order, so that they are the same on every machine."""
    total = np.zeros((len(rows), len(weight)))
    for channel in range(rows.shape[1]):
        total += rows[:, channel, None] * weight[:, channel]
    return total + bias
