"""A factor on the queries by position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import Floats, dd, lessons, np
from pecli.numbers.printing import figure
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change, Effect, Step, short
from pecli.spec.plans import Domain, Values

EFFECT = Effect(factor="pe", note="queries are multiplied, keys are unchanged")


@encoding(
    family=Family.CONDITIONAL,
    title="Query scale",
    facts=Facts(bounded=False, unique=False, multi_scale=False, cost="n"),
    work=Work(additions="0", products="n * width", every_layer=True),
    example="query-scale:length=16,beta=1",
    place=3,
    hooks={"lesson": ":lesson", "apply": lambda recipe: EFFECT, "mistakes": ":mistakes"},
)
def query_scale(
    *,
    kind: Literal["llama4", "ministral", "log-n"] = "llama4",
    length: Annotated[int, Param(ge=2, lt=1 << 53)] = 8192,
    beta: Annotated[Decimal, Param(ge=0, le=1e6, when=("kind", ("llama4", "ministral")))] = Decimal("0.1"),
) -> Values:
    """Factor on the queries that grows with the logarithm of the position.

    It keeps attention sharp over many keys.

    Formula
    -------
    kind llama4: 1 + beta ln(1 + floor((p + 1) / length))
    kind ministral: 1 + beta ln(1 + floor(p / length))
    kind log-n: max(1, ln(p + 1) / ln length), length that of the training

    Parameters
    ----------
    kind
        Rule of this model.
    length
        Positions per step (Llama 4: 8192, Ministral 3: 16384), or the training length (log-n).
    beta
        Coefficient of the logarithm.

    Source
    ------
    Nakanishi 2025, arXiv:2501.19399, scalable softmax, as Llama 4's code computes it
    Chiang and Cholak 2022, arXiv:2202.12172, log-n scaling, as Qwen's code computes it

    Used by
    -------
    Llama 4, Ministral 3, Mistral 4, Qwen (log-n)

    Use it
    ------
    with a rotary encoding, if attention spreads too thin over long contexts

    Not
    ---
    as the only encoding: it gives no order

    Not recognised
    --------------
    no model stores its factors
    """

    def at(points: dd.Points) -> dd.DoubleDouble:

        position = points.whole()[:, None]
        one = dd.from_decimal([Fraction(1)])
        if kind == "log-n":
            logarithm = dd.log(dd.doubled(position + 1))
            found = logarithm / dd.log(dd.from_decimal([Fraction(length)]))
            below = found.hi < 1.0
            return dd.DoubleDouble(np.where(below, 1.0, found.hi), np.where(below, 0.0, found.lo))
        steps = (position + (kind == "llama4")) // length
        grown = dd.log(dd.doubled(1 + steps))
        return dd.add(one, dd.multiply(dd.from_decimal([Fraction(beta)]), grown))

    remedy = "a query's position is a whole number from 0"
    return Values(1, at, domain=Domain(Fraction(0), integral=True, remedy=remedy))


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the factor that grows at every position: without its floor, or without the least value of log-n."""
    kind, length, beta = keys["kind"], int(keys["length"]), float(keys.get("beta", "0"))
    text = "the floor is missing: the factor grows at every position, not in steps"
    if kind == "log-n":
        text = "factors below 1 stand where 1 was expected: the maximum with 1 is missing"

    def growing(_name: str, values: Floats, first: int) -> Floats:
        position = first + np.arange(values.size, dtype=float).reshape(values.shape)
        if kind == "log-n":
            return np.asarray(np.log1p(position) / np.log(length))
        return 1 + beta * np.log1p((position + (kind == "llama4")) / length)

    yield Change("floor", text, values=growing)


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out the factor at positions where it changes."""
    values = exercise.recipe.values
    kind, length = values["kind"], values["length"]
    beta = short(float(values["beta"]))
    first = length if kind != "llama4" else length - 1
    at = exercise.at(sorted({0, first - 1, first, 2 * length, 10 * length} - {-1}))
    found = exercise.arrays(at)["pe"][:, 0].tolist()
    lines = []
    for p, value in zip(at, found, strict=True):
        position = int(p)
        if kind == "log-n":
            phrase = f"max(1, ln({position} + 1) / ln {length})"
        else:
            over = f"{position} + 1" if kind == "llama4" else str(position)
            level = (position + (kind == "llama4")) // length
            phrase = f"1 + {beta} x ln(1 + floor(({over}) / {length})) = 1 + {beta} x ln({1 + level})"
        lines.append(f"p = {position}: {phrase} = {figure(value)}")
    why = (
        "the softmax over n keys is flatter the more keys there are; logits that grow with ln n keep its largest weight"
    )
    return [Step("the factor of a query at position p", lines), Step("why", [why])]
