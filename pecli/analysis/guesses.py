"""A recipe that may reproduce a table, and how it is put to the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pecli.analysis.samples import Sample, holds, take
from pecli.errors import PecliError
from pecli.recipe import Recipe
from pecli.table import Table
from pecli.tabular import DTYPES


@dataclass(frozen=True)
class Guess:
    """A recipe for a table.

    Attributes
    ----------
    name : str
        Of the encoding.
    keys : mapping of str to str
        Its parameters.
    table : mapping of str to str
        len, start, step, layout, form.
    cost : float
        Digits that were chosen to fit; between guesses that fit alike the cheapest is meant.
    arithmetic : str
        How its values were computed, as far as known: a key of `spectra.LEVELS`.
    notes : tuple of str
        What the recipe does not say: parts exchanged, a finding about the values.
    exchanged : bool
        Whether the two arrays hold each other's values.
    determined : bool
        Whether the rule stands out among others; not so for a list of numbers that any table could have.
    """

    name: str
    keys: Mapping[str, str]
    table: Mapping[str, str] = field(default_factory=dict)
    cost: float = 0.0
    arithmetic: str = "exact"
    notes: tuple[str, ...] = ()
    exchanged: bool = False
    determined: bool = True

    def make(self, dtype: str) -> Table:
        """Return its table; PecliError if the numbers are not allowed."""
        options: dict[str, Any] = {("length" if k == "len" else k): v for k, v in self.table.items()}
        if options.get("layout") == "complex" and dtype not in ("float32", "float64"):
            dtype = "float32"
        recipe = Recipe.bind(self.name, **self.keys)
        return Table.make(recipe, dtype=dtype if dtype in DTYPES else "float64", **options)


@dataclass(frozen=True)
class Trial:
    """How a guess did on the sample.

    Attributes
    ----------
    equal : float
        Share of the values that are equal to the bit.
    residual : float
        Largest absolute difference.
    recipe : str
        Text of the guess's table.
    """

    equal: float
    residual: float
    recipe: str


def try_guess(guess: Guess, sample: Sample, rows: int = 512) -> Trial | None:
    """Compute a guess in the sample's grain and compare it; None where it cannot be computed or has another shape."""
    try:
        table = guess.make(sample.grain)
        mine = take(table, rows)
    except PecliError:
        return None
    theirs = sample.planes[::-1] if guess.exchanged else sample.planes
    if len(mine.planes) != len(theirs):
        return None
    equal, count, residual = 0, 0, 0.0
    for p, q in zip(mine.planes, theirs, strict=True):
        x, y = np.squeeze(p.values), np.squeeze(q.values)
        n = min(len(np.atleast_1d(x)), len(np.atleast_1d(y)), rows)
        if p.rows != q.rows or x.shape[1:] != y.shape[1:]:
            return None
        x, y = np.atleast_1d(x)[:n], np.atleast_1d(y)[:n]
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        equal, count = equal + int(same.sum()), count + same.size
        if not same.all():
            with np.errstate(invalid="ignore"):
                gap = np.abs(x - y)[~same]
            residual = max(residual, float(np.nan_to_num(gap, nan=np.inf).max()))
    return Trial(equal / max(count, 1), residual, table.recipe or "")


__all__ = ["Guess", "Trial", "holds", "try_guess"]
