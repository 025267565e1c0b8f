"""Distances in buckets: exact near zero, logarithmic farther out, and T5's bias that is trained for each.

H heads.  The distance is key minus query for T5, query minus key for DeBERTa's rule.

A bucket's first distance is found by comparing whole numbers: the k-th of n logarithmic buckets
between e and m begins where (a / e)^n reaches (m / e)^k, so no logarithm is rounded.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from math import gcd
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Bias, Domain, Fixed
from pecli.encodings.bias.alibi import Mask
from pecli.encodings.shared.drawn import GENERATOR, DrawnSeed, Generator, Std, Weights, draw
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT as _DIGITS
from pecli.numbers.decimals import power

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pecli.numbers.points import Points

    Integers = NDArray[np.int64]
    Rows = Callable[[], NDArray[np.float64]]

Arithmetic = Annotated[
    Literal["exact", "float32"], Param("Exact buckets, or those that logarithms in float32 give in the frameworks.")
]
_NEAR = Decimal("1e-40")  # closer to a whole number than this a boundary is compared in whole numbers
WHOLE = Domain(integral=True, remedy="buckets hold whole distances")


@encoding(
    family=Family.BIAS,
    title="T5 relative bias",
    formula="""
        bias(h, i, j) = weight(bucket(j - i), h)
        bidirectional: half the buckets for each side, the upper half where j > i; otherwise j > i has bucket 0
        of a side's n buckets, with e = floor(n / 2) and a = abs(j - i): a < e has its own,
        the others bucket min(n - 1, e + floor((n - e) ln(a/e) / ln(max-distance/e)))
    """,
    source=Source("Raffel et al. 2020", "arXiv:1910.10683", "section 2.1, and relative_position_bucket of its code"),
    facts=Facts(
        learned=True, relative="distance", multi_scale=False, parameters="buckets * heads", cost="(heads + 1) * n * n"
    ),
    users="T5, mT5, UMT5, LongT5, Switch, Pop2Piano, UDOP, MPNet, LayoutLMv3",
    example="t5:heads=2,buckets=8,max-distance=16",
)
def t5(
    *,
    heads: Annotated[
        int | None,
        Param("Number of heads (default: those of the weights; without either, the index alone).", ge=1, le=1 << 16),
    ] = None,
    buckets: Annotated[int, Param("Number of buckets, both sides together.", ge=1, le=1 << 16)] = 32,
    max_distance: Annotated[int, Param("Distance from which all share the last bucket.", ge=1, lt=1 << 53)] = 128,
    bidirectional: Annotated[
        bool, Param("Buckets for keys after the query too, as encoders have them.", off="causal")
    ] = True,
    mask: Mask = "none",
    scale: Annotated[
        Decimal, Param("Multiplies the bias (x-transformers: the root of the head's width).", ge=1e-30, le=1e30)
    ] = Decimal(1),
    arithmetic: Arithmetic = "exact",
    weights: Annotated[
        Weights, Param("File of the bias of each bucket and head (default: drawn from the seed).", file=True)
    ] = None,
    std: Annotated[
        Std,
        Param(
            "Standard deviation of drawn values (T5: 1/sqrt(d_model); MPNet 0.02).",
            ge=1e-30,
            le=1e30,
            when=("weights", (None,)),
        ),
    ] = Decimal("0.02"),
    seed: Annotated[DrawnSeed, Param("Seed of drawn values.", ge=0, lt=1 << 64, when=("weights", (None,)))] = 0,
    generator: Annotated[
        Generator, Param("How values are drawn: one Philox word each, by bucket and head.", when=("weights", (None,)))
    ] = GENERATOR,
) -> Bias:
    """Trained number for each head and bucket of distances.

    Without heads or weights the table holds the buckets alone, as the array index.
    """
    side = buckets // 2 if bidirectional else buckets
    exact = side // 2
    if exact < 1:
        least, which = (4, "bidirectional") if bidirectional else (2, "causal")
        raise BadParameter(
            "buckets", buckets, f"must be at least {least} when {which}: half of a side's buckets are exact"
        )
    if max_distance <= exact:
        rule = f"must be above {exact}, the distances that have one of buckets={buckets} each"
        raise BadParameter("max-distance", max_distance, rule)
    if bidirectional and mask == "causal":
        rule = "hides the keys for which bidirectional=true keeps half of the buckets: use --causal"
        raise BadParameter("mask", mask, rule)
    log_buckets = LogBuckets(exact, max_distance, side - exact, side - 1, arithmetic)

    def index(distances: Points) -> Integers:
        import numpy as np

        distance = distances.whole()
        if not bidirectional:
            return log_buckets.of(np.maximum(-distance, 0))
        return log_buckets.of(np.abs(distance)) + np.where(distance > 0, side, 0)

    count, rows, prepare = bucket_weights(weights, heads, buckets, float(std), seed)

    def value(distances: Points, chosen: range) -> NDArray[np.float64]:
        table = rows()[:, chosen.start : chosen.stop] * float(scale)
        found: NDArray[np.float64] = table.T[:, index(distances)]
        return found

    fixed = (
        (Fixed("weight", (buckets, count), ("bucket", "head"), lambda start, stop: rows()[start:stop]),)
        if count
        else ()
    )
    return Bias(count, value, causal=mask == "causal", index=index, fixed=fixed, prepare=prepare, domain=WHOLE)


def bucket_weights(
    path: str | None, heads: int | None, buckets: int, std: float, seed: int
) -> tuple[int, Rows, Callable[[], None]]:
    """Return the number of heads, what gives the weights (buckets, heads), and what reads and checks them."""
    if path is None:
        count = heads or 0
        return count, cache(lambda: draw(seed, 0, 0, buckets, count, "normal", std)), lambda: None

    @cache
    def read() -> NDArray[np.float64]:
        from pecli.encodings.shared.files import one_array, read_arrays, shaped

        values = one_array(
            read_arrays(path), path, "relative_attention_bias.weight", "relative_attention_bias", "weight"
        )
        return shaped(
            values, path, (buckets, heads), f"a bias with buckets={buckets}" + (f" and heads={heads}" if heads else "")
        )

    def prepare() -> None:
        read()

    return heads or read().shape[1], read, prepare


class LogBuckets:
    """Buckets of sizes: one each up to `exact`, then of growing width.

    With n = `count` and the ratio r = `end` / `exact`, a size a beyond `exact` stands
    v = n ln(a / exact) / ln r steps out.  T5 takes exact + floor(v), and exact itself is
    beyond; DeBERTa (`up`) takes exact + ceil(v), and exact itself is not beyond.

    Parameters
    ----------
    exact, end, count : int
        As above; end > exact.
    last : int or None
        The last bucket, which takes all that lies farther out; None for no last.
    arithmetic : {"exact", "float32"}
        Whether a size near a boundary is decided exactly, or as float32 decides it.
    up : bool
        Which way steps are rounded.
    """

    def __init__(
        self, exact: int, end: int, count: int, last: int | None, arithmetic: str = "exact", *, up: bool = False
    ) -> None:
        self.exact, self.end, self.count, self.last, self.up = exact, end, count, last, up
        self._in_float32 = arithmetic == "float32"

    def of(self, sizes: Integers) -> Integers:
        """Return the bucket of each size, none of which is negative."""
        import numpy as np

        if self._in_float32:
            return self._rounded(sizes)
        first = np.array(self.starts(int(sizes.max(initial=0))), np.int64)
        beyond = np.searchsorted(first, sizes, side="right")
        offset = self.exact if self.up else self.exact - 1
        found: Integers = np.where(beyond > 0, offset + beyond, np.minimum(sizes, self.exact))
        return found

    def starts(self, largest: int) -> tuple[int, ...]:
        """Return the first size of each bucket beyond the exact ones, as far as `largest`."""
        most = self.count if self.last is None else self.last - self.exact + 1
        return _starts(self.exact, self.end, self.count, None if self.last is None else most, largest, self.up)

    def _rounded(self, sizes: Integers) -> Integers:
        """Return the buckets that float32 gives: every operation of the frameworks' code rounded to it.

        torch's logarithm is within one unit in the last place of the rounded one used here.
        """
        import numpy as np

        ratio = self.end / self.exact
        whole = _log32(np.array([ratio if not self.up else float(np.float32(ratio))]))
        far = sizes > self.exact if self.up else sizes >= self.exact
        near = np.where(far, sizes, self.exact).astype(np.float32)
        steps = _log32((near / np.float32(self.exact)).astype(np.float64)) / whole * np.float32(self.count)
        taken = (np.ceil(steps) if self.up else np.trunc(steps)).astype(np.int64)
        found: Integers = np.where(far, self.exact + taken, sizes)
        return found if self.last is None else np.minimum(found, self.last)


def _log32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the logarithm, correctly rounded to float32."""
    from pecli.numbers import elementary
    from pecli.numbers.rounding import narrow

    found = elementary.log(elementary.doubled(values))
    return narrow(found.hi, found.lo, "float32")


@lru_cache(maxsize=64)
def _starts(exact: int, end: int, count: int, most: int | None, largest: int, up: bool) -> tuple[int, ...]:
    """Return the least size a with v >= k (with `up`: v > k) for k = 0, 1, ..: `most` of them, or up to `largest`."""
    if up and not count:
        return ()  # v is 0 everywhere
    ratio = power(_DIGITS.divide(Decimal(end), Decimal(exact)), Fraction(1, max(1, count)))
    found, k, place = [], 0, Decimal(exact)
    while most is None or k < most:
        near = int(_DIGITS.to_integral_value(place))
        if abs(_DIGITS.subtract(place, Decimal(near))) > _NEAR:
            start = int(place) + 1  # the place is no whole number: the next one is the first beyond
        else:
            start = near if _steps(near, exact, end, count, k) >= (1 if up else 0) else near + 1
        if most is None and start > largest:
            break
        found.append(start)
        place = _DIGITS.multiply(place, ratio)
        k += 1
    return tuple(found)


def _steps(a: int, exact: int, end: int, count: int, k: int) -> int:
    """Return the sign of (a / exact)^count - (end / exact)^k, by whole numbers."""
    shared = gcd(count, k)
    n, k = count // shared, k // shared
    one: int = a**n * exact**k
    other: int = end**k * exact**n
    return (one > other) - (one < other)
