"""What one block of two arrays shows: compared by a worker thread, it comes back as a small `Part`."""

from __future__ import annotations

import math
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.tallies import Part, Spot
from pecli.declare.tabular import storage
from pecli.measures.floats import floats
from pecli.measures.lanes import Lane, Strip
from pecli.measures.ulps import BINS, coarser, distance, histogram

if TYPE_CHECKING:
    from pecli.comparison.compare import Tolerance

PIECE = 1 << 18  # values worked on at a time: in the caches, and large enough that Python's share is small
MOST_COLUMNS = 1 << 16
MOST_CANDIDATES = 4096  # more equal maxima than this come from a regular difference, where subtraction was exact

_buffers = local()


def compare_block(left: Lane, right: Lane, tolerance: Tolerance, strip: Strip) -> Part:
    """Read one block of both lanes and compare it."""
    a = _buffer("a", left, strip.rows)
    b = _buffer("b", right, strip.rows)
    left.fill(strip.left, strip.left + strip.rows, a)
    right.fill(strip.right, strip.right + strip.rows, b)
    size = a.nbytes + b.nbytes
    if strip.cut:
        cut = (slice(None), *strip.cut)
        a, b = a[cut], b[cut]
    part = Part(strip.left, strip.rows, size, a.size, a.size, cosine_sum=float(strip.rows))
    if left.dtype == right.dtype and _same_bytes(a, b):
        return part
    part.finite, part.cosine_sum = 0, 0.0
    part.histogram = np.zeros(len(BINS), np.int64)
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    step = max(1, PIECE // max(1, a.shape[1]))
    for low in range(0, strip.rows, step):
        _piece(part, low, a[low : low + step], b[low : low + step], left.dtype, right.dtype, tolerance)
    return part


def _buffer(name: str, lane: Lane, rows: int) -> NDArray[Any]:
    return _scratch(name, (rows, *lane.row_shape), storage(lane.dtype))


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


def _piece(part: Part, low: int, a: NDArray[Any], b: NDArray[Any], left: str, right: str, tolerance: Tolerance) -> None:
    """Compare rows that fit the cache, (r, columns) each."""
    x, y = floats(a, left), floats(b, right)
    narrow = left == right and left in ("float16", "bfloat16", "float32", "complex64")
    kind = np.float32 if narrow else np.float64  # the narrow types stand in float32 exactly
    x, y = x.astype(kind, copy=False), y.astype(kind, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        signed = np.subtract(x, y, out=_scratch(f"signed {kind.__name__}", x.shape, kind))
        gap = np.abs(signed, out=_scratch(f"gap {kind.__name__}", x.shape, kind))
    top = float(gap.max(initial=0.0))
    units = _units(a, b, x, y, (left, right))
    if not math.isfinite(top):  # NaN and infinity both show in the maximum
        x, y = x.astype(np.float64), y.astype(np.float64)
        with np.errstate(invalid="ignore"):
            signed = x - y
        gap = np.abs(signed)
        _odd_values(part, low, x, y, gap)
        top = float(gap.max(initial=0.0))
        units = units if units is None else units[np.isfinite(x) & np.isfinite(y)]
    if units is not None:
        assert part.histogram is not None
        part.histogram += histogram(units)
        part.max_ulp = max(part.max_ulp, int(units.max(initial=0)))
    _differences(part, low, x, y, gap, top)
    _beyond(part, low, x, y, gap, units, tolerance)
    _cosines(part, x, y, signed)


def _odd_values(part: Part, low: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any]) -> None:
    """Count NaN and infinities, and make the gap 0 where both sides have the same, infinite where one has one."""
    for found, test in ((part.nan, np.isnan), (part.infinite, np.isinf)):
        p, q = test(x), test(y)
        both = p & q
        alone = p ^ q
        found.left += int((p & ~q).sum())
        found.right += int((q & ~p).sum())
        found.both += int(both.sum())
        if found.first is None and alone.any():
            found.first = part.start + low + int(alone.any(axis=1).argmax())
    gap[(x == y) | (np.isnan(x) & np.isnan(y))] = 0.0
    gap[np.isnan(gap)] = np.inf


def _differences(part: Part, low: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], top: float) -> None:
    if math.isinf(top):
        finite = np.isfinite(gap)
        part.finite += int(finite.sum())
        part.total += float(gap[finite].sum())
    else:
        part.finite += gap.size
        part.total += float(gap.sum())
    rows = gap.max(axis=1, initial=0.0)
    if part.row_worst is None:
        part.row_worst = np.zeros(part.rows)
    part.row_worst[low : low + len(rows)] = rows
    if gap.shape[1] <= MOST_COLUMNS:
        columns = gap.max(axis=0, initial=0.0).astype(np.float64)
        part.columns = columns if part.columns is None else np.maximum(part.columns, columns)
    if top > 0 and (part.worst is None or top * (1 + 2.0**-22) > part.worst.difference):
        spot = _worst(part, low, x, y, gap, top)
        if part.worst is None or spot.difference > part.worst.difference:
            part.worst = spot


def _worst(part: Part, low: int, x: NDArray[Any], y: NDArray[Any], gap: NDArray[Any], top: float) -> Spot:
    """Return the place of the largest difference; differences of float32 values were rounded: the best are redone."""
    near = gap >= np.float32(top * (1 - 2.0**-22))
    if gap.dtype == np.float32 and math.isfinite(top) and 1 < np.count_nonzero(near) <= MOST_CANDIDATES:
        best = np.flatnonzero(near)
        exact = np.abs(x.reshape(-1)[best].astype(np.float64) - y.reshape(-1)[best].astype(np.float64))
        return _spot(part, low, int(best[exact.argmax()]), x, y)
    return _spot(part, low, int(gap.argmax()), x, y)


def _beyond(
    part: Part,
    low: int,
    x: NDArray[Any],
    y: NDArray[Any],
    gap: NDArray[Any],
    units: NDArray[Any] | None,
    tolerance: Tolerance,
) -> None:
    """Count what differs, at all and by more than the tolerance."""
    unequal = gap > 0
    count = int(np.count_nonzero(unequal))
    part.unequal += count
    if not count:
        return
    wrong = unequal
    if not tolerance.exact:
        with np.errstate(invalid="ignore"):
            wrong = gap > tolerance.atol + tolerance.rtol * np.abs(y.astype(np.float64))
        wrong |= np.isinf(gap)
        if tolerance.ulp and units is not None:
            far = np.isinf(gap)
            if units.shape == gap.shape:
                far |= units > tolerance.ulp
            else:
                far[np.isfinite(x) & np.isfinite(y)] |= units > tolerance.ulp
            wrong &= far
    beyond = int(np.count_nonzero(wrong))
    part.beyond += beyond
    if beyond and part.first is None:
        part.first = _spot(part, low, int(wrong.argmax()), x, y)


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


def _cosines(part: Part, x: NDArray[Any], y: NDArray[Any], signed: NDArray[Any]) -> None:
    """Compare the directions of rows.

    With d = x - y, 1 - cos = (|d|^2 - (|x| - |y|)^2) / (2 |x| |y|), where
    |x|^2 - |y|^2 = 2 d.x - |d|^2: nothing cancels, so that float32 products do.
    """
    if x.shape[1] < 2:
        return
    with np.errstate(all="ignore"):
        dd, dx, xx = (_dots(p, q).astype(np.float64) for p, q in ((signed, signed), (signed, x), (x, x)))
        yy = np.maximum(xx - 2 * dx + dd, 0.0)
        sizes = np.sqrt(xx), np.sqrt(yy)
        apart = (2 * dx - dd) / (sizes[0] + sizes[1])
        cosines = 1.0 - (dd - apart * apart) / (2.0 * sizes[0] * sizes[1])
    plain = np.isfinite(cosines)
    if not plain.all():  # rows of zeros, or with values that are not finite: alike if they are equal
        same = [np.array_equal(p, q, equal_nan=True) for p, q in zip(x[~plain], y[~plain], strict=True)]
        cosines[~plain] = np.where(same, 1.0, 0.0)
    np.clip(cosines, -1.0, 1.0, out=cosines)
    part.cosine_min = min(part.cosine_min, float(cosines.min(initial=1.0)))
    part.cosine_sum += float(cosines.sum())


def _dots(p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    if hasattr(np, "vecdot"):  # from NumPy 2.0
        found: NDArray[Any] = np.vecdot(p, q)
    else:
        found = np.einsum("ij,ij->i", p, q)
    return found


def _spot(part: Part, low: int, flat: int, x: NDArray[Any], y: NDArray[Any]) -> Spot:
    row, column = divmod(flat, x.shape[1])
    left, right = float(x[row, column]), float(y[row, column])
    difference = 0.0 if left == right or (left != left and right != right) else abs(left - right)
    return Spot(part.start + low + row, column, left, right, math.inf if difference != difference else difference)
