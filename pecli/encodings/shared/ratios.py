"""Quotients of logarithms of the distance and of the query's position, each logarithm computed once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction

from pecli.encodings.shared.kernel_types import Floats, Integers, Points


class Kept:
    """Values of a function at 0, 1, 2, .., computed in stretches that are kept."""

    STRETCH = 1 << 14

    def __init__(self, function: Callable[[Integers], Floats]) -> None:
        self._function = function
        self._held: dict[int, Floats] = {}
        self._lock = threading.Lock()

    def __call__(self, start: int, stop: int) -> Floats:
        """Return the values at `start` to `stop`, at least one."""
        import numpy as np

        size = self.STRETCH
        numbers = range(start // size, -(-stop // size))
        with self._lock:
            for number in numbers:
                if number not in self._held:
                    self._held[number] = self._function(np.arange(number * size, (number + 1) * size, dtype=np.int64))
        parts = [self._held[number] for number in numbers]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        offset = numbers.start * size
        return whole[start - offset : stop - offset]


class Ratios:
    """The two logarithms that x is the quotient of, each correctly rounded but for about one in 2^40."""

    def __init__(self, c: Fraction, threshold: Fraction, epsilon: Fraction) -> None:
        self.c, self.threshold, self.epsilon = c, threshold, epsilon
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, Fraction, Fraction], Kept] = {}

    def numerators(self, queries: Points, keys: Points) -> Floats:
        """Return ln(c abs(key - query) + 1), (q, k); of evenly spaced positions a view of one vector."""
        import numpy as np

        step = even_step(queries, keys)
        if step is None:
            sizes = np.abs(keys.multiples[None, :] - queries.multiples[:, None])
            found, places = np.unique(sizes, return_inverse=True)
            values: Floats = self._logarithm(found, keys.unit)[places].reshape(sizes.shape)
            return values
        first = int(keys.multiples[0] - queries.multiples[-1]) // step
        last = first + len(queries) + len(keys) - 2
        kept = self.by_distance(keys.unit * abs(step))
        parts = []
        if first < 0:
            parts.append(kept(max(1, -last), 1 - first)[::-1])
        if last >= 0:
            parts.append(kept(max(0, first), last + 1))
        return np.lib.stride_tricks.sliding_window_view(np.concatenate(parts), len(keys))[::-1]

    def by_distance(self, unit: Fraction) -> Kept:
        """Return the numerators of distances 0, 1, 2, .. of this unit."""
        return self._keep("distance", unit, Fraction(0), lambda numbers: self._logarithm(numbers, unit))

    def divisors(self, queries: Points) -> Floats:
        """Return ln(c max(threshold, i) + 1) + epsilon, (q,)."""
        step = even_step(queries, queries)
        if step is None or step < 0:
            return self._divisor(queries.multiples, queries.unit, Fraction(0))
        start, rest = divmod(int(queries.multiples[0]), step)
        unit, offset = queries.unit * step, queries.unit * rest
        kept = self._keep("query", unit, offset, lambda numbers: self._divisor(numbers, unit, offset))
        return kept(start, start + len(queries))

    def _keep(self, kind: str, unit: Fraction, offset: Fraction, function: Callable[[Integers], Floats]) -> Kept:
        with self._lock:
            return self._kept.setdefault((kind, unit, offset), Kept(function))

    def _logarithm(self, multiples: Integers, unit: Fraction) -> Floats:
        from pecli.numbers import double_double as elementary
        from pecli.numbers.double_double import Points

        return elementary.log1p(Points(multiples, unit).times([self.c])).hi[:, 0]

    def _divisor(self, multiples: Integers, unit: Fraction, offset: Fraction) -> Floats:
        import numpy as np

        from pecli.numbers import double_double as elementary
        from pecli.numbers.double_double import DoubleDouble, Points, add, from_decimal

        grown = add(Points(multiples, unit).times([self.c]), from_decimal([offset * self.c]))
        least = from_decimal([self.threshold * self.c])
        below = grown.hi < least.hi
        argument = DoubleDouble(np.where(below, least.hi, grown.hi), np.where(below, least.lo, grown.lo))
        return add(elementary.log1p(argument), from_decimal([self.epsilon])).hi[:, 0]


def even_step(queries: Points, keys: Points) -> int | None:
    """Return the common step of queries and keys, as multiples of their unit; None where there is none."""
    import numpy as np

    steps = {int(p.multiples[1] - p.multiples[0]) for p in (queries, keys) if len(p) > 1}
    if len(steps) > 1 or 0 in steps:
        return None
    step = steps.pop() if steps else 1
    for points in (queries, keys):
        part = points.multiples
        if int(part[-1] - part[0]) != step * (len(part) - 1) or (len(part) > 2 and not (np.diff(part) == step).all()):
            return None
    return step if int(keys.multiples[0] - queries.multiples[0]) % step == 0 else None
