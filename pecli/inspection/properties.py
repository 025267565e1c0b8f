"""Properties of a table, measured from its values and not asserted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pecli.declare.encoding import REGISTRY, Family
from pecli.declare.tabular import Tabular
from pecli.errors import PecliError
from pecli.inspection.bias_properties import bias_properties, matrices_of
from pecli.inspection.pair_properties import turning_properties
from pecli.inspection.property import Property
from pecli.inspection.readings import PairReading, readings
from pecli.inspection.rows import matrix_shift, nearest_rows, pair_shift
from pecli.inspection.samples import Floats, Sample, take
from pecli.numbers.dtypes import COMPLEX
from pecli.numbers.printing import between, figure
from pecli.tables.layouts import cosines_and_sines
from pecli.tables.table import Table

ROWS = 512  # enough for every distance that is reported, and every product of rows fits the memory
SHIFTS = (1, 2, 4, 8, 16, 32, 64)
FAR = 10**9  # position at which a recipe's values are measured too
SMOOTH = 0.75  # of the distance of two rows at random: neighbours that are nearer are called near


def measure_properties(table: Tabular) -> list[Property]:
    """Return what the values of a table show.

    At most 512 rows are read (of a bias, 512 queries and keys of 8 heads), and
    the first entry says which; rows of a recipe are measured far out too.
    """
    matrices = matrices_of(table)
    if matrices:
        found = bias_properties(matrices)
        rest = [a for a in table.arrays if a.name == "vector"]
        return found if not rest else [*found, *_of_rows(take(table, ROWS), "vector")]
    return _of_rows(take(table, ROWS))


def _of_rows(sample: Sample, only: str | None = None) -> list[Property]:
    """Return the properties of vectors, one for each row."""
    planes = [p for p in sample.planes if only is None or p.name == only]
    values = [plane.values.reshape(len(plane.values), -1) for plane in planes]
    count = min((len(v) for v in values), default=0)
    if count < 2:
        return []
    rows = np.concatenate([v[:count] for v in values], axis=1)
    finite = np.where(np.isfinite(rows), rows, 0.0)
    scope = _scope(count, min(p.rows for p in planes), only, int(rows.size - np.isfinite(rows).sum()))
    if not np.isfinite(rows).any():
        return [scope]
    found = [scope, _bounded(rows, sample.table if only is None else None)]
    found += _rows(finite)
    reading = next(iter(readings(sample)), None) if only is None else None
    if reading is not None and (reading.rows.start, reading.rows.stop) != (0, len(values[0])):
        reading = None
    if reading is not None:
        found += turning_properties(reading, rotates=sample.stacked or _rotates(sample.table))
    if only is None:
        found.append(_shift(finite, reading))
    if len(np.unique(rows)) == 2 and set(np.unique(rows).tolist()) <= {-1.0, 0.0, 1.0}:
        found.append(_hamming(rows))
    return found


def _rotates(table: Tabular) -> bool:
    """Whether a table rotates vectors: a rotary recipe's does, and a file's with cosines and sines or complex numbers.

    What is added to vectors says nothing of scores, though its pairs turn too.
    """
    if isinstance(table, Table):
        return table.source.encoding.family is Family.ROTARY
    encoding = REGISTRY.get((table.recipe or "").partition(":")[0])
    if encoding is not None:
        return encoding.family is Family.ROTARY
    names, kinds = list(table.keys()), {array.dtype for array in table.arrays}
    packed = any("cos" in name and "sin" in name for name in names)
    return packed or bool(cosines_and_sines(names)) or bool(kinds & {*COMPLEX.values()})


def _scope(count: int, of: int, only: str | None, odd: int) -> Property:
    which = f"the first {count} of {of:,} rows" if count < of else f"all {of} rows"
    text = which + (f" of {only}" if only else "")
    text += f", with 0 in the place of what is NaN or infinite, {odd:,} times" if odd else ""
    return Property("measured on", None, text, {"rows": count, "of": of})


def _bounded(values: Floats, table: Tabular | None) -> Property:
    """Return the range of values, and whether it stays the same further out."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=math.inf)), float(finite.max(initial=-math.inf))
    figures: dict[str, Any] = {"minimum": low, "maximum": high}
    rows = _far(table)
    if rows is not None:
        size, near = _largest(rows), _largest(values)
        figures["far"] = size
        text = f"values from {between(low, high)}; near position 1e9 their size is {figure(size)} at most"
        return Property("bounded", size <= 4 * near + 1, text, figures)
    half = len(values) // 2
    near, far = _largest(values[:half]), _largest(values[half:])
    figures["growth"] = growth = far / near if near else math.inf if far else 1.0
    reached = f"{figure(growth, 3)} times the first" if near or not far else f"{figure(far)}, and the first is 0"
    text = f"values from {between(low, high)}; the second half of the rows reaches {reached}"
    return Property("bounded", growth < 1.5, text, figures)


def _largest(values: Floats) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _far(table: Tabular | None) -> Floats | None:
    """Return values of a recipe far out; None for a file, or where positions end."""
    if not isinstance(table, Table) or table.plan.rows is not None:
        return None
    try:
        rows = Table.make(table.source, start=FAR, length=64, dtype="float64")
        found = [rows.read(a.name).reshape(-1).view(np.float64) for a in rows.arrays if a.rows == 64]
        return np.concatenate(found) if found else None
    except PecliError:
        return None


def _rows(values: Floats) -> Iterator[Property]:
    """Yield how far rows are apart: the nearest two, neighbours, and how alike rows are by distance."""
    power = int(np.frexp(np.abs(values).max())[1])  # squares of values beyond 1e154 are none
    values = np.ldexp(values, -power)
    nearest, i, j = nearest_rows(values)
    nearest = math.ldexp(nearest, power)
    text = f"the nearest two rows, {i} and {j}, are {figure(nearest, 4)} apart"
    yield Property("unique rows", nearest > 0, text, {"nearest": nearest, "rows": [i, j]})
    gaps = np.ldexp(np.linalg.norm(np.diff(values, axis=0), axis=1), power)
    far = math.ldexp(float(np.sqrt(2 * np.var(values, axis=0).sum())), power)
    apart = figure(gaps.min(), 4) + (
        f" to {figure(gaps.max(), 4)}" if gaps.max() - gaps.min() > 1e-3 * gaps.max() else ""
    )
    text = f"neighbours are {apart} apart, two rows at random {figure(far, 4)}"
    figures = {"smallest": float(gaps.min()), "largest": float(gaps.max()), "random": far}
    yield Property("smooth", bool(gaps.max() < SMOOTH * far) if far else None, text, figures)
    norms = np.linalg.norm(values, axis=1)
    if norms.all():
        unit = values / norms[:, None]
        products = {k: np.einsum("ij,ij->i", unit[:-k], unit[k:]) for k in SHIFTS if k < len(unit)}
        means = {k: float(v.mean()) for k, v in products.items()}
        spread = max(float(np.ptp(v)) for v in products.values())
        shown = ", ".join(f"{k}: {v:.4f}" for k, v in means.items())
        text = f"mean cosine of rows at distance {shown}; at one distance it varies by {spread:.1e} at most"
        yield Property("similarity by distance", None, text, {"cosine": means, "spread": spread})


def _shift(values: Floats, reading: PairReading | None) -> Property:
    """Return how far the matrix M_k that fits best takes row p from row p + k, per k.

    Of a table of turning pairs the matrix is one of blocks, two by two, so any width can be measured;
    otherwise fitting it takes more rows than columns.
    """
    name = "relative property"
    if reading is not None:
        residuals = {k: pair_shift(reading, k) for k in SHIFTS if k < len(reading.first) // 2}
        if not residuals:
            return Property(name, None, f"not measured: {len(values)} rows are too few to fit M_k", {"residual": {}})
        kind, unit = "M_k of one 2 x 2 block for each pair", "the size of a pair"
    else:
        distinct = np.unique(values, axis=1)
        columns = distinct.shape[1]
        if not np.ptp(distinct, axis=0).any():
            return Property(name, True, "every row is the same, and M_k = 1 keeps it", {"residual": {}})
        shifts = [k for k in SHIFTS if (len(values) - k) // 2 > columns + 2]
        residuals = {k: off for k in shifts if (off := matrix_shift(distinct, k)) is not None}
        if not residuals:
            rule = f"not measured: fitting M_k takes more than {2 * columns + 4} rows, and there are {len(values)}"
            return Property(name, None, rule, {"residual": {}})
        kind, unit = "M_k", "the largest value"
    shown = ", ".join(f"k={k}: {v:.1e}" for k, v in residuals.items())
    text = f"{kind}, fitted to every other row p, takes the others to row p + k but for {shown} of {unit}"
    return Property(name, max(residuals.values()) < 1e-3, text, {"residual": residuals})


def _hamming(values: Floats) -> Property:
    """Return how many bits neighbours differ in."""
    changes = (np.diff(values, axis=0) != 0).sum(axis=1)
    low, high = int(changes.min()), int(changes.max())
    text = f"neighbours differ in {low} to {high} bits, {figure(changes.mean(), 3)} in the mean"
    if low == high:
        text = f"all neighbours differ in {low} bit{'s' if low != 1 else ''}"
    figures = {"smallest": low, "largest": high, "mean": float(changes.mean())}
    return Property("neighbours differ in one bit", low == high == 1, text, figures)
