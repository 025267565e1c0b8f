"""From a plan, the positions and the request to arrays and their rows: what every filler has, and the plainest one."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet, Part
from pecli.errors import BadRecipe
from pecli.numbers.double_double import DoubleDouble, Points
from pecli.numbers.dtypes import storage
from pecli.numbers.positions import Segment
from pecli.numbers.rounding import narrow
from pecli.spec.plans import Band, Fixed, Plan, Values, Waves, progressions
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array
from pecli.tables.layouts import layout_views
from pecli.tables.request import Extent, Request

P = TypeVar("P", bound=Plan)
T = TypeVar("T")
R = TypeVar("R", bound="DoubleDouble | NDArray[Any]")
Arrays = Mapping[str, NDArray[Any]]
CHANNELS = ("position", "channel")


class once(Generic[T]):  # noqa: N801
    """A property of a filler that is made when it is first asked for, once for all threads."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, filler: Filler[Any], owner: type | None = None) -> T:
        with filler.lock:
            if self.name not in filler.__dict__:  # which wins over this descriptor from then on
                filler.__dict__[self.name] = self.make(filler)
        made: T = filler.__dict__[self.name]
        return made


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
        self.lock, self.frequencies = threading.RLock(), BandFrequencies()
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


def as_array(multiples: range | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return whole numbers as an int64 array."""
    if isinstance(multiples, range):
        return np.arange(multiples.start, multiples.stop, multiples.step, dtype=np.int64)
    return multiples


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


Views = list[tuple[Part, NDArray[Any]]]

# More runs of columns than this are copied by the bands' own strided slices.
MAX_RUNS = 8


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

    def write_unrotated(self, out: Arrays, dtype: str, columns: slice = slice(None)) -> None:
        """Write the rows of columns without a frequency (rotary: unrotated pairs): zeros, or cos 1 and sin 0."""
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
    """Return the slices of set flags: contiguous, or strided where contiguous ones would be many."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    found = [slice(int(a), int(b)) for a, b in zip(edges[0::2], edges[1::2], strict=True)]
    if len(found) <= MAX_RUNS:
        return found
    return progressions(np.flatnonzero(flags).tolist())
