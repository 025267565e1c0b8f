"""A weight that falls with the square of the distance."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.declare.effect import Effect
from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.facts import Work
from pecli.declare.plan import Bias
from pecli.declare.reach import Reach
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.biases import Mask, each_head, minus
from pecli.encodings.shared.kernel_types import Points, Real
from pecli.encodings.shared.parameters import Heads
from pecli.errors import BadParameter


def reach(recipe: Recipe) -> Reach:
    """Say that the kernel weighs far keys, or its logarithm is added."""
    longer = "the bias of each new distance, by the same formula"
    return Reach("biases", longer, multiplies=recipe.values["apply"] == "multiply")


def effect(recipe: Recipe) -> Effect:
    """Say whether the kernel multiplies logits or its logarithm is added."""
    return Effect(logits="multiply" if recipe.values["apply"] == "multiply" else "add")


@encoding(
    family=Family.BIAS,
    title="Gaussian kernel",
    formula="""
        apply multiply: w(h, i, j) = exp(-(j - i)^2 / (2 sigma_h^2)), a weight on the logits
        apply log: bias(h, i, j) = -(j - i)^2 / (2 sigma_h^2), its logarithm, added
    """,
    source=Source("Chi et al. 2022", "arXiv:2205.09921", "the power kernel with exponent 2; a radial basis function"),
    facts=Facts(relative="distance", cost="heads * n * n"),
    work=Work(kernel="heads", additions="0", products="heads * n * n"),
    users="teaching",
    example="gaussian:heads=2,sigma=1+4",
    use_when="for attention to a window with soft edges",
    not_when="for far tokens: nothing beyond a few sigma is reached",
    place=3,
    hooks={
        "identify": ".identify:identify",
        "mistakes": ".mistakes:mistakes",
        "lesson": ".lesson:steps",
        "extend": reach,
        "apply": effect,
        "why": ".why:why",
    },
)
def gaussian(
    *,
    heads: Heads = 1,
    sigma: Annotated[tuple[Decimal, ...], Param("Width, one for each head or one for all.", ge=1e-30, le=1e30)] = (
        Decimal(1),
    ),
    apply: Annotated[
        Literal["multiply", "log"], Param("A weight that multiplies the logits, or its logarithm, a bias to add.")
    ] = "multiply",
    mask: Annotated[Mask, Param("Minus infinity for keys after the query; with apply log.")] = "none",
) -> Bias:
    """Weight that falls with the square of the distance."""
    if apply == "multiply" and mask == "causal":
        rule = "needs a bias, and apply=multiply gives a weight that minus infinity would turn round: use apply=log"
        raise BadParameter("mask", mask, rule)
    widths = each_head("sigma", sigma, heads)
    factors = [1 / (2 * width * width) for width in widths]

    def value(distances: Points, chosen: range) -> Real:
        from pecli.numbers import double_double as elementary
        from pecli.numbers.double_double import DoubleDouble, from_decimal

        size = distances.size().times([Fraction(1)]).T
        exponent = minus(size * size * from_decimal([factors[h] for h in chosen])[:, None])
        assert isinstance(exponent, DoubleDouble)
        return exponent if apply == "log" else elementary.exp(exponent)

    return Bias(heads, value, even=True, causal=mask == "causal")
