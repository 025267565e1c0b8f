"""Anchors in groups, with what the runs derive of them: computed once, used by every block they serve."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from pecli.engine.ladder import GROUP, STRIDES, Ladder
from pecli.engine.product import Complex, Split
from pecli.engine.wheel import Wheel

Quarters = NDArray[np.uint16]

SERVED = 1 << 21
"""Pairs that a group of anchors serves."""

KEPT = 4
"""Groups that a ladder keeps: some MiB in all."""

KEPT_LADDERS = 2


class Anchors:
    """A group of anchors of a ladder.

    Parameters
    ----------
    ladder : Ladder
        Whose.
    index : int
        The group is that of the anchors index * count .. (index + 1) * count - 1.
    """

    def __init__(self, ladder: Ladder, index: int) -> None:
        self.ladder = ladder
        self.count = group_size(ladder)
        self.base = index * self.count
        first, last = self.base * ladder.block, (self.base + self.count) * ladder.block
        self.smallest = max(1, ladder.offset + ladder.step * first)
        self.slow = ladder.wheel.speed * (ladder.offset + ladder.step * last) <= 0.125
        """Columns whose angle stays below an eighth of a turn."""
        self._lock = threading.Lock()
        self._turned: dict[tuple[bool, bool], Complex] = {}
        self._splits: dict[tuple[bool, bool], Split] = {}
        self._near: dict[str, tuple[Quarters, Quarters]] = {}

    def turned(self, conjugate: bool, swapped: bool) -> Complex:
        """Give the anchors, rounded: as they are, as conjugates, either times i."""
        key = conjugate, swapped
        with self._lock:
            if key not in self._turned:
                self._turned[key] = self.ladder.anchors(self.base, self.base + self.count, key, self)
            return self._turned[key]

    def split(self, conjugate: bool, swapped: bool) -> Split:
        """Give the same, split."""
        key = conjugate, swapped
        with self._lock:
            if key not in self._splits:
                self._splits[key] = self.ladder.anchor_split(self.base, self.base + self.count, key, self)
            return self._splits[key]

    def near(self, dtype: str, smallest_normal: float, margin: int) -> tuple[Quarters, Quarters]:
        """Give four times the phases of anchors, moved up by ``margin``, and of offsets.

        Their sums are for finding small sines and cosines.  Slow columns need no such test while
        their values are normal numbers, and still ones are stored separately: both are set far
        from any integer.
        """
        with self._lock:
            if dtype not in self._near:
                wheel = self.ladder.wheel
                size = wheel.speed * (6.28 * abs(float(wheel.magnitude.hi)) * self.smallest)
                exempt = (self.slow & (size >= smallest_normal)) | (wheel.speed == 0)
                left = self.ladder.anchor_quarters(self.base, self.base + self.count) + np.uint16(margin)
                right = self.ladder.offset_quarters()
                if exempt.any():
                    right = right.copy()
                    left[:, exempt], right[:, exempt] = 0x8000, 0
                self._near[dtype] = left, right
            return self._near[dtype]


def group_size(ladder: Ladder) -> int:
    """Count the anchors of a group: a power of two, whole strides, of one group of C rows at most."""
    wanted = SERVED // (ladder.block * ladder.wheel.count)
    return min(max(1 << (max(1, wanted).bit_length() - 1), STRIDES), STRIDES * GROUP)


def anchors_at(ladder: Ladder, index: int) -> Anchors:
    """Find or make a group; the last few are kept."""
    with ladder.wheel.lock:
        found = ladder.kept.get(index)
        if not isinstance(found, Anchors):
            while len(ladder.kept) >= KEPT:
                del ladder.kept[next(iter(ladder.kept))]
            found = ladder.kept[index] = Anchors(ladder, index)
        return found


def ladder_for(wheel: Wheel, offset: int, step: int, wide: bool, bias: float, rows: int) -> Ladder:
    """Find or make the wheel's ladder for such multiples; the last few are kept."""
    key = (offset, step, wide)
    with wheel.lock:
        found = wheel.ladders.get(key)
        if not isinstance(found, Ladder):
            found = Ladder(wheel, offset, step, wide, bias, rows)
            while len(wheel.ladders) >= KEPT_LADDERS:
                del wheel.ladders[next(iter(wheel.ladders))]
            wheel.ladders[key] = found
        return found
