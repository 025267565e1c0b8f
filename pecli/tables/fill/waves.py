"""Tables of sines and cosines, filled by the engine, or with the steps of a framework's own arithmetic."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import Part, fill
from pecli.errors import BadParameter
from pecli.numbers.double_double import Exponentials
from pecli.numbers.dtypes import COMPLEX
from pecli.numbers.positions import Segment
from pecli.numbers.rounding import narrow
from pecli.spec.declaration import Family
from pecli.spec.plans import Band, Companion, Waves, progressions
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import CHANNELS, Arrays, Filler, points_of, round_into
from pecli.tables.layouts import column_views, layout_arrays, layout_views

Views = list[tuple[Part, NDArray[Any]]]

LARGEST = 10**300  # of frequencies, near which a float64 ends
# More runs of columns than this are copied by the bands' own strided slices.
MAX_RUNS = 8


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
