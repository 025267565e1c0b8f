"""The board of a lesson: steps of text, small tables and matrices, and how numbers are written on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pecli.numbers.printing import figure, fixed, padded
from pecli.settings import settings

DECIMALS = 3  # of a number on a board
NOISE = 1e-15  # what is smaller is the 0 that exact arithmetic would have given


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
class SmallTable:
    """A small table.

    Attributes
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequences
        Text, whole numbers, or numbers, of which a column has one precision.
    decimals : int or None
        Of numbers that are not short; None for six digits instead.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    decimals: int | None = DECIMALS

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows]}


Item = str | Equation | SmallTable


@dataclass(frozen=True)
class Step:
    """One step: what is done, and the lines, tables and matrices that do it."""

    title: str
    items: Sequence[Item]

    def as_dict(self) -> dict[str, object]:
        """Return what --json prints."""
        items = [{"text": item} if isinstance(item, str) else item.as_dict() for item in self.items]
        return {"title": self.title, "items": items}


def three(value: float) -> str:
    """Return a value with three decimals, as a board has it; what is not quite 1 or 0 gets a fourth, or its power."""
    return padded(value, DECIMALS, NOISE)


def entry(value: float) -> str:
    """Return an entry of a matrix, all of which have three decimals."""
    asked = settings().decimals
    return fixed(value, DECIMALS if asked is None else asked, NOISE)


def short(value: float) -> str:
    """Return a number in full where that is short, or with six digits."""
    return figure(value)


def off_by(value: float) -> str:
    """Return a largest difference."""
    return f"{value:.0e}" if value else "0"


def joined(values: Sequence[float]) -> str:
    """Return a row in brackets."""
    return "[" + ", ".join(map(three, values)) + "]"


def count_text(count: int, word: str) -> str:
    """Return "1 pair" or "4 pairs"."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def exact_text(value: Fraction | float) -> str:
    """Return a number in full digits, without needless zeros."""
    text = repr(float(value) + 0.0)
    return figure(float(value)) if settings().decimals is not None else text.removesuffix(".0")
