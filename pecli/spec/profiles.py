"""Measurements of a bias, an index or a code, which the rules of the encodings turn into candidates.

Rules (``identify.py`` of an encoding) turn values by distance, by key or by row into parameters: published values
first, then the shortest decimal in the interval that the effective dtype allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers.rounding import Floats, Integers, units

# Share of the sampled values that must depend on the distance (or the key) alone; the others count as corrupted.
MIN_SHARE_ALIKE = 0.75
# Share of the distances or rows that a rule must give, where others are corrupted.
MIN_SHARE_RULE = 0.9
# Distances that show that an index is clipped or shared.
MIN_DISTANCES = 5
# Distances or keys that slopes are read off, spread over all; the comparison of all values finds exceptions.
MAX_COLUMNS = 1 << 12
# Units in the last place by which a value may miss its slope times the distance, as products of rounded factors do.
MAX_ULP_OFF = 4.0
# Note on a trained bias; its index alone is compared.
CAUSAL = "a causal mask hides the keys after the query"


def median(values: Floats) -> Floats:
    """Return the median of the numbers along the last axis; NaN where there is none."""
    finite = np.isfinite(values)
    numbers = np.where(finite | ~finite.any(axis=-1, keepdims=True), np.nan_to_num(values), np.nan)
    found: Floats = np.nanmedian(numbers, axis=-1)
    return np.where(finite.any(axis=-1), found, np.nan)


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
    ulp : float
        Units in the last place by which plain NumPy code of this formula may be off.
    absolute : float
        Absolute error of such code if the value is small, in the same units of a value of size 1.
    trained : bool
        Whether the values are trained: the recipe gives only which of them are equal.
    doubts : tuple of str
        What the values leave open, such as a range of a parameter; the answer is then at most likely.
    open : tuple of str
        Parameters that the values say nothing of, such as the width of vectors that an index chooses.
    columns : (copies, keys) int64, optional
        Column of its table that each key holds, in each copy that the file has of it.
    """

    name: str
    keys: Mapping[str, str]
    table: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ulp: float = 2.0
    absolute: float = 0.0
    trained: bool = False
    doubts: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    columns: Integers | None = None


@dataclass(frozen=True)
class Profile:
    """A bias or an index reduced to one row a head.

    Attributes
    ----------
    by : {"distance", "key", "slopes", "pair"}
        Quantity that the values depend on; "pair" for none of the others, with one row for each line of the array.
    values : (heads, m) float64
        NaN where masked or unknown.
    at : (m,) int64
        Distance (key minus query) or key of each column.
    form : {"dense", "distance", "past", "slopes", "row"}
        How the array holds them; "past" for distances 0 .. n - 1 before the query.
    masked : str
        What keys after the query hold where that hides them: "", "-inf" or "0".
    queries, keys : int
    align : str
        "first" where the queries are the first of the keys, "" otherwise.
    effective_dtype : str
        The effective dtype.
    integral : bool
        Whether all values are whole numbers, as those of an index are.
    shape : tuple of int
        The array's, without axes of length 1; `name` its name.
    read : callable
        Gives rows `start` to `stop` along its last axis, (stop - start, width) float64.
    copies : int
        How many times the heads are repeated, as a batch repeats them.
    """

    by: str
    values: Floats
    at: Integers
    form: str
    masked: str
    queries: int
    keys: int
    effective_dtype: str
    integral: bool
    name: str
    shape: tuple[int, ...]
    read: Callable[[int, int], Floats] = field(repr=False, compare=False)
    align: str = ""
    copies: int = 1

    @property
    def heads(self) -> int:
        """Number of heads."""
        return len(self.values)

    @property
    def table(self) -> dict[str, str]:
        """The table's keys of a recipe."""
        found = {"length": str(self.keys)}
        if self.form in ("distance", "slopes"):
            found["form"] = self.form
        elif self.queries != self.keys:
            found["queries"] = str(self.queries)
            if self.align:
                found["align"] = self.align
        return found

    @property
    def mask(self) -> dict[str, str]:
        """The parameter of a bias that hides later keys."""
        return {"mask": "causal"} if self.masked else {}

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Columns that are known in every head but a few."""
        finite = np.isfinite(self.values)
        return np.asarray(finite.mean(axis=0) > 0.5)

    @cached_property
    def seen(self) -> tuple[Floats, Integers]:
        """Values of the known columns, and the distance or key of each column."""
        return self.values[:, self.known], self.at[self.known]

    def slopes(self, at: NDArray[Any], columns: NDArray[np.bool_]) -> Floats | None:
        """Return the factor of each head whose values are one number times `at` in these columns; None where none is.

        The factor is NaN for heads whose values are not in proportion.
        """
        chosen = np.flatnonzero(columns & self.known & (at != 0))
        if not len(chosen):
            return None
        chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, min(len(chosen), MAX_COLUMNS)).astype(np.int64))]
        values, weights = self.values[:, chosen], at[chosen].astype(np.float64)
        far = np.abs(weights) >= np.abs(weights).max() / 2  # their rounding matters least
        found = median(values[:, far] / weights[far])
        off = np.abs(values - found[:, None] * weights)
        good = off <= MAX_ULP_OFF * units(values, self.effective_dtype)
        good |= ~np.isfinite(values)
        found = np.where(good.mean(axis=1) >= MIN_SHARE_ALIKE, found, np.nan)
        at_zero = self.known & (at == 0) & columns
        if at_zero.any() and np.nan_to_num(self.values[:, at_zero]).any(axis=1).mean() > 0.5:
            return None
        return found if np.isfinite(found).mean() > 0.5 and np.nan_to_num(found).any() else None

    @property
    def indexes(self) -> bool:
        """Whether it holds whole numbers by distance, of one head."""
        one = self.by == "distance" and self.form == "dense" and self.heads == 1
        return one and self.integral and bool(self.known.sum() >= MIN_DISTANCES)


Option = TypeVar("Option")


def options_of(options: Iterable[Option], rule: Callable[[Option], Integers], wanted: Integers) -> list[Option]:
    """Return the options whose rule gives an index, or all of it but a few entries: those that give most of it."""
    found: dict[float, list[Option]] = {}
    for option in options:
        try:
            share = float((rule(option) == wanted).mean())
        except BadParameter:
            continue
        if share >= MIN_SHARE_RULE:
            found.setdefault(share, []).append(option)
    return found[max(found)] if found else []
