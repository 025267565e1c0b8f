"""What people get instead of ALiBi: the slopes of its heads in another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from pecli.declare.changes import Change
from pecli.encodings.bias.alibi import alibi_slopes
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.text import number_text

LN2 = CONTEXT.ln(2)


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield slopes of another power; sorted, or those of more heads, where the heads are no power of two."""
    if "slope-values" in keys or "alibi-heads" in keys or keys["slopes"] != "frameworks":
        return
    heads, most = int(keys["heads"]), Decimal(keys["bias-max"])
    yield Change("slopes", "powers of e taken where powers of 2 were expected", {"bias-max": number_text(most / LN2)})
    slopes, more = alibi_slopes(heads, most, "frameworks"), 1 << (heads - 1).bit_length()
    if more == heads:
        return
    falling = sorted(slopes, reverse=True)
    for order, word in ((falling, "largest"), (falling[::-1], "smallest")):
        yield _slopes(order, f"the slopes are sorted, the {word} first")
    first = alibi_slopes(more, most, "frameworks")[:heads]
    yield _slopes(first, f"the slopes are the first {heads} of those of {more} heads")


def _slopes(slopes: Sequence[Fraction], said: str) -> Change:
    texts = (number_text(CONTEXT.divide(Decimal(m.numerator), Decimal(m.denominator))) for m in slopes)
    return Change("slopes", said, {"slope-values": "+".join(texts)})
