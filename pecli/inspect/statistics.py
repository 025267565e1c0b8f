"""Content of a table: arrays, recipe, statistics, in blocks with constant memory; and the excerpts that are printed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import ordered_map
from pecli.errors import PecliError
from pecli.numbers.printing import figure
from pecli.numbers.rounding import floats
from pecli.spec.plans import Bias
from pecli.spec.tabular import Array, Block, Tabular, html_table
from pecli.tables.table import Table

BLOCK_BYTES = 1 << 20  # read at once: with their float64 copies they stay in the caches
SCALE_DOWN = 2.0**-64  # of values that are so much smaller, the sum of a block is always a float64
MIN_NORM = 1e-150  # norms below which squares are no normal float64


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
    sha256 : str or None
        Of the little-endian values in C order, where it was asked for.
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    norm_min: float | None = None
    norm_max: float | None = None
    norm_mean: float | None = None
    nan: int = 0
    infinite: int = 0
    first_nan: int | None = None
    sha256: str | None = None


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
        if self.statistics and self.statistics[0].sha256 is not None:
            optional["sha256"] = {s.name: s.sha256 for s in self.statistics}
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
        lines = [f"{name} ({', '.join(rest)})" for name, *rest in self._rows()]
        return "\n  ".join([f"{self.source}: {self.recipe or 'without a recipe'}", *lines])

    def _repr_html_(self) -> str:
        heads = ("array", "shape", "type", "minimum", "maximum", "mean", "not finite")
        return html_table(f"{self.source}: {self.recipe or 'without a recipe'}", heads, self._rows(words=False))

    def _rows(self, *, words: bool = True) -> list[tuple[str, ...]]:
        """Return the figures of each array; with `words` each figure is preceded by its name."""
        found = []
        for array, s in zip(self.arrays, self.statistics, strict=True):
            figures = {"minimum": s.minimum, "maximum": s.maximum, "mean": s.mean, "not finite": s.nan + s.infinite}
            texts = {name: "none" if value is None else figure(value) for name, value in figures.items()}
            shown = (f"{name} {text}" if words else text for name, text in texts.items())
            found.append((array.name, " x ".join(map(str, array.shape)), array.dtype, *shown))
        return found


def inspect_table(
    source: str, table: Tabular, *, sha256: bool = False, progress: Callable[[int], None] | None = None
) -> Inspection:
    """Return the arrays, the recipe and the statistics of a table; every value is read once."""
    statistics = [_statistics(table, array, sha256, progress) for array in table.arrays]
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


class _Running:
    """Sums over blocks."""

    def __init__(self, name: str) -> None:
        self.found = Statistics(name)
        self.total, self.count = Fraction(0), 0  # of finite values the sum may be none
        self.norms, self.rows = 0.0, 0

    def add(self, start: int, raw: NDArray[Any], dtype: str) -> None:
        """Count one block."""
        import numpy as np

        values = floats(raw, dtype)
        flat = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
        if flat.size == 0:
            return
        wide = flat.astype(np.float64)
        total = wide.sum()
        found = self.found
        if not np.isfinite(total):
            finite = np.isfinite(wide)
            nan = np.isnan(wide)
            found.nan += int(nan.sum())
            found.infinite += int(wide.size - finite.sum() - nan.sum())
            if nan.any():
                found.first_nan = start + int(nan.any(axis=1).argmax())
            self.count += int(finite.sum())
            if not finite.any():
                return
            low, high = wide[finite].min(), wide[finite].max()
            wide = np.where(finite, wide, 0.0)
            total = wide.sum()
        else:
            single = flat if flat.dtype == np.float32 else wide  # half the bytes
            low, high = single.min(), single.max()
            self.count += wide.size
        scale = 1.0 if np.isfinite(total) else SCALE_DOWN
        self.total += Fraction(float(total if scale == 1 else (wide * scale).sum())) / Fraction(scale)
        found.minimum, found.maximum = float(low), float(high)
        if flat.shape[1] > 1:
            norms = _norms(wide)
            found.norm_min, found.norm_max = float(norms.min()), float(norms.max())
            self.norms, self.rows = self.norms + float(norms.sum()), self.rows + len(norms)

    def merge(self, later: _Running) -> None:
        """Add the sums of the rows that follow."""
        found, more = self.found, later.found
        found.nan, found.infinite = found.nan + more.nan, found.infinite + more.infinite
        found.first_nan = more.first_nan if found.first_nan is None else found.first_nan
        for name, better in (("minimum", min), ("norm_min", min), ("maximum", max), ("norm_max", max)):
            ends = [end for end in (getattr(found, name), getattr(more, name)) if end is not None]
            setattr(found, name, better(ends, default=None))
        self.total, self.count = self.total + later.total, self.count + later.count
        self.norms, self.rows = self.norms + later.norms, self.rows + later.rows

    def finish(self) -> Statistics:
        found = self.found
        found.mean = float(self.total / self.count) if self.count else None
        found.norm_mean = self.norms / self.rows if self.rows else None
        return found


def _norms(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each row, (n,); of very large and very small values by way of the largest."""
    import numpy as np

    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    odd = ~((norms > MIN_NORM) & (norms < np.inf))
    if odd.any():
        top = np.abs(rows[odd]).max(axis=1)
        some = rows[odd] / np.where(top > 0, top, 1.0)[:, None]
        norms[odd] = top * np.sqrt(np.einsum("ij,ij->i", some, some))
    return np.asarray(norms)


def _statistics(table: Tabular, array: Array, sha256: bool, progress: Callable[[int], None] | None) -> Statistics:
    """Read an array once, in order (compressed data allow nothing else), and count its blocks on all cores."""
    import numpy as np

    hashed = hashlib.sha256() if sha256 else None

    def count(block: Block) -> tuple[_Running, Block]:
        part = _Running(array.name)
        with np.errstate(all="ignore"):  # any bits may stand in a file
            part.add(block.start, block.values[array.name], array.dtype)
        return part, block

    running = _Running(array.name)
    for part, block in ordered_map(count, table.blocks([array.name], BLOCK_BYTES)):
        running.merge(part)
        if hashed is not None:
            hashed.update(np.ascontiguousarray(block.values[array.name]).reshape(-1).view(np.uint8).data)
        if progress is not None:
            progress((block.stop - block.start) * array.row_bytes)
    found = running.finish()
    found.sha256 = None if hashed is None else hashed.hexdigest()
    return found


def _slopes(table: Tabular) -> list[float] | None:
    """Return the slopes of a bias that has them, in full digits."""
    if isinstance(table, Table) and isinstance(table.plan, Bias) and table.plan.slopes is not None:
        return [float(slope) for slope in table.plan.slopes()]
    if any(array.name == "slopes" and len(array.shape) == 1 for array in table.arrays):
        values = floats(table.read("slopes"), table.array("slopes").dtype)
        return [float(v) for v in values.tolist()]
    return None


def _ends(table: Tabular) -> tuple[float, float] | None:
    leading = next((array for array in table.arrays[:1] if array.lead), None)
    rows = leading.shape[leading.lead - 1] if leading is not None else 0
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
    cells: list[list[Any]]
    exact: list[list[Any]]

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


def preview(table: Tabular, *, rows: int = 12, columns: int = 8, heads: int = 2) -> list[Excerpt]:
    """Return the visible parts of every array, at most `rows` x `columns` each.

    Of an array with heads, the first `heads` of them.
    """
    view = _View(table)
    return [part for array in table.arrays for part in _parts(view, array, rows, columns, heads)]


class _View:
    """A table whose values are read, and the same in float64 where it is computed in float32."""

    def __init__(self, table: Tabular) -> None:
        self.table, self._doubles = table, None
        if isinstance(table, Table) and (table.request.dtype, table.request.arithmetic) == ("float32", "exact"):
            with contextlib.suppress(PecliError):
                self._doubles = Table(table.source, table.extent, replace(table.request, dtype="float64"))

    def read(self, array: Array, start: int, stop: int) -> tuple[list[Any], list[Any]]:
        """Return the values of some rows, flattened, and the values before rounding."""
        values = self.table.read_rows([array.name], start, stop)[array.name].reshape(-1)
        found = widened(values, array.dtype)
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
    picked = _pick(count, rows)
    width = 1
    for side in array.row_shape:
        width *= side
    shown = _pick(width, columns)
    labels: list[str | None] = []
    cells: list[list[Any]] = []
    exact: list[list[Any]] = []
    for row in picked:
        values, doubles = ([None] * width,) * 2 if row is None else view.read(array, first + row, first + row + 1)
        labels.append(None if row is None else _label(view.table, array, row))
        cells.append([None if c is None else values[c] for c in shown])
        exact.append([None if c is None else doubles[c] for c in shown])
    column_axis = array.axes[array.lead] if len(array.axes) > array.lead else ""
    column_labels: list[str | None] = (
        [None if c is None else str(c) for c in shown] if array.row_shape else [array.name]
    )
    row_axis = array.axes[array.lead - 1] if array.axes else ""
    return Excerpt(array, title, row_axis, column_axis, labels, column_labels, cells, exact)


def _by_head(view: _View, array: Array, rows: int, columns: int) -> Excerpt:
    """Return an array (heads, m) of single values with a row per head, columns around the middle."""
    heads, m = array.shape
    picked = _pick(heads, rows)
    distance, zero = _distances(view.table, array)
    half = max(1, columns // 2)
    middle = min(max(half, zero), max(half, m - 1 - half))
    shown = [c for c in range(middle - half, middle + half + 1) if 0 <= c < m]
    found = [
        ([None] * len(shown),) * 2 if h is None else view.read(array, h * m + shown[0], h * m + shown[-1] + 1)
        for h in picked
    ]
    cells, exact = ([pair[which] for pair in found] for which in (0, 1))
    labels = [None if h is None else str(h) for h in picked]
    return Excerpt(array, array.name, "head", "distance", labels, [str(distance(c)) for c in shown], cells, exact)


def _distances(table: Tabular, array: Array) -> tuple[Callable[[int], Any], int]:
    """Return the distance of each place of an array (heads, m), and the place nearest distance 0.

    They are evenly spaced, so that a few of them tell all: m may be a thousand million.
    """
    m = array.shape[1]
    if array != table.arrays[0]:  # a decay beside a rotary table: 0, 1, 2, ..
        return (lambda c: c), 0
    ends = [table.position(c, c + 1) for c in (0, m - 1)]
    if any(end is None or len(end) != 1 for end in ends):
        return (lambda c: c - m // 2), m // 2
    first, last = (end[0] for end in ends if end is not None)
    zero = 0 if last == first else round(float(-first / (last - first)) * (m - 1))

    def at(place: int) -> Any:
        numbers = table.position(place, place + 1)
        assert numbers is not None
        return numbers.tolist()[0]

    return at, min(max(zero, 0), m - 1)


def widened(values: Any, dtype: str) -> list[Any]:
    """Return values as Python numbers, bfloat16 from its bits."""
    if dtype == "bfloat16":
        from pecli.numbers.rounding import widen

        values = widen(values, dtype)
    return list(values.tolist())


def _label(table: Tabular, array: Array, row: int) -> str:
    if array.axes[array.lead - 1 : array.lead] == ("position",):
        positions = table.position(row, row + 1)
        if positions is not None:
            return str(positions[0])
    return str(row)
