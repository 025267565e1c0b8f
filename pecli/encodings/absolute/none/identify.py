"""Zeros."""

from __future__ import annotations

from collections.abc import Iterator

from pecli.declare.profiles import Candidate, CodeRows

NOTE = "a table of zeros, as one without positions or one that was never filled"


def identify(rows: CodeRows) -> Iterator[Candidate]:
    """Yield a table of zeros, which says nothing of itself."""
    if not rows.values.any() and len(rows.values) > 1:
        yield Candidate("none", {"dim": str(rows.values.shape[1])}, rows.table, doubts=(NOTE,))
