"""Showing: what a view returns, and progress of long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import Item
from pecli.cli.terminal.layout import lines_of
from pecli.cli.terminal.output import is_terminal, say, screen_width, wants_colour

if TYPE_CHECKING:
    from pecli.cli.terminal.bar import Bar

PATIENCE = 2.0  # seconds of work before a bar appears


def show(*items: Item) -> None:
    """Print lines, facts and tables, as wide as the screen."""
    width, bold = screen_width(), wants_colour()
    for item in items:
        say("\n".join(lines_of(item, width, bold=bold)))


@contextmanager
def progress_for(total: int, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Give a function that takes the bytes done since its last call; on a terminal a bar appears after two seconds."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    started, sum_ = time.monotonic(), 0
    bar: list[Bar] = []

    def advance(done: int) -> None:
        nonlocal sum_
        sum_ += done
        if not bar and time.monotonic() - started > PATIENCE:
            from pecli.cli.terminal.bar import Bar

            bar.append(Bar(total))
        if bar:
            bar[0].update(sum_)

    try:
        yield advance
    finally:
        if bar:
            bar[0].close()
