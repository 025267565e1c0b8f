"""What people get instead of ALiBi: the slopes of its heads in another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from pecli.declare.changes import Change
from pecli.encodings.bias.alibi import alibi_slopes
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.text import number_text


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the slopes sorted, where heads beyond a power of two come after the others."""
    if "slope-values" in keys or "alibi-heads" in keys or keys["slopes"] != "frameworks":
        return
    slopes = alibi_slopes(int(keys["heads"]), Decimal(keys["bias-max"]), "frameworks")
    falling = sorted(slopes, reverse=True)
    for order, word in ((falling, "largest"), (falling[::-1], "smallest")):
        if slopes != falling:
            texts = (number_text(CONTEXT.divide(Decimal(m.numerator), Decimal(m.denominator))) for m in order)
            yield Change("slopes", f"the slopes are sorted, the {word} first", {"slope-values": "+".join(texts)})
