"""Rows of exponentials at evenly spaced positions: few rows computed, the rest products of two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.doubled import Doubled, from_decimal, multiply
from pecli.numbers.elementary import exp
from pecli.numbers.points import Points
from pecli.numbers.rounding import both_ends, halve, narrow
from pecli.records import dataclass

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE = 256
"""Multiples that share a coarse row."""

KEPT = 1 << 13
"""Rates of which all fine rows are kept, 32 MiB; of more, only those that are asked for are computed."""

CHUNK = 1 << 14
"""Values worked on at once: a few arrays of 128 KiB stay in a core's cache."""

MARGIN = 2.0**-50
"""What a product of two rounded factors may be off by, relative to itself: three roundings of 2^-53, and room."""

UNITS = 16
"""The same in units of the last place of a float64, which is at least 2^-53 of the value."""

HUGE = 2.0**960
_LOW_BITS, _MIDPOINT, _TINY = np.uint64(35), 1 << 28, 2.0**-125


class Powers:
    """The function position -> e^(position * rate), for several rates.

    A multiple 256 q + r of the positions' unit gives a coarse row of q times a
    fine row of r; so the value of a position does not depend on which others
    are asked for.

    Parameters
    ----------
    rates : sequence of Decimal
        Logarithms of the bases.
    """

    def __init__(self, rates: Sequence[Decimal]) -> None:
        self.rates = [Fraction(rate) for rate in rates]
        self._steps: dict[Fraction, tuple[Doubled, Doubled, Doubled | None]] = {}

    def at(self, points: Points) -> Exponentials:
        """Return the values at positions."""
        unit = points.unit
        found = self._steps.get(unit)
        if found is None:
            near, far = (from_decimal([rate * unit * many for rate in self.rates]) for many in (1, FINE))
            every = exp(Points(np.arange(FINE, dtype=np.int64)).by(near)) if len(self.rates) <= KEPT else None
            self._steps = {unit: (near, far, every)}
            found = near, far, every
        near, far, fine = found
        q, r = np.divmod(points.multiples, FINE)
        levels, places = np.unique(q, return_inverse=True)
        if fine is None:
            wanted, r = np.unique(r, return_inverse=True)
            fine = exp(Points(wanted).by(near))
        return Exponentials(exp(Points(levels).by(far)), fine, places, r)


@dataclass(frozen=True)
class Exponentials:
    """Values (n, m): row `places` of `coarse` times row `rest` of `fine`.

    Parameters
    ----------
    coarse, fine : Doubled
        (levels, m) and (256 or fewer, m), to 2^-94.
    places, rest : (n,) int64
        Rows of the two.
    """

    coarse: Doubled
    fine: Doubled
    places: Integers
    rest: Integers

    def doubled(self, rows: slice | Integers = slice(None), columns: Any = slice(None)) -> Doubled:
        """Return values to 2^-92: whole rows, or one column of each row where there is one for each."""
        q, r = self.places[rows], self.rest[rows]
        a = self.coarse[q, columns]
        b = self.fine[r, columns]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found, plain = multiply(a, b), a.hi * b.hi
        # near infinity the halves of a product overflow before it does
        sound = (np.abs(plain) < HUGE) & (np.abs(a.hi) < HUGE) & (np.abs(b.hi) < HUGE)
        return Doubled(np.where(sound, found.hi, plain), np.where(sound, found.lo, 0.0))

    def into(self, dtype: str, out: NDArray[Any]) -> None:
        """Write the values, correctly rounded, into (n, m) `out`.

        A product of float64 is a candidate; where it lies too near a midpoint of the narrow type
        to tell, the product is doubled.
        """
        width, doubtful = out.shape[1], [np.empty(0, np.int64)]
        for rows in self._chunks(max(1, CHUNK // width)):
            if dtype == "float64":
                exact = self.doubled(rows)
                out[rows] = exact.hi
                continue
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                doubtful.append(_store(self._candidates(rows), dtype, out[rows]) + rows.start * width)
        row, column = np.divmod(np.concatenate(doubtful), width)
        if len(row):
            exact = self.doubled(row, column)
            out[row, column] = narrow(exact.hi, exact.lo, dtype)

    def _chunks(self, step: int) -> Iterator[slice]:
        """Yield rows in pieces; neighbours that share a coarse row together, where those are long."""
        n = len(self.places)
        edges = np.flatnonzero(np.diff(self.places)) + 1
        bounds = [0, *(edges.tolist() if len(edges) * 32 < n else ()), n]
        for low, high in pairwise(bounds):
            for start in range(low, high, step):
                yield slice(start, min(start + step, high))

    def _candidates(self, rows: slice) -> Floats:
        """Return the products of the factors rounded to float64."""
        q, r = self.places[rows], self.rest[rows]
        if q[0] == q[-1] and r[-1] - r[0] == len(r) - 1 and bool((np.diff(r) == 1).all()):
            run: Floats = self.coarse.hi[q[0]] * self.fine.hi[r[0] : r[-1] + 1]
            return run
        value: Floats = self.coarse.hi.take(q, axis=0)
        value *= self.fine.hi.take(r, axis=0)
        return value


def _store(value: Floats, dtype: str, out: NDArray[Any]) -> Integers:
    """Round candidates above 0 into `out`, and return the flat places of the doubtful ones."""
    if dtype == "float32" and value.min() > _TINY:
        out[...] = value
        # the 29 bits that float32 lacks, as a distance from just below their midpoint 2^28
        bits = value.view(np.uint64) - np.uint64(_MIDPOINT - UNITS)
        np.left_shift(bits, _LOW_BITS, out=bits)
        return np.flatnonzero(bits <= np.uint64((2 * UNITS) << 35))
    if dtype != "float32" and value.min() > _TINY:
        found, doubtful = halve(value.astype(np.float32), dtype)
        places = np.flatnonzero(doubtful)
        unsure = value.reshape(-1)[places]
        found.reshape(-1)[places], differ = both_ends(unsure * (1 - MARGIN), unsure * (1 + MARGIN), dtype)
        out[...] = found
        return places[differ]
    out[...], differ = both_ends(value * (1 - MARGIN), value * (1 + MARGIN), dtype)
    return differ
