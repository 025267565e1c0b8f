"""Rotations whose axes have a width of their own, read off the pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess, combinations
from pecli.measures.evidence import Evidence
from pecli.measures.rotations import Pairs
from pecli.measures.sides import Sides

USUAL = ("10000", "256")
FIRST = ("0", "1")
MOST_OTHER = 2  # pairs that may stand elsewhere, where two columns are exchanged
LEAST = 4  # pairs for each of them


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield a block of pairs for each side of the grids that they follow."""
    for rotation in evidence.rotations:
        for sides in rotation.grids:
            widths = _widths(rotation, sides)
            if widths is not None:
                lengths = ([1] if len(widths) > len(sides.lengths) else []) + [*sides.lengths]
                axes = {"axes": "+".join(map(str, widths)), "grid": "x".join(map(str, lengths)), **sides.edges}
                for own in combinations("rope-axes", base=_bases(rotation, widths), first=FIRST):
                    yield rotation.guess("rope-axes", {**axes, **own}, 3.5, ("base",))


def _bases(rotation: Pairs, widths: list[int]) -> tuple[str, ...]:
    """Return bases that the pairs of the axes show, and usual ones."""
    found: dict[str, None] = {}
    start = 0
    for width in widths:
        found |= dict.fromkeys(rotation.bases(width // 2, within=slice(start, start + width // 2))[:1])
        start += width // 2
    return tuple(dict.fromkeys((*found, *USUAL)))


def _widths(rotation: Pairs, sides: Sides) -> list[int] | None:
    """Return the widths of the axes, one of a single frame first if any; None where a pair turns with two of them."""
    owner = rotation.owners(sides)
    if owner is None or not _in_order(owner):
        return None
    for k in range(1, len(owner)):  # a pair too slow to show belongs to the axis before it
        owner[k] = owner[k - 1] if owner[k] < 0 else owner[k]
    widths = [2 * int((owner == a).sum()) for a in range(len(sides.lengths))]
    lead = 2 * int((owner < 0).sum())  # an axis of one frame, whose pairs do not move
    widths = [lead, *widths] if lead else widths
    return None if 0 in widths else widths


def _in_order(owner: NDArray[np.intp]) -> bool:
    """Whether pairs stand axis by axis, but for two that may be exchanged: those then show none (-1)."""
    at = np.flatnonzero(owner >= 0)
    longest = np.ones(len(at), np.int64)  # of the runs in order that end in each pair
    for k in range(1, len(at)):
        longest[k] = 1 + longest[:k][owner[at[:k]] <= owner[at[k]]].max(initial=0)
    if not len(at) or len(at) - longest.max() > min(MOST_OTHER, len(at) // LEAST):
        return False
    kept, length = len(at), longest.max()
    last = np.inf
    for k in range(len(at) - 1, -1, -1):
        if longest[k] == length and owner[at[k]] <= last and kept > k:
            kept, length, last = k, length - 1, owner[at[k]]
        else:
            owner[at[k]] = -1
    return True
