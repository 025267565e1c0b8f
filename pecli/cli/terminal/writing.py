"""Writing a table for a command: to a file or to standard output, and saying so."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

from pecli.cli.terminal.output import is_terminal, line, print_json, tell
from pecli.cli.terminal.screen import progress_for, shapes_text, size_text
from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter

TEXT_FORMATS = ("csv", "json")


@dataclass(frozen=True)
class Delivery:
    """Where a table goes and how; the options of a command that writes one."""

    path: str
    format: str | None = None
    threads: int | None = None
    compress: bool = False
    wide: bool = False
    clobber: bool = True
    dry_run: bool = False
    json: bool = False
    quiet: bool = False


def deliver(table: Tabular, label: str, to: Delivery) -> int:
    """Write a table (or, with ``dry_run``, say what would be written); return the exit status.

    Raises
    ------
    PecliError
        If it cannot be written; nothing of it is left then.
    """
    from pecli.cli.run import hold_sigpipe
    from pecli.formats import check, format_for, write_table

    form = format_for("pe.npy" if to.path == "-" and not to.format else to.path, to.format)
    if to.path == "-":
        if to.json:
            raise BadParameter("json", "true", "cannot stand with -o -: both want standard output")
        if is_terminal(sys.stdout) and form.name not in TEXT_FORMATS:
            rule = f"would print binary {form.name} to a terminal: redirect it, or name a file"
            raise BadParameter("output", "-", rule)
    else:
        hold_sigpipe()
    if to.dry_run:
        check(table, form, to.path)
        return describe(table, label, to.path, form.name, None, json=to.json, quiet=to.quiet)
    size = sum(array.bytes for array in table.arrays)
    started = time.perf_counter()
    with progress_for(size, quiet=to.quiet) as advance:
        size = write_table(
            table, to.path, format=form.name, threads=to.threads, clobber=to.clobber,
            compress=to.compress, wide=to.wide, progress=advance,
        )  # fmt: skip
    took = time.perf_counter() - started
    return describe(table, label, to.path, form.name, (size, took), json=to.json, quiet=to.quiet)


def describe(
    table: Tabular,
    label: str,
    path: str | None,
    form: str | None,
    written: tuple[int, float] | None,
    *,
    json: bool,
    quiet: bool,
) -> int:
    """Say in one line on standard error, or as JSON, what was or would be written; return 0."""
    size, seconds = written or (sum(array.bytes for array in table.arrays), None)
    if json:
        arrays: list[dict[str, Any]] = [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in table.arrays]
        print_json(
            {"path": path, "format": form, "recipe": table.recipe, "arrays": arrays, "bytes": size, "seconds": seconds}
        )
    elif not quiet:
        verb = "wrote" if written else "would write" if path else "would print"
        where = path or "to the screen"
        took = "" if seconds is None else f", {seconds:.2f} s"
        tell(line(f"{verb} {where}: {label}, {shapes_text(table.arrays)}, {size_text(size)}{took}"))
    return 0
