"""What a recipe is mistaken for, as its declaration names it."""

from pecli.errors import PecliError
from pecli.spec.hooks import other_bases
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.recipe import Recipe


def mistakes(recipe):
    """Every change that the encoding of a recipe and its parameters declare."""
    encoding, keys = recipe.encoding, recipe.keys()
    found = list(other_bases(keys, *PUBLISHED_BASES))
    found += encoding.hook("mistakes")(keys) if encoding.declares("mistakes") else []
    return found


def changed(recipe, change):
    """The recipe with the parameters of a change; None where they are not allowed."""
    keys = {key: value for key, value in {**recipe.keys(), **change.keys}.items() if value is not None}
    try:
        return Recipe.bind(recipe.encoding.name, **keys)
    except PecliError:
        return None
