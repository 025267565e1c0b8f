"""Rotations whose axes have a width of their own, read off the pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.declare.guess import Guess, combinations
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats
from pecli.measures.sides import UNCHANGED, Sides, alike


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield a block of pairs for each side of the grids that they follow."""
    for layout, _, cos, sin in evidence.rotations:
        for sides in evidence.grids:
            axes = _widths(cos, sin, sides)
            if axes is not None:
                for own in combinations("rope-axes", base=evidence.side_bases(sides), first=("0", "1")):
                    yield Guess("rope-axes", {**axes, **own, **sides.edges}, {"layout": layout}, 3.5, free=("base",))


def _widths(cos: Floats, sin: Floats, sides: Sides) -> dict[str, str] | None:
    """Return the widths of the axes and their lengths; None where a pair turns with two of them."""
    body, shown = sides.shown(len(cos))
    count = cos.shape[1]
    cube = np.concatenate([cos[body], sin[body]], axis=1).reshape(*shown, -1)
    moves = np.stack([~alike(cube, axis, UNCHANGED) for axis in range(len(shown))])
    moves = moves[:, :count] | moves[:, count:]
    owner = np.where(moves.any(axis=0), moves.argmax(axis=0), -1)
    if (moves.sum(axis=0) > 1).any() or (np.diff(owner[owner >= 0]) < 0).any():
        return None
    for k in range(1, count):  # a pair too slow to show belongs to the axis before it
        owner[k] = owner[k - 1] if owner[k] < 0 else owner[k]
    lengths = list(sides.lengths)
    widths = [2 * int((owner == a).sum()) for a in range(len(lengths))]
    lead = 2 * int((owner < 0).sum())
    if lead:  # an axis of one frame, whose pairs do not move
        widths.insert(0, lead)
        lengths.insert(0, 1)
    return None if 0 in widths else {"axes": "+".join(map(str, widths)), "grid": "x".join(map(str, lengths))}
