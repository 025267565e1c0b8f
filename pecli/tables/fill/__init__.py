"""How each kind of plan fills the rows of a table; the module of a kind is imported when it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.errors import BadParameter
from pecli.spec.declaration import load
from pecli.spec.plans import Bias, Conditional, Plan, Relative, Values, Waves
from pecli.spec.recipe import Recipe
from pecli.tables.request import Extent, Request

if TYPE_CHECKING:
    from pecli.tables.fill.conditional import Parse
    from pecli.tables.fill.filler import Filler

FILLERS: dict[type[Plan], str] = {
    Waves: ".waves:WaveFiller",
    Values: ".filler:ValueFiller",
    Bias: ".pairs:BiasFiller",
    Relative: ".pairs:RelativeFiller",
    Conditional: ".conditional:ConditionalFiller",
}


def filler_for(recipe: Recipe, extent: Extent, request: Request, parse: Parse) -> Filler[Any]:
    """Return the filler for the rows of a recipe's plan.

    Parameters
    ----------
    recipe : Recipe
        All of its parameters resolved.
    extent, request : Extent, Request
        At which positions, and as what.
    parse : callable
        Gives the tables that a conditional plan reads.

    Raises
    ------
    BadParameter
        For another arithmetic than the exact one, where only that is known.
    TypeError
        For a plan of a kind that nothing fills: a fault of the declaration.
    """
    plan, word = recipe.plan, FILLERS.get(type(recipe.plan))
    if word is None:
        raise TypeError(f"nothing fills a {type(plan).__name__} of {recipe.encoding.name}")
    if request.arithmetic != "exact":
        if not isinstance(plan, Waves):
            raise BadParameter("arithmetic", request.arithmetic, "is for rotary tables: others are computed exactly")
        word = ".waves:EmulatedFiller"
    elif isinstance(plan, Waves) and (plan.axes or plan.ramps or plan.cross is not None):
        word = ".waves:LookupFiller"
    more = [parse] if isinstance(plan, Conditional) else []
    made: Filler[Any] = load(word, __name__)(plan, recipe, extent, request, *more)
    return made
