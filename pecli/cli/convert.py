"""``pecli convert SOURCE -o FILE``: another format, type or layout."""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.options import (
    Compress,
    Dtype,
    FormatWord,
    FromLayout,
    Json,
    Layout,
    NoClobber,
    Output,
    Quiet,
    Threads,
    Wide,
)
from pecli.cli.terminal.screen import whole_number
from pecli.cli.terminal.writing import Delivery, deliver
from pecli.errors import BadRecipe


def command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file, file::name, - or a recipe.")],
    output: Output = None,
    format_: FormatWord = None,
    dtype: Dtype = None,
    layout: Layout = None,
    from_layout: FromLayout = None,
    threads: Threads = None,
    compress: Compress = False,
    wide: Wide = False,
    no_clobber: NoClobber = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Change format, type or layout of a table, block by block."""
    from pecli.sources.sources import open_source
    from pecli.tables.conversion import convert

    if output is None and format_ is None:
        raise BadRecipe("convert needs -o PATH, or --format for standard output")
    made = convert(open_source(source), dtype=dtype, layout=layout, from_layout=from_layout)
    return deliver(
        made,
        source,
        Delivery(
            output or "-", format_, whole_number("threads", threads, 1, 256), compress, wide,
            clobber=not no_clobber, json=json, quiet=quiet,
        ),
    )  # fmt: skip
