"""Ways to read arrays as turning pairs: which columns are a cosine and a sine that belong together.

Two columns are such a pair if the sum of their squares is the same in every
row; the table is one if it is the same for all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.inspection.rhythm import Rhythm, measure
from pecli.inspection.samples import Floats, Sample
from pecli.records import dataclass

Places = tuple[tuple[int, Any], ...]
ALL, EVEN, ODD, LAST = np.s_[:, :], np.s_[:, 0::2], np.s_[:, 1::2], np.s_[:, -1]
MANY = 0.4  # share of the rows that tell how columns are laid out
MOST_OTHER, FEW_OTHER = 2, 0.15  # columns that may be other than their doubles, and share of all
LEAST_ROWS = 8  # that a reading goes by where others are spoiled
ROUND = 6.0  # roundings by which a sum of squares may be off, both parts and an arithmetic of its own included


@dataclass(frozen=True)
class PairReading:
    """Pairs of one table.

    Attributes
    ----------
    family : {"rotary", "absolute"}
        Whether cosines and sines are apart, or are the columns of one vector.
    layout : str
        Of a rotary table a layout, of an absolute one an order of columns.
    first, second : (n, m) float64
        The two parts of each pair, the cosine first if names and layout are right.
    width : int
        Columns of a row.
    rows : slice
        Rows used: the longest run that has values.
    tail : str
        What the column beside the pairs is: "", "zero" or "sine".
    tail_at : index
        Where that column stands in the one array.
    last : (n,) float64, optional
        That column.
    places : tuple of (int, index)
        Where the two parts stand: array and columns; then where they stand again.
    resolution : float
        Of the values, relative.
    """

    family: str
    layout: str
    first: Floats
    second: Floats
    width: int
    rows: slice
    tail: str = ""
    tail_at: Any = LAST
    places: Places = ()
    resolution: float = 2.0**-24
    last: Floats | None = None

    @cached_property
    def magnitude(self) -> float:
        """Size of the pairs: from those that go around, whose roundings cancel in the mean."""
        squares = self.first**2 + self.second**2
        middle = float(np.sqrt(np.median(squares)))
        around = np.ptp(self.first, axis=0) > 0.5 * middle
        return float(np.sqrt(squares[:, around].mean())) if around.any() else middle

    @property
    def turning(self) -> NDArray[np.complex128]:
        """Pairs as complex numbers of size 1, (n, m).

        The angle is taken from the smaller part, which is rounded finer; the larger one's rounding, the same in
        many rows where a pair is slow, would tilt the line.
        """
        first, second = (np.clip(part / self.magnitude, -1.0, 1.0) for part in (self.first, self.second))
        by_second = np.where(first > 0, np.arcsin(second), np.pi - np.arcsin(second))
        by_first = np.copysign(np.arccos(first), second)
        angles = np.where(np.abs(second) < np.abs(first), by_second, by_first)
        return np.exp(1j * angles)

    @cached_property
    def rhythm(self) -> Rhythm:
        """How fast the pairs turn, where the values are as coarse as `resolution`."""
        return measure(self.turning, self.resolution)


def readings(sample: Sample) -> Iterator[PairReading]:
    """Yield every reading whose pairs have one size, the most natural first."""
    planes = [squeezed(plane.values) for plane in sample.planes]
    if len(planes) == 2 and planes[0].shape == planes[1].shape and planes[0].ndim == 2:
        yield from _two(sample, planes)
    elif len(planes) == 1:
        (values,) = planes
        if values.ndim == 3 and values.shape[-1] == 2:
            places = ((0, np.s_[..., 0]), (0, np.s_[..., 1]))
            yield from _checked("rotary", "pairs", planes, places, 2 * values.shape[1], sample.resolution)
        elif values.ndim == 2 and values.shape[1] >= 2:
            yield from _one(sample, values)


def squeezed(values: Floats) -> Floats:
    """Return values without axes of length 1, but with at least a row axis."""
    found: Floats = np.squeeze(values)
    if found.ndim == 0 or (found.ndim == 1 and values.shape[0] == 1):
        return found.reshape(1, -1)
    return found.reshape(-1, 1) if found.ndim == 1 and values.ndim == 2 else found  # one column is one pair


def _two(sample: Sample, planes: list[Floats]) -> Iterator[PairReading]:
    names = [plane.name for plane in sample.planes]
    a, b = (1, 0) if names[0] in ("sin", "im") and names[1] in ("cos", "re") else (0, 1)
    width = planes[0].shape[1]
    if "re" in names:
        yield from _checked("rotary", "complex", planes, ((a, ALL), (b, ALL)), 2 * width, sample.resolution)
        return
    doubled = False
    for layout, left, right in doublings(width):
        if all(twice(plane, left, right) for plane in planes):
            doubled = True
            places = ((a, left), (b, left), (a, right), (b, right))
            yield from _checked("rotary", layout, planes, places, width, sample.resolution)
    if not doubled:
        yield from _checked("rotary", "split", planes, ((a, ALL), (b, ALL)), 2 * width, sample.resolution)


def doublings(width: int) -> list[tuple[str, Any, Any]]:
    """Return the layouts that hold every value twice, and the columns of both."""
    if width % 2 or width < 2:
        return []
    return [("half", np.s_[:, : width // 2], np.s_[:, width // 2 :]), ("interleaved", EVEN, ODD)]


def twice(values: Floats, left: Any, right: Any) -> bool:
    """Whether many rows, or nearly all columns, hold the same in two sets of columns; rows of zeros tell nothing."""
    a, b = values[left], values[right]
    same: NDArray[np.bool_] = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1)
    told = (np.nan_to_num(a) != 0).any(axis=1) | (np.nan_to_num(b) != 0).any(axis=1)
    if (same[told] if told.any() else same).mean() > MANY:
        return True
    other = np.count_nonzero((a[told] != b[told]).any(axis=0))
    return bool(0 < other <= min(MOST_OTHER, FEW_OTHER * a.shape[1]))


def _one(sample: Sample, values: Floats) -> Iterator[PairReading]:
    name, width = sample.planes[0].name, values.shape[1]
    rotary = name in ("cos_sin", "sin_cos")
    tail = ""
    if width % 2 and width > 2:
        # an odd width: a column of zeros last, or one sine more than cosines
        tail = "zero" if not np.any(values[:, -1]) else "sine"
    even, halves = width - width % 2, (width - width % 2) // 2
    split = ((0, np.s_[:, :halves]), (0, np.s_[:, halves:even]))
    turns = ((0, np.s_[:, 0:even:2]), (0, np.s_[:, 1:even:2]))
    middle = ((0, np.s_[:, :halves]), (0, np.s_[:, halves + 1 :]))  # an extra sine ends the first half
    # The first part is taken for the cosine; the rhythm tells if it is the sine.
    orders: list[tuple[str, str, Places, str, Any]] = [
        ("rotary", "concat", split, "", LAST),
        ("absolute", "interleaved", turns, tail, LAST),
        ("absolute", "cos-sin", split, tail, LAST),
    ]
    if tail == "sine":
        orders.append(("absolute", "cos-sin", middle, tail, np.s_[:, halves]))
    if not rotary:
        orders = orders[1:]
    for family, layout, places, rest, column in orders:
        for reading in _checked(family, layout, [values], places, width, sample.resolution):
            yield replace(reading, tail=rest, tail_at=column, last=values[column][reading.rows] if rest else None)


def _checked(
    family: str, layout: str, planes: Sequence[Floats], places: Places, width: int, resolution: float
) -> Iterator[PairReading]:
    """Yield the reading if the squares of its pairs add up to one number, in one run of rows at least."""
    a, b = (planes[plane][index] for plane, index in places[:2])
    if a.shape != b.shape or a.shape[0] < 2 or a.shape[1] < 1:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        squares = a**2 + b**2
    filled = squares.max(axis=1) > 0
    finite = np.isfinite(squares).all(axis=1)
    if not (filled & finite).any():
        return
    middle = float(np.median(squares[filled & finite]))
    # phases rounded to a narrow type still give a cosine and a sine of one angle
    limit = ROUND * 2 * max(resolution, 2.0**-24)
    if middle <= 0:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        round_ones = np.asarray((np.abs(squares / middle - 1.0) <= limit).all(axis=1))
    rows = longest_run(round_ones)
    if rows.stop - rows.start < LEAST_ROWS and rows != slice(0, len(a)):
        return
    if rows.stop - rows.start < 2:
        return
    yield PairReading(family, layout, a[rows], b[rows], width, rows, places=places, resolution=resolution)


def longest_run(good: NDArray[np.bool_]) -> slice:
    """Return the longest run of rows that are good."""
    padded = np.concatenate([[False], good, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    if len(edges) == 0:
        return slice(0, 0)
    starts, stops = edges[0::2], edges[1::2]
    best = int((stops - starts).argmax())
    return slice(int(starts[best]), int(stops[best]))
