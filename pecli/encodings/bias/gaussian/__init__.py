"""A weight that falls with the square of the distance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.biases import Mask, each_head, minus
from pecli.encodings.shared.deferred import Real, dd, lessons
from pecli.encodings.shared.parameters import Heads
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, number_text
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import LONGER, Change, Effect, Reach, Step, short
from pecli.spec.plans import Bias
from pecli.spec.recipe import Recipe


def reach(recipe: Recipe) -> Reach:
    """Return the length behaviour: the kernel multiplies the weight of far keys, or its logarithm is added."""
    return Reach("biases", LONGER["biases"], multiplies=recipe.values["apply"] == "multiply")


@encoding(
    family=Family.BIAS,
    title="Gaussian kernel",
    facts=Facts(relative="distance", cost="heads * n * n"),
    work=Work(kernel="heads", additions="0", products="heads * n * n"),
    example="gaussian:heads=2,sigma=1+4",
    place=3,
    hooks={
        "mistakes": ":mistakes",
        "lesson": ":lesson",
        "extend": reach,
        "apply": lambda recipe: Effect(logits="add" if recipe.values["apply"] == "log" else "multiply"),
    },
)
def gaussian(
    *,
    heads: Heads = 1,
    sigma: Annotated[tuple[Decimal, ...], Param(ge=1e-30, le=1e30)] = (Decimal(1),),
    apply: Literal["multiply", "log"] = "multiply",
    mask: Mask = "none",
) -> Bias:
    """Weight that falls with the square of the distance.

    Formula
    -------
    apply multiply: w(h, i, j) = exp(-(j - i)^2 / (2 sigma_h^2)), a weight on the logits
    apply log: bias(h, i, j) = -(j - i)^2 / (2 sigma_h^2), its logarithm, added

    Parameters
    ----------
    sigma
        Width, one for each head or one for all.
    apply
        Give a weight that multiplies the logits, or its logarithm, which is added.
    mask
        Minus infinity for keys after the query; only with apply=log.

    Source
    ------
    Chi et al. 2022, arXiv:2205.09921, the power kernel with exponent 2; a radial basis function

    Used by
    -------
    teaching

    Use it
    ------
    for attention within a window with soft edges

    Not
    ---
    for distant tokens: nothing beyond a few sigma is reached

    Not recognised
    --------------
    the width of each head is any number
    """
    if apply == "multiply" and mask == "causal":
        rule = "needs a bias, and apply=multiply gives a weight that minus infinity would turn round: use apply=log"
        raise BadParameter("mask", mask, rule)
    widths = each_head("sigma", sigma, heads)
    factors = [1 / (2 * width * width) for width in widths]

    def value(distances: dd.Points, chosen: range) -> Real:

        size = distances.size().times([Fraction(1)]).T
        exponent = minus(size * size * dd.from_decimal([factors[h] for h in chosen])[:, None])
        assert isinstance(exponent, dd.DoubleDouble)
        return exponent if apply == "log" else dd.exp(exponent)

    return Bias(heads, value, causal=mask == "causal")


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out the weight that falls with the square of the distance."""
    sigma, multiply = short(float(exercise.values["sigma"][0])), exercise.values["apply"] == "multiply"

    def cell(query: Fraction, key: Fraction) -> str:
        exponent = f"-({key - query})^2 / (2 x {sigma}^2)"
        return f"exp({exponent})" if multiply else exponent

    note = "multiplied weights are no mask: a negative logit is weakened too, and so it grows; their logarithm is one"
    return [*exercise.of_family(cell), *([Step("what multiplying does", [note])] if multiply else [])]


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield widths that another exponent is as."""
    for phrase, times in (
        ("the exponent is -D^2 / sigma^2, where -D^2 / (2 sigma^2) was expected", Decimal("0.5")),
        ("the exponent is -D^2 / (4 sigma^2), where -D^2 / (2 sigma^2) was expected", Decimal(2)),
    ):
        widths = (CONTEXT.multiply(Decimal(text), CONTEXT.sqrt(times)) for text in keys["sigma"].split("+"))
        yield Change("sigma", phrase, {"sigma": "+".join(map(number_text, widths))})
    roots = (CONTEXT.sqrt(Decimal(text)) for text in keys["sigma"].split("+"))
    text = "sigma is not squared: the exponent is -D^2 / (2 sigma)"
    yield Change("sigma", text, {"sigma": "+".join(map(number_text, roots))})
