"""Everything that uses rich: results as tables on the screen. The only module that imports it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from pecli.cli.terminal.output import clean, is_terminal, wants_colour
from pecli.inspection.preview import Part

COLUMN_GAP = 3  # blanks that the table's box puts around a column


def console() -> Console:
    """Return a console on standard output: colour as the variables say, 80 columns where there is no terminal."""
    width = shutil.get_terminal_size((80, 24)).columns if is_terminal(sys.stdout) else _stated_width()
    colour = wants_colour()
    return Console(
        file=sys.stdout,
        width=max(40, width),
        force_terminal=colour,
        color_system="auto" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _stated_width() -> int:
    """Return what COLUMNS says, 80 where it says no number."""
    stated = os.environ.get("COLUMNS", "")
    return int(stated) if stated.isascii() and stated.isdigit() and stated != "0" else 80


def show(*items: Any) -> None:
    """Print renderables, or text as it is."""
    screen = console()
    for item in items:
        screen.print(Text(item) if isinstance(item, str) else item, soft_wrap=isinstance(item, str))


def grid(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]], *, title: str | None = None) -> Grid:
    """Return a table; columns are (heading, "left" or "right"). Every cell is data, never markup."""
    made = Grid(title=Text(clean(title)) if title else None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading, justify in columns:
        made.add_column(Text(clean(heading)), justify=justify, no_wrap=justify == "right", overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    return made


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
    if value != 0 and (abs(value) < 0.5 * 10**-precision or abs(value) >= 1e7):
        return f"{value:.{max(1, precision - 1)}e}"
    return f"{value:.{precision}f}"


def show_preview(table: Any, label: str, parts: Sequence[Part], precision: int) -> None:
    """Print the visible part of a table."""
    from pecli.cli.terminal.screen import shapes_text

    show(clean(f"{label}   {shapes_text(table.arrays)}"))
    for part in parts:
        show(preview_grid(part, precision))


def preview_grid(part: Part, precision: int) -> Grid:
    """Return one part of an array as a table; columns that the screen has no room for give way to an ellipsis."""
    labels = ["…" if label is None else label for label in part.row_labels]
    cells = [[number(cell, precision) for cell in row] for row in part.cells]
    heads = ["…" if label is None else label for label in part.column_labels]
    widths = [max(map(len, column)) + COLUMN_GAP for column in zip(heads, *cells, strict=True)]
    room = console().width - max(map(len, (part.row_axis, *labels))) - COLUMN_GAP
    kept = _fitting(widths, room)
    columns = [(part.row_axis, "right"), *(("…" if i is None else heads[i], "right") for i in kept)]
    rows = [[label, *("…" if i is None else row[i] for i in kept)] for label, row in zip(labels, cells, strict=True)]
    title = f"{part.title} ({part.row_axis} by {part.column_axis})" if part.column_axis else part.title
    return grid(columns, rows, title=title)


def _fitting(widths: Sequence[int], room: int) -> list[int | None]:
    """Return the columns that fit: all, or the head and the tail with None for those between."""
    if sum(widths) <= room:
        return list(range(len(widths)))
    room -= 1 + COLUMN_GAP
    head, tail = 0, len(widths)
    while head < tail:  # two from the front for one from the back
        nearest = head if head <= 2 * (len(widths) - tail) else tail - 1
        room -= widths[nearest]
        if room < 0:
            break
        head, tail = (head + 1, tail) if nearest == head else (head, tail - 1)
    return [*range(max(1, head)), None, *range(max(tail, head + 1), len(widths))]


class Bar:
    """A progress bar on standard error."""

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        self._progress = Progress(
            BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
            console=Console(file=sys.stderr), transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task("", total=total)
        self._progress.start()

    def update(self, done: int) -> None:
        """Show this many bytes as done."""
        self._progress.update(self._task, completed=done)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


def make_bar(total: int) -> Bar:
    """Return a started bar."""
    return Bar(total)
