"""Columns of sines and cosines of a coordinate between -1 and 1."""

from __future__ import annotations

from typing import Annotated, Literal

from pecli.declare.encoding import Param
from pecli.declare.plan import Ramp
from pecli.encodings.shared.coordinates import WORD_HELP, CoordinateWord
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
