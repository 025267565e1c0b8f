"""What may be said of a guess: every value of the file is compared with the recipe's before it is called sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pecli.comparison.compare import compare_lanes
from pecli.comparison.figures import Figures
from pecli.comparison.results import Tolerance
from pecli.declare.guess import Guess
from pecli.identification.bases import Bases
from pecli.identification.computed import Left, Workings, explained
from pecli.identification.fitting import chosen, near_ranges, ranges_of, said, wide, with_number
from pecli.identification.places import differences
from pecli.identification.trial import SPOILED, Trial, make, try_guess
from pecli.identification.worth import NEARLY, long, worth
from pecli.measures.evidence import Evidence
from pecli.measures.groups import strays
from pecli.measures.lanes import Strip, lane_of
from pecli.measures.wave import NARROW
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.types import real_type

INTACT = 0.5  # share of the rows that are the recipe's to the bit, where others are spoiled
FEW = 0.01  # share of the values that may be next to the recipe's where others are spoiled
FEW_UNITS = 2  # by which frequencies of narrow values may be off: more are as free as a base's digits
MOST_WHOLE = 2  # explanations that are compared with all values
LATER = 0.98  # share of the wrong values that other positions must leave at most, to be named
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
    count : int
        How many values were compared where an arithmetic, or the recipe itself, gives them; else 0.
    arrays : tuple of str
        The file's arrays that the recipe accounts for.
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
    count: int = field(default=0, compare=False)
    arrays: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        if self.recipe is None:
            return "\n  ".join(["unknown: no recipe was found that gives these values", *self.notes])
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


def verdict(trial: Trial, evidence: Evidence, *, ranged: bool = True) -> Identification:
    """Return how much a guess is worth that did well on the sample.

    `ranged`: with the ranges of its numbers where it is only near, which no other verdict depends on.
    """
    sample = evidence.sample

    def near() -> dict[str, tuple[str, str]]:
        return near_ranges(trial.guess, evidence) if ranged else {}

    if trial.guess.partition:
        return _trained(trial, evidence)
    if trial.equal == 1.0:
        own = real_type(sample.dtype)
        if all(real_type(right.dtype) == own for _, right in trial.pairs):  # though a narrower type would hold them too
            evidence = replace(evidence, sample=replace(sample, grain=own))
        whole = evidence.integral or all(right.dtype.startswith(("int", "uint")) for _, right in trial.pairs)
        how = "exact" if whole or evidence.sample.grain == own else f"exact, rounded to {sample.grain}"
        return _over_all(trial, trial.guess.table.get("arithmetic", how), evidence, near)
    two_ways = sample.grain == "float64" and trial.near > trial.equal  # to compute a double, beside what is spoiled
    spoiled = trial.intact >= INTACT and trial.units > SPOILED and not two_ways
    apart = trial.beside <= FEW and trial.told >= (INTACT if evidence.regular else NEARLY) and not two_ways
    nearly = trial.equal > NEARLY and (evidence.window is not None or trial.units <= 1)
    counted = evidence.integral and trial.told >= INTACT  # whole numbers are equal, or are others
    if (spoiled or apart or nearly or counted) and not trial.guess.listed:
        return _over_all(trial, trial.guess.table.get("arithmetic", "exact"), evidence, near)
    few = trial.near < NEARLY and not (two_ways and trial.close >= INTACT)
    if few or trial.guess.listed or not trial.allowed:
        return UNKNOWN
    if evidence.window is not None:  # some rows are as near: how many of all
        everything = replace(evidence, window=None)
        again = try_guess(trial.guess, everything)
        return verdict(again, everything, ranged=ranged) if again is not None else UNKNOWN
    arrays, shapes = compared(trial, Tolerance(atol=trial.allowed, rtol=trial.allowed))
    figures = sum(arrays, Figures())
    much = figures.beyond > (1 - NEARLY) * figures.compared
    if much and (sample.grain == "float32" or ("base" in trial.guess.free and long(trial.guess))):
        return UNKNOWN  # numbers that happen to fit the rows that were looked at
    but = f", but {differences(arrays, shapes)}" if figures.beyond else ""
    return _likely(trial, trial.residual, trial.equal, sample.grain, WAYS[sample.grain] + but, near())


WAYS = {
    "float32": "as near as angles in float32 leave",
    "float64": "float64 rounding: as near as two ways to compute a double are",
}


def _likely(
    trial: Trial,
    residual: float | None,
    equal: float,
    arithmetic: str,
    note: str,
    ranges: Mapping[str, tuple[str, str]],
) -> Identification:
    notes = (*trial.notes, note, *said(ranges, "is as near"))
    return Identification(
        trial.recipe, "likely", residual, equal, arithmetic, notes, (), ranges, trial.guess, arrays=trial.arrays
    )


def _trained(trial: Trial, evidence: Evidence) -> Identification:
    """Return a pattern of equal values: sure if all values of the file follow it, whatever they are."""
    assert evidence.profile is not None
    table = make(trial.guess, "float32")
    found = strays(evidence.whole.lanes[0], lane_of(table, table.array("index")), causal=evidence.profile.causal)
    if found.wrong > INTACT * found.count or found.alike > INTACT:
        return UNKNOWN
    spans = trial.guess.spans
    notes = (*trial.guess.notes, *said(spans))
    if found.wrong:
        ends = f"the first at {list(found.first or ())}, the last at {list(found.last or ())}"
        notes += (f"{found.wrong} of {found.count} values differ from the others of their bucket, {ends}",)
    confidence = "likely" if found.wrong or trial.guess.open else "sure"
    guess = replace(trial.guess, cost=trial.guess.cost + found.wrong / found.count)
    return Identification(trial.recipe, confidence, None, None, "trained", notes, ranges=spans, guess=guess)


def compared(trial: Trial, tolerance: Tolerance) -> tuple[list[Figures], list[tuple[int, ...]]]:
    """Return how the whole arrays of a file compare with the recipe's, and their shapes."""
    arrays = [compare_lanes(a, b, [Strip(0, 0, a.rows, ())], tolerance).figures for a, b in trial.pairs]
    return arrays, [a.shape for a, _ in trial.pairs]


def holds_over_all(trial: Trial, equal: float) -> bool:
    """Whether a recipe that gives the sample gives at least such a share of the whole table."""
    figures = sum(compared(trial, Tolerance())[0], Figures())
    return 1 - figures.unequal / max(figures.compared, 1) >= equal


def _over_all(
    trial: Trial, arithmetic: str, evidence: Evidence, near: Callable[[], dict[str, tuple[str, str]]]
) -> Identification:
    """Compare every value of the file with the recipe's: what was found was tried on the first rows."""
    arrays, shapes = compared(trial, Tolerance())
    figures = sum(arrays, Figures())
    equal = 1 - figures.unequal / max(figures.compared, 1)
    if figures.unequal:
        return _likely(trial, figures.largest or None, equal, arithmetic, differences(arrays, shapes), near())
    ranges = {**ranges_of(trial.guess, evidence), **trial.guess.spans}
    notes = (*trial.notes, *said(ranges))
    open_ = any(wide(chosen(trial.guess, name), ends) for name, ends in ranges.items() if name not in trial.guess.spans)
    confidence = "likely" if trial.guess.listed or trial.guess.open or open_ or trial.stand_in is not None else "sure"
    rest = notes, (), ranges, trial.guess, figures.compared, trial.arrays
    return Identification(trial.recipe, confidence, 0.0, 1.0, arithmetic, *rest)


Explanation = tuple[Guess, Workings, tuple[str, str] | None, bool]
"""A guess, how its values were computed, the ends of its base, and whether all between give the same values."""


def verdict_of_arithmetic(trial: Trial, evidence: Evidence) -> Identification:
    """Return what a guess is worth whose values were computed with roundings: unknown if none explains them."""
    best = explained(trial.guess, evidence)
    if best is None:
        return UNKNOWN
    found: list[Explanation] = [(trial.guess, best, *Bases(trial.guess, best).ends())]
    found += _refined(trial.guess, best, evidence)
    found.sort(key=_merit, reverse=True)
    if found[0][1].how.way and not best.how.way and found[0][1].how.equal < 1:  # a first base hid the way
        found += _refined(*found[0][:2], evidence)
        found.sort(key=_merit, reverse=True)
    if found[0][1].how.equal == 1:  # what explains the rows looked at is told apart by all
        found = [one for one in found if one[1].how.equal == 1][:MOST_WHOLE]
        found.sort(key=lambda one: one[1].over_all(evidence).wrong if len(found) > 1 else 0)
    guess, best, _, every = found[0]
    narrow = best.how.grain in ("float16", "bfloat16") or best.how.way or best.how.name in ("float16", "bfloat16")
    if not best.how.fits or guess.listed or best.how.equal < (NEARLY_ALL if narrow else 0.0):
        return UNKNOWN
    best, left = _by_later_rows(best, evidence)
    wrong = left.wrong
    notes = (*guess.notes, best.how.words())
    name = best.how.name
    if wrong:
        notes = (*notes, f"{wrong} of {left.count} values differ from what that arithmetic gives, {left.where}")
    if wrong and name == best.how.grain == "float64":
        return UNKNOWN  # what is spoiled shows beside what another way to compute a double gives
    beside = list(_beside(trial, evidence))
    if any(figures.unequal > (1 - NEARLY) * figures.compared for figures, _ in beside):
        return UNKNOWN
    notes = (*notes, *(note for _, note in beside if note))
    wrong += sum(figures.unequal for figures, _ in beside)
    count = left.count + sum(figures.compared for figures, _ in beside)
    verified = None if wrong and every else Bases(guess, best).verified(evidence, left.wrong)
    if verified and digits(short := shortest(*map(float, verified))) < digits(Decimal(chosen(guess, "base"))):
        guess = with_number(guess, "base", short)  # any between gives the same values
    recipe = make(guess, evidence.sample.grain).recipe or ""
    ends = verified or (Bases(guess, best).ends()[0] if every or (narrow and (wrong or long(guess))) else None)
    ranges = {"base": ends} if ends else {}
    notes = (*notes, *said(ranges, "gives these values" if verified and not wrong else "is as near"))
    open_ = wide(chosen(guess, "base"), ends) if ends else "base" in guess.free and long(guess)
    hidden = narrow and best.how.off > FEW_UNITS  # another base may need fewer
    confidence = "likely" if wrong or open_ or hidden else "sure"
    shares = left.residual, 1 - wrong / max(count, 1)
    return Identification(recipe, confidence, *shares, name, notes, (), ranges, guess, count, trial.arrays)


def _beside(trial: Trial, evidence: Evidence) -> Iterator[tuple[Figures, str]]:
    """Yield how arrays beside the cosines and sines compare with the recipe's, and what is to be said of each."""
    read = {lane.name for lane in evidence.sample.lanes}
    for pair in (pair for pair in trial.pairs if pair[0].name not in read):
        arrays, shapes = compared(replace(trial, pairs=[pair]), Tolerance())
        unequal = arrays[0].unequal
        yield arrays[0], f"of the array '{pair[0].name}' {differences(arrays, shapes)}" if unequal else ""


def _by_later_rows(found: Workings, evidence: Evidence) -> tuple[Workings, Left]:
    """Return how values were computed, and what is wrong of all: narrow positions are as wide ones in early rows."""
    best, told = found, found.over_all(evidence)
    if told.wrong and evidence.window is not None and found.how.positions != "float64" and not found.how.way:
        for kind in {"float32", *NARROW} - {found.how.positions}:
            other = replace(found, how=replace(found.how, positions=kind))
            again = other.over_all(evidence)
            if again.wrong < min(told.wrong * LATER, INTACT * again.count):
                best, told = other, again
    return best, told


def _refined(guess: Guess, best: Workings, evidence: Evidence) -> Iterator[Explanation]:
    """Yield how a guess explains the values with other bases that they may come from."""
    for other, span, all_of_it in Bases(guess, best).refined():
        how = explained(other, evidence) if chosen(other, "base") != chosen(guess, "base") else None
        if how is not None:
            yield other, how, span, all_of_it


def _merit(found: Explanation) -> tuple[float, float]:
    """Return what makes one explanation better: how many values it gives, a few for each digit, and fewer digits."""
    guess, workings, *_ = found
    equal = workings.how.equal
    share = worth(equal, workings.shown, sure=equal == 1 and not ("base" in guess.free and long(guess)))
    return equal - share * guess.cost, -guess.cost
