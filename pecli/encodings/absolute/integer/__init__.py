"""The position itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

from pecli.encodings.shared.deferred import dd, lessons
from pecli.encodings.shared.parameters import Dim, MaxLen
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, FOR_DOUBLED, decimal_of
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Change, Step, decimal_text, instead, short
from pecli.spec.plans import Values

EXACT = Context(prec=45)  # a rational power of few digits is exact in it: its value may lie between two of a type


@encoding(
    family=Family.ABSOLUTE,
    title="Integer",
    facts=Facts(multi_scale=False, bounded=False),
    example="integer:dim=1,max-len=10",
    place=2,
    hooks={"lesson": ":lesson", "mistakes": ":mistakes"},
)
def integer(
    *,
    dim: Dim,
    max_len: Annotated[MaxLen, Param(ge=2, when=("raw", (False,)))] = None,
    scales: Annotated[Decimal | None, Param(gt=0, le=1e6)] = None,
    raw: bool = False,
) -> Values:
    """Position divided by the last position, in every column.

    Formula
    -------
    pe(p, i) = p / (L - 1), L = max-len
    with scales a: pe(p, i) = p / (L - 1) (i / (dim - 1))^a
    with raw: pe(p, i) = p

    Parameters
    ----------
    max_len
        Length L: position L - 1 maps to 1.
    scales
        Exponent a of the column's scale (i/(dim-1))^a.
    raw
        Do not normalise the position.

    Source
    ------
    a baseline of teaching texts, the position itself, normalised

    Used by
    -------
    baselines, scalar features

    Use it
    ------
    as a baseline, or if the position itself is a feature

    Not
    ---
    if neighbours must stay distinguishable in long sequences, or lengths grow

    Not recognised
    --------------
    numbers that rise evenly may be positions themselves
    """
    if scales is not None and dim == 1:
        raise BadParameter("dim", dim, "must be at least 2 with scales=: column i is scaled by (i/(dim-1))^a")
    if not raw and max_len == 1:  # left out, it is the table's length
        raise BadParameter("max-len", max_len, "must be at least 2: the position is divided by max-len - 1 = 0")
    last = 1 if raw else (max_len or 2) - 1

    @lru_cache(maxsize=1)
    def factors(unit: Fraction) -> dd.DoubleDouble:

        by = unit / last
        if scales is None:
            return dd.from_decimal([by])
        over = decimal_of(by)
        columns = (FOR_DOUBLED.power(FOR_DOUBLED.divide(i, dim - 1), scales) for i in range(dim))
        return dd.from_decimal([CONTEXT.multiply(EXACT.plus(column), over) for column in columns])

    def at(points: dd.Points) -> dd.DoubleDouble:
        return points.by(factors(points.unit)).spread((len(points), dim))

    return Values(dim, at)


def lesson(exercise: lessons.Exercise) -> Iterator[Step]:
    """Work out p / (L - 1)."""
    exercise = exercise.resolved(exercise.length or 10)
    values = exercise.recipe.values
    last = None if values["max_len"] is None else values["max_len"] - 1
    ends = 9 if last is None else last
    at = exercise.at(sorted({0, (ends + 1) // 2, ends}))
    table = exercise.arrays(at)["pe"]
    if last is None:
        lines = [f"PE({text_of(p)}) = {text_of(p)} in every column" for p in at]
    else:
        lines = [f"PE({text_of(p)}) = {text_of(p)} / ({last + 1} - 1) = {decimal_text(float(p) / last)}" for p in at]
    yield Step("the position over the last one", lines)
    scales, dim = values["scales"], values["dim"]
    if isinstance(scales, Decimal):
        lines = [
            f"column {i}: ({i}/{dim - 1})^{short(float(scales))} = {decimal_text((i / (dim - 1)) ** float(scales))}"
            for i in range(min(dim, lessons.COLUMNS))
        ]
        yield Step("a scale for each column", lines)
    yield Step("one row for each position", [lessons.by_position(at, table)])


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the position as it is, or divided by the length where the last position was meant."""
    if keys["raw"] == "true":
        return
    length = int(keys["max-len"])
    phrase = f"the position is divided by the length, {length}, where the last position, {length - 1}, was expected"
    yield Change("max-len", phrase, {"max-len": f"{length + 1}"})
    raw = instead("raw", "true", "false")
    yield Change(raw.kind, raw.text, {**raw.keys, "max-len": None})
