"""Plans of tables with a row for each position: sines and cosines, and computed values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.numbers.doubled import Doubled
    from pecli.numbers.exponentials import Exponentials
    from pecli.numbers.points import Points

    Real = Doubled | NDArray[Any]

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
    """

    frequencies: tuple[Frequency, ...]
    sin: slice | None = None
    cos: slice | None = None
    axis: int = 0
    turns: bool = False


@dataclass(frozen=True)
class Axis:
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
class Fixed:
    """A further array whose rows are no positions, such as a drawn matrix.

    Parameters
    ----------
    name : str
        Of the array.
    shape : tuple of int
        Of the whole array.
    axes : tuple of str
        What each axis is.
    values : callable
        Of a first and a last row, giving rows (k, *shape[lead:]), float64 or doubled.
    lead : int
        How many axes count as rows.
    dtype : str, optional
        Type of whole numbers; the table's own where there is none.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    values: Callable[[int, int], Real]
    lead: int = 1
    dtype: str | None = None


@dataclass(frozen=True)
class Domain:
    """Which positions have a value.

    ``remedy`` completes "position P is outside LOW..HIGH: ".
    """

    low: Fraction | None = None
    high: Fraction | None = None
    integral: bool = False
    remedy: str = ""


@dataclass(frozen=True)
class Waves:
    """Sines and cosines: an absolute table of `width` columns, or a rotary one of `width` pairs.

    Parameters
    ----------
    width : int
        Columns of ``pe``, or of each of ``cos`` and ``sin``.
    bands : tuple of Band
        What fills them; a column that nothing fills is zero (rotary: cos 1, sin 0).
    magnitude : Decimal
        Multiplies every sine and cosine.
    axes : tuple of Axis
        Coordinates of a row; empty for the position itself.
    blank : tuple of int
        Positions whose row is zero.
    prefix, suffix : int
        Rows without a coordinate before and after the others, filled as a column that nothing
        fills; the axes see position - prefix.
    rows : int, optional
        Length of the table where the plan fixes it (a grid), with prefix and suffix.
    ramps : tuple of Ramp
        Columns that hold a coordinate itself.
    cross : Cross, optional
        Instead of bands.
    beside : tuple of Beside
        Further arrays by position.
    fixed : tuple of Fixed
        Further arrays that do not depend on the rows asked for.
    form : {"real", "complex", "full"}
        "complex": ``pe`` holds cos + i sin, `width` of them.  "full": a rotary table whose `width`
        columns are those of the layout half, because its halves differ.
    parts : tuple of int
        Numbers of pairs of independent blocks, each with two halves of its own in the layout half;
        empty for one block.
    domain : Domain
        Which positions have a value.
    """

    width: int
    bands: tuple[Band, ...]
    magnitude: Decimal = ONE
    axes: tuple[Axis, ...] = ()
    blank: tuple[int, ...] = ()
    prefix: int = 0
    suffix: int = 0
    rows: int | None = None
    ramps: tuple[Ramp, ...] = ()
    cross: Cross | None = None
    beside: tuple[Beside, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    form: Literal["real", "complex", "full"] = "real"
    parts: tuple[int, ...] = ()
    domain: Domain = field(default_factory=Domain)

    @property
    def frequencies(self) -> tuple[Decimal, ...]:
        """All frequencies, band after band, in radians; for figures, not for the table."""
        return tuple(_radians(w, band.turns) for band in self.bands for w in band.frequencies)


def _radians(frequency: Frequency, turns: bool) -> Decimal:
    if isinstance(frequency, Fraction):
        frequency = _DIGITS.divide(Decimal(frequency.numerator), Decimal(frequency.denominator))
    return _DIGITS.multiply(frequency, _TURN) if turns else frequency


def rotation(frequencies: tuple[Frequency, ...], magnitude: Decimal = ONE, **rest: Any) -> Waves:
    """Return the plan of a rotary table whose pair i turns with ``frequencies[i]``."""
    every = slice(0, len(frequencies))
    return Waves(len(frequencies), (Band(frequencies, every, every),), magnitude, **rest)


@dataclass(frozen=True)
class Values:
    """Values computed from the position: ``at(points)`` gives (n, width).

    The result is exact float64, or a ``Doubled`` whose sum is within 2^-100 of
    the value, so that rounding to a narrower type is correct.
    """

    width: int
    at: Callable[[Points], Real]
    domain: Domain = field(default_factory=Domain)
    rows: int | None = None
