"""Ways to read arrays as turning pairs: which columns are a cosine and a sine that belong together.

Two columns are such a pair if the sum of their squares is the same in every
row; the table is one if it is the same for all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.measures.samples import Floats, Sample

ROUND = 6.0  # roundings by which a sum of squares may be off, both parts and an arithmetic of its own included


@dataclass(frozen=True)
class Reading:
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
    blank : tuple of int
        Rows of zeros left out.
    tail : str
        What the columns after the pairs are: "", "zero" or "sine".
    """

    family: str
    layout: str
    first: Floats
    second: Floats
    width: int
    rows: slice
    blank: tuple[int, ...] = ()
    tail: str = ""

    @property
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


def readings(sample: Sample) -> Iterator[Reading]:
    """Yield every reading whose pairs have one size, the most natural first."""
    planes = [plane.values for plane in sample.planes]
    if len(planes) == 2 and planes[0].shape == planes[1].shape and planes[0].ndim == 2:
        yield from _two(sample, planes[0], planes[1])
    elif len(planes) == 1:
        values = squeezed(planes[0])
        if values.ndim == 3 and values.shape[-1] == 2:
            yield from _checked(
                "rotary", "pairs", values[..., 0], values[..., 1], values.shape[1] * 2, sample.resolution
            )
        elif values.ndim == 2 and values.shape[1] >= 2:
            yield from _one(sample, values)


def pairs_of(arrays: Sequence[Floats], resolution: float) -> Iterator[Reading]:
    """Yield readings of cosines and sines, or of one array with both, whatever they are called."""
    if len(arrays) == 2:
        cos, sin = arrays
        yield from _checked("rotary", "split", cos, sin, 2 * cos.shape[1], resolution)
        return
    (values,) = arrays
    width = values.shape[1] // 2
    if values.shape[1] % 2 == 0:
        yield from _checked("absolute", "cos-sin", values[:, :width], values[:, width:], 2 * width, resolution)
        yield from _checked("absolute", "interleaved", values[:, 0::2], values[:, 1::2], 2 * width, resolution)


def squeezed(values: Floats) -> Floats:
    """Return values without axes of length 1, but with at least a row axis."""
    found: Floats = np.squeeze(values)
    return found.reshape(1, -1) if found.ndim < 2 and values.shape[0] == 1 else found


def _two(sample: Sample, a: Floats, b: Floats) -> Iterator[Reading]:
    if sample.planes[0].name in ("sin", "im") and sample.planes[1].name in ("cos", "re"):
        a, b = b, a
    if sample.planes[0].name == "re":
        yield from _checked("rotary", "complex", a, b, 2 * a.shape[1], sample.resolution)
        return
    w, doubled = a.shape[1], False
    if w % 2 == 0 and w > 1:
        h = w // 2
        for layout, left, right in (
            ("half", slice(0, h), slice(h, None)),
            ("interleaved", slice(0, None, 2), slice(1, None, 2)),
        ):
            if all(np.array_equal(x[:, left], x[:, right], equal_nan=True) for x in (a, b)):
                doubled = True
                yield from _checked("rotary", layout, a[:, left], b[:, left], w, sample.resolution)
    if not doubled:
        yield from _checked("rotary", "split", a, b, 2 * w, sample.resolution)


def _one(sample: Sample, values: Floats) -> Iterator[Reading]:
    name, width = sample.planes[0].name, values.shape[1]
    rotary = name in ("cos_sin", "sin_cos")
    tail = ""
    if width % 2 and width > 2:
        # an odd width: a column of zeros last, or one sine more than cosines
        tail = "zero" if not np.any(values[:, -1]) else "sine"
    even = width - width % 2
    body = values[:, :even]
    halves = even // 2
    split = (body[:, :halves], body[:, halves:])
    middle = (values[:, :halves], values[:, halves + 1 :])  # an extra sine ends the first half
    # The first part is taken for the cosine; the rhythm tells if it is the sine.
    orders = [
        ("rotary", "concat", *split, ""),
        ("absolute", "interleaved", body[:, 0::2], body[:, 1::2], tail),
        ("absolute", "cos-sin", *split, tail),
    ]
    if tail == "sine":
        orders.append(("absolute", "cos-sin", *middle, tail))
    if not rotary:
        orders = orders[1:]
    for family, layout, a, b, rest in orders:
        yield from _checked(family, layout, a, b, width, sample.resolution, rest)


def _checked(
    family: str, layout: str, a: Floats, b: Floats, width: int, resolution: float, tail: str = ""
) -> Iterator[Reading]:
    """Yield the reading if the squares of its pairs add up to one number."""
    if a.shape != b.shape or a.shape[0] < 2 or a.shape[1] < 1:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        squares = a**2 + b**2
    filled = squares.max(axis=1) > 0
    rows = longest_run(filled & np.isfinite(squares).all(axis=1))
    if rows.stop - rows.start < 2:
        return
    squares = squares[rows]
    middle = float(np.median(squares))
    if middle <= 0 or not np.isfinite(middle):
        return
    # phases rounded to a narrow type still give a cosine and a sine of one angle
    limit = ROUND * 2 * max(resolution, 2.0**-24)
    if float(np.abs(squares / middle - 1.0).max()) > limit:
        return
    blank = tuple(int(i) for i in np.flatnonzero(~filled))
    yield Reading(family, layout, a[rows], b[rows], width, rows, blank, tail)


def longest_run(good: NDArray[np.bool_]) -> slice:
    """Return the longest run of rows that are good."""
    padded = np.concatenate([[False], good, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    if len(edges) == 0:
        return slice(0, 0)
    starts, stops = edges[0::2], edges[1::2]
    best = int((stops - starts).argmax())
    return slice(int(starts[best]), int(stops[best]))
