"""Behaviour past the training length, where encodings of one kind have the same answer: hooks `extend`."""

from __future__ import annotations

from collections.abc import Callable

from pecli.spec.hooks import New, Reach
from pecli.spec.recipe import Recipe


def _always(new: New, longer: str, remedy: str = "") -> Callable[[Recipe], Reach]:
    """Return the hook that gives one answer whatever the parameters."""
    return lambda recipe: Reach(new, longer, remedy)


biases = _always("biases", "the bias of each new distance, by the same formula")
vectors = _always("vectors", "the trained rows as they are: far distances share the last")
values = _always("values", "the same formula at the new positions")
grid = _always("grid", "nothing: another grid is another table", "give a larger grid, or more points")
content = _always("content", "the content of the new positions")
nothing = _always("nothing", "nothing: the causal mask alone carries order")


def phases(recipe: Recipe) -> Reach:
    """Return the length behaviour of sines and cosines of positions; a grid has only its points."""
    if recipe.rows is not None:
        return grid(recipe)
    return Reach("phases", "sines and cosines of the new positions, by the same formula")
