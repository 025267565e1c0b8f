"""The figures of a comparison: those of two blocks add up to those of both, whatever was compared in them."""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.records import dataclass


@dataclass(frozen=True)
class Place:
    """One value: where it stands, and what both sides have there."""

    array: str
    index: tuple[int, ...]
    left: float
    right: float
    difference: float

    def as_dict(self) -> dict[str, Any]:
        """Return what --json prints."""
        return {"array": self.array, "index": self.index, "values": [self.left, self.right], "abs": self.difference}


@dataclass(frozen=True)
class OddValues:
    """Values that are no finite numbers: on one side, on both, and the first row that has one on one side only."""

    left: int = 0
    right: int = 0
    both: int = 0
    first_row: tuple[int, ...] | None = None

    @property
    def alone(self) -> bool:
        """Whether one side has some where the other has a number."""
        return bool(self.left or self.right)

    def __add__(self, later: OddValues) -> OddValues:
        """Return the counts of both."""
        first = later.first_row if self.first_row is None else self.first_row
        return OddValues(self.left + later.left, self.right + later.right, self.both + later.both, first)

    def as_dict(self) -> dict[str, Any]:
        """Return counts by side; empty where there are none."""
        if not (self.left or self.right or self.both):
            return {}
        found: dict[str, Any] = {"left": self.left, "right": self.right, "both": self.both}
        return found if self.first_row is None else {**found, "first_row": self.first_row}


@dataclass(frozen=True)
class Figures:
    """How far values are apart that stand for each other.

    ``a + b`` are the figures of two blocks of which `b` comes later;
    ``Figures()`` are those of no values.

    Attributes
    ----------
    compared, finite : int
        Values, and those of them whose difference is finite: of complex ones their parts.
    unequal, beyond : int
        How many differ at all, and by more than the tolerance.
    other_bits : int
        How many are equal in other bits: zeros of two signs, NaN of two kinds; counted where nothing differs.
    unequal_rows : int
        Rows that have a value that differs.
    largest : float
        Largest finite difference; where NaN or infinity stands, there is none.
    total : float
        Sum of the finite absolute differences.
    max_ulp : int
        Largest distance in units in the last place, of finite values.
    histogram : (66,) int64 or None
        How many values are 0, 1, 2, 3..4 .. units apart (`ulps.BINS`).
    directed : int
        Rows of two values or more, which have a direction.
    cosine_min, cosine_sum : float
        Cosine similarity of the two sides' rows.
    nan, infinite : OddValues
    worst, first, last : Place or None
        Where the difference is largest; the first and the last one beyond the tolerance.
    columns : (columns,) float64 or None
        Largest difference in each column; None where nothing differs or there are more than 65536.
    profile : (stretches,) float64 or None
        Largest difference in each stretch of rows; None where nothing differs.
    """

    compared: int = 0
    finite: int = 0
    unequal: int = 0
    beyond: int = 0
    other_bits: int = 0
    unequal_rows: int = 0
    largest: float = 0.0
    total: float = 0.0
    max_ulp: int = 0
    histogram: NDArray[np.int64] | None = None
    directed: int = 0
    cosine_min: float = 1.0
    cosine_sum: float = 0.0
    nan: OddValues = field(default_factory=OddValues)
    infinite: OddValues = field(default_factory=OddValues)
    worst: Place | None = None
    first: Place | None = None
    last: Place | None = None
    columns: NDArray[np.float64] | None = None
    profile: NDArray[np.float64] | None = None

    def __add__(self, later: Figures) -> Figures:
        """Return the figures of both."""
        both = {name: (getattr(self, name), getattr(later, name)) for name in FIELDS}
        return Figures(**{name: _JOINED.get(name, _sum)(*values) for name, values in both.items()})

    def reversed(self, array: str) -> Figures:
        """Return the same with the sides exchanged, and places in an array of this name."""

        def other(place: Place | None) -> Place | None:
            return None if place is None else replace(place, array=array, left=place.right, right=place.left)

        nan, infinite = (replace(odd, left=odd.right, right=odd.left) for odd in (self.nan, self.infinite))
        worst, first, last = map(other, (self.worst, self.first, self.last))
        return replace(self, nan=nan, infinite=infinite, worst=worst, first=first, last=last)

    @property
    def max_abs(self) -> float:
        """Largest absolute difference."""
        return 0.0 if self.worst is None else self.worst.difference

    @property
    def mean_abs(self) -> float:
        """Mean absolute difference, over finite ones."""
        return self.total / self.finite if self.finite else 0.0

    @property
    def cosine_mean(self) -> float | None:
        """Mean cosine similarity of the rows; None where they have one value."""
        return self.cosine_sum / self.directed if self.directed else None


FIELDS = tuple(one.name for one in fields(Figures))


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _counts(a: NDArray[np.int64] | None, b: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    return b if a is None else a if b is None else a + b


def _largest(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return the larger of each pair; None for arrays of two shapes, whose columns are not the same."""
    if a is None or b is None:
        return b if a is None else a
    return np.maximum(a, b) if a.shape == b.shape else None


def _worse(a: Place | None, b: Place | None) -> Place | None:
    return b if a is None or (b is not None and b.difference > a.difference) else a


_JOINED: dict[str, Any] = {
    "max_ulp": max,
    "largest": max,
    "cosine_min": min,
    "histogram": _counts,
    "worst": _worse,
    "first": lambda a, b: b if a is None else a,
    "last": lambda a, b: a if b is None else b,
    "columns": _largest,
    "profile": _largest,
}
"""How each figure of two blocks becomes that of both; those that are not named are added."""
