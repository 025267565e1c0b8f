"""Results of the judge: candidates, how they fit, and the result of an identification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pecli.judge.orders import numbered
from pecli.judge.planes import planes_of, sample_rows
from pecli.spec.profiles import Candidate
from pecli.spec.tabular import Tabular

if TYPE_CHECKING:
    from pecli.tables.table import Table

__all__ = ["Candidate", "Fit", "Identification"]


@dataclass(frozen=True)
class Fit:
    """Agreement of a candidate's table with a file, over all values of the arrays that both have.

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
    nearly : float
        Of an unknown table, the share of the values that the nearest recipe gives.
    nearest : str or None
        That recipe.
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
    nearly: float = 0.0
    nearest: str | None = None

    def __repr__(self) -> str:
        if self.recipe is None:
            text = "; ".join(self.measured) or "no recipe was found that gives these values"
            return "\n  ".join([f"unknown: {text}", *self.notes])
        text = f"{self.confidence}: {self.recipe} (arithmetic {self.arithmetic})"
        return "\n  ".join([text, *self.notes, *(f"also {other}" for other in self.aliases)])

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that --json prints."""
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


# Largest number of heads of an array whose range is measured; of more, every second head or fewer are read.
MAX_PLANES = 64


def statistics_of(table: Tabular) -> tuple[str, ...]:
    """Return the range, the mean and the deviation of each array, and which of its rows are zero."""
    texts = []
    for array in table.arrays[:3]:
        if not array.bytes:
            continue
        planes = planes_of(table, array)
        rows = sample_rows(planes[0].rows, planes[0].width)
        values = np.concatenate([plane.at(rows) for plane in planes[:: 1 + len(planes) // MAX_PLANES]])
        finite = values[np.isfinite(values)]
        if not finite.size:
            continue
        text = f"{array.name}: values from {finite.min():.4g} to {finite.max():.4g}, mean {finite.mean():.3g}, "
        size = np.abs(finite).max() or 1.0  # whose square may be no number
        text += f"deviation {size * (finite / size).std():.3g}"
        for word, empty in (("all zeros", values == 0), ("NaN", np.isnan(values))):
            blank = np.flatnonzero(empty.all(axis=1))
            if 0 < len(blank) < len(values) == planes[0].rows:
                text += f"; {numbered('row', blank)} {'is' if len(blank) == 1 else 'are'} {word}"
        texts.append(text)
    return tuple(texts)
