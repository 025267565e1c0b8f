"""Expectations of a table, checked over every row: for ``inspect --expect``.

n rows, d columns; a row is what all arrays hold of one position, or of a bias of one query, whatever the head. Pairs
are the two numbers that rotate together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from pecli.errors import BadParameter, UnknownName
from pecli.inspect.pairs import Floats, is_matrix, planes_of, reading_of, take
from pecli.judge.planes import EPSILON
from pecli.spec.declaration import EXPECTATIONS
from pecli.spec.tabular import BLOCK_BYTES, Array, Tabular
from pecli.tables.views import view_of

MAX_RELATIVE_MISS = (
    1e-3  # of the largest value: what a shift by one matrix may miss, or eight roundings where the type is coarser
)


MAX_GROWTH = 1.5  # how much larger values may be in the second half of the rows, or of the distances
MAX_NEIGHBOUR_RATIO = 0.75  # of the distance of two rows at random: neighbours that are nearer are called near


@dataclass(frozen=True)
class Property:
    """One measured property.

    Attributes
    ----------
    name : str
        Name of the property.
    holds : bool or None
        Whether it holds; None for a number without a verdict.
    text : str
        The measurement in words.
    figures : dict
        The numbers.
    """

    name: str
    holds: bool | None
    text: str
    figures: Mapping[str, Any] = field(default_factory=dict)


FITTED_ROWS = 2048  # rows that a matrix is fitted to


class RowReader:
    """Rows of a table: the values of all arrays at one position as float64, complex ones as two parts.

    Attributes
    ----------
    count, columns : int
        n and d.
    sample : Sample
        The first of them, as many as are asked for.
    names : list of str
        Of the arrays, by default those with as many rows as the first.
    """

    def __init__(self, table: Tabular, rows: int = FITTED_ROWS, names: list[str] | None = None) -> None:
        self.names = names or [array.name for array in next(iter(table.groups()), [])]
        self.sample = take(table, rows, names=self.names)
        self.count = min((view.rows for view in self.sample.views), default=0)
        self.columns = sum(int(np.prod(plane.values.shape[1:])) for plane in self.sample.planes)

    def read(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop`, (stop - start, d)."""
        planes = [plane for view in self.sample.views for plane in planes_of(view, start, stop)]
        return np.concatenate([plane.values.reshape(stop - start, -1) for plane in planes], axis=1)

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield all of them in order, with the first row's number."""
        step = max(1, BLOCK_BYTES // max(1, 8 * self.columns))
        for start in range(0, self.count, step):
            yield start, self.read(start, min(start + step, self.count))


@dataclass(frozen=True)
class RowStep:
    """The matrix M with PE(p + 1) = M PE(p), as the first rows of a table give it.

    Attributes
    ----------
    scale : float
        The largest value.
    resolution : float
        Of the table's type, relative.
    missed : callable
        Of rows and the rows that follow them, how far M takes each from the one it should, relative to `scale`, (n,).
    """

    scale: float
    resolution: float
    missed: Callable[[Floats, Floats], Floats]


def step_of(rows: RowReader) -> RowStep:
    """Return the step to the next row: a rotation of each pair if the values are rotating pairs, else a fitted matrix.

    Raises
    ------
    BadParameter
        If there are too few rows for it.
    """
    sample, count = rows.sample, min(rows.count, *(len(plane.values) for plane in rows.sample.planes))
    values = rows.read(0, count)
    scale = float(np.abs(values).max(initial=0.0, where=np.isfinite(values))) or 1.0
    reading = reading_of(sample)
    if reading is not None and len(reading.first) == count > 2 and not reading.tail:
        first, second = reading.columns
        turning = values[:, first] + 1j * values[:, second]
        turn = (turning[1:] * turning[:-1].conj()).mean(axis=0)
        turn /= np.maximum(np.abs(turn), np.finfo(float).tiny)  # a pair may be zero

        def miss_of_turns(before: Floats, after: Floats) -> Floats:
            was, became = (part[:, first] + 1j * part[:, second] for part in (before, after))
            return np.asarray(np.abs(became - turn * was).max(axis=1) / scale)

        return RowStep(scale, sample.resolution, miss_of_turns)
    if count - 1 <= rows.columns:
        rule = f"cannot be fitted: a matrix of {rows.columns} columns takes {rows.columns + 2} rows of the first"
        raise BadParameter("expect", "relative", f"{rule} {FITTED_ROWS}, and there are {count}")
    finite = np.where(np.isfinite(values), values, 0.0)
    matrix = np.linalg.lstsq(finite[:-1], finite[1:], rcond=1e-12)[0]

    def miss_of_matrix(before: Floats, after: Floats) -> Floats:
        return np.asarray(np.abs(before @ matrix - after).max(axis=1) / scale)

    return RowStep(scale, EPSILON.get(sample.dtype, 2.0**-53), miss_of_matrix)


class Check(ABC):
    """One expectation, which sees every row once and in order."""

    name: str

    @abstractmethod
    def add(self, start: int, rows: Floats) -> None:
        """Look at rows `start` and on, (m, d)."""

    @abstractmethod
    def finish(self) -> Property:
        """Return whether it holds, with the measurement."""


class Finite(Check):
    """Every value is a number."""

    name = "finite"

    def __init__(self) -> None:
        self.count, self.first = 0, -1

    def add(self, start: int, rows: Floats) -> None:
        """Count NaN and infinite values."""
        odd = ~np.isfinite(rows)
        if odd.any():
            self.first = start + int(odd.any(axis=1).argmax()) if self.first < 0 else self.first
            self.count += int(odd.sum())

    def finish(self) -> Property:
        """Return how many are not, and the first row that has one."""
        which = "value is" if self.count == 1 else "values are"
        text = f"{self.count:,} {which} NaN or infinite, the first in row {self.first}" if self.count else "all are"
        return Property(self.name, not self.count, text, {"count": self.count})


class Unique(Check):
    """No two rows are the same; of a bias, no two queries over all heads."""

    name = "unique"

    def __init__(self, queries: int | None = None) -> None:
        self.queries = queries
        self.digests: list[bytes] = []

    def add(self, start: int, rows: Floats) -> None:
        """Remember a digest of 128 bits for each row, which are alike by chance once in 10^26 tables of 10^6 rows."""
        for place, row in enumerate(rows + 0.0, start):  # minus zero is zero
            at = place % self.queries if self.queries else place
            before = self.digests[at] if at < len(self.digests) else b""
            self.digests[at : at + 1] = [blake2b(row.tobytes(), digest_size=16, key=before).digest()]

    def finish(self) -> Property:
        """Return the first row that repeats an earlier row."""
        seen: dict[bytes, int] = {}
        twice = [(seen[d], i) for i, d in enumerate(self.digests) if seen.setdefault(d, i) != i]
        text = f"all {len(self.digests):,} rows differ"
        if twice:
            text = f"row {twice[0][1]} is row {twice[0][0]} again, {len(twice):,} in all repeat an earlier row"
        return Property(self.name, not twice, text, {"twice": len(twice), "rows": list(twice[0]) if twice else None})


class Bounded(Check):
    """Sizes do not grow with the position: the second half of the rows is no larger than the first."""

    name = "bounded"

    def __init__(self, count: int) -> None:
        self.half, self.sizes = count // 2, [0.0, 0.0]

    def add(self, start: int, rows: Floats) -> None:
        """Keep the largest size of either half."""
        sizes = np.abs(rows).max(axis=1, initial=0.0, where=np.isfinite(rows))
        cut = max(0, self.half - start)
        for part, found in enumerate((sizes[:cut], sizes[cut:])):
            self.sizes[part] = max(self.sizes[part], float(found.max(initial=0.0)))

    def finish(self) -> Property:
        """Return how many times larger the second half is."""
        low, high = self.sizes
        where = self._halves()
        text = f"sizes reach {low:.6g} in {where[0]}, {high:.6g} in {where[1]}"
        return Property(self.name, high <= MAX_GROWTH * low, text, {"first": low, "second": high})

    def _halves(self) -> tuple[str, str]:
        return "the first half of the rows", "the second"


class BoundedByDistance(Bounded):
    """The same of a bias, by the distance of key and query."""

    def __init__(self, queries: int, keys: int) -> None:
        super().__init__(keys)
        self.queries, self.offset = queries, keys - queries

    def add(self, start: int, rows: Floats) -> None:
        """Keep the largest size of near and of far keys."""
        places = (start + np.arange(len(rows))) % self.queries + self.offset
        far = np.abs(np.arange(rows.shape[1]) - places[:, None]) > self.half
        for part, chosen in enumerate((~far, far)):
            found = np.abs(rows).max(initial=0.0, where=chosen & np.isfinite(rows))
            self.sizes[part] = max(self.sizes[part], float(found))

    def _halves(self) -> tuple[str, str]:
        return f"distances up to {self.half}", "larger ones"


class Smooth(Check):
    """Neighbouring rows are nearer to each other than rows at random."""

    name = "smooth"

    def __init__(self) -> None:
        self.last: Floats | None = None
        self.gap, self.at, self.count, self.power = 0.0, 0, 0, 0
        self.mean: Floats | float = 0.0
        self.squares = 0.0  # of differences from the mean

    def add(self, start: int, rows: Floats) -> None:
        """Keep the widest gap, and the sums for the distance of two rows at random."""
        if self.last is None:  # squares of values beyond 1e154 are none
            self.power = int(np.frexp(np.abs(rows).max(initial=0.0, where=np.isfinite(rows)))[1])
        rows = np.ldexp(rows, -self.power)
        chained = rows if self.last is None else np.concatenate([self.last, rows])
        with np.errstate(invalid="ignore", over="ignore"):  # infinity beside infinity
            gaps = np.linalg.norm(np.diff(chained, axis=0), axis=1)
        gaps[np.isnan(gaps)] = np.inf
        if len(gaps) and gaps.max() > self.gap:
            self.gap = float(gaps.max())
            self.at = start - len(chained) + len(rows) + int(gaps.argmax())
        self.last, before = rows[-1:], self.count
        mean = (rows := np.where(np.isfinite(rows), rows, 0.0)).mean(axis=0)
        self.count += len(rows)
        moved = mean - self.mean
        self.squares += float(((rows - mean) ** 2).sum() + (moved**2).sum() * before * len(rows) / self.count)
        self.mean = self.mean + moved * (len(rows) / self.count)

    def finish(self) -> Property:
        """Return the widest gap and the distance of two rows at random."""
        gap, far = (math.ldexp(v, self.power) for v in (self.gap, math.sqrt(2 * self.squares / max(1, self.count))))
        text = f"rows {self.at} and {self.at + 1} are {gap:.4g} apart, two rows at random {far:.4g}"
        return Property(self.name, gap <= MAX_NEIGHBOUR_RATIO * far, text, {"largest": gap, "random": far})


class Shifted(Check):
    """One matrix M takes every row to the next, so that a shift by k is M^k wherever it begins."""

    name = "relative"

    def __init__(self, step: RowStep, limit: float) -> None:
        self.step, self.limit = step, limit
        self.last: Floats | None = None
        self.off, self.at, self.largest = 0.0, 0, step.scale

    def add(self, start: int, rows: Floats) -> None:
        """Keep how far the step from a row misses the next."""
        chained = rows if self.last is None else np.concatenate([self.last, rows])
        self.last = rows[-1:]
        self.largest = max(self.largest, float(np.abs(rows).max(initial=0.0, where=np.isfinite(rows))))
        if len(chained) < 2:
            return
        with np.errstate(invalid="ignore", over="ignore"):
            missed = self.step.missed(chained[:-1], chained[1:])
        missed = np.where(np.isfinite(missed), missed, np.inf)
        worst = int(missed.argmax())
        if missed[worst] > self.off:
            self.off, self.at = float(missed[worst]), start - len(chained) + len(rows) + worst

    def finish(self) -> Property:
        """Return the largest miss, relative to the largest value."""
        off = self.off * (self.step.scale / self.largest)
        text = f"M takes row p to row p + 1 but for {off:.1e} of the largest value at most, at row {self.at}"
        return Property(self.name, off <= self.limit, text, {"residual": off})


def shifted(reader: RowReader) -> Shifted:
    """Return the check of a table's rows; see `step_of`."""
    step = step_of(reader)
    return Shifted(step, max(MAX_RELATIVE_MISS, 8 * step.resolution))


class Toeplitz(Check):
    """A bias whose values the distance of key and query alone decides: equal along every diagonal, to the bit."""

    name = "relative"

    def __init__(self, queries: int) -> None:
        self.queries = queries
        self.last: Floats | None = None
        self.count, self.first = 0, -1

    def add(self, start: int, rows: Floats) -> None:
        """Count the values that differ from the value one query up and one key before."""
        chained = rows if self.last is None else np.concatenate([self.last, rows])
        self.last, begin = rows[-1:], start - len(chained) + len(rows)
        same = (chained[1:, 1:] == chained[:-1, :-1]) | (np.isnan(chained[1:, 1:]) & np.isnan(chained[:-1, :-1]))
        same |= ((begin + 1 + np.arange(len(same))) % self.queries == 0)[:, None]  # a head begins
        if not same.all():
            self.first = begin + 1 + int((~same).any(axis=1).argmax()) if self.first < 0 else self.first
            self.count += int((~same).sum())

    def finish(self) -> Property:
        """Return how many values differ along their diagonal."""
        place = divmod(self.first, self.queries)
        text = "every diagonal has one value"
        if self.count:
            text = f"{self.count:,} values differ along their diagonal, the first of head {place[0]}, query {place[1]}"
        return Property(self.name, not self.count, text, {"differ": self.count})


def check_words(words: Sequence[str]) -> None:
    """Raise UnknownName for a word that cannot be checked."""
    for word in words:
        if word not in EXPECTATIONS:
            raise UnknownName("expectation", word, EXPECTATIONS)


def expect(table: Tabular, words: Sequence[str], progress: Callable[[int], None] | None = None) -> list[Property]:
    """Return whether a table has these properties, each checked over all of it; every value is read once.

    Raises
    ------
    UnknownName
        For a word that cannot be checked.
    BadParameter
        For one that means nothing for this table, or cannot be decided.
    """
    check_words(words)
    matrices = [array for array in table.arrays if is_matrix(table, array)]
    found: list[Property] = []
    parts: Sequence[RowReader | QueryReader] = [QueryReader(table, array) for array in matrices] or [RowReader(table)]
    for part in parts:
        checks = [_check(word, part) for word in dict.fromkeys(words)]
        for start, rows in part.blocks():
            for check in checks:
                check.add(start, rows)
            if progress is not None:
                progress(rows.nbytes)
        found += [check.finish() for check in checks]
    return found


class QueryReader:
    """The rows of a bias, one for each head and query."""

    def __init__(self, table: Tabular, array: Array) -> None:
        self.view = view_of(table, array)
        self.queries, self.keys = array.shape[-2:]

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield them in order, (m, keys), with the first one's number."""
        step = max(1, BLOCK_BYTES // max(1, 8 * self.view.row_size))
        each = self.view.row_size // self.keys  # rows of this kind in one of the array's
        for start in range(0, self.view.rows, step):
            (plane,) = planes_of(self.view, start, min(start + step, self.view.rows))
            yield start * each, plane.values.reshape(-1, self.keys)


def _check(word: str, part: RowReader | QueryReader) -> Check:
    """Return the check of a word."""
    if word == "finite":
        return Finite()
    if isinstance(part, QueryReader):
        match word:
            case "relative":
                return Toeplitz(part.queries)
            case "bounded":
                return BoundedByDistance(part.queries, part.keys)
            case "unique":
                return Unique(part.queries)
        raise BadParameter("expect", word, "is for vectors of positions, and this is a bias")
    if part.count < 2:
        raise BadParameter("expect", word, f"needs two rows or more, and there are {part.count}")
    match word:
        case "relative":
            return shifted(part)
        case "bounded":
            return Bounded(part.count)
        case "smooth":
            return Smooth()
    return Unique()
