"""Rotary encodings that fade with the distance: xPos and RetNet.

d is the width of the head, pair i turns by p w_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Band, Beside, Fixed, Waves
from pecli.encodings.shared.parameters import Base, Heads
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric
from pecli.numbers.text import number_text

if TYPE_CHECKING:
    from pecli.numbers.doubled import Doubled
    from pecli.numbers.exponentials import Exponentials, Powers
    from pecli.numbers.points import Points

HeadDim = Annotated[int, Param("Width of one attention head.", ge=2, le=1 << 20, even=True)]
LONGEST = 1 << 31


@encoding(
    family=Family.ROTARY,
    title="xPos",
    formula="""
        w_i = base^(-2i/dim); cos(p w_i), sin(p w_i)
        scale(p, i) = z_i^((p - centre) / scale-base), z_i = (2i/dim + 0.4) / 1.4
        queries are multiplied by scale, keys divided by it
    """,
    source=Source("Sun et al. 2022", "arXiv:2212.10554", "section 3.2 and the authors' torchscale"),
    facts=Facts(relative="rotation", cost="n * dim + n * dim // 2"),
    users="torchscale, x-transformers, rotary-embedding-torch, flash-attention",
    example="xpos:dim=4,max-len=8",
)
def xpos(
    *,
    dim: HeadDim,
    base: Base = Decimal(10000),
    scale_base: Annotated[
        Decimal, Param("Positions over which the scale is taken to its first power.", ge=1, le=1e12)
    ] = Decimal(512),
    centre: Annotated[
        Literal["floor", "ceil"] | Decimal,
        Param(
            "Position of scale 1: half the length, cut (flash-attention, lucidrains) or rounded up (torchscale); "
            "or a number.",
            number=True,
            metavar="floor|ceil|P",
        ),
    ] = "floor",
    max_len: Annotated[
        int | None,
        Param(
            "Length of the whole table, whose middle is the centre (default: the table's own).",
            ge=1,
            lt=1 << 53,
            of_table="length",
            when=("centre", ("floor", "ceil")),
        ),
    ] = None,
) -> Waves:
    """Rotation whose pairs fade with the distance, the slow ones least."""
    if isinstance(centre, Decimal):
        if abs(centre) >= 1 << 53:
            raise BadParameter("centre", number_text(centre), "must lie below 2^53 in size")
        middle = Fraction(centre)
    else:
        middle = Fraction(((max_len or 1) + (centre == "ceil")) // 2)
    half = dim // 2
    rates = tuple(
        CONTEXT.divide(CONTEXT.ln(CONTEXT.divide(5 * Decimal(i) + dim, Decimal(7 * half))), scale_base)
        for i in range(half)
    )
    every = slice(0, half)

    @cache
    def powers() -> Powers:
        from pecli.numbers.exponentials import Powers

        return Powers(rates)

    def scale(points: Points) -> Exponentials:
        return powers().at(points.beyond(middle))

    band = Band(geometric(base, Fraction(2, dim), half), every, every)
    return Waves(half, (band,), beside=(Beside("scale", half, scale),))


@encoding(
    family=Family.ROTARY,
    title="RetNet",
    formula="""
        w_i = base^(-i / (dim/2 - 1)), i = 0 .. dim/2 - 1; cos(p w_i), sin(p w_i)
        gamma_h = 1 - 2^(-5 - h), h = 0 .. heads - 1
        decay(h, i, j) = gamma_h^(i - j) for a key j up to the query i, 0 after it; apply log: (i - j) ln gamma_h
        normalize: a query's row over the square root of its sum
    """,
    source=Source("Sun et al. 2023", "arXiv:2307.08621", "section 2 and the authors' torchscale"),
    facts=Facts(relative="rotation", cost="n * dim + heads * n"),
    users="RetNet, torchscale",
    example="retnet:dim=4,heads=2,max-len=8",
)
def retnet(
    *,
    dim: HeadDim,
    heads: Heads,
    base: Base = Decimal(10000),
    decay: Annotated[
        Literal["distance", "dense", "none"],
        Param("The decay by distance 0 .. length - 1, for each query and key, or left out."),
    ] = "distance",
    max_len: Annotated[
        int | None,
        Param(
            "Length of the decay (default: the table's own).",
            ge=1,
            lt=LONGEST,
            of_table="length",
            when=("decay", ("distance", "dense")),
        ),
    ] = None,
    apply: Annotated[
        Literal["multiply", "log"],
        Param("The decay that multiplies, or its logarithm, which is added.", when=("decay", ("distance", "dense"))),
    ] = "multiply",
    normalize: Annotated[
        bool, Param("Divide each query's row by the square root of its sum.", when=("apply", ("multiply",)))
    ] = False,
) -> Waves:
    """Rotation with frequencies down to 1/base, and a decay for each head."""
    half = dim // 2
    every = slice(0, half)
    band = Band(geometric(base, Fraction(1, max(1, half - 1)), half), every, every)
    if decay == "none":
        return Waves(half, (band,))
    if normalize and decay != "dense":
        raise BadParameter("normalize", "true", f"needs the rows of decay=dense, and decay={decay} has none")
    fading = Fading(max_len or 1, apply == "log", normalize)
    if decay == "distance":
        array = Fixed("decay", (heads, fading.length), ("head", "distance"), fading.by_distance, lead=2)
    else:
        shape = (heads, fading.length, fading.length)
        array = Fixed("decay", shape, ("head", "query", "key"), fading.by_pair, lead=2)
    return Waves(half, (band,), fixed=(array,))


@dataclass(frozen=True)
class Fading:
    """The decay of each head over `length` distances.

    Parameters
    ----------
    length : int
        Distances 0 .. length - 1, or queries and keys.
    log, normalize : bool
        Whether the logarithm is given; whether rows are divided by the root of their sum.
    """

    length: int
    log: bool
    normalize: bool

    def by_distance(self, start: int, stop: int) -> Doubled:
        """Return values head * length + distance, (stop - start,)."""
        import numpy as np

        from pecli.numbers.doubled import Doubled

        pieces = [self._distances(head, low, high) for head, low, high in self._heads(start, stop)]
        return Doubled(*(np.concatenate([getattr(piece, part) for piece in pieces]) for part in ("hi", "lo")))

    def by_pair(self, start: int, stop: int) -> Doubled:
        """Return rows head * length + query, (stop - start, length); zero (log: minus infinity) after the query."""
        import numpy as np

        from pecli.numbers.doubled import Doubled, multiply

        found = Doubled(np.empty((stop - start, self.length)), np.empty((stop - start, self.length)))
        at = 0
        for head, low, high in self._heads(start, stop):
            rows = slice(at, at + high - low)
            values = self._distances(head, 0, high)
            for part in ("hi", "lo"):
                after = -np.inf if self.log and part == "hi" else 0.0
                line = np.concatenate([getattr(values, part)[::-1], np.full(self.length - 1, after)])
                # the row of query i is [v_i .. v_0 | nothing], a window that begins at v_i
                windows = np.lib.stride_tricks.sliding_window_view(line, self.length)
                getattr(found, part)[rows] = windows[: high - low][::-1]
            at = rows.stop
        return multiply(found, self._shares(start, stop)) if self.normalize else found

    def _heads(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield each head and which of its places lie between two flat ones."""
        while start < stop:
            head, low = divmod(start, self.length)
            high = min(self.length, low + stop - start)
            yield head, low, high
            start += high - low

    def _distances(self, head: int, low: int, high: int) -> Doubled:
        import numpy as np

        from pecli.numbers.doubled import Doubled
        from pecli.numbers.exponentials import Powers
        from pecli.numbers.points import Points

        points, rate = Points(np.arange(low, high, dtype=np.int64)), _log_gamma(head)
        found = points.times([Fraction(rate)]) if self.log else Powers([rate]).at(points).doubled()
        return Doubled(found.hi[:, 0], found.lo[:, 0])

    def _shares(self, start: int, stop: int) -> Doubled:
        """Return one over the root of each row's sum, (rows, 1).

        The sum 1 + gamma + .. + gamma^i is (1 - gamma^(i+1)) / (1 - gamma), and 1 - gamma is 2^(-5-h).
        """
        import numpy as np

        from pecli.numbers.doubled import Doubled, add
        from pecli.numbers.elementary import exp, log

        pieces = []
        for head, low, high in self._heads(start, stop):
            powers = self._distances(head, low + 1, high + 1)
            one = Doubled(np.ones(high - low), np.zeros(high - low))
            pieces.append(exp(log(add(one, -powers).scaled(2.0 ** (5 + head))).scaled(-0.5)))
        return Doubled(*(np.concatenate([getattr(piece, part) for piece in pieces])[:, None] for part in ("hi", "lo")))


def _log_gamma(head: int) -> Decimal:
    """Return ln(1 - 2^(-5 - head))."""
    return CONTEXT.ln(CONTEXT.subtract(Decimal(1), CONTEXT.divide(Decimal(1), Decimal(2 ** (5 + head)))))
