"""What the values of an encoding's example say of its declared facts.

Every field of :class:`pecli.spec.declaration.Facts` is measured here from values alone, so that a declaration cannot
claim what is not so.
"""

import numpy as np

from pecli.errors import PecliError
from pecli.inspect.facts import example_table
from pecli.spec.declaration import Family
from pecli.spec.plans import Bias
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table

SHIFT = 3  # of the fitted matrix


def matrix(table):
    """Return the table's values as (n, columns), cos and sin side by side, or (heads, n, n)."""
    values = [table.read(a.name) for a in table.arrays if a.axes[:1] != ("",)]
    arrays = [v.view(np.float64) if v.dtype.kind == "c" else np.asarray(v, np.float64) for v in values]
    if isinstance(table.plan, Bias):
        return arrays[0]
    n = arrays[0].shape[0]
    return np.concatenate([a.reshape(n, -1) for a in arrays if a.shape[0] == n], axis=1)


def measured(encoding):
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


def _beyond(encoding):
    recipe = Recipe.parse(encoding.example)
    try:
        Table.make(recipe, start=2**52, length=2)
    except PecliError:
        return "ends"
    return "defined"


def _bounded(encoding):
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


def _unique(values):
    rows = values.reshape(-1, values.shape[-1]) if values.ndim == 2 else np.concatenate(list(values), axis=1)
    return len(np.unique(rows, axis=0)) == len(rows)


def _relative(table, values):
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
    before, after = values[:-SHIFT], values[SHIFT:]
    if len(before[::2]) <= values.shape[1] or not np.ptp(values):
        return "no"
    matrix = np.linalg.lstsq(before[::2], after[::2], rcond=1e-12)[0]  # fitted to every other row
    off = np.abs(before[1::2] @ matrix - after[1::2]).max() / np.abs(values).max()
    return "rotation" if off < 1e-6 else "no"


def _multi_scale(values):
    """Whether columns (heads of a bias) change at rates that differ by about a factor of two or more."""
    columns = values[:, 0, :].T if values.ndim == 3 else values
    finite = np.where(np.isfinite(columns), columns, 0.0)
    rate = np.sqrt((np.diff(finite, axis=0) ** 2).mean(axis=0))  # squares: a narrow peak counts as fast
    rate = rate[rate > 0]
    return bool(len(rate) > 1 and rate.max() > 1.7 * rate.min())
