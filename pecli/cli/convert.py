"""``pecli convert SOURCE -o FILE``: another format, type or layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pecli.cli.options import (
    TABLE,
    Compress,
    Dtype,
    Format,
    Json,
    Layout,
    NoClobber,
    Option,
    Output,
    Quiet,
    Threads,
    TrustRecipe,
    Wide,
)  # fmt: skip
from pecli.cli.terminal.writing import Writing, deliver
from pecli.errors import BadRecipe
from pecli.tables.layouts import LAYOUTS


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Writing):
    """What ``convert`` may be given."""

    source: Annotated[str, Option("A file, file::name, - or a recipe.", "SOURCE", argument=True)]
    output: Output = None
    format: Format = None
    dtype: Dtype = None
    layout: Layout = None
    from_layout: Annotated[
        str | None, Option("Layout that the source has, where nothing in it says so.", "WORD", TABLE, LAYOUTS)
    ] = None
    threads: Threads = None
    compress: Compress = False
    wide: Wide = False
    no_clobber: NoClobber = False
    trust_recipe: TrustRecipe = False
    json: Json = False
    quiet: Quiet = False


def command(options: ConvertOptions) -> int:
    """Change format, type or layout of a table, block by block."""
    from pecli.sources.sources import open_source
    from pecli.tables.conversion import convert

    if options.output is None and options.format is None:
        raise BadRecipe("convert needs -o PATH, or --format for standard output")
    source = open_source(options.source)
    made = convert(source, dtype=options.dtype, layout=options.layout, from_layout=options.from_layout)
    return deliver(made, options.source, options)
