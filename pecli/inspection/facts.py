"""Facts of encodings: as declared, as measured, and what they speak for.

Every field of :class:`pecli.declare.encoding.Facts` is measured here from values alone, on
the encoding's example, so that a declaration cannot claim what is not so.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pecli.declare.encoding import Encoding, Facts, Family
from pecli.declare.plan import Bias
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError, UnknownName
from pecli.inspection.purposes import PURPOSES
from pecli.tables.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS = 192  # of the measured table: enough for the distances and the fits, small enough to be instant
TITLES: Mapping[str, str] = {
    "type": "type",
    "acts": "acts on",
    "learned": "learned",
    "parameters": "trained values",
    "longest": "longest",
    "beyond": "past its length",
    "bounded": "bounded",
    "unique": "unique rows",
    "relative": "shift acts as",
    "multi_scale": "multi-scale",
    "cost": "values held",
    "token": "work per token",
}
ACTS = {
    Family.ABSOLUTE: ("embedding", "dim additions"),
    Family.ROTARY: ("queries and keys", "3 dim multiplications and additions"),
    Family.BIAS: ("logits", "heads n additions"),
    Family.RELATIVE: ("keys", "n dim products"),
    Family.CONDITIONAL: ("embedding", "dim additions after the gate"),
    Family.NONE: ("nothing", "none"),
}


def sheet(encoding: Encoding) -> dict[str, str]:
    """Return the declared facts as words, by the keys of `TITLES`."""
    facts = encoding.facts
    acts, token = ACTS[encoding.family]
    words = {"type": encoding.family.word, "acts": acts, "token": token}
    for key in TITLES:
        if key not in words:
            value = getattr(facts, key)
            words[key] = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    return {key: words[key] for key in TITLES}


@dataclass(frozen=True)
class Verdict:
    """Whether an encoding fits a purpose, and why."""

    fits: bool
    reasons: tuple[str, ...]


def verdict(encoding: Encoding, purpose: str) -> Verdict:
    """Return whether an encoding's facts meet a purpose's rules, with a reason for each rule.

    Raises
    ------
    UnknownName
        For a purpose that is not in `PURPOSES`.
    """
    if purpose not in PURPOSES:
        raise UnknownName("purpose", purpose, PURPOSES)
    held = [(test(encoding), good, bad) for _, test, good, bad in PURPOSES[purpose]]
    fits = all(ok for ok, _, _ in held)
    return Verdict(fits, tuple(good for ok, good, _ in held) if fits else tuple(bad for ok, _, bad in held if not ok))


def formula_value(formula: str, values: Mapping[str, Any]) -> int:
    """Return the value of a formula such as ``"(max_len + rows_offset) * dim"`` for these parameters."""
    operators: dict[type[ast.operator], Callable[[int, int], int]] = {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
        ast.FloorDiv: operator.floordiv,
    }  # fmt: skip

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name):
                return int(values[name] or 0)  # a parameter that is not given counts nothing
            case ast.BinOp(left=left, op=op, right=right):
                result: int = operators[type(op)](value(left), value(right))
                return result
            case ast.Call(func=ast.Name(id="prod" | "sum" as word), args=[ast.Name(id=name)]):  # of a list
                return math.prod(values[name]) if word == "prod" else sum(values[name])
        raise ValueError(f"the formula {formula} has something other than + - * ** // prod sum in it")

    return value(ast.parse(formula, mode="eval").body)


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
    import numpy as np

    arrays = [_real(table.read(a.name)) for a in table.arrays if a.axes[:1] != ("",)]
    if isinstance(table.plan, Bias):
        return arrays[0]
    n = arrays[0].shape[0]
    return np.concatenate([a.reshape(n, -1) for a in arrays if a.shape[0] == n], axis=1)


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return values as float64, the two parts of complex ones side by side."""
    import numpy as np

    return values.view(np.float64) if values.dtype.kind == "c" else np.asarray(values, np.float64)


def figures(recipe: Recipe) -> dict[str, str]:
    """Return measured figures of a recipe: of a table of 192 rows, in float64, and of its frequencies."""
    import numpy as np

    from pecli.declare.plan import Waves

    table = Table.make(recipe, length=_length(recipe) if recipe.rows is None else None, dtype="float64")
    values = matrix(table)
    finite = values[np.isfinite(values)]
    found = {
        "rows measured": str(table.arrays[0].shape[0]),
        "smallest value": f"{finite.min():.6g}",
        "largest value": f"{finite.max():.6g}",
        "trained values now": str(formula_value(recipe.encoding.facts.parameters, table.source.values)),
    }
    if values.ndim == 2:
        gaps = np.linalg.norm(values[1:] - values[:-1], axis=1)
        found["distance of neighbours"] = f"{gaps.min():.4g} to {gaps.max():.4g}"
        found["nearest two rows"] = f"{nearest_rows(values)[0]:.4g}"
        found["shift by 3 as one matrix"] = f"off by {relative_residual(values, 3):.1e}"
    plan = table.plan
    if isinstance(plan, Waves):
        waves = [2 * np.pi / abs(float(w)) for w in plan.frequencies if w]
        if waves and not any(band.turns for band in plan.bands):
            found["wavelengths"] = f"{min(waves):.4g} to {max(waves):.4g}"
    return found


def _length(recipe: Recipe) -> int:
    longest = recipe.encoding.facts.longest
    known = longest != "unlimited" and not recipe.open_parameters
    return min(ROWS, formula_value(longest, recipe.values)) if known else ROWS


def nearest_rows(values: NDArray[np.float64]) -> tuple[float, int, int]:
    """Return the smallest distance of two rows, and which they are; the first such pair."""
    import numpy as np

    square = (values**2).sum(axis=1)
    distances = square[:, None] + square[None, :] - 2 * values @ values.T
    distances[np.diag_indices_from(distances)] = np.inf
    i, j = sorted(divmod(int(distances.argmin()), len(values)))
    return float(np.linalg.norm(values[i] - values[j])), i, j  # exactly: the product above cancels


def _beyond(encoding: Encoding) -> Literal["defined", "ends"]:
    recipe = Recipe.parse(encoding.example)
    try:
        Table.make(recipe, start=2**52, length=2)
    except PecliError:
        return "ends"
    return "defined"


def _bounded(encoding: Encoding) -> bool:
    """Whether values far out are no larger than a few times those near 0."""
    import numpy as np

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
    import numpy as np

    rows = values.reshape(-1, values.shape[-1]) if values.ndim == 2 else np.concatenate(list(values), axis=1)
    return len(np.unique(rows, axis=0)) == len(rows)


def _relative(table: Table, values: NDArray[np.float64]) -> Literal["no", "rotation", "distance"]:
    import numpy as np

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
    return "rotation" if relative_residual(values, 3) < 1e-6 and np.ptp(values) > 0 else "no"


def relative_residual(values: NDArray[np.float64], shift: int) -> float:
    """Return how badly one matrix M, fitted on half the rows, takes row p to row p + shift on the others.

    The largest difference over the held-out rows, relative to the largest value; 0 means
    PE(p + k) = M PE(p) for every p.  It needs more rows than columns, and says 1 otherwise.
    """
    import numpy as np

    before, after = values[:-shift], values[shift:]
    fit = np.arange(len(before)) % 2 == 0
    if fit.sum() <= values.shape[1]:
        return 1.0
    m, *_ = np.linalg.lstsq(before[fit], after[fit], rcond=1e-12)
    scale = float(np.abs(values).max()) or 1.0
    return float(np.abs(before[~fit] @ m - after[~fit]).max() / scale)


def _multi_scale(values: NDArray[np.float64]) -> bool:
    """Whether columns (heads of a bias) change at rates that differ by about a factor of two or more."""
    import numpy as np

    columns = values[:, 0, :].T if values.ndim == 3 else values
    finite = np.where(np.isfinite(columns), columns, 0.0)
    rate = np.sqrt((np.diff(finite, axis=0) ** 2).mean(axis=0))  # squares: a narrow peak counts as fast
    rate = rate[rate > 0]
    return bool(len(rate) > 1 and rate.max() > 1.7 * rate.min())


def sheets(encodings: Iterable[Encoding]) -> dict[str, dict[str, str]]:
    """Return the facts of several encodings, by name."""
    return {encoding.name: sheet(encoding) for encoding in encodings}


__all__ = [
    "PURPOSES",
    "TITLES",
    "Facts",
    "Verdict",
    "measured",
    "nearest_rows",
    "relative_residual",
    "sheet",
    "sheets",
    "verdict",
]
