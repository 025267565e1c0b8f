"""Cosines and sines of a run that are rounded to no type, for whoever goes on to compute with them."""

from __future__ import annotations

import numpy as np

from pecli.engine.anchors import anchors_at, group_size, ladder_for
from pecli.engine.blocks import Outer, blocks, short_buffers
from pecli.engine.narrow_run import PLANE, WINDOW
from pecli.engine.narrowing import ordinary
from pecli.engine.product import Complex
from pecli.engine.wheel import Wheel

PAIRS = 1 << 17
"""Pairs that are multiplied at once."""


def plane_error(wheel: Wheel) -> float:
    """Return how far the points of `fill_points` may be off in the complex plane: 6.8 u of the magnitude."""
    return PLANE * abs(float(wheel.magnitude.hi))


def has_points(wheel: Wheel, multiples: range) -> bool:
    """Whether `fill_points` serves a run: upward, of no negative multiple, and for a magnitude that is no extreme."""
    return multiples.start >= 0 and multiples.step > 0 and ordinary(float(wheel.magnitude.hi), "float32")


def fill_points(wheel: Wheel, multiples: range, out: Complex) -> None:
    """Write cos + i sin of the rows of a run, magnitude included, within `plane_error`.

    Parameters
    ----------
    wheel : Wheel
        The frequencies.
    multiples : range
        See `has_points`; parts of one long run share a ladder.
    out : (len(multiples), columns) complex128 ndarray
        Where to; contiguous.
    """
    offset, first = multiples.start % multiples.step, multiples.start // multiples.step
    last = first + len(multiples)
    ladder = ladder_for(wheel, offset, multiples.step, False, WINDOW.bias, len(multiples))
    right, group = ladder.offsets(False), group_size(ladder) * ladder.block
    at = first
    with short_buffers():
        while at < last:
            anchors, stop = anchors_at(ladder, at // group), min((at // group + 1) * group, last)
            left = anchors.turned(False, False) * (1.0 / WINDOW.bias)
            for block in blocks(ladder.block, wheel.count, at, stop, PAIRS):
                start = at - first + block.start
                target = out[start : start + block.size].reshape(-1)
                Outer(np.multiply, left, right, block, target)(block.anchor - anchors.base)
            at = stop
