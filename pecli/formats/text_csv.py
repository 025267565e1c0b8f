"""csv: a row for each position, a column for each value, shortest decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.formats.base import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules
from pecli.tabular import Tabular

if TYPE_CHECKING:
    from pecli.formats.stored import Source, StoredTable

RULES = Rules("csv", (*REALS, *COMPLEX, *INTEGERS))


def draft_csv(table: Tabular, options: Options) -> Draft:
    """Check that a table fits and say how it is written."""
    from pecli.formats.csv_write import draft

    return draft(table, options)


def open_csv(source: Source) -> StoredTable:
    """Open a file."""
    from pecli.formats.csv_read import CsvTable

    return CsvTable(source)


CSV = Format(
    name="csv",
    title="csv",
    suffixes=(".csv",),
    draft=draft_csv,
    open=open_csv,
    dtypes=RULES.dtypes,
    stores="a row for each position, a column for each value: the shortest decimal that reads back to the same float",
    metadata="none",
)
