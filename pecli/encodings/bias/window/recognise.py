"""Windows: indices of offsets, biases that follow one, and Swin v2's coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats

SHOWN = 8  # queries of the first head that an index is laid under
FOLLOW = 0.5  # share of their values that are those of their entry
LONGEST = 1 << 12  # tokens


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield windows of as many patches as there are queries, with and without a class token; coordinates."""
    flat = _flat(evidence)
    square = evidence.square if flat is None else flat
    if square is not None and evidence.window is None:
        notes = ("its rows stand one after the other",) if flat is not None else ()
        middle = np.median(np.diag(square))  # no patch is apart from itself
        for keys, height, width in _windows(len(square)):
            if min(height, width) > 1 and middle == (height - 1) * (2 * width - 1) + width - 1:
                yield Guess("window", keys, {"form": "index"}, 3.0, notes=notes, arrays=("index",))
    elif not evidence.integral and evidence.window is None and len(evidence.whole.lanes) == 1:
        yield from _trained(evidence)
        yield from _coordinates(evidence)


def _windows(tokens: int) -> Iterator[tuple[dict[str, str], int, int]]:
    for cls, count in (("false", tokens), ("true", tokens - 1)):
        for height in (h for h in range(1, count + 1) if count % h == 0):
            yield {"grid": f"{height}x{count // height}", "cls": cls}, height, count // height


def _flat(evidence: Evidence) -> Floats | None:
    """Return an index whose rows stand one after the other, as (n, n)."""
    lane = evidence.sample.lanes[0]
    (count, *others), side = lane.plain_shape or (0,), math.isqrt(math.prod(lane.shape))
    if not evidence.integral or others or side**2 != count or not 3 <= side <= LONGEST:
        return None
    return lane.read(0, lane.rows).astype(np.float64).reshape(side, side)


def _trained(evidence: Evidence) -> Iterator[Guess]:
    """Yield windows whose entries stand for equal values of a bias (heads, tokens, tokens)."""
    shape = evidence.whole.lanes[0].plain_shape
    values = evidence.whole.planes[0].values.reshape(-1)
    tokens = shape[-1] if shape else 0
    if not 2 <= len(shape) <= 3 or shape[-2] != tokens or not 4 < tokens <= LONGEST or len(values) < tokens**2:
        return
    heads = math.prod(shape) // tokens**2
    notes = (f"one trained number for each of {heads} heads and offset: the recipe gives the entries",)
    queries = np.unique(np.linspace(1, tokens - 2, SHOWN).astype(int))
    head = values[: tokens**2].reshape(tokens, tokens)
    rows, below = head[queries], head[queries + 1]
    best, share = None, FOLLOW
    for keys, height, width in _windows(tokens):
        if min(height, width) == 1:
            continue
        places = [np.divmod(at - (keys["cls"] == "true"), width) for at in (queries, np.arange(tokens))]
        (y, x), (v, u) = places
        entries = (y[:, None] - v + height) * 2 * width + x[:, None] - u + width
        entries[:, : tokens - height * width] = 0  # the class token's, all of one entry
        turned = ((x[:, None] == width - 1) != (u == width - 1))[:, :-1]  # one of two patches is the last of its row
        distances = rows[:, :-1][turned] == below[:, 1:][turned]  # equal where a distance decides
        if distances.mean() < FOLLOW and (found := _follow(rows, entries)) > share:
            best, share = keys, found
    if best is not None:
        yield Guess("window", best, {"form": "index"}, 6.0, notes=notes, partition=True)


def _follow(rows: Floats, entries: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> float:
    """Return the share of the values with an entry of others that are equal; 0 where entries have no own values."""
    order = np.lexsort((rows.reshape(-1), entries.reshape(-1)))
    values, groups = rows.reshape(-1)[order], entries.reshape(-1)[order]
    shared, same = groups[1:] == groups[:-1], values[1:] == values[:-1]
    own = shared.any() and not shared.all() and same[~shared].mean() < FOLLOW
    return float(same[shared].mean()) if own else 0.0


def _coordinates(evidence: Evidence) -> Iterator[Guess]:
    """Yield the window of version 2 that coordinates (2h - 1, 2w - 1, 2) are of, and the one of the training."""
    shape = evidence.whole.lanes[0].plain_shape
    values = evidence.whole.planes[0].values
    if len(shape) != 3 or shape[2] != 2 or min(shape) < 2 or not (shape[0] % 2 and shape[1] % 2):
        return
    if values.size != math.prod(shape):
        return
    ends = [_middle(values.reshape(shape)[-1, :, 0]), _middle(values.reshape(shape)[:, -1, 1])]
    window, trained = [(side + 1) // 2 for side in shape[:2]], []
    for side, end in zip(window, ends, strict=True):
        if not 0 < end < LONGEST.bit_length():
            return
        trained.append(1 + round(8 * (side - 1) / (8.0**end - 1)))  # the end is log8(1 + 8 (side - 1) / (trained - 1))
    if min(trained) > 1:
        keys = {"grid": "x".join(map(str, window)), "version": "2"}
        given = {} if trained == window else {"pretrained": "x".join(map(str, trained))}
        yield Guess("window", keys | given, {}, 3.0, arrays=("coordinates",))


def _middle(values: Floats) -> float:
    """Return the median of the numbers among some values; 0 where there is none."""
    told = values[~np.isnan(values)]
    return float(np.median(told)) if told.size else 0.0
