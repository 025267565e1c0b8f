"""What may be said of a guess: every value of the file is compared with the recipe's before it is called sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pecli.comparison.compare import compare_lanes
from pecli.comparison.figures import Figures
from pecli.comparison.results import Tolerance
from pecli.declare.guess import Guess
from pecli.identification.computed import explained, refined
from pecli.identification.places import differences
from pecli.identification.ranges import ranges_of, wide
from pecli.identification.trial import Trial, make
from pecli.measures.evidence import Evidence
from pecli.measures.lanes import Strip
from pecli.measures.profiles import strays
from pecli.numbers.types import real_type

NEARLY = 0.9  # share of equal values that rounded parameters leave
NEARLY_ALL = 0.99  # share of equal values of a narrow type, where no library's cosine shows


@dataclass(frozen=True, repr=False)
class Identification:
    """What was found.

    Attributes
    ----------
    recipe : str or None
        Text that reproduces the table.
    confidence : {"sure", "likely", "unknown"}
        "sure": every value of the file was compared with the recipe's, or with what the named arithmetic makes
        of it, and is equal to the bit; "likely": `notes` say what differs and where, or `ranges` which numbers
        the values leave room for.
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
    ranges : mapping of str to (str, str)
        Numbers of the recipe that the values leave room for: from which to which they would be the same.
    """

    recipe: str | None
    confidence: str
    residual: float | None
    equal: float | None
    arithmetic: str
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    guess: Guess | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        if self.recipe is None:
            return "\n  ".join(["unknown: no recipe that is known gives these values", *self.notes])
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
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
        }


UNKNOWN = Identification(None, "unknown", None, 0.0, "unknown")


def verdict(trial: Trial, evidence: Evidence) -> Identification:
    """Return how much a guess is worth that did well on the sample."""
    sample = evidence.sample
    if trial.guess.partition:
        return _trained(trial, evidence)
    if trial.equal == 1.0:
        how = "exact" if sample.grain == real_type(sample.dtype) else f"exact, rounded to {sample.grain}"
        return _over_all(trial, trial.guess.table.get("arithmetic", how), evidence)
    if trial.equal > NEARLY and trial.units <= 1 and not trial.guess.listed:
        note = "nearly every value is reproduced, the others are next to it"
        return _likely(trial, trial.residual, trial.equal, "exact", note)
    if trial.near < NEARLY or trial.guess.listed or not trial.allowed:
        return UNKNOWN
    note = WAYS[sample.grain]
    if trial.near < 1.0:
        tolerance = Tolerance(atol=trial.allowed)
        arrays = [compare_lanes(a, b, [Strip(0, 0, a.rows, ())], tolerance).figures for a, b in trial.pairs]
        note = f"{note}, but {differences(arrays)}"
    return _likely(trial, trial.residual, trial.equal, sample.grain, note)


WAYS = {
    "float32": "as near as angles in float32 leave",
    "float64": "as near as two ways to compute a double are",
}


def _likely(trial: Trial, residual: float, equal: float, arithmetic: str, note: str) -> Identification:
    notes = (*trial.guess.notes, note)
    return Identification(trial.recipe, "likely", residual, equal, arithmetic, notes, guess=trial.guess)


def _trained(trial: Trial, evidence: Evidence) -> Identification:
    """Return a pattern of equal values: sure if all values of the file follow it, whatever they are."""
    assert evidence.profile is not None
    wrong, count = strays(evidence.whole, evidence.profile)
    notes = (f"{wrong} of {count} values differ from the others of their bucket",) if wrong else ()
    confidence = "likely" if wrong else "sure"
    notes = (*trial.guess.notes, *notes)
    return Identification(trial.recipe, confidence, None, None, "trained", notes, guess=trial.guess)


def _over_all(trial: Trial, arithmetic: str, evidence: Evidence) -> Identification:
    """Compare every value of the file with the recipe's: what was found was tried on the first rows."""
    arrays = [compare_lanes(a, b, [Strip(0, 0, a.rows, ())], Tolerance()).figures for a, b in trial.pairs]
    figures = sum(arrays, Figures())
    equal = 1 - figures.unequal / max(figures.compared, 1)
    if figures.unequal:
        return _likely(trial, figures.max_abs, equal, arithmetic, differences(arrays))
    ranges, notes = ranges_of(trial.guess, evidence), trial.guess.notes
    confidence = "likely" if trial.guess.listed or any(wide(ends) for ends in ranges.values()) else "sure"
    notes = (*notes, *_said(ranges))
    return Identification(trial.recipe, confidence, 0.0, 1.0, arithmetic, notes, ranges=ranges, guess=trial.guess)


def verdict_of_arithmetic(trial: Trial, evidence: Evidence) -> Identification:
    """Return what a guess is worth whose values were computed with roundings: unknown if none explains them."""
    guess, ends = trial.guess, None
    best = explained(guess, evidence)
    if best is None:
        return UNKNOWN
    if best.how.equal < 1.0:
        for other, span in refined(guess, best):
            found = explained(other, evidence)
            if found is not None and found.how.equal > best.how.equal:
                best, guess, ends = found, other, span
    narrow = best.how.grain in ("float16", "bfloat16") or best.how.way or best.how.name in ("float16", "bfloat16")
    if not best.how.fits or guess.listed or best.how.equal < (NEARLY_ALL if narrow else 0.0):
        return UNKNOWN
    recipe = make(guess, evidence.sample.grain).recipe or ""
    wrong, count, residual = best.over_all(evidence)
    notes = (*guess.notes, best.how.words())
    name, equal = best.how.name, 1 - wrong / max(count, 1)
    if wrong:
        notes = (*notes, f"{wrong} of {count} values differ from what that arithmetic gives here")
        return Identification(recipe, "likely", residual, equal, name, notes, guess=guess)
    if ends is None:
        ends = next((span for other, span in refined(guess, best) if other.keys == guess.keys), None)
    ranges = {"base": ends} if ends else {}
    notes = (*notes, *_said(ranges))
    confidence = "likely" if ends and wide(ends) else "sure"
    return Identification(recipe, confidence, residual, equal, name, notes, ranges=ranges, guess=guess)


def _said(ranges: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{name}: any from {low} to {high} gives these values" for name, (low, high) in ranges.items())
