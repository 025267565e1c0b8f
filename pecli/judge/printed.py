"""Tables copied from a book or a slide: a few decimals, rounded or cut, often only the first columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.judge.description import Identification
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table

Floats = NDArray[np.float64]

STYLES = (
    ("sinusoidal:dim={width},base={base}", "pe", 2, np.sin),
    ("rope:dim={width},base={base}", "cos", 1, np.cos),
    ("sinusoidal:dim={width},base={base},order=sin-cos", "pe", 1, np.sin),
    ("rope:dim={width},base={base}", "sin", 1, np.sin),
)
"""Recipe, array, first column of the second pair, and its function."""
BASES = (10000, 500000, 1000000, 100, 1000)
MAX_WIDTHS = 64
"""Widths that are compared in full, the roundest first; raised, few decimals of few rows take proportionally longer."""
MAX_WIDTH = 8192
"""Widest table whose first columns are recognised; raised, the search takes proportionally longer."""


def identify_printed(table: Tabular, decimals: int) -> Identification:
    """Return the recipe whose values, with this number of decimals, are those of a file's first array.

    Parameters
    ----------
    table : Tabular
        Values with two axes: rows of positions 0, 1, .. or 1, 2, .., and the first columns or all of them.
    decimals : int
        Number of decimals that were printed.

    Returns
    -------
    Identification
        "likely", since few decimals leave other widths; a note says which.
    """
    array = next((a for a in table.arrays if len(a.shape) == 2 and a.shape[1] > 2), None)
    if array is None:
        return Identification(None, "unknown", measured=("printed tables have two axes and at least three columns",))
    values = np.asarray(table.read(array.name), np.float64)
    for start in (0, 1) if len(values) > 1 else (1,):  # row 0 is the same for every width
        for recipe, part, column, function in STYLES:
            for base in BASES:
                for how, widths in _fits(values, decimals, start, recipe, part, column, function, base):
                    width = max(widths, key=lambda w: (w & -w, -w))  # the roundest, such as a power of two
                    text = recipe.format(width=width, base=base).replace(",base=10000", "") + f",len={len(values)}"
                    text += f",start={start}" * start
                    notes = [f"every value agrees {how} to {decimals} decimals"]
                    if len(widths) > 1:
                        notes.append(f"widths from {min(widths)} to {max(widths)} give the same decimals")
                    steps = f"{decimals}-decimal"
                    return Identification(text, "likely", arithmetic=steps, notes=tuple(notes), count=values.size)
    return Identification(None, "unknown", measured=(f"no usual base and width give these {decimals} decimals",))


def _fits(
    values: Floats, decimals: int, start: int, recipe: str, part: str, column: int, function: np.ufunc, base: int
) -> Iterator[tuple[str, list[int]]]:
    """Yield how values were shortened, with the widths that give all of them."""
    rows, columns = values.shape
    least = columns if part == "pe" else 2 * columns
    widths = np.arange(least + least % 2, MAX_WIDTH + 1, 2)
    positions = np.arange(start, start + rows)
    second = function(np.outer(positions, float(base) ** (-2.0 / widths)))
    for how in ("rounded", "cut"):
        good = widths[_agree(values[:, column : column + 1], second, decimals, how).all(axis=0)]
        found = []
        for width in sorted(good.tolist(), key=lambda w: (-(w & -w), w))[:MAX_WIDTHS]:
            made = Table.parse(f"{recipe.format(width=width, base=base)},len={rows},start={start},dtype=float64")
            if _agree(values, np.asarray(made.read(part), np.float64)[:, :columns], decimals, how).all():
                found.append(width)
        if found:
            yield how, found


def _agree(printed: Floats, exact: Floats, decimals: int, how: str) -> NDArray[np.bool_]:
    """Return where exact values, rounded or cut to decimals, are the printed ones."""
    scale = 10.0**decimals
    shortened = np.round(exact * scale) if how == "rounded" else np.trunc(exact * scale)
    agreed: NDArray[np.bool_] = np.abs(printed * scale - shortened) < 0.01
    return agreed
