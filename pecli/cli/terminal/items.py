"""What views give to the screen: lines of text, and tables as plain data that :mod:`.render` draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Array
from pecli.records import dataclass

if TYPE_CHECKING:
    from pecli.inspection.preview import Excerpt

MANY = 1e7  # from here on a value is written with its power of ten


@dataclass(frozen=True)
class ScreenTable:
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
    """

    columns: Sequence[tuple[str, str]]
    rows: list[list[str]]
    title: str | None = None
    elide: bool = False


Item = str | ScreenTable
"""What a view returns a list of."""


def grid(
    columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> ScreenTable:
    """Return a table; columns are (heading, "left" or "right"). Every cell is data, never markup."""
    return ScreenTable(columns, [[str(cell) for cell in row] for row in rows], title)


def number(value: Any, precision: int) -> str:
    """Return a value rounded for reading; what rounds to nothing is written with its power of ten."""
    if value is None:
        return "…"
    if isinstance(value, complex):
        return f"{number(value.real, precision)}{'+' if value.imag >= 0 else ''}{number(value.imag, precision)}i"
    if isinstance(value, bool | int):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value != 0 and (abs(value) < 0.5 * 10**-precision or abs(value) >= MANY):
        return f"{value:.{max(1, precision - 1)}e}"
    return f"{value:.{precision}f}"


def preview_grid(part: Excerpt, precision: int) -> ScreenTable:
    """Return the visible part of an array as a table."""
    heads = ["…" if label is None else label for label in (part.row_axis, *part.column_labels)]
    rows = [
        ["…" if label is None else label, *(number(cell, precision) for cell in cells)]
        for label, cells in zip(part.row_labels, part.cells, strict=True)
    ]
    title = f"{part.title} ({part.row_axis} by {part.column_axis})" if part.column_axis else part.title
    return ScreenTable([(head, "right") for head in heads], rows, title, elide=True)


def size_text(size: int) -> str:
    """Return a number of bytes in words."""
    value, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"


def shapes_text(arrays: Iterable[Array]) -> str:
    """Return names, shapes and types of arrays in a line."""
    return ", ".join(f"{a.name} {' x '.join(map(str, a.shape))} {a.dtype}" for a in arrays)
