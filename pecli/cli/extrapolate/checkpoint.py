"""A whole checkpoint with the one table of positions in it made longer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pecli.cli.extrapolate.options import ExtrapolateOptions
from pecli.cli.terminal.items import size_text
from pecli.cli.terminal.output import line, print_json, tell

if TYPE_CHECKING:
    from pecli.spec.tabular import Tabular


def checkpoint_of(options: ExtrapolateOptions) -> tuple[str, str, str] | None:
    """Return a checkpoint, the array in it and how to extend it, where the output is to be a checkpoint too."""
    path, _, name = options.sources[0].partition("::")
    output = options.output
    if output is None or options.extend is None or not name or name.endswith("]") or len(options.sources) > 1:
        return None
    folder = os.path.isdir(path) and not Path(output).suffix
    file = path.endswith(".safetensors") and output.endswith(".safetensors") and os.path.isfile(path)
    return (path, name, options.extend) if (folder or file) and options.format in (None, "safetensors") else None


def write_checkpoint(path: str, name: str, options: ExtrapolateOptions, extended: Callable[[str], Tabular]) -> int:
    """Write it, and say what was done."""
    from pecli.apply.checkpoints import file_with, replace_array

    started, written = time.perf_counter(), [0]

    def progress(count: int) -> None:
        written[0] += count

    assert options.output is not None
    file = file_with(path, name)
    new = extended(f"{file}::{name}")
    replace_array(path, options.output, name, new, clobber=not options.no_clobber, progress=progress)
    seconds, (array,) = time.perf_counter() - started, new.arrays
    if options.json:
        facts = {"path": options.output, "format": "safetensors", "recipe": None, "replaced": {name: array.shape}}
        print_json({**facts, "bytes": written[0], "seconds": seconds})
    elif not options.quiet:
        what = f"{name} extended by {options.extend} to {array.shape[0]} rows, every other tensor as it was"
        tell(line(f"wrote {options.output}: {what}, {size_text(written[0])}, {seconds:.2f} s"))
        if (Path(path) / "config.json").is_file():
            tell("pecli: config.json is as it was: its number of positions is yours to change")
    return 0
