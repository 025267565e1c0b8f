"""What encodings are used for: rules on their declared facts, and on what lies past the trained length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pecli.declare import words
from pecli.declare.encoding import Encoding, Family
from pecli.declare.plan import Waves
from pecli.declare.reach import Reach
from pecli.encodings.recipe import Recipe
from pecli.errors import UnknownName
from pecli.inspection.measured import repeats

Rule = Callable[[Encoding, Recipe], tuple[bool, str]]  # whether it speaks for the encoding, and why


def _rule(holds: Callable[[Encoding], bool], good: str, bad: str) -> Rule:
    def judge(encoding: Encoding, _: Recipe) -> tuple[bool, str]:
        held = holds(encoding)
        return held, good if held else bad

    return judge


def _reaches(encoding: Encoding, recipe: Recipe) -> tuple[bool, str]:
    reach: Reach = encoding.hook("extend")(recipe)
    if not reach.fits and "scaling" in encoding.parameters and recipe.values.get("scaling") in (None, "none"):
        return True, f"only with a scaling: {reach.why.partition(',')[0]}"
    return reach.fits, reach.why


_DEFINED = _rule(lambda e: e.facts.beyond == "defined", "has values at every position", "ends at its longest position")
_RELATIVE = _rule(
    lambda e: e.facts.relative != "no", "a shift acts the same everywhere", "a shift acts on each position differently"
)


def _positions(encoding: Encoding, recipe: Recipe) -> tuple[bool, str]:
    held = encoding.facts.unique and not repeats(recipe)
    return held, "tells all positions apart" if held else "does not tell all positions apart"


def _scales(encoding: Encoding, recipe: Recipe) -> tuple[bool, str]:
    plan = None if recipe.open_parameters else recipe.plan
    alone = isinstance(plan, Waves) and len({*plan.frequencies}) == 1
    held = encoding.facts.multi_scale and not alone
    return held, "has several scales" if held else "has one scale only"


_UNTRAINED = _rule(lambda e: not e.facts.learned, "has nothing to train", "must be trained")
_BOUNDED = _rule(lambda e: e.facts.bounded, "stays in one range", "grows with the position")
_ALONE = _rule(
    lambda e: e.family in (Family.ABSOLUTE, Family.ROTARY, Family.BIAS, Family.RELATIVE),
    "needs nothing but the position",
    "needs content, or gives no positions",
)
_GRID = _rule(lambda e: "grid" in e.parameters, "takes a grid", "takes a line of positions only")
_LINE = _rule(
    lambda e: not {"grid", "sections"} & set(e.parameters),
    "takes a line of positions",
    "takes a grid, or several positions of a token",
)
RULES = (
    (_ALONE, _LINE, _RELATIVE, _scales),
    (_ALONE, _LINE, _positions),
    (_ALONE, _LINE, _reaches),
    (_ALONE, _LINE, _positions, _BOUNDED),
    (_ALONE, _GRID, _positions),
    (_ALONE, _UNTRAINED, _DEFINED),
)
PURPOSES: Mapping[str, tuple[Rule, ...]] = dict(zip(words.PURPOSES, RULES, strict=True))


@dataclass(frozen=True)
class PurposeVerdict:
    """Whether an encoding fits a purpose, and why."""

    fits: bool
    reasons: tuple[str, ...]


def judge(encoding: Encoding, purpose: str, recipe: Recipe | None = None, *, measured: bool = False) -> PurposeVerdict:
    """Return whether an encoding meets a purpose's rules: all reasons for it, or all against.

    Parameters
    ----------
    encoding : Encoding
    purpose : str
        A key of `PURPOSES`.
    recipe : Recipe, optional
        The parameters that are meant; those of the encoding's example by default.
    measured : bool
        Whether the caller measures what lies past the trained length, so that what is declared of it is left out.

    Raises
    ------
    UnknownName
        For a purpose that is not in `PURPOSES`.
    """
    if purpose not in PURPOSES:
        raise UnknownName("purpose", purpose, PURPOSES)
    rules = [rule for rule in PURPOSES[purpose] if not (measured and rule is _reaches)]
    judged = [rule(encoding, recipe or Recipe.parse(encoding.example)) for rule in rules]
    fits = all(held for held, _ in judged)
    return PurposeVerdict(fits, tuple(reason for held, reason in judged if held == fits))
