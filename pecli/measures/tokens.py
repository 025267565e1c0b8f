"""Runs of text and grids of vision tokens, from positions that a token has in several streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.measures.rotations import Pairs
from pecli.measures.samples import Floats

OPEN = 0.5  # of a position, that an angle may be off by to tell it
WHOLE = 0.25  # that it may miss a whole one by
AGREE = 0.7  # share of the rows in which two pairs have the same position
FITS = 0.9  # share of the rows that a sequence must explain: others may be spoiled
CLOSE = 16.0  # roundings that a pair's value may be off by
FEW = 4  # tokens around one that may be spoiled
WRONG = 0.1  # share of the values of a pair that may be spoiled


@dataclass(frozen=True)
class Tokens:
    """Text tokens and grids in order, and the positions of all tokens, (3, n): frame, row, column."""

    text: str
    streams: Floats


def sequences_of(rotation: Pairs, frequencies: Floats) -> Iterator[Tokens]:
    """Yield the sequences whose rows are positions that pairs show which stay within a turn."""
    for rows in _positions(rotation, frequencies):
        runs = _runs(rows)
        streams = np.empty((3, 0)) if runs is None else _streams(runs)
        if runs and streams.shape[1] == len(rows) and any(len(run) == 3 for run in runs):
            yield Tokens("+".join("x".join(map(str, run)) for run in runs), streams)


def _positions(rotation: Pairs, frequencies: Floats) -> list[Floats]:
    """Return the different runs of whole positions that slow pairs show; NaN where they tell none."""
    found: list[Floats] = []
    filled = _filled(rotation)
    for k in np.flatnonzero(rotation.slow):
        position = rotation.angles[:, k] / frequencies[k]
        whole = np.round(position)
        told = (rotation.errors[:, k] / frequencies[k] < OPEN) & (np.abs(position - whole) < WHOLE)
        told &= filled
        if told.mean() < FITS or np.ptp(whole[told]) < 2:
            continue
        whole = np.where(told, whole, np.nan)
        for n, other in enumerate(found):
            both = told & ~np.isnan(other)
            if (whole[both] == other[both]).mean() > 1 - (1 - AGREE) / 3:
                found[n] = np.where(np.isnan(other), whole, other)
                break
        else:
            found.append(whole)
    return found


def _filled(rotation: Pairs) -> NDArray[np.bool_]:
    """Return which rows are not all zeros, as a row of sines is at position 0 alone."""
    filled: NDArray[np.bool_] = np.logical_or.reduce([part.any(axis=1) for part in rotation.parts])
    filled[0] = True
    return filled


def _runs(rows: Floats) -> list[tuple[int, ...]] | None:
    """Return lengths of text and sides of grids that rows tell; None where they tell none.

    Text counts on; a grid's rows stay for as many tokens as it has columns, then count on, and begin again in the
    next frame; what follows begins after its largest side.
    """
    runs: list[tuple[int, ...]] = []
    at, q, n = 0, 0, len(rows)
    while at < n:
        text = _same(rows, at, np.arange(q, q + n - at))
        text -= 0 < text < n - at  # the last of them is the first of a grid
        if text:
            runs.append((text,))
            at, q = at + text, q + text
        if at == n:
            break
        width = _same(rows, at, np.full(n - at, q))
        if not width:
            return None
        height = _same(rows, at, q + np.arange(n - at) // width) // width
        frames = _same(rows, at, q + np.arange(n - at) // width % max(1, height)) // max(1, width * height)
        if not frames or width * height < 2:
            return None
        runs.append((frames, height, width))
        at, q = at + frames * height * width, q + max(frames, height, width)
    return runs


def _same(rows: Floats, first: int, wanted: NDArray[np.int64]) -> int:
    """Return how many of the tokens from the first on are in these rows, or show none."""
    seen = rows[first : first + len(wanted)]
    good = np.isnan(seen) | (seen == wanted)
    if len(good) > FEW:  # a single one may be spoiled
        good[1:-2] |= good[:-3] & good[2:-1] & good[3:]
        good[0] |= good[1:FEW].all()
        good[-1] |= good[-FEW:-1].all()
    return len(seen) if good.all() else int(good.argmin())


def _streams(runs: list[tuple[int, ...]]) -> Floats:
    """Return the positions of the tokens of runs, each of which begins after the largest position so far."""
    found, q = [], 0
    for run in runs:
        sides = run if len(run) == 3 else (1, 1, run[0])
        own = np.indices(sides).reshape(3, -1) if len(run) == 3 else np.tile(np.arange(run[0]), (3, 1))
        found.append(own + q)
        q += max(sides)
    return np.concatenate(found, axis=1).astype(np.float64)


def allowed_streams(rotation: Pairs, frequencies: Floats, streams: Floats) -> NDArray[np.bool_]:
    """Return which streams each pair may turn with, (3, pairs): those whose positions give most of its values."""
    found = np.zeros((len(streams), rotation.pairs), np.bool_)
    for number, positions in enumerate(streams):
        angles = positions[:, None] * frequencies
        near = CLOSE * rotation.resolution + 2.0**-22 * (1 + np.abs(angles))
        good = np.ones(rotation.pairs)
        for part, function in ((rotation.cos, np.cos), (rotation.sin, np.sin)):
            if part is not None:
                good = np.minimum(good, (np.abs(part - function(angles)) <= near).mean(axis=0))
        found[number] = good >= 1 - WRONG
    return found
