"""Everything drawn with rich: progress bars, and result tables on a terminal; no other module imports it."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from pecli.cli.terminal.items import size_text


class Bar:
    """A progress bar on standard error."""

    def __init__(self, what: str, total: int) -> None:
        self._total = total
        self._progress = Progress(
            TextColumn(what, markup=False), BarColumn(20), TextColumn("{task.description}"),
            TimeRemainingColumn(compact=True), TextColumn("left"), console=Console(file=sys.stderr), transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task("", total=total)
        self._progress.start()

    def update(self, done: int, seconds: float) -> None:
        """Show this many bytes as done, in this time."""
        text = f"{size_text(done)} of {size_text(self._total)}, {size_text(int(done / seconds))}/s"
        self._progress.update(self._task, completed=done, description=text)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


def table_lines(
    rows: Sequence[Sequence[str]], widths: Sequence[int], sides: Sequence[str], *, colour: bool
) -> list[str]:
    """Return a table, its headings first, as lines of a terminal; cells are data, never markup.

    The widths hold every word and number whole, so that rich wraps between words and cuts nothing.
    """
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold cyan")
    for heading, width, side in zip(rows[0], widths, sides, strict=True):
        made.add_column(
            Text(heading), justify="right" if side == "right" else "left", width=max(1, width), overflow="fold"
        )
    for row in rows[1:]:
        made.add_row(*map(Text, row))
    return _drawn(made, sum(widths) + 3 * len(widths), colour)


def panel_lines(title: str, lines: Sequence[str], width: int, *, colour: bool) -> list[str]:
    """Return lines in a frame, with the names of options in colour."""
    text = Text("\n".join(lines))
    text.highlight_regex(r"(?<![\w-])--?[a-z][\w-]*", "cyan")
    return _drawn(Panel(text, title=f"[bold]{title}[/]", title_align="left", border_style="dim"), width, colour)


def _drawn(made: RenderableType, width: int, colour: bool) -> list[str]:
    paper = io.StringIO()
    Console(
        file=paper, width=width, force_terminal=colour, no_color=not colour,
        color_system="standard" if colour else None, legacy_windows=False,
    ).print(made)  # fmt: skip
    return [line.rstrip() for line in paper.getvalue().splitlines()]
