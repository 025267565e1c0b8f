"""Description of a table over several axes: its axes, what encodings call them, and the arithmetic of every value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.judge.arithmetic import CLOSE, Score, Shown, Way, best_way, float32_series
from pecli.judge.arithmetic import score as score_of
from pecli.judge.axes import AxisView, Grid, columns_of, grids_of, readings_of, views
from pecli.judge.description import Identification
from pecli.judge.planes import rounded, unit
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import Axes, Floats, Named
from pecli.spec.plans import Coordinate, Waves
from pecli.spec.recipe import Recipe, join_recipe
from pecli.spec.tabular import Tabular

LEVELS = (2.0**-40, 2.0**-22, 2.0**-10, 2.0**-7.5)
"""Relative errors of frequencies computed in float64, float32, float16 and bfloat16."""
MAX_NAMES = 24
"""Names that are tried on one reading; more cost time, and the right one was among the first dozen of all tables."""
MIN_SHARE_LIKELY = 0.99
"""Share of the values that must be explained for a likely answer."""
MAX_ODD = 8
"""Values that may not fit a table whose parameters are certain; they are located."""
PLAIN = 6.0
"""Fitted digits up to which parameters count as determined; three numbers of two digits each."""
MIN_RESEMBLANCE = 0.9
"""Share of the sampled values that a name's exact table must nearly give for its arithmetic to be looked for."""
NEIGHBOURS = 2
"""Units by which one frequency may differ from a simulated one: library powers are off by one, odd bases by two."""
MIN_NEAR = 0.5
"""Share of the sampled values that an arithmetic must give for frequencies a unit off to be tried."""
ROUGH = 0.03
"""Difference of values that nearly agree; angles computed in bfloat16 leave more in fast pairs, less in slow ones."""
MAX_TELLING = 512
"""Rows by which a table of columns is told from others."""
MAX_ULP = 2.01
"""Units in the last place that a float32 value may be off by: NumPy's own sine of float32 is, by up to 1.5."""
BLOCK_VALUES = 1 << 20
"""Values compared at once."""


@dataclass(frozen=True)
class PlannedPairs:
    """Pairs of a plan in the order of its bands: frequencies, coordinates and columns.

    Attributes
    ----------
    plan : Waves
    frequencies : (m,) float64
        Radians per unit of the coordinate; where the plan counts turns, without the 2 pi that `turning` holds.
    turning : (m,) float64
        1, or 2 pi.
    axis : (m,) int64
    cos, sin : (m,) int64
        Columns.
    magnitude : (m,) float64
    """

    plan: Waves
    frequencies: Floats
    turning: Floats
    axis: NDArray[np.int64]
    cos: NDArray[np.int64]
    sin: NDArray[np.int64]
    magnitude: Floats

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
        return cls(plan, table[:, 0], table[:, 1], number[:, 2], number[:, 3], number[:, 4], table[:, 5])

    @property
    def rises(self) -> bool:
        """Whether frequencies rise from band to band, as those of features of coordinates from -1 to 1 do."""
        return bool(self.plan.ramps) or bool((np.diff(self.frequencies[self.axis == self.axis[0]]) > 0).any())

    def coordinates(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which coordinate of its axis each row has, (n, axes)."""
        return np.stack([axis.index(rows - self.plan.prefix) for axis in self.plan.axes], axis=1)


@dataclass(frozen=True)
class GridName:
    """A named table over several axes, with the arithmetic of its values.

    Attributes
    ----------
    encoding : str
    keys : mapping of str to str
        Parameters as a recipe writes them.
    fitted : float
    pairs : PlannedPairs
    score : Score
        Of the sampled values.
    spacing : str
        How coordinates were rounded: a key of `coordinate_values`.
    """

    encoding: str
    keys: Mapping[str, str]
    table: Mapping[str, str]
    fitted: float
    pairs: PlannedPairs
    score: Score
    spacing: str
    grid: Grid = field(repr=False)

    @property
    def recipe(self) -> str:
        """The text that gives its table."""
        return join_recipe(self.encoding, {**self.keys, **self.table})


@dataclass
class Tally:
    """Counts over all values."""

    count: int = 0
    equal: int = 0
    odd: int = 0
    worst: float = 0.0
    residual: float = 0.0
    places: list[str] = field(default_factory=list)


def identify_grid(table: Tabular) -> Identification | None:
    """Return what a table over several axes is; None where it is none."""
    with np.errstate(all="ignore"):
        grid = None
        seen = list(views(table))
        for found in (*(g for view in seen for g in grids_of(view)), *filter(None, map(columns_of, seen))):
            grid = grid or (found if found.reading is not None else None)
            names = names_of(found)
            said = _verdict(names) if names else None
            if said is not None:
                return said
        return None if grid is None else Identification(None, "unknown", measured=tuple(measured_words(grid)))


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
                    if name.score.close == 1.0 and name.fitted < PLAIN / 2:
                        break
        found.sort(key=_merit)
        if found and found[0].score.close > 0.999 and found[0].fitted < PLAIN:
            break
    return found


def _merit(name: GridName) -> tuple[float, float, float]:
    return (-round(name.score.close, 2), name.fitted, -name.score.equal)


def planned(encoding: str, keys: Mapping[str, str]) -> tuple[Recipe, PlannedPairs] | None:
    """Return a recipe with the pairs of its plan; None where it is no table of waves."""
    try:
        recipe = Recipe.bind(encoding, **{key.replace("-", "_"): value for key, value in keys.items()})
        plan = recipe.plan
    except PecliError:
        return None
    if not isinstance(plan, Waves) or not plan.bands or not plan.axes:
        return None
    return recipe, PlannedPairs.of(plan)


def fitted(grid: Grid, encoding: str, named: Named) -> GridName | None:
    """Return a name with its arithmetic; None where its table is another one."""
    made = planned(encoding, named.keys)
    if made is None:
        return None
    recipe, pairs = made
    plan, view = pairs.plan, grid.view
    if plan.rows != view.total or plan.width != (view.planes[0].width if grid.axes.absolute else grid.axes.count):
        return None
    rows = telling_rows(pairs, view.rows)
    at = pairs.coordinates(view.rows[rows])
    cos, sin = _actual(grid, pairs, rows)
    exact = coordinate_values(plan.axes, "exact", turning=False)
    angles = _of_rows(exact, at, pairs.axis) * pairs.frequencies * pairs.turning
    cos = np.where(pairs.cos < 0, rounded(np.cos(angles) * pairs.magnitude, view.dtype), cos)  # columns that were cut
    sin = np.where(pairs.sin < 0, rounded(np.sin(angles) * pairs.magnitude, view.dtype), sin)
    near = np.abs(np.cos(angles) * pairs.magnitude - cos) < ROUGH
    near &= np.abs(np.sin(angles) * pairs.magnitude - sin) < ROUGH
    if near.mean() < MIN_RESEMBLANCE:
        return None
    best: tuple[Score, str] | None = None
    tried: Floats | None = None
    turns = bool((pairs.turning != 1).any())
    series = float32_frequencies(recipe, pairs)
    for spacing in SPACINGS:
        positions = _of_rows(coordinate_values(plan.axes, spacing, turning=turns), at, pairs.axis)
        if tried is not None and np.array_equal(positions, tried):
            continue
        tried = positions
        shown = Shown(positions, cos, sin, view.dtype, strict=True)
        score = _best(pairs.frequencies, series, shown, pairs.magnitude)
        if turns and score.close < 1.0:  # a coordinate times a frequency, then times pi
            plain = _of_rows(coordinate_values(plan.axes, spacing, turning=False), at, pairs.axis)
            way = HalfTurns("float32", rounded(2 * pairs.frequencies, "float32"), "float32", "float32", "half turns")
            half = score_of(way, replace(shown, positions=plain), pairs.magnitude)
            if MIN_NEAR < half.close < 1.0:
                half = neighbours(way, replace(shown, positions=plain), pairs.magnitude)
            score = max(score, half, key=lambda s: s.close)
        if best is None or (score.close, score.equal) > (best[0].close, best[0].equal):
            best = score, spacing
        if best[0].close == 1.0 and best[0].equal > 0.9:
            break
    assert best is not None
    return GridName(encoding, named.keys, named.table, named.fitted, pairs, best[0], best[1], grid)


def neighbours(way: Way, shown: Shown, magnitude: Floats | float) -> Score:
    """Return a way with each frequency the number of its type, near the simulated one, that gives most values."""
    assert shown.cos is not None
    assert shown.sin is not None
    values = np.concatenate([shown.cos, shown.sin])
    kind = "float32" if way.frequency_type == "float64" else way.frequency_type
    step, good, chosen = unit(way.frequencies, kind), np.full(len(way.frequencies), -1.0), way.frequencies
    for k in sorted(range(-NEIGHBOURS, NEIGHBOURS + 1), key=abs):
        other = replace(way, frequencies=way.frequencies + k * step)
        made = np.concatenate(other.compute(shown.positions, magnitude, shown.dtype))
        gap = np.abs(made - values)
        share = (gap <= CLOSE * unit(values, shown.dtype)).mean(axis=0) + 0.1 * (gap == 0).mean(axis=0)
        better = share > good + 1e-9
        good, chosen = np.where(better, share, good), np.where(better, other.frequencies, chosen)
    return score_of(replace(way, frequencies=chosen), shown, magnitude)


def _best(frequencies: Floats, series: Mapping[str, Floats], shown: Shown, magnitude: Floats) -> Score:
    """Return the arithmetic that gives most values; angles may be quotients of a position and a rounded power."""
    best = best_way(frequencies, series, shown, magnitude)
    if shown.dtype == "float64" or (best.way.name == "exact" and best.close == 1.0 and best.equal > 0.9):
        return best
    if best.way.name == "float32" and not best.way.running:
        best = max(best, neighbours(best.way, shown, magnitude), key=lambda found: (found.close, found.equal))
    if best.close == 1.0 and best.equal > 0.9:
        return best
    divisors = rounded(1 / frequencies, "float32")
    found = score_of(Quotient("float32", divisors, "float32", "float32", "quotient"), shown, magnitude)
    if MIN_NEAR < found.close < 1.0:
        found = max(found, neighbours(found.way, shown, magnitude), key=lambda s: s.close)
    return found if (found.close, found.equal) > (best.close, best.equal) else best


@dataclass(frozen=True)
class Quotient(Way):
    """Angles that are quotients: a position over a float32 power of the base, which stands for the frequency."""

    def angles_at(self, positions: Floats) -> Floats:
        """Return the angles of positions (n,) or, each pair with its own, (n, m)."""
        p = rounded(positions, self.positions)
        return rounded((p[:, None] if p.ndim == 1 else p) / self.frequencies, self.angles)


@dataclass(frozen=True)
class HalfTurns(Way):
    """Angles that are a coordinate times a frequency, rounded, times pi."""

    def angles_at(self, positions: Floats) -> Floats:
        """Return the angles of coordinates (n,) or, each pair with its own, (n, m)."""
        p = rounded(positions, self.positions)
        product = rounded((p[:, None] if p.ndim == 1 else p) * self.frequencies, "float32")
        return rounded(product * float(np.float32(np.pi)), "float32")


SPACINGS = ("exact", "scaled", "divided", "centred", "stepped")
"""Ways in which programs compute coordinates in float32; see `coordinate_values`."""


def coordinate_values(axes: Sequence[Coordinate], spacing: str, *, turning: bool) -> list[Floats]:
    """Return the coordinates that each axis takes, times 2 pi if frequencies count turns.

    Parameters
    ----------
    axes : sequence of Coordinate
    spacing : str
        "exact"; or in float32 "scaled" (2 pi times the rounded coordinate), "divided" (a count over the last one),
        "centred" (2 (i + 1/2)/n - 1), "stepped" (linspace: first plus i steps, from both ends).
    turning : bool
    """
    found = []
    for axis in axes:
        count = np.array(axis.multiples if isinstance(axis.multiples, tuple) else list(axis.multiples), np.float64)
        exact = count * float(axis.unit)
        if spacing == "exact":
            found.append(exact * (2 * np.pi if turning else 1.0))
            continue
        values = _f(exact)
        if spacing == "divided":
            last = 1 / axis.unit
            half = last > 2 * Fraction(abs(count).max())
            values = _f(_f(count / 2 if half else count) / _f(float(last / 2 if half else last)))
        elif spacing == "centred":
            values = _f(_f(2 * _f((exact + 1) / 2)) - 1)
        elif spacing == "stepped" and len(exact) > 1:
            step = _f(_f(exact[-1] - exact[0]) / (len(exact) - 1))
            low = _f(exact[0] + _f(step * np.arange(len(exact))))
            high = _f(exact[-1] - _f(step * np.arange(len(exact))[::-1]))
            values = np.where(np.arange(len(exact)) < len(exact) // 2, low, high)
        found.append(_f(_f(2 * np.pi) * values) if turning else values)
    return found


def _f(values: Any) -> Any:
    return rounded(np.asarray(values, np.float64), "float32")


def _of_rows(values: Sequence[Floats], at: NDArray[np.int64], axis: NDArray[np.int64]) -> Floats:
    """Return the coordinate of each row for each pair, (n, m)."""
    by_axis = np.stack([own[at[:, number]] for number, own in enumerate(values)], axis=1)
    found: Floats = by_axis[:, axis]
    return found


def planned_grids(view: AxisView, pairs: PlannedPairs) -> Iterator[Grid]:
    """Yield the readings of a view that may hold the pairs of a plan: all of them, or the first ones."""
    if (pairs.cos != pairs.sin).any():
        columns = columns_of(view)
        if columns is not None and columns.axes.width == pairs.plan.width:
            yield columns
        return
    found = [r for r in readings_of(view) if r.sin is not None and not r.layout.startswith("blocks")]
    whole = [reading for reading in found if reading.pairs == pairs.plan.width]
    for reading in whole or [reading for reading in found if reading.pairs < pairs.plan.width]:
        none = np.empty(0, np.int64)
        yield Grid(view, reading, Axes(reading.pairs, view.planes[0].width, False, reading.layout, (), (), (), none,
                                       np.empty((0, 0)), view.total))  # fmt: skip


def telling_rows(pairs: PlannedPairs, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows, by index, at which a coordinate of an axis first appears, and the first and last ones."""
    plan = pairs.plan
    inside = np.flatnonzero((rows >= plan.prefix) & (rows < (plan.rows or 0) - plan.suffix))
    at = pairs.coordinates(rows[inside])
    first = [np.unique(places, return_index=True)[1] for places in at.T]
    found = inside[np.unique(np.concatenate(first))]
    return found[np.unique(np.linspace(0, len(found) - 1, MAX_TELLING).astype(np.int64))]


def _actual(grid: Grid, pairs: PlannedPairs, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return cosines and sines of a view as a plan orders its pairs."""
    if grid.axes.absolute:
        values = grid.view.values[0][rows]
        return values[:, pairs.cos], values[:, pairs.sin]
    assert grid.reading is not None
    assert grid.reading.sin is not None
    return grid.reading.cos[np.ix_(rows, pairs.cos)], grid.reading.sin[np.ix_(rows, pairs.sin)]


def float32_frequencies(recipe: Recipe, pairs: PlannedPairs) -> dict[str, Floats]:
    """Return the frequencies as float32 code computes them, by how it does, where each axis has a geometric series."""
    given: Any = recipe.values.get("base") or recipe.values.get("temperature")
    bases = given if isinstance(given, tuple) else (given,)
    factors: Any = recipe.values.get("ntk") or (1,)
    found: dict[str, Floats] = {}
    for number in np.unique(pairs.axis).tolist():
        own = pairs.axis == number
        base = bases[number if len(bases) > 1 else 0]
        if base is None or float(base) <= 0 or float(base) == 1:
            return {}
        factor, width = float(factors[number if len(factors) > 1 else 0]), 2 * int(np.count_nonzero(own))
        if factor != 1 and width > 2:
            base = float(base) * factor ** (width / (width - 2))
        exponents = _exponents(pairs.frequencies[own], float(base), len(pairs.axis))
        for said, w in float32_series(float(base), exponents) if exponents is not None else ():
            found.setdefault(said, np.full(len(pairs.axis), np.nan))[own] = w
    return {said: w for said, w in found.items() if not np.isnan(w).any()}


def _exponents(frequencies: Floats, base: float, most: int) -> Floats | None:
    """Return the fractions e of base^-e; None where frequencies are no such powers."""
    e = -np.log(frequencies) / np.log(base)
    for below in (len(e), len(e) - 1, *range(1, 2 * most + 2)):
        if below > 0:
            whole = np.rint(e * below)
            if (np.abs(e * below - whole) < 1e-9 * below).all():
                found: Floats = whole / below
                return found
    return None


def _verdict(names: Sequence[GridName]) -> Identification | None:
    """Return what is said of the best name that explains the table's values."""
    fits = []
    for name in names[:3]:
        fits.append((*compared(name), name.fitted))
        if not fits[-1][1].odd:
            break
    name, tally, _ = min(fits, key=lambda fit: (fit[1].odd, fit[2]))
    odd = tally.odd
    if odd > (1 - MIN_SHARE_LIKELY) * tally.count:
        return None
    sure = (not odd and name.fitted <= PLAIN) or (odd <= MAX_ODD and name.fitted <= PLAIN / 2)
    others = tuple(n.recipe for n in names if n.encoding != name.encoding and n.score.close >= name.score.close
                   and n.fitted <= PLAIN)  # fmt: skip
    arrays = tuple(dict.fromkeys(plane.name for plane in name.grid.view.planes))
    way = name.score.way
    notes = (*filter(None, [name.grid.view.note]), *tally.places)
    return Identification(name.recipe, "sure" if sure else "likely", tally.residual, tally.equal / max(1, tally.count),
                          way.words(), notes, others, tally.count, arrays)  # fmt: skip


def compared(name: GridName) -> tuple[GridName, Tally]:
    """Return a name with the arithmetic that gives most values, and what all of them say of it."""
    fits = []
    for computed in (name, *_in_float32(name)):
        fits.append((computed, compare_all(computed)))
        if not fits[-1][1].odd or fits[-1][1].odd > (1 - MIN_SHARE_LIKELY) * fits[-1][1].count:
            break
    return min(fits, key=lambda fit: fit[1].odd)


def _in_float32(name: GridName) -> Iterator[GridName]:
    """Yield the same name with its angles computed in float32, which sampled values rounded to fewer bits may hide."""
    if name.score.way.name == "exact" and name.grid.view.dtype != "float64":
        recipe = Recipe.bind(name.encoding, **{key.replace("-", "_"): value for key, value in name.keys.items()})
        for said, w in float32_frequencies(recipe, name.pairs).items():
            yield replace(name, score=replace(name.score, way=Way("float32", w, "float32", "float32", said)))


def compare_all(name: GridName) -> Tally:
    """Compare every value of a table with a named one in its arithmetic."""
    grid, pairs, way = name.grid, name.pairs, name.score.way
    plan, view, tally = pairs.plan, grid.view, Tally()
    turns = bool((pairs.turning != 1).any()) and not isinstance(way, HalfTurns)
    tables = []
    for number, values in enumerate(coordinate_values(plan.axes, name.spacing, turning=turns)):
        own = np.flatnonzero(pairs.axis == number)
        if not len(own):
            continue
        made = replace(way, frequencies=way.frequencies[own]).compute(values, pairs.magnitude[own], view.dtype)
        angles = np.abs(values[:, None] * way.frequencies[own])
        bound = 2.0**-51 * angles  # what this reference, computed in float64, is off by
        if way.name == "float64":
            bound = 2.0**-53 * (5 + angles * (3 + np.abs(np.log(np.maximum(way.frequencies[own], 1e-300)))))
        tables.append((own, made, bound))
    step = max(1, BLOCK_VALUES // max(1, 2 * len(pairs.axis)))
    for start in range(0, view.total, step):
        stop = min(view.total, start + step)
        blocks = [plane.read(start, stop) for plane in view.planes]
        rows = np.arange(start, stop)
        inside = (rows >= plan.prefix) & (rows < view.total - plan.suffix)
        at = pairs.coordinates(np.clip(rows, plan.prefix, view.total - plan.suffix - 1))
        outside = (0.0, 0.0) if grid.axes.absolute else (1.0, 0.0)
        for ramp in plan.ramps:
            values = coordinate_values(plan.axes, name.spacing, turning=False)[ramp.axis] * float(ramp.factor)
            expected = rounded(values, view.dtype)[at[:, ramp.axis]][:, None]
            column = np.array([ramp.column])
            slack = np.full_like(expected, 2.0**-53)
            _count(tally, blocks[0][:, column], expected, slack, view.dtype, view.planes[0].name, column, start)
        for own, (cos, sin), bound in tables:
            which = at[:, pairs.axis[own[0]]]
            for part, values, empty, columns in (
                ("cos", cos, outside[0], pairs.cos[own]),
                ("sin", sin, outside[1], pairs.sin[own]),
            ):
                expected = np.where(inside[:, None], values[which], empty)
                held = columns >= 0
                for label, actual, names in _places_of(grid, part, columns[held], blocks):
                    _count(tally, actual, expected[:, held], bound[which][:, held], view.dtype, label, names, start)
    return tally


def _places_of(grid: Grid, part: str, columns: NDArray[np.int64], blocks: Sequence[Floats]) -> Iterator[
    tuple[str, Floats, NDArray[np.int64]]
]:  # fmt: skip
    """Yield the values of a component wherever it stands, with the array's name and the columns."""
    names = [plane.name for plane in grid.view.planes]
    if grid.axes.absolute:
        yield names[0], blocks[0][:, columns], columns
        return
    assert grid.reading is not None
    for column in grid.reading.cos_at if part == "cos" else grid.reading.sin_at:
        where = np.arange(blocks[column.plane].shape[1])[column.index][columns]
        yield names[column.plane], blocks[column.plane][:, where], where


def _count(tally: Tally, actual: Floats, expected: Floats, bound: Floats, dtype: str, label: str,
           columns: NDArray[np.int64], start: int) -> None:  # fmt: skip
    tally.count += actual.size
    same = (actual == expected) | ((actual == 0) & (np.abs(expected) <= bound))  # sines of whole half turns
    tally.equal += int(same.sum())
    if same.all():
        return
    row, column = np.nonzero(~same)
    a, b = actual[row, column], expected[row, column]
    gap, size = np.abs(a - b), unit(b, dtype)
    fits = gap <= np.maximum((MAX_ULP if dtype == "float32" else CLOSE) * size, bound[row, column])
    if fits.any():
        tally.worst = max(tally.worst, float((gap / size)[fits].max()))
        tally.residual = max(tally.residual, float(gap[fits].max()))
    if not fits.all():
        tally.odd += int((~fits).sum())
        for r, c in list(zip(row[~fits], column[~fits], strict=True))[: max(0, 3 - len(tally.places))]:
            tally.places.append(f"{label}[{start + r}, {columns[c]}] is {actual[r, c]:g}, expected {expected[r, c]:g}")


def measured_words(grid: Grid) -> Iterator[str]:
    """Yield what was measured of a table that has no name."""
    axes = grid.axes
    what = "an absolute table" if axes.absolute else "cos and sin"
    yield f"{what} over {len(axes.axes)} axes, {axes.count} pairs, layout {axes.layout}"
    if axes.sides:
        yield f"rows follow a grid {'x'.join(map(str, axes.sides))}" + "".join(
            f", {key} {value}" for key, value in axes.edges.items()
        )
    for axis in axes.axes:
        steps = axis.pairs.steps
        yield (f"{axis.size} levels on {len(axis.columns)} pairs, {steps[0]:.6g} to {steps[-1]:.3g} radians a level,"
               f" from level {axis.origin:g}")  # fmt: skip
