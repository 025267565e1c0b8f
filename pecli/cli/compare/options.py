"""The options of ``compare``."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pecli.cli.completion import source_words
from pecli.cli.options import Dtype, Json, LayerType, Limit, Option, Precision, Quiet, TrustRecipe, positions, whole
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer, parse_number
from pecli.records import dataclass

OF_COST = ("len", "dim", "layers", "dtype")
TOLERANCES = ("atol", "rtol", "ulp", "digits")


def tolerance(name: str, given: str) -> Decimal:
    """Return a number of 0 or above."""
    value = parse_number(name, given)
    if value < 0:
        raise BadParameter(name, given, "must be 0 or above")
    return value


def whole_tolerance(name: str, given: str) -> int:
    """Return a whole number of 0 or above."""
    return parse_integer(name, tolerance(name, given))


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What ``compare`` may be given."""

    sources: Annotated[
        tuple[str, ...], Option("Two sources or more.", "SOURCE...", argument=True, complete=source_words)
    ] = ()
    atol: Annotated[Decimal | None, Option("Absolute tolerance.", "X", check=tolerance)] = None
    rtol: Annotated[Decimal | None, Option("Tolerance relative to the second value.", "X", check=tolerance)] = None
    ulp: Annotated[int | None, Option("Tolerance in units in the last place.", "N", check=whole_tolerance)] = None
    heads: Annotated[
        int | None,
        Option(
            "Heads of query or key weights: are rows permuted? With --cost, of the model.", "N", check=whole(1, 1 << 16)
        ),
    ] = None
    digits: Annotated[
        int | None, Option("Equal as printed with so many decimals, copied by hand.", "N", check=whole_tolerance)
    ] = None
    stacks: Annotated[bool, Option("Of a model's config.json: which stacks agree, and on what it hangs.")] = False
    all: Annotated[bool, Option("The facts of every encoding.")] = False
    cost: Annotated[bool, Option("Trained values, bytes, additions and products, in a model of this size:")] = False
    len: Annotated[int | None, Option("Positions; for --cost (default 4096).", "N", check=positions(1))] = None
    dim: Annotated[
        int | None, Option("The model's width; for --cost (default 4096).", "D", check=whole(1, 1 << 24))
    ] = None  # fmt: skip
    layers: Annotated[int | None, Option("Layers; for --cost (default 32).", "N", check=whole(1, 1 << 16))] = None
    dtype: Dtype = None
    values: Annotated[bool, Option("Compare the values of recipes, not their facts.")] = False
    layer_type: LayerType = None
    trust_recipe: TrustRecipe = False
    precision: Precision = None
    limit: Limit = None
    json: Json = False
    quiet: Quiet = False
