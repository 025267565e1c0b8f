"""What lies past the training length, where encodings of one kind have the same answer: hooks `extend`."""

from __future__ import annotations

from pecli.spec.hooks import Reach
from pecli.spec.recipe import Recipe


def phases(recipe: Recipe) -> Reach:
    """Say it of sines and cosines of positions; a grid has only its points."""
    if recipe.rows is not None:
        return grid(recipe)
    return Reach("phases", "sines and cosines of the new positions, by the same formula")


def biases(recipe: Recipe) -> Reach:
    """Say it of a bias that is computed at any distance."""
    return Reach("biases", "the bias of each new distance, by the same formula")


def vectors(recipe: Recipe) -> Reach:
    """Say it of trained rows, one for each near distance or bucket of distances."""
    return Reach("vectors", "the trained rows as they are: far distances share the last")


def values(recipe: Recipe) -> Reach:
    """Say it of numbers computed of the position itself."""
    return Reach("values", "the same formula at the new positions")


def grid(recipe: Recipe) -> Reach:
    """Say it of the rows of a grid."""
    return Reach("grid", "nothing: another grid is another table", "give a larger grid, or more points")


def content(recipe: Recipe) -> Reach:
    """Say it of rows that are made of the content around them."""
    return Reach("content", "the content of the new positions")


def nothing(recipe: Recipe) -> Reach:
    """Say it where there are no values at all."""
    return Reach("nothing", "nothing: the causal mask alone carries order")
