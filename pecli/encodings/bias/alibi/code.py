"""ALiBi in other people's programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.bias_code import TAILS
from pecli.encodings.shared.code import knows, module, number

TABLE = '''
HEADS, BIAS_MAX = {heads}, {most}


def slopes():
    """Return the slope of each head; of a number that is no power of two, first those of the one below."""
    whole = 1 << (HEADS.bit_length() - 1)
    first = [2.0 ** (-BIAS_MAX * k / whole) for k in range(1, whole + 1)]
    return first + [2.0 ** (-BIAS_MAX * k / (2 * whole)) for k in range(1, 2 * (HEADS - whole), 2)]


def table(length, dtype=np.float32):
    """Return the bias of each head, query and key, (HEADS, length, length): add it to the logits."""
    distance = np.abs(np.arange(length) - np.arange(length)[:, None])
    return (-np.array(slopes())[:, None, None] * distance).astype(dtype)
'''


def code(recipe: Recipe, framework: str) -> str | None:
    """Return a module that makes the bias; None for another than the symmetric one of the frameworks' slopes."""
    if not knows(recipe, ("heads", "bias_max")):
        return None
    values: Mapping[str, Any] = recipe.values
    made = TABLE.format(heads=values["heads"], most=number(values["bias_max"]))
    return module(recipe, framework, made, TAILS)
