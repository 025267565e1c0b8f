"""Rows in no order: products of rows for the digits of their multiples, rounded and tested like those of a run.

m = d_0 + d_1 B + d_2 B^2 + ..: e^(i m w) is a product with a factor from each of a few tables, e^(i d B^k w) for
d = 0 .. B - 1, which are made once.  No multiple is negative, so angles only add up: as long as a whole one stays
below an eighth of a turn, nothing cancels.  A list of 10^6 positions takes 2 to 3 times as long as a range of as many
so, and 12 to 17 times with each row from its own phase (float32, 64 columns, two threads).

Error of a candidate, with u = 2^-53, relative to its modulus in the complex plane (the magnitude): a row of a table
errs by 2^-56 and is rounded, 1.2 u, and each product by sqrt(5) u (Brent, Percival and Zimmermann 2007; with fused
multiply-add by 2u).  Four factors have 4.8 u, three products 6.8 u: together 11.6 u.  The second stage takes the bias
away, which costs two roundings more: 13.6 u.

Relative to each part, while the angle is below an eighth of a turn: a row errs by 5.7 u, its rounding by u, so four
make 26.8 u. Nothing cancels in sin a cos b + cos a sin b; each product adds 3 u; cos a cos b - sin a sin b may lose
the factor cos(a - b) / cos(a + b), at most 1 / cos(pi/4) at each of three: (26.8 u + 9 u) 2.83 = 101 u, and 2 u for
the bias, < 2^-46, as of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from pecli.engine.frequencies import FrequencySet
from pecli.engine.narrowing import DoubtWindow, Flags, PairLayout, Rounder, ordinary, product_type
from pecli.engine.rotation_tables import Complex, Rows, exchanged, remember
from pecli.engine.runs import CUT, NEAR_ZERO, SMALL, SMALLEST, settle, short_buffers
from pecli.engine.threads import Scratch
from pecli.numbers.double_double import from_decimal, multiply

Integers = NDArray[np.int64]
Quarters = NDArray[np.uint16]

# Digits of a multiple: `CUT` allows for as many phases rounded down.
MAX_DIGITS = 4

# Absolute error of a candidate at the first stage, in units of the magnitude: 11.6 u, derived above.
FIRST_PLANE = 2.0**-49.4

# Error bound at the second stage, 13.6 u.
PLANE = 2.0**-49.2

WINDOW = DoubtWindow(FIRST_PLANE / SMALL)

# Pairs of a table: a MiB of complex128, which stays in the caches; 8 MiB where columns are many.
#
# Three small factors take less time than two large ones, and five would have too few bits: see `table_bits`.
TABLE_PAIRS, MAX_TABLE_PAIRS = 1 << 16, 1 << 19

# Pairs that are multiplied at once: two arrays of a MiB.
CALL = 1 << 16

# Requested rows, as a multiple of the rows of a table, before tables are made: twice the cost of four tables.
MIN_ROWS_PER_TABLE_ROW = 8


def table_bits(freqs: FrequencySet) -> int:
    """Return the logarithm of the rows of a table: 8 at least, for multiples to 2^32, if `MAX_TABLE_PAIRS` allows."""
    usual, most = ((pairs // freqs.count).bit_length() - 1 for pairs in (TABLE_PAIRS, MAX_TABLE_PAIRS))
    return max(min(usual, 12), min(most, 8), 4)


class DigitTables:
    """The factors of rows for digits, of one set of frequencies.

    Parameters
    ----------
    freqs : FrequencySet
        The frequencies.
    """

    def __init__(self, freqs: FrequencySet) -> None:
        self.freqs = freqs
        self.bits = table_bits(freqs)
        self._factor = multiply(freqs.magnitude, from_decimal(Fraction(WINDOW.bias)))
        self._made: dict[tuple[int, bool], tuple[Complex, Quarters]] = {}

    def digits(self, multiples: Integers) -> list[Integers]:
        """Return the digits of multiples from the lowest on, as many as the largest has."""
        count = max(1, -(-int(multiples.max(initial=0)).bit_length() // self.bits))
        return [(multiples >> (self.bits * k)) & ((1 << self.bits) - 1) for k in range(count)]

    def rows(self, digit: int, swapped: bool) -> tuple[Complex, Quarters]:
        """Return the factors of a digit, (B, columns), and four times their phases modulo 1, in 2^-16, rounded down.

        Factors are cos + i sin; or, swapped, conjugates whose product is sin + i cos.
        """

        def make() -> tuple[Complex, Quarters]:
            given = np.arange(1 << self.bits, dtype=np.int64) << (self.bits * digit)
            hi, lo, quarters = self.freqs.tailed_rows(given)
            made = Rows(hi, lo) if digit else Rows(hi, lo).scaled(self._factor)
            turn = np.conjugate if digit else exchanged
            return (turn(made.hi) if swapped else made.hi), quarters

        with self.freqs.lock:
            return remember(self._made, (digit, swapped), make)


def serves(freqs: FrequencySet, multiples: Integers, dtype: str) -> bool:
    """Whether the tables of some frequencies can serve a list of multiples."""
    if dtype == "float64" or not ordinary(float(freqs.magnitude.hi), dtype) or int(multiples.min()) < 0:
        return False
    return int(multiples.max()).bit_length() <= MAX_DIGITS * table_bits(freqs)


def prepare(freqs: FrequencySet, multiples: Integers, dtype: str) -> bool:
    """Whether tables serve a list of multiples; they are made once enough rows were requested."""
    if not serves(freqs, multiples, dtype):
        return False
    with freqs.lock:
        freqs.listed += len(multiples)
        if freqs.digits is None and freqs.listed >= MIN_ROWS_PER_TABLE_ROW << table_bits(freqs):
            freqs.digits = DigitTables(freqs)
        return freqs.digits is not None


def fill_digits(tables: DigitTables, multiples: Integers, layout: PairLayout, dtype: str, scratch: Scratch) -> None:
    """Fill rows of any multiples that are not negative: in blocks, rounded; doubtful roundings are decided exactly."""
    freqs, digits, swapped = tables.freqs, tables.digits(multiples), layout.sine_first
    factors, quarters = zip(*(tables.rows(k, swapped) for k in range(len(digits))), strict=True)
    width, rows = freqs.count, len(multiples)
    slow = freqs.turns_per_step * float(multiples.max(initial=0)) <= 0.125
    # columns that need no test of their phases: still ones, and slow ones of normal numbers
    least = int(multiples.min(initial=1, where=multiples > 0))
    size = freqs.turns_per_step * (6.28 * abs(float(freqs.magnitude.hi)) * least)
    far = np.asarray((slow & (size >= SMALLEST[dtype])) | (freqs.turns_per_step == 0))
    doubtful, small = Flags(2 * rows * width, "doubtful", scratch), Flags(rows * width, "small", scratch)
    step, kind = max(1, CALL // width), product_type(dtype)
    made: dict[int, Rounder] = {}
    with short_buffers():
        for at in range(0, rows, step):
            here = [digit[at : at + step] for digit in digits]
            count = len(here[0])
            z = scratch.get(f"product {kind.__name__}", count * width, kind).reshape(count, width)
            _multiply(factors, here, scratch, z)
            if count not in made:
                made[count] = Rounder(z, layout, swapped, dtype, WINDOW, scratch)
            made[count](at, doubtful.part(2 * at * width, 2 * count * width))
            near = _sum_phases(quarters, here, scratch)
            near[:, far] = 0x8000
            np.less_equal(near, 2 * NEAR_ZERO + CUT, out=small.part(at * width, count * width).reshape(near.shape))
    # second stage: decide by the absolute bound, and exactly where that fails
    places = np.concatenate([doubtful.places() >> 1, small.places()])
    which, columns = np.divmod(places, width)
    parts = [factor[digit[which], columns] for factor, digit in zip(factors, digits, strict=True)]
    value = reduce(np.multiply, reversed(parts))
    settle(freqs, multiples[which], layout, which, columns, value, WINDOW, PLANE, slow, dtype)


def _multiply(
    factors: Sequence[Complex], digits: list[Integers], scratch: Scratch, out: NDArray[np.complex128 | np.complex64]
) -> None:
    """Multiply the factors of some rows."""
    first, other = (scratch.get(name, out.size, np.complex128).reshape(out.shape) for name in ("first", "other"))
    np.take(factors[-1], digits[-1], axis=0, out=first, mode="clip")
    for k in range(len(digits) - 2, -1, -1):
        np.take(factors[k], digits[k], axis=0, out=other, mode="clip")
        np.multiply(first, other, out=first if k else out)
    if len(digits) == 1:
        np.copyto(out, first, casting="same_kind")


def _sum_phases(quarters: Sequence[Quarters], digits: list[Integers], scratch: Scratch) -> Quarters:
    """Add up the phases of some rows, moved up by the margin."""
    shape = len(digits[0]), quarters[0].shape[1]
    near, other = (scratch.get(f"near {k}", shape[0] * shape[1], np.uint16).reshape(shape) for k in (0, 1))
    np.take(quarters[0], digits[0], axis=0, out=near, mode="clip")
    for quarter, digit in zip(quarters[1:], digits[1:], strict=True):
        np.take(quarter, digit, axis=0, out=other, mode="clip")
        np.add(near, other, out=near)
    np.add(near, np.uint16(NEAR_ZERO + CUT), out=near)
    return near
