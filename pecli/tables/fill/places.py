"""Which columns of which arrays hold a band's sines, cosines and angles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import Part
from pecli.numbers.dtypes import storage
from pecli.spec.plans import Band, Waves, progressions
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays
from pecli.tables.layouts import layout_views

Views = list[tuple[Part, NDArray[Any]]]

FEW_RUNS = 8
"""More runs of columns than this are copied by the bands' own strided slices."""


class Places:
    """The main arrays of a table of waves: ``pe``, or what a layout makes of cos and sin.

    Parameters
    ----------
    waves : Waves
        The plan.
    rotary : bool
        Whether the arrays are those of a layout.
    layout : str
        Which one.
    """

    def __init__(self, waves: Waves, rotary: bool, layout: str) -> None:
        self.waves, self.rotary = waves, rotary
        self.layout = "split" if waves.form == "full" else layout
        self.parts = waves.parts if rotary and layout == "half" else ()

    def views(self, band: Band, out: Arrays) -> Views:
        """Return where a band's values go, each view (rows, k)."""
        if band.cos is not None and band.cos.start is not None:
            start, pairs = 0, band.cos
            for width in self.parts:  # blocks with halves of their own: the one that holds these pairs
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
            return layout_views(self.layout, self.waves.width, out)
        if self.waves.form == "complex":
            return [view for array in out.values() for view in (("sin", array.imag), ("cos", array.real))]
        return [view for array in out.values() for view in (("sin", array), ("cos", array))]

    def still(self, out: Arrays, dtype: str, columns: slice = slice(None)) -> None:
        """Write rows of columns (rotary: pairs) that nothing turns: zeros, or cos 1 and sin 0."""
        one = 0x3F80 if dtype == "bfloat16" else 1
        for part, view in self.views(Band((), columns, columns), out):
            view[...] = one if self.rotary and part == "cos" else 0

    def columns(self, bands: Iterable[Band], extra: Iterable[int], array: Array) -> list[slice]:
        """Return the places along axis 1 of an array that these bands and single columns fill, as few as possible."""
        marks = np.zeros((1, *array.row_shape), storage(array.dtype))
        for band in bands:
            for _, view in self.views(band, {array.name: marks}):
                view[...] = 1
        for column in extra:
            marks[:, column] = 1
        return runs((marks[0] != 0).reshape(array.row_shape[0], -1).any(axis=1))


def runs(flags: NDArray[np.bool_]) -> list[slice]:
    """Return where flags are set, as contiguous slices, or strided ones where those would be many."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    found = [slice(int(a), int(b)) for a, b in zip(edges[0::2], edges[1::2], strict=True)]
    if len(found) <= FEW_RUNS:
        return found
    return progressions(np.flatnonzero(flags).tolist())
