"""Tables printed with few digits: the recipe whose values have these digits, and values that do not fit."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import product

import numpy as np

from pecli.errors import PecliError
from pecli.formats.decimals import how_printed
from pecli.judge.description import NONE, Identification
from pecli.judge.frequencies import BASES
from pecli.judge.orders import numbered
from pecli.judge.planes import EPSILON, Floats
from pecli.judge.rows import floats as read_floats
from pecli.spec.tabular import Tabular
from pecli.tables.alignment import table_like
from pecli.tables.sources import read_source
from pecli.tables.table import Table
from pecli.tables.views import pair_views

# Recipe, array, first column of the second pair, and its function.
STYLES = (
    ("sinusoidal:dim={width},base={base}", "pe", 2, np.sin),
    ("rope:dim={width},base={base}", "cos", 1, np.cos),
    ("sinusoidal:dim={width},base={base},order=sin-cos", "pe", 1, np.sin),
    ("rope:dim={width},base={base}", "sin", 1, np.sin),
    ("rope:dim={width},base={base},layout=pairs", "cos_sin", 2, np.cos),
    ("rope:dim={width},base={base},layout=concat", "cos_sin", 1, np.cos),
    *((f"rope:dim={{width}},base={{base}},layout={layout}", part, column, wave)
      for layout, column in (("half", 1), ("interleaved", 2)) for part, wave in (("cos", np.cos), ("sin", np.sin))),
)  # fmt: skip
# How printed values agree with a recipe, the closest first; of float32 phases, by how many units of the last digit.
MAX_PHASES = 16
AGREES = {
    "rounded": "agrees rounded",
    "cut": "agrees cut",
    "phases": "is that of float32 phases (within their rounding)",
}
# Widths that are compared in full, the roundest first; raised, few decimals of few rows take proportionally longer.
MAX_WIDTHS = 64
# Pairs after the first, and rows, by which widths are chosen before all rows are compared: first a few.
MAX_PRINTED_PAIRS, FIRST_PRINTED_ROWS, MAX_PRINTED_ROWS = 5, 16, 256
# Widest table whose first columns are recognised; raised, the search takes proportionally longer.
MAX_WIDTH = 8192


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
        return replace(NONE, measured=("printed tables have two axes and at least three columns of real numbers",))
    values = np.asarray(table.read(array.name), np.float64)
    starts = (0, 1) if len(values) > 1 else (1,)  # row 0 is the same for every width
    for start, (recipe, part, column, function), base in product(starts, STYLES, BASES):
        text = f"{recipe.replace(',base={base}', '') if base == BASES[0] else recipe},len={len(values)}"
        text += f",start={start}" * start
        each = 2 if part in ("cos", "sin") and "layout" not in recipe else 1  # columns of the width that one stands for
        widths = _widths(values, decimals, start, each, column, function, base)
        by_way: dict[str, list[int]] = {way: [] for way in (*AGREES, "")}
        for width in widths:
            made = Table.parse(f"{text.format(width=width, base=base)},dtype=float64")
            exact = np.asarray(made.read(part), np.float64).reshape(len(values), -1)[:, : values.shape[1]]
            own = np.full_like(exact, 10.0**-decimals / 100 + EPSILON[array.dtype])
            phases = own + 2 * EPSILON["float32"] * (1 + len(values))
            how = how_printed(values, exact, own, (decimals, False)) if own.max() < 0.1**decimals else ""
            if not how and phases.max() < MAX_PHASES * 0.1**decimals:
                how = "phases" * bool(how_printed(values, exact, phases, (decimals, False)))
            by_way[how].append(width)
        for how, agrees in AGREES.items():
            if found := by_way[how]:
                notes = [f"every value {agrees} to {decimals} decimals"]
                if len(found) > 1:
                    notes.append(f"widths from {min(found)} to {max(found)} give the same decimals")
                if found[0] > values.shape[1] * each:
                    notes.append(f"the file holds the first {values.shape[1]} columns")
                text = text.format(width=found[0], base=base)
                steps = f"{decimals} decimals"
                return Identification(text, "likely", arithmetic=steps, notes=tuple(notes), count=values.size)
    return replace(NONE, measured=(f"no usual base and width give these {decimals} decimals",))


def _widths(
    values: Floats, decimals: int, start: int, each: int, column: int, function: np.ufunc, base: int
) -> list[int]:
    """Return the widths whose first pairs have the printed values, the roundest first, such as a power of two."""
    least = each * values.shape[1]
    widths = np.arange(least + least % 2, MAX_WIDTH + 1, 2)
    most = 1.02 * 10.0**-decimals + 2 * EPSILON["float32"] * len(values)
    pairs = range(1, 1 + min(MAX_PRINTED_PAIRS, (values.shape[1] - 1) // column))
    for rows, pair in product((FIRST_PRINTED_ROWS, MAX_PRINTED_ROWS), pairs):
        few = values[:rows, pair * column, None]
        made = function(np.outer(np.arange(start, start + len(few)), float(base) ** (-2.0 * pair / widths)))
        widths = widths[(np.abs(few - made) <= most).all(axis=0) | (2 * pair >= widths)]
    return sorted(widths.tolist(), key=lambda w: (-(w & -w), w))[:MAX_WIDTHS]


def unlike_printed(found: Identification, table: Tabular, last: float, words: str, *, significant: bool) -> str:
    """Return which printed values are more than one unit of the last digit off a recipe's, or that their rounding is.

    A recipe with notes, as on a sign or an arrangement, gives other values than the file's.
    """
    both = list[list[Floats]]()
    with contextlib.suppress(PecliError):
        exact = table_like(read_source(f"{found.recipe},dtype=float64"), table)
        both = [[read_floats(view, 0, view.rows) for view in pair] for pair in pair_views(table, exact)[0]]
    if found.notes or not both or any(v.shape != x.shape for v, x in both):
        return f"printed with {words}"
    bad = [~(np.abs(v - x) <= last * (10 * np.abs(x) if significant else 1.0)) for v, x in both]
    rows = np.flatnonzero(np.logical_or.reduce([one.any(axis=1) for one in bad]))
    if not len(rows):
        return f"printed with {words}, as another rounding than the recipe's leaves them"
    many = sum(int(one.sum()) for one in bad)
    unlike = f"{many:,} values do not fit" if many > 1 else "1 value does not fit"
    return f"{unlike}, in {numbered('row', rows)}; all others agree to {words}"
