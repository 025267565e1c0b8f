"""Counts of a comparison in each block of rows: unequal values, sizes of differences, units in the last place."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import Scratch, scratch
from pecli.numbers.blocks import in_blocks
from pecli.numbers.dtypes import GRIDS, REAL, real_type, storage
from pecli.numbers.rounding import floats, narrow, units
from pecli.tables.views import ArrayView, RowOverlap

PRECISION = {name: GRIDS[real_type(name)].precision for name in (*GRIDS, *REAL)}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def coarser(a: str, b: str) -> str | None:
    """Return the less precise of two types, whose units count the distance; None where one has no such units."""
    if a not in PRECISION or b not in PRECISION:
        return None
    return min(real_type(a), real_type(b), key=PRECISION.__getitem__)


def distance(a: NDArray[Any], b: NDArray[Any], work: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the distance of values of one floating type, as unsigned integers.

    Parameters
    ----------
    a, b : ndarray
        Of equal shape and floating type; for bfloat16 the uint16 bits.
    work : ndarray, optional
        Memory for the result: of the same shape, signed integers of the same size.

    Notes
    -----
    The bits of a floating number, taken as an integer with the sign mirrored,
    are in the order of the numbers, and both zeros are 0.  The difference is
    taken in unsigned integers, which wrap: the larger minus the smaller always fits.
    """
    kind = _SIGNED[a.itemsize]
    x, y = np.ascontiguousarray(a).view(kind), np.ascontiguousarray(b).view(kind)
    if x.size and np.bitwise_xor(x, y, out=work).min() >= 0:  # equal signs everywhere, as mostly: nothing to mirror
        apart = np.subtract(x, y, out=work)
        return np.asarray(np.abs(apart, out=apart).view(f"u{x.itemsize}"))
    x, y = _ordered(x), _ordered(y)
    low, high = np.minimum(x, y), np.maximum(x, y)
    return np.asarray(high.view(f"u{x.itemsize}") - low.view(f"u{x.itemsize}"))


def _ordered(bits: NDArray[Any]) -> NDArray[Any]:
    return np.where(bits < 0, -(bits & np.iinfo(bits.dtype).max), bits)


def pair_norms(values: NDArray[np.float64], width: int, interleaved: bool) -> NDArray[np.float64]:
    """Return, for each value, the norm of its pair in the first `width` columns, and the size of any other.

    A rotated pair is x c - y s and x s + y c, whose terms cancel: its error is that of its length.
    """
    found = np.abs(values)
    middle = width // 2
    sides = (slice(0, width, 2), slice(1, width, 2)) if interleaved else (slice(0, middle), slice(middle, width))
    norms = np.hypot(*(values[..., columns] for columns in sides))
    for columns in sides:
        found[..., columns] = norms
    return found


def place_of(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of an element, counted in C order, of an array of this shape."""
    return tuple(int(i) for i in np.unravel_index(number, shape)) if shape else ()


@dataclass(frozen=True)
class Place:
    """One pair of corresponding values, or of their real or imaginary parts, with its index."""

    array: str
    index: tuple[int, ...]
    left: float
    right: float
    difference: float
    part: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of the value."""
        part = {"part": self.part} if self.part else {}
        values = [self.left, self.right]
        return {"array": self.array, "index": self.index, **part, "values": values, "abs": self.difference}


@dataclass(frozen=True)
class OddValues:
    """Values that are no finite numbers: on one side, on both, and the first row that has one on one side only."""

    left: int = 0
    right: int = 0
    both: int = 0
    first_row: tuple[int, ...] | None = None

    @property
    def alone(self) -> bool:
        """Whether one side has some where the other has a number."""
        return bool(self.left or self.right)

    def __add__(self, later: OddValues) -> OddValues:
        """Return the counts of both."""
        first = later.first_row if self.first_row is None else self.first_row
        return OddValues(self.left + later.left, self.right + later.right, self.both + later.both, first)

    def as_dict(self) -> dict[str, Any]:
        """Return counts by side; empty without any."""
        if not (self.left or self.right or self.both):
            return {}
        found: dict[str, Any] = {"left": self.left, "right": self.right, "both": self.both}
        return found if self.first_row is None else {**found, "first_row": self.first_row}


@dataclass(frozen=True)
class Figures:
    """Statistics of the differences between corresponding values.

    ``a + b`` are the figures of two blocks of which `b` comes later;
    ``Figures()`` are those of no values.

    Attributes
    ----------
    compared, finite : int
        Values, and those of them whose difference is finite: of complex ones their parts.
    unequal, beyond : int
        How many differ at all, and by more than the tolerance.
    other_bits : int
        How many are equal in other bits: zeros of two signs, NaN of two kinds; counted where nothing differs.
    largest : float
        Largest finite difference; NaN and infinity have none.
    total : float
        Sum of the finite absolute differences.
    max_ulp : int
        Largest distance in units in the last place, of finite values.
    nan, infinite : OddValues
    worst, first, last : Place or None
        Where the difference is largest; the first and the last one beyond the tolerance.
    """

    compared: int = 0
    finite: int = 0
    unequal: int = 0
    beyond: int = 0
    other_bits: int = 0
    largest: float = 0.0
    total: float = 0.0
    max_ulp: int = 0
    nan: OddValues = field(default_factory=OddValues)
    infinite: OddValues = field(default_factory=OddValues)
    worst: Place | None = None
    first: Place | None = None
    last: Place | None = None

    def __add__(self, later: Figures) -> Figures:
        """Return the figures of both."""
        names = (one.name for one in fields(self))
        return Figures(**{name: _JOINED.get(name, add)(getattr(self, name), getattr(later, name)) for name in names})

    def reversed(self, array: str) -> Figures:
        """Return the figures with the sides exchanged, and places in an array of this name."""

        def other(place: Place | None) -> Place | None:
            return None if place is None else replace(place, array=array, left=place.right, right=place.left)

        nan, infinite = (replace(odd, left=odd.right, right=odd.left) for odd in (self.nan, self.infinite))
        worst, first, last = map(other, (self.worst, self.first, self.last))
        return replace(self, nan=nan, infinite=infinite, worst=worst, first=first, last=last)

    def places(self) -> dict[str, Any]:
        """Return the JSON objects of the places."""
        return {"worst": self.worst and self.worst.as_dict(), "first": self.first and self.first.as_dict()}

    @property
    def max_abs(self) -> float:
        """Largest absolute difference."""
        return 0.0 if self.worst is None else self.worst.difference

    @property
    def mean_abs(self) -> float:
        """Mean absolute difference, over finite ones."""
        return self.total / self.finite if self.finite else 0.0


# How each figure of two blocks is combined; the figures not named are added.
_JOINED: dict[str, Any] = {
    "max_ulp": max,
    "largest": max,
    "worst": lambda a, b: b if a is None or (b is not None and b.difference > a.difference) else a,
    "first": lambda a, b: b if a is None else a,
    "last": lambda a, b: a if b is None else b,
}


class Tolerance(NamedTuple):
    """Criterion for equal values: abs(a - b) <= atol + rtol abs(b), or at most `ulp` units in the last place.

    `decimals` are those with which one side was printed, if it was: its values are brought back to them.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0
    decimals: int | None = None

    @classmethod
    def printed(cls, decimals: int) -> Tolerance:
        """Return the tolerance of values printed with `decimals` decimals: half a unit of the last one.

        2^-50 of a value is what its rounding to decimals and the difference may be off by in float64.
        """
        return cls(atol=0.5 * 10.0**-decimals, rtol=2.0**-50, decimals=decimals)

    @property
    def exact(self) -> bool:
        """Whether only equal values pass."""
        return not (self.atol or self.rtol or self.ulp)

    def exceeded(
        self, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], units: NDArray[Any] | None
    ) -> NDArray[np.bool_]:
        """Return which values are further apart; `gap` is how far, infinite at NaN, and `units` the same in ulp."""
        odd = np.isinf(gap)
        if self.decimals is not None:  # whatever type holds what was printed
            x, y = x.astype(np.float64), y.astype(np.float64)
            sides = (x - np.round(y, self.decimals), np.round(x, self.decimals) - y)
            gap = np.minimum(*map(np.abs, sides))
        wrong: NDArray[np.bool_] = odd | (gap > self.atol + self.rtol * np.abs(y.astype(np.float64)))
        return wrong & (odd | (units > self.ulp)) if self.ulp and units is not None else wrong

    def __str__(self) -> str:
        if self.decimals is not None:
            return f"{self.decimals} printed decimals"
        parts = {"atol": self.atol, "rtol": self.rtol, "ulp": self.ulp}
        return ", ".join(f"{name} {value:g}" for name, value in parts.items() if value)


PIECE = 1 << 18  # values worked on at a time: in the caches, and large enough that Python's share is small
MAX_CANDIDATES = 4096  # more equal maxima than this come from a regular difference, where subtraction was exact


@dataclass(frozen=True)
class Pairing:
    """Two views with corresponding rows, the part of a row in both, and the tolerance."""

    left: ArrayView
    right: ArrayView
    cut: tuple[slice, ...]
    tolerance: Tolerance

    @cached_property
    def layout_change(self) -> tuple[int, bool] | None:
        """Number of rotated columns of a vector, and whether pairs are neighbours: one file's metadata.

        A unit in the last place is then that of a pair's norm.
        """
        for view in (self.right, self.left):
            facts = view.table.metadata
            width = facts.get("rotary-dim", "")
            if view.array.name in facts.get("rotated", "").split() and width.isdecimal() and not self.cut:
                pairs = facts.get("pairs", "").rpartition(":")[2]
                fits = view.shape == self.left.shape and 0 < int(width) <= view.shape[-1]
                return (int(width), pairs == "interleaved") if fits else None
        return None

    @property
    def parts(self) -> int:
        """Numbers of a value: a complex one is real and imaginary part."""
        return 2 if self.left.dtype.startswith("complex") else 1

    def count(self, wrong: NDArray[np.bool_]) -> int:
        """Return the number of values with a wrong part in a piece (r, columns)."""
        return int(np.count_nonzero(wrong if self.parts == 1 else wrong[:, ::2] | wrong[:, 1::2]))

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of the part of a row in both views."""
        return tuple(c.stop for c in self.cut) if self.cut else self.left.row_shape

    def row(self, row: int) -> tuple[int, ...]:
        """Return the index of a row in the left array's leading axes."""
        return place_of(row, self.left.shape[: self.left.lead])

    def place(self, row: int, flat: int, x: NDArray[Any], y: NDArray[Any]) -> Place:
        """Return the place of a value of a piece (r, columns) that begins at `row`."""
        r, column = divmod(flat, x.shape[1])
        left, right = (values[r, column].item() for values in (x, y))
        difference = 0.0 if left == right or (left != left and right != right) else float(abs(left - right))
        part = ("real", "imag")[column % 2] if self.parts == 2 else ""
        inner = place_of(column // self.parts, self.row_shape)
        size = math.inf if difference != difference else difference
        return Place(self.left.name, (*self.row(row + r), *inner), left, right, size, part)


def compare_block(pairing: Pairing, overlap: RowOverlap) -> tuple[Figures, int]:
    """Read one block of both views and compare it; return its figures, and how many bytes were read."""
    left, right = pairing.left, pairing.right
    with scratch() as own, np.errstate(all="ignore"):  # a file may hold any bits
        a, b = _buffer("left", left, overlap.rows, own), _buffer("right", right, overlap.rows, own)
        left.fill(overlap.left, overlap.left + overlap.rows, a)
        right.fill(overlap.right, overlap.right + overlap.rows, b)
        size = a.nbytes + b.nbytes
        if overlap.cut:
            cut = (slice(None), *overlap.cut)
            a, b = a[cut], b[cut]
        if left.dtype == right.dtype and _same_bytes(a, b):
            return Figures(a.size, a.size * pairing.parts), size
        a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
        found = Figures()
        for some in in_blocks(0, overlap.rows, PIECE // max(1, a.shape[1])):
            found += _piece(pairing, overlap.left + some.start, a[some], b[some], own)
    return found, size


def _buffer(name: str, view: ArrayView, rows: int, own: Scratch) -> NDArray[Any]:
    """Return memory that is used again: fresh pages for every block would cost as much as reading it."""
    kept = own.get(f"{name} {view.dtype}", rows * view.row_size, storage(view.dtype))
    return kept.reshape(rows, *view.row_shape)


def _same_bytes(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False
    x, y = a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)
    if x.size % 8 == 0:
        x, y = x.view(np.uint64), y.view(np.uint64)
    return bool(np.array_equal(x, y))


def _piece(pairing: Pairing, row: int, a: NDArray[Any], b: NDArray[Any], own: Scratch) -> Figures:
    """Compare rows that fit the cache, (r, columns) each, of which the first is `row`."""
    left, right = pairing.left.dtype, pairing.right.dtype
    x, y = floats(a, left), floats(b, right)
    narrow = left == right and left in ("float16", "bfloat16", "float32", "complex64")
    kind = np.float32 if narrow else np.float64  # float32 holds the narrow types exactly
    x, y = x.astype(kind, copy=False), y.astype(kind, copy=False)
    gap = np.subtract(x, y, out=own.get(f"gap {kind.__name__}", x.size, kind).reshape(x.shape))
    np.abs(gap, out=gap)
    units = _units(a, b, x, y, (left, right), own)
    if pairing.layout_change is not None and units is not None:
        units = _pair_units(pairing, x, y, gap)
    nan = infinite = OddValues()
    known = units
    if not math.isfinite(float(gap.max(initial=0.0))):  # NaN and infinity both show in the maximum
        x, y = x.astype(np.float64), y.astype(np.float64)
        gap = np.abs(x - y)
        nan, infinite = (_odd_values(pairing, row, test(x), test(y)) for test in (np.isnan, np.isinf))
        gap[(x == y) | (np.isnan(x) & np.isnan(y))] = 0.0
        gap[np.isnan(gap)] = np.inf
        known = None if units is None else units[np.isfinite(x) & np.isfinite(y)]
    other_bits = 0 if gap.any() or left != right else _other_bits(pairing, a, b)
    if "int" in left and "int" in right:  # float64 does not hold 2^53 + 1
        x, y, gap = a, b, _whole_gaps(a, b)
    return Figures(
        compared=a.size,
        max_ulp=0 if known is None else int(known.max(initial=0)),
        nan=nan,
        infinite=infinite,
        other_bits=other_bits,
        **_differences(pairing, row, x, y, gap),
        **_beyond(pairing, row, x, y, gap, units),
    )


def _other_bits(pairing: Pairing, a: NDArray[Any], b: NDArray[Any]) -> int:
    """Return the number of values with different bytes."""
    shape = len(a), -1, a.itemsize // pairing.parts
    x, y = (np.ascontiguousarray(values).view(np.uint8).reshape(shape) for values in (a, b))
    return pairing.count((x != y).any(axis=2))


def _whole_gaps(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far whole numbers are apart: below 2^64, so that what wraps around is right."""
    p, q = a.astype(np.uint64), b.astype(np.uint64)
    return np.where(a > b, p - q, q - p).astype(np.float64)


def _odd_values(pairing: Pairing, row: int, p: NDArray[np.bool_], q: NDArray[np.bool_]) -> OddValues:
    """Count the NaN or infinite values on the left, on the right and on both sides."""
    alone = p ^ q
    first = pairing.row(row + int(alone.any(axis=1).argmax())) if alone.any() else None
    return OddValues(int((p & ~q).sum()), int((q & ~p).sum()), int((p & q).sum()), first)


def _differences(pairing: Pairing, row: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any]) -> dict[str, Any]:
    """Return by how much values differ, and where most."""
    top = float(gap.max(initial=0.0))
    known = gap if math.isfinite(top) else gap[np.isfinite(gap)]
    worst = pairing.place(row, _worst(x, y, gap, top), x, y) if top else None
    return {
        "finite": known.size, "largest": float(known.max(initial=0.0)), "total": float(known.sum()), "worst": worst,
    }  # fmt: skip


def _worst(x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], top: float) -> int:
    """Return the place of the largest difference; differences of float32 values were rounded: the best are redone."""
    close = gap >= np.float32(top * (1 - 2.0**-22))
    if gap.dtype == np.float32 and math.isfinite(top) and 1 < np.count_nonzero(close) <= MAX_CANDIDATES:
        best = np.flatnonzero(close)
        exact = np.abs(x.reshape(-1)[best].astype(np.float64) - y.reshape(-1)[best].astype(np.float64))
        return int(best[exact.argmax()])
    return int(gap.argmax())


def _beyond(
    pairing: Pairing, row: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], units: NDArray[Any] | None
) -> dict[str, Any]:
    """Count unequal values and values beyond the tolerance."""
    wrong, tolerance = gap > 0, pairing.tolerance
    unequal = pairing.count(wrong)
    if unequal and not tolerance.exact:
        wrong = tolerance.exceeded(x, y, gap, units)
    beyond = pairing.count(wrong)
    if not beyond:
        return {"unequal": unequal}
    first, last = int(wrong.argmax()), wrong.size - 1 - int(wrong.reshape(-1)[::-1].argmax())
    places = {"first": pairing.place(row, first, x, y), "last": pairing.place(row, last, x, y)}
    return {"unequal": unequal, "beyond": beyond, **places}


def _units(
    a: NDArray[Any], b: NDArray[Any], x: NDArray[Any], y: NDArray[Any], dtypes: tuple[str, str], own: Scratch
) -> NDArray[Any] | None:
    """Return distances in ulp of the coarser of the two types; None for whole numbers."""
    common = coarser(*dtypes)
    if common is None:
        return None
    if dtypes[0] == dtypes[1]:
        if a.dtype.kind == "c":
            a, b = floats(a, dtypes[0]), floats(b, dtypes[1])
        return distance(a, b, own.get(f"units {a.itemsize}", a.size, np.dtype(f"i{a.itemsize}")).reshape(a.shape))
    return distance(narrow(x, None, common), narrow(y, None, common))


def _pair_units(pairing: Pairing, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any]) -> NDArray[Any]:
    """Return distances in units in the last place of the norms of pairs, rounded up."""
    assert pairing.layout_change is not None
    dtype = coarser(pairing.left.dtype, pairing.right.dtype)
    assert dtype is not None
    width, interleaved = pairing.layout_change
    vectors = (values.astype(np.float64).reshape(-1, pairing.left.shape[-1]) for values in (x, y))
    norms = np.maximum(*(pair_norms(values, width, interleaved) for values in vectors)).reshape(gap.shape)
    found = np.ceil(gap.astype(np.float64) / units(norms, dtype))
    return np.where(np.isfinite(found), found, 0).astype(np.uint64)


MAP_VALUES = 1 << 21  # of each of two arrays that are read at once for a map


def largest_differences(a: ArrayView, b: ArrayView, side: int) -> NDArray[np.float64]:
    """Return a map of at most `side` rows and columns: in each cell the largest absolute difference of its values.

    Equal infinities and two NaN differ by 0, a number and NaN by NaN.
    """
    width = a.row_size
    high, wide = min(side, a.rows), min(side, width)
    cells, edges = np.zeros((high, wide)), np.arange(wide) * width // wide
    for some in in_blocks(0, a.rows, MAP_VALUES // width):
        start, stop = some.start, some.stop
        x, y = (floats(view.read(start, stop), view.dtype).astype(np.float64) for view in (a, b))
        with np.errstate(invalid="ignore"):
            gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y)).reshape(stop - start, width)
        np.maximum.at(cells, np.arange(start, stop) * high // a.rows, np.maximum.reduceat(gap, edges, axis=1))
    return cells
