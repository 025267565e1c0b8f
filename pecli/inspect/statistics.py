"""Content of a table: arrays, recipe, statistics, in blocks with constant memory; and the excerpts that are printed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import ordered_map
from pecli.errors import BadRecipe, PecliError
from pecli.numbers.printing import figure
from pecli.numbers.rounding import floats, widen
from pecli.spec.plans import Bias
from pecli.spec.tabular import Array, Block, Tabular
from pecli.tables.table import Table

BLOCK_BYTES = 1 << 20  # read at once: with their float64 copies they stay in the caches
MAX_POWER = 400  # of two, of the largest value, up to which sums and squares of a block are float64


@dataclass
class Statistics:
    """Of one array, all values.

    Attributes
    ----------
    minimum, maximum, mean : float or None
        Of the finite values; None where there are none.
    norm_min, norm_max : float or None
        Smallest and largest Euclidean norm of a row.
    nan, infinite : int
        How many values are not a number, or infinite.
    first_nan : int or None
        Row of the first value that is not a number.
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    norm_min: float | None = None
    norm_max: float | None = None
    nan: int = 0
    infinite: int = 0
    first_nan: int | None = None


@dataclass(frozen=True, repr=False)
class Inspection:
    """Content of a source: arrays, recipe, statistics."""

    source: str
    format: str | None
    arrays: tuple[Array, ...]
    recipe: str | None
    metadata: dict[str, str]
    statistics: list[Statistics] = field(default_factory=list)
    slopes: list[float] | None = None
    positions: tuple[float, float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the inspection as data, for JSON; what was not measured is left out."""
        optional: dict[str, Any] = {"positions": self.positions, "slopes": self.slopes}
        return {
            "source": self.source,
            "format": self.format,
            "arrays": [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in self.arrays],
            "recipe": self.recipe,
            "metadata": self.metadata,
            "statistics": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in self.statistics},
            **{name: value for name, value in optional.items() if value is not None},
        }

    def __repr__(self) -> str:
        lines = [f"{self.source}: {self.recipe or 'without a recipe'}"]
        for array, s in zip(self.arrays, self.statistics, strict=True):
            figures = {"minimum": s.minimum, "maximum": s.maximum, "mean": s.mean, "not finite": s.nan + s.infinite}
            texts = (f"{name} {'none' if value is None else figure(value)}" for name, value in figures.items())
            lines.append(f"{array.name} ({', '.join([' x '.join(map(str, array.shape)), array.dtype, *texts])})")
        return "\n  ".join(lines)


def inspect_table(source: str, table: Tabular, *, progress: Callable[[int], None] | None = None) -> Inspection:
    """Return the arrays, the recipe and the statistics of a table; every value is read once."""
    statistics = [_statistics(table, array, progress) for array in table.arrays]
    return Inspection(
        source=source,
        format=getattr(table, "format", None),
        arrays=table.arrays,
        recipe=table.recipe,
        metadata=dict(table.metadata),
        statistics=statistics,
        slopes=_slopes(table),
        positions=_ends(table),
    )


class _Sums(NamedTuple):
    """Figures of some rows; infinite ends where nothing was counted."""

    minimum: float = math.inf
    maximum: float = -math.inf
    norm_min: float = math.inf
    norm_max: float = -math.inf
    first_nan: float = math.inf
    nan: int = 0
    infinite: int = 0
    counted: int = 0
    total: Fraction = Fraction(0)  # of finite values the sum may be no float64

    def merged(self, more: _Sums) -> _Sums:
        """Return the figures of both."""
        joins: tuple[Any, ...] = (min, max, min, max, min, add, add, add, add)
        return _Sums(*(join(a, b) for join, a, b in zip(joins, self, more, strict=True)))


def _sums(start: int, raw: NDArray[Any], dtype: str) -> _Sums:
    """Return the figures of one block."""
    values = floats(raw, dtype).reshape(max(1, len(raw)), -1)
    wide, finite, odd = values.astype(np.float64), values, _Sums()
    if not np.isfinite(wide.sum()):
        known, nan = np.isfinite(wide), np.isnan(wide)
        first = start + int(nan.any(axis=1).argmax()) if nan.any() else math.inf
        odd = _Sums(first_nan=first, nan=int(nan.sum()), infinite=int(np.isinf(wide).sum()))
        finite, wide = wide[known], np.where(known, wide, 0.0)
    if not finite.size:
        return odd
    low, high = float(finite.min()), float(finite.max())
    power = int(np.frexp(max(-low, high))[1])  # squares beyond 1e154 are no float64
    power = power if abs(power) > MAX_POWER else 0
    scaled = np.ldexp(wide, -power) if power else wide
    total = Fraction(float(scaled.sum())) * Fraction(2) ** power
    found = odd._replace(minimum=low, maximum=high, counted=finite.size, total=total)
    if wide.shape[1] < 2:
        return found
    whole = np.isfinite(values).all(axis=1) if odd.nan or odd.infinite else np.s_[:]
    norms = np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), power)[whole]
    if not norms.size:
        return found
    return found._replace(norm_min=float(norms.min()), norm_max=float(norms.max()))


def _statistics(table: Tabular, array: Array, progress: Callable[[int], None] | None) -> Statistics:
    """Read an array once, in order (compressed data allow nothing else), and count its blocks on all cores."""

    def count(block: Block) -> tuple[_Sums, Block]:
        with np.errstate(all="ignore"):  # any bits may stand in a file
            return _sums(block.start, block.values[array.name], array.dtype), block

    found = _Sums()
    for part, block in ordered_map(count, table.blocks([array.name], BLOCK_BYTES)):
        found = found.merged(part)
        if progress is not None:
            progress((block.stop - block.start) * array.row_bytes)
    ends = (None if end == none else end for end, none in zip(found[:5], _Sums(), strict=False))
    low, high, norm_min, norm_max, first = ends
    mean, row = float(found.total / found.counted) if found.counted else None, None if first is None else int(first)
    return Statistics(array.name, low, high, mean, norm_min, norm_max, found.nan, found.infinite, row)


def _slopes(table: Tabular) -> list[float] | None:
    """Return the slopes of a bias that has them, in full digits."""
    if isinstance(table, Table) and isinstance(table.plan, Bias) and table.plan.slopes is not None:
        return [float(slope) for slope in table.plan.slopes()]
    if any(array.name == "slopes" and len(array.shape) == 1 for array in table.arrays):
        values = floats(table.read("slopes"), table.array("slopes").dtype)
        return [float(v) for v in values.tolist()]
    return None


def _ends(table: Tabular) -> tuple[float, float] | None:
    rows = next((array.shape[array.lead - 1] for array in table.arrays[:1] if array.lead), 0)
    if rows == 0:
        return None
    first, last = table.position(0, 1), table.position(rows - 1, rows)
    return None if first is None or last is None else (first[0].item(), last[0].item())


@dataclass(frozen=True)
class Excerpt:
    """Some rows and columns of one array, or of one head of it.

    Attributes
    ----------
    array : Array
        What it is a part of.
    title : str
        The array's name, with the head where it has heads.
    row_axis, column_axis : str
        What rows and columns are.
    row_labels : list of str
        Position, query or index of each row; None stands for rows left out.
    column_labels : list of str
        Index of each column; None stands for columns left out.
    cells : list of list
        Values as Python numbers, None where left out.
    exact : list of list
        The same before they were rounded to float32, where they are computed here: what decimals are rounded from.
    """

    array: Array
    title: str
    row_axis: str
    column_axis: str
    row_labels: list[str | None]
    column_labels: list[str | None]
    cells: list[list[Any]] = field(default_factory=list)
    exact: list[list[Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of the excerpt."""
        return {
            "name": self.array.name,
            "shape": self.array.shape,
            "dtype": self.array.dtype,
            "title": self.title,
            "rows": self.row_labels,
            "columns": self.column_labels,
            "values": self.cells,
        }


# Values of a row that is shown; each takes some 70 bytes on its way to the screen.
MAX_ROW_VALUES = 1 << 22


def preview(table: Tabular, *, rows: int = 12, columns: int = 8, heads: int = 2) -> list[Excerpt]:
    """Return the visible parts of every array, at most `rows` x `columns` each.

    Of an array with heads, the first `heads` of them.

    Raises
    ------
    BadRecipe
        For rows that are too long: whole ones are computed.
    """
    for array in table.arrays:
        if (count := math.prod(array.row_shape)) > MAX_ROW_VALUES:
            rule = f"at most {MAX_ROW_VALUES:,} are looked at: ask for shorter ones"
            raise BadRecipe(f"a row of '{array.name}' has {count:,} values, and {rule}")
    view = _View(table)
    return [part for array in table.arrays for part in _parts(view, array, rows, columns, heads)]


class _View:
    """A table whose values are read, and the same in float64 where it is computed in float32."""

    def __init__(self, table: Tabular) -> None:
        self.table, self._doubles = table, None
        if isinstance(table, Table) and (table.request.dtype, table.request.arithmetic) == ("float32", "exact"):
            with contextlib.suppress(PecliError):
                self._doubles = Table(table.source, table.extent, table.request._replace(dtype="float64"))

    def read(self, array: Array, start: int, stop: int) -> tuple[list[Any], list[Any]]:
        """Return the values of some rows, flattened, and the values before rounding."""
        values = self.table.read_rows([array.name], start, stop)[array.name].reshape(-1)
        found = (widen(values, "bfloat16") if array.dtype == "bfloat16" else values).tolist()
        if self._doubles is None:
            return found, found
        doubles = self._doubles.read_rows([array.name], start, stop)[array.name].reshape(-1)
        with np.errstate(over="ignore"):  # a double may be larger than the table's type holds
            rounded = doubles.astype(values.dtype)
        if not np.array_equal(rounded, values, equal_nan=values.dtype.kind in "fc"):
            return found, found  # numbers that are drawn for their type
        return found, doubles.tolist()


def _parts(view: _View, array: Array, rows: int, columns: int, heads: int) -> list[Excerpt]:
    shape = array.shape
    if len(shape) == 0:
        return [_part(view, array, array.name, 0, 1, rows, columns)]
    if array.axes[:1] == ("head",) and len(shape) > 1 and array.lead == 2:
        per_head = shape[1]
        if len(shape) == 2:  # values by distance: a head is a row
            return [_by_head(view, array, rows, columns)]
        return [
            _part(view, array, f"{array.name}, head {h} of {shape[0]}", h * per_head, per_head, rows, columns)
            for h in range(min(heads, shape[0]))
        ]
    return [_part(view, array, array.name, 0, array.rows, rows, columns)]


def _pick(count: int, limit: int) -> list[int | None]:
    """Return indices of the head and the tail, None between them where some are left out."""
    if count <= limit:
        return list(range(count))
    tail = limit // 3
    return [*range(limit - tail), None, *range(count - tail, count)]


def _part(view: _View, array: Array, title: str, first: int, count: int, rows: int, columns: int) -> Excerpt:
    """Return some rows of an array, or of the head that begins with row `first`."""
    picked, shown = _pick(count, rows), _pick(math.prod(array.row_shape), columns)
    row_axis = array.axes[array.lead - 1] if array.axes else ""
    column_axis = array.axes[array.lead] if len(array.axes) > array.lead else ""
    heads: list[str | None] = [None if c is None else str(c) for c in shown] if array.row_shape else [array.name]
    spans = [None if row is None else range(first + row, first + row + 1) for row in picked]
    labels = [None if row is None else _label(view.table, array, row) for row in picked]
    stacked = [axis for axis, size in enumerate(array.shape[: array.lead]) if size > 1]
    if len(stacked) > 1 and count == array.rows:  # a row is named by all its indices
        row_axis = ",".join(array.axes[axis] for axis in stacked) if array.axes else ""
        places = [None if row is None else np.unravel_index(row, array.shape[: array.lead]) for row in picked]
        labels = [None if place is None else ",".join(str(place[axis]) for axis in stacked) for place in places]
    return _excerpt(view, Excerpt(array, title, row_axis, column_axis, labels, heads), spans, shown)


def _by_head(view: _View, array: Array, rows: int, columns: int) -> Excerpt:
    """Return an array (heads, m) of single values with a row per head, columns around the middle."""
    heads, m = array.shape
    half = max(1, columns // 2)
    middle = max(half, m // 2) if array == view.table.arrays[0] else half
    shown = range(max(0, middle - half), min(m, middle + half + 1))
    spans = [None if h is None else range(h * m + shown.start, h * m + shown.stop) for h in _pick(heads, rows)]
    labels = [None if h is None else str(h) for h in _pick(heads, rows)]
    distances: list[str | None] = [str(c - m // 2 if array == view.table.arrays[0] else c) for c in shown]
    if array == view.table.arrays[0] and (known := view.table.position(shown.start, shown.stop)) is not None:
        distances = [str(distance) for distance in known.tolist()]  # else those of a file, or of a rotary table's decay
    made = Excerpt(array, array.name, "head", "distance", labels, distances)
    return _excerpt(view, made, spans, range(len(shown)))


def _excerpt(view: _View, made: Excerpt, spans: Sequence[range | None], shown: Sequence[int | None]) -> Excerpt:
    """Return an excerpt with some of the values of each span of the array's rows."""
    for span in spans:
        read = (None, None) if span is None else view.read(made.array, span.start, span.stop)
        for cells, values in zip((made.cells, made.exact), read, strict=True):
            cells.append([None if values is None or c is None else values[c] for c in shown])
    return made


def _label(table: Tabular, array: Array, row: int) -> str:
    if array.axes[array.lead - 1 : array.lead] == ("position",):
        positions = table.position(row, row + 1)
        if positions is not None:
            return str(positions[0])
    return str(row)
