"""Compares two tables, or an unknown one with the nearest recipe; causes are looked for when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding, Progress, compare_tables
from pecli.tables.figures import Tolerance
from pecli.tables.table import Table

if TYPE_CHECKING:
    from pecli.judge.description import Identification
    from pecli.judge.planes import Floats


def compare(a: Tabular, b: Tabular, tolerance: Tolerance | None = None, progress: Progress = None) -> Comparison:
    """Compare all values of two tables; the result knows why they differ.

    Parameters
    ----------
    a, b : Tabular
        A computed one, or else the second, is what was expected.
    tolerance : Tolerance, optional
        What counts as the same; left out, only equal values do.
    progress : callable, optional
        Called with the bytes read, block by block.

    Returns
    -------
    Comparison
        Its `findings` are looked for when they are first asked for, while both tables are open.
    """
    found = compare_tables(a, b, tolerance, progress)
    computed = isinstance(a, Table) and not isinstance(b, Table)

    def findings(seen: Comparison) -> list[Finding]:
        from pecli.judge.explain import explain  # equal tables load none of it

        return explain(b, a, seen.reversed) if computed else explain(a, b, seen)

    found.explain = findings
    return found


def explained(a: Tabular, b: Tabular) -> list[Finding]:
    """Return why two tables differ."""
    return compare(a, b).findings


def identified(table: Tabular, positions: Floats | None = None) -> Identification:
    """Return what `judge.identify` says of a table; of an unknown one, also why it differs from the nearest recipe."""
    from pecli.judge.identify import MIN_EXPLAINED_NEAREST, identify
    from pecli.judge.located import VAGUE
    from pecli.tables.alignment import table_like
    from pecli.tables.sources import read_source

    found = identify(table, positions)
    if found.recipe or not found.nearest or found.nearly < MIN_EXPLAINED_NEAREST:
        return found
    causes = [one for one in explained(table, table_like(read_source(found.nearest), table)) if one.kind not in VAGUE]
    return replace(found, notes=tuple(f"compared with it: {one.text}" for one in causes))
