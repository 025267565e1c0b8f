"""``pecli convert SOURCE -o FILE``: another format, type or layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pecli.cli import options as shared
from pecli.cli.options import TABLE, argument, flag, option, positions, refuse, whole, with_rows
from pecli.cli.terminal.writing import Writing, deliver, deliver_checkpoint
from pecli.errors import BadRecipe
from pecli.formats import open_table
from pecli.tables.layouts import LAYOUTS

WEIGHTS, PAIRS = "Weights", ("half", "interleaved")


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Writing):
    """What ``convert`` may be given."""

    source: str = argument("A file, file::name, - or a recipe.", "SOURCE")
    start: int | None = option("First row to keep (default 0).", "ROW", TABLE, check=positions(0))
    len: int | None = option("Number of rows to keep (default: all that follow).", "N", TABLE, check=positions(1))
    dtype: str | None = option(shared.DTYPE)
    layout: str | None = option(shared.LAYOUT)
    from_layout: str | None = option("Layout of the source, if it does not state one.", "WORD", TABLE, LAYOUTS)
    from_pairs: str | None = option("Pairing that query and key weights were made for.", "WORD", WEIGHTS, PAIRS)
    to_pairs: str | None = option("Pairing that they are converted to.", "WORD", WEIGHTS, PAIRS)
    heads: int | None = option("Heads of the queries (default: the config's).", "N", WEIGHTS, check=whole(1, 1 << 16))
    kv_heads: int | None = option("Heads of the keys (default: the queries').", "N", WEIGHTS, check=whole(1, 1 << 16))
    rotary_dim: int | None = option("Rows of a head that rotate (default: all).", "N", WEIGHTS, check=whole(2, 1 << 20))
    tensors: str | None = option("Regular expression of tensor names (default: queries and keys).", "REGEX", WEIGHTS)
    threads: int | None = option(shared.THREADS)
    compress: bool = flag(shared.COMPRESS)
    wide: bool = flag(shared.WIDE)


def command(options: ConvertOptions) -> int:
    """Change format, type or layout of a table, block by block."""
    from pecli.tables.alignment import take_type
    from pecli.tables.conversion import convert
    from pecli.tables.sources import open_source

    if options.output is None and options.format is None:
        raise BadRecipe("convert needs -o PATH, or --format for standard output")
    if options.from_pairs is not None or options.to_pairs is not None:
        return _weights(options)
    rule = "is for weights: give --from-pairs and --to-pairs too"
    refuse(rule, options, "heads", "kv_heads", "rotary_dim", "tensors")
    source = open_source(with_rows(options.source, options.start, options.len))
    if options.dtype is not None:
        take_type(source, options.dtype)
    made = convert(source, dtype=options.dtype, layout=options.layout, from_layout=options.from_layout)
    return deliver(made, options.source, options)


def _weights(options: ConvertOptions) -> int:
    """Put the rows of query and key weights in the order of another pairing."""
    from pecli.apply.checkpoints import is_checkpoint, permute_checkpoint, permuted, rows_from

    refuse("is for tables, not for weights", options, "start", "len", "dtype", "layout", "from_layout")
    names = ("from_pairs", "to_pairs", "heads", "kv_heads", "rotary_dim", "tensors")
    rows = rows_from(options.source, {name: getattr(options, name) for name in names})
    source, output = options.source, options.output
    other = output is None or (source.endswith(".safetensors") and not output.endswith(".safetensors"))
    if other or not is_checkpoint(source) or options.format not in (None, "safetensors"):
        return deliver(permuted(open_table(source), rows), source, options)

    def write() -> tuple[dict[str, Any], str, int]:
        moved, size = permute_checkpoint(source, str(output), rows, clobber=not options.no_clobber)
        text = f"{len(moved)} tensors from {rows.from_pairs} to {rows.to_pairs}, the others as they were"
        return {"moved": moved}, text, size

    return deliver_checkpoint(write, options)
