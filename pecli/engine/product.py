"""Rows of cos + i sin carried as hi + lo, and their products: e^(i(a + b)w) = e^(iaw) e^(ibw).

A product splits each factor into a coarse half, a multiple of 2^-26, and a rest below 2^-26.  The
product of the coarse halves is exact: multiples of 2^-52, below 2, so a fused multiply-add changes
nothing.  What else there is enters with weight 2^-26.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.doubled import Doubled, multiply, quick_two_sum, two_sum

Complex = NDArray[np.complex128]

STEP_ERROR = 2.0**-76
"""Absolute error, in the complex plane, of main + rest in `combine`, for factors of modulus 1.

With u = 2^-53, in units of 2^-26.5 u, where 2^-26.5 is the largest modulus of a rest.  Splitting
rounds each rest by 1 unit.  a1 b2 errs by sqrt(5) units (Brent, Percival and Zimmermann 2007; less
when fused); so does a2 b, and by 3/4 more because b is a sum rounded; their sum, below 2^-25.5,
by 2.  Together 9.3 units, 2^-76.2.
"""


class Split(NamedTuple):
    """A coarse half, the rest, and their rounded sum."""

    coarse: Complex
    rest: Complex
    whole: Complex

    def rows(self, pick: slice) -> Split:
        """Pick some rows."""
        return Split(self.coarse[pick], self.rest[pick], self.whole[pick])

    def spread(self, axis: int) -> Split:
        """Put an axis of length 1 at this place."""
        return Split(*(np.expand_dims(z, axis) for z in (self.coarse, self.rest, self.whole)))


class Rows(NamedTuple):
    """Rows of cos + i sin as hi + lo."""

    hi: Complex
    lo: Complex

    def rows(self, pick: slice) -> Rows:
        """Pick some rows."""
        return Rows(self.hi[pick], self.lo[pick])

    def split(self, exponent: int = 0) -> Split:
        """Split at 2^(exponent - 26), for parts of at most 2^exponent.

        The magic number's last place is 2^(exponent - 26), so adding it rounds to that; the
        difference from hi is exact.
        """
        magic = 1.5 * 2.0 ** (exponent + 26)
        hi = self.hi.view(np.float64)
        coarse = (hi + magic) - magic
        rest = (hi - coarse) + self.lo.view(np.float64)
        return Split(coarse.view(np.complex128), rest.view(np.complex128), self.hi)

    def scaled(self, factor: Doubled) -> Rows:
        """Multiply by a real number."""
        real, imag = (_times(hi, lo, factor) for hi, lo in ((self.hi.real, self.lo.real), (self.hi.imag, self.lo.imag)))
        return Rows(join(real.hi, imag.hi), join(real.lo, imag.lo))


def _times(hi: NDArray[np.float64], lo: NDArray[np.float64], factor: Doubled) -> Doubled:
    spread = Doubled(np.broadcast_to(factor.hi, hi.shape), np.broadcast_to(factor.lo, hi.shape))
    return multiply(Doubled(*quick_two_sum(hi, lo)), spread)


def join(real: NDArray[np.float64], imag: NDArray[np.float64]) -> Complex:
    """Make complex numbers of real and imaginary parts."""
    whole = np.empty(real.shape, dtype=np.complex128)
    whole.real, whole.imag = real, imag
    return whole


def turn(z: Complex, conjugate: bool, swapped: bool, out: Complex) -> None:
    """Store z or its conjugate, as it is or times i: i (x + iy) = -y + ix."""
    if swapped:
        np.multiply(z.imag, 1.0 if conjugate else -1.0, out=out.real)
        out.imag = z.real
    elif conjugate:
        np.conjugate(z, out=out)
    else:
        out[...] = z


def combine(a: Split, b: Split) -> tuple[Complex, Complex]:
    """Multiply rows, broadcast, into main + rest; main is exact, rest below 2^-25."""
    rest = a.coarse * b.rest
    rest += a.rest * b.whole
    return a.coarse * b.coarse, rest


def rounded(main: Complex, rest: Complex) -> Complex:
    """Add main + rest into one complex128."""
    main += rest
    return main


def doubled(main: Complex, rest: Complex) -> Rows:
    """Turn main + rest into hi + lo."""
    hi, lo = two_sum(main.view(np.float64), rest.view(np.float64))
    return Rows(hi.view(np.complex128), lo.view(np.complex128))
