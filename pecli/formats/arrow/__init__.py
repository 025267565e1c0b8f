"""Arrow: the columns of Parquet as they lie in memory; a file on the disk, a stream in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.tabular import Tabular
from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules

if TYPE_CHECKING:
    from pecli.formats.common.stored import Source, StoredTable

FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"
RULES = Rules("arrow", (*REALS, *COMPLEX, *INTEGERS))


def draft_arrow(table: Tabular, options: Options) -> Draft:
    """Check that a table fits and say how it is written."""
    from pecli.formats.arrow.write import draft

    return draft(table, options)


def open_arrow(source: Source) -> StoredTable:
    """Open a file."""
    from pecli.formats.arrow.read import ArrowTable

    return ArrowTable(source)


ARROW = Format(
    name="arrow",
    title="Arrow IPC",
    suffixes=(".arrow", ".feather", ".arrows"),
    draft=draft_arrow,
    open=open_arrow,
    dtypes=RULES.dtypes,
    magic=(FILE_MAGIC, STREAM_MAGIC),
    stores="the columns of parquet as they lie in memory: a file on the disk, a stream in a pipe",
    metadata="JSON under the key `pecli` of the schema's metadata",
    package="pyarrow",
    compresses=True,
)
