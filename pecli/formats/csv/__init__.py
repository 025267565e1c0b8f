"""csv: a row for each position, a column for each value, shortest decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.tabular import Tabular
from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules

if TYPE_CHECKING:
    from pecli.formats.common.stored import Source, StoredTable

RULES = Rules("csv", (*REALS, *COMPLEX, *INTEGERS))


def draft_csv(table: Tabular, options: Options) -> Draft:
    """Check that a table fits and say how it is written."""
    from pecli.formats.csv.write import draft

    return draft(table, options)


def open_csv(source: Source) -> StoredTable:
    """Open a file."""
    from pecli.formats.csv.read import CsvTable

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
