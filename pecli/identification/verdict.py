"""What may be said of a guess: every value of the file is compared with the recipe's before it is called sure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pecli.comparison.compare import compare_lanes
from pecli.comparison.figures import Figures
from pecli.comparison.results import Tolerance
from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.identification.places import differences
from pecli.identification.trial import Trial, make
from pecli.measures.arithmetics import Arithmetic, find_arithmetic
from pecli.measures.evidence import Evidence
from pecli.measures.lanes import Strip
from pecli.measures.profiles import strays
from pecli.numbers.types import real_type

NEARLY = 0.9  # share of equal values that rounded parameters leave
FLOAT32_ANGLES = 2e-5  # largest difference of a table over a grid, whose angles stay below a hundred
DOUBLE_UNITS = 8  # in which two ways to compute a double differ


@dataclass(frozen=True)
class Identification:
    """What was found.

    Attributes
    ----------
    recipe : str or None
        Text that reproduces the table.
    confidence : {"sure", "likely", "unknown"}
        "sure": every value of the file was compared with the recipe's and is equal to the bit, and the values
        leave no other numbers than the recipe's; "likely": nearly so, or within the errors of a known
        arithmetic: `notes` say what differs, and where.
    residual : float or None
        Largest absolute difference from the recipe's values.
    equal : float or None
        Share of the values that are equal; None where they are trained and only their pattern counts.
    arithmetic : str
        How the values were computed.
    notes : tuple of str
        What else was seen.
    aliases : tuple of str
        Recipes of other encodings that give the same values.
    """

    recipe: str | None
    confidence: str
    residual: float | None
    equal: float | None
    arithmetic: str
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
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
            "aliases": self.aliases,
        }


UNKNOWN = Identification(None, "unknown", None, 0.0, "unknown")


def verdict(trial: Trial, evidence: Evidence) -> Identification:
    """Return how much a guess is worth that did well on the sample."""
    guess = trial.guess
    sample = evidence.sample
    if trial.equal == 1.0:
        how = "exact" if sample.grain == real_type(sample.dtype) else f"exact, rounded to {sample.grain}"
        how = guess.table.get("arithmetic", how)
        return _over_all(trial, how, not guess.listed)
    if guess.partition:
        return _trained(trial, evidence)
    explained = _arithmetic(guess, evidence)
    if explained is None:
        return _by_distance(trial, sample.grain)
    double = sample.grain == "float64" and guess.level in ("exact", "float64")  # as near as doubles get
    if explained.fits or double:
        notes, arithmetic = (explained.words(),), explained.name
    elif guess.level == "exact" and trial.equal > NEARLY:
        notes = ("nearly every value is reproduced: the numbers in the recipe are approximate",)
        arithmetic = "exact"
    elif guess.level in ("float64", "float32") and not guess.listed:
        notes, arithmetic = (explained.words(),), explained.name
    else:
        return UNKNOWN
    found = _over_all(trial, arithmetic, False)
    return Identification(
        found.recipe, "likely", found.residual, found.equal, arithmetic, (*guess.notes, *notes), guess=guess
    )


def _trained(trial: Trial, evidence: Evidence) -> Identification:
    """Return a pattern of equal values: sure if all values of the file follow it, whatever they are."""
    assert evidence.profile is not None
    wrong, count = strays(evidence.whole, evidence.profile)
    notes = (f"{wrong} of {count} values differ from the others of their bucket",) if wrong else ()
    confidence = "likely" if wrong else "sure"
    notes = (*trial.guess.notes, *notes)
    return Identification(trial.recipe, confidence, None, None, "trained", notes, guess=trial.guess)


def _by_distance(trial: Trial, grain: str) -> Identification:
    """Return a guess whose arithmetic is not reproduced: likely if its values are as near as float32 angles leave."""
    guess = trial.guess
    notes, arithmetic = guess.notes, "unknown"
    if trial.residual <= FLOAT32_ANGLES and grain == "float32" and not guess.listed:
        notes, arithmetic = (*guess.notes, "as near as angles in float32 leave"), "float32"
    elif grain == "float64" and trial.units <= DOUBLE_UNITS and not guess.listed:
        arithmetic = "float64"
    elif trial.equal < NEARLY or trial.units > 2:
        return UNKNOWN
    return Identification(trial.recipe, "likely", trial.residual, trial.equal, arithmetic, notes, guess=guess)


def _over_all(trial: Trial, arithmetic: str, known: bool) -> Identification:
    """Compare every value of the file with the recipe's: what was found was tried on the first rows."""
    arrays = [compare_lanes(a, b, [Strip(0, 0, a.rows, ())], Tolerance()).figures for a, b in trial.pairs]
    figures = sum(arrays, Figures())
    notes = trial.guess.notes
    if figures.unequal and arithmetic.startswith("exact"):
        notes = (*notes, differences(arrays))
    confidence = "sure" if known and not figures.unequal else "likely"
    equal = 1 - figures.unequal / max(figures.compared, 1)
    return Identification(trial.recipe, confidence, figures.max_abs, equal, arithmetic, notes, guess=trial.guess)


def _arithmetic(guess: Guess, evidence: Evidence) -> Arithmetic | None:
    """Return how the pairs of a reading were computed, the frequencies those of the recipe."""
    plan = make(guess, "float64").plan
    if not isinstance(plan, Waves) or len(plan.bands) != 1 or plan.axes:
        return None
    count = len(plan.frequencies)
    for reading in evidence.readings:
        m = reading.first.shape[1]
        if m > count:
            continue
        exact = np.array([float(w) for w in plan.frequencies[:m]])
        k = np.arange(len(reading.first)) + reading.rows.start
        positions = float(guess.table.get("start", 0)) + float(guess.table.get("step", 1)) * k
        size = float(plan.magnitude)
        for cos, sin in ((reading.first, reading.second), (reading.second, reading.first)):
            early = np.outer(positions[:EARLY], exact)
            near = np.abs(cos[:EARLY] / size - np.cos(early)).max() + np.abs(sin[:EARLY] / size - np.sin(early)).max()
            if near < NEAR_ENOUGH:
                return find_arithmetic(positions, exact, size, cos, sin, evidence.sample.grain)
    return None


EARLY = 4  # rows that tell a cosine from a sine
NEAR_ENOUGH = 0.5
