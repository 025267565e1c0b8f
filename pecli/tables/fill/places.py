"""Which columns of which arrays hold a band's sines, cosines and angles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Band, Waves
from pecli.engine import Part
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
        self.parts = waves.parts if self.layout == "half" else ()

    def views(self, band: Band, out: Arrays) -> Views:
        """Return where a band's values go, each view (rows, k)."""
        found: Views = []
        if not self.rotary:
            parts: tuple[tuple[Part, slice | None], ...] = (("sin", band.sin), ("cos", band.cos))
            for name, array in out.items():
                found += [(p, self._plain(name, array, p)[:, columns]) for p, columns in parts if columns is not None]
            return found
        assert band.sin is not None
        return [(part, view[:, columns]) for part, view, columns in self._pairs(band.sin, out)]

    def _plain(self, name: str, array: NDArray[Any], part: Part) -> NDArray[Any]:
        if self.waves.form == "real":
            return array
        return array.imag if part == "sin" else array.real

    def _pairs(self, pairs: slice, out: Arrays) -> list[tuple[Part, NDArray[Any], slice]]:
        """Return views of all pairs, or of the block with halves of its own that holds these; and the pairs' place."""
        start = 0
        for width in self.parts if pairs.start is not None else ():
            if start <= pairs.start < start + width:
                block = {name: array[:, 2 * start : 2 * (start + width)] for name, array in out.items()}
                local = slice(pairs.start - start, pairs.stop - start, pairs.step)
                return [(part, view, local) for part, view in layout_views("half", width, block)]
            start += width
        return [(part, view, pairs) for part, view in layout_views(self.layout, self.waves.width, out)]

    def still(self, out: Arrays, dtype: str, columns: slice = slice(None)) -> None:
        """Write rows of columns (rotary: pairs) that nothing turns: zeros, or cos 1 and sin 0."""
        if not self.rotary:
            for array in out.values():
                array[:, columns] = 0
            return
        one = 0x3F80 if dtype == "bfloat16" else 1
        for part, view, pairs in self._pairs(columns, out):
            view[:, pairs] = one if part == "cos" else 0

    def columns(self, bands: Iterable[Band], extra: Iterable[int], name: str, shape: tuple[int, ...]) -> list[slice]:
        """Return the places along axis 1 of an array that these bands and single columns fill, as few as possible."""
        marks = np.zeros((1, *shape), np.bool_)
        for band in bands:
            for view in self._marked(band, name, marks):
                view[...] = True
        for column in extra:
            marks[:, column] = True
        flat: NDArray[np.bool_] = np.any(marks.reshape(shape[0], -1), axis=1)
        return runs(flat)

    def _marked(self, band: Band, name: str, marks: NDArray[Any]) -> list[NDArray[Any]]:
        if not self.rotary:
            return [marks[:, columns] for columns in (band.sin, band.cos) if columns is not None]
        assert band.sin is not None
        if self.layout in ("complex", "angles"):
            return [marks[:, band.sin]]
        return [view[:, columns] for _, view, columns in self._pairs(band.sin, {name: marks})]


def runs(flags: NDArray[np.bool_]) -> list[slice]:
    """Return where flags are set, as contiguous slices, or strided ones where those would be many."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    found = [slice(int(a), int(b)) for a, b in zip(edges[0::2], edges[1::2], strict=True)]
    if len(found) <= FEW_RUNS:
        return found
    return _strided(np.flatnonzero(flags).tolist())


def _strided(columns: list[int]) -> list[slice]:
    """Cover columns greedily by arithmetic progressions."""
    found = []
    while columns:
        step = columns[1] - columns[0] if len(columns) > 1 else 1
        last, have = columns[0], set(columns)
        while last + step in have:
            last += step
        taken = range(columns[0], last + 1, step)
        found.append(slice(columns[0], last + 1, step))
        columns = [c for c in columns if c not in taken]
    return found
