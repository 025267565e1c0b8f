"""Rotations by row and column: the orders and series that models have, over the grids that the pairs follow."""

from __future__ import annotations

from collections.abc import Iterator

from pecli.declare.guess import Guess, combinations, conventions
from pecli.measures.evidence import Evidence

MOST_BLOCKS = 6  # grids of a number of points in blocks of 2 x 2, the squarest first


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield grids of two sides, and those whose rows stand in blocks and follow no side."""
    for layout, dim, cos, _ in evidence.rotations:
        table = {"layout": layout}
        for sides in evidence.grids:
            if len(sides.lengths) == 2:
                grid = {"dim": str(dim), "grid": sides.text, **sides.edges}
                bases = evidence.side_bases(sides)
                for own in combinations("rope2d", "axis_order", "pairs", series=SERIES, first=FIRST, base=bases):
                    yield Guess("rope2d", {**grid, **own}, table, 3.0, free=("base",))
                for convention in conventions("rope2d"):
                    yield Guess("rope2d", {**grid, "convention": convention}, table, 4.0)
        points = len(cos)
        blocks = [(h, points // h) for h in range(2, points, 2) if points % h == 0 and (points // h) % 2 == 0]
        for h, w in sorted(blocks, key=lambda p: abs(p[0] - p[1]))[:MOST_BLOCKS]:
            for own in combinations("rope2d", series=SERIES):
                yield Guess("rope2d", {"dim": str(dim), "grid": f"{h}x{w}", "merge": "2", **own}, table, 4.0)


SERIES = ("half", "even-odd")  # the pixel series is a convention's
FIRST = ("0", "1")
