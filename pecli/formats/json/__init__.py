"""JSON: one object with the recipe and the arrays as nested lists of shortest decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.tabular import Tabular
from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules

if TYPE_CHECKING:
    from pecli.formats.common.stored import Source, StoredTable

RULES = Rules("json", (*REALS, *COMPLEX, *INTEGERS))


def draft_json(table: Tabular, options: Options) -> Draft:
    """Check that a table fits and say how it is written."""
    from pecli.formats.json.write import draft

    return draft(table, options)


def open_json(source: Source) -> StoredTable:
    """Open a file."""
    from pecli.formats.json.read import JsonTable

    return JsonTable(source)


JSON = Format(
    name="json",
    title="JSON",
    suffixes=(".json",),
    draft=draft_json,
    open=open_json,
    dtypes=RULES.dtypes,
    stores="nested lists of the shortest decimals that read back to the same float; infinity is the string inf",
    metadata="the keys recipe and metadata",
)
