"""Sums over the blocks of two arrays, in order, so that results do not depend on threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.measures.lanes import Lane, Strip
from pecli.measures.ulps import BINS, coarser

if TYPE_CHECKING:
    from pecli.comparison.compare import Place

PROFILE_BINS = 512


@dataclass
class Spot:
    """A value at a row of the left lane, counted from its first, and an index within the row."""

    row: int
    column: int
    left: float
    right: float
    difference: float


@dataclass
class Odd:
    """Values that are no finite numbers: on one side, on both, and the first row that has one on one side only."""

    left: int = 0
    right: int = 0
    both: int = 0
    first: int | None = None

    def add(self, other: Odd) -> None:
        """Add what a later block has."""
        self.left, self.right, self.both = self.left + other.left, self.right + other.right, self.both + other.both
        self.first = other.first if self.first is None else self.first

    def as_dict(self, tally: Tally) -> dict[str, Any]:
        """Return counts by side; empty where there are none."""
        if not (self.left or self.right or self.both):
            return {}
        found: dict[str, Any] = {"left": self.left, "right": self.right, "both": self.both}
        return found if self.first is None else {**found, "first_row": tally.index(self.first)}


@dataclass
class Part:
    """What one block showed."""

    start: int
    rows: int
    bytes: int
    compared: int
    finite: int = 0
    unequal: int = 0
    beyond: int = 0
    total: float = 0.0
    max_ulp: int = 0
    cosine_min: float = 1.0
    cosine_sum: float = 0.0
    worst: Spot | None = None
    first: Spot | None = None
    nan: Odd = field(default_factory=Odd)
    infinite: Odd = field(default_factory=Odd)
    histogram: NDArray[np.int64] | None = None
    columns: NDArray[np.float64] | None = None
    row_worst: NDArray[np.float64] | None = None


class Tally:
    """Sums over the blocks of two lanes."""

    def __init__(self, left: Lane, right: Lane, strips: list[Strip]) -> None:
        self.left, self.right = left, right
        self.ulp_dtype = coarser(left.dtype, right.dtype)
        self.compared = self.finite = self.unequal = self.beyond = self.max_ulp = self.rows = 0
        self.totals: list[float] = []
        self.histogram = np.zeros(len(BINS), np.int64)
        self.worst: Spot | None = None
        self.first: Spot | None = None
        self.nan, self.infinite = Odd(), Odd()
        self._columns: NDArray[np.float64] | None = None
        self._bin_rows = max(1, -(-left.rows // PROFILE_BINS))
        self._bins = np.zeros(-(-left.rows // self._bin_rows)) if left.rows else np.zeros(1)
        self._cosine_min, self._cosine_sum = 1.0, 0.0
        self._cut = strips[0].cut if strips else ()

    def add(self, part: Part) -> None:
        """Add the next block."""
        self.rows += part.rows
        self.compared += part.compared
        self.finite += part.finite
        self.unequal += part.unequal
        self.beyond += part.beyond
        self.totals.append(part.total)
        self.max_ulp = max(self.max_ulp, part.max_ulp)
        self._cosine_min, self._cosine_sum = min(self._cosine_min, part.cosine_min), self._cosine_sum + part.cosine_sum
        self.nan.add(part.nan)
        self.infinite.add(part.infinite)
        if part.histogram is None:
            self.histogram[0] += part.compared
        else:
            self.histogram += part.histogram
        if part.worst is not None and (self.worst is None or part.worst.difference > self.worst.difference):
            self.worst = part.worst
        self.first = part.first if self.first is None else self.first
        if part.columns is not None:
            self._columns = part.columns if self._columns is None else np.maximum(self._columns, part.columns)
        if part.row_worst is not None:
            bins = np.arange(part.start, part.start + part.rows) // self._bin_rows
            np.maximum.at(self._bins, bins, part.row_worst)

    @property
    def max_abs(self) -> float:
        """Largest difference."""
        return 0.0 if self.worst is None else self.worst.difference

    @property
    def cosine_min(self) -> float | None:
        """Smallest cosine similarity of two rows."""
        return self._cosine_min if self._width() > 1 and self.rows else None

    @property
    def cosine_mean(self) -> float | None:
        """Mean cosine similarity of the rows."""
        return self._cosine_sum / self.rows if self._width() > 1 and self.rows else None

    def _row_shape(self) -> tuple[int, ...]:
        return tuple(c.stop for c in self._cut) if self._cut else self.left.row_shape

    def _width(self) -> int:
        width = 1
        for side in self._row_shape():
            width *= side
        return width

    def index(self, row: int) -> tuple[int, ...]:
        """Return the index in the lane's leading axes of a row."""
        return tuple(int(i) for i in np.unravel_index(row, self.left.shape[: self.left.lead])) if self.left.lead else ()

    def place(self, spot: Spot | None) -> Place | None:
        """Return where a spot stands in the array."""
        from pecli.comparison.compare import Place

        if spot is None:
            return None
        shape = self._row_shape()
        column = spot.column // 2 if self.left.dtype.startswith("complex") else spot.column
        inner = tuple(int(i) for i in np.unravel_index(column, shape)) if shape else ()
        return Place(self.left.name, (*self.index(spot.row), *inner), spot.left, spot.right, spot.difference)

    def columns(self) -> list[float]:
        """Largest difference in each column; empty where nothing differs."""
        return [] if self._columns is None else [float(v) for v in self._columns]

    def profile(self) -> list[tuple[int, float]]:
        """First row and largest difference of each stretch of rows; empty where nothing differs."""
        if self.worst is None:
            return []
        return [(k * self._bin_rows, float(v)) for k, v in enumerate(self._bins)]
