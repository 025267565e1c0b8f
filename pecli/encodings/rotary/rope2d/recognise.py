"""Rotations by row and column: the orders and series that models have, over the grids that the pairs follow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess, combinations, conventions
from pecli.measures.evidence import Evidence
from pecli.measures.rotations import Pairs
from pecli.measures.sides import Sides

MOST_BLOCKS = 6  # grids of a number of points in blocks of 2 x 2, the squarest first
FEW = 128  # points by which blocks are looked for
ALIKE = 0.6  # share of them in which a side is the same: others may be spoiled
LEAST = 0.2  # share of the pairs that must follow each side in a block
MOST_STILL = 0.7  # and that may follow neither, too slow to show
SERIES = ("half", "even-odd")  # the pixel series is a convention's
FIRST = ("0", "1")
USUAL = ("10000", "100")
MOST_OTHER = 2  # pairs that may stand elsewhere, where two columns are exchanged
FEWEST = 8  # pairs for each of them
ORDERS = {"yx": (0, 1), "xy": (1, 0)}


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield grids of two sides, and those whose rows stand in blocks and follow no side."""
    for rotation in evidence.rotations:
        sides = [s for s in rotation.grids if len(s.lengths) == 2] if rotation.pairs % 2 == 0 else []
        blocks = _blocks(rotation) if rotation.pairs % 2 == 0 else []
        bases = _bases(rotation) if sides or blocks else ()
        for found in sides:
            yield from _over(rotation, found, bases)
        yield from _in_blocks(rotation, blocks, bases)


def _bases(rotation: Pairs) -> tuple[str, ...]:
    """Return bases of a side's frequencies, which stand together or in turn."""
    half = rotation.pairs // 2
    return tuple(dict.fromkeys((*rotation.bases(half), *rotation.bases(half, 2), *USUAL)))


def _over(rotation: Pairs, sides: Sides, bases: tuple[str, ...]) -> Iterator[Guess]:
    owners = rotation.owners(sides)
    if owners is None:
        return
    grid = {"dim": rotation.dim, "grid": sides.text, **sides.edges}
    for own in combinations("rope2d", "axis_order", "pairs", series=SERIES, first=FIRST, base=bases):
        if _fits(owners, own["axis-order"], own["pairs"]):
            yield rotation.guess("rope2d", {**grid, **own}, 3.0, ("base",))
    for convention in conventions("rope2d"):
        yield rotation.guess("rope2d", {**grid, "convention": convention}, 4.0)


def _fits(owners: NDArray[np.intp], axis_order: str, pairs: str) -> bool:
    """Whether pairs that show their side stand as an order has them."""
    first, second = ORDERS[axis_order]
    half = len(owners) // 2
    wanted = np.tile([first, second], half) if pairs == "alternate" else np.repeat([first, second], half)
    other = np.count_nonzero((owners != wanted) & (owners >= 0))
    return bool(other <= min(MOST_OTHER, len(owners) // FEWEST))


def _blocks(rotation: Pairs) -> list[tuple[int, int]]:
    """Return grids whose points may stand in blocks of 2 x 2: first rows that are alike in pairs, and every second."""
    points = len(rotation.parts[0])
    first = rotation.parts[0][: min(points, FEW) // 4 * 4]
    alike = [(a == b).mean(axis=0) > ALIKE for a, b in ((first[::2], first[1::2]), (first[::4], first[2::4]))]
    if min(share.mean() for share in alike) < LEAST or (alike[0] & alike[1]).mean() > MOST_STILL:
        return []
    found = [(h, points // h) for h in range(2, points, 2) if points % h == 0 and (points // h) % 2 == 0]
    return sorted(found, key=lambda p: abs(p[0] - p[1]))[:MOST_BLOCKS]


def _in_blocks(rotation: Pairs, blocks: list[tuple[int, int]], bases: tuple[str, ...]) -> Iterator[Guess]:
    """Yield grids whose points stand in blocks of 2 x 2."""
    points = len(rotation.parts[0])
    for h, w in blocks:
        order = np.arange(points).reshape(h // 2, w // 2, 2, 2).transpose(0, 2, 1, 3).reshape(-1)
        owners = rotation.owners(Sides((h, w)), order)
        if owners is None or len({*owners.tolist()} & {0, 1}) < 2:
            continue
        for own in combinations("rope2d", "axis_order", "pairs", series=SERIES, base=bases):
            if _fits(owners, own["axis-order"], own["pairs"]):
                keys = {"dim": rotation.dim, "grid": f"{h}x{w}", "merge": "2", **own}
                yield rotation.guess("rope2d", keys, 4.0, ("base",))
