"""What people get instead of ALiBi: the slopes of its heads in another order, another function of the distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.declare.changes import Change
from pecli.encodings.bias.alibi import alibi_slopes
from pecli.numbers.decimals import CONTEXT, number_text

LN2 = CONTEXT.ln(2)
DISTANCES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "the distance is squared": np.square,
    "the square root of the distance is taken": np.sqrt,
    "the logarithm of 1 + the distance is taken": np.log1p,
    "the distance is counted from 1": lambda distance: distance + 1,
    "the distance is taken less 1": lambda distance: np.maximum(distance - 1, 0),
}


CLIPS = (8, 16, 32, 64, 128, 256, 512, 1024)  # distances at which windows end


def _cut(most: int) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    return lambda distance: np.minimum(distance, most)


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield other functions of the distance; slopes of another power, sorted, or of more heads than a power of two."""
    if keys["bias"] == "symmetric":
        for said, function in DISTANCES.items():
            yield Change("distance", said, values=partial(_distanced, function))
        for end in CLIPS:
            yield Change("distance", f"distances beyond {end} count as {end}", values=partial(_distanced, _cut(end)))
        said = "the distance keeps its sign: keys after the query have a bonus for it"
        yield Change("distance", said, values=_signed)
    if "slope-values" in keys or "alibi-heads" in keys or keys["slopes"] != "frameworks":
        return
    heads, most = int(keys["heads"]), Decimal(keys["bias-max"])
    yield Change("slopes", "powers of e taken where powers of 2 were expected", {"bias-max": number_text(most / LN2)})
    slopes, more = alibi_slopes(heads, most, "frameworks"), 1 << (heads - 1).bit_length()
    if more == heads:
        yield _slopes([Fraction(1), *slopes[:-1]], "heads are counted from 0 in the slopes: the first slope is 1")
        return
    falling = sorted(slopes, reverse=True)
    for order, word in ((falling, "largest"), (falling[::-1], "smallest")):
        yield _slopes(order, f"the slopes are sorted, the {word} first")
    first = alibi_slopes(more, most, "frameworks")[:heads]
    yield _slopes(first, f"the slopes are the first {heads} of those of {more} heads")


def _distanced(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], name: str, values: NDArray[np.float64], _first: int
) -> NDArray[np.float64]:
    """Return a penalty of another distance, which it holds itself: its row's smallest one is that of distance 1."""
    if name != "bias":
        return values
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), np.inf).min(axis=-1, keepdims=True)
    finite = np.isfinite(values) & np.isfinite(size)
    distance = np.round(np.divide(np.abs(values), size, out=np.zeros_like(values), where=finite))
    return np.where(finite, -size * function(distance), values)


def _signed(name: str, values: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """Return a square penalty, head by head, whose sign is changed for keys after their query."""
    keys = np.arange(values.shape[-1])
    queries = (first + np.arange(len(values))) % len(keys)
    return np.where(keys > queries[:, None], -values, values) if name == "bias" and values.ndim == 2 else values


def _slopes(slopes: Sequence[Fraction], said: str) -> Change:
    texts = (number_text(CONTEXT.divide(Decimal(m.numerator), Decimal(m.denominator))) for m in slopes)
    return Change("slopes", said, {"slope-values": "+".join(texts)})
