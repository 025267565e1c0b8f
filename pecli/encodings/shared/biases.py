"""Biases by distance: masks, signs, numbers for each head, and buckets that grow with the logarithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import Float32, Floats, Integers, Real, dd, np, rounding
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, join_list, number_text, power
from pecli.spec.declaration import Param
from pecli.spec.hooks import Values
from pecli.spec.plans import Domain

Mask = Annotated[Literal["none", "causal"], Param("Minus infinity for keys after the query.")]


def minus(values: Real) -> Real:
    """Return the negative, with zeros that stay positive."""
    if isinstance(values, dd.DoubleDouble):
        return dd.DoubleDouble(0.0 - values.hi, 0.0 - values.lo)
    return 0.0 - values


def each_head(name: str, given: tuple[Decimal, ...] | None, heads: int) -> list[Fraction]:
    """Return one exact number for each head; empty for None."""
    if given is None:
        return []
    if len(given) not in (1, heads):
        raise BadParameter(name, f"({len(given)} numbers)", f"must be one number, or one for each of heads={heads}")
    return [Fraction(value) for value in given] * (heads if len(given) == 1 else 1)


def listed(values: Sequence[Decimal]) -> str:
    """Return one number for each head as a recipe has them: once where all are the same."""
    return number_text(values[0]) if len(set(values)) == 1 else join_list(values, "+")


def index_by(rule: Callable[[Integers, Integers], Integers]) -> Values:
    """Return the change of the array ``index`` to a rule of the rows' numbers (q, 1) and the columns' (k)."""

    def changed(name: str, values: Floats, first: int) -> Floats:
        if name != "index" or values.ndim != 2:
            return values
        return np.asarray(rule(first + np.arange(len(values))[:, None], np.arange(values.shape[1])), np.float64)

    return changed


Arithmetic = Annotated[
    Literal["exact", "float32"], Param("Exact buckets, or those of the frameworks' float32 logarithms.")
]


_MAX_DISTANCE_TO_WHOLE = Decimal("1e-40")  # closer to a whole number than this a boundary is compared in whole numbers
WHOLE = Domain(integral=True, remedy="buckets hold whole distances")


class LogBuckets:
    """Buckets of sizes: one each up to `exact`, then of growing width.

    With n = `count` and the ratio r = `end` / `exact`, a size a beyond `exact` is
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
        if self._in_float32:
            return self._rounded(sizes)
        first = np.array(self.starts(int(sizes.max(initial=0))), np.int64)
        beyond = np.searchsorted(first, sizes, side="right")
        offset = self.exact if self.up else self.exact - 1
        return np.asarray(np.where(beyond > 0, offset + beyond, np.minimum(sizes, self.exact)))

    def starts(self, largest: int) -> tuple[int, ...]:
        """Return the first size of each bucket beyond the exact ones, as far as `largest`."""
        max_starts = None if self.last is None else self.last - self.exact + 1
        return _starts(self.exact, self.end, self.count, max_starts, largest, self.up)

    def _rounded(self, sizes: Integers) -> Integers:
        """Return the buckets that float32 gives: every operation of the frameworks' code rounded to it.

        torch's logarithm is within one unit in the last place of the rounded one used here.
        """
        ratio = self.end / self.exact
        whole = _log32(np.array([ratio if not self.up else float(np.float32(ratio))]))
        far = sizes > self.exact if self.up else sizes >= self.exact
        near = np.where(far, sizes, self.exact).astype(np.float32)
        steps = _log32((near / np.float32(self.exact)).astype(np.float64)) / whole * np.float32(self.count)
        taken = (np.ceil(steps) if self.up else np.trunc(steps)).astype(np.int64)
        found: Integers = np.where(far, self.exact + taken, sizes)
        return found if self.last is None else np.minimum(found, self.last)


def _log32(values: Floats) -> Float32:
    """Return the logarithm, correctly rounded to float32."""
    found = dd.log(dd.doubled(values))
    return rounding.narrow(found.hi, found.lo, "float32")


@lru_cache(maxsize=64)
def _starts(exact: int, end: int, count: int, max_starts: int | None, largest: int, up: bool) -> tuple[int, ...]:
    """Return the least size a with v >= k (with `up`: v > k) for k = 0, 1, ..: `max_starts`, or up to `largest`."""
    if up and not count:
        return ()  # v is 0 everywhere
    ratio = power(CONTEXT.divide(Decimal(end), Decimal(exact)), Fraction(1, max(1, count)))
    found, k, place = [], 0, Decimal(exact)
    while max_starts is None or k < max_starts:
        near = int(CONTEXT.to_integral_value(place))
        if abs(CONTEXT.subtract(place, Decimal(near))) > _MAX_DISTANCE_TO_WHOLE:
            start = int(place) + 1  # the place is no whole number: the next one is the first beyond
        else:
            start = near if _steps(near, exact, end, count, k) >= (1 if up else 0) else near + 1
        if max_starts is None and start > largest:
            break
        found.append(start)
        place = CONTEXT.multiply(place, ratio)
        k += 1
    return tuple(found)


def _steps(a: int, exact: int, end: int, count: int, k: int) -> int:
    """Return the sign of (a / exact)^count - (end / exact)^k, by whole numbers."""
    shared = gcd(count, k)
    n, k = count // shared, k // shared
    one: int = a**n * exact**k
    other: int = end**k * exact**n
    return (one > other) - (one < other)
