"""Structure of a table of waves: the columns of the cosine and the sine of each pair, decided from the values.

Two columns are a pair if the sum of their squares is the same in every row; a column is doubled if another one
equals it.  Names of arrays only break ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.judge.planes import Floats, Plane

# Mean departure of cos^2 + sin^2 from its median, relative; bfloat16 leaves 0.005, columns of two pairs 0.3.
MAX_DEPARTURE = 0.02
# Largest departure of pairs whose columns also look like copies, as columns of nearly equal frequencies do.
SURE_DEPARTURE = 0.001
# Rows that show this: one row has no departure at all.
MIN_SURE_ROWS = 8
# Columns that are tried before many more are.
FIRST_COLUMNS = 512
# Share of the rows that pairs are found by: a few corrupted rows must not hide them.
KEPT_ROWS = 0.95
# Difference of a value from its copy, of the column's size: bfloat16 buffers that were computed twice stay below.
COPY_GAP = 0.02
# Rows in which a copy must agree: a corrupted value must not hide it.
MIN_COPY_SHARE = 0.9
# Radians a row to which raw angles must rise somewhere: smaller ones are within a turn, like values of a sine.
MIN_STEP = 3.2

ALL = np.s_[:]


@dataclass(frozen=True)
class PlaneColumns:
    """Columns of one plane that hold one component: `plane` is the number of the plane, `index` selects columns."""

    plane: int
    index: Any


@dataclass(frozen=True)
class Reading:
    """Assignment of the columns of planes to cosines and sines.

    Attributes
    ----------
    layout : str
        split, half, interleaved, concat, sin-cos, pairs, alternate (sine and cosine in neighbouring columns),
        complex, angles, angles-half, angles-interleaved.
    cos, sin : (rows, m) float64 or None
        Of the sampled rows; of angles `cos` holds the angles.
    cos_at, sin_at : tuple of PlaneColumns
        Every place of the component, the first being the one read.
    tail : PlaneColumns or None
        The last column of an odd width.
    departure : float
        Mean departure of the pairs from one magnitude, relative.
    """

    layout: str
    cos: Floats
    sin: Floats | None
    cos_at: tuple[PlaneColumns, ...]
    sin_at: tuple[PlaneColumns, ...] = ()
    tail: PlaneColumns | None = None
    departure: float = 0.0
    values: tuple[Floats, ...] = field(default=(), repr=False, compare=False)

    @property
    def pairs(self) -> int:
        """Number of pairs of columns."""
        return int(self.cos.shape[1])

    @property
    def is_angles(self) -> bool:
        """Whether the values are angles and no sines."""
        return self.layout.startswith("angles")

    @property
    def is_alone(self) -> bool:
        """Whether the reading has cosines alone or sines alone."""
        return self.sin is None and not self.is_angles

    def swapped(self) -> Reading:
        """Return the reading with cosines and sines exchanged."""
        assert self.sin is not None
        layout = {"concat": "sin-cos", "sin-cos": "concat"}.get(self.layout, self.layout)
        return Reading(layout, self.sin, self.cos, self.sin_at, self.cos_at, self.tail, self.departure, self.values)


def usable_rows(values: Sequence[Floats]) -> NDArray[np.bool_]:
    """Return which rows have finite values that are not all zero."""
    good = np.ones(len(values[0]), bool)
    for plane in values:
        good &= np.isfinite(plane).all(axis=1)
    some = np.zeros(len(good), bool)
    for plane in values:
        some |= (plane != 0).any(axis=1)
    return good & some


def readings(planes: Sequence[Plane], values: Sequence[Floats]) -> list[Reading]:
    """Return the readings whose pairs have one magnitude, the best first; else readings of one component or of angles.

    Parameters
    ----------
    planes : one plane, or two of one shape
    values : their sampled rows, (rows, width) each
    """
    with np.errstate(all="ignore"):
        kept = _kept(values)
        found = list(_two(kept) if len(kept) == 2 else _one(kept[0], planes[0]))
        whole = [_of_all_rows(reading, values) for reading in found]
    order = sorted(range(len(whole)), key=lambda k: (round(whole[k].departure, 3), k))
    return [whole[k] for k in order]


def lone_columns(values: Sequence[Floats], columns: slice) -> Reading:
    """Return some columns of one plane as the cosines, or the sines, that they are alone."""
    return Reading("split", values[0][:, columns], None, (PlaneColumns(0, columns),), values=tuple(values))


def _kept(values: Sequence[Floats]) -> list[Floats]:
    good = usable_rows(values)
    return [plane[good] for plane in values]


def _of_all_rows(reading: Reading, values: Sequence[Floats]) -> Reading:
    cos = values[reading.cos_at[0].plane][:, reading.cos_at[0].index]
    sin = values[reading.sin_at[0].plane][:, reading.sin_at[0].index] if reading.sin_at else None
    return Reading(reading.layout, cos, sin, reading.cos_at, reading.sin_at, reading.tail, reading.departure,
                   tuple(values))  # fmt: skip


def departure(cos: Floats, sin: Floats) -> float:
    """Return how far cos^2 + sin^2 is from its median in each pair, relative, the mean over all.

    Of many pairs some are tried first.
    """
    step = cos.shape[-1] // FIRST_COLUMNS
    if step > 1 and (apart := departure(cos[:, ::step], sin[:, ::step])) > 2 * MAX_DEPARTURE:
        return apart
    squares = cos**2 + sin**2
    if not squares.size:
        return np.inf
    middle = np.median(squares, axis=0)
    if not (middle > 0).all():
        return np.inf
    off = np.abs(squares / middle - 1)
    by_row = np.sort(np.minimum(off, 1.0).mean(axis=1))
    return float(by_row[: max(1, int(len(by_row) * KEPT_ROWS))].mean())


def same_columns(left: Floats, right: Floats) -> bool:
    """Whether columns equal others in nearly all rows."""
    size = np.abs(left).max(initial=0.0)
    near = np.abs(left - right) <= COPY_GAP * size
    return bool(size > 0 and (near.mean(axis=1) >= MIN_COPY_SHARE).mean() >= MIN_COPY_SHARE)


def copies(values: Floats) -> Iterator[tuple[str, Any, Any]]:
    """Yield the ways in which columns of a plane repeat: halves, or neighbours; only where they are not all alike."""
    width = values.shape[1]
    if width < 2 or width % 2:
        return
    for layout, first, second in (
        ("half", np.s_[: width // 2], np.s_[width // 2 :]),
        ("interleaved", np.s_[0::2], np.s_[1::2]),
    ):
        if same_columns(values[:, first], values[:, second]):
            yield layout, first, second


def _two(values: list[Floats]) -> Iterator[Reading]:
    a, b = values
    if len(a) < 1:
        return
    for (layout, first, second), (other, *_) in zip(copies(a), copies(b), strict=False):
        if layout == other:
            apart = departure(a[:, first], b[:, first])
            if apart < MAX_DEPARTURE:
                at = (
                    (PlaneColumns(0, first), PlaneColumns(0, second)),
                    (PlaneColumns(1, first), PlaneColumns(1, second)),
                )
                yield Reading(layout, a[:, first], b[:, first], *at, departure=apart)
    apart = departure(a, b)
    if apart < MAX_DEPARTURE:
        yield Reading("split", a, b, (PlaneColumns(0, ALL),), (PlaneColumns(1, ALL),), departure=apart)


def _one(values: Floats, plane: Plane) -> Iterator[Reading]:
    width, half = values.shape[1], values.shape[1] // 2
    paired = plane.array.shape[-1:] == (2,) and len([s for s in plane.array.shape if s != 1]) > 2
    doubled = list(copies(values))
    for layout, *parts in copies(values[:, :half]) if width % 4 == 0 else ():  # [cos cos | sin sin]
        ends = ([range(start, start + half)[part] for part in parts] for start in (0, half))
        cos, sin = (tuple(PlaneColumns(0, slice(r.start, r.stop, r.step)) for r in side) for side in ends)
        (one, _), (other, copy) = ([values[:, at.index] for at in side] for side in (cos, sin))
        apart = departure(one, other)
        if apart < MAX_DEPARTURE and same_columns(other, copy):
            yield Reading(layout, one, other, cos, sin, departure=apart)
    if width >= 2:
        tail = PlaneColumns(0, np.s_[-1:]) if width % 2 else None
        even = width - width % 2
        options = [
            ("pairs" if paired else "alternate", np.s_[0:even:2], np.s_[1:even:2], tail),
            ("concat", np.s_[:half], np.s_[half:even], tail),
        ]
        if width % 2:  # one cosine is missing, or one sine: [s s s | c c], [c c | s s s]
            options.append(("concat", np.s_[:half], np.s_[half + 1 :], PlaneColumns(0, np.s_[half : half + 1])))
        for layout, first, second, rest in options:
            apart = departure(values[:, first], values[:, second])
            if apart < MAX_DEPARTURE and (not doubled or (apart < SURE_DEPARTURE and len(values) >= MIN_SURE_ROWS)):
                at = (PlaneColumns(0, first),), (PlaneColumns(0, second),)
                yield Reading(layout, values[:, first], values[:, second], *at, rest, apart)
    for layout, first, second in doubled:
        part = values[:, first]
        kind = f"angles-{layout}" if is_angles(part) else layout
        yield Reading(kind, part, None, (PlaneColumns(0, first), PlaneColumns(0, second)), departure=MAX_DEPARTURE)
    if is_angles(values):
        yield Reading("angles", values, None, (PlaneColumns(0, ALL),), departure=MAX_DEPARTURE)
    yield Reading("split", values, None, (PlaneColumns(0, ALL),), departure=2 * MAX_DEPARTURE)


def is_angles(values: Floats) -> bool:
    """Whether columns rise or fall evenly past the range of a sine, as unreduced angles do."""
    if len(values) < 3 or np.abs(values).max(initial=0.0) <= MIN_STEP:
        return False
    for some in (values[:, :: 1 + values.shape[1] // FIRST_COLUMNS], values):
        steps = np.diff(some, axis=0)
        middle = np.median(steps, axis=0)
        even = np.abs(steps - middle) <= 0.02 * np.abs(middle) + 2.0**-7 * np.abs(some).max(axis=0)
        if not (even.mean(axis=0) > MIN_COPY_SHARE).all():
            return False
    return bool((middle != 0).any())
