"""Tables of sines and cosines, filled by the engine, or with the steps of a framework's own arithmetic.

Their coordinate is the position itself, or is looked up: a grid, points, position streams, sums of them, logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet, Part, fill
from pecli.engine.planning import check_multiples
from pecli.errors import BadParameter
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import CONTEXT, decimal_of
from pecli.numbers.double_double import DoubleDouble, Exponentials, Points, quick_two_sum
from pecli.numbers.dtypes import COMPLEX, storage
from pecli.numbers.positions import Segment, as_array
from pecli.numbers.rounding import Integers, narrow
from pecli.spec.declaration import Family
from pecli.spec.plans import Band, Companion, Coordinate, Cross, Ramp, Waves, progressions
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import CHANNELS, Arrays, Filler, points_of, round_into
from pecli.tables.layouts import column_views, layout_arrays, layout_views

Views = list[tuple[Part, NDArray[Any]]]
Multiples = range | tuple[int, ...]
Point = tuple[DoubleDouble, DoubleDouble]

LARGEST = 10**300  # of frequencies, near which a float64 ends
# More runs of columns than this are copied by the bands' own strided slices.
MAX_RUNS = 8
BLOCK = 1 << 14  # phases worked on at once
SUM_ERROR = 2.0**-90  # of a doubled sine or cosine of a sum: those of a coordinate err by 2^-95, products add less


def runs(flags: NDArray[np.bool_]) -> list[slice]:
    """Return the slices of set flags: contiguous, or strided where contiguous ones would be many."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    found = [slice(int(a), int(b)) for a, b in zip(edges[0::2], edges[1::2], strict=True)]
    if len(found) <= MAX_RUNS:
        return found
    return progressions(np.flatnonzero(flags).tolist())


class WaveFiller(Filler[Waves]):
    """``pe``, or cos and sin in a layout, filled by the engine; with them the plan's companion arrays."""

    @property
    def rotary(self) -> bool:
        """Whether the main arrays are those of a layout."""
        return self.recipe.encoding.family is Family.ROTARY

    def views(self, band: Band, out: Arrays) -> Views:
        """Return where a band's values go, each view (rows, k)."""
        if self.rotary and self.request.layout == "half" and band.cos is not None and band.cos.start is not None:
            start, pairs = 0, band.cos
            for width in self.plan.parts:  # blocks with halves of their own: the one that holds these pairs
                if start <= pairs.start < start + width:
                    block = {name: array[:, 2 * start : 2 * (start + width)] for name, array in out.items()}
                    local = slice(pairs.start - start, pairs.stop - start, pairs.step)
                    return [(part, view[:, local]) for part, view in layout_views("half", width, block)]
                start += width
        places = [(part, view, band.sin if part == "sin" else band.cos) for part, view in self._whole(out)]
        return [(part, view[:, columns]) for part, view, columns in places if columns is not None]

    def _whole(self, out: Arrays) -> Views:
        """Return where the values of all columns or pairs go."""
        if self.rotary:
            return layout_views("split" if self.plan.form == "full" else self.request.layout, self.plan.width, out)
        if self.plan.form == "complex":
            return [view for array in out.values() for view in (("sin", array.imag), ("cos", array.real))]
        return [view for array in out.values() for view in (("sin", array), ("cos", array))]

    def write_unrotated(self, out: Arrays, columns: slice = slice(None)) -> None:
        """Write the rows of columns without a frequency (rotary: unrotated pairs): zeros, or cos 1 and sin 0."""
        one = 0x3F80 if self.dtype == "bfloat16" else 1
        for part, view in self.views(Band((), columns, columns), out):
            view[...] = one if self.rotary and part == "cos" else 0

    def _main(self) -> tuple[Array, ...]:
        """Return the arrays of sines and cosines."""
        waves, n, dtype, layout = self.plan, self.part.count, self.dtype, self.request.layout
        if not self.rotary:
            if waves.form == "complex" and dtype not in COMPLEX:
                raise BadParameter("dtype", dtype, f"has no complex type: use float32 or float64 for {self.name}")
            return (Array("pe", (n, waves.width), COMPLEX[dtype] if waves.form == "complex" else dtype, CHANNELS),)
        if waves.form != "full":
            return layout_arrays(layout, n, waves.width, dtype)
        if layout != "half":
            rule = f"splits what {self.name} fills with different angles: use layout=half, the whole width"
            raise BadParameter("layout", layout, rule)
        return layout_arrays("interleaved", n, waves.width // 2, dtype)

    def _arrays(self) -> tuple[Array, ...]:
        self.main = self._main()
        twice = 2 if self.rotary and self.request.layout in ("half", "interleaved") else 1
        axes = ("position", "pair") if self.rotary and twice == 1 else CHANNELS
        companion = [Array(b.name, (self.part.count, twice * b.width), self.dtype, axes) for b in self.plan.companions]
        return *self.main, *companion, *self._fixed_arrays(self.plan.fixed)

    def check(self) -> None:
        """Raise also where a frequency is larger than any that is computed."""
        super().check()
        if any(not -LARGEST <= w <= LARGEST for band in self.plan.bands for w in band.frequencies):
            rule = f"has frequencies beyond {LARGEST:.0e}, the largest that are computed: give less extreme parameters"
            raise BadParameter("recipe", self.recipe.short, rule)

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        companion, fixed = {b.name: b for b in self.plan.companions}, {f.name for f in self.plan.fixed}
        main = {}
        for name, array in out.items():
            if name in fixed:
                self._fill_fixed(name, start, stop, array)
            elif name in companion:
                self._fill_companion(companion[name], start, stop, array)
            else:
                main[name] = array
        if main:
            self._fill_main(start, stop, main, threads)
        for array in main.values() if self.plan.blank else ():
            array[np.isin(self.part.numbers(start, stop), self.plan.blank)] = 0

    def _fill_main(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows of sines and cosines, whose coordinate is the position itself."""
        for segment in self.part.segments(start, stop):
            whole = isinstance(segment.rows, slice)
            target = out if whole else {name: np.empty_like(a[segment.rows]) for name, a in out.items()}
            self._write_uncovered(target)
            for band in self.plan.bands:
                views = self.views(band, target)
                fill(self.frequencies.get(band, segment.unit), segment.multiples, views, self.dtype, threads=threads)
            self._fill_others(segment, target, threads)
            if not whole:
                for name, array in target.items():
                    out[name][segment.rows] = array

    def _fill_others(self, segment: Segment, out: Arrays, threads: int) -> None:
        """Write the columns that are no bands: a plain table has none."""

    def _fill_companion(self, companion: Companion, start: int, stop: int, out: NDArray[Any]) -> None:
        views = column_views(self.request.layout, companion.width, out)
        for segment in self.part.segments(start, stop):
            values = companion.at(points_of(segment))
            rows = np.empty((len(segment.multiples), companion.width), out.dtype)
            if isinstance(values, Exponentials):
                values.into(self.dtype, rows)
            else:
                round_into(values, self.dtype, rows)
            for view in views:
                view[segment.rows] = rows

    def _write_uncovered(self, out: Arrays) -> None:
        """Write zeros, or cos 1 and sin 0, into the columns that no band, ramp or crossed phase covers."""
        for columns in self._uncovered:
            self.write_unrotated(out, columns)

    @cached_property
    def _uncovered(self) -> list[slice]:
        """Return the columns (rotary: pairs) that neither bands nor ramps nor crossed phases fill."""
        covered = np.zeros(self.plan.width, np.bool_)
        places = [place for band in self.plan.bands for place in (band.sin, band.cos)]
        if self.plan.cross is not None:
            places += [self.plan.cross.sin, self.plan.cross.cos]
        for place in filter(None, places):
            covered[place] = True
        for ramp in self.plan.ramps:
            covered[ramp.column] = True
        return runs(~covered)


class EmulatedFiller(WaveFiller):
    """Cos and sin, or angles, from float32 (or bfloat16) frequencies and positions, by the `emulate` hook."""

    def _arrays(self) -> tuple[Array, ...]:
        plan, arithmetic = self.plan, self.request.arithmetic
        if plan.axes or not self.recipe.encoding.declares("emulate"):
            rule = f"is for rotary tables of one position whose steps are known: {self.name} is computed exactly"
            raise BadParameter("arithmetic", arithmetic, rule)
        return super()._arrays()

    @cached_property
    def _emulation(self) -> Any:
        return self.recipe.encoding.hook("emulate")(self.plan, self.recipe.values, self.request.arithmetic)

    def _fill_main(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        if self.request.layout == "angles":
            self._store(self._emulation.angles(self.part.numbers(start, stop)), out["angles"])
            return
        width = len(self._emulation.frequencies)
        cos, sin = (np.empty((stop - start, width), np.float32) for _ in range(2))
        self._emulation.fill(self.part.numbers(start, stop), cos, sin)
        for part, view in layout_views(self.request.layout, width, out):
            self._store(cos if part == "cos" else sin, view)

    def _store(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        out[...] = values if self.dtype == "float32" else narrow(values.astype(np.float64), None, self.dtype)


class LookupFiller(WaveFiller):
    """``pe``, or cos and sin in a layout, of coordinates that are looked up.

    A row of a grid shares each coordinate with many others, so the columns of
    a coordinate are computed once for each of its values and copied.
    """

    def _fill_main(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows of sines and cosines; those before and after the grid get zeros, or cos 1 and sin 0."""
        waves = self.plan
        if not waves.axes:
            super()._fill_main(start, stop, out, threads)
            return
        positions = self.part.numbers(start, stop).astype(np.int64, copy=False)
        self._write_uncovered(out)
        if waves.cross is not None:
            self._fill_sums(waves.cross, positions, out["pe"])
            return
        rows = positions - waves.prefix
        pieces = [slice(0, len(rows))]
        if waves.prefix or waves.suffix:
            assert waves.rows is not None
            inside = (rows >= 0) & (rows < waves.rows - waves.prefix - waves.suffix)
            for piece in runs(~inside):
                self.write_unrotated({name: a[piece] for name, a in out.items()})
            pieces = runs(inside)
        for piece in pieces:
            for number, axis in enumerate(waves.axes):
                index = axis.index(rows[piece])
                if len(index):
                    self._fill_axis(number, index, {name: a[piece] for name, a in out.items()}, threads)

    def _fill_others(self, segment: Segment, out: Arrays, threads: int) -> None:
        """Write the position itself, and multiples of its logarithm."""
        for ramp in self.plan.ramps:
            fill_ramp(ramp, points_of(segment), out["pe"], self.dtype)
        if self.plan.cross is not None:
            fill_logarithms(self.plan.cross, points_of(segment), out["pe"], self.dtype, threads)

    def _fill_axis(self, number: int, index: Integers, out: Arrays, threads: int) -> None:
        """Fill the columns of one coordinate."""
        multiples = self.plan.axes[number].multiples
        if int(index[-1]) - int(index[0]) == len(index) - 1 and (np.diff(index) == 1).all():
            self._compute(number, multiples[int(index[0]) : int(index[-1]) + 1], out, threads)
            return
        values, place = np.unique(index, return_inverse=True)
        made = {a.name: np.empty((len(values), *a.row_shape), storage(a.dtype)) for a in self.main}
        self._compute(number, tuple(multiples[i] for i in values.tolist()), made, threads)
        bands = [band for band in self.plan.bands if band.axis == number]
        ramps = [ramp.column for ramp in self.plan.ramps if ramp.axis == number]
        for array in self.main:
            for columns in self._columns(bands, ramps, array) if array.name in out else ():
                out[array.name][:, columns] = made[array.name][:, columns].take(place, axis=0)

    def _columns(self, bands: Iterable[Band], extra: Iterable[int], array: Array) -> list[slice]:
        """Return the places along axis 1 of an array that these bands and single columns fill, as few as possible."""
        marks = np.zeros((1, *array.row_shape), storage(array.dtype))
        for band in bands:
            for _, view in self.views(band, {array.name: marks}):
                view[...] = 1
        for column in extra:
            marks[:, column] = 1
        return runs((marks[0] != 0).reshape(array.row_shape[0], -1).any(axis=1))

    def _compute(self, number: int, multiples: Multiples, out: Arrays, threads: int) -> None:
        """Fill the columns of one coordinate, a row for each of its values."""
        axis = self.plan.axes[number]
        if isinstance(multiples, range):
            given: Integers | range = multiples
        else:
            check_multiples(range(min(multiples), max(multiples) + 1))
            given = np.array(multiples, np.int64)
        for band in self.plan.bands:
            if band.axis == number:
                views = self.views(band, out)
                fill(self.frequencies.get(band, axis.unit), given, views, self.dtype, threads=threads)
        for ramp in self.plan.ramps:
            if ramp.axis == number:
                fill_ramp(ramp, Points(as_array(given), axis.unit), out["pe"], self.dtype)

    @cached_property
    def _factors(self) -> list[FrequencySet]:
        """The factors of each coordinate of a sum; of 2^15 random ones they take a second to prepare."""
        cross = self.plan.cross
        pairs = zip(self.plan.axes, cross.factors, strict=True) if cross is not None else ()
        return [FrequencySet(factors, turns=True, unit=axis.unit) for axis, factors in pairs]

    def _fill_sums(self, cross: Cross, rows: Integers, out: NDArray[Any]) -> None:
        """Fill columns whose phase is a sum over coordinates: e^(i(a + b)) = e^(ia) e^(ib).

        Each coordinate's own rows are doubled; their product is rounded from both
        ends of its error; where the two differ, the sum itself is taken exactly.
        """
        parts: tuple[tuple[slice, Part], ...] = ((cross.cos, "cos"), (cross.sin, "sin"))
        for some in in_blocks(0, len(rows), BLOCK // len(cross.factors[0])):
            block = rows[some]
            points = (self._doubled(*one, block) for one in zip(self.plan.axes, self._factors, strict=True))
            point = reduce(_add_angles, points)
            for (columns, part), value in zip(parts, point, strict=True):
                below, above = (
                    narrow(*quick_two_sum(value.hi, value.lo + error), self.dtype) for error in (-SUM_ERROR, SUM_ERROR)
                )
                bits = f"u{below.itemsize}"
                row, column = np.nonzero(below.view(bits) != above.view(bits))  # zeros of two signs among them
                if len(row):
                    below[row, column] = self._exact(cross, block[row], column, part)
                out[some, columns] = below

    def _doubled(self, axis: Coordinate, factors: FrequencySet, rows: Integers) -> Point:
        """Return the cosines and sines of one coordinate."""
        values, place = np.unique(axis.index(rows), return_inverse=True)
        multiples = np.array([axis.multiples[i] for i in values.tolist()], np.int64)
        found = factors.doubled_rows(multiples)
        return found[0][place], found[1][place]

    def _exact(self, cross: Cross, rows: Integers, column: Integers, part: Part) -> NDArray[Any]:
        """Return single values, each by its exact phase."""
        phases = [Fraction(0)] * len(rows)
        for axis, factors in zip(self.plan.axes, cross.factors, strict=True):
            for number, (k, i) in enumerate(zip(column.tolist(), axis.index(rows).tolist(), strict=True)):
                phases[number] += factors[k] * axis.multiples[i] * axis.unit
        found = narrow(np.zeros((1, len(phases))), None, self.dtype)
        fill(FrequencySet(phases, turns=True), range(1, 2), [(part, found)], self.dtype)
        return np.asarray(found[0])


def _add_angles(a: Point, b: Point) -> Point:
    """Return the cosine and the sine of a sum of two angles."""
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def fill_ramp(ramp: Ramp, points: Points, out: NDArray[Any], dtype: str) -> None:
    """Fill the column that holds a coordinate itself."""
    round_into(points.times([ramp.factor]), dtype, out[:, ramp.column : ramp.column + 1])


def fill_logarithms(cross: Cross, points: Points, out: NDArray[Any], dtype: str, threads: int) -> None:
    """Fill the columns of multiples of ln p, rows `points` of ``pe``.

    Positions and columns change places: the positions' logarithms are the
    frequencies, the columns' factors the multiples.
    """
    factors = np.array(cross.logarithm, np.int64)
    for some in in_blocks(0, len(points), 2 * BLOCK // len(factors)):
        block = points.multiples[some].tolist()
        logarithms = FrequencySet([CONTEXT.ln(decimal_of(m * points.unit)) for m in block], turns=True, unit=cross.unit)
        rows = out[some]
        views: Views = [("sin", rows[:, cross.sin].T), ("cos", rows[:, cross.cos].T)]
        fill(logarithms, factors, views, dtype, threads=threads)
