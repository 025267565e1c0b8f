"""How far two tables are apart, streamed at reading speed with constant memory.

Equality is that of values: both zeros are equal, NaN equals NaN in the same
place, infinity equals infinity.  A block of equal bytes costs no more than
reading it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Tabular
from pecli.engine.parallel import ordered_map
from pecli.measures.lanes import Lane, Strip, pair_lanes, same_layout, strips

if TYPE_CHECKING:
    from pecli.comparison.tallies import Tally

READ_BYTES = 1 << 20  # of each side at a time: fits the caches, and large enough that Python's share is small


@dataclass(frozen=True)
class Tolerance:
    """What counts as the same: abs(a - b) <= atol + rtol abs(b), or at most `ulp` units in the last place."""

    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0

    @property
    def exact(self) -> bool:
        """Whether only equal values pass."""
        return not (self.atol or self.rtol or self.ulp)


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


@dataclass
class ArrayComparison:
    """Two arrays side by side.

    Attributes
    ----------
    name, shape, dtype : str, tuple, str
        Of the first; `other_shape` and `other_dtype` of the second.
    compared : int
        Values that stand for each other.
    unequal, beyond : int
        How many of them differ at all, and by more than the tolerance.
    max_abs, mean_abs : float
        Largest and mean absolute difference; the mean is over finite ones.
    max_ulp : int or None
        Largest distance in units in the last place of `ulp_dtype`, of finite values.
    histogram : dict of str to int
        How many values are 0, 1, 2, 3..4 .. units apart.
    cosine_min, cosine_mean : float or None
        Cosine similarity of the two sides' rows, the smallest and the mean.
    nan, infinite : dict
        How many values are so on the left alone, on the right alone, on both sides, and where the first is.
    worst, first : Place or None
        Where the difference is largest, and the first one beyond the tolerance.
    columns : list of float
        Largest difference in each column (at most 65536).
    profile : list of (int, float)
        First row and largest difference of up to 512 stretches of rows.
    """

    name: str
    shape: tuple[int, ...]
    other_shape: tuple[int, ...]
    dtype: str
    other_dtype: str
    compared: int = 0
    unequal: int = 0
    beyond: int = 0
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_ulp: int | None = None
    ulp_dtype: str | None = None
    histogram: dict[str, int] = field(default_factory=dict)
    cosine_min: float | None = None
    cosine_mean: float | None = None
    nan: dict[str, Any] = field(default_factory=dict)
    infinite: dict[str, Any] = field(default_factory=dict)
    worst: Place | None = None
    first: Place | None = None
    columns: list[float] = field(default_factory=list)
    profile: list[tuple[int, float]] = field(default_factory=list)

    @property
    def same_shape(self) -> bool:
        """Whether nothing was left out of the comparison."""
        left, right = ([s for s in shape if s != 1] for shape in (self.shape, self.other_shape))
        return left == right


@dataclass
class Comparison:
    """What was found between two sources.

    Attributes
    ----------
    arrays : list of ArrayComparison
        What could be compared.
    findings : list of str
        What else is to be said: missing arrays, other shapes and types, and why values differ.
    """

    arrays: list[ArrayComparison] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    complete: bool = True

    @property
    def equal(self) -> bool:
        """Whether everything on one side is on the other, within the tolerance."""
        return self.complete and bool(self.arrays) and not any(found.beyond for found in self.arrays)

    @property
    def max_abs(self) -> float | None:
        """The largest difference in any array."""
        return max((found.max_abs for found in self.arrays), default=None)

    @property
    def mean_abs(self) -> float | None:
        """The mean difference over all values."""
        count = sum(found.compared for found in self.arrays)
        return sum(found.mean_abs * found.compared for found in self.arrays) / count if count else None

    @property
    def max_ulp(self) -> int | None:
        """The largest distance in units in the last place."""
        return max((found.max_ulp for found in self.arrays if found.max_ulp is not None), default=None)

    @property
    def worst(self) -> Place | None:
        """The place of the largest difference."""
        places = [found.worst for found in self.arrays if found.worst is not None]
        return max(places, key=lambda place: place.difference, default=None)

    @property
    def first(self) -> Place | None:
        """The first difference beyond the tolerance, in the order of the arrays."""
        return next((found.first for found in self.arrays if found.first is not None), None)


Progress = Callable[[int], None] | None


def compare_tables(a: Tabular, b: Tabular, tolerance: Tolerance, progress: Progress = None) -> Comparison:
    """Compare all values of two tables.

    Arrays are matched by name; a sole array on both sides needs none.  What
    has another shape is compared as far as both reach.
    """
    found = Comparison()
    pairs, left_only, right_only = pair_lanes(a, b)
    for names, side in ((left_only, "first"), (right_only, "second")):
        if names:
            found.complete = False
            found.findings.append(f"only the {side} has {_words(names)}")
    if not pairs:
        found.findings.append(f"no array of one name: {_listing(a)} against {_listing(b)}; compare one with path::name")
    for left, right in pairs:
        _compare_pair(*same_layout(left, right), tolerance, found, progress)
    return found


def _compare_pair(left: Lane, right: Lane, tolerance: Tolerance, found: Comparison, progress: Progress) -> None:
    name = left.name if left.name == right.name else f"{left.name} and {right.name}"
    if left.plain_shape != right.plain_shape:
        found.complete = False
        found.findings.append(f"{name}: shape {_shape(left.shape)} against {_shape(right.shape)}")
    if left.dtype != right.dtype:
        found.findings.append(f"{name}: type {left.dtype} against {right.dtype}, compared as numbers")
    if (left.dtype.startswith("complex")) != (right.dtype.startswith("complex")):
        found.complete = False
        return
    parts = strips(left, right)
    if parts is None:
        found.complete = False
        found.findings.append(f"{name}: these shapes have nothing in common to compare")
        return
    found.arrays.append(compare_lanes(left, right, list(parts), tolerance, progress))


def compare_lanes(
    left: Lane, right: Lane, parts: list[Strip], tolerance: Tolerance, progress: Progress = None
) -> ArrayComparison:
    """Compare the rows that two lanes have in common, on all cores."""
    from pecli.comparison.blocks import compare_block
    from pecli.comparison.tallies import Tally

    tally = Tally(left, right, parts)
    work = partial(compare_block, left, right, tolerance)
    for part in ordered_map(work, _blocks(left, right, parts)):
        tally.add(part)
        if progress is not None:
            progress(part.bytes)
    return _finish(tally)


def _blocks(left: Lane, right: Lane, parts: list[Strip]) -> Iterator[Strip]:
    """Cut strips into blocks of about READ_BYTES."""
    from pecli.declare.tabular import ITEM_BYTES

    width = max(left.row_size * ITEM_BYTES[left.dtype], right.row_size * ITEM_BYTES[right.dtype], 1)
    step = max(1, READ_BYTES // width)
    for part in parts:
        for start in range(0, part.rows, step):
            yield Strip(part.left + start, part.right + start, min(step, part.rows - start), part.cut)


def _finish(tally: Tally) -> ArrayComparison:
    left, right = tally.left, tally.right
    from pecli.measures.ulps import BINS

    return ArrayComparison(
        name=left.name,
        shape=left.shape,
        other_shape=right.shape,
        dtype=left.dtype,
        other_dtype=right.dtype,
        compared=tally.compared,
        unequal=tally.unequal,
        beyond=tally.beyond,
        max_abs=tally.max_abs,
        mean_abs=math.fsum(tally.totals) / tally.finite if tally.finite else 0.0,
        max_ulp=tally.max_ulp if tally.ulp_dtype else None,
        ulp_dtype=tally.ulp_dtype,
        histogram={name: int(n) for name, n in zip(BINS, tally.histogram, strict=True) if n},
        cosine_min=tally.cosine_min,
        cosine_mean=tally.cosine_mean,
        nan=tally.nan.as_dict(tally),
        infinite=tally.infinite.as_dict(tally),
        worst=tally.place(tally.worst),
        first=tally.place(tally.first),
        columns=tally.columns(),
        profile=tally.profile(),
    )


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "()"


def _words(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _listing(table: Tabular) -> str:
    return ", ".join(f"'{array.name}' {_shape(array.shape)}" for array in table.arrays)
