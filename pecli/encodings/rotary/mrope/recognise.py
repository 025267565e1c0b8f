"""Rotations by several positions of a token: text, and grids of vision tokens with text around them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.encodings.shared.waves import rotary_keys
from pecli.measures.evidence import Evidence
from pecli.measures.rotations import Pairs
from pecli.measures.tokens import allowed_streams, sequences_of

LAGS = (1, 3, 2)  # pairs after which one of the same stream stands: in sections, every third, every second
USUAL = ("10000", "1000000", "500000")
T, H, W = 0, 1, 2
MOST = 2  # sizes of sections that are tried: more only say that the values leave room


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield text, whose tokens have one position in all streams: a plain rotation, whatever the sections; and grids."""
    for wave in evidence.series:
        found = rotary_keys(wave, evidence)
        if found is None or "shift" in wave.spectrum.keys:
            continue
        keys, table = found
        pairs = int(keys["dim"]) // 2
        own = {"sections": f"{pairs - 2 * (pairs // 3)}+{pairs // 3}+{pairs // 3}"}
        yield Guess("mrope", {**keys, **own}, table, wave.cost + 2, wave.level, free=wave.free)
    spans = [wave.reading.rows.stop - wave.reading.rows.start for wave in evidence.series]
    for rotation in evidence.rotations if 2 * max(spans, default=0) < len(evidence.sample.planes[0].values) else ():
        yield from _of_tokens(rotation)  # no series shows in most rows


def _of_tokens(rotation: Pairs) -> Iterator[Guess]:
    """Yield sequences of text and grids, by the first base with which positions are whole."""
    m = rotation.pairs
    shown = [base for lag in LAGS for base in rotation.bases(m / lag, lag)]
    for base in dict.fromkeys((*shown, *USUAL)) if shown else ():
        w = float(base) ** (-np.arange(m) / m)
        for sequence in sequences_of(rotation, w):
            for order, sections in _sections(allowed_streams(rotation, w, sequence.streams)):
                keys = {"dim": rotation.dim, "base": base, "sections": "+".join(map(str, sections))}
                keys |= {"section-order": order, "sequence": sequence.text}
                yield rotation.guess("mrope", keys, 4.0, ("base",))


def _sections(allowed: NDArray[np.bool_]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield the orders and sizes of sections in which every pair turns with a stream that it may.

    The slowest pairs of few digits may not tell two streams apart: then the usual sizes come first, and others after.
    """
    m = allowed.shape[1]
    chunks = [
        (a, b)
        for a in range(1, _last(allowed[T]) + 1)
        for b in range(max(a + 1, m - _last(allowed[W][::-1])), m)
        if allowed[H, a:b].all()
    ]
    for a, b in sorted(chunks, key=lambda ends: (abs(m - 2 * ends[1] + ends[0]), ends))[:MOST]:
        yield "chunked", (a, b - a, m - b)
    for order, start, step in (("interleaved", 1, 3), ("hw-alternating", 0, 2)):
        sizes = range((m - start - 1) // step + 1, 0, -1)
        for size in islice((n for n in sizes if _alternates(allowed, n, start, step)), MOST):
            rest = m - 2 * size
            yield order, (rest, size, size) if order == "interleaved" else (size, size, rest)


def _last(may: NDArray[np.bool_]) -> int:
    """Return how many pairs from the first on may turn with a stream."""
    return len(may) if may.all() else int(may.argmin())


def _alternates(allowed: NDArray[np.bool_], size: int, start: int, step: int) -> bool:
    """Whether so many pairs may turn with the row, the ones after them with the column, the others with the frame."""
    owner = np.zeros(allowed.shape[1], np.int64)
    owner[start : start + step * size : step] = H
    owner[start + 1 : start + 1 + step * size : step] = W
    return bool(allowed[owner, np.arange(len(owner))].all())
