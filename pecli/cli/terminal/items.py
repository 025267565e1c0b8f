"""What views give to the screen: lines of text, facts with a name, and tables: plain data for :mod:`.layout`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pecli.numbers.printing import column
from pecli.spec.tabular import Array

if TYPE_CHECKING:
    from pecli.inspect.statistics import Excerpt

LEFT, RIGHT = "left", "right"
LABEL = 15  # columns of what stands before a fact


class ScreenTable(NamedTuple):
    """A table for a person.

    Attributes
    ----------
    columns : sequence of (str, str)
        Heading, and "left" or "right".
    rows : list of list of str
        The cells.
    title : str or None
        What stands above it.
    elide : bool
        Whether columns in the middle may give way to an ellipsis where the screen is narrow.
    indent : str
        Blanks before each line.
    """

    columns: Sequence[tuple[str, str]]
    rows: list[list[str]]
    title: str | None = None
    elide: bool = False
    indent: str = ""


class Verdict(NamedTuple):
    """The first line of a report: bold, and green or red on a terminal if it is a yes or a no."""

    text: str
    good: bool | None = None


class Fact(NamedTuple):
    """A name and its text, whose further lines stand below the first."""

    name: str
    text: str
    width: int = LABEL


class Section(NamedTuple):
    """A titled list of names with what each is, as helps have; a panel on a terminal."""

    title: str
    rows: Sequence[tuple[str, str]]


# What a view returns a list of.
Item = str | Verdict | Fact | ScreenTable | Section


def grid(
    columns: Sequence[tuple[str, object]], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> ScreenTable:
    """Return a table; columns are (heading, "left", "right" or the digits of their figures).

    Every cell is data, never markup; a column's numbers have one precision.
    """
    cells = [list(row) for row in rows]
    texts = [
        column([row[place] for row in cells], digits=side if isinstance(side, int) else None)
        for place, (_, side) in enumerate(columns)
    ]
    sides = [(heading, LEFT if side == LEFT else RIGHT) for heading, side in columns]
    return ScreenTable(sides, [list(row) for row in zip(*texts, strict=True)], title)


def preview_grid(part: Excerpt) -> ScreenTable:
    """Return the visible part of an array as a table."""
    heads = ["…" if label is None else label for label in (part.row_axis, *part.column_labels)]
    columns = [column("…" if cell is None else cell for cell in cells) for cells in zip(*part.exact, strict=True)]
    labels = ["…" if label is None else label for label in part.row_labels]
    rows = [list(row) for row in zip(labels, *columns, strict=True)]
    title = f"{part.title} ({part.row_axis} by {part.column_axis})" if part.column_axis else part.title
    return ScreenTable([(head, RIGHT) for head in heads], rows, title, elide=True)


def size_text(size: int) -> str:
    """Return a number of bytes in words, in units of 1024."""
    power = min(4, max(0, size.bit_length() - 1) // 10)
    return f"{size / 1024**power:.1f} {'KMGT'[power - 1]}iB" if power else f"{size} B"


def shapes_text(arrays: Iterable[Array]) -> str:
    """Return names, shapes and types of arrays in a line."""
    return ", ".join(f"{a.name} {' x '.join(map(str, a.shape))} {a.dtype}" for a in arrays)
