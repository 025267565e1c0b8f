"""From a plan, the positions and the request to arrays and their rows: what every filler has, and the plainest one."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet
from pecli.errors import BadRecipe
from pecli.numbers.double_double import DoubleDouble, Points
from pecli.numbers.positions import Segment, as_array
from pecli.numbers.rounding import narrow
from pecli.spec.plans import Band, Fixed, Plan, Values
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array
from pecli.tables.request import Extent, Request

P = TypeVar("P", bound=Plan)
R = TypeVar("R", bound="DoubleDouble | NDArray[Any]")
Arrays = Mapping[str, NDArray[Any]]
CHANNELS = ("position", "channel")


class BandFrequencies:
    """The frequency set of each band and unit, made once for all threads."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, Fraction], FrequencySet] = {}
        self._lock = threading.Lock()

    def get(self, band: Band, unit: Fraction) -> FrequencySet:
        """Return the frequencies of a band for positions in this unit."""
        key = (id(band), unit)
        with self._lock:
            if key not in self._made:
                found = FrequencySet(band.frequencies, turns=band.turns, unit=unit, magnitude=band.magnitude)
                self._made[key] = found
            return self._made[key]


class Filler(ABC, Generic[P]):
    """Computes the rows of one kind of plan, in any order, from any thread.

    Parameters
    ----------
    plan : Plan
        What is computed.
    recipe : Recipe
        The plan's recipe: its name for messages, its family, and its parameters for framework emulation.
    extent : Extent
        At which positions.
    request : Request
        In which type, layout or form.

    Attributes
    ----------
    arrays : tuple of Array
        What the table holds.

    Raises
    ------
    BadParameter
        For a type or a layout that the plan cannot be given in.
    """

    def __init__(self, plan: P, recipe: Recipe, extent: Extent, request: Request) -> None:
        self.plan, self.recipe, self.extent, self.request = plan, recipe, extent, request
        self.name, self.dtype = recipe.encoding.name, request.dtype
        self.part, self.positions = extent.part, extent.positions
        self.frequencies = BandFrequencies()
        self.arrays = self._arrays()

    @abstractmethod
    def _arrays(self) -> tuple[Array, ...]:
        """Return the descriptions of the table's arrays."""

    @abstractmethod
    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows `start` to `stop` into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`.

        `threads` is how many of its own a filler may use; the values are the same whatever it is.
        """

    def check(self) -> None:
        """Raise BadParameter where the request does not fit, or a position has no value; reads the weights."""
        self.plan.domain.check(self.name, self.part)
        self.plan.read_files()

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of rows `start` to `stop`, (stop - start,) int64 or float64; None if none."""
        return self.part.numbers(start, stop)

    def _fixed_arrays(self, fixed: Sequence[Fixed]) -> tuple[Array, ...]:
        """Return the descriptions of arrays that do not depend on the positions."""
        return tuple(Array(f.name, f.shape, f.dtype or self.dtype, f.axes, f.lead) for f in fixed)

    def _fill_fixed(self, name: str, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write rows of an array that does not depend on the positions."""
        (fixed,) = (f for f in self.plan.fixed if f.name == name)
        values = fitting(fixed.values(start, stop), out.shape, fixed.values)
        if fixed.dtype is None:
            round_into(values, self.dtype, out)
        else:
            out[...] = values


def points_of(segment: Segment) -> Points:
    """Return the positions of a segment as a kernel sees them."""
    return Points(as_array(segment.multiples), segment.unit)


def fitting(values: R, shape: tuple[int, ...], function: Callable[..., Any]) -> R:
    """Return what a function gave, or raise BadRecipe, which names its line, where it cannot fill this shape."""
    found = np.shape(values.hi if isinstance(values, DoubleDouble) else values)
    if len(found) > len(shape) or any(n not in (1, m) for n, m in zip(found[::-1], shape[::-1], strict=False)):
        code = getattr(function, "__code__", None)
        place = "" if code is None else f"{code.co_filename}, line {code.co_firstlineno}: "
        raise BadRecipe(f"{place}the values have the shape {found}, where {shape} is needed")
    return values


def round_into(values: DoubleDouble | NDArray[Any], dtype: str, out: NDArray[Any]) -> None:
    """Write values, rounded once to `dtype`, into `out` of any strides."""
    if isinstance(values, DoubleDouble):
        out[...] = narrow(values.hi, values.lo, dtype)
    elif dtype == "bfloat16":
        out[...] = narrow(np.asarray(values, np.float64), None, dtype)
    else:  # one conversion by IEEE 754's rule, straight into the rows
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out[...] = np.asarray(values, np.float64)


def minus_infinity(dtype: str) -> Any:
    """Return minus infinity as the storage of `dtype` holds it."""
    return 0xFF80 if dtype == "bfloat16" else -np.inf


class ValueFiller(Filler[Values]):
    """``pe`` (n, width), computed from the position."""

    def _arrays(self) -> tuple[Array, ...]:
        return (Array("pe", (self.part.count, self.plan.width), self.dtype, CHANNELS),)

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        pe = out["pe"]
        for segment in self.part.segments(start, stop):
            shape = (len(segment.multiples), pe.shape[1])
            values = fitting(self.plan.at(points_of(segment)), shape, self.plan.at)
            rows = pe[segment.rows]  # a view, or a copy of rows that lie apart
            round_into(values, self.dtype, rows)
            if not isinstance(segment.rows, slice):
                pe[segment.rows] = rows
