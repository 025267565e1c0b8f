"""Encodings in order for a purpose and two lengths: by measured verdicts, each with its reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pecli.declare.encoding import Encoding, Family
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter, PecliError
from pecli.extrapolation.extrapolation import extrapolate
from pecli.extrapolation.scalings import scaled_recipe, scalings_of
from pecli.inspection.facts import formula_value
from pecli.inspection.purposes import PurposeVerdict, judge
from pecli.records import dataclass

HOLDS = ("inside", "falls", "nothing")
WIDTH, HEADS = 512, 8  # of the first Transformer: what is counted is counted for these
USERS = 3  # named at most
SLOW = "yarn"  # of several scalings the one that was published for this: it keeps the fast pairs


@dataclass(frozen=True)
class Ranked:
    """An encoding's place among those for a purpose.

    Attributes
    ----------
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
    purpose: str, encodings: Sequence[Encoding], train: int | None = None, test: int | None = None
) -> list[Ranked]:
    """Return encodings for a purpose, the best first.

    Parameters
    ----------
    purpose : str
        A key of `pecli.inspection.purposes.PURPOSES`.
    encodings : sequence of Encoding
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
    found = [_ranked(purpose, e, train, test) for e in encodings]
    order = _ORDERS.get(purpose, _farthest)
    return sorted(found, key=lambda r: (not r.fits, *order(r), r.encoding.place))


def _ranked(purpose: str, encoding: Encoding, train: int | None, test: int | None) -> Ranked:
    longer = train is not None and test is not None and test > train and "grid" not in encoding.parameters
    judged = judge(encoding, purpose, measured=longer)
    recipe, word, reach = _typical(encoding, train or WIDTH), "", 1.0
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
    return Ranked(encoding, recipe.short, judged.fits, word, reach, trained, tuple(reasons))


def _typical(encoding: Encoding, train: int) -> Recipe:
    """Return the encoding at the usual width and heads, trained for so long; its example where it has other sizes."""
    rotary = encoding.family in (Family.ROTARY, Family.RELATIVE)
    sizes = {"dim": WIDTH // HEADS if rotary else WIDTH, "heads": HEADS, "head-dim": WIDTH // HEADS, "max-len": train}
    example = Recipe.parse(encoding.example).keys()
    needed = {p.option: example[p.option] for p in encoding.options if p.required}
    try:
        return Recipe.bind(
            encoding.name,
            **{**needed, **{k: str(v) for k, v in sizes.items() if k.replace("-", "_") in encoding.parameters}},
        )
    except PecliError:  # a width that its other sizes do not add up to
        return Recipe.parse(encoding.example)


def _measured(recipe: Recipe, train: int, test: int) -> tuple[Recipe, str, float, str]:
    """Return what was measured past the trained length: of which recipe, the verdict, the reach, a sentence."""
    try:
        found = extrapolate(recipe.short, recipe, train, test)
    except PecliError as error:
        return recipe, "ends", 0.0, str(error)
    if found.verdict == "unseen" and SLOW in scalings_of(recipe):
        scaled = scaled_recipe(recipe, SLOW, train, test)
        with_scaling = extrapolate(scaled.short, scaled, train, test)
        said = f"only with a scaling: without one {found.finding}"
        if with_scaling.waves is not None and with_scaling.waves.inside > 0.99:
            return scaled, "inside", 1.0, said
    reach = 1.0
    if found.bias is not None:
        reach = min(1.0, max(head.window for head in found.bias.heads) / test)
        return recipe, found.verdict, reach, f"its widest head reaches {100 * reach:.3g} % of {test} positions"
    return recipe, found.verdict, reach if found.verdict in HOLDS else 0.0, found.finding
