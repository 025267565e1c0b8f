"""Vectors of frequencies, as checkpoints keep them: compared with a recipe's, exact and by a framework's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.encodings import CATALOGUE
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.identification.bases import between, exponents_of
from pecli.identification.fitting import chosen, room_for, said, wide, with_number
from pecli.identification.places import one_value, rows_said
from pecli.identification.verdict import UNKNOWN, Identification
from pecli.measures.computing import spacing
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats, rounded
from pecli.measures.vectors import SPOILED, once
from pecli.numbers.shortest import shortest
from pecli.numbers.text import number_text


def identify_vector(guess: Guess, evidence: Evidence) -> Identification:
    """Return what a vector of frequencies is: sure if all are the recipe's, rounded or by float32 steps.

    A base that leaves some of them is replaced by the shortest that all of them allow.
    """
    found = _identified(guess, evidence)
    refined = _allowed(guess, evidence) if found.recipe is None and "base" in guess.free else None
    return found if refined is None else _identified(refined, evidence)


def _allowed(guess: Guess, evidence: Evidence) -> Guess | None:
    """Return a guess with the shortest base that all given frequencies allow; None where they allow none."""
    given = _given(evidence)
    exact, base = _frequencies(guess), float(guess.keys.get("base", "10000"))
    exponents = None if exact is None or len(exact) != len(given) else exponents_of(guess, exact, base)
    if exact is None or exponents is None:
        return None
    low, high = between(base, exact, exponents, given, spacing(given, evidence.sample.grain) * SLACK["exact"], 1.0)
    return with_number(guess, "base", shortest(low, high)) if low < high else None


def _frequencies(guess: Guess) -> Floats | None:
    """Return the frequencies of a guess; None where it has none."""
    try:
        plan = Recipe.bind(guess.name, **guess.keys).plan
    except PecliError:
        return None
    return np.array([float(w) for w in plan.frequencies]) if isinstance(plan, Waves) else None


def _identified(guess: Guess, evidence: Evidence) -> Identification:
    given = _given(evidence)
    try:
        recipe = Recipe.bind(guess.name, **guess.keys)
        plan = recipe.plan
    except PecliError:
        return UNKNOWN
    if not isinstance(plan, Waves) or len(plan.frequencies) != len(given):
        return UNKNOWN
    exact = np.array([float(w) for w in plan.frequencies])
    best = UNKNOWN
    for how, made in (("exact", exact), ("float32", _by_steps(recipe, plan))):
        values = rounded(made, evidence.sample.grain) if made is not None else None
        if values is None:
            continue
        gap = np.abs(rounded(exact, evidence.sample.grain) - given)
        equal, residual = float((values == given).mean()), float(np.nan_to_num(gap, nan=np.inf).max())
        wrong = np.flatnonzero(~((values == given) | (np.abs(values - given) <= NEAR * given)))
        spoiled = not (np.abs(values - given)[wrong] < WRONG * values[wrong]).any()
        if spoiled and len(wrong) <= len(given) // SPOILED + (len(given) > FEW) and equal > (best.equal or 0.0):
            base = float(guess.keys.get("base", "10000"))
            exponents = exponents_of(guess, exact, base)
            unit = spacing(given, evidence.sample.grain)
            unit[wrong] = np.inf
            ends = (1.0, 0.0) if exponents is None else between(base, exact, exponents, given, unit * SLACK[how])
            ranges = {"base": (f"{ends[0]:.12g}", f"{ends[1]:.12g}")} if ends[0] < ends[1] else {}
            open_ = any(wide(number_text(Decimal(repr(base))), span) for span in ranges.values())
            confidence = "sure" if equal == 1.0 and not open_ else "likely"
            told = (*_nearly(given, values, wrong), *(_told(given, values, wrong) if len(wrong) else ()))
            notes = (*guess.notes, *told, *said(ranges, "is as near" if len(wrong) else "gives these values"))
            best = Identification(str(recipe), confidence, residual, equal, how, notes, ranges=ranges, guess=guess)
    return best


def _given(evidence: Evidence) -> Floats:
    assert evidence.rows is not None
    return once(evidence.rows)[0]


def _nearly(given: Floats, values: Floats, wrong: NDArray[np.intp]) -> tuple[str, ...]:
    """Say how many values are near, and not equal."""
    near = int((given != values).sum()) - len(wrong)
    return (f"{near} of {len(given)} values differ by less than a millionth, as powers in float32 do",) if near else ()


def _told(given: Floats, values: Floats, wrong: NDArray[np.intp]) -> tuple[str, ...]:
    """Say which values are wrong."""
    if len(wrong) == 1:
        (at,) = wrong.tolist()
        return (one_value(f"[{at}]", float(given[at]), float(values[at])),)
    where = rows_said(int(wrong[0]), int(wrong[-1]), len(wrong))
    return (f"{len(wrong)} of {len(given)} values differ, {where}",)


def best_vector(found: Sequence[Identification]) -> Identification:
    """Return the cheapest of the best; with the ranges of numbers in which others of its kind are as good."""
    best = max(found, key=lambda one: (one.equal or 0.0, -one.guess.cost if one.guess else 0.0))
    same = [one for one in found if one.equal == best.equal and one.arithmetic == best.arithmetic and _like(one, best)]
    others = [one.recipe for one in same if one.recipe and one.recipe != best.recipe]
    if best.guess is None or not others:
        return best
    ranges = {}
    for name in best.guess.free:
        ends = [Decimal(end) for one in same for end in one.ranges.get(name, (_number(one, name),))]
        if min(ends) < max(ends):
            ranges[name] = (str(min(ends)), str(max(ends)))
    spans = (f"{name} from {low} to {high}" for name, (low, high) in ranges.items())
    own = {*said(best.ranges, "is as near"), *said(best.ranges, "gives these values")}  # of one recipe alone
    notes = (
        *(note for note in best.notes if note not in own),
        room_for(others),
        *([f"together they have {', '.join(spans)}"] if ranges else []),
    )
    return replace(best, confidence="likely", notes=notes, ranges=ranges)


def _like(one: Identification, other: Identification) -> bool:
    """Whether two have the same parameters but for the numbers that were fitted."""
    fixed = [
        {k: v for k, v in found.guess.keys.items() if k not in found.guess.free} if found.guess else None
        for found in (one, other)
    ]
    return fixed[0] == fixed[1]


def _number(found: Identification, name: str) -> str:
    assert found.guess is not None
    return chosen(found.guess, name)


def _by_steps(recipe: Recipe, plan: Waves) -> Floats | None:
    """Return the frequencies that a framework's float32 steps give."""
    encoding = CATALOGUE[recipe.encoding.name]
    if not encoding.declares("emulate"):
        return None
    emulation: Any = encoding.hook("emulate")(plan, recipe.values, "float32")
    found: Floats = emulation.frequencies.astype(np.float64)
    return found


SLACK = {"exact": 0.5, "float32": 1.5}  # units by which a frequency may be off
NEAR = 2.0**-20  # relative difference of powers in float32, of up to nine units
FEW = 5  # frequencies, of which none may be spoiled
WRONG = 2.0**-8  # relative difference of a value that is spoiled: other numbers of a recipe leave less
