"""Positions as a kernel sees them: whole multiples of an exact unit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from pecli.numbers.doubled import Doubled, from_decimal, multiply
from pecli.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        return self.by(from_decimal([factor * self.unit for factor in factors]))

    def by(self, factors: Doubled) -> Doubled:
        """Return (n, m) products of the multiples with m factors."""
        return multiply(self._doubled(), factors[None, :])

    def beyond(self, centre: Fraction) -> Points:
        """Return the distances from a centre, exactly."""
        if not centre:
            return self
        unit = Fraction(1, lcm(self.unit.denominator, centre.denominator))
        return Points(self.multiples * int(self.unit / unit) - int(centre / unit), unit)

    def _doubled(self) -> Doubled:
        """Return the multiples as (n, 1) pairs of float64; an int64 may need two."""
        column = self.multiples[:, None]
        hi = column.astype(np.float64)
        return Doubled(hi, (column - hi.astype(np.int64)).astype(np.float64))
