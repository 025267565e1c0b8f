"""Writing a table for a command: to a file or to standard output, and saying so."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pecli.cli.options import FORMAT_OPTION, NO_CLOBBER, OUTPUT_OPTION, SourceOptions, flag, option, refuse
from pecli.cli.terminal.items import Item, preview_grid, shapes_text, size_text
from pecli.cli.terminal.output import is_terminal, line, print_json, screen_width, tell, wrapped
from pecli.cli.terminal.screen import answer, progress_for
from pecli.errors import BadParameter
from pecli.formats import check, format_for, write_table
from pecli.formats.format import Format
from pecli.formats.io.atomic import open_output
from pecli.process import unwinding
from pecli.spec.tabular import Tabular

if TYPE_CHECKING:
    from pecli.inspect.statistics import Excerpt


TEXT_FORMATS = ("csv", "json")
SHOWN_FORMATS = ("markdown", "latex")  # of a printed table; without -o, csv and json stream the whole one


@dataclass(frozen=True, kw_only=True)
class Writing(SourceOptions):
    """Where a table goes and how; a command that writes one declares those of the others that it has as options."""

    output: str | None = option(OUTPUT_OPTION)
    format: str | None = option(FORMAT_OPTION)
    no_clobber: bool = flag(NO_CLOBBER)
    threads: int | None = None
    compress: bool = False
    wide: bool = False
    dry_run: bool = False

    @property
    def on_screen(self) -> bool:
        """Whether the table is printed; what is only for a file is then refused."""
        if self.output is not None or self.format not in (None, *SHOWN_FORMATS):
            return False
        refuse("has no effect without -o", self, "compress", "wide", "no_clobber", "threads")
        return True

    @property
    def silent(self) -> bool:
        """Whether nothing is said on standard error: asked for, or because the table goes to standard output."""
        streams = self.output == "-" or (self.output is None and self.format is not None)
        return self.quiet or (streams and not self.dry_run)


def deliver(table: Tabular, label: str, to: Writing, more: Mapping[str, Callable[[], Any]] | None = None) -> int:
    """Write a table (or, with ``dry_run``, say what would be written); return the exit status.

    `more` gives further facts for --json, asked for once the table is written.

    Raises
    ------
    PecliError
        If it cannot be written; nothing of it is left then.
    """
    path = to.output or "-"
    form = format_for("pe.npy" if path == "-" and not to.format else path, to.format)
    if path == "-":
        if to.json:
            raise BadParameter("json", "true", "cannot go with -o -: both use standard output")
        if is_terminal(sys.stdout) and form.name not in TEXT_FORMATS:
            rule = f"would print binary {form.name} to a terminal: redirect it, or name a file"
            raise BadParameter("output", "-", rule)
    started, what = time.perf_counter(), f"writing {os.path.basename(path)}"
    farewell = "" if path == "-" else line(f"pecli: interrupted: nothing was written to {path}")
    try:
        if to.dry_run:
            return _dry_run(table, label, to, path, form)
        with unwinding(farewell), progress_for(what, to, table) as advance:
            size = write_table(
                table, path, format=form.name, threads=to.threads, clobber=not to.no_clobber, compress=to.compress,
                wide=to.wide, progress=advance,
            )  # fmt: skip
    except BadParameter as error:
        if error.name != "format" or to.format is not None:
            raise
        raise BadParameter("output", path, f"is {form.name}, which {error.rule}") from None
    return describe(table, label, to, path, form.name, (size, time.perf_counter() - started), more)


def deliver_checkpoint(write: Callable[[], tuple[dict[str, Any], str, int]], to: Writing) -> int:
    """Write a checkpoint by a function that returns facts, a text and the bytes written; report them and return 0."""
    started = time.perf_counter()
    with unwinding():
        facts, text, size = write()
    seconds = time.perf_counter() - started
    if to.json:
        about = {"path": to.output, "format": "safetensors", "recipe": None, **facts}
        print_json({**about, "bytes": size, "seconds": seconds})
    elif not to.quiet:
        tell(line(f"wrote {to.output}: {text}, {size_text(size)}, {seconds:.2f} s"))
    return 0


def _dry_run(table: Tabular, label: str, to: Writing, path: str, form: Format) -> int:
    """Say what would be written, and where the disk has not the room for it that much is missing."""
    need, free = check(table, form, path, clobber=not to.no_clobber, compress=to.compress, wide=to.wide, space=False)
    describe(table, label, to, path, form.name, more={"outlook": lambda: {"needed": need.size, "free": free}})
    if free is not None and need.size > free and not (to.json or to.silent):
        tell(f"  the disk is too small: {need} are needed and {free:,} are free; write elsewhere")
    return 0


def describe(
    table: Tabular,
    label: str,
    to: Writing,
    path: str | None = None,
    form: str | None = None,
    written: tuple[int, float] | None = None,
    more: Mapping[str, Callable[[], Any]] | None = None,
) -> int:
    """Say in one line on standard error, or as JSON, what was or would be written; return 0."""
    size, seconds = written or (sum(array.bytes for array in table.arrays), None)
    if to.json:
        facts = {name: tell_it() for name, tell_it in (more or {}).items()}
        print_json({**report(table, path=path, form=form, size=size, seconds=seconds), **facts})
    elif not to.silent:
        took = "" if seconds is None else f", {seconds:.2f} s"
        lead = f"{'wrote' if written else 'would write'} {path}:" if path else "would print some rows of"
        rest = "" if path else "; -o FILE writes all of it"
        shapes, many = shapes_text(table.arrays), len(table.arrays)
        if form == "npy" and many > 1:
            shapes += f", stacked: {' x '.join(map(str, (many, *table.arrays[0].shape)))}"
        text = line(f"{lead} {label}, {shapes}, {size_text(size)}{took}{rest}")
        tell("\n".join(wrapped(text, screen_width(), hang="  ")))
        if form == "hdf5" and any(array.dtype == "float16" for array in table.arrays):
            tell("pecli: netCDF4 crashes on float16, and so does xarray's default engine: use float32 for them")
    return 0


def write_whole(path: str, data: str | bytes, *, clobber: bool) -> None:
    """Write a text or a picture to a file, whole or not at all.

    Raises
    ------
    WriteFailed, WouldOverwrite
        If it cannot be written.
    """
    with unwinding(), open_output(path, clobber=clobber) as output:
        output.write(data.encode(errors="backslashreplace") if isinstance(data, str) else data)


def show(
    table: Tabular, label: str, options: Any, parts: Sequence[Excerpt], more: Mapping[str, Any] | None = None
) -> int:
    """Print the visible parts of a table for a person, or as JSON with further facts; return 0."""
    view: list[Item] = [f"{label}   {shapes_text(table.arrays)}", *map(preview_grid, parts)]
    answer(options, lambda: {**report(table, [part.as_dict() for part in parts]), **(more or {})}, lambda: view)
    return 0


def report(
    table: Tabular, arrays: Any = None, *, path: str | None = None, form: str | None = None, size: int | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return what --json prints of a table that is written or printed."""
    return {
        "path": path,
        "format": form,
        "recipe": table.recipe,
        "arrays": arrays or [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in table.arrays],
        "bytes": sum(array.bytes for array in table.arrays) if size is None else size,
        "seconds": seconds,
    }
