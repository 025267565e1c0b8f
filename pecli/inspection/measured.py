"""Figures of a recipe's table, and a table of an encoding's example to measure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Encoding
from pecli.declare.plan import Bias, Waves
from pecli.encodings.recipe import Recipe
from pecli.inspection.facts import formula_value
from pecli.inspection.readings import readings
from pecli.inspection.rows import matrix_shift, nearest_rows, pair_shift
from pecli.inspection.samples import take
from pecli.numbers.printing import between, figure
from pecli.tables.table import Table, rows_of

ROWS = 192  # of the measured table: enough for the distances and the fits, small enough to be instant
MOST_VALUES = 1 << 21  # of the measured table: 192 rows of a width of 10,922
SHIFT = 3  # of the fitted matrix


def example_table(encoding: Encoding, rows: int = ROWS, **keys: Any) -> Table:
    """Return a float64 table of the encoding's example; as many rows as it has, at most `rows`."""
    recipe = Recipe.parse(encoding.example)
    if "max_len" in encoding.parameters:  # an example ends early; what is measured needs more rows
        recipe = Recipe.bind(encoding.name, **{**recipe.keys(), "max-len": max(rows, ROWS)})
    return _table(recipe, rows, **keys)


def _table(recipe: Recipe, rows: int = ROWS, **keys: Any) -> Table:
    """Return a float64 table of a recipe; as many rows as it has, at most `rows` where that is open."""
    longest = recipe.encoding.facts.longest
    if rows_of(recipe) is not None:
        return Table.make(recipe, dtype="float64", **keys)
    if longest != "unlimited" and not recipe.open_parameters:
        rows = min(rows, formula_value(longest, recipe.values))
    return Table.make(recipe, length=rows, dtype="float64", **keys)


def matrix(table: Table) -> NDArray[np.float64]:
    """Return the table's values as (n, columns), cos and sin side by side, or (heads, n, n)."""
    arrays = [_real(table.read(a.name)) for a in table.arrays if a.axes[:1] != ("",)]
    if isinstance(table.plan, Bias):
        return arrays[0]
    n = arrays[0].shape[0]
    return np.concatenate([a.reshape(n, -1) for a in arrays if a.shape[0] == n], axis=1)


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return values as float64, the two parts of complex ones side by side."""
    return values.view(np.float64) if values.dtype.kind == "c" else np.asarray(values, np.float64)


def figures(recipe: Recipe) -> dict[str, str]:
    """Return measured figures of a recipe: of a table of 192 rows, in float64, and of its frequencies.

    Of what is very wide fewer rows are measured; where there can be no fewer (a grid), none.
    """
    table = _small(recipe)
    if _size(table) > MOST_VALUES:
        return {"rows measured": f"none: {_size(table):,} values, and {MOST_VALUES:,} are the most"}
    values = matrix(table)
    finite = values[np.isfinite(values)]
    found = {
        "rows measured": str(values.shape[-2]),
        "smallest value": figure(finite.min()),
        "largest value": figure(finite.max()),
        "trained values now": str(formula_value(recipe.encoding.facts.parameters, table.source.values)),
    }
    if values.ndim == 2 and len(values) > 1:
        gaps = np.linalg.norm(values[1:] - values[:-1], axis=1)
        found["distance of neighbours"] = between(gaps.min(), gaps.max(), 4)
        found["nearest two rows"] = figure(nearest_rows(values)[0], 4)
        off = _shifted(table, values)
        rule = "not measured: fitting it takes more rows than columns"
        found[f"shift by {SHIFT} as one matrix"] = rule if off is None else f"off by {off:.1e}"
    plan = table.plan
    if isinstance(plan, Waves):
        waves = [2 * np.pi / abs(float(w)) for w in plan.frequencies if w]
        if waves and not any(band.turns for band in plan.bands):
            found["wavelengths"] = between(min(waves), max(waves), 4)
    return found


def _small(recipe: Recipe) -> Table:
    """Return the table that is measured, of fewer rows where it is very wide."""
    table, rows = _table(recipe), ROWS
    while _size(table) > MOST_VALUES and rows > 2:
        rows = max(2, rows // 2)
        table = _table(recipe, rows)
    return table


def _size(table: Table) -> int:
    """Return how many values a table has."""
    return sum(math.prod(array.shape) for array in table.arrays)


def _shifted(table: Table, values: NDArray[np.float64]) -> float | None:
    """Return how far the best matrix is off; a table of turning pairs is measured pair by pair, whatever its width."""
    reading = next(iter(readings(take(table))), None)
    if reading is not None and len(reading.first) == len(values) and len(values) > 2 * SHIFT:
        return pair_shift(reading, SHIFT)
    return matrix_shift(values, SHIFT)
