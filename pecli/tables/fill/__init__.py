"""How each kind of plan fills the rows of a table; the module of a kind is imported when it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.declare.plan import Bias, Conditional, Relative, Values, Waves
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter
from pecli.tables.request import Extent, Request

if TYPE_CHECKING:
    from pecli.declare.tabular import Tabular
    from pecli.tables.fill.conditional import Content
    from pecli.tables.fill.filler import Filler


def filler_for(
    recipe: Recipe, extent: Extent, request: Request, content: Content | None = None, base: Tabular | None = None
) -> Filler[Any]:
    """Return what fills the rows of a recipe's plan.

    Parameters
    ----------
    recipe : Recipe
        All of its parameters resolved.
    extent, request : Extent, Request
        At which positions, and as what.
    content, base : Content, Tabular, optional
        What a conditional plan reads: its content, and the rows of its base.

    Raises
    ------
    BadParameter
        For another arithmetic than the exact one, where only that is known.
    TypeError
        For a plan of a kind that nothing fills.
    """
    plan, emulated = recipe.plan, request.arithmetic != "exact"
    if emulated and not isinstance(plan, Waves):
        raise BadParameter("arithmetic", request.arithmetic, "is for rotary tables: others are computed exactly")
    match plan:
        case Waves() if emulated:
            from pecli.tables.fill.emulated import EmulatedFiller

            return EmulatedFiller(plan, recipe, extent, request)
        case Waves():
            from pecli.tables.fill.waves import WaveFiller

            return WaveFiller(plan, recipe, extent, request)
        case Values():
            from pecli.tables.fill.values import ValueFiller

            return ValueFiller(plan, recipe, extent, request)
        case Bias():
            from pecli.tables.fill.bias import BiasFiller

            return BiasFiller(plan, recipe, extent, request)
        case Relative():
            from pecli.tables.fill.relative import RelativeFiller

            return RelativeFiller(plan, recipe, extent, request)
        case Conditional() if content is not None:
            from pecli.tables.fill.conditional import ConditionalFiller

            return ConditionalFiller(plan, recipe, extent, request, content, base)
    raise TypeError(f"nothing fills a {type(plan).__name__} of {recipe.encoding.name}")
