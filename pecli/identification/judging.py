"""How much a guess at an unknown table is worth: sure, likely, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pecli.comparison.compare import compare_tables
from pecli.declare.tabular import Tabular
from pecli.errors import PecliError
from pecli.identification.finders.guesses import Guess, Trial, try_guess
from pecli.measures.arithmetics import Arithmetic
from pecli.measures.samples import Sample
from pecli.numbers.types import real_type
from pecli.tables.table import Table

Explain = Callable[[Guess], Arithmetic | None]
NEARLY = 0.9  # share of equal values that rounded parameters leave
CHECKED_ROWS = 512  # that a guess is tried on
MOST_BYTES = 4 << 30  # of a table that is compared in every row
MOSTLY = 0.999  # share of equal values where a library's cosine is off by a unit now and then
WHOLE_SPREAD = 12.0  # roundings of an angle
FLOAT32_ANGLES = 2e-5  # largest difference of a table over a grid, whose angles stay below a hundred
DOUBLE_UNITS = 8  # in which two ways to compute a double differ
ROUNDINGS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


@dataclass(frozen=True)
class Identification:
    """What was found.

    Attributes
    ----------
    recipe : str or None
        Text that reproduces the table.
    confidence : {"sure", "likely", "unknown"}
        "sure": every value is reproduced to the bit and the numbers in the recipe are determined by the
        values; "likely": within the errors of a known arithmetic.
    residual : float or None
        Largest absolute difference from the recipe's values.
    equal : float
        Share of the values that are equal; None where they are trained and only their pattern counts.
    arithmetic : str
        How the values were computed.
    notes : tuple of str
        What else was seen.
    """

    recipe: str | None
    confidence: str
    residual: float | None
    equal: float | None
    arithmetic: str
    notes: tuple[str, ...] = ()
    guess: Guess | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return what --json prints."""
        return {
            "recipe": self.recipe,
            "confidence": self.confidence,
            "residual": self.residual,
            "equal_share": self.equal,
            "arithmetic": self.arithmetic,
            "notes": self.notes,
        }


UNKNOWN = Identification(None, "unknown", None, 0.0, "unknown")


def judged(guess: Guess, trial: Trial, sample: Sample, explain: Explain) -> Identification:
    """Return how much a guess is worth."""
    if trial.equal == 1.0:
        how = "exact" if sample.grain == _real(sample.dtype) else f"exact, rounded to {sample.grain}"
        confidence = "sure" if guess.determined else "likely"
        return Identification(trial.recipe, confidence, trial.residual, 1.0, how, guess.notes, guess)
    if guess.partition:
        return Identification(trial.recipe, "sure", None, None, "trained", guess.notes, guess)
    explained = explain(guess)
    if explained is None:
        return _judged_by_distance(guess, trial, sample)
    notes = (*guess.notes, explained.words())
    guess, trial = _emulated(guess, trial, explained, sample)
    double = sample.grain == "float64" and guess.arithmetic in ("exact", "float64")  # as near as doubles get
    arithmetic = explained.name
    if explained.fits or double:
        confidence = "sure" if guess.determined else "likely"
    elif guess.arithmetic == "exact" and trial.equal > NEARLY:
        confidence, arithmetic = "likely", "exact"
        notes = (*guess.notes, "nearly every value is reproduced: the numbers in the recipe are approximate")
    else:
        confidence = "likely" if guess.arithmetic in ("float64", "float32") else "unknown"
    return Identification(trial.recipe, confidence, trial.residual, trial.equal, arithmetic, notes, guess)


def _judged_by_distance(guess: Guess, trial: Trial, sample: Sample) -> Identification:
    """Return a guess whose arithmetic is not reproduced: likely if its values are as near as float32 angles leave."""
    if trial.residual <= FLOAT32_ANGLES and sample.grain == "float32" and guess.determined:
        notes = (*guess.notes, "as near as angles in float32 leave")
        return Identification(trial.recipe, "likely", trial.residual, trial.equal, "float32", notes, guess)
    if sample.grain == "float64" and trial.units <= DOUBLE_UNITS and guess.determined:
        return Identification(trial.recipe, "sure", trial.residual, trial.equal, "float64", guess.notes, guess)
    if trial.equal < NEARLY or trial.units > 2:
        return UNKNOWN
    return Identification(trial.recipe, "likely", trial.residual, trial.equal, "unknown", guess.notes, guess)


def _emulated(guess: Guess, trial: Trial, how: Arithmetic, sample: Sample) -> tuple[Guess, Trial]:
    """Return the guess with a framework's arithmetic in its recipe, where that reproduces more values."""
    if guess.name != "rope" or how.name not in ("float32", "bfloat16"):
        return guess, trial
    own = replace(guess, table={**guess.table, "arithmetic": how.name})
    again = try_guess(own, sample)
    return (own, again) if again is not None and again.equal > trial.equal else (guess, trial)


def _real(dtype: str) -> str:
    return real_type(dtype)


def over_all_rows(table: Tabular, found: Identification) -> Identification:
    """Compare a table with its recipe in every row: what was found was tried on the first ones."""
    guess = found.guess
    if found.recipe is None or guess is None or guess.partition or guess.exchanged or found.equal is None:
        return found
    if table.arrays[0].rows <= CHECKED_ROWS or sum(a.bytes for a in table.arrays) > MOST_BYTES:
        return found
    try:
        whole = compare_tables(table, Table.parse(found.recipe))
    except PecliError:
        return found
    total = whole.total
    if not total.compared or not whole.complete:
        return found
    residual, equal = max(found.residual or 0.0, total.max_abs), 1 - total.unequal / total.compared
    found, first = replace(found, residual=residual, equal=equal), total.first
    if found.confidence != "sure" or first is None or _as_before(found, total.max_ulp, table):
        return found
    note = f"not all the way: row {first.index[0] if first.index else 0} is the first that differs"
    return replace(found, confidence="likely", notes=(*found.notes, note))


def _as_before(found: Identification, units: int, table: Tabular) -> bool:
    """Whether the rows after the head are as near as the arithmetic that was found leaves them."""
    assert found.residual is not None
    assert found.equal is not None
    if found.arithmetic.startswith("exact"):
        return units <= 1 and found.equal > MOSTLY
    rows = table.arrays[0].rows
    keys = found.guess.table if found.guess is not None else {}
    farthest = abs(float(keys.get("start", 0))) + rows * abs(float(keys.get("step", 1)))
    return found.residual <= 2 * WHOLE_SPREAD * ROUNDINGS.get(found.arithmetic, 1.0) * (1 + farthest)
