"""What every plan has: rows, domain, arrays that stand beside the positions, and the files it reads."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from pecli.errors import BadParameter
from pecli.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pecli.numbers.double_double import DoubleDouble
    from pecli.numbers.positions import Positions

    Real = DoubleDouble | NDArray[Any]

Role = Literal["parameter", "vector", "index", "input"]


def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Domain:
    """Which positions have a value.

    Parameters
    ----------
    low, high : Fraction, optional
        The smallest and the largest.
    integral : bool
        Whether they are whole numbers.
    remedy : str
        Completes "position P has no value in NAME: ".
    """

    low: Fraction | None = None
    high: Fraction | None = None
    integral: bool = False
    remedy: str = ""

    def check(self, name: str, positions: Positions) -> None:
        """Raise BadParameter where a position has no value in the encoding of this name."""
        from pecli.numbers.positions import fraction_text

        if self.integral and not positions.integral:
            raise BadParameter("positions", "(fractional)", f"must be whole numbers for {name}: {self.remedy}")
        low, high = positions.lowest, positions.highest
        for outside, position in (
            (self.low is not None and low < self.low, low),
            (self.high is not None and high > self.high, high),
        ):
            if outside:
                raise BadParameter("position", fraction_text(position), f"has no value in {name}: {self.remedy}")


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
    role : {"parameter", "vector", "index", "input"}
        What it is: trained values; the (trained) vectors of distances; which of them belongs to which query and
        key; or what is neither trained nor asked for by position, as the coordinates that a network is given.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    values: Callable[[int, int], Real]
    lead: int = 1
    dtype: str | None = None
    role: Role = "parameter"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What an encoding's function returns: enough to fill any rows of its table, in any order.

    Parameters
    ----------
    rows : int, optional
        Length of the table where the plan fixes it (a grid, a window).
    domain : Domain
        Which positions have a value.
    fixed : tuple of Fixed
        Further arrays that do not depend on the rows asked for.
    prepare : callable
        Reads files and checks what they hold; called before anything is written.
    """

    rows: int | None = None
    domain: Domain = Domain()
    fixed: tuple[Fixed, ...] = ()
    prepare: Callable[[], object] = nothing

    @property
    def frequencies(self) -> tuple[Decimal, ...]:
        """All frequencies in radians, for figures and not for the table; none where nothing oscillates."""
        return ()
