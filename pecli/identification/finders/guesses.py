"""A recipe that may reproduce a table, and how it is put to the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.measures.arithmetics import spacing
from pecli.measures.lanes import Lane, lane_of
from pecli.measures.samples import Floats, Sample, holds, take
from pecli.numbers.types import DTYPES, real_type
from pecli.tables.table import Table

SMALL = 1 << 18  # values of a table that is compared whole


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
    partition : bool
        Whether only which values are equal is tested: the values themselves are trained.
    """

    name: str
    keys: Mapping[str, str]
    table: Mapping[str, str] = field(default_factory=dict)
    cost: float = 0.0
    arithmetic: str = "exact"
    notes: tuple[str, ...] = ()
    exchanged: bool = False
    determined: bool = True
    partition: bool = False

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
    units : float
        The same in units in the last place of the sample's grain.
    recipe : str
        Text of the guess's table.
    """

    equal: float
    residual: float
    units: float
    recipe: str


def try_guess(guess: Guess, sample: Sample, rows: int = 512) -> Trial | None:
    """Compute a guess in the sample's grain and compare it; None where it cannot be computed or has another shape."""
    plain = real_type(sample.dtype)
    if plain.startswith(("int", "uint", "bool")):
        return _tried(guess, sample, "float64" if guess.name in ("integer", "binary") else "float32", rows)
    found = _tried(guess, sample, sample.grain, rows)
    if found is None or found.equal < 1.0 or plain == sample.grain or plain not in DTYPES:
        return found
    wide = _tried(guess, sample, plain, rows)  # exact in the file's own type, too?
    return wide if wide is not None and wide.equal == 1.0 else found


def _tried(guess: Guess, sample: Sample, dtype: str, rows: int) -> Trial | None:
    try:
        table = guess.make(dtype)
        if guess.partition:
            return Trial(0.0, 0.0, 0.0, table.recipe or "")
        pairs = _beside(table, sample, rows, exchanged=guess.exchanged)
    except PecliError:
        return None
    if pairs is None:
        return None
    equal, count, residual, units = 0, 0, 0.0, 0.0
    for x, y in pairs:
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        equal, count = equal + int(same.sum()), count + same.size
        if not same.all():
            with np.errstate(invalid="ignore"):
                gap = np.nan_to_num(np.abs(x - y)[~same], nan=np.inf)
            residual = max(residual, float(gap.max()))
            units = max(units, float((gap / spacing(y[~same], sample.grain)).max()))
    return Trial(equal / max(count, 1), residual, units, table.recipe or "")


def _beside(table: Table, sample: Sample, rows: int, *, exchanged: bool) -> list[tuple[Floats, Floats]] | None:
    """Return the values of a guess and of the sample that stand for each other; None where shapes differ.

    Small tables are compared whole and whatever their axes of length 1, of others the first rows.
    """
    theirs = sample.lanes[::-1] if exchanged else sample.lanes
    mine = [lane_of(table, array) for array in table.arrays]
    if [lane.plain_shape for lane in mine] == [lane.plain_shape for lane in theirs] and all(
        lane.rows * lane.row_size <= SMALL for lane in theirs
    ):
        return [(_all(a), _all(b)) for a, b in zip(mine, theirs, strict=True)]
    head = take(table, rows, unstack=False)
    planes = sample.planes[::-1] if exchanged else sample.planes
    if len(head.planes) != len(planes):
        return None
    found = []
    for p, q in zip(head.planes, planes, strict=True):
        x, y = np.atleast_1d(np.squeeze(p.values)), np.atleast_1d(np.squeeze(q.values))
        if x.ndim == 2 and y.ndim > 2 and y.shape[-1] == x.shape[1] and y.size == x.size:
            y = y.reshape(x.shape)  # frames, rows and columns are axes of their own
        n = min(len(x), len(y), rows)
        if x.shape[1:] != y.shape[1:] or (p.rows != q.rows and len(x) != len(y)):
            return None
        found.append((x[:n], y[:n]))
    return found


def _all(lane: Lane) -> Floats:
    """Return all values of a small lane, flat."""
    from pecli.measures.floats import floats

    values: Floats = floats(lane.read(0, lane.rows), lane.dtype).astype(np.float64).reshape(-1)
    return values


__all__ = ["Guess", "Trial", "holds", "try_guess"]
