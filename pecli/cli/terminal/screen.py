"""Printing of reports, and the progress of long work."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from pecli.cli.terminal.items import Item
from pecli.cli.terminal.layout import exported, lines_of
from pecli.cli.terminal.output import is_terminal, print_json, prose_width, say, screen_width, value_of, wants_colour
from pecli.spec.tabular import Tabular

if TYPE_CHECKING:
    from pecli.cli.terminal.richly import Bar

PATIENCE = 2.0  # seconds of work before a bar appears


def text_of(items: Iterable[Item], *, prose: bool = False) -> str:
    """Return lines, facts and tables as text as wide as the screen; prose no wider than is easily read."""
    width, colour = prose_width() if prose else screen_width(), wants_colour()
    terminal = colour or (is_terminal(sys.stdout) and os.environ.get("TERM") != "dumb")
    return "\n".join(line for item in items for line in lines_of(item, width, terminal=terminal, colour=colour))


Result = Callable[[], Mapping[str, Any]]  # makes the JSON object of an answer


def answer(
    options: Any, result: Result, view: Callable[[], Iterable[Item]], *, prose: bool = False, verdict: bool = False
) -> None:
    """Print an answer as its options ask: one value, a JSON object, its tables in a format, or a report.

    Where the exit status is the `verdict`, --quiet leaves out the report.

    Raises
    ------
    UnknownName, BadParameter
        If there is no value of that name, or no table to be formatted.
    """
    key, form = getattr(options, "get", None), getattr(options, "format", None)
    if key is not None:
        say(value_of(with_parameters(result()), key))
    elif options.json or form == "json":
        print_json(with_parameters(result()))
    elif form is not None:
        say(exported(view(), form))
    elif not (verdict and options.quiet):
        say(text_of(view(), prose=prose))


def with_parameters(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer with the parameters of its recipe, defaults included, if it has a recipe."""
    from pecli.spec.recipe import parameters_of

    known = parameters_of(result["recipe"]) if result.get("recipe") else None
    return result if known is None else {**result, "parameters": known}


@contextmanager
def progress_for(what: str, options: Any, *tables: Tabular) -> Iterator[Callable[[int], None] | None]:
    """Give a function that takes the bytes done since its last call; on a terminal a bar appears after two seconds.

    The whole is what the arrays of the tables hold.
    """
    if options.quiet or options.json or not is_terminal(sys.stderr):
        yield None
        return
    started, sum_, total = time.monotonic(), 0, sum(array.bytes for table in tables for array in table.arrays)
    bar: list[Bar] = []
    lock = Lock()  # several threads read

    def advance(done: int) -> None:
        nonlocal sum_
        with lock:
            sum_ += done
            seconds = time.monotonic() - started
            if not bar and seconds > PATIENCE:
                from pecli.cli.terminal.richly import Bar

                bar.append(Bar(what, total))
            if bar:
                bar[0].update(min(sum_, total), seconds)

    try:
        yield advance
    finally:
        if bar:
            bar[0].close()
