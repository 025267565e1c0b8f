"""What an encoding does beyond the length it was trained on, measured."""

from __future__ import annotations

from dataclasses import dataclass

from pecli.analysis.coverage import Coverage, cover, critical_dimension
from pecli.errors import BadParameter, PecliError
from pecli.plan import Waves
from pecli.recipe import Recipe

RULES = {
    "inside": "every phase of the test positions lies on the arc that training showed",
    "unseen": "the test positions bring phases that training never showed",
    "ends": "positions of the test length have no value",
    "defined": "every position of the test length has a value",
}


@dataclass(frozen=True)
class Extrapolation:
    """What happens between the training length and the test length.

    Attributes
    ----------
    source, encoding, family : str
    train, test : int
        Lengths.
    verdict : str
        A key of `RULES`.
    finding : str
        The verdict's figures in a sentence.
    pairs : tuple of Coverage
        Of what oscillates, one for each frequency.
    critical_dimension : int or None
        Columns whose frequencies make a whole turn in training.
    """

    source: str
    encoding: str
    family: str
    train: int
    test: int
    verdict: str
    finding: str
    pairs: tuple[Coverage, ...] = ()
    critical_dimension: int | None = None


def extrapolate(source: str, recipe: Recipe, train: int, test: int) -> Extrapolation:
    """Return what happens to a recipe between two lengths."""
    if test <= train:
        raise BadParameter("test-len", test, f"must be above --train-len {train}: nothing lies beyond otherwise")
    encoding = recipe.encoding
    open_ = recipe.open_parameters
    resolved = Recipe(encoding, {**recipe.values, **{k: train if of == "length" else test for k, of in open_.items()}})
    plan = resolved.plan
    head = (source, encoding.name, encoding.family.word, train, test)
    if isinstance(plan, Waves) and not plan.axes:
        pairs = cover(plan.frequencies, train, test)
        outside = sum(pair.outside > 0 for pair in pairs)
        verdict = "unseen" if outside else "inside"
        finding = f"{outside} of {len(pairs)} frequencies bring unseen phases"
        return Extrapolation(*head, verdict, finding, pairs, critical_dimension(plan.frequencies, train))
    try:
        _try_last(resolved, test)
    except PecliError as error:
        return Extrapolation(*head, "ends", str(error))
    return Extrapolation(*head, "defined", f"position {test - 1} has a value")


def _try_last(recipe: Recipe, test: int) -> None:
    from pecli.table import Table

    Table.make(recipe, length=1, start=test - 1)
