"""Properties of a table, measured from its values and not asserted, and expectations, checked over every row.

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
from numpy.typing import NDArray

from pecli.errors import BadParameter, UnknownName
from pecli.inspect.pairs import PairReading, head_values, is_matrix, planes_of, reading_of, some_of, take
from pecli.judge.planes import EPSILON
from pecli.numbers.dtypes import COMPLEX
from pecli.numbers.printing import figure
from pecli.numbers.rounding import Floats
from pecli.spec.declaration import EXPECTATIONS, REGISTRY, Family
from pecli.spec.tabular import BLOCK_BYTES, Array, Tabular
from pecli.tables.layouts import cosines_and_sines
from pecli.tables.table import Table
from pecli.tables.views import view_of

# Of the largest value: what a shift by one matrix may miss, or eight roundings where the type is coarser.
MAX_RELATIVE_MISS = 1e-3


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


class Check(ABC):
    """One expectation, which sees every row once and in order."""

    name: str
    last: Floats | None = None  # the last row of the block before
    count, first = 0, -1  # of values that break it how many there are, and the row of the first

    @abstractmethod
    def add(self, start: int, rows: Floats) -> None:
        """Look at rows `start` and on, (m, d)."""

    @abstractmethod
    def finish(self) -> Property:
        """Return whether it holds, with the measurement."""

    def measured(self, rows: Floats) -> Property:
        """Return whether it holds for rows that are all there are."""
        self.add(0, rows)
        return self.finish()

    def note(self, start: int, odd: NDArray[np.bool_]) -> None:
        """Count the values of rows `start` and on that break it."""
        if self.first < 0 and odd.any():
            self.first = start + int(odd.any(axis=1).argmax())
        self.count += int(odd.sum())

    def chained(self, start: int, rows: Floats) -> tuple[int, Floats]:
        """Return rows behind the last row of the block before, if there was one, with the first one's number."""
        found = rows if self.last is None else np.concatenate([self.last, rows])
        self.last = rows[-1:]
        return start - len(found) + len(rows), found


class Finite(Check):
    """Every value is a number."""

    name = "finite"

    def add(self, start: int, rows: Floats) -> None:
        """Count NaN and infinite values."""
        self.note(start, ~np.isfinite(rows))

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
        self.halves = "the first half of the rows", "the second"

    def far(self, start: int, rows: Floats) -> NDArray[np.bool_]:
        """Return which values are of the second half."""
        return np.arange(start, start + len(rows))[:, None] >= self.half

    def add(self, start: int, rows: Floats) -> None:
        """Keep the largest size of either half."""
        far, sizes, known = self.far(start, rows), np.abs(rows), np.isfinite(rows)
        for part, chosen in enumerate((~far, far)):
            self.sizes[part] = max(self.sizes[part], float(sizes.max(initial=0.0, where=chosen & known)))

    def finish(self) -> Property:
        """Return how many times larger the second half is."""
        low, high = self.sizes
        text = f"sizes reach {low:.6g} in {self.halves[0]}, {high:.6g} in {self.halves[1]}"
        return Property(self.name, high <= MAX_GROWTH * low, text, {"first": low, "second": high})


class BoundedByDistance(Bounded):
    """The same of a bias, by the distance of key and query."""

    def __init__(self, queries: int, keys: int) -> None:
        super().__init__(keys)
        self.queries, self.offset = queries, keys - queries
        self.halves = f"distances up to {self.half}", "larger ones"

    def far(self, start: int, rows: Floats) -> NDArray[np.bool_]:
        """Return which keys are far."""
        places = (start + np.arange(len(rows))) % self.queries + self.offset
        return np.asarray(np.abs(np.arange(rows.shape[1]) - places[:, None]) > self.half)


class Smooth(Check):
    """Neighbouring rows are nearer to each other than rows at random."""

    name = "smooth"

    def __init__(self) -> None:
        self.gap, self.at, self.count, self.power = 0.0, 0, 0, 0
        self.mean: Floats | float = 0.0
        self.squares = 0.0  # of differences from the mean

    def add(self, start: int, rows: Floats) -> None:
        """Keep the widest gap, and the sums for the distance of two rows at random."""
        if self.last is None:  # squares of values beyond 1e154 are none
            self.power = int(np.frexp(np.abs(rows).max(initial=0.0, where=np.isfinite(rows)))[1])
        rows, before = np.ldexp(rows, -self.power), self.count
        first, chained = self.chained(start, rows)
        with np.errstate(invalid="ignore", over="ignore"):  # infinity beside infinity
            gaps = np.linalg.norm(np.diff(chained, axis=0), axis=1)
        gaps[np.isnan(gaps)] = np.inf
        if len(gaps) and gaps.max() > self.gap:
            self.gap, self.at = float(gaps.max()), first + int(gaps.argmax())
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
    """One matrix M takes every row to the next, so that a shift by k is M^k wherever it begins.

    It is a rotation of each pair if the first rows are rotating pairs, else the matrix that fits them.

    Raises
    ------
    BadParameter
        If there are too few rows for it.
    """

    name = "relative"

    def __init__(self, reader: RowReader) -> None:
        sample, count = reader.sample, min(reader.count, *(len(plane.values) for plane in reader.sample.planes))
        values = reader.read(0, count)
        self.scale = float(np.abs(values).max(initial=0.0, where=np.isfinite(values))) or 1.0
        self.off, self.at, self.largest = 0.0, 0, self.scale
        pairs = reading_of(sample)
        whole = pairs is not None and len(pairs.first) == count >= 3 and not pairs.tail
        self.pairs = pairs if whole else None
        if self.pairs is not None:
            turning = self._turning(values)
            turn = (turning[1:] * turning[:-1].conj()).mean(axis=0)
            # a pair may be zero
            self.step, resolution = turn / np.maximum(np.abs(turn), np.finfo(float).tiny), sample.resolution
        elif count - 1 <= (d := reader.columns):
            rule = f"needs {d + 2} rows for {d} columns, among the first {FITTED_ROWS}, and there are {count}"
            raise BadParameter("expect", "relative", rule)
        else:
            finite = np.where(np.isfinite(values), values, 0.0)
            self.step = np.linalg.lstsq(finite[:-1], finite[1:], rcond=1e-12)[0]
            resolution = EPSILON.get(sample.dtype, 2.0**-53)
        self.limit = max(MAX_RELATIVE_MISS, 8 * resolution)

    def _turning(self, rows: Floats) -> NDArray[np.complex128]:
        assert self.pairs is not None
        first, second = self.pairs.columns
        return np.asarray(rows[:, first] + 1j * rows[:, second])

    def add(self, start: int, rows: Floats) -> None:
        """Keep how far the step from a row misses the next."""
        first, chained = self.chained(start, rows)
        self.largest = max(self.largest, float(np.abs(rows).max(initial=0.0, where=np.isfinite(rows))))
        if len(chained) < 2:
            return
        with np.errstate(invalid="ignore", over="ignore"):
            if self.pairs is None:
                off = chained[:-1] @ self.step - chained[1:]
            else:
                turning = self._turning(chained)
                off = turning[1:] - self.step * turning[:-1]
            missed = np.abs(off).max(axis=1) / self.scale
        missed = np.where(np.isfinite(missed), missed, np.inf)
        worst = int(missed.argmax())
        if missed[worst] > self.off:
            self.off, self.at = float(missed[worst]), first + worst

    def finish(self) -> Property:
        """Return the largest miss, relative to the largest value."""
        off = self.off * (self.scale / self.largest)
        error = f"the largest error, at row {self.at}, is {off:.1e} of the largest value"
        text = f"one matrix takes each row to the next: {error}"
        return Property(self.name, off <= self.limit, text, {"residual": off})


class Toeplitz(Check):
    """A bias whose values the distance of key and query alone decides: equal along every diagonal, to the bit."""

    name = "relative"

    def __init__(self, queries: int) -> None:
        self.queries = queries

    def add(self, start: int, rows: Floats) -> None:
        """Count the values that differ from the value one query up and one key before."""
        begin, chained = self.chained(start, rows)
        same = (chained[1:, 1:] == chained[:-1, :-1]) | (np.isnan(chained[1:, 1:]) & np.isnan(chained[:-1, :-1]))
        same |= ((begin + 1 + np.arange(len(same))) % self.queries == 0)[:, None]  # a head begins
        self.note(begin + 1, ~same)

    def finish(self) -> Property:
        """Return how many values differ along their diagonal."""
        place = divmod(self.first, self.queries)
        text = "every diagonal has one value"
        if self.count:
            text = f"{self.count:,} values differ along their diagonal, the first of head {place[0]}, query {place[1]}"
        return Property(self.name, not self.count, text, {"differ": self.count})


def expect(table: Tabular, words: Sequence[str], progress: Callable[[int], None] | None = None) -> list[Property]:
    """Return whether a table has these properties, each checked over all of it; every value is read once.

    Raises
    ------
    UnknownName
        For a word that cannot be checked.
    BadParameter
        For one that means nothing for this table, or cannot be decided.
    """
    for word in words:
        if word not in EXPECTATIONS:
            raise UnknownName("expectation", word, EXPECTATIONS)
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
    makers: dict[str, Callable[[], Check]]
    if isinstance(part, QueryReader):
        makers = {
            "finite": Finite, "unique": lambda: Unique(part.queries), "relative": lambda: Toeplitz(part.queries),
            "bounded": lambda: BoundedByDistance(part.queries, part.keys),
        }  # fmt: skip
        if word not in makers:
            raise BadParameter("expect", word, "is for vectors of positions, and this is a bias")
    else:
        makers = {
            "finite": Finite, "unique": Unique, "bounded": lambda: Bounded(part.count), "smooth": Smooth,
            "relative": lambda: Shifted(part),
        }  # fmt: skip
        if part.count < 2 and word != "finite":
            raise BadParameter("expect", word, f"needs two rows or more, and there are {part.count}")
    return makers[word]()


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
    figures = {"array": name, "heads": len(corner), "queries": q, "keys": k}
    measured = (check.measured(np.concatenate(corner)) for check in checks)
    return [Property("measured on", None, text, figures), *measured]


SEED = 7
MAX_MEAN_PRODUCT = 0.5  # mean product of two oscillations, above which they are not called independent
MAX_PAIRS = 1024  # of which every two are multiplied


def _of_rotation(reading: PairReading) -> Iterator[Property]:
    """Yield the effect of rotating pairs on vectors."""
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
    if some:
        text += f"; {some:,} of {pairs // 2:,} exceed {MAX_MEAN_PRODUCT}, all of pairs that turn {slow} times or less"
    else:
        text += f"; none of {pairs // 2:,} exceeds {MAX_MEAN_PRODUCT}"
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
    found = [scope, *(check.measured(finite) for check in (Bounded(count), Unique(), Smooth()))]
    found += [_relative(reader, rows), *_similarity(finite)]
    reading = reading_of(sample)
    if reading is not None and len(reading.first) == count:
        found += _of_rotation(reading) if sample.stacked or _rotates(sample.table) else ()
        found += _orthogonal(reading)
    return found


def _relative(reader: RowReader, rows: Floats) -> Property:
    """Return whether one matrix takes each row to the next; of too few rows, that it was not measured."""
    try:
        return Shifted(reader).measured(rows)
    except BadParameter as error:
        return Property(Shifted.name, None, f"not measured: {error.rule}")


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
