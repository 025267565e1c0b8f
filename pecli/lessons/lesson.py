"""Worked examples: an encoding computed on a board, step by step, from its own exact values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter
from pecli.numbers.positions import Positions, fraction_text
from pecli.tables.table import Table

MOST = 8  # positions that fit a board


@dataclass(frozen=True)
class Matrix:
    """A small matrix with a name; a vector is one with a single column."""

    name: str
    rows: Sequence[Sequence[float]]

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        return {"name": self.name, "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Equation:
    """Matrices beside each other, with the signs between them."""

    terms: Sequence[Matrix | str]

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        return {"equation": [t if isinstance(t, str) else t.as_dict() for t in self.terms]}


@dataclass(frozen=True)
class Grid:
    """A small table.

    Attributes
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequences
        Text, whole numbers, or numbers, which are shown rounded.
    rounded : bool
        Whether numbers are shown with three decimals; otherwise with six digits.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    rounded: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows]}


Item = str | Equation | Grid


@dataclass(frozen=True)
class Step:
    """One step: what is done, and the lines, tables and matrices that do it."""

    title: str
    items: Sequence[Item]

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        items = [{"text": item} if isinstance(item, str) else item.as_dict() for item in self.items]
        return {"title": self.title, "items": items}


@dataclass(frozen=True)
class Example:
    """A worked example: what it is of, its formula, its steps."""

    title: str
    recipe: str
    formula: Sequence[str]
    steps: Sequence[Step]

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        steps = [step.as_dict() for step in self.steps]
        return {"title": self.title, "recipe": self.recipe, "formula": list(self.formula), "steps": steps}


Teacher = Callable[[Recipe, "Positions | None", "int | None"], list[Step]]


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
        rule = f"are too many for a worked example: give at most {MOST}, such as --positions 1,3"
        raise BadParameter("positions", f"({positions.count} positions)", rule)
    encoding = recipe.encoding
    steps = _teacher(recipe)(recipe, positions, length)
    return Example(f"{encoding.title}, worked through", recipe.short, encoding.formula, steps)


def _teacher(recipe: Recipe) -> Teacher:
    """Return who works this encoding through."""
    from pecli.lessons import bias as steps_bias
    from pecli.lessons import rotary as steps_rotary
    from pecli.lessons import values as steps_values
    from pecli.lessons import waves as steps_waves

    own: dict[str, Teacher] = {
        "sinusoidal": steps_waves.sinusoid,
        "alibi": steps_bias.slopes,
        "t5": steps_bias.buckets,
        "integer": steps_values.integer,
        "binary": steps_values.bits,
        "learned": steps_values.learned,
    }
    family = recipe.encoding.family
    if recipe.encoding.name in own:
        return own[recipe.encoding.name]
    if family is Family.ROTARY:
        return steps_rotary.rotation
    if family is Family.BIAS:
        return steps_bias.matrices
    plan = None if recipe.open_parameters else recipe.plan
    if isinstance(plan, Waves) and plan.bands:
        return steps_waves.waves
    return steps_values.rows


def few(positions: Positions | None, default: Sequence[int]) -> list[Fraction]:
    """Return the positions to work out: those given, or the default."""
    return [Fraction(p) for p in default] if positions is None else list(positions)


def table_at(recipe: Recipe, at: Sequence[Fraction], length: int | None = None, **options: Any) -> Table:
    """Return the float64 table of these positions; what depends on a whole table is that of one of `length` rows."""
    if recipe.open_parameters:
        last = max(int(max(at)), 0)
        rows = max(length or 0, last + 1)
        recipe = recipe.resolve(length=rows, last=rows - 1, whole=True)
    return Table.make(recipe, positions=Positions.listed(list(at)), dtype="float64", **options)


def text_of(position: Fraction) -> str:
    """Return a position as text."""
    return fraction_text(position)


def three(value: float) -> str:
    """Return a value with three decimals, as a board has it; what is not quite 1 or 0 gets a fourth, or its power."""
    rounded = f"{value:.3f}"
    if rounded in ("1.000", "-1.000") and f"{value:.4f}" != rounded + "0":
        return f"{value:.4f}"
    if float(rounded) == 0:
        return "0.000" if abs(value) < 1e-15 else f"{value:.0e}" if abs(value) < 5e-4 else rounded
    return f"{value:.6g}" if abs(value) >= 1e5 else rounded


def short(value: float) -> str:
    """Return a number with at most six digits, without needless zeros."""
    return f"{value + 0.0:.6g}"  # minus zero is zero on a board


def off_by(value: float) -> str:
    """Return a largest difference."""
    return f"{value:.0e}" if value else "0"


def joined(values: Sequence[float]) -> str:
    """Return a row in brackets."""
    return "[" + ", ".join(map(three, values)) + "]"


def count_text(count: int, word: str) -> str:
    """Return "1 pair" or "4 pairs"."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")
