"""The board of a lesson: steps of text, small tables and matrices, and how numbers are written on it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pecli.records import dataclass


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


def exact_text(value: Fraction | float) -> str:
    """Return a number in full digits, without needless zeros."""
    text = repr(float(value) + 0.0)
    return text.removesuffix(".0")
