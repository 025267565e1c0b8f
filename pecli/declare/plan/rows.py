"""Plans of tables with a row for each position: sines and cosines, and computed values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from pecli.declare.plan.base import Plan
from pecli.errors import BadParameter
from pecli.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.declare.plan.base import Real
    from pecli.numbers.double_double import Exponentials, Points

Frequency = Decimal | Fraction

ONE = Decimal(1)
_DIGITS = Context(prec=50)
_TURN = Decimal("6.28318530717958647692528676655900576839433879875021164194988918461563281257")


@dataclass(frozen=True)
class Band:
    """Frequencies that share a coordinate, and the columns of their sines and cosines.

    Parameters
    ----------
    frequencies : tuple of Decimal or Fraction
        Radians per unit of the coordinate (turns, if `turns`), with
        ``FREQUENCY_DIGITS`` digits where irrational.
    sin, cos : slice or None
        Columns of the row; a slice may hold fewer columns than there are
        frequencies, never more.  A rotary table has the same slice twice.
    axis : int
        Which coordinate of the plan they multiply.
    turns : bool
        Whether the frequencies count turns instead of radians.
    magnitude : Decimal
        Multiplies every sine and cosine of the band.
    """

    frequencies: tuple[Frequency, ...]
    sin: slice | None = None
    cos: slice | None = None
    axis: int = 0
    turns: bool = False
    magnitude: Decimal = ONE


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of a row: ``multiples[index(position)]`` times ``unit``, exactly.

    Parameters
    ----------
    multiples : range or tuple of int
        The values that the coordinate takes, in units.
    index : callable
        Maps int64 row positions (n,) to int64 (n,), which of them each row has;
        a row of a grid shares its coordinate with many others.
    unit : Fraction
        Above 0.
    """

    multiples: range | tuple[int, ...]
    index: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    unit: Fraction = Fraction(1)


@dataclass(frozen=True)
class Ramp:
    """One column that holds a coordinate times a factor, as NeRF's input itself."""

    column: int
    axis: int = 0
    factor: Fraction = Fraction(1)


@dataclass(frozen=True)
class Cross:
    """Phases that are no product of one frequency and one coordinate, in turns.

    Either `factors`: the phase of column k is the sum over the plan's axes of
    ``factors[axis][k]`` times the coordinate.  Or `logarithm`: it is
    ``logarithm[k] * unit * ln p`` at position p.

    Parameters
    ----------
    sin, cos : slice
        Columns of the row.
    factors : tuple of tuple of Fraction
        Turns per unit of each coordinate.
    logarithm : tuple of int
        Multiples of `unit`.
    unit : Fraction
        Turns.
    """

    sin: slice
    cos: slice
    factors: tuple[tuple[Fraction, ...], ...] = ()
    logarithm: tuple[int, ...] = ()
    unit: Fraction = Fraction(1)


@dataclass(frozen=True)
class Beside:
    """A further array with one row for each position: ``at(points)`` gives (n, width).

    In a rotary table it has one column for each pair, and the layout duplicates
    them as it does with cos and sin.
    """

    name: str
    width: int
    at: Callable[[Points], Real | Exponentials]


@dataclass(frozen=True)
class Waves(Plan):
    """Sines and cosines: an absolute table of `width` columns, or a rotary one of `width` pairs.

    Parameters
    ----------
    width : int
        Columns of ``pe``, or of each of ``cos`` and ``sin``.
    bands : tuple of Band
        What fills them; a column that nothing fills is zero (rotary: cos 1, sin 0).
    axes : tuple of Coordinate
        Coordinates of a row; empty for the position itself.
    blank : tuple of int
        Positions whose row is zero.
    prefix, suffix : int
        Rows without a coordinate before and after the others, filled as a column that nothing
        fills; the axes see position - prefix, and `rows` counts them all.
    ramps : tuple of Ramp
        Columns that hold a coordinate itself.
    cross : Cross, optional
        Instead of bands.
    beside : tuple of Beside
        Further arrays by position.
    form : {"real", "complex", "full"}
        "complex": ``pe`` holds cos + i sin, `width` of them.  "full": a rotary table whose `width`
        columns are those of the layout half, because its halves differ.
    parts : tuple of int
        Numbers of pairs of independent blocks, each with two halves of its own in the layout half;
        empty for one block.
    """

    width: int
    bands: tuple[Band, ...]
    axes: tuple[Coordinate, ...] = ()
    blank: tuple[int, ...] = ()
    prefix: int = 0
    suffix: int = 0
    ramps: tuple[Ramp, ...] = ()
    cross: Cross | None = None
    beside: tuple[Beside, ...] = ()
    form: Literal["real", "complex", "full"] = "real"
    parts: tuple[int, ...] = ()

    @property
    def frequencies(self) -> tuple[Decimal, ...]:
        """All frequencies, band after band, in radians; for figures, not for the table."""
        return tuple(_radians(w, band.turns) for band in self.bands for w in band.frequencies)

    @property
    def magnitudes(self) -> tuple[Decimal, ...]:
        """What multiplies the sine and cosine of each of the frequencies."""
        return tuple(band.magnitude for band in self.bands for _ in band.frequencies)

    @property
    def magnitude(self) -> Decimal:
        """The one magnitude of all pairs.

        Raises
        ------
        BadParameter
            Where pairs differ: who reads this reckons with one number.
        """
        found = {band.magnitude for band in self.bands} or {ONE}
        if len(found) > 1:
            raise BadParameter("magnitude", f"{min(found)} to {max(found)}", "differs from pair to pair: one is needed")
        return found.pop()


def _radians(frequency: Frequency, turns: bool) -> Decimal:
    if isinstance(frequency, Fraction):
        frequency = _DIGITS.divide(Decimal(frequency.numerator), Decimal(frequency.denominator))
    return _DIGITS.multiply(frequency, _TURN) if turns else frequency


def progressions(places: Sequence[int]) -> list[slice]:
    """Return slices that together hold ascending places, each as long as the first that are left allow."""
    found, left = [], list(places)
    while left:
        step = left[1] - left[0] if len(left) > 1 else 1
        last, have = left[0], set(left)
        while last + step in have:
            last += step
        run = range(left[0], last + 1, step)
        found.append(slice(run.start, run.stop, step))
        left = [place for place in left if place not in run]
    return found


def rotation(frequencies: tuple[Frequency, ...], magnitude: Decimal | tuple[Decimal, ...] = ONE, **rest: Any) -> Waves:
    """Return the plan of a rotary table whose pair i turns with ``frequencies[i]``.

    Parameters
    ----------
    frequencies : tuple of Decimal or Fraction
        Radians per position, one for each pair.
    magnitude : Decimal or tuple of Decimal
        What multiplies cos and sin: one number, or one for each pair.
    rest
        Further fields of `Waves`.
    """
    sizes = magnitude if isinstance(magnitude, tuple) else (magnitude,) * len(frequencies)
    if len(sizes) != len(frequencies):
        raise BadParameter("magnitude", len(sizes), f"must be one number, or {len(frequencies)}, one for each pair")
    bands, start = [], 0
    for size, alike in groupby(sizes):  # neighbours with one magnitude are filled together
        stop = start + len(list(alike))
        pairs = slice(start, stop)
        bands.append(Band(frequencies[pairs], pairs, pairs, magnitude=size))
        start = stop
    return Waves(len(frequencies), tuple(bands), **rest)


@dataclass(frozen=True)
class Values(Plan):
    """Values computed from the position: ``at(points)`` gives (n, width).

    The result is exact float64, or a ``DoubleDouble`` whose sum is within 2^-100 of
    the value, so that rounding to a narrower type is correct.
    """

    width: int
    at: Callable[[Points], Real]
