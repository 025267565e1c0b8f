"""What one block of two arrays shows: compared by a worker thread, it comes back as figures."""

from __future__ import annotations

import math
from functools import cached_property
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.figures import Figures, OddValues, Place
from pecli.comparison.results import Tolerance
from pecli.comparison.ulps import BINS, coarser, distance, histogram, last_place, pair_norms
from pecli.numbers.dtypes import storage
from pecli.numbers.rounding import floats
from pecli.records import dataclass
from pecli.tables.views import ArrayView, RowOverlap

PIECE = 1 << 18  # values worked on at a time: in the caches, and large enough that Python's share is small
MOST_COLUMNS = 1 << 16
MOST_CANDIDATES = 4096  # more equal maxima than this come from a regular difference, where subtraction was exact
STRETCHES = 512  # of rows, in a profile

_buffers = local()


@dataclass(frozen=True)
class Pairing:
    """Two views whose rows stand for each other, how much of a row both have, and what counts as the same."""

    left: ArrayView
    right: ArrayView
    cut: tuple[slice, ...]
    tolerance: Tolerance

    @cached_property
    def turned(self) -> tuple[int, bool] | None:
        """How many columns of a vector are pairs that were turned, and whether neighbours: what one of the files says.

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
        """Return how many values have a part that is wrong, of those of a piece (r, columns)."""
        return int(np.count_nonzero(wrong if self.parts == 1 else wrong[:, ::2] | wrong[:, 1::2]))

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of what both have of a row."""
        return tuple(c.stop for c in self.cut) if self.cut else self.left.row_shape

    @property
    def stretch(self) -> int:
        """Rows for which one number stands in the profile."""
        return max(1, -(-self.left.rows // STRETCHES))

    def row(self, row: int) -> tuple[int, ...]:
        """Return the index of a row in the left array's leading axes."""
        return tuple(int(i) for i in np.unravel_index(row, self.left.shape[: self.left.lead])) if self.left.lead else ()

    def place(self, row: int, flat: int, x: NDArray[Any], y: NDArray[Any]) -> Place:
        """Return the place of a value of a piece (r, columns) that begins at `row`."""
        r, column = divmod(flat, x.shape[1])
        left, right = (values[r, column].item() for values in (x, y))
        difference = 0.0 if left == right or (left != left and right != right) else float(abs(left - right))
        column //= self.parts
        inner = tuple(int(i) for i in np.unravel_index(column, self.row_shape)) if self.row_shape else ()
        size = math.inf if difference != difference else difference
        return Place(self.left.name, (*self.row(row + r), *inner), left, right, size)


def compare_block(pairing: Pairing, overlap: RowOverlap) -> tuple[Figures, int]:
    """Read one block of both views and compare it; return its figures, and how many bytes were read."""
    left, right = pairing.left, pairing.right
    a = _buffer("a", left, overlap.rows)
    b = _buffer("b", right, overlap.rows)
    left.fill(overlap.left, overlap.left + overlap.rows, a)
    right.fill(overlap.right, overlap.right + overlap.rows, b)
    size = a.nbytes + b.nbytes
    if overlap.cut:
        cut = (slice(None), *overlap.cut)
        a, b = a[cut], b[cut]
    if left.dtype == right.dtype and _same_bytes(a, b):
        return _alike(a.size, pairing.parts, overlap.rows if math.prod(pairing.row_shape) > 1 else 0), size
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    step = max(1, PIECE // max(1, a.shape[1]))
    found = Figures()
    with np.errstate(all="ignore"):  # any bits may stand in a file
        for low in range(0, overlap.rows, step):
            found += _piece(pairing, overlap.left + low, a[low : low + step], b[low : low + step])
    return found, size


def _alike(values: int, parts: int, directed: int) -> Figures:
    counts = np.zeros(len(BINS), np.int64)
    counts[0] = values * parts
    return Figures(values, values * parts, histogram=counts, directed=directed, cosine_sum=float(directed))


def _buffer(name: str, view: ArrayView, rows: int) -> NDArray[Any]:
    return _scratch(name, (rows, *view.row_shape), storage(view.dtype))


def _scratch(name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return this thread's own memory of that name: fresh pages for every block would cost as much as reading it."""
    size = math.prod(shape)
    kept = getattr(_buffers, name, None)
    if kept is None or kept.size < size or kept.dtype != dtype:
        kept = np.empty(size, dtype)
        setattr(_buffers, name, kept)
    found: NDArray[Any] = kept[:size].reshape(shape)
    return found


def _same_bytes(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False
    x, y = a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)
    if x.size % 8 == 0:
        x, y = x.view(np.uint64), y.view(np.uint64)
    return bool(np.array_equal(x, y))


def _piece(pairing: Pairing, row: int, a: NDArray[Any], b: NDArray[Any]) -> Figures:
    """Compare rows that fit the cache, (r, columns) each, of which the first is `row`."""
    left, right = pairing.left.dtype, pairing.right.dtype
    x, y = floats(a, left), floats(b, right)
    narrow = left == right and left in ("float16", "bfloat16", "float32", "complex64")
    kind = np.float32 if narrow else np.float64  # the narrow types stand in float32 exactly
    x, y = x.astype(kind, copy=False), y.astype(kind, copy=False)
    signed = np.subtract(x, y, out=_scratch(f"signed {kind.__name__}", x.shape, kind))
    gap = np.abs(signed, out=_scratch(f"gap {kind.__name__}", x.shape, kind))
    units = _units(a, b, x, y, (left, right))
    if pairing.turned is not None and units is not None:
        units = _turned_units(pairing, x, y, gap)
    nan = infinite = OddValues()
    known = units
    if not math.isfinite(float(gap.max(initial=0.0))):  # NaN and infinity both show in the maximum
        x, y = x.astype(np.float64), y.astype(np.float64)
        signed = x - y
        gap = np.abs(signed)
        nan, infinite = (_odd_values(pairing, row, test(x), test(y)) for test in (np.isnan, np.isinf))
        gap[(x == y) | (np.isnan(x) & np.isnan(y))] = 0.0
        gap[np.isnan(gap)] = np.inf
        known = None if units is None else units[np.isfinite(x) & np.isfinite(y)]
    directions = _directions(pairing, x, y, signed)
    other_bits = 0 if gap.any() or left != right else _other_bits(pairing, a, b)
    if "int" in left and "int" in right:  # float64 does not hold 2^53 + 1
        x, y, gap = a, b, _whole_gaps(a, b)
    return Figures(
        compared=a.size,
        max_ulp=0 if known is None else int(known.max(initial=0)),
        histogram=None if known is None else histogram(known),
        nan=nan,
        infinite=infinite,
        other_bits=other_bits,
        **_differences(pairing, row, x, y, gap),
        **_beyond(pairing, row, x, y, gap, units),
        **directions,
    )


def _other_bits(pairing: Pairing, a: NDArray[Any], b: NDArray[Any]) -> int:
    """Return how many values are not the same bytes."""
    shape = len(a), -1, a.itemsize // pairing.parts
    x, y = (np.ascontiguousarray(values).view(np.uint8).reshape(shape) for values in (a, b))
    return pairing.count((x != y).any(axis=2))


def _whole_gaps(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far whole numbers are apart: below 2^64, so that what wraps around is right."""
    p, q = a.astype(np.uint64), b.astype(np.uint64)
    return np.where(a > b, p - q, q - p).astype(np.float64)


def _odd_values(pairing: Pairing, row: int, p: NDArray[np.bool_], q: NDArray[np.bool_]) -> OddValues:
    """Count what both sides have, or one of them alone."""
    alone = p ^ q
    first = pairing.row(row + int(alone.any(axis=1).argmax())) if alone.any() else None
    return OddValues(int((p & ~q).sum()), int((q & ~p).sum()), int((p & q).sum()), first)


def _differences(pairing: Pairing, row: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any]) -> dict[str, Any]:
    """Return how many values and rows differ, by how much, and where."""
    top = float(gap.max(initial=0.0))
    known = gap if math.isfinite(top) else gap[np.isfinite(gap)]
    rows = gap.max(axis=1, initial=0.0)
    found = {
        "finite": known.size,
        "largest": float(known.max(initial=0.0)),
        "total": float(known.sum()),
        "unequal_rows": int(np.count_nonzero(rows)),
    }
    if not top:
        return found
    stretches = np.zeros(-(-pairing.left.rows // pairing.stretch))
    np.maximum.at(stretches, np.arange(row, row + len(rows)) // pairing.stretch, rows)
    columns = gap.max(axis=0, initial=0.0).astype(np.float64) if gap.shape[1] <= MOST_COLUMNS else None
    worst = pairing.place(row, _worst(x, y, gap, top), x, y)
    return {**found, "worst": worst, "columns": columns, "profile": stretches}


def _worst(x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], top: float) -> int:
    """Return the place of the largest difference; differences of float32 values were rounded: the best are redone."""
    near = gap >= np.float32(top * (1 - 2.0**-22))
    if gap.dtype == np.float32 and math.isfinite(top) and 1 < np.count_nonzero(near) <= MOST_CANDIDATES:
        best = np.flatnonzero(near)
        exact = np.abs(x.reshape(-1)[best].astype(np.float64) - y.reshape(-1)[best].astype(np.float64))
        return int(best[exact.argmax()])
    return int(gap.argmax())


def _beyond(
    pairing: Pairing, row: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], units: NDArray[Any] | None
) -> dict[str, Any]:
    """Count what differs, at all and by more than the tolerance."""
    wrong, tolerance = gap > 0, pairing.tolerance
    unequal = pairing.count(wrong)
    if unequal and not tolerance.exact:
        odd = np.isinf(gap)
        if tolerance.decimals is not None:  # whatever type holds what was printed
            x, y = x.astype(np.float64), y.astype(np.float64)
            sides = (x - np.round(y, tolerance.decimals), np.round(x, tolerance.decimals) - y)
            gap = np.minimum(*map(np.abs, sides))
        wrong = odd | (gap > tolerance.atol + tolerance.rtol * np.abs(y.astype(np.float64)))
        if tolerance.ulp and units is not None:
            wrong &= odd | (units > tolerance.ulp)
    beyond = pairing.count(wrong)
    if not beyond:
        return {"unequal": unequal}
    first, last = int(wrong.argmax()), wrong.size - 1 - int(wrong.reshape(-1)[::-1].argmax())
    places = {"first": pairing.place(row, first, x, y), "last": pairing.place(row, last, x, y)}
    return {"unequal": unequal, "beyond": beyond, **places}


def _units(
    a: NDArray[Any], b: NDArray[Any], x: NDArray[Any], y: NDArray[Any], dtypes: tuple[str, str]
) -> NDArray[Any] | None:
    """Return distances in ulp of the coarser of the two types; None for whole numbers."""
    common = coarser(*dtypes)
    if common is None:
        return None
    if dtypes[0] == dtypes[1]:
        if a.dtype.kind == "c":
            a, b = floats(a, dtypes[0]), floats(b, dtypes[1])
        return distance(a, b, _scratch(f"units {a.itemsize}", a.shape, f"i{a.itemsize}"))
    from pecli.numbers.rounding import narrow

    return distance(narrow(x, None, common), narrow(y, None, common))


def _turned_units(pairing: Pairing, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any]) -> NDArray[Any]:
    """Return distances in units in the last place of the norms of pairs, rounded up."""
    assert pairing.turned is not None
    dtype = coarser(pairing.left.dtype, pairing.right.dtype)
    assert dtype is not None
    width, interleaved = pairing.turned
    vectors = (values.astype(np.float64).reshape(-1, pairing.left.shape[-1]) for values in (x, y))
    norms = np.maximum(*(pair_norms(values, width, interleaved) for values in vectors)).reshape(gap.shape)
    units = np.ceil(gap.astype(np.float64) / last_place(norms, dtype))
    return np.where(np.isfinite(units), units, 0).astype(np.uint64)


def _directions(pairing: Pairing, x: NDArray[Any], y: NDArray[Any], signed: NDArray[Any]) -> dict[str, Any]:
    """Compare the directions of rows.

    With d = x - y, 1 - cos = (|d|^2 - (|x| - |y|)^2) / (2 |x| |y|), where
    |x|^2 - |y|^2 = 2 d.x - |d|^2: nothing cancels, so that float32 products do.
    """
    if math.prod(pairing.row_shape) < 2:
        return {}
    dd, dx, xx = (_dots(p, q).astype(np.float64) for p, q in ((signed, signed), (signed, x), (x, x)))
    yy = np.maximum(xx - 2 * dx + dd, 0.0)
    sizes = np.sqrt(xx), np.sqrt(yy)
    longer = (2 * dx - dd) / (sizes[0] + sizes[1])
    cosines = 1.0 - (dd - longer * longer) / (2.0 * sizes[0] * sizes[1])
    plain = np.isfinite(cosines)
    if not plain.all():  # rows of zeros, or with values that are not finite: alike if they are equal
        same = [np.array_equal(p, q, equal_nan=True) for p, q in zip(x[~plain], y[~plain], strict=True)]
        cosines[~plain] = np.where(same, 1.0, 0.0)
    np.clip(cosines, -1.0, 1.0, out=cosines)
    return {"directed": len(x), "cosine_min": float(cosines.min(initial=1.0)), "cosine_sum": float(cosines.sum())}


def _dots(p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    if hasattr(np, "vecdot"):  # from NumPy 2.0
        found: NDArray[Any] = np.vecdot(p, q)
    else:
        found = np.einsum("ij,ij->i", p, q)
    return found
