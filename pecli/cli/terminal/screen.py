"""Small things that commands share: numbers from options, sizes in words, progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pecli.cli.terminal.output import is_terminal
from pecli.declare.tabular import Array
from pecli.errors import BadParameter
from pecli.numbers.text import parse_integer

PATIENCE = 2.0  # seconds of work before a bar appears


def whole_number(name: str, given: str | None, low: int, high: int) -> int | None:
    """Return an option's whole number in a range, or None where it was not given."""
    if given is None:
        return None
    value = parse_integer(name, given)
    if not low <= value <= high:
        raise BadParameter(name, given, f"must be from {low} to {high}")
    return value


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


@contextmanager
def progress_for(total: int, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Give a function that takes the bytes done since its last call; on a terminal a bar appears after two seconds."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    started, sum_ = time.monotonic(), 0
    bar: list[Any] = []

    def advance(done: int) -> None:
        nonlocal sum_
        sum_ += done
        if not bar and time.monotonic() - started > PATIENCE:
            from pecli.cli.terminal.render import make_bar

            bar.append(make_bar(total))
        if bar:
            bar[0].update(sum_)

    try:
        yield advance
    finally:
        if bar:
            bar[0].close()
