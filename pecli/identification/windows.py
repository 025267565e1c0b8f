"""Which rows of a table, and in which grain, are looked at where all together tell nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pecli.measures.evidence import Evidence
from pecli.measures.samples import Sample, grain

HEAD = 96  # rows that a rule shows in, where others follow none
LEAST_HALVED = 24  # rows that are looked at by halves


def grains(evidence: Evidence) -> Iterator[Sample]:
    """Yield the sample with its grain, and with the coarser one of rows that may be right where others are spoiled."""
    sample = evidence.sample
    yield sample
    rows = min(len(plane.values) for plane in sample.planes)
    seen = {sample.grain}
    for part in (slice(1, rows // 4), slice(rows // 4, rows // 2)) if rows >= HEAD // 4 else ():
        coarser = grain([replace(plane, values=plane.values[part]) for plane in sample.planes], sample.dtype)
        if coarser not in seen:
            seen.add(coarser)
            yield replace(sample, grain=coarser)


def windows(evidence: Evidence) -> Iterator[slice]:
    """Yield rows that may be right where others are spoiled, or follow a rule where rounding has blurred later ones."""
    rows = len(evidence.sample.planes[0].values)
    if not evidence.integral and all(p.values.ndim in (2, 3) and len(p.values) == rows for p in evidence.sample.planes):
        if rows >= 2 * HEAD:
            yield from (slice(0, HEAD), slice(rows - HEAD, rows))
        if rows >= HEAD // 2:
            yield from (slice(0, HEAD // 4), slice(rows // 2, rows // 2 + HEAD // 4))
        elif rows >= LEAST_HALVED:
            yield from (slice(0, rows // 2), slice(rows - rows // 2, rows))
