"""What is said of a table: candidates, how they fit, and the result of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pecli.tables.table import Table

NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Candidate:
    """An encoding with the parameters that an identification rule read off the measurements.

    Attributes
    ----------
    name : str
        The encoding.
    keys : mapping of str to str
        Its parameters as a recipe writes them.
    table : mapping of str to str
        The table's own: length, start, step, positions, layout, form, queries.
    notes : tuple of str
        What else was seen.
    fitted : int
        Significant digits that were fitted to the values; 0 for published values and defaults.
    ulp : float
        Units in the last place by which plain NumPy code of this formula may be off.
    absolute : float
        Absolute error of such code where the value is small, in the same units of a value of size 1.
    trained : bool
        Whether the values are trained: the recipe gives only which of them are equal.
    doubts : tuple of str
        What the values leave open, such as a range of a parameter; the answer is then at most likely.
    """

    name: str
    keys: Mapping[str, str]
    table: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fitted: int = 0
    ulp: float = 2.0
    absolute: float = 0.0
    trained: bool = False
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fit:
    """How the table of a candidate agrees with a file, over all values of the arrays that both have.

    Attributes
    ----------
    candidate : Candidate
    table : Table
        The candidate's.
    count : int
        Values compared.
    equal : float
        Share that is equal.
    max_ulp : float
        Largest difference of the values that fit, in units in the last place of the effective dtype.
    arithmetic : str
        "exact", or the type whose rounding explains the differences.
    unexplained : int
        How many values do not fit.
    places : tuple of str
        Where they are.
    residual : float
        Largest absolute difference of the values that fit.
    arrays : tuple of str
        The file's arrays that were compared.
    """

    candidate: Candidate
    table: Table
    count: int
    equal: float
    max_ulp: float
    arithmetic: str
    unexplained: int
    places: tuple[str, ...]
    residual: float
    arrays: tuple[str, ...] = ()

    @property
    def explained(self) -> float:
        """Share of the values that fit."""
        return 1.0 - self.unexplained / self.count if self.count else 0.0


@dataclass(frozen=True, repr=False)
class Identification:
    """The recipe that reproduces a table, and how certain it is.

    Attributes
    ----------
    recipe : str or None
        Text that reproduces the table.
    confidence : {"sure", "likely", "unknown"}
        "sure": the parameters are determined, and every value is equal to the recipe's or within the stated units
        in the last place of what a named arithmetic gives; "likely": nothing else fits as well, and at least 99 %
        of the values are explained.
    residual : float or None
        Largest absolute difference from the recipe's values, of those that are explained.
    equal : float or None
        Share of the values that are equal; None where they are trained and only their pattern counts.
    arithmetic : str
        How the values were computed.
    notes : tuple of str
        What else was seen.
    aliases : tuple of str
        Recipes of other encodings that give the same values.
    count : int
        How many values were compared.
    arrays : tuple of str
        The file's arrays that the recipe accounts for.
    measured : tuple of str
        Of an unknown table, what was measured.
    """

    recipe: str | None
    confidence: str
    residual: float | None = None
    equal: float | None = 0.0
    arithmetic: str = "unknown"
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    count: int = 0
    arrays: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if self.recipe is None:
            said = "; ".join(self.measured) or "no recipe was found that gives these values"
            return "\n  ".join([f"unknown: {said}", *self.notes])
        said = f"{self.confidence}: {self.recipe} (arithmetic {self.arithmetic})"
        return "\n  ".join([said, *self.notes, *(f"also {other}" for other in self.aliases)])

    def as_dict(self) -> dict[str, Any]:
        """Return what --json prints."""
        return {
            "recipe": self.recipe,
            "confidence": self.confidence,
            "residual": self.residual,
            "equal_share": self.equal,
            "arithmetic": self.arithmetic,
            "notes": self.notes,
            "aliases": self.aliases,
            "measured": self.measured,
        }
