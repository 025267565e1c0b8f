"""First rows of a table as float64, and the pairs of columns in them that rotate, as the judge finds them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.judge.planes import EPSILON, Plane, effective_dtype
from pecli.judge.signal import phasors, readings
from pecli.numbers.rounding import Floats, floats
from pecli.spec.tabular import Array, Tabular
from pecli.tables.views import ArrayView, is_stack, unstacked, view_of

HEAD_VALUES = 1 << 21  # of the first rows; enough for every estimate, and read in milliseconds
HEAD_ROWS = 4096
MAX_ROW = 1 << 27  # values of a row; an array of longer ones is not looked at
SIDE = 512  # queries and keys of a bias that are looked at
# Relative roundings that cos^2 + sin^2 of a row may be off by: six of each part, an arithmetic of its own included.
MAX_DEPARTURE = 12.0
# Rows from which pairs are recognised where later rows are no such pairs.
MIN_ROWS = 8


class SampledPlane(NamedTuple):
    """The first rows of one view, complex values as two planes.

    Attributes
    ----------
    name : str
        Of the view; for complex values "re" and "im".
    values : (n, ...) float64
        NaN and infinity included.
    rows : int
        Rows of the whole view.
    """

    name: str
    values: Floats
    rows: int


@dataclass(frozen=True)
class Sample:
    """The first rows of a table.

    Attributes
    ----------
    table : Tabular
        The whole.
    planes : list of SampledPlane
        The head of each array; a stack (2, n, m) is taken apart.
    views : list of ArrayView
        The arrays, or the two parts of a stack.
    dtype : str
        Type in the file.
    resolution : float
        Largest relative rounding error of the narrowest type that holds all values.
    stacked : bool
        Whether a stack was taken apart.
    positions : (n,) float64, optional
        Of the rows.
    """

    table: Tabular
    planes: list[SampledPlane]
    views: list[ArrayView]
    dtype: str
    resolution: float
    stacked: bool = False
    positions: Floats | None = field(default=None)


def take(
    table: Tabular, rows: int = HEAD_ROWS, *, unstack: bool = True, names: Collection[str] | None = None
) -> Sample:
    """Read the first rows of every array of numbers; a stack of two is taken as cosines and sines by default.

    Parameters
    ----------
    table : Tabular
    rows : int
        How many at most.
    unstack : bool
        Whether (2, n, m) is taken apart.
    names : collection of str, optional
        Of the arrays to read (default: all).
    """
    wanted = table.arrays if names is None else [table.array(name) for name in names]
    arrays = [array for array in wanted if array.bytes]
    stacked = len(arrays) == 1 and unstack and is_stack(arrays[0])
    stacked = stacked and arrays[0].shape[-1] != 2 and arrays[0].name not in ("bias", "index")
    views = unstacked(table, arrays[0], ("cos", "sin")) if stacked else [view_of(table, a) for a in arrays]
    planes = []
    for view in views:
        if view.row_size > MAX_ROW:
            continue
        count = max(2, min(rows, HEAD_VALUES // max(1, view.row_size)))
        planes += planes_of(view, 0, min(count, view.rows))
    dtype = arrays[0].dtype if arrays else "float32"
    values = np.concatenate([plane.values.ravel() for plane in planes]) if planes else np.zeros(0)
    resolution = EPSILON[effective_dtype(values, dtype)]
    return Sample(table, planes, views, dtype, resolution, stacked, _positions(table, planes))


def planes_of(view: ArrayView, start: int, stop: int) -> list[SampledPlane]:
    """Return some rows of a view; complex values as two planes."""
    raw = view.read(start, stop)
    if raw.dtype.kind == "c":
        parts = (("re", raw.real), ("im", raw.imag))
        return [SampledPlane(name, part.astype(np.float64), view.rows) for name, part in parts]
    with np.errstate(invalid="ignore"):  # a NaN that signals
        return [SampledPlane(view.name, floats(raw, view.dtype).astype(np.float64), view.rows)]


def some_of(count: int, most: int) -> list[int]:
    """Return numbers 0 .. count-1: all of them, or `most`, the first, the last and some between."""
    return sorted({round(i * (count - 1) / max(1, min(count, most) - 1)) for i in range(min(count, most))})


def head_values(view: ArrayView, head: int, heads: int) -> Floats:
    """Return the first queries and keys of one head, at most `SIDE` of each, (q, k); fewer of very long rows."""
    per_head = view.rows // heads
    queries = min(per_head, SIDE, max(2, HEAD_VALUES // view.shape[-1]))
    values = floats(view.read(head * per_head, head * per_head + queries), view.dtype)
    return values.reshape(-1, view.shape[-1])[:SIDE, :SIDE].astype(np.float64)


def _positions(table: Tabular, planes: list[SampledPlane]) -> Floats | None:
    if not planes:
        return None
    try:
        found = table.position(0, len(planes[0].values))
    except (IndexError, ValueError):
        return None
    return None if found is None else found.astype(np.float64)


def squeezed(values: Floats) -> Floats:
    """Return values without axes of length 1, but with at least a row axis."""
    found: Floats = np.squeeze(values)
    if found.ndim == 0 or (found.ndim == 1 and values.shape[0] == 1):
        return found.reshape(1, -1)
    return found.reshape(-1, 1) if found.ndim == 1 and values.ndim == 2 else found  # one column is one pair


@dataclass(frozen=True)
class PairReading:
    """Pairs of one table, from its first row on.

    Attributes
    ----------
    family : {"rotary", "absolute"}
        Whether cosines and sines are apart, or are the columns of one vector.
    first, second : (n, m) float64
        The two parts of each pair, the cosine first if names and layout are right.
    columns : ((k,) int64, (k,) int64)
        Where both parts stand among the columns of all arrays; copies of the pairs included.
    tail : bool
        Whether a column stands apart from the pairs.
    """

    family: str
    first: Floats
    second: Floats
    columns: tuple[NDArray[np.int64], NDArray[np.int64]]
    tail: bool

    @cached_property
    def magnitude(self) -> float:
        """Size of the pairs: of the pairs that complete a turn, whose rounding errors cancel in the mean."""
        squares = self.first**2 + self.second**2
        middle = float(np.sqrt(np.median(squares)))
        around = np.ptp(self.first, axis=0) > 0.5 * middle
        return float(np.sqrt(squares[:, around].mean())) if around.any() else middle

    @property
    def cos_and_sin(self) -> tuple[Floats, Floats]:
        """Both parts of the pairs, the cosine first whatever names and layout say."""
        return (self.second, self.first) if self.sine_first else (self.first, self.second)

    @property
    def turning(self) -> NDArray[np.complex128]:
        """Pairs as complex numbers of size 1, (n, m)."""
        return phasors(self.first / self.magnitude, self.second / self.magnitude)

    @cached_property
    def sine_first(self) -> bool:
        """Whether the first part of the pairs is the sine: it is 0 at position 0, and slow pairs rotate backwards."""
        zero = [not part[0].any() for part in (self.first, self.second)]
        if zero[0] != zero[1]:
            return zero[0]
        turning = self.turning
        steps = np.angle((turning[1:] * turning[:-1].conj()).sum(axis=0))
        return bool(np.sign(steps[np.abs(steps) < np.pi / 2]).sum() < 0)


def reading_of(sample: Sample) -> PairReading | None:
    """Return the pairs of a table whose first rows all have one size; None where it has none."""
    values = [squeezed(plane.values) for plane in sample.planes]
    if len(values) not in (1, 2) or len({v.shape for v in values}) != 1 or len(values[0]) < 2:
        return None
    paired = values[0].ndim == 3 and values[0].shape[2] == 2 and len(values) == 1
    if values[0].ndim != 2 and not paired:
        return None
    order = [1, 0] if [plane.name for plane in sample.planes] == ["sin", "cos"] else list(range(len(values)))
    width = int(np.prod(values[0].shape[1:]))
    rows = [values[at].reshape(-1, width) for at in order]
    view = sample.views[0]
    plane = Plane(sample.table, view.array, view.name, view.rows, width)
    rotary = len(rows) == 2 or paired or sample.planes[0].name in ("cos_sin", "sin_cos")
    family = "rotary" if rotary else "absolute"
    for found in readings([plane] * len(rows), rows):
        if found.sin is None:
            continue
        count = _round_rows(found.cos, found.sin, sample.resolution)
        if count >= 2 and (count >= MIN_ROWS or count == len(found.cos)):
            every = np.arange(width)
            first, second = (
                np.concatenate([order[part.plane] * width + every[part.index] for part in parts])
                for parts in (found.cos_at, found.sin_at)
            )
            columns = first, second
            return PairReading(family, found.cos[:count], found.sin[:count], columns, found.tail is not None)
    return None


def _round_rows(cos: Floats, sin: Floats, resolution: float) -> int:
    """Return how many rows, from the first on, have pairs of one size."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        squares = cos**2 + sin**2
        known = squares[np.isfinite(squares).all(axis=1) & (squares.max(axis=1) > 0)]
        middle = float(np.median(known)) if known.size else 0.0
        off = np.abs(squares / middle - 1.0) <= MAX_DEPARTURE * max(resolution, 2.0**-24)
    good = np.asarray(off.all(axis=1))
    return len(good) if good.all() else int(good.argmin())


def is_matrix(table: Tabular, array: Array) -> bool:
    """Whether the last two axes of an array are queries and keys."""
    if array.axes[-2:] == ("query", "key"):
        return True
    named = array.name == "bias" or array.name.startswith("index")
    if len(array.shape) == 3:  # a file that does not name its axes
        square = array.shape[1] == array.shape[2]
        if named or not square or len(table.arrays) > 1:
            return named and square
        return reading_of(take(table, SIDE)) is None  # two may be cosines and sines
    return named and len(array.shape) == 2 and array.shape[0] == array.shape[1]
