"""Parquet: one row per position, values as lists of fixed size, split into byte streams and compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.tabular import Tabular
from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules

if TYPE_CHECKING:
    from pecli.formats.common.stored import Source, StoredTable

RULES = Rules("parquet", (*REALS, *COMPLEX, *INTEGERS))


def draft_parquet(table: Tabular, options: Options) -> Draft:
    """Check that a table fits and say how it is written."""
    from pecli.formats.parquet.write import draft

    return draft(table, options)


def open_parquet(source: Source) -> StoredTable:
    """Open a file."""
    from pecli.formats.parquet.read import ParquetTable

    return ParquetTable(source)


PARQUET = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    draft=draft_parquet,
    open=open_parquet,
    dtypes=RULES.dtypes,
    magic=(b"PAR1",),
    stores="a row for each position (bias: head and query), a column of lists for each array (`--wide`: plain columns)",
    metadata="JSON under the key `pecli` of the file's metadata",
    package="pyarrow",
    widens=True,
    compresses=True,
)
"""Compressed in any case."""
