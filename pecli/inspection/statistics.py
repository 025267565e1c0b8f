"""What a table holds: arrays, recipe, statistics, in blocks with constant memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from pecli.declare.html import html_table
from pecli.declare.plan import Bias
from pecli.declare.tabular import Array, Tabular
from pecli.measures.floats import floats
from pecli.numbers.printing import figure
from pecli.records import dataclass
from pecli.tables.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    """What was found in a source."""

    source: str
    format: str | None
    arrays: tuple[Array, ...]
    recipe: str | None
    metadata: dict[str, str]
    statistics: list[Statistics] = field(default_factory=list)
    slopes: list[float] | None = None
    positions: tuple[float, float] | None = None

    def __repr__(self) -> str:
        lines = [f"{name} ({', '.join(rest)})" for name, *rest in self._rows()]
        return "\n  ".join([f"{self.source}: {self.recipe or 'without a recipe'}", *lines])

    def _repr_html_(self) -> str:
        heads = ("array", "shape", "type", "minimum", "maximum", "mean", "not finite")
        return html_table(f"{self.source}: {self.recipe or 'without a recipe'}", heads, self._rows(words=False))

    def _rows(self, *, words: bool = True) -> list[tuple[str, ...]]:
        """Return the figures of each array, with their names where they stand in a line."""
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

    def __init__(self, name: str, hashing: bool) -> None:
        self.found = Statistics(name)
        self.total, self.count = 0.0, 0
        self.norms, self.rows = 0.0, 0
        self.hash = hashlib.sha256() if hashing else None

    def add(self, start: int, raw: NDArray[Any], dtype: str) -> None:
        import numpy as np

        if self.hash is not None:
            self.hash.update(np.ascontiguousarray(raw).reshape(-1).view(np.uint8).data)
        values = floats(raw, dtype)
        flat = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
        if flat.size == 0:
            return
        with np.errstate(invalid="ignore"):  # a NaN that signals
            wide = flat.astype(np.float64)
        total = wide.sum()
        found = self.found
        if not np.isfinite(total):
            finite = np.isfinite(wide)
            nan = np.isnan(wide)
            found.nan += int(nan.sum())
            found.infinite += int(wide.size - finite.sum() - nan.sum())
            if found.first_nan is None and nan.any():
                found.first_nan = start + int(nan.any(axis=1).argmax())
            self.count += int(finite.sum())
            if not finite.any():
                return
            low, high = wide[finite].min(), wide[finite].max()
            wide = np.where(finite, wide, 0.0)
            total = wide.sum()
        else:
            low, high = wide.min(), wide.max()
            self.count += wide.size
        self.total += float(total)
        found.minimum = float(low) if found.minimum is None else min(found.minimum, float(low))
        found.maximum = float(high) if found.maximum is None else max(found.maximum, float(high))
        if flat.shape[1] > 1:
            norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
            found.norm_min = float(norms.min()) if found.norm_min is None else min(found.norm_min, float(norms.min()))
            found.norm_max = float(norms.max()) if found.norm_max is None else max(found.norm_max, float(norms.max()))
            self.norms, self.rows = self.norms + float(norms.sum()), self.rows + len(norms)

    def finish(self) -> Statistics:
        found = self.found
        found.mean = self.total / self.count if self.count else None
        found.norm_mean = self.norms / self.rows if self.rows else None
        found.sha256 = self.hash.hexdigest() if self.hash is not None else None
        return found


def _statistics(table: Tabular, array: Array, sha256: bool, progress: Callable[[int], None] | None) -> Statistics:
    running = _Running(array.name, sha256)
    for block in table.blocks([array.name]):
        running.add(block.start, block.values[array.name], array.dtype)
        if progress is not None:
            progress((block.stop - block.start) * array.row_bytes)
    return running.finish()


def _slopes(table: Tabular) -> list[float] | None:
    """Return the slopes of a bias that has them, in full digits."""
    if isinstance(table, Table) and isinstance(table.plan, Bias) and table.plan.slopes is not None:
        return [float(slope) for slope in table.plan.slopes()]
    if any(array.name == "slopes" and len(array.shape) == 1 for array in table.arrays):
        values = floats(table.read("slopes"), table.array("slopes").dtype)
        return [float(v) for v in values.tolist()]
    return None


def _ends(table: Tabular) -> tuple[float, float] | None:
    rows = table.arrays[0].shape[table.arrays[0].lead - 1] if table.arrays[0].lead else 0
    if rows == 0:
        return None
    first, last = table.position(0, 1), table.position(rows - 1, rows)
    return None if first is None or last is None else (first[0].item(), last[0].item())
