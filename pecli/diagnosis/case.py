"""Two tables that should be alike, and what may have been done to one that makes it the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

import numpy as np

from pecli.comparison.compare import compare_lanes
from pecli.comparison.figures import Figures
from pecli.comparison.results import Finding, Tolerance
from pecli.declare.tabular import Tabular
from pecli.measures.floats import floats
from pecli.measures.lanes import Lane, pair_lanes, same_layout, strips
from pecli.measures.samples import RESOLUTION, Floats, holds
from pecli.numbers.types import COMPLEX, real_type
from pecli.records import dataclass
from pecli.tables.table import Table

WINDOW = 1024  # rows that candidates are tried on before the whole table is
BEFORE = 16  # rows of the window before the first difference, where that lies far down
GRAINS = ("bfloat16", "float16", "float32", "float64")
FEW = 16  # rows at the window's end that a candidate is tried on first: there the angles are large
ROUNDINGS = 4  # of a value of the table's size, that two roundings and a change of a value between them make

Lanes = Sequence[Lane]
Part = tuple[slice, slice]


@dataclass(frozen=True)
class Candidate:
    """One thing that may have been done.

    Attributes
    ----------
    kind : str
        A word for it, for programs.
    text : str
        What to say.
    lanes : callable
        Gives the expected lanes so changed, each beside that of the case; None where it does not apply.
    made : callable, optional
        Gives the computed table that the lanes are of; left out, they are changed values of the expected one.
    rows, columns : slice
        Rows and columns of the window that it can speak of.
    beside : sequence of Finding
        What is said with it.
    after : int, optional
        The row from which on it must explain all, but for what roundings leave.
    """

    kind: str
    text: str
    lanes: Callable[[], Lanes | None]
    made: Callable[[], Table | None] | None = None
    rows: slice = field(default_factory=lambda: slice(None))
    columns: slice = field(default_factory=lambda: slice(None))
    beside: Sequence[Finding] = ()
    after: int | None = None

    def silent(self, planes: Sequence[Floats]) -> int:
        """Return how many values of some rows it cannot speak of."""
        return sum(p.size - p[self.rows, self.columns].size for p in planes)


@dataclass(frozen=True)
class Case:
    """Arrays of two tables that should be alike.

    Attributes
    ----------
    table : Tabular
        What is at hand.
    mine, expected : sequence of Lane
        Its arrays and the expected ones beside each other, with rows of one shape.
    first : int
        The first row that differs.
    exact : sequence of Lane
        The expected ones before they were rounded to their type, where they are computed.
    part : (row, step), optional
        First of the rows of the whole tables that these are, and the distance of two; left out, they are all.
    known : Table, optional
        The recipe that the expected arrays are said to be of, where they come from a file.
    """

    table: Tabular
    mine: Lanes
    expected: Lanes
    first: int
    exact: Lanes = ()
    part: tuple[int, int] | None = None
    known: Table | None = None

    @cached_property
    def names(self) -> list[str]:
        """What the arrays are called."""
        return [lane.name for lane in self.mine]

    @cached_property
    def rows(self) -> int:
        """Rows that all have."""
        return min(lane.rows for lane in (*self.mine, *self.expected))

    @cached_property
    def window(self) -> tuple[int, int]:
        """First and last (exclusive) row that candidates are tried on."""
        start = max(0, min(self.first - BEFORE, self.rows - WINDOW)) if self.first >= WINDOW else 0
        return start, min(self.rows, start + WINDOW)

    @cached_property
    def here(self) -> list[Floats]:
        """The values at hand in the window, (n, columns) each."""
        return [read_rows(lane, *self.window) for lane in self.mine]

    @cached_property
    def there(self) -> list[Floats]:
        """The expected values in the window."""
        return [read_rows(lane, *self.window) for lane in self.expected]

    @cached_property
    def grain(self) -> str:
        """The type to which values at hand are rounded."""
        return _grain(self.here, self.mine[0].dtype)

    @cached_property
    def narrowed(self) -> bool:
        """Whether values at hand are coarser than their type."""
        stored = self.mine[0].dtype
        return stored in GRAINS and GRAINS.index(stored) > GRAINS.index(self.grain)

    @cached_property
    def resolution(self) -> float:
        """Relative error of the rounding to the coarser of the types on both sides."""
        stored = [self.grain, *(real_type(lane.dtype) for lane in self.expected)]
        return max(RESOLUTION.get(kind, 0.0) for kind in stored)

    @cached_property
    def scale(self) -> float:
        """Size of the expected values."""
        return _size(self.there) or 1.0

    @cached_property
    def size(self) -> float:
        """Size of the values at hand."""
        return _size(self.here) or self.scale

    @property
    def rounding(self) -> float:
        """What roundings may make."""
        return ROUNDINGS * self.resolution * self.scale

    def off(self, planes: Sequence[Floats], part: Part = (slice(None), slice(None)), share: float = 1.0) -> float:
        """Return the largest difference of other values from the numbers at hand; infinite for other shapes.

        With a share below 1 it is that of so many of the values, the others left out.
        """
        if [p.shape for p in planes] != [p.shape for p in self.here]:
            return float("inf")
        found = [gaps(p[part], q[part])[~np.isnan(p[part])] for p, q in zip(self.here, planes, strict=True)]
        every = np.concatenate(found)
        last = int(share * (every.size - 1))
        return float(every.max(initial=0.0) if share == 1 or last <= 0 else np.partition(every, last)[last])

    def tried(self, candidate: Candidate, enough: float, share: float = 1.0) -> float:
        """Return the largest difference that a candidate leaves in the window; infinite where some rows leave more."""
        lanes = candidate.lanes()
        start, stop = self.window
        if lanes is None or any(a.rows < stop for a in lanes):
            return float("inf")
        if share == 1 and candidate.rows == candidate.columns == slice(None) and stop - start > 2 * FEW:
            few = [gaps(p[-FEW:], read_rows(a, stop - FEW, stop)) for p, a in zip(self.here, lanes, strict=True)
                   if p.shape[1] == a.row_size * (2 if a.dtype.startswith("complex") else 1)]  # fmt: skip
            if len(few) < len(lanes) or max(float(gap.max(initial=0.0)) for gap in few) > enough:
                return float("inf")
        return self.off([read_rows(lane, start, stop) for lane in lanes], (candidate.rows, candidate.columns), share)

    def compared(
        self, lanes: Lanes, enough: Callable[[Figures], bool] = lambda _: False, tolerance: Tolerance | None = None
    ) -> Figures:
        """Compare all values at hand with other lanes, or until the figures so far are enough to know.

        Where the other lanes have no row, none is compared.
        """
        total = Figures()
        for mine, other in zip(self.mine, lanes, strict=True):
            parts = list(strips(mine, other) or ())
            known = partial(_together, enough, total)
            total += compare_lanes(mine, other, parts, tolerance or Tolerance(), enough=known).figures
            if enough(total):
                break
        return total

    def beside(self, table: Tabular) -> Lanes | None:
        """Return the lanes of another table in place of the expected ones; None if they are shaped otherwise."""
        pairs = (same_layout(a, b) for a, b in pair_lanes(self.table, table)[0])
        found = {a.name: b for a, b in pairs if a.row_shape == b.row_shape}
        return [found[name] for name in self.names] if found.keys() >= set(self.names) else None


def case_of(mine: Tabular, expected: Tabular, first: int, known: Table | None = None) -> Case | None:
    """Return the arrays of two tables that stand for each other; None where there are none of real numbers."""
    pairs = [same_layout(a, b) for a, b in pair_lanes(mine, expected)[0]]
    pairs = [(a, b) for a, b in pairs if a.row_shape == b.row_shape and min(a.rows, b.rows) and a.row_size]
    pairs = [(a, b) for a, b in pairs if (a.dtype in COMPLEX.values()) == (b.dtype in COMPLEX.values())]
    if not pairs:
        return None
    case = Case(mine, [a for a, _ in pairs], [b for _, b in pairs], first, known=known)
    exact = case.beside(expected.as_type("float64")) if isinstance(expected, Table) else None
    return replace(case, exact=exact or ())


def read_rows(lane: Lane, start: int, stop: int) -> Floats:
    """Return rows of a lane as (rows, columns) float64."""
    return floats(lane.read(start, stop), lane.dtype).astype(np.float64).reshape(stop - start, -1)


def gaps(p: Floats, q: Floats) -> Floats:
    """Return absolute differences; 0 where both are NaN or the same infinity, infinity where one is NaN."""
    with np.errstate(invalid="ignore"):
        apart = np.where((p == q) | (np.isnan(p) & np.isnan(q)), 0.0, np.abs(p - q))
    return np.nan_to_num(apart, nan=np.inf, posinf=np.inf)


def _together(enough: Callable[[Figures], bool], before: Figures, further: Figures) -> bool:
    return enough(before + further)


def _size(planes: Sequence[Floats]) -> float:
    return max((float(np.abs(p[np.isfinite(p)]).max(initial=0.0)) for p in planes), default=0.0)


def _grain(planes: Sequence[Floats], dtype: str) -> str:
    if dtype.startswith(("int", "uint", "bool")):
        return "float64"
    order = GRAINS[: GRAINS.index(real_type(dtype))] if real_type(dtype) in GRAINS else ()
    return next((kind for kind in order if all(holds(p, kind) for p in planes)), real_type(dtype))
