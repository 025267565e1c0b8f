"""Positions as a kernel sees them: whole multiples of an exact unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from pecli.elementary import exp
from pecli.phase.doubled import Doubled, from_decimal, multiply

if TYPE_CHECKING:
    from numpy.typing import NDArray

FINE = 256
"""Exponentials of so many neighbouring positions are made once."""


@dataclass(frozen=True)
class Points:
    """Positions (or distances) p = multiple * unit, exactly.

    Attributes
    ----------
    multiples : (n,) int64
    unit : Fraction
    """

    multiples: NDArray[np.int64]
    unit: Fraction = Fraction(1)

    def __len__(self) -> int:
        return len(self.multiples)

    def whole(self) -> NDArray[np.int64]:
        """Return the positions as (n,) int64; the plan's domain has made sure that they are whole."""
        assert self.unit.denominator == 1
        return self.multiples * int(self.unit)

    def size(self) -> Points:
        """Return the absolute values."""
        return Points(np.abs(self.multiples), self.unit)

    def times(self, factors: Sequence[Fraction]) -> Doubled:
        """Return (n, m) products of the positions with m exact factors, to 2^-100."""
        exact = from_decimal([factor * self.unit for factor in factors])
        return multiply(self._doubled(), Doubled(exact.hi[None, :], exact.lo[None, :]))

    def beyond(self, centre: Fraction) -> Points:
        """Return the distances from a centre, exactly."""
        if not centre:
            return self
        unit = Fraction(1, lcm(self.unit.denominator, centre.denominator))
        return Points(self.multiples * int(self.unit / unit) - int(centre / unit), unit)

    def exponentials(self, rates: Sequence[Decimal]) -> Doubled:
        """Return (n, m) values e^(position * rate), to 2^-90.

        A multiple 256 q + r gives the product of two rows, of which there are few; so the value of
        a position does not depend on which others are asked for.
        """
        step = [Fraction(rate) for rate in rates]
        q, r = np.divmod(self.multiples, FINE)
        coarse, places = np.unique(q, return_inverse=True)
        high = exp(Points(coarse, self.unit * FINE).times(step))
        low = exp(Points(np.arange(FINE, dtype=np.int64), self.unit).times(step))
        a, b = Doubled(high.hi[places], high.lo[places]), Doubled(low.hi[r], low.lo[r])
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found, plain = multiply(a, b), a.hi * b.hi
        # beyond 2^+-960 the error of a product is lost, and near infinity the product by parts fails
        sound = (np.abs(plain) < 2.0**960) & (np.abs(a.hi) < 2.0**960) & (np.abs(b.hi) < 2.0**960)
        return Doubled(np.where(sound, found.hi, plain), np.where(sound, found.lo, 0.0))

    def _doubled(self) -> Doubled:
        """Return the multiples as (n, 1) pairs of float64; an int64 may need two."""
        column = self.multiples[:, None]
        hi = column.astype(np.float64)
        return Doubled(hi, (column - hi.astype(np.int64)).astype(np.float64))
