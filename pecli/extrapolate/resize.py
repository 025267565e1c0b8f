"""Longer tables from trained rows: along the sequence, or as a grid of image patches.

Every way is a short list of taps for each new row, old rows with their weights,
so a longer table is made block by block.  Grids are resized as PyTorch's
``interpolate(align_corners=False)`` resizes an image whose channels are the
columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, UnknownName
from pecli.numbers.dtypes import DTYPES
from pecli.numbers.rounding import widen
from pecli.spec.tabular import Array, Tabular
from pecli.tables.fill.filler import round_into
from pecli.version import __version__

WAYS = ("linear", "cubic", "nearest", "tile")
SMOOTH = ("linear", "cubic")
PLACE = "row i lies at (i + 1/2) n/m - 1/2 of the old rows"
FORMULAS = {
    "linear": f"{PLACE}, linear between neighbours, clamped at the ends",
    "cubic": f"{PLACE}, cubic convolution of 4 rows with a = -0.75, clamped at the ends",
    "nearest": "q(i) = p(floor(i n/m))",
    "tile": "q(i) = p(i mod n)",
}
SMOOTHED = {  # antialiased (align_corners false); a filter that is cut at the ends
    "linear": f"{PLACE}, a triangle, where rows shrink n/m as wide, its weights divided by their sum",
    "cubic": f"{PLACE}, cubic convolution with a = -0.5, where rows shrink n/m as wide, weights divided by their sum",
}
SOURCES = {
    "linear": "interpolate of PyTorch, mode linear or bilinear",
    "cubic": "Keys 1981; interpolate of PyTorch, mode bicubic",
    "nearest": "interpolate of PyTorch, mode nearest",
    "tile": "Beltagy et al. 2020, arXiv:2004.05150, section 5",
}
CUBIC, CUBIC_ANTIALIASED = -0.75, -0.5  # PyTorch takes another cubic where it antialiases, that of PIL


# For each of m new rows, the indices of k old rows and their weights, (m, k) each.
Taps = tuple[NDArray[np.int64], NDArray[np.float64]]


class Extension(NamedTuple):
    """How trained rows become another number of rows.

    Parameters
    ----------
    way : str
        One of `WAYS`.
    prefix : int
        Rows at the start that are kept as they are (class tokens, register tokens).
    grid, to_grid : (int, int), optional
        Height and width of the patches, before and after.
    antialias : bool
        Whether the filter widens where a grid shrinks.
    """

    way: str
    prefix: int = 0
    grid: tuple[int, int] | None = None
    to_grid: tuple[int, int] | None = None
    antialias: bool = False


def make_taps(extension: Extension, old: int, new: int, dtype: str = "float64") -> Taps:
    """Return the taps of `new` rows made of `old` ones.

    `dtype` is the type of the rows: PyTorch places the rows of all but float64
    in float32, which shows in the fifth decimal of a long side.
    """
    way = extension.way
    if way in SMOOTH:
        scale = old / new if dtype == "float64" else float(np.float32(old) / np.float32(new))
        centre = scale * (np.arange(new, dtype=np.float64) + 0.5)  # exact for a scale of 24 bits
        if extension.antialias:
            return _antialiased(way, old, scale, _rounded(centre, dtype))
        return _smooth(way, old, _rounded(centre - 0.5, dtype))  # one rounding, as a fused multiply-add has
    i = np.arange(new, dtype=np.int64)
    return (i * old // new if way == "nearest" else i % old)[:, None], np.ones((new, 1))


def _rounded(place: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    return place if dtype == "float64" else place.astype(np.float32).astype(np.float64)


def _smooth(way: str, old: int, place: NDArray[np.float64]) -> Taps:
    """Return the neighbours of each place, indices clamped to the table."""
    if way == "linear":
        place = np.maximum(place, 0.0)
    below = np.floor(place)
    t = place - below
    offsets = (0, 1) if way == "linear" else (-1, 0, 1, 2)
    weights = [1 - t, t] if way == "linear" else [_cubic(np.abs(t - k), CUBIC) for k in offsets]
    index = below.astype(np.int64)[:, None] + np.array(offsets)
    return np.clip(index, 0, old - 1), np.stack(weights, 1)


def _antialiased(way: str, old: int, scale: float, centre: NDArray[np.float64]) -> Taps:
    """Return the taps of a filter stretched by the scale where the table shrinks, over the rows it reaches."""
    widening = max(scale, 1.0)
    support = (1 if way == "linear" else 2) * widening
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    stop = np.minimum((centre + support + 0.5).astype(np.int64), old)
    index = first[:, None] + np.arange(int((stop - first).max()))
    distance = np.abs(index - centre[:, None] + 0.5) / widening
    weight = np.maximum(1 - distance, 0.0) if way == "linear" else _cubic(distance, CUBIC_ANTIALIASED)
    weight = np.where(index < stop[:, None], weight, 0.0)
    return np.minimum(index, old - 1), weight / weight.sum(1, keepdims=True)


def _cubic(x: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Return Keys's cubic convolution kernel at distances x >= 0."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


class Resized(Tabular):
    """Trained rows (n, d) as another number of rows, in the type they have.

    Parameters
    ----------
    rows : (n, d) ndarray
        Storage values (bfloat16 as bits).
    array : Array
        Description of the array they come from; axes of size 1 before the rows stay.
    extension : Extension
    new : int
        Rows to make, those of the prefix included.
    source : str
        Where the rows come from.
    """

    def __init__(self, rows: NDArray[Any], array: Array, extension: Extension, new: int, source: str) -> None:
        check_extension(extension, len(rows), new)
        self._rows, self._extension = rows, extension
        lead = array.shape[:-2]
        axes = (*array.axes[:-2], "position", "channel")
        self.arrays = (Array(array.name, (*lead, new, rows.shape[1]), array.dtype, axes, lead=len(lead) + 1),)
        old = extension.grid or (len(rows) - extension.prefix, 1)
        grid = extension.to_grid or (new - extension.prefix, 1)
        self._sides = old, grid
        self._taps = [make_taps(extension, a, b, array.dtype) for a, b in zip(old, grid, strict=True)]
        way = extension.way
        self.metadata: Mapping[str, str] = {
            "formula": (SMOOTHED if extension.antialias else FORMULAS)[way],
            "source": f"{SOURCES[way]}; rows of {source}",
            "extension": _words(extension, new),
            "pecli_version": __version__,
        }

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the numbers of the rows."""
        return np.arange(start, stop, dtype=np.int64)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        (target,) = out.values()
        prefix, dtype = self._extension.prefix, self.arrays[0].dtype
        kept = max(0, min(prefix, stop) - start)
        if kept:
            target[:kept] = self._rows[start : start + kept]
        if start + kept < stop:
            new = np.arange(start + kept - prefix, stop - prefix)
            with np.errstate(all="ignore"):  # any bits may stand in a file
                round_into(self._mixed(new), dtype, target[kept:])

    def _mixed(self, new: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return new rows (after the prefix): a weighted sum of old ones, in one order whatever the block."""
        (_, old_width), (_, width) = self._sides
        (down, down_weight), (across, across_weight) = self._taps
        y, x = np.divmod(new, width)
        total = np.zeros((len(new), self._rows.shape[1]))
        for i, j in np.ndindex(down.shape[1], across.shape[1]):
            weight = down_weight[y, i] * across_weight[x, j]
            index = down[y, i] * old_width + across[x, j] + self._extension.prefix
            total += weight[:, None] * widen(self._rows[index], self.arrays[0].dtype)
        return total


def _words(e: Extension, new: int) -> str:
    """Return an extension as the command's options, for the file it makes."""
    words = [f"--extend {e.way}", *([f"--prefix {e.prefix}"] if e.prefix else [])]
    for name, side in (("grid", e.grid), ("to-grid", e.to_grid)):
        words += [f"--{name} {side[0]}x{side[1]}"] if side else []
    words += [] if e.to_grid else [f"--test-len {new}"]
    words += ["--antialias"] if e.antialias else []
    return " ".join(words)


def check_extension(extension: Extension, rows: int, new: int) -> None:
    """Raise BadParameter where an extension does not fit a table of `rows` rows."""
    e = extension
    if e.way not in WAYS:
        raise UnknownName("way to extend", e.way, WAYS)
    if e.antialias and e.way not in SMOOTH:
        raise BadParameter("antialias", "true", f"is for linear and cubic, not for {e.way}: leave it out")
    if e.prefix >= rows:
        rule = f"must be below {rows}, the rows of the table: some must be left to extend"
        raise BadParameter("prefix", e.prefix, rule)
    rest = rows - e.prefix
    if e.grid is not None:
        if e.grid[0] * e.grid[1] != rest:
            raise BadParameter("grid", f"{e.grid[0]}x{e.grid[1]}", _grid_rule(e.grid, rows, e.prefix))
        if e.way == "tile":
            raise BadParameter("extend", e.way, "is along a sequence: use linear, cubic or nearest with --grid")
    elif new <= rows:
        raise BadParameter("test-len", new, f"must be above {rows}, the rows of the table: it reaches them already")


def _grid_rule(grid: tuple[int, int], rows: int, prefix: int) -> str:
    cells = grid[0] * grid[1]
    have = f"has {cells} cells, and the table {rows} rows" + (f", {rows - prefix} after the prefix" if prefix else "")
    side = math.isqrt(rows - prefix)
    if cells < rows and not prefix:
        return f"{have}: give --prefix {rows - cells} if the first {rows - cells} are no patches"
    if side * side == rows - prefix:
        return f"{have}: {side}x{side} would fit"
    return f"{have}: the grid must hold exactly as many"


def trained_rows(table: Tabular) -> tuple[NDArray[Any], Array]:
    """Return the one array of a table as rows (n, d), and its description.

    Raises
    ------
    BadParameter
        If there are several arrays, or it has no rows of numbers.
    """
    if len(table.arrays) != 1:
        names = [array.name for array in table.arrays]
        likely = next((name for name in names if "pos" in name.lower()), names[0])
        raise BadParameter("SOURCE", None, f"holds {len(names)} arrays: name the one to extend, as FILE::{likely}")
    array = table.arrays[0]
    lead = array.shape[:-2]
    if len(array.shape) < 2 or math.prod(lead) != 1 or 0 in array.shape or array.dtype not in DTYPES:
        shape = " x ".join(map(str, array.shape)) or "a single number"
        rule = "must be rows of real numbers, (rows, width), to be extended: name another array as file::name"
        raise BadParameter("SOURCE", f"{array.name} ({shape} {array.dtype})", rule)
    return table.read(array.name).reshape(array.shape[-2:]), array
