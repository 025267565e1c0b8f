"""A bounded part of a table, as float64, and how coarse its values are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.numbers.rounding import floats, nearest
from pecli.records import dataclass
from pecli.tables.views import ArrayView, is_stack, unstacked, view_of

HEAD_VALUES = 1 << 21  # of the first rows; enough for every estimate, and read in milliseconds
HEAD_ROWS = 4096
RESOLUTION = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SampledPlane:
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
    """What identification works on.

    Attributes
    ----------
    table : Tabular
        The whole.
    planes : list of SampledPlane
        The head of each array; a stack (2, n, m) is taken apart.
    dtype : str
        Type in the file.
    grain : str
        The coarsest type that holds every value seen.
    """

    table: Tabular
    planes: list[SampledPlane]
    views: list[ArrayView]
    dtype: str
    grain: str
    stacked: bool = False
    positions: Floats | None = field(default=None)

    @property
    def resolution(self) -> float:
        """Half a unit in the last place of a value of size 1, relative."""
        return RESOLUTION[self.grain]


def take(
    table: Tabular, rows: int = HEAD_ROWS, *, unstack: bool = True, names: Collection[str] | None = None
) -> Sample:
    """Read the first rows of every array of numbers; a stack of two is cosines and sines, unless told otherwise.

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
    stacked = len(arrays) == 1 and unstack and _is_pair(arrays[0])
    views = unstacked(table, arrays[0], ("cos", "sin")) if stacked else [view_of(table, a) for a in arrays]
    planes = [plane for view in views for plane in _planes(view, rows)]
    dtype = arrays[0].dtype if arrays else "float32"
    return Sample(table, planes, views, dtype, grain(planes, dtype), stacked, _positions(table, planes))


def _is_pair(array: Array) -> bool:
    return is_stack(array) and array.shape[-1] != 2 and array.name not in ("bias", "index")


def _planes(view: ArrayView, rows: int) -> list[SampledPlane]:
    count = max(2, min(view.rows, rows, HEAD_VALUES // max(1, view.row_size)))
    return planes_of(view, 0, min(count, view.rows))


def planes_of(view: ArrayView, start: int, stop: int) -> list[SampledPlane]:
    """Return some rows of a view; complex values as two planes."""
    raw = view.read(start, stop)
    if raw.dtype.kind == "c":
        parts = (("re", raw.real), ("im", raw.imag))
        return [SampledPlane(name, part.astype(np.float64), view.rows) for name, part in parts]
    with np.errstate(invalid="ignore"):  # a NaN that signals
        return [SampledPlane(view.name, floats(raw, view.dtype).astype(np.float64), view.rows)]


def _positions(table: Tabular, planes: list[SampledPlane]) -> Floats | None:
    if not planes:
        return None
    try:
        found = table.position(0, len(planes[0].values))
    except (IndexError, ValueError):
        return None
    return None if found is None else found.astype(np.float64)


def grain(planes: list[SampledPlane], dtype: str) -> str:
    """Return the coarsest floating type that holds every value of the planes exactly; a mask's number is of any."""
    order = ["bfloat16", "float16", "float32", "float64"]
    own = {"complex64": "float32"}.get(dtype, dtype if dtype in order else "float64")
    shown = [hide(plane.values) for plane in planes if plane.values.size]
    return next((kind for kind in order[: order.index(own)] if all(holds(values, kind) for values in shown)), own)


def hide(values: Floats) -> Floats:
    """Return values with minus infinity, and what stands for it in a mask, as NaN."""
    low = np.fmin.reduce(values, axis=None)
    if low == -np.inf or low <= -3e38 or low in (-65504.0, -1e9, -1e4, -3.3895313892515355e38):
        return np.where(values <= (low if np.isfinite(low) else -np.inf), np.nan, values)
    return values


def holds(values: Floats, kind: str) -> bool:
    """Whether a type holds every value exactly."""
    return bool(np.array_equal(rounded(values, kind), values, equal_nan=True))


def rounded(values: Floats, kind: str) -> Floats:
    """Return values rounded to a type, as float64."""
    return values if kind == "float64" else nearest(values, kind)
