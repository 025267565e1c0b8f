"""float64 candidates to float32, float16 and bfloat16, with the first, cheap stage of the rounding test.

A candidate v of known relative error is rounded; it may have been rounded wrongly only if v lies
close to a midpoint of the narrow type.  That is read off the bits below the narrow significand:
integers, a few passes over a block.  It flags some pairs in ten thousand, which the caller
decides by the absolute bound and, where that fails too, exactly.  What is not flagged is right.

Widths of the windows: see each function.  They hold for normal numbers of the narrow type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.phase.layout import Layout

Complex = NDArray[np.complex128]
Indices = NDArray[np.int64]
SEGMENT = 1024

_SHIFT35 = np.uint64(35)


@dataclass(frozen=True)
class Window:
    """How near to a midpoint is too near.

    Parameters
    ----------
    relative : float
        Bound on the candidates' relative error, at most 2^-30.
    """

    relative: float
    bias: float = field(init=False)
    """The candidates are to be multiplied by this before they come here (float32 only)."""
    places: int = field(init=False)
    """Length of the float32 window in units of the float64's last place."""

    def __post_init__(self) -> None:
        # The bias moves every candidate outwards by more than its error, so that a doubtful one
        # lies on or beyond the midpoint, by at most twice the bias: one comparison instead of two.
        # A unit of the last place is at least 2^-53 of the value.
        bias = self.relative * 1.0625 + 2.0**-51
        object.__setattr__(self, "bias", 1.0 + bias)
        object.__setattr__(self, "places", int(2.125 * bias * 2.0**53) + 4)


def hits(values: NDArray[Any], bound: int) -> Indices:
    """Places of a flat array whose value is at most ``bound``; meant for few.

    The least of each segment says where to look: half the cost of a mask of everything.
    """
    whole = values.size // SEGMENT
    parts = values[: whole * SEGMENT].reshape(whole, SEGMENT)
    near = (np.minimum.reduce(parts, axis=1) <= bound).nonzero()[0]
    found: Indices = (parts[near] <= bound).reshape(-1).nonzero()[0]
    found += ((near - np.arange(near.size)) * SEGMENT)[found // SEGMENT]
    if whole * SEGMENT == values.size:
        return found
    return np.concatenate([found, (values[whole * SEGMENT :] <= bound).nonzero()[0] + whole * SEGMENT])


def put(layout: Layout, part: str, rows: Indices, columns: Indices, values: NDArray[Any]) -> None:
    """Store single values in every output of a part that has their columns."""
    for kind, view in layout.views():
        if kind == part:
            inside = columns < view.shape[1]
            if inside.all():
                view[rows, columns] = values
            else:
                view[rows[inside], columns[inside]] = values[inside]


class Scratch:
    """Working arrays of one thread, grown on demand and reused."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def get(self, name: str, size: int, dtype: type[np.generic]) -> NDArray[Any]:
        """A flat array of at least ``size``, cut to it; its contents are anything."""
        have = self._arrays.get(name)
        if have is None or have.size < size:
            have = self._arrays[name] = np.empty(size, dtype=dtype)
        return have[:size]


def store(z: Complex, layout: Layout, swapped: bool, dtype: str, window: Window, scratch: Scratch) -> Indices:
    """Round a block of candidates into its outputs and flag the doubtful ones.

    Parameters
    ----------
    z : ndarray of complex128
        (rows, columns), contiguous: cos + i sin, or sin + i cos if ``swapped``; overwritten.
    layout : Layout
        The block's rows of the outputs.

    Returns
    -------
    ndarray of int64
        Places row * columns + column of doubtful pairs, some of them twice.
    """
    if dtype == "float32":
        return _store_single(z, layout, swapped, window)
    return _store_half(z, layout, swapped, dtype, scratch)


def _store_single(z: Complex, layout: Layout, swapped: bool, window: Window) -> Indices:
    """The 29 bits that float32 lacks are 2^28 at a midpoint: shifted to the top, the most negative integer."""
    if layout.pair is not None:
        width = layout.pair.shape[1] // 2
        np.copyto(layout.pair.view(np.complex64), z[:, :width], casting="same_kind")
    for part, view in layout.singles:
        source = z.imag if (part == "sin") != swapped else z.real
        np.copyto(view, source[:, : view.shape[1]], casting="same_kind")
    bits = z.reshape(-1).view(np.uint64)
    np.left_shift(bits, _SHIFT35, out=bits)
    return hits(bits.view(np.int64), (window.places << 35) - (1 << 63)) >> 1


def _store_half(z: Complex, layout: Layout, swapped: bool, dtype: str, scratch: Scratch) -> Indices:
    """By way of float32 bits x, whose rounding moves a value by at most half a unit of x.

    The candidate errs by less than another half (2^-26 of it), so a doubtful value's x lies
    within one unit of the midpoint: three patterns of the low bits.  Half a narrow unit and one
    more are added, the cut low bits of the doubtful are then 0, 1, 2; the rest is truncation.
    float16: the exponent's offset changes from 127 to 15, and the sign moves next to it.
    """
    x = scratch.get("single", 2 * z.size, np.float32)
    np.copyto(x, z.reshape(-1).view(np.float64), casting="same_kind")
    bits = x.view(np.uint32)
    low = scratch.get("low", bits.size, np.uint32)
    if dtype == "bfloat16":
        np.add(bits, np.uint32(0x8001), out=bits)
        np.left_shift(bits, np.uint32(16), out=low)
        doubtful = hits(low, 2 << 16)
        np.right_shift(bits, np.uint32(16), out=bits)
    else:
        sign = scratch.get("sign", bits.size, np.uint32)
        np.right_shift(bits, np.uint32(16), out=sign)
        np.bitwise_and(sign, np.uint32(0x8000), out=sign)
        np.add(bits, np.uint32(0x1001 - 0x38000000 + (1 << 32)), out=bits)
        np.left_shift(bits, np.uint32(19), out=low)
        doubtful = hits(low, 2 << 19)
        np.right_shift(bits, np.uint32(13), out=bits)
        np.bitwise_or(bits, sign, out=bits)
    both = bits.reshape(*z.shape, 2)
    if layout.pair is not None:
        width = layout.pair.shape[1]
        np.copyto(layout.pair.view(np.uint16), both.reshape(len(z), -1)[:, :width], casting="unsafe")
    for part, view in layout.singles:
        source = both[:, : view.shape[1], int((part == "sin") != swapped)]
        np.copyto(view.view(np.uint16), source, casting="unsafe")
    return doubtful >> 1
