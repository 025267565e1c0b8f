"""What holds of numbers for each query and key: whether the distance alone decides, range, symmetry, heads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pecli.declare.tabular import Array, Tabular
from pecli.inspection.property import Property
from pecli.inspection.readings import readings
from pecli.inspection.samples import Floats, take
from pecli.numbers.printing import between, figure, percent
from pecli.numbers.rounding import floats

HEADS = 8
SIDE = 512  # queries and keys


@dataclass(frozen=True)
class Matrices:
    """The corner of an array of queries and keys, for some heads."""

    array: Array
    values: Floats
    heads: int
    queries: int
    keys: int


def matrices_of(table: Tabular) -> list[Matrices]:
    """Return what of a table has a query and a key for its last two axes."""
    return [_corner(table, array) for array in table.arrays if is_matrix(table, array)]


def is_matrix(table: Tabular, array: Array) -> bool:
    """Whether the last two axes of an array are queries and keys."""
    if array.axes[-2:] == ("query", "key"):
        return True
    named = array.name == "bias" or array.name.startswith("index")
    if len(array.shape) == 3:  # a file that does not name its axes
        square = array.shape[1] == array.shape[2]
        if named or not square or len(table.arrays) > 1:
            return named and square
        return next(readings(take(table, SIDE)), None) is None  # two may be cosines and sines
    return named and len(array.shape) == 2 and array.shape[0] == array.shape[1]


def _corner(table: Tabular, array: Array) -> Matrices:
    """Read the first queries and keys of some heads."""
    heads = array.shape[0] if len(array.shape) == 3 else 1
    queries, keys = array.shape[-2:]
    rows = min(queries, SIDE)
    chosen = sorted({round(h * (heads - 1) / max(1, min(HEADS, heads) - 1)) for h in range(min(HEADS, heads))})
    found = []
    for head in chosen:
        first = head * queries
        if array.lead == 2 or heads == 1:
            raw = table.read_rows([array.name], first, first + rows)[array.name].reshape(rows, keys)
        else:
            raw = table.read_rows([array.name], head, head + 1)[array.name].reshape(queries, keys)[:rows]
        found.append(floats(raw[:, :SIDE], array.dtype).astype(np.float64))
    return Matrices(array, np.stack(found), heads, queries, keys)


def bias_properties(matrices: list[Matrices]) -> list[Property]:
    """Return what was measured of each array."""
    found: list[Property] = []
    for m in matrices:
        n, q, k = m.values.shape
        name = m.array.name
        text = f"{name}: {n} of {m.heads} heads, {q} of {m.queries} queries, {k} of {m.keys} keys"
        found.append(Property("measured on", None, text, {"array": name, "heads": n, "queries": q, "keys": k}))
        found += [_range(m), _distance(m)]
        if q == k and q > 1:
            found.append(_symmetric(m))
        if n > 1:
            found.append(_heads(m))
    return found


def _range(m: Matrices) -> Property:
    """Return the range, and whether far keys have larger sizes than near ones."""
    finite = m.values[np.isfinite(m.values)]
    low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
    figures = {"minimum": low, "maximum": high, "masked": int(np.isinf(m.values).sum())}
    rows, columns = (np.arange(side) for side in m.values.shape[1:])
    distance = np.abs(columns[None, :] - rows[:, None])
    limit = int(distance.max())
    sizes = np.where(np.isfinite(m.values), np.abs(m.values), 0.0).max(axis=0)
    near, far = (float(sizes[where].max(initial=0.0)) for where in (distance <= limit // 2, distance > limit // 2))
    figures["growth"] = growth = far / near if near else math.inf if far else 1.0
    reached = f"{figure(growth, 3)} times those within" if near or not far else f"{figure(far)}, and those within are 0"
    text = f"values from {between(low, high)}; beyond distance {limit // 2} sizes reach {reached}"
    if figures["masked"]:
        text += f"; {figures['masked']:,} are infinite (masked)"
    return Property("bounded", growth < 1.5, text, figures)


def _distance(m: Matrices) -> Property:
    """Return how much values of one distance differ along the diagonals."""
    later, before = m.values[:, 1:, 1:], m.values[:, :-1, :-1]
    same = (later == before) | (np.isnan(later) & np.isnan(before))
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.abs(np.where(same, 0.0, later - before))
    off = float(np.where(np.isnan(steps), np.inf, steps).max(initial=0.0))
    share = float(same.mean()) if same.size else 1.0
    most = figure(off, 3)
    equal = percent(share, 2)
    text = f"neighbours along a diagonal (the same key - query) differ by {most} at most, {equal} are equal"
    return Property("depends on key - query alone", bool(same.all()), text, {"difference": off, "equal": share})


def _symmetric(m: Matrices) -> Property:
    """Return whether query and key may change places."""
    turned = m.values.swapaxes(1, 2)
    same = (m.values == turned) | (np.isnan(m.values) & np.isnan(turned))
    text = f"{percent(float(same.mean()), 2)} of the values are the same with query and key exchanged"
    return Property("symmetric", bool(same.all()), text, {"equal": float(same.mean())})


def _heads(m: Matrices) -> Property:
    """Return whether heads differ."""
    heads = [(head + 0.0).tobytes() for head in m.values]  # minus zero is zero
    different = sum(heads.count(head) == 1 for head in heads)
    text = f"{different} of {len(heads)} heads have values of their own"
    return Property("heads differ", different == len(heads), text, {"different": different, "heads": len(heads)})
