"""Properties of a table, measured from its values and not asserted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pecli.errors import BadParameter
from pecli.inspect.expectations import (
    Bounded,
    BoundedByDistance,
    Property,
    RowReader,
    Shifted,
    Smooth,
    Toeplitz,
    Unique,
    shifted,
)  # fmt: skip
from pecli.inspect.pairs import Floats, PairReading, head_values, is_matrix, reading_of, some_of
from pecli.numbers.dtypes import COMPLEX
from pecli.numbers.printing import figure
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


def measure_properties(table: Tabular) -> list[Property]:
    """Return the properties that are measured from the values of a table.

    At most 512 rows are read (of a bias, 512 queries and keys of 8 heads), and the first entry says which.
    """
    matrices = [array for array in table.arrays if is_matrix(table, array)]
    if not matrices:
        return _of_rows(RowReader(table, ROWS))
    found = [one for array in matrices for one in bias_properties(table, array)]
    return [*found, *(_of_rows(RowReader(table, ROWS, ["vector"])) if "vector" in table else ())]


def _of_rows(reader: RowReader) -> list[Property]:
    """Return the properties of vectors, one for each row."""
    sample = reader.sample
    count = min((len(plane.values) for plane in sample.planes), default=0)
    if count < 2:
        return []
    rows = reader.read(0, count)
    known = np.isfinite(rows)
    scope = _scope(count, reader, rows.size - int(known.sum()))
    if not known.any():
        return [scope]
    finite = np.where(known, rows, 0.0)
    found = [scope]
    for check in (Bounded(count), Unique(), Smooth()):
        check.add(0, finite)
        found.append(check.finish())
    found += [_relative(reader, rows), *_similarity(finite)]
    reading = reading_of(sample)
    if reading is not None and len(reading.first) == count:
        found += turning_properties(reading, rotates=sample.stacked or _rotates(sample.table))
    return found


def _relative(reader: RowReader, rows: Floats) -> Property:
    """Return whether one matrix takes each row to the next; of too few rows, that it was not measured."""
    try:
        check = shifted(reader)
    except BadParameter as error:
        return Property(Shifted.name, None, f"not measured: {error.rule}")
    check.add(0, rows)
    return check.finish()


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


def _scope(count: int, reader: RowReader, odd: int) -> Property:
    which = f"the first {count} of {reader.count:,} rows" if count < reader.count else f"all {count} rows"
    text = which + (f" of {reader.names[0]}" if len(reader.names) < len(reader.sample.table.arrays) else "")
    text += f", with 0 in the place of what is NaN or infinite, {odd:,} times" if odd else ""
    return Property("measured on", None, text, {"rows": count, "of": reader.count})


def _similarity(values: Floats) -> Iterator[Property]:
    """Yield how alike rows are by distance, where no row is all zeros."""
    values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))  # squares of values beyond 1e154 are none
    norms = np.linalg.norm(values, axis=1)
    if norms.all():
        unit = values / norms[:, None]
        products = {k: np.einsum("ij,ij->i", unit[:-k], unit[k:]) for k in SHIFTS if k < len(unit)}
        means = {k: float(v.mean()) for k, v in products.items()}
        spread = max(float(np.ptp(v)) for v in products.values())
        shown = ", ".join(f"{k}: {v:.4f}" for k, v in means.items())
        text = f"mean cosine of rows at distance {shown}; at one distance it varies by {spread:.1e} at most"
        yield Property("similarity by distance", None, text, {"cosine": means, "spread": spread})
