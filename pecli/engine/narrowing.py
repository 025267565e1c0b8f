"""Rounding of float64 candidates to the narrow types, and where the values of a table are put.

Outputs are views of any strides; interleaved ones are the fast case. A candidate v of known relative error is
rounded; it may have been rounded wrongly only if v lies close to a midpoint of the narrow type. That is read off the
bits below the narrow significand: integers, a few passes over a block. It flags some pairs in ten thousand, which the
caller decides by the absolute bound and, where that fails too, exactly. What is not flagged is right.

The windows hold for normal numbers of the narrow type.

`fill_short` computes few rows, or rows in no order: every pair from its own phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pecli.engine.angles import DOUBLED_ERROR, SINGLE_ERROR
from pecli.engine.frequencies import FrequencySet, Part
from pecli.engine.threads import Scratch
from pecli.numbers.blocks import in_blocks
from pecli.numbers.double_double import multiply
from pecli.numbers.rounding import Complex, Floats, Integers, narrow

Output = tuple[Part, NDArray[Any]]


class PairLayout(NamedTuple):
    """The outputs of a fill.

    Parameters
    ----------
    singles : list of (part, view)
        Views that are stored one by one.
    pair : ndarray or None
        Sine and cosine of a column side by side, as one array (rows, 2 columns).
    sine_first : bool
        Their order in ``pair``; false where there is none.
    """

    singles: list[Output]
    pair: NDArray[Any] | None = None
    sine_first: bool = False

    def rows(self, pick: slice) -> PairLayout:
        """Pick some rows, in their order or reversed."""
        pair = None if self.pair is None else self.pair[pick]
        return PairLayout([(part, view[pick]) for part, view in self.singles], pair, self.sine_first)

    def views(self) -> list[Output]:
        """Every output one by one."""
        if self.pair is None:
            return self.singles
        first: Output = ("sin" if self.sine_first else "cos", self.pair[:, 0::2])
        second: Output = ("cos" if self.sine_first else "sin", self.pair[:, 1::2])
        return [first, second, *self.singles]

    def negate_sines(self, dtype: str) -> None:
        """Change the sign of every sine."""
        for part, view in self.views():
            if part == "sin" and dtype == "bfloat16":
                np.bitwise_xor(view, np.uint16(0x8000), out=view)
            elif part == "sin":
                np.negative(view, out=view)


def arrange(outputs: Sequence[Output]) -> PairLayout:
    """Find a sine and a cosine view that interleave."""
    for i, (part, view) in enumerate(outputs):
        for j, (other, second) in enumerate(outputs):
            if {part, other} == {"sin", "cos"} and _interleave(view, second):
                rows, columns = view.shape
                shape, strides = (rows, 2 * columns), (view.strides[0], view.itemsize)
                pair = as_strided(view, shape, strides)
                return PairLayout([o for k, o in enumerate(outputs) if k not in (i, j)], pair, part == "sin")
    return PairLayout(list(outputs))


def _interleave(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether two views interleave: ``second`` one place after ``first``, both at every other place."""
    size = first.itemsize
    return (
        first.shape == second.shape
        and first.size > 0
        and first.strides == second.strides
        and first.strides[1] == 2 * size
        and second.__array_interface__["data"][0] - first.__array_interface__["data"][0] == size
    )


Product = NDArray[np.complex128 | np.complex64]
Indices = NDArray[np.int64]


def product_type(dtype: str) -> type[np.complex128 | np.complex64]:
    """Return the type in which candidates of a narrow type are stored.

    Of float16 and bfloat16 nothing but the bits of float32 is looked at: NumPy rounds to them what it stores,
    in its buffers, which costs less than a pass of its own.
    """
    return np.complex128 if dtype == "float32" else np.complex64


class DoubtWindow:
    """Distance from a midpoint within which a rounding is doubtful.

    Parameters
    ----------
    relative : float
        Bound on the candidates' relative error, at most 2^-30.

    Attributes
    ----------
    bias : float
        What the candidates come multiplied by.
    bound : int
        Greatest doubtful number among the bits that float32 lacks, shifted to the top.
    """

    def __init__(self, relative: float) -> None:
        # The bias moves every candidate outwards by more than its error, so that a doubtful one
        # lies on or beyond the midpoint, by at most twice the bias: one comparison instead of two.
        # A unit of the last place is at least 2^-53 of the value.
        bias = relative * 1.0625 + 2.0**-51
        places = int(2.125 * bias * 2.0**53) + 4
        self.bias, self.bound = 1.0 + bias, (places << 35) - (1 << 63)


class Flags:
    """Sparse bit mask of a given size.

    They are looked at eight at a time as one integer, which costs a third of ``nonzero``.
    """

    def __init__(self, size: int, name: str, scratch: Scratch) -> None:
        self._mask = scratch.get(name, -(-size // 8) * 8, np.bool_)
        self._mask[size:] = False

    def part(self, first: int, count: int) -> NDArray[np.bool_]:
        """Return a part of the mask, to be set."""
        return self._mask[first : first + count]

    def places(self) -> Indices:
        """List the places of the true ones."""
        near = (self._mask.view(np.uint64) != 0).nonzero()[0]
        found: Indices = self._mask.reshape(-1, 8).take(near, axis=0).reshape(-1).nonzero()[0]
        found += ((near - np.arange(near.size)) * 8)[found >> 3]
        return found


SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126}


def ordinary(magnitude: float, dtype: str) -> bool:
    """Whether sines and cosines of 2^-12.7 and more, times this, are normal numbers of the type."""
    if dtype == "float16":
        return 0.42 <= abs(magnitude) <= 2.0**15
    return 2.0**-100 <= abs(magnitude) <= 2.0**100


def decide(
    freqs: FrequencySet, multiples: Indices, layout: PairLayout, rows: Indices, columns: Indices, value: Complex,
    error: Floats | float, dtype: str,
) -> None:  # fmt: skip
    """Round candidates by their absolute error bounds, exactly where that fails, and store them: the second stage.

    Position zero and columns of frequency zero are left out: their values are stored by whoever fills the table.

    Parameters
    ----------
    multiples, rows, columns : ndarray of int64
        The pairs, (n,), and the rows of the outputs where they belong.
    value : ndarray of complex128
        Candidates of cos + i sin, (n,).
    error : ndarray of float64 or float
        Their bounds, for each part; broadcasts to (n, 2).
    """
    moving = (multiples != 0) & (freqs.turns_per_step[columns] != 0)
    multiples, rows, columns = multiples[moving], rows[moving], columns[moving]
    parts = value[moving].view(np.float64).reshape(-1, 2)
    error = error if isinstance(error, float) else error[moving]
    above, below = narrow(parts + error, None, dtype), narrow(parts - error, None, dtype)
    bits = f"u{above.itemsize}"
    differ = above.view(bits) != below.view(bits)
    if differ.any():
        for i, part in enumerate(("cos", "sin")):
            left = differ[:, i].nonzero()[0]
            if left.size:
                exact = freqs.round_correctly(multiples[left], columns[left], part, dtype)
                above[left, i] = narrow(exact, None, dtype)
    put(layout, "cos", rows, columns, above[:, 0])
    put(layout, "sin", rows, columns, above[:, 1])


def put(layout: PairLayout, part: str, rows: Indices, columns: Indices, values: NDArray[Any]) -> None:
    """Store single values in every output of a part that has their columns."""
    for kind, view in layout.views():
        if kind == part:
            inside = columns < view.shape[1]
            if inside.all():
                view[rows, columns] = values
            else:
                view[rows[inside], columns[inside]] = values[inside]


Store = tuple[NDArray[Any], NDArray[Any]]


class Rounder:
    """Rounds blocks of candidates of one shape from a scratch array into the outputs.

    Parameters
    ----------
    z : ndarray of `product_type`
        (rows, columns), contiguous: cos + i sin, or sin + i cos if ``swapped``.
    layout : PairLayout
        Outputs, of which a block takes as many rows as z has.
    dtype : str
        float16, bfloat16 or float32.
    window : DoubtWindow
        The test for float32.  The others' is wide enough for any window.

    Notes
    -----
    Every view is made here, once: between NumPy's calls the threads contend for the interpreter.
    """

    def __init__(
        self, z: Product, layout: PairLayout, swapped: bool, dtype: str, window: DoubtWindow, scratch: Scratch
    ) -> None:
        self.rows = len(z)
        self._window = window
        # no method of this object: a circle would keep the outputs until Python next looks for circles
        self._run: Callable[[Rounder, slice, NDArray[np.bool_]], None] = {
            "float32": Rounder._to_single,
            "float16": Rounder._to_half,
            "bfloat16": Rounder._to_brain,
        }[dtype]
        if dtype == "float32":
            self._bits = z.reshape(-1).view(np.uint64)
            self._integers = self._bits.view(np.int64)
            self._stores = _stores(z.view(np.float64).reshape(*z.shape, 2), layout, swapped)
            return
        self._word = z.reshape(-1).view(np.uint32)
        kind: type[np.generic] = np.uint16 if dtype == "bfloat16" else np.uint32
        self._low = scratch.get(f"low {kind.__name__}", 2 * z.size, kind)
        self._stores = _stores(self._word.reshape(*z.shape, 2), layout, swapped)

    def __call__(self, at: int, doubtful: NDArray[np.bool_]) -> None:
        """Round the block into the rows from ``at``, and flag the doubtful parts; z is overwritten."""
        self._run(self, slice(at, at + self.rows), doubtful)

    def _store(self, rows: slice) -> None:
        for source, target in self._stores:
            np.copyto(target[rows], source, casting="unsafe")

    def _to_single(self, rows: slice, doubtful: NDArray[np.bool_]) -> None:
        """Round to float32.

        The 29 bits that it lacks are 2^28 at a midpoint: shifted to the top, the most negative integer.
        """
        self._store(rows)
        np.left_shift(self._bits, _35, self._bits)
        np.less_equal(self._integers, self._window.bound, doubtful)

    def _to_brain(self, rows: slice, doubtful: NDArray[np.bool_]) -> None:
        """Round to bfloat16 by way of float32 bits x, whose rounding moves a value by half a unit at most.

        The candidate errs by far less (2^-30), and midpoints are multiples of a unit of x: of a
        doubtful value x is the midpoint itself.  Half a narrow unit is added, so that the cut low
        16 bits of the doubtful are 0; the rest is truncation.
        """
        np.add(self._word, _BRAIN_HALF, self._word)
        np.copyto(self._low, self._word, casting="unsafe")
        np.equal(self._low, _NONE, doubtful)
        np.right_shift(self._word, _16, self._word)
        self._store(rows)

    def _to_half(self, rows: slice, doubtful: NDArray[np.bool_]) -> None:
        """Do the same for float16: the exponent's offset changes from 127 to 15, the sign moves next to it."""
        np.add(self._word, _HALF_HALF, self._word)
        np.left_shift(self._word, _19, self._low)
        np.equal(self._low, _ZERO, doubtful)
        np.right_shift(self._word, _16, self._low)
        np.bitwise_and(self._low, _SIGN, self._low)
        np.right_shift(self._word, _13, self._word)
        np.bitwise_or(self._word, self._low, self._word)
        self._store(rows)


_ZERO, _NONE = np.uint32(0), np.uint16(0)
_35 = np.uint64(35)
_13, _16, _19 = np.uint32(13), np.uint32(16), np.uint32(19)
_SIGN = np.uint32(0x8000)
_BRAIN_HALF = np.uint32(0x8000)
_HALF_HALF = np.uint32(0x1000 - 0x38000000 + (1 << 32))


def _stores(parts: NDArray[np.float64 | np.uint32], layout: PairLayout, swapped: bool) -> list[Store]:
    """Pair the parts of candidates, (rows, columns, 2), with targets of equal columns."""
    kind: type[np.generic] = np.float32 if parts.dtype == np.float64 else np.uint16
    stores: list[Store] = []
    if layout.pair is not None:
        stores.append((parts.reshape(len(parts), -1)[:, : layout.pair.shape[1]], layout.pair.view(kind)))
    for part, view in layout.singles:
        stores.append((parts[:, : view.shape[1], int((part == "sin") != swapped)], view.view(kind)))
    return stores


# Pairs rounded at once.
CALL = 1 << 14

# Relative error of a candidate but for `phase_error`: the magnitude is rounded, and its product.
RELATIVE = SINGLE_ERROR + 2.0**-51

# Parts below this are doubted: `phase_error` is below 2^-60, so above it less than 2^-41 of them.
SMALL = 2.0**-19

WINDOW = DoubtWindow(2.0**-40)


def fill_short(freqs: FrequencySet, multiples: Integers, layout: PairLayout, dtype: str, scratch: Scratch) -> None:
    """Fill rows of any multiples."""
    for here in in_blocks(0, len(multiples), CALL // freqs.count):
        if dtype == "float64":
            _wide(freqs, multiples[here], layout.rows(here))
        else:
            _narrow(freqs, multiples[here], layout.rows(here), dtype, scratch)


def _narrow(freqs: FrequencySet, multiples: Integers, layout: PairLayout, dtype: str, scratch: Scratch) -> None:
    points, bits = freqs.single_rows(multiples)
    magnitude = float(freqs.magnitude.hi)
    points *= magnitude
    if ordinary(magnitude, dtype):
        places = _doubtful(points, layout, dtype, abs(magnitude), scratch)
    else:
        places = np.arange(points.size)
    rows, columns = np.divmod(places, freqs.count)
    chosen = multiples[rows]
    absolute = freqs.phase_error(chosen, bits) * abs(magnitude)
    value = points[rows, columns]
    error = np.abs(value.view(np.float64).reshape(-1, 2)) * RELATIVE + absolute[:, None]
    decide(freqs, chosen, layout, rows, columns, value, error, dtype)


def _doubtful(points: Complex, layout: PairLayout, dtype: str, magnitude: float, scratch: Scratch) -> Integers:
    """Round into the outputs; places that may be wrong."""
    swapped = layout.sine_first
    biased: Product = points * WINDOW.bias
    if swapped:
        biased = biased.conj() * 1j
    biased = biased.astype(product_type(dtype), copy=False)
    flags = Flags(2 * points.size, "doubtful", scratch)
    doubtful = flags.part(0, 2 * points.size)
    Rounder(biased, layout, swapped, dtype, WINDOW, scratch)(0, doubtful)
    doubtful |= np.abs(points.reshape(-1).view(np.float64)) < max(magnitude * SMALL, SMALLEST_NORMAL[dtype])
    return flags.places() >> 1


def _wide(freqs: FrequencySet, multiples: Integers, layout: PairLayout) -> None:
    point = freqs.doubled_rows(multiples)
    bits = freqs.kept_bits(multiples, 100)
    absolute = (freqs.phase_error(multiples, bits) * abs(float(freqs.magnitude.hi)))[:, None]
    for part, number in zip(("cos", "sin"), point, strict=True):
        if not any(kind == part for kind, _ in layout.views()):
            continue
        value = number if freqs.exact.factor == 1 else multiply(number, freqs.magnitude)
        error = np.abs(value.hi) * (DOUBLED_ERROR * 2) + absolute
        above, below = value.hi + (value.lo + error), value.hi + (value.lo - error)
        rows, columns = np.nonzero(above != below)
        moving = (multiples[rows] != 0) & (freqs.turns_per_step[columns] != 0)
        rows, columns = rows[moving], columns[moving]
        if rows.size:
            above[rows, columns] = freqs.round_correctly(multiples[rows], columns, part, "float64")
        for kind, view in layout.views():
            if kind == part:
                view[...] = above[:, : view.shape[1]]
