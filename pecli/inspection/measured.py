"""What the values of an encoding's example say of its declared facts, and figures of a recipe's table.

Every field of :class:`pecli.declare.encoding.Facts` is measured here from values alone, so that a declaration cannot
claim what is not so.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Encoding, Family
from pecli.declare.plan import Bias, Waves
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.inspection.facts import formula_value
from pecli.inspection.rows import matrix_shift, nearest_rows, pair_shift
from pecli.measures.readings import readings
from pecli.measures.samples import take
from pecli.numbers.printing import between, figure
from pecli.tables.table import Table

ROWS = 192  # of the measured table: enough for the distances and the fits, small enough to be instant
SHIFT = 3  # of the fitted matrix


def measured(encoding: Encoding) -> dict[str, object]:
    """Return what the values of the encoding's example say of each fact that values can tell."""
    table = example_table(encoding)
    values = matrix(table)
    return {
        "beyond": _beyond(encoding),
        "bounded": _bounded(encoding),
        "unique": _unique(values),
        "relative": _relative(table, values),
        "multi_scale": _multi_scale(values),
        "cost": sum(array.bytes for array in table.arrays) // 8,
    }


def example_table(encoding: Encoding, rows: int = ROWS, **keys: Any) -> Table:
    """Return a float64 table of the encoding's example; as many rows as it has, at most `rows`."""
    recipe = Recipe.parse(encoding.example)
    if "max_len" in encoding.parameters:  # an example ends early; what is measured needs more rows
        recipe = Recipe.bind(encoding.name, **{**recipe.keys(), "max-len": max(rows, ROWS)})
    longest = encoding.facts.longest
    if recipe.rows is not None:
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
    """Return measured figures of a recipe: of a table of 192 rows, in float64, and of its frequencies."""
    table = Table.make(recipe, length=_length(recipe) if recipe.rows is None else None, dtype="float64")
    values = matrix(table)
    finite = values[np.isfinite(values)]
    found = {
        "rows measured": str(table.arrays[0].shape[0]),
        "smallest value": figure(finite.min()),
        "largest value": figure(finite.max()),
        "trained values now": str(formula_value(recipe.encoding.facts.parameters, table.source.values)),
    }
    if values.ndim == 2 and len(values) > 1:
        gaps = np.linalg.norm(values[1:] - values[:-1], axis=1)
        found["distance of neighbours"] = f"{between(gaps.min(), gaps.max(), 4)}"
        found["nearest two rows"] = figure(nearest_rows(values)[0], 4)
        off = _shifted(table, values)
        rule = "not measured: fitting it takes more rows than columns"
        found[f"shift by {SHIFT} as one matrix"] = rule if off is None else f"off by {off:.1e}"
    plan = table.plan
    if isinstance(plan, Waves):
        waves = [2 * np.pi / abs(float(w)) for w in plan.frequencies if w]
        if waves and not any(band.turns for band in plan.bands):
            found["wavelengths"] = f"{figure(min(waves), 4)} to {figure(max(waves), 4)}"
    return found


def _shifted(table: Table, values: NDArray[np.float64]) -> float | None:
    """Return how far the best matrix is off; a table of turning pairs is measured pair by pair, whatever its width."""
    reading = next(iter(readings(take(table))), None)
    if reading is not None and len(reading.first) == len(values) and len(values) > 2 * SHIFT:
        return pair_shift(reading, SHIFT)
    return matrix_shift(values, SHIFT)


def _length(recipe: Recipe) -> int:
    longest = recipe.encoding.facts.longest
    known = longest != "unlimited" and not recipe.open_parameters
    return min(ROWS, formula_value(longest, recipe.values)) if known else ROWS


def _beyond(encoding: Encoding) -> Literal["defined", "ends"]:
    recipe = Recipe.parse(encoding.example)
    try:
        Table.make(recipe, start=2**52, length=2)
    except PecliError:
        return "ends"
    return "defined"


def _bounded(encoding: Encoding) -> bool:
    """Whether values far out are no larger than a few times those near 0."""
    if _beyond(encoding) == "ends":
        return True
    recipe = Recipe.parse(encoding.example)
    if encoding.family is Family.BIAS:
        near, far = (matrix(Table.make(recipe, length=64, step=s, dtype="float64")) for s in (1, 10**9))
    else:
        near, far = (matrix(Table.make(recipe, length=64, start=s, dtype="float64")) for s in (0, 10**9))
    finite = near[np.isfinite(near)], far[np.isfinite(far)]
    return bool(np.abs(finite[1]).max(initial=0) <= 4 * np.abs(finite[0]).max(initial=0) + 1)


def _unique(values: NDArray[np.float64]) -> bool:
    rows = values.reshape(-1, values.shape[-1]) if values.ndim == 2 else np.concatenate(list(values), axis=1)
    return len(np.unique(rows, axis=0)) == len(rows)


def _relative(table: Table, values: NDArray[np.float64]) -> Literal["no", "rotation", "distance"]:
    window = table.plan.window if isinstance(table.plan, Bias) else None
    if window is not None:  # the distance has two axes
        tokens = (window.height, window.width)
        pairs = table.read("index")[int(window.cls) :, int(window.cls) :].reshape(*tokens, *tokens)
        down = np.array_equal(pairs[1:, :, 1:], pairs[:-1, :, :-1])
        return "distance" if down and np.array_equal(pairs[:, 1:, :, 1:], pairs[:, :-1, :, :-1]) else "no"
    indices = [a.name for a in table.arrays if a.name.startswith("index")]
    if indices:  # which vector a query and a key meet with
        values = table.read(indices[0])[None]
    if values.ndim == 3:
        same = np.array_equal(values[:, 1:, 1:], values[:, :-1, :-1])
        return "distance" if same else "no"
    off = matrix_shift(values, SHIFT)
    return "rotation" if off is not None and off < 1e-6 and np.ptp(values) > 0 else "no"


def _multi_scale(values: NDArray[np.float64]) -> bool:
    """Whether columns (heads of a bias) change at rates that differ by about a factor of two or more."""
    columns = values[:, 0, :].T if values.ndim == 3 else values
    finite = np.where(np.isfinite(columns), columns, 0.0)
    rate = np.sqrt((np.diff(finite, axis=0) ** 2).mean(axis=0))  # squares: a narrow peak counts as fast
    rate = rate[rate > 0]
    return bool(len(rate) > 1 and rate.max() > 1.7 * rate.min())
