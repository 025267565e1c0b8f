"""Compares two tables; why they differ is looked for only when it is asked."""

from __future__ import annotations

from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding, Progress, compare_tables
from pecli.tables.figures import Tolerance
from pecli.tables.table import Table


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
