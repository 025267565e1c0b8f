"""Tables copied from a book or a slide: a few decimals, rounded or cut, often only the first columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pecli.formats.decimals import digits_text, printed_digits
from pecli.judge.description import Identification
from pecli.judge.planes import EPSILON
from pecli.numbers.rounding import floats
from pecli.spec.recipe import join_recipe, split_recipe
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.alignment import table_like
from pecli.tables.comparison import compare_tables
from pecli.tables.figures import Tolerance
from pecli.tables.sources import read_source
from pecli.tables.table import Table

Floats = NDArray[np.float64]

NONE = Identification(None, "unknown")
# Recipe, array, first column of the second pair, and its function.
STYLES = (
    ("sinusoidal:dim={width},base={base}", "pe", 2, np.sin),
    ("rope:dim={width},base={base}", "cos", 1, np.cos),
    ("sinusoidal:dim={width},base={base},order=sin-cos", "pe", 1, np.sin),
    ("rope:dim={width},base={base}", "sin", 1, np.sin),
)
BASES = (10000, 500000, 1000000, 100, 1000)
# Widths that are compared in full, the roundest first; raised, few decimals of few rows take proportionally longer.
MAX_WIDTHS = 64
# Widest table whose first columns are recognised; raised, the search takes proportionally longer.
MAX_WIDTH = 8192


# Type whose own rounding hides that of a number of digits; fewer digits than these are hidden by none.
HIDING = {3: "float16", 4: "float16", 5: "float16", 6: "float16", 7: "float32", 8: "float32"}
# Values that are read again with few digits.
MAX_VALUES = 1 << 20
# Notes about the coarse type, which the file does not have.
WITHIN = re.compile("every value within|[0-9,]+ (of [0-9,]+ )?values (within|do not fit)")


def identify_digits(table: Tabular, identify: Callable[[Tabular], Identification]) -> Identification | None:
    """Return the recipe whose values were printed with few digits; None where values have more, or none fits.

    The values are identified in a type that hides the rounding of the digits; then all of them are compared with
    those of the recipe, with as many digits.
    """
    if not table.arrays or any(a.dtype not in EPSILON for a in table.arrays):
        return None
    if sum(a.rows * math.prod(a.row_shape) for a in table.arrays) > MAX_VALUES:
        return None
    arrays = {a.name: floats(table.read(a.name), a.dtype).astype(np.float64) for a in table.arrays}
    printed = printed_digits(next(iter(arrays.values())), EPSILON[table.arrays[0].dtype])
    if printed is None:
        return None
    digits, significant = printed
    words = digits_text(digits, significant)
    found = None
    if digits in HIDING:
        seen = identify(InMemory({name: values.astype(HIDING[digits]) for name, values in arrays.items()}))
        if seen.recipe or seen.nearest:
            name, keys = split_recipe(seen.recipe or seen.nearest or "")
            keys.pop("dtype", None)
            recipe = join_recipe(name, keys)
            exact = table_like(read_source(join_recipe(name, {**keys, "dtype": "float64"})), table)
            half = 0.5 * 10.0**-digits  # of the last digit; float32 values may lie on the other side of a middle
            rounding = Tolerance(0.0 if significant else half, half * 10 * significant + EPSILON["float32"])
            phases = replace(rounding, atol=rounding.atol + EPSILON["float32"] * _last(exact))
            for tolerance, of in ((rounding, "the exact one"), (phases, "that of float32 phases, within their error,")):
                if compare_tables(table, exact, tolerance).equal:
                    others = [note for note in seen.notes if not WITHIN.match(note)]
                    notes = (f"every value is {of} to {words}", *others)
                    return replace(
                        seen, recipe=recipe, confidence="sure", arithmetic=words, notes=notes, equal=0.0, measured=()
                    )
        if seen.recipe:
            notes = (f"printed with {words}", *(note for note in seen.notes if not WITHIN.match(note)))
            found = replace(seen, recipe=recipe, confidence="likely", notes=notes)
    other = NONE if significant else identify_printed(table, digits)
    return other if other.recipe is not None else found


def _last(table: Table) -> float:
    """Return the largest position."""
    count = table.positions.count
    return float(np.abs(table.positions.numbers(count - 1, count)).max(initial=0))


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
    real = [array for array in table.arrays if not array.dtype.startswith("complex")]
    array = next((a for a in real if len(a.shape) == 2 and a.shape[1] > 2), None)
    if array is None:
        text = "printed tables have two axes and at least three columns of real numbers"
        return Identification(None, "unknown", measured=(text,))
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
                    steps = f"{decimals} decimals"
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
    """Return where exact values, rounded or cut to decimals, are the printed ones, but for float32 phases."""
    scale = 10.0**decimals
    slack = 0.01 + scale * EPSILON["float32"] * (1 + len(printed))
    off = (printed - exact) * scale
    agreed: NDArray[np.bool_] = np.abs(off) < 0.5 + slack
    if how == "cut":
        agreed = (off * np.sign(exact) < slack) & (off * np.sign(exact) > -1 - slack)
    return agreed
