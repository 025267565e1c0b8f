"""Properties of a table, measured from its values and not asserted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pecli.errors import PecliError
from pecli.inspect.expectations import MAX_NEIGHBOUR_RATIO, Bounded, BoundedByDistance, Property, Toeplitz
from pecli.inspect.pairs import Floats, PairReading, Sample, head_values, is_matrix, reading_of, some_of, take
from pecli.inspect.rows import matrix_shift, nearest_rows, pair_shift
from pecli.numbers.dtypes import COMPLEX
from pecli.numbers.printing import between, figure
from pecli.spec.declaration import REGISTRY, Family
from pecli.spec.tabular import Array, Tabular
from pecli.tables.layouts import cosines_and_sines
from pecli.tables.table import Table
from pecli.tables.views import view_of


def as_dicts(found: Sequence[Property]) -> list[dict[str, Any]]:
    """Return the JSON objects of properties."""
    return [{"name": p.name, "holds": p.holds, "text": p.text, **p.figures} for p in found]


HEADS = 8


def bias_properties(table: Tabular, array: Array) -> list[Property]:
    """Return the properties of an array of queries and keys: of the first ones, for some heads."""
    view, heads = view_of(table, array), array.shape[0] if len(array.shape) == 3 else 1
    corner = [head_values(view, head, heads) for head in some_of(heads, HEADS)]
    (q, k), name = corner[0].shape, array.name
    text = f"{name}: {len(corner)} of {heads} heads, {q} of {array.shape[-2]} queries, {k} of {array.shape[-1]} keys"
    checks = [BoundedByDistance(q, k), Toeplitz(q)]
    for check in checks:
        check.add(0, np.concatenate(corner))
    figures = {"array": name, "heads": len(corner), "queries": q, "keys": k}
    return [Property("measured on", None, text, figures), *(check.finish() for check in checks)]


SEED = 7
MAX_MEAN_PRODUCT = 0.5  # mean product of two oscillations, above which they are not called independent
MAX_PAIRS = 1024  # of which every two are multiplied


def turning_properties(reading: PairReading, *, rotates: bool) -> Iterator[Property]:
    """Yield the properties of rotating pairs; with `rotates` also their effect on vectors."""
    if rotates:
        yield from _of_rotation(reading)
    yield from _orthogonal(reading)


def _of_rotation(reading: PairReading) -> Iterator[Property]:
    size = reading.magnitude
    spread = float(np.abs(np.hypot(reading.first, reading.second) / size - 1).max())
    word = "preserved" if abs(size - 1) < 1e-3 else f"multiplied by {figure(size)}"
    text = f"the norm of a vector that is rotated so is {word}, within {spread:.1e}"
    good = abs(size - 1) < 1e-3 and spread < 0.02
    yield Property("norm preserved", good, text, {"magnitude": size, "spread": spread})
    off = score_spread(reading)
    text = f"scores of one rotated query and key at the same m - n differ by {off:.1e} of their size at most"
    yield Property("score depends on m - n alone", off < 0.02, text, {"spread": off})


def score_spread(reading: PairReading) -> float:
    """Return how much scores of one distance differ over positions, relative to the size of query and key."""
    rng = np.random.default_rng(SEED)
    m = reading.first.shape[1]
    q, k = (rng.standard_normal(m) + 1j * rng.standard_normal(m) for _ in range(2))
    keys = reading.first + 1j * reading.second
    queries, n = keys * (q * np.conj(k)), len(keys)
    scores = queries.real @ keys.real.T + queries.imag @ keys.imag.T
    worst = max(float(np.ptp(scores.diagonal(distance))) for distance in range(1 - n, n))
    return worst / (float(np.linalg.norm(q) * np.linalg.norm(k)) * reading.magnitude**2)


def _orthogonal(reading: PairReading) -> Iterator[Property]:
    """Yield how far the pairs' oscillations are from orthogonal over the rows, where there are two pairs or more."""
    turning, every = reading.turning, reading.turning.shape[1]
    if every < 2:
        return
    turning = turning[:, np.linspace(0, every - 1, min(every, MAX_PAIRS)).astype(int)]
    gram = np.abs(turning.conj().T @ turning) / len(turning)
    gram[np.diag_indices_from(gram)] = 0.0
    pairs, alike = gram.size - len(gram), gram > MAX_MEAN_PRODUCT
    mean, some = float(gram.sum() / pairs), int(alike.sum()) // 2
    turns = np.abs(np.angle(turning[1:] * turning[:-1].conj())).sum(axis=0) / (2 * np.pi)
    slow = figure(float(turns[alike.any(axis=0)].max(initial=0.0)), 3)
    which = f" of {len(gram):,} of the {every:,}" if len(gram) < every else ""
    text = f"over {len(turning)} rows the mean product of two pairs' oscillations{which} is {mean:.3f} (0: orthogonal)"
    text += f"; none of {pairs // 2:,} exceeds {MAX_MEAN_PRODUCT}" if not some else ""
    text += (
        f"; {some:,} of {pairs // 2:,} exceed {MAX_MEAN_PRODUCT}, all of pairs that turn {slow} times or less"
        if some
        else ""
    )
    figures = {"mean": mean, "largest": float(gram.max()), "alike": some / (pairs // 2)}
    yield Property("orthogonal frequencies", None, text, figures)


ROWS = 512  # enough for every distance that is reported, and every product of rows fits the memory
SHIFTS = (1, 2, 4, 8, 16, 32, 64)
FAR_POSITION = 10**9  # position at which a recipe's values are measured too


def measure_properties(table: Tabular) -> list[Property]:
    """Return the properties that are measured from the values of a table.

    At most 512 rows are read (of a bias, 512 queries and keys of 8 heads), and
    the first entry says which; rows of a recipe are measured far out too.
    """
    matrices = [array for array in table.arrays if is_matrix(table, array)]
    if matrices:
        found = [one for array in matrices for one in bias_properties(table, array)]
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
    reading = reading_of(sample) if only is None else None
    if reading is not None and len(reading.first) != len(values[0]):
        reading = None
    if reading is not None:
        found += turning_properties(reading, rotates=sample.stacked or _rotates(sample.table))
    if only is None:
        found.append(_shift(finite, reading))
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
    check = Bounded(len(values))
    check.add(0, values)
    found = check.finish()
    return replace(found, text=f"values from {between(low, high)}; {found.text}", figures={**figures, **found.figures})


def _largest(values: Floats) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _far(table: Tabular | None) -> Floats | None:
    """Return values of a recipe far out; None for a file, or where positions end."""
    if not isinstance(table, Table) or table.plan.rows is not None:
        return None
    try:
        rows = Table.make(table.source, start=FAR_POSITION, length=64, dtype="float64")
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
    yield Property("smooth", bool(gaps.max() < MAX_NEIGHBOUR_RATIO * far) if far else None, text, figures)
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
