"""Encodings in order for a purpose and two lengths: by measured verdicts, each with its reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pecli.declare.encoding import Encoding, Family
from pecli.declare.reach import Reach
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter, PecliError
from pecli.extrapolation.extrapolation import extrapolate
from pecli.extrapolation.scalings import Scaled, compare_scalings, scalings_of
from pecli.inspection.costs import Setting, fitted
from pecli.inspection.facts import formula_value
from pecli.inspection.purposes import PurposeVerdict, judge
from pecli.records import dataclass

HOLDS = ("inside", "falls", "nothing")
SIZE = Setting(width=512, heads=8)  # of the first Transformer: what is counted is counted for it
INSIDE, APART = 0.99, 0.5  # of the new phases, and of the distance of neighbours in training, that a scaling must keep
USERS = 3  # named at most


@dataclass(frozen=True)
class Ranked:
    """An encoding's place among those for a purpose.

    Attributes
    ----------
    name : str
        As it was given: a recipe, or the encoding's name.
    encoding : Encoding
    recipe : str
        What was measured.
    fits : bool
        Whether it meets the purpose's rules at these lengths.
    verdict : str
        A key of `pecli.extrapolation.extrapolation.RULES`; "" where nothing was measured.
    reach : float
        Share of the test length that a query still weighs.
    trained : int
        Numbers to train.
    reasons : tuple of str
        What speaks for it, or against.
    """

    name: str
    encoding: Encoding
    recipe: str
    fits: bool
    verdict: str
    reach: float
    trained: int
    reasons: tuple[str, ...]


def _used(ranked: Ranked) -> int:
    """Return how many users its declaration names."""
    return len(ranked.encoding.users.split(",")) if ranked.encoding.users else 0


def _trained_rows(ranked: Ranked) -> tuple[float, ...]:
    return (not (ranked.encoding.facts.learned and ranked.encoding.family is Family.ABSOLUTE), -_used(ranked))


def _in_attention(ranked: Ranked) -> tuple[float, ...]:
    return (ranked.encoding.family not in (Family.ROTARY, Family.BIAS), -round(ranked.reach, 3), -_used(ranked))


def _farthest(ranked: Ranked) -> tuple[float, ...]:
    return (-round(ranked.reach, 3), -_used(ranked), ranked.trained)


# what comes first among those that fit: lengths that stay the same reward rows of their own, decoders an order that
# every layer meets again, long contexts what is reached; elsewhere what most people use
_ORDERS: Mapping[str, Callable[[Ranked], tuple[float, ...]]] = {
    "masked-lm": _trained_rows, "short": _trained_rows, "language-modelling": _in_attention,
}  # fmt: skip


def rank(
    purpose: str, items: Sequence[tuple[Encoding, Recipe | None]], train: int | None = None, test: int | None = None
) -> list[Ranked]:
    """Return encodings for a purpose, the best first.

    Parameters
    ----------
    purpose : str
        A key of `pecli.inspection.purposes.PURPOSES`.
    items : sequence of (Encoding, Recipe or None)
        A recipe is judged as it is; without one the encoding at a usual width and number of heads.
    train, test : int, optional
        Positions of training and of use; together, `test` no smaller.  Without them nothing is measured.

    Raises
    ------
    UnknownName, BadParameter
        For another purpose, one length without the other, or a test length below the training length.
    """
    if (train is None) != (test is None):
        raise BadParameter("train-len", train, "goes with --test-len: give both, or neither")
    if train is not None and test is not None and test < train:
        raise BadParameter("test-len", test, f"must be at least the training length {train}")
    found = [_ranked(purpose, encoding, recipe, train, test) for encoding, recipe in items]
    order = _ORDERS.get(purpose, _farthest)
    return sorted(found, key=lambda r: (not r.fits, *order(r), r.encoding.place))


def _ranked(purpose: str, encoding: Encoding, own: Recipe | None, train: int | None, test: int | None) -> Ranked:
    longer = train is not None and test is not None and test > train and "grid" not in encoding.parameters
    same = train is not None and train == test  # nothing lies past training
    judged = judge(encoding, purpose, own, measured=longer or same)
    recipe, word, reach = own or _usual(encoding, train), "", 1.0
    if longer and train is not None and test is not None and judged.fits:
        recipe, word, reach, said = _measured(recipe, train, test)
        fits = word in HOLDS
        judged = PurposeVerdict(fits, (*judged.reasons, said) if fits else (said,))
    trained = formula_value(encoding.facts.parameters, recipe.values)
    reasons = list(judged.reasons)
    if judged.fits and trained:
        reasons.append(f"{trained:,} trained values")
    if judged.fits and encoding.users:
        users = re.sub(r" \(.*?\)", "", encoding.users)  # what is said of one has commas of its own
        reasons.append(f"in {', '.join(users.split(', ')[:USERS])}")
    name = own.short if own else encoding.name
    return Ranked(name, encoding, recipe.short, judged.fits, word, reach, trained, tuple(reasons))


def _usual(encoding: Encoding, train: int | None) -> Recipe:
    """Return the encoding in the first Transformer's size, with as many trained rows as training needs."""
    made = fitted(encoding, SIZE)
    if train is None or "max_len" not in encoding.parameters:
        return made
    return Recipe.bind(encoding.name, **{**made.keys(), "max-len": str(train)})


def _keeps(scaled: Scaled) -> bool:
    """Whether a scaling leaves phases where training showed them and neighbours apart, and is declared to extend."""
    if scaled.reach is None or scaled.reach.inside <= INSIDE or scaled.reach.resolution_kept <= APART:
        return False
    recipe = Recipe.parse(scaled.recipe)
    declared: Reach = recipe.encoding.hook("extend")(recipe)
    return declared.fits


def _measured(recipe: Recipe, train: int, test: int) -> tuple[Recipe, str, float, str]:
    """Return what was measured past the trained length: of which recipe, the verdict, the reach, a sentence."""
    try:
        found = extrapolate(recipe.short, recipe, train, test)
    except PecliError as error:
        return recipe, "ends", 0.0, str(error)
    if found.verdict == "unseen":
        scaled = [one for one in compare_scalings(recipe, scalings_of(recipe), train, test) if _keeps(one)]
        if scaled:
            best = max(scaled, key=lambda one: one.reach.resolution_kept if one.reach else 0.0)
            return Recipe.parse(best.recipe), "inside", 1.0, f"only with a scaling: without one {found.finding}"
    reach = 1.0
    if found.bias is not None:
        widest = min(test - 1, max(head.window for head in found.bias.heads))
        return recipe, found.verdict, widest / test, f"its widest head reaches distance {widest} of {test - 1}"
    return recipe, found.verdict, reach if found.verdict in HOLDS else 0.0, found.finding
