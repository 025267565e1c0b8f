"""Sinusoidal tables in other people's programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.code import knows, module, number
from pecli.encodings.shared.rows_code import FIXED

TABLE = '''
DIM, BASE = {dim}, {base}


def table(length, start=0, dtype=np.float32):
    """Return the rows of positions start to start + length - 1, (length, DIM)."""
    frequencies = BASE ** (-np.arange(DIM // 2) / {half})  # radians per position
    angles = np.arange(start, start + length)[:, None] * frequencies
    pe = np.empty((length, DIM))
    pe[:, {sin}] = np.sin(angles)
    pe[:, {cos}] = np.cos(angles)
    return pe.astype(dtype)
'''
COLUMNS = {
    "interleaved": ("0::2", "1::2"),
    "sin-cos": (": DIM // 2", "DIM // 2 :"),
    "cos-sin": ("DIM // 2 :", ": DIM // 2"),
}


def code(recipe: Recipe, framework: str) -> str | None:
    """Return a module that makes the table; None for what has more than an order, a base and a spacing."""
    values: Mapping[str, Any] = recipe.values
    if not knows(recipe, ("dim", "base", "order", "shift")) or values["dim"] % 2:
        return None
    sin, cos = COLUMNS[values["order"]]
    half = "(DIM // 2)" if not values["shift"] else f"(DIM // 2 - {values['shift']})"
    made = TABLE.format(dim=values["dim"], base=number(values["base"]), half=half, sin=sin, cos=cos)
    return module(recipe, framework, made, FIXED)
