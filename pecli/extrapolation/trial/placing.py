"""How an encoding enters the model of the trial: from its table, in the model's size."""

from __future__ import annotations

from typing import Any

import numpy as np

from pecli.declare.encoding import Family
from pecli.declare.plan import Bias, Values, Waves
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter, PecliError
from pecli.extrapolation.trial.model import HEAD, HEADS, WIDTH, Floats, Placing
from pecli.tables.table import Table

TRAIN = 64


def fitted(recipe: Recipe, train: int = TRAIN) -> Recipe:
    """Return the recipe with the model's width, heads and training length.

    Raises
    ------
    BadParameter
        If the model has no place for the encoding.
    """
    encoding = recipe.encoding
    sizes = {"dim": HEAD if encoding.family is Family.ROTARY else WIDTH, "heads": HEADS}
    own = {name: size for name, size in sizes.items() if name in encoding.parameters}
    given: dict[str, Any] = {**recipe.keys(), **own}
    if encoding.facts.learned and "max_len" in encoding.parameters:
        given["max-len"] = train
    made = Recipe.bind(encoding.name, **given)
    try:
        placing(made, 2, train)
    except (PecliError, NotImplementedError) as error:
        reason = error.rule if isinstance(error, BadParameter) else str(error)
        raise BadParameter("SOURCE", encoding.name, f"has no place in the probe: it {reason}") from error
    return made


def fitted_by_name(name: str, train: int = TRAIN) -> Recipe:
    """Return the recipe of an encoding with the model's width and its defaults."""
    from pecli.encodings import find

    parameters = find(name).parameters
    given = {key: 2 for key in ("dim", "heads") if key in parameters}
    return fitted(Recipe.bind(name, **given), train)


def placing(recipe: Recipe, length: int, train: int) -> Placing:
    """Return how positions 0 .. length-1 of a recipe enter the model.

    Raises
    ------
    PecliError
        Where a position has no value, or the model has no place for the encoding.
    """
    family, plan_needs = recipe.encoding.family, recipe.open_parameters
    if plan_needs:
        recipe = recipe.resolve(length=train if recipe.encoding.facts.learned else length, last=length - 1, whole=True)
    plan = recipe.plan
    table = Table.make(recipe, length=length)
    names = tuple(array.name for array in table.arrays)
    if (
        family is Family.ABSOLUTE
        and isinstance(plan, Waves | Values)
        and names == ("pe",)
        and table.arrays[0].shape[1] == WIDTH
    ):
        return Placing(vectors=table.read("pe"), trained=recipe.encoding.facts.learned)
    turns = family is Family.ROTARY and names in (("cos", "sin"), ("cos", "sin", "scale"))
    if turns and all(array.shape[1] <= HEAD // 2 for array in table.arrays):
        widened = {name: _padded(table.read(name), 0.0 if name == "sin" else 1.0) for name in names}
        return Placing(cos=widened["cos"], sin=widened["sin"], scale=widened.get("scale"))
    if isinstance(plan, Bias) and "bias" in names and table.array("bias").shape[0] == HEADS:
        return Placing(bias=np.maximum(table.read("bias"), np.float32(-1e9)))
    if family is Family.NONE:
        return Placing()
    rule = f"is {family.word} with {', '.join(names)}, and the model takes vectors, cos and sin, or a bias of each head"
    raise BadParameter("SOURCE", recipe.encoding.name, rule)


def _padded(values: Floats, rest: float) -> Floats:
    """Return (n, width) as (n, HEAD/2): pairs beyond the rotary width stand still."""
    return np.pad(values, ((0, 0), (0, HEAD // 2 - values.shape[1])), constant_values=rest)
