"""Everything that uses rich: tables and bars. The only module that imports it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pecli.cli.terminal.items import ScreenTable
from pecli.cli.terminal.output import clean, is_terminal, wants_colour

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


def draw_table(table: ScreenTable) -> None:
    """Print a table; where it may be elided, columns that the screen has no room for give way to an ellipsis."""
    screen = console()
    columns, rows = table.columns, table.rows
    if table.elide:
        kept = _fitting(table, screen.width)
        columns = [("…", "right") if i is None else columns[i] for i in kept]
        rows = [["…" if i is None else row[i] for i in kept] for row in rows]
    title = Text(clean(table.title)) if table.title else None
    made = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading, side in columns:
        right = side == "right"
        made.add_column(Text(clean(heading)), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    screen.print(made)


def _fitting(table: ScreenTable, width: int) -> list[int | None]:
    """Return the columns that fit beside the first: all, or the head and the tail with None for those between."""
    names = [heading for heading, _ in table.columns]
    first, *widths = (max(map(len, column)) + COLUMN_GAP for column in zip(names, *table.rows, strict=True))
    room = width - first
    if sum(widths) <= room:
        return list(range(1 + len(widths)))
    room -= 1 + COLUMN_GAP
    head, tail = 0, len(widths)
    while head < tail:  # two from the front for one from the back
        nearest = head if head <= 2 * (len(widths) - tail) else tail - 1
        room -= widths[nearest]
        if room < 0:
            break
        head, tail = (head + 1, tail) if nearest == head else (head, tail - 1)
    return [0, *_after(range(max(1, head))), None, *_after(range(max(tail, head + 1), len(widths)))]


def _after(places: Sequence[int]) -> list[int]:
    return [place + 1 for place in places]


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
