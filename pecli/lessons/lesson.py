"""Worked examples: an encoding computed on a board, step by step, from its own exact values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from pecli.declare.board import Step
from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.lessons import Exercise
from pecli.errors import BadParameter
from pecli.lessons import families, rotary
from pecli.lessons.families import small_table, table_at
from pecli.numbers.positions import Positions

MOST = 8  # positions that fit a board


@dataclass(frozen=True)
class Example:
    """A worked example: what it is of, its formula, its steps with their numbers."""

    title: str
    recipe: str
    formula: Sequence[str]
    steps: Sequence[Step]

    @classmethod
    def of(cls, recipe: Recipe, done: str, steps: Iterable[Step]) -> Example:
        """Return the example of a recipe, its steps numbered from 1."""
        numbered = [Step(f"Step {number}: {step.title}", step.items) for number, step in enumerate(steps, 1)]
        return cls(f"{recipe.encoding.title}, {done}", recipe.short, recipe.encoding.formula, numbered)

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        steps = [step.as_dict() for step in self.steps]
        return {"title": self.title, "recipe": self.recipe, "formula": list(self.formula), "steps": steps}


def work_through(recipe: Recipe, positions: Positions | None = None, length: int | None = None) -> Example:
    """Return a worked example of a recipe.

    Parameters
    ----------
    recipe : Recipe
        Its parameters; small ones fit a board best, and of wide tables the first pairs are shown.
    positions : Positions, optional
        Which to work out, at most 8; by default a few small ones.
    length : int, optional
        Rows of the table, for encodings that depend on it.

    Raises
    ------
    BadParameter
        For more positions than fit, or one that has no value.
    """
    if positions is not None and positions.count > MOST:
        rule = f"are too many for a worked example: give at most {MOST}, such as positions=1+3"
        raise BadParameter("positions", f"({positions.count} positions)", rule)
    encoding = recipe.encoding
    family = of_family(recipe)
    exercise = Exercise(recipe, None if positions is None else tuple(positions), length, compute, family)
    lesson = encoding.hook("lesson") if encoding.declares("lesson") else family
    return Example.of(recipe, "worked through", lesson(exercise))


def of_family(recipe: Recipe) -> Callable[[Exercise], Iterable[Step]]:
    """Return the lesson of a recipe's family, for encodings that have none of their own."""
    family = recipe.encoding.family
    if family is Family.ROTARY:
        return rotary.steps
    if family is Family.BIAS:
        return families.biases
    plan = None if recipe.open_parameters else recipe.plan
    return families.waves if isinstance(plan, Waves) and plan.bands else families.rows


def compute(recipe: Recipe, at: Sequence[Fraction] | None, length: int | None = None) -> dict[str, NDArray[Any]]:
    """Return the float64 arrays of these positions; of a small whole table without any."""
    table = small_table(Exercise(recipe, None, length, compute)) if at is None else table_at(recipe, at, length)
    return {array.name: table.read(array.name) for array in table.arrays}
