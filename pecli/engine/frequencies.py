"""Frequencies of the columns of a table: the values of single rows and pairs, and unreduced angles.

An angle is position times frequency in radians, not reduced, correctly rounded.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pecli.engine import angles
from pecli.errors import BadParameter
from pecli.numbers.blocks import in_blocks
from pecli.numbers.double_double import DoubleDouble, from_decimal, multiply, quick_two_sum
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import Complex, Floats, Integers, midpoints, narrow, to_grid

Part = Literal["cos", "sin", "angle"]

# Pairs worked on at once: some fifty arrays of 32 KiB stay in a core's cache.
CHUNK = 4096

# Smallest number of doubtful values decided by vectors; fewer are decided faster one by one.
MIN_MULTIPLES = 32


class FrequencySet:
    """Frequencies of a set of columns as exact fractions of a turn.

    Parameters
    ----------
    frequencies : sequence of Decimal or Fraction
        Radians per position, or turns per position; zero and negative ones included.  An
        irrational one is given in at least 90 significant digits, best in `pecli.numbers.decimals.FREQUENCY_DIGITS`.
    turns : bool
        Whether they are turns.
    unit : Fraction
        Position of the multiple 1: position = multiple * unit.
    magnitude : Decimal
        Factor of cosine and sine.

    Raises
    ------
    BadParameter
        A frequency or the magnitude is not a finite number, or the unit is not positive.
    """

    def __init__(
        self,
        frequencies: Sequence[Decimal | Fraction],
        *,
        turns: bool = False,
        unit: Fraction = Fraction(1),
        magnitude: Decimal = Decimal(1),
    ) -> None:
        angles.check_frequencies(frequencies, magnitude)
        if unit <= 0:
            raise BadParameter("unit", unit, "must be above 0: give the sign to the multiples")
        if magnitude and not Decimal("1e-200") <= magnitude.copy_abs() <= Decimal("1e200"):
            raise BadParameter("magnitude", magnitude, "must be 0 or between 1e-200 and 1e200 in size")
        self.count = len(frequencies)
        self.exact = angles.Exact(list(frequencies), turns, unit, magnitude)
        self.bits = angles.fraction_bits(frequencies, unit)
        sizes = angles.fixed_turns(frequencies, turns, unit, self.bits)
        one = 1 << self.bits
        # Absolute value of each frequency in turns per multiple.
        self.turns_per_step: Floats = np.array([f / one for f in sizes], dtype=np.float64)
        self.limbs = angles.limbs_of(sizes, self.bits)
        negative = [f < 0 for f in frequencies]
        self.fixed = [-f if minus else f for f, minus in zip(sizes, negative, strict=True)]
        self.sign: Floats | None = np.where(negative, -1.0, 1.0) if any(negative) else None
        self.zero_columns: Integers = np.flatnonzero([not f for f in frequencies])
        self.magnitude = from_decimal(Fraction(magnitude))
        self.lock = threading.RLock()
        self.rotation_tables: dict[tuple[object, ...], object] = {}
        # Rows asked for so far, of runs that have no rotation table yet.
        self.rows_requested: dict[tuple[object, ...], int] = {}
        # Digit tables of `pecli.engine.digits`, made once the lists are long enough.
        self.digits: object = None
        # Rows of lists asked for so far.
        self.listed = 0

    def kept_bits(self, multiples: Integers, precision: int) -> int:
        """Bits of the frequencies that make a phase good to 2^-precision, and relative to a small one."""
        largest = max(1, int(np.abs(multiples).max(initial=0)))
        moving = self.turns_per_step[self.turns_per_step > 0]
        slowest = float(moving.min()) if moving.size else 1.0
        spare = max(largest.bit_length(), 1 - int(np.frexp(slowest)[1])) + 4
        return min(self.bits, -(-(precision + spare) // angles.LIMB) * angles.LIMB)

    def _rest(
        self, multiples: Integers, columns: Integers | None, bits: int
    ) -> tuple[angles.Remainder, NDArray[np.uint64], Floats | None]:
        """Phases of all columns at each multiple, or of one column at each; their top limbs; sines' signs."""
        size = np.abs(multiples).view(np.uint64)
        sign = np.where(multiples < 0, -1.0, 1.0) if multiples.min(initial=0) < 0 else None
        own = self.sign
        limbs = self.limbs[(self.bits - bits) // angles.LIMB :]
        if columns is None:
            size = size[:, None]
            sign = sign if sign is None else sign[:, None]
        else:
            limbs = limbs[:, columns]
            own = own if own is None else own[columns]
        if own is not None:
            sign = own if sign is None else own * sign
        phase = angles.phases(size, limbs)
        top = phase[-1].copy()
        return angles.reduce(phase), top, sign

    def single_rows(self, multiples: Integers) -> tuple[Complex, int]:
        """Rows of cos + i sin, without magnitude; and the bits for `phase_error`.

        Each part is within SINGLE_ERROR of itself, and `phase_error` besides.
        """
        rows = np.empty((len(multiples), self.count), dtype=np.complex128)
        bits = self.kept_bits(multiples, 60)
        for here in in_blocks(0, len(multiples), CHUNK // max(1, self.count)):
            rest, _, sign = self._rest(multiples[here], None, bits)
            point = angles.single_point(rest)
            rows.real[here] = point.cosine
            rows.imag[here] = point.sine if sign is None else point.sine * sign
        return rows, bits

    def tailed_rows(self, multiples: Integers) -> tuple[Complex, Complex, NDArray[np.uint16]]:
        """Rows of cos + i sin and their tails, within TAILED_ERROR, for multiples of at least 0.

        Also four times each phase modulo 1, without the frequency's sign, in 2^-16, rounded down.
        """
        shape = (len(multiples), self.count)
        rows, tails = np.empty(shape, dtype=np.complex128), np.empty(shape, dtype=np.complex128)
        quarters = np.empty(shape, dtype=np.uint16)
        bits = self.kept_bits(multiples, 64)
        for here in in_blocks(0, len(multiples), CHUNK // max(1, self.count)):
            rest, top, sign = self._rest(multiples[here], None, bits)
            quarters[here] = (top >> np.uint64(14)).astype(np.uint16)
            point = angles.single_point(rest, tails=True)
            rows.real[here], tails.real[here] = point.cosine, point.cosine_tail
            for whole, part in ((rows, point.sine), (tails, point.sine_tail)):
                assert part is not None
                whole.imag[here] = part if sign is None else part * sign
        return rows, tails, quarters

    def doubled_rows(
        self, multiples: Integers, columns: Integers | None = None, precision: int = 100
    ) -> tuple[DoubleDouble, DoubleDouble]:
        """Cosine and sine of whole rows, or of one column at each multiple, without magnitude.

        Each is within DOUBLED_ERROR of itself and `phase_error` of ``kept_bits(precision)`` besides.
        """
        width = self.count if columns is None else 1
        shape = (len(multiples), self.count) if columns is None else (len(multiples),)
        parts = [np.empty(shape) for _ in range(4)]
        bits = self.kept_bits(multiples, precision)
        for here in in_blocks(0, len(multiples), CHUNK // max(1, width)):
            rest, _, sign = self._rest(multiples[here], None if columns is None else columns[here], bits)
            cosine, sine = angles.doubled_point(rest)
            if sign is not None:
                sine = DoubleDouble(sine.hi * sign, sine.lo * sign)
            for whole, part in zip(parts, (cosine.hi, cosine.lo, sine.hi, sine.lo), strict=True):
                whole[here] = part
        return DoubleDouble(parts[0], parts[1]), DoubleDouble(parts[2], parts[3])

    def phase_error(self, multiples: Integers, bits: int) -> Floats:
        """Return a bound on the truncation error of a sine or cosine in fixed point, without magnitude.

        A frequency is known to 2 units, a rest to one more: (2 |multiple| + 1) 2^-bits turns, 6.3 radians each.
        """
        return (np.abs(multiples).astype(np.float64) * 2.0 + 2.0) * (2.0**-bits * 8.0)

    def round_correctly(self, multiples: Integers, columns: Integers, part: str, dtype: str) -> Floats:
        """Round the cosine or sine of each pair correctly, magnitude included; as float64."""
        if len(multiples) < MIN_MULTIPLES:
            return self._round_exactly(multiples, columns, part, dtype)
        bits = self.kept_bits(multiples, 100)
        point = self.doubled_rows(multiples, columns)[part == "sin"]
        value = multiply(point, self.magnitude)
        error = np.abs(value.hi) * (angles.DOUBLED_ERROR * 2)
        error += self.phase_error(multiples, bits) * abs(float(self.magnitude.hi))
        above = to_grid(*quick_two_sum(value.hi, value.lo + error), GRIDS[dtype])
        below = to_grid(*quick_two_sum(value.hi, value.lo - error), GRIDS[dtype])
        doubtful = (above != below) | (np.signbit(above) != np.signbit(below))
        if self.exact.turns:
            halves = self.exact.halves(multiples, columns, part)
            for half in (-2, -1, 0, 1, 2):
                known = doubtful & (halves == half)
                above[known] = self.exact.multiple(Fraction(half, 2), GRIDS[dtype])
                doubtful &= ~known
        left = doubtful.nonzero()[0]
        above[left] = self._round_exactly(multiples[left], columns[left], part, dtype)
        return above

    def _round_exactly(self, multiples: Integers, columns: Integers, part: str, dtype: str) -> Floats:
        grid = GRIDS[dtype]
        pairs = zip(multiples.tolist(), columns.tolist(), strict=True)
        return np.array([self.exact.value(m, j, part, grid, self.phase) for m, j in pairs], dtype=np.float64)

    def phase(self, multiple: int, column: int) -> tuple[int, int]:
        """Return a phase and its error, both in units of 2^-FIRST turns."""
        spare = self.bits - angles.FIRST
        phase = ((multiple * self.fixed[column]) >> spare) & ((1 << angles.FIRST) - 1)
        return phase, 2 + (2 * abs(multiple) >> spare)


# Relative error of a doubled frequency (2^-105) times a doubled multiple (exact): 7u^2 and that.
ERROR = 2.0**-98


def frequencies(freqs: FrequencySet) -> DoubleDouble:
    """Radians per multiple, doubled."""
    if freqs.exact.turns:
        ratios = [freqs.exact.ratio(j) for j in range(freqs.count)]
        bits = [192 + max(0, r.denominator.bit_length() - r.numerator.bit_length()) for r in ratios]
        return from_decimal([r * Fraction(angles.pi_bits(b) << 1, 1 << b) for r, b in zip(ratios, bits, strict=True)])
    unit = freqs.exact.unit
    context = Context(prec=160, Emin=-999999, Emax=999999)
    factor = context.divide(Decimal(unit.numerator), Decimal(unit.denominator))
    values = [context.multiply(f, factor) if isinstance(f, Decimal) else f * unit for f in freqs.exact.frequencies]
    return from_decimal(values)


def fill_angles(freqs: FrequencySet, multiples: Integers | range, out: NDArray[Any], dtype: str) -> None:
    """Fill one view with angles."""
    width = out.shape[1]
    if not width:
        return
    turns_per_step = frequencies(freqs)
    turns_per_step = DoubleDouble(turns_per_step.hi[:width], turns_per_step.lo[:width])
    for some in in_blocks(0, len(multiples), CHUNK // width):
        here = np.asarray(multiples[some], dtype=np.int64)
        hi = here.astype(np.float64)
        # the float64 nearest to a multiple near 2^63 may be 2^63 itself, which int64 cannot hold
        lo = (here - np.minimum(hi, 2.0**63 - 1024).astype(np.int64)).astype(np.float64)
        lo -= hi - np.minimum(hi, 2.0**63 - 1024)
        value = multiply(DoubleDouble(hi[:, None], lo[:, None]), turns_per_step)
        error = np.abs(value.hi) * ERROR
        if not freqs.exact.turns:
            # one float64 times one float64 is exact in doubled
            error[(lo[:, None] == 0) & (turns_per_step.lo == 0)] = 0.0
        view = out[some]
        if dtype == "float64":
            unsure = value.hi + (value.lo + error) != value.hi + (value.lo - error)
        else:
            # hi is the nearest double or one beside it, and a midpoint is a double: unless hi is one,
            # the true angle lies on the same side of it
            unsure = midpoints(value.hi, dtype)
        rows, columns = np.nonzero(unsure)
        narrow(value.hi + 0.0, None, dtype, view)
        if rows.size:
            high, low, bound = (x[rows, columns] for x in (value.hi, value.lo, error))
            above = to_grid(*quick_two_sum(high, low + bound), GRIDS[dtype])
            below = to_grid(*quick_two_sum(high, low - bound), GRIDS[dtype])
            for k in (above != below).nonzero()[0].tolist():
                i, j = int(rows[k]), int(columns[k])
                above[k] = freqs.exact.value(int(here[i]), j, "angle", GRIDS[dtype], freqs.phase)
            view[rows, columns] = narrow(above + 0.0, None, dtype)
