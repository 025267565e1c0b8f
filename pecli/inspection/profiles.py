"""What a bias depends on: its values by distance or by key, taken from a few rows of each head."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pecli.inspection.samples import Floats, Sample, hide
from pecli.numbers.rounding import floats

MOST_HEADS = 256
MOST_KEYS = 1 << 14


@dataclass(frozen=True)
class BiasProfile:
    """A bias reduced to one row a head.

    Attributes
    ----------
    by : {"distance", "key", "slopes", "matrix"}
        What the values depend on; "matrix" stands for neither.
    values : (heads, m) float64
        By distance -(n-1)..n-1, by key, or one slope a head; NaN where masked.
    form : str
        How the table holds them: dense, distance, slopes, or row for one row of keys.
    causal : bool
        Whether keys after the query are masked.
    length : int
        Number of keys.
    queries : int
        Number of queries.
    """

    by: str
    values: Floats
    form: str
    causal: bool
    length: int
    queries: int

    @property
    def heads(self) -> int:
        """Number of heads."""
        return len(self.values)

    @property
    def distances(self) -> NDArray[np.int64]:
        """Distance of each column."""
        half = self.values.shape[1] // 2
        return np.arange(-half, half + 1)

    @cached_property
    def views(self) -> tuple[BiasProfile, ...]:
        """What it may be: rows of one array a head may be by distance as well as by key."""
        if self.by != "rows":
            return (self,)
        found, width = [], self.values.shape[1]
        if width % 2 and width > 2:
            masked = np.where(np.isneginf(self.values), np.nan, self.values)
            causal = bool(np.isnan(masked[:, width // 2 + 1 :]).all())
            n = (width + 1) // 2
            found.append(BiasProfile("distance", masked, "distance", causal, n, n))
        if width > 1:
            found.append(BiasProfile("key", self.values, "row", False, width, 1))
        return tuple(found)

    @cached_property
    def seen(self) -> tuple[Floats, NDArray[np.int64]]:
        """Values by distance that are known in every head, (heads, m), and those distances."""
        known = ~np.isnan(self.values).any(axis=0)
        return self.values[:, known], self.distances[known]

    @property
    def most(self) -> tuple[Floats, NDArray[np.int64]]:
        """The same of heads that most values of are known, NaN in the others."""
        told = ~np.isnan(self.values)
        good = 2 * told.sum(axis=1) > told.any(axis=0).sum()
        known = told[good].all(axis=0) & good.any()
        return np.where(good[:, None], self.values[:, known], np.nan), self.distances[known]

    @property
    def table(self) -> dict[str, str]:
        """The table's keys: length, form, queries."""
        found = {"length": str(self.length)}
        if self.form in ("distance", "slopes"):
            found["form"] = self.form
        elif self.queries != self.length:
            found["queries"] = str(self.queries)
        return found

    @property
    def mask(self) -> dict[str, str]:
        """The parameter of a bias that hides later keys."""
        return {"mask": "causal"} if self.causal else {}


def profile_of(sample: Sample) -> BiasProfile | None:
    """Return the profile of a table that may be a bias; None if its shape is none of one."""
    view = sample.views[0]
    shape = tuple(side for side in view.shape if side != 1)
    if len(shape) == 1 and view.shape == (1, *shape) and shape[0] % 2:
        shape = (1, *shape)  # one head, by distance
    if len(shape) == 1 and len(view.shape) > 2 and shape[0] == view.shape[-1]:
        shape = (1, *shape)  # one head, by key
    if view.shape == (1,):
        shape = (1,)
    if view.dtype.startswith("complex") or not shape:
        return None
    if len(shape) == 1:
        values = sample.planes[0].values.reshape(-1)
        return BiasProfile("slopes", values[:, None], "slopes", False, 1, 1) if len(values) <= 4096 else None
    if len(shape) == 2:
        return _of_rows(sample, shape)
    if len(shape) == 3 and shape[0] <= MOST_HEADS and shape[2] <= MOST_KEYS and shape[1] <= shape[2]:
        return _of_cube(sample, shape)
    return None


def _of_rows(sample: Sample, shape: tuple[int, ...]) -> BiasProfile | None:
    """Read (heads, 2n-1) by distance, or (heads, keys) where every query has the same row, or one head (n, n)."""
    heads, width = shape
    if width > 2 * MOST_KEYS:
        return None
    values = sample.planes[0].values.reshape(-1, width)
    if len(values) < min(heads, MOST_HEADS):
        return None
    if heads == width and 2 < heads == len(values):  # all rows, not some of a long table
        found = _by_distance(values[None])
        if found is not None:
            return BiasProfile("distance", found[0], "single", found[1], width, heads)
        if (values == values[-1]).all() and np.ptp(values[-1]) > 0:
            return BiasProfile("key", values[-1:], "dense", False, width, heads)
    return BiasProfile("rows", values[:MOST_HEADS], "row", False, width, 1) if heads <= MOST_HEADS else None


def _of_cube(sample: Sample, shape: tuple[int, ...]) -> BiasProfile | None:
    heads, queries, keys = shape
    view = sample.views[0]
    per_head = math.prod(view.shape[: view.lead]) // heads
    picked = sorted({0, 1, queries // 2, queries - 2, queries - 1} & set(range(queries)))
    rows = np.empty((heads, len(picked), keys))
    for h in range(heads):
        for k, q in enumerate(picked):
            at = h * per_head + (q if per_head == queries else 0)
            raw = view.read(at, at + 1)
            row = floats(raw, view.dtype).astype(np.float64).reshape(-1, keys)
            rows[h, k] = row[0] if per_head == queries else row[q]
    masked = hide(rows)
    key_row = _by_key(masked)
    if key_row is not None and queries > 1:
        return BiasProfile("key", key_row[0], "dense", key_row[1], keys, queries)
    found = _from_picked(masked, picked, queries, keys)
    if found is None:
        return BiasProfile("matrix", rows[:, -1], "dense", False, keys, queries)
    return BiasProfile("distance", found[0], "dense", found[1], keys, queries)


def _by_key(rows: Floats) -> tuple[Floats, bool] | None:
    """Return one row a head if all queries have the same values where they are not masked."""
    with np.errstate(all="ignore"):
        best = rows[:, -1]
    for k in range(rows.shape[1]):
        seen = ~np.isnan(rows[:, k])
        if not np.array_equal(rows[:, k][seen], best[seen]):
            return None
    if np.isnan(best).any() or np.ptp(best) == 0:
        return None
    return best, bool(np.isnan(rows).any())


def _from_picked(rows: Floats, picked: list[int], queries: int, keys: int) -> tuple[Floats, bool] | None:
    """Return values by distance if the picked queries agree on them; queries are the last of the keys."""
    heads, offset = len(rows), keys - queries
    values = np.full((heads, 2 * keys - 1), np.nan)
    seen = np.zeros(2 * keys - 1, bool)
    for k, q in enumerate(picked):
        low = keys - 1 - (q + offset)  # column of distance -(q + offset)
        part = rows[:, k]
        known = seen[low : low + keys] & ~np.isnan(part).all(axis=0)
        if not np.array_equal(values[:, low : low + keys][:, known], part[:, known], equal_nan=True):
            return None
        fresh = ~np.isnan(part)
        values[:, low : low + keys][fresh] = part[fresh]
        seen[low : low + keys] |= fresh.any(axis=0)
    causal = bool(np.isnan(values[:, keys:]).all()) and keys > 1
    return values, causal


def _by_distance(cube: Floats) -> tuple[Floats, bool] | None:
    masked = hide(cube)
    n = cube.shape[2]
    picked = sorted({0, 1, n // 2, n - 2, n - 1} & set(range(n)))
    return _from_picked(masked[:, picked], picked, n, n)
