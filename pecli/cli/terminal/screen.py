"""Showing: what a view returns, and progress of long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import Item
from pecli.cli.terminal.output import clean, is_terminal, say

if TYPE_CHECKING:
    from pecli.cli.terminal.render import Bar

PATIENCE = 2.0  # seconds of work before a bar appears


def show(*items: Item) -> None:
    """Print lines and tables; rich is loaded for a table alone."""
    for item in items:
        if isinstance(item, str):
            say(clean(item))
        else:
            from pecli.cli.terminal.render import draw_table

            draw_table(item)


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
            from pecli.cli.terminal.render import Bar

            bar.append(Bar(total))
        if bar:
            bar[0].update(sum_)

    try:
        yield advance
    finally:
        if bar:
            bar[0].close()
