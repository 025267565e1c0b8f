"""Columns of sines and cosines of a coordinate between -1 and 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pecli.declare.encoding import Param
from pecli.declare.plan import Ramp
from pecli.encodings.shared.coordinates import WORD_HELP, CoordinateWord
from pecli.encodings.shared.kernel_types import Evidence
from pecli.records import dataclass

Where = Annotated[CoordinateWord, Param(WORD_HELP)]


Include = Literal["none", "first", "last"]


@dataclass(frozen=True)
class Columns:
    """Places of the sines (part 0) and cosines (part 1) of several axes, and of the coordinates themselves.

    Parameters
    ----------
    axes, count, parts : int
        Numbers of coordinates, of frequencies, of sin and cos.
    include : {"none", "first", "last"}
        Where the coordinates stand: before or after all else; with "by-axis" and "in-turn", of their own axis.
    order : {"sin-cos", "by-axis", "in-turn", "by-frequency"}
        [sin of all axes | cos of all axes]; [sin x | cos x | sin y | cos y]; [sin x, cos x, sin 2x, ..
        | sin y, cos y ..]; or by frequency, and within it the sines of all axes before their cosines.
    """

    axes: int
    count: int
    parts: int
    include: str
    order: str

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.axes * (self.count * self.parts + (self.include != "none"))

    def of(self, axis: int, part: int) -> slice:
        """Return the columns of the sines or cosines of an axis."""
        whole = self.count * self.parts
        if self.order in ("by-axis", "in-turn"):
            start = axis * (whole + (self.include != "none")) + (self.include == "first")
            if self.order == "in-turn":
                return slice(start + part, start + whole, self.parts)
            return slice(start + part * self.count, start + (part + 1) * self.count)
        start = self.axes if self.include == "first" else 0
        if self.order == "sin-cos":
            start += (part * self.axes + axis) * self.count
            return slice(start, start + self.count)
        first = start + part * self.axes + axis
        return slice(first, start + self.axes * whole, self.axes * self.parts)

    @property
    def ramps(self) -> tuple[Ramp, ...]:
        """Return the columns of the coordinates."""
        whole = self.count * self.parts
        if self.include == "none":
            return ()
        if self.order in ("by-axis", "in-turn"):
            inner = 0 if self.include == "first" else whole
            return tuple(Ramp(axis * (whole + 1) + inner, axis) for axis in range(self.axes))
        start = 0 if self.include == "first" else self.axes * whole
        return tuple(Ramp(start + axis, axis) for axis in range(self.axes))


FITTING = 0.9  # share of the values that are so: others may be spoiled
MOST_GRIDS = 4  # of a number of points, the squarest first


def symmetric_grids(evidence: Evidence) -> Iterator[tuple[int, str, int, dict[str, str]]]:
    """Yield what one array of coordinates from -1 to 1 may be over.

    Yields
    ------
    int, str, int, dict
        Number of axes; where the coordinates themselves stand; how many columns are left without them; the
        parameter of the grid (none for a line).
    """
    import numpy as np

    if len(evidence.points) != 1:
        return
    values = evidence.points[0]
    rows, width = values.shape
    size = np.abs(values)
    # sines of an interval around 0 are odd and cosines even, whatever the frequencies
    fits = (size <= 1 + 2 * evidence.resolution) & (np.abs(size - size[::-1]) <= LOOSE_SYMMETRY)
    if fits.mean() < FITTING:
        return
    pairs = [(h, rows // h) for h in range(2, rows) if rows % h == 0 and rows // h >= 2]
    pairs.sort(key=lambda p: abs(p[0] - p[1]))
    side = round(rows ** (1 / 3))
    cubes = [f"{side}x{side}x{side}"] if side > 1 and side**3 == rows else []
    for axes, grids in ((1, [""]), (2, [f"{h}x{w}" for h, w in pairs[:MOST_GRIDS]]), (3, cubes)):
        for inputs in ("none", "first", "last"):
            rest = width - axes * (inputs != "none")
            for grid in grids if rest > 0 else []:
                yield axes, inputs, rest, {"grid": grid} if grid else {}


LOOSE_SYMMETRY = 1e-2  # what coordinates in float32 and angles of some hundreds leave of it
