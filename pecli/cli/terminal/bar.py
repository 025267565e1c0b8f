"""A progress bar; the only module that imports rich."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from pecli.cli.terminal.items import size_text


class Bar:
    """A progress bar on standard error."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._progress = Progress(
            BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(),
            console=Console(file=sys.stderr), transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task(self._said(0), total=total)
        self._progress.start()

    def update(self, done: int) -> None:
        """Show this many bytes as done."""
        self._progress.update(self._task, completed=done, description=self._said(done))

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()

    def _said(self, done: int) -> str:
        return f"{size_text(done)} of {size_text(self._total)}"
