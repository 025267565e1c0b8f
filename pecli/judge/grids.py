"""Description of a table over several axes: its axes, what encodings call them, and the arithmetic of every value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.judge.arithmetic import LOW_TYPES, MAX_DOUBLE, library_units
from pecli.judge.axes import ABSOLUTE, JOINED, AxisView, Grid, columns_of, grids_of, readings_of, unmeasured, views
from pecli.judge.description import Identification
from pecli.judge.planes import rounded, unit
from pecli.judge.tally import BlockDifferences, Tally
from pecli.judge.waves import bound
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import Floats, Named
from pecli.spec.plans import Waves
from pecli.spec.recipe import join_recipe
from pecli.spec.tabular import Tabular

# Relative errors of frequencies computed in float64, float32, float16 and bfloat16.
LEVELS = (2.0**-40, 2.0**-22, 2.0**-10, 2.0**-7.5)
# Names that are tried on one reading; more cost time, and the right one was among the first dozen of all tables.
MAX_NAMES = 24
# Share of the values that must be explained for a likely answer.
MIN_SHARE_LIKELY = 0.99
# Values that may not fit a table whose parameters are certain; they are located.
MAX_ODD = 8
# Fitted digits up to which parameters count as determined; three numbers of two digits each.
MAX_SURE_DIGITS = 6.0
# Share of the sampled values that a name must explain to be kept; a few rows may be corrupted.
MIN_RESEMBLANCE = 0.95
# Values of each plane by which a name is tried.
SAMPLE_VALUES = 1 << 19
# Half units in the last place that an angle may be off by: its coordinate's (normalised ones are a quotient, a
# difference and a product), its frequency's and its own.
ROUNDINGS = 8
# Roundings of the exponent of a frequency, for each unit of its logarithm: a quotient and a product.
EXPONENT_ROUNDINGS = 2
# Share of the values that are equal where they are exact ones, rounded once: libraries round some the other way.
MIN_EQUAL = 0.9
# Units in the last place that exact values, rounded once by a library, are off by.
MAX_EXACT_ULP = 1.01
# Values compared at once.
BLOCK_VALUES = 1 << 20


@dataclass(frozen=True)
class PlannedPairs:
    """Pairs of a plan in the order of its bands: frequencies, coordinates and columns.

    Attributes
    ----------
    plan : Waves
    frequencies : (m,) float64
        Radians per unit of the coordinate.
    axis : (m,) int64
    cos, sin : (m,) int64
        Columns.
    magnitude : (m,) float64
    streams : (rows, axes) float64, optional
        Coordinates that each row has instead of the plan's.
    """

    plan: Waves
    frequencies: Floats
    axis: NDArray[np.int64]
    cos: NDArray[np.int64]
    sin: NDArray[np.int64]
    magnitude: Floats
    streams: Floats | None = None

    @classmethod
    def of(cls, plan: Waves) -> PlannedPairs:
        """Return the pairs of a plan; the column of a sine or cosine that was cut is -1."""
        parts: list[tuple[float, float, int, int, int, float]] = []
        for band in plan.bands:
            sin, cos = (range(plan.width)[where] if where is not None else range(0) for where in (band.sin, band.cos))
            for k, w in enumerate(band.frequencies):
                s, c = (which[k] if k < len(which) else -1 for which in (sin, cos))
                parts.append((float(w), 2 * np.pi if band.turns else 1.0, band.axis, c, s, float(band.magnitude)))
        table = np.array(parts)
        number = table.astype(np.int64)
        return cls(plan, table[:, 0] * table[:, 1], number[:, 2], number[:, 3], number[:, 4], table[:, 5])

    @property
    def ascending(self) -> bool:
        """Whether frequencies rise from band to band, as Fourier features of coordinates from -1 to 1 do."""
        return bool(self.plan.ramps) or bool((np.diff(self.frequencies[self.axis == self.axis[0]]) > 0).any())

    def coordinates(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which coordinate of its axis each row has, (n, axes)."""
        if self.streams is not None:
            return np.repeat(rows[:, None], len(self.plan.axes), axis=1)
        return np.stack([axis.index(rows - self.plan.prefix) for axis in self.plan.axes], axis=1)

    def values(self, number: int) -> Floats:
        """Return the coordinates that an axis takes."""
        if self.streams is not None:
            return self.streams[:, number]
        axis = self.plan.axes[number]
        found: Floats = np.array(list(axis.multiples), np.float64) * float(axis.unit)
        return found


@dataclass(frozen=True)
class GridName:
    """A named table over several axes.

    Attributes
    ----------
    encoding : str
    keys, table : mapping of str to str
        Parameters as a recipe writes them, and the table's own keys.
    fitted : float
        Digits that were fitted to the values.
    pairs : PlannedPairs
    kind : str
        Type that the frequencies were rounded to: "float64", or a narrow one.
    sampled : Tally
    """

    encoding: str
    keys: Mapping[str, str]
    table: Mapping[str, str]
    fitted: float
    pairs: PlannedPairs
    kind: str
    sampled: Tally
    grid: Grid = field(repr=False)

    @property
    def recipe(self) -> str:
        """The text that gives its table."""
        dtype = self.grid.view.dtype
        return join_recipe(
            self.encoding, {**self.keys, **self.table, **({} if dtype == "float32" else {"dtype": dtype})}
        )

    def arithmetic(self, tally: Tally) -> str:
        """Return the narrowest type in which a step was computed, or "exact"."""
        if self.kind != "float64" or is_exact(tally):
            return self.kind if self.kind != "float64" else "exact"
        return "float64" if self.grid.view.dtype == "float64" and tally.residual < MAX_DOUBLE else "float32"


def is_exact(tally: Tally) -> bool:
    """Whether values are the exact ones, rounded once."""
    return tally.worst <= MAX_EXACT_ULP and tally.equal >= MIN_EQUAL * tally.count


def identify_grid(table: Tabular) -> Identification | None:
    """Return the identification of a table over several axes; None for any other table."""
    with np.errstate(all="ignore"):
        grid = None
        seen = list(views(table))
        for found in (*(g for view in seen for g in grids_of(view)), *filter(None, map(columns_of, seen))):
            grid = grid or (found if found.reading is not None else None)
            names = names_of(found)
            verdict = _verdict(names) if names else None
            if verdict is not None:
                return verdict
        known = (
            grid is not None
            and grid.axes.sides
            and len(grid.axes.axes) > 1
            and np.isfinite([axis.origin for axis in grid.axes.axes]).all()
        )
        return Identification(None, "unknown", measured=tuple(measured_words(grid))) if grid and known else None


def names_of(grid: Grid) -> list[GridName]:
    """Return names that the encodings' rules give measured axes, the best first."""
    found: list[GridName] = []
    seen: set[str] = set()
    rules = [e for e in CATALOGUE.values() if e.declares("identify_axes")]
    for level in LEVELS:
        axes = grid.axes.at(level)
        for encoding in rules:
            for named in encoding.hook("identify_axes")(axes):
                text = join_recipe(encoding.name, {**named.keys, **named.table})
                if text in seen or len(seen) >= MAX_NAMES:
                    continue
                seen.add(text)
                name = fitted(grid, encoding.name, named)
                if name is not None:
                    found.append(name)
                    if not name.sampled.unexplained and name.fitted < MAX_SURE_DIGITS / 2:
                        break
        found.sort(key=lambda name: (-round(name.sampled.explained, 2), name.fitted, -name.sampled.equal))
        if found and found[0].sampled.explained > 0.999 and found[0].fitted < MAX_SURE_DIGITS:
            break
    return found


def fitted(grid: Grid, encoding: str, named: Named) -> GridName | None:
    """Return a name as sampled rows show it; None where its table is another one."""
    view = grid.view
    try:
        plan = bound(encoding, named.keys).plan
    except PecliError:
        return None
    width = view.planes[0].width if grid.axes.absolute else grid.axes.count
    if not isinstance(plan, Waves) or not plan.bands or (plan.rows, plan.width) != (view.total, width):
        return None
    pairs = PlannedPairs.of(plan)
    few = view.few(max(16, SAMPLE_VALUES // view.planes[0].width))
    for kind in ("float64", *LOW_TYPES):
        own = replace(pairs, frequencies=rounded(pairs.frequencies, kind))
        tally = compare_rows(grid, own, [(few.rows, few.values)])
        if tally.explained >= MIN_RESEMBLANCE:
            return GridName(encoding, named.keys, named.table, named.fitted, own, kind, tally, grid)
    return None


def planned_grids(view: AxisView, pairs: PlannedPairs) -> Iterator[Grid]:
    """Yield the readings of a view that may hold the pairs of a plan."""
    if (pairs.cos != pairs.sin).any():
        columns = columns_of(view)
        if columns is not None and columns.axes.width == pairs.plan.width:
            yield columns
        return
    for reading in readings_of(view):
        if reading.pairs == pairs.plan.width and not reading.layout.startswith(ABSOLUTE):
            yield unmeasured(view, reading)


def _verdict(names: Sequence[GridName]) -> Identification | None:
    """Return the identification by the best name that explains the values; None if none does."""
    fits: list[tuple[GridName, Tally]] = []
    for name in names[:3]:
        fits.append((name, compare_all(name)))
        if not fits[-1][1].unexplained:
            break
    name, tally = min(fits, key=lambda fit: (fit[1].unexplained, fit[0].fitted))
    if tally.explained < MIN_SHARE_LIKELY:
        return None
    sure = (not tally.unexplained and name.fitted <= MAX_SURE_DIGITS) or (
        tally.unexplained <= MAX_ODD and name.fitted <= MAX_SURE_DIGITS / 2
    )
    most = name.sampled.unexplained
    others = tuple(n.recipe for n in names if n.encoding != name.encoding and n.sampled.unexplained <= most
                   and n.fitted <= MAX_SURE_DIGITS)  # fmt: skip
    arrays = tuple(dict.fromkeys(plane.name for plane in name.grid.view.planes))
    reading = name.grid.reading
    notes = [reading.layout] if reading is not None and reading.layout in JOINED else []
    return Identification(name.recipe, "sure" if sure else "likely", tally.residual, tally.equal / max(1, tally.count),
                          name.arithmetic(tally), (*notes, *tally.texts()), others, tally.count, arrays)  # fmt: skip


def compare_all(name: GridName) -> Tally:
    """Compare every value of a table with a named one."""
    view = name.grid.view
    step = max(1, BLOCK_VALUES // max(1, 2 * len(name.pairs.axis)))
    starts = [(start, min(view.total, start + step)) for start in range(0, view.total, step)]
    blocks = ((np.arange(*ends), [plane.read(*ends) for plane in view.planes]) for ends in starts)
    return compare_rows(name.grid, name.pairs, blocks)


def compare_rows(
    grid: Grid, pairs: PlannedPairs, blocks: Iterable[tuple[NDArray[np.int64], Sequence[Floats]]]
) -> Tally:
    """Compare some rows of a table with the exact values of a plan."""
    plan, total, tally = pairs.plan, grid.view.total, Tally.of(grid.view.planes)
    parts = list(_expected(grid, pairs))
    for rows, values in blocks:
        inside = (rows >= plan.prefix) & (rows < total - plan.suffix)
        at = pairs.coordinates(np.clip(rows, plan.prefix, total - plan.suffix - 1))
        for part in parts:
            expected = np.where(inside[:, None], part.values[at[:, part.axis]], part.outside)
            tally.add(_differences(values[part.plane][:, part.columns], expected, part, rows, grid.view.dtype))
    return tally


class Expected(NamedTuple):
    """Values that some columns of a plane have at each coordinate of an axis.

    `slack` is what roundings of coordinate, frequency and angle make, in half units in the last place of 1; `outside`
    is the value of rows without a coordinate.
    """

    plane: int
    columns: NDArray[np.int64]
    axis: int
    values: Floats
    slack: Floats
    outside: float = 0.0


def _expected(grid: Grid, pairs: PlannedPairs) -> Iterator[Expected]:
    """Yield the values of a plan's columns, plane by plane."""
    reading, dtype = grid.reading, grid.view.dtype
    for ramp in pairs.plan.ramps:
        values = rounded(pairs.values(ramp.axis) * float(ramp.factor), dtype)[:, None]
        yield Expected(0, np.array([ramp.column]), ramp.axis, values, np.ones(1))
    for axis in range(len(pairs.plan.axes)):
        own = np.flatnonzero(pairs.axis == axis)
        w, size = pairs.frequencies[own], pairs.magnitude[own]
        angles = np.multiply.outer(pairs.values(axis), w)
        growth = ROUNDINGS + EXPONENT_ROUNDINGS * np.maximum(0.0, -np.log(w))
        slack = np.abs(angles).max(axis=0) * growth * size
        for wave, columns, cosine in ((np.cos, pairs.cos[own], True), (np.sin, pairs.sin[own], False)):
            held = columns >= 0
            values = rounded(wave(angles) * size, dtype)[:, held]
            if reading is None or grid.axes.absolute:
                yield Expected(0, columns[held], axis, values, slack[held])
                continue
            for at in reading.cos_at if cosine else reading.sin_at:
                where = np.arange(grid.view.planes[at.plane].width)[at.index][columns[held]]
                yield Expected(at.plane, where, axis, values, slack[held], float(cosine))


def _differences(
    actual: Floats, expected: Floats, part: Expected, rows: NDArray[np.int64], dtype: str
) -> BlockDifferences:
    """Return the differences of a block: a value may be off by its own rounding and by the slack of its column."""
    row, column = np.nonzero(actual != expected)
    have, want = actual[row, column], expected[row, column]
    own = unit(want, dtype)
    fits = np.abs(have - want) <= library_units(dtype) * own + 2.0**-24 * part.slack[column]
    return BlockDifferences.of(part.plane, actual.size, rows[row], part.columns[column], have, want, own, fits)


def measured_words(grid: Grid) -> Iterator[str]:
    """Yield the measurements of a table without a name, as text."""
    axes = grid.axes
    what = "an absolute table" if axes.absolute else "cos and sin"
    yield f"{what} over {len(axes.axes)} axes, {axes.count} pairs, layout {axes.layout}"
    if axes.sides:
        yield ", ".join([f"rows follow a grid {'x'.join(map(str, axes.sides))}", *map(" ".join, axes.edges.items())])
    for axis in axes.axes:
        first, last = axis.pairs.steps[[0, -1]]
        waves = f"{len(axis.columns)} pairs, {first:.6g} to {last:.3g} radians a level"
        yield f"{axis.size} levels on {waves}, from level {axis.origin:g}"
