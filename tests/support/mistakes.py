"""What a recipe is mistaken for, as its declaration names it."""

from pecli.errors import PecliError
from pecli.spec.recipe import Recipe


def mistakes(recipe):
    """Every change that the encoding of a recipe and its parameters declare."""
    encoding, keys = recipe.encoding, recipe.keys()
    found = list(encoding.hook("mistakes")(keys)) if encoding.declares("mistakes") else []
    for parameter in encoding.parameters.values():
        if parameter.param.mistaken is not None and parameter.option in keys:
            found += parameter.param.mistaken(parameter.option, keys[parameter.option], parameter.choices)
    return found


def changed(recipe, change):
    """The recipe with the parameters of a change; None where they are not allowed."""
    keys = {key: value for key, value in {**recipe.keys(), **change.keys}.items() if value is not None}
    try:
        return Recipe.bind(recipe.encoding.name, **keys)
    except PecliError:
        return None
