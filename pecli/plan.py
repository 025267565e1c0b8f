"""What an encoding's function returns when it does not compute values itself.

An encoding that oscillates returns its frequencies and where their sines and
cosines go; the engine fills them straight into the target type.  A bias
returns how it depends on query and key.  Nothing here imports NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.phase.doubled import Doubled
    from pecli.points import Points

    Real = Doubled | NDArray[Any]

ONE = Decimal(1)


@dataclass(frozen=True)
class Band:
    """Frequencies that share a coordinate, and the columns of their sines and cosines.

    Parameters
    ----------
    frequencies : tuple of Decimal
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

    frequencies: tuple[Decimal, ...]
    sin: slice | None = None
    cos: slice | None = None
    axis: int = 0
    turns: bool = False


@dataclass(frozen=True)
class Axis:
    """One coordinate of a row: ``multiples(position)`` times ``unit``, exactly.

    ``multiples`` maps int64 row positions (n,) to int64 (n,).
    """

    multiples: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    unit: Fraction = Fraction(1)


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
        What fills them; a column that no band fills is zero (rotary: cos 1, sin 0).
    magnitude : Decimal
        Multiplies every sine and cosine.
    axes : tuple of Axis
        Coordinates of a row; empty for the position itself.
    blank : tuple of int
        Positions whose row is zero.
    prefix : int
        Rows of zeros that stand before position 0; the axes see position - prefix.
    rows : int, optional
        Length of the table where the plan fixes it (a grid).
    constants : mapping of name to callable
        Small arrays that belong to the table and do not depend on the position.
    domain : Domain
        Which positions have a value.
    """

    width: int
    bands: tuple[Band, ...]
    magnitude: Decimal = ONE
    axes: tuple[Axis, ...] = ()
    blank: tuple[int, ...] = ()
    prefix: int = 0
    rows: int | None = None
    constants: Mapping[str, Callable[[], Real]] = field(default_factory=dict)
    domain: Domain = field(default_factory=Domain)

    @property
    def frequencies(self) -> tuple[Decimal, ...]:
        """All frequencies, band after band."""
        return tuple(w for band in self.bands for w in band.frequencies)


def rotation(frequencies: tuple[Decimal, ...], magnitude: Decimal = ONE, **rest: Any) -> Waves:
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
    constants: Mapping[str, Callable[[], Real]] = field(default_factory=dict)
    rows: int | None = None


@dataclass(frozen=True)
class Bias:
    """Numbers added to the logits, one for each head, query and key.

    Parameters
    ----------
    heads : int
        Number of heads.
    value : callable
        Of points and a range of heads, giving (heads, m).  The points are, by `by`:
        "distance": key - query; "key": the key; "last": the key minus the last key.
        With ``by == "pair"``: of query points (q,), key points (k,) and a range of heads, giving (heads, q, k).
    by : {"distance", "key", "last", "pair"}
        What it depends on.
    causal : bool
        Whether keys after the query get minus infinity.
    slopes : callable, optional
        Gives the slope of each head, exactly.
    index : callable, optional
        Of distances, giving the integers (buckets, rows of a table) that ``--form index`` writes, (m,) int64.
    constants : mapping of name to callable
        Further small arrays of the table.
    """

    heads: int
    value: Callable[..., Real]
    by: Literal["distance", "key", "last", "pair"] = "distance"
    causal: bool = False
    slopes: Callable[[], Sequence[Fraction]] | None = None
    index: Callable[[Points], NDArray[np.int64]] | None = None
    constants: Mapping[str, Callable[[], Real]] = field(default_factory=dict)


Plan = Waves | Values | Bias
