"""Arrow: the columns of Parquet as they lie in memory; a file on the disk, a stream in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.formats.base import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules
from pecli.tabular import Tabular

if TYPE_CHECKING:
    from pecli.formats.stored import Source, StoredTable

FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"
RULES = Rules("arrow", (*REALS, *COMPLEX, *INTEGERS))


def draft_arrow(table: Tabular, options: Options) -> Draft:
    """Check that a table fits and say how it is written."""
    from pecli.formats.arrow_write import draft

    return draft(table, options)


def open_arrow(source: Source) -> StoredTable:
    """Open a file."""
    from pecli.formats.arrow_read import ArrowTable

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
