"""A guess put to the test on the rows of a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pecli.declare.guess import Guess
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.measures.computing import spacing
from pecli.measures.evidence import Evidence
from pecli.measures.floats import floats
from pecli.measures.lanes import Filled, Lane, lane_of, regrouped
from pecli.measures.samples import Floats
from pecli.measures.wave import NARROW
from pecli.numbers.types import DTYPES, real_type
from pecli.tables.table import Table

WHOLE = 1 << 18  # values of an array that is tried whole
ROWS = 512  # of a larger one
SPOILED = 8.0  # units by which a spoiled value is off at least; other numbers of a recipe leave less
SCREENED = 2e-2  # of the largest value: a wrong choice is off by much more in most values
Pairs = list[tuple[Lane, Lane]]


@dataclass(frozen=True)
class Trial:
    """How a guess did on the sample.

    Attributes
    ----------
    guess : Guess
    recipe : str
        Text of the guess's table.
    pairs : list of (Lane, Lane)
        The table's arrays and those of the recipe that stand for each other.
    equal : float
        Share of the values that are equal to the bit.
    residual : float
        Largest absolute difference.
    units : float
        The same in units in the last place of the sample's grain.
    near : float
        Share of the values that are as near as another way to compute them in double or single precision leaves.
    allowed : float
        What that is, for a table of these rows.
    intact : float
        Share of the rows whose values are all equal.
    close : float
        Share of the rows whose values are all as near.
    beside : float
        Share of the values that are not equal, and few units off.
    told : float
        Share of the values that are equal, where the recipe has neither zero nor a hidden key.
    stand_in : float, optional
        What stands in the table where the recipe has minus infinity.
    """

    guess: Guess
    recipe: str
    pairs: Pairs
    equal: float
    residual: float = 0.0
    units: float = 0.0
    near: float = 1.0
    allowed: float = 0.0
    intact: float = 1.0
    close: float = 1.0
    beside: float = 0.0
    told: float = 1.0
    stand_in: float | None = None

    @property
    def arrays(self) -> tuple[str, ...]:
        """The file's arrays that the recipe's stand for."""
        return tuple(left.name for left, _ in self.pairs)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the recipe does not say."""
        if self.stand_in is None:
            return self.guess.notes
        return (*self.guess.notes, f"{self.stand_in:g} stands where keys are hidden, and the recipe has minus infinity")


def make(guess: Guess, dtype: str) -> Table:
    """Return the table of a guess; PecliError if the numbers are not allowed."""
    options: dict[str, Any] = dict(guess.table)
    if options.get("layout") == "complex" and dtype not in ("float32", "float64"):
        dtype = "float32"
    return Table.make(Recipe.bind(guess.name, **guess.keys), dtype=dtype, **options)


def try_guess(guess: Guess, evidence: Evidence) -> Trial | None:
    """Compare a guess with the sample, in the file's type or else its grain; None where shapes differ or all is off."""
    sample = evidence.whole if len(evidence.whole.lanes) == len(guess.arrays) else evidence.sample
    found = None
    for dtype in dict.fromkeys(
        (real_type(sample.dtype), sample.grain) if real_type(sample.dtype) in DTYPES else TRIED_OF_WHOLE
    ):
        try:
            table = make(guess, dtype)
            if guess.partition:
                return Trial(guess, table.recipe or "", [], 0.0)
            pairs = pairs_of(guess, table, evidence)
            if pairs is None or not (guess.level in NARROW or all(_screened(a, b, evidence.window) for a, b in pairs)):
                return None
            number = _stand_in(*pairs[0]) if len(pairs) == 1 else None
            if number is not None:
                pairs = [(pairs[0][0], Filled.of(pairs[0][1], number))]
            trial = _tried(guess, table.recipe or "", pairs, sample.grain, evidence.window)
            trial = replace(trial, stand_in=number)
        except PecliError:
            return None
        if found is None or trial.equal > found.equal:
            found = trial
        if found.equal == 1.0:
            break
    return found


TRIED_OF_WHOLE = ("float32", "float64")  # types of a recipe for whole numbers


def pairs_of(guess: Guess, table: Table, evidence: Evidence) -> Pairs | None:
    """Return the arrays that stand for each other; None where they are others, or have other shapes."""
    names = guess.arrays or tuple(array.name for array in table.arrays)
    mine = [lane_of(table, table.array(name)) for name in names]
    for theirs in evidence.lanes(names):
        ordered = theirs[::-1] if guess.exchanged else theirs
        pairs = [_side_by_side(a, b) for a, b in zip(ordered, mine, strict=True)] if len(theirs) == len(mine) else []
        found = [pair for pair in pairs if pair is not None]
        if pairs and len(found) == len(pairs):
            return found
    return None


def _side_by_side(left: Lane, right: Lane) -> tuple[Lane, Lane] | None:
    """Return two lanes in rows of the same size, axes of points and of length 1 apart; None where they do not fit."""
    a, b = left.plain_shape, right.plain_shape
    if left.rows * left.row_size != right.rows * right.row_size or left.dtype[:7] == "complex" != right.dtype[:7]:
        return None
    flat = len(a) == 1 and len(b) == 2 and left.dtype.startswith(("int", "uint"))  # an index, row after row
    if a != b and not flat and (len(a) == len(b) or a[-1:] != b[-1:]):
        return None
    if left.row_size == right.row_size:
        return left, right
    width = max(left.row_size, right.row_size, 1 if a == b else b[-1])
    return regrouped(left, width), regrouped(right, width)


def _stand_in(left: Lane, right: Lane) -> float | None:
    """Return the one number that stands in the first row where the recipe has minus infinity; None where it does."""
    if type(right) is not Lane:
        return None
    x, y = read_rows(left, 0, 1), read_rows(right, 0, 1)
    found = x[np.isneginf(y)]
    return float(found[0]) if found.size and np.isfinite(found).all() and (found == found[0]).all() else None


def _screened(left: Lane, right: Lane, window: slice | None) -> bool:
    """Whether most values of most of three rows are near; narrow arithmetics leave slow pairs so.

    One row may be spoiled.
    """
    first, stop = (0, left.rows) if window is None else (window.start, window.stop)
    rows = dict.fromkeys((min(first + 1, stop - 1), (3 * first + stop) // 4, (first + stop) // 2))
    passed = 0
    for number, row in enumerate(rows, 1):
        x, y = read_rows(left, row, row + 1), read_rows(right, row, row + 1)
        with np.errstate(invalid="ignore"):
            near = (np.abs(x - y) <= SCREENED * max(1.0, _largest(y))) | (x == y) | np.isnan(x) | np.isneginf(y)
        passed += near.mean() >= 0.5
        if max(passed, number - passed) > len(rows) / 2:
            break
    return passed > len(rows) / 2


def _largest(values: Floats) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _tried(guess: Guess, recipe: str, pairs: Pairs, grain: str, window: slice | None) -> Trial:
    equal, count, residual, units, near, intact, close = 0, 0, 0.0, 0.0, 0, 1.0, 1.0
    beside, told, telling = 0, 0, 0
    allowed = _allowed(guess, pairs, grain)
    for left, right in pairs:
        rows = left.rows if left.rows * left.row_size <= WHOLE else min(ROWS, left.rows)
        first, stop = (0, rows) if window is None else (window.start, window.stop)
        x, y = read_rows(left, first, stop), read_rows(right, first, stop)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        equal, count = equal + int(same.sum()), count + same.size
        intact = min(intact, float(same.all(axis=1).mean()))
        shown = np.isfinite(y) & (y != 0)
        told, telling = told + int(same[shown].sum()), telling + int(shown.sum())
        if not same.all():
            with np.errstate(invalid="ignore"):
                gap = np.nan_to_num(np.abs(x - y)[~same], nan=np.inf)
            as_near = same.copy()
            as_near[~same] = np.isfinite(gap) & (gap <= allowed * np.maximum(1.0, np.abs(x[~same])))
            near += int(as_near.sum()) - int(same.sum())
            close = min(close, float(as_near.all(axis=1).mean()))
            residual = max(residual, float(gap.max()))
            with np.errstate(over="ignore", invalid="ignore"):
                off = gap / spacing(x[~same], grain)
            units, beside = max(units, float(off.max())), beside + int((off <= SPOILED).sum())
    count = max(count, 1)
    shares = equal / count, residual, units, (equal + near) / count, allowed, intact, close
    return Trial(guess, recipe, pairs, *shares, beside / count, told / max(telling, 1))


def _allowed(guess: Guess, pairs: Pairs, grain: str) -> float:
    """Return what two ways to compute a value may differ by: in double precision, or with angles in float32."""
    if grain == "float64":
        start, step = (abs(float(guess.table.get(key, default))) for key, default in (("start", 0), ("step", 1)))
        return ROUNDINGS * 2.0**-53 * (1 + start + pairs[0][0].rows * step)
    return FLOAT32_ANGLES if grain == "float32" else 0.0


ROUNDINGS = 8.0  # of an angle of a table in double precision, which add to those of its values
FLOAT32_ANGLES = 2e-5  # largest difference of a table over a grid, whose angles stay below a hundred


def read_rows(lane: Lane, start: int, stop: int) -> Floats:
    found: Floats = floats(lane.read(start, stop), lane.dtype).astype(np.float64).reshape(stop - start, -1)
    return found


__all__ = ["Pairs", "Trial", "make", "pairs_of", "try_guess"]
