"""FIRE: a small network of the distance, relative to the query's distance from the beginning.

H heads.  The distance is key minus query; i is the query's position.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Annotated

from pecli.encodings.shared import trained
from pecli.encodings.shared.biases import Mask
from pecli.encodings.shared.deferred import Floats, Integers, dd, lessons, np
from pecli.encodings.shared.parameters import WeightHeads
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Step, short
from pecli.spec.plans import Bias, Domain, Fixed, nothing


@encoding(
    family=Family.BIAS,
    title="FIRE",
    facts=Facts(
        learned=True, bounded=False, relative="no",
        parameters="2 * hidden + (hidden + 1) * heads + 2", cost="(heads + 1) * n * n",
    ),
    work=Work(kernel="2 * hidden + (hidden + 1) * heads + 2"),
    example="fire:heads=2,threshold=16",
    place=6,
    hooks={"lesson": ":lesson"},
)  # fmt: skip
def fire(
    *,
    heads: WeightHeads = None,
    c: Annotated[Decimal, Param(ge=1e-12, le=1e12)] = Decimal("0.1"),
    threshold: Annotated[Decimal, Param(ge=0, le=1e12)] = Decimal(512),
    epsilon: Annotated[Decimal, Param(ge=1e-12, le=1)] = Decimal("1e-6"),
    hidden: Annotated[int, Param(ge=1, le=1 << 12)] = 32,
    mask: Mask = "none",
    weights: trained.Weights = None,
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Bias:
    """Trained function of the distance as a share of the query's position.

    Without heads or weights the table holds x alone.  Computed in float64 with + - x / only.
    For keys before the query x stays below 1; for later keys, which a decoder masks, it grows.

    Formula
    -------
    x(i, j) = ln(c abs(j - i) + 1) / (ln(c max(threshold, i) + 1) + epsilon)
    bias(h, i, j) = W2 max(0, W1 x + b1) + b2, row h

    Parameters
    ----------
    c
        Scale of the distance in the logarithm.
    threshold
        Threshold L: queries before position L are treated as at L.
    epsilon
        Added to the divisor.
    hidden
        Width of the network.
    weights
        File of the network (mlp.0.weight ..) and its c and threshold (default: random).

    Source
    ------
    Li et al. 2023, arXiv:2310.04418, equation 8 and the reference code in its appendix

    Used by
    -------
    research on length generalisation

    Use it
    ------
    if lengths vary widely: distances count as shares of the query's position

    Not
    ---
    if one bias per distance must serve all queries, as in a fused kernel

    Not recognised
    --------------
    its values come from a trained network
    """

    @cache
    def network() -> Network:
        if weights is None:
            return Network.drawn(heads or 0, hidden, seed, Fraction(c), Fraction(threshold))
        return Network.read(weights, heads, hidden, Fraction(c), Fraction(threshold))

    @cache
    def ratios() -> Ratios:
        return Ratios(network().c, network().threshold, Fraction(epsilon))

    def value(queries: dd.Points, keys: dd.Points, chosen: range) -> Floats:
        return network().of(ratios(), queries, keys, chosen)

    def shared(queries: dd.Points, keys: dd.Points) -> Floats:
        return np.asarray(ratios().numerators(queries, keys) / ratios().divisors(queries)[:, None])

    count = network().heads if weights is not None and heads is None else heads or 0
    return Bias(
        count, value, by="pair", causal=mask == "causal", shared=shared, fixed=_arrays(network, count, hidden),
        prepare=nothing if weights is None else network,
        domain=Domain(Fraction(0), remedy="FIRE divides by the query's position, which counts from 0"),
    )  # fmt: skip


def _arrays(network: Callable[[], Network], heads: int, hidden: int) -> tuple[Fixed, ...]:
    """Return the trained values as arrays."""
    if not heads:
        return ()
    return (
        Fixed("weight1", (hidden,), ("unit",), lambda a, b: network().first[a:b]),
        Fixed("bias1", (hidden,), ("unit",), lambda a, b: network().bias1[a:b]),
        Fixed("weight2", (heads, hidden), ("head", "unit"), lambda a, b: network().second[a:b]),
        Fixed("bias2", (heads,), ("head",), lambda a, b: network().bias2[a:b]),
    )


# Distances of a table of logarithms that is kept: at least, so that few are made; at most, 32 MiB.
MIN_TABLE_LENGTH, MAX_TABLE_LENGTH = 1 << 14, 1 << 22


class Network:
    """Linear(1, hidden), ReLU, Linear(hidden, heads): a function of one number, so it is linear between bends."""

    def __init__(
        self, first: Floats, bias1: Floats, second: Floats, bias2: Floats, c: Fraction, threshold: Fraction
    ) -> None:
        self.first, self.bias1, self.second, self.bias2 = first, bias1, second, bias2
        self.c, self.threshold, self.heads = c, threshold, len(second)

    @classmethod
    def drawn(cls, heads: int, hidden: int, seed: int, c: Fraction, threshold: Fraction) -> Network:
        """Return the network before training, as torch's linear layers start: uniform within 1/sqrt(fan in)."""
        inner = trained.fan_in(hidden)
        first = trained.draw(seed, 0, 0, hidden, 1, "uniform", 1.0)[:, 0]
        bias1 = trained.draw(seed, 1, 0, hidden, 1, "uniform", 1.0)[:, 0]
        second = trained.draw(seed, 2, 0, heads, hidden, "uniform", inner)
        return cls(first, bias1, second, trained.draw(seed, 3, 0, heads, 1, "uniform", inner)[:, 0], c, threshold)

    @classmethod
    def read(cls, path: str, heads: int | None, hidden: int, c: Fraction, threshold: Fraction) -> Network:
        """Return the network of a file, with its c and threshold where it has them."""
        file = trained.WeightFile(path)
        phrase = f"the first layer with hidden={hidden}" + (f" and heads={heads}" if heads else "")
        first = file.shaped(file.one("0.weight", "weight1").reshape(-1), (hidden,), phrase)
        bias1 = file.values((hidden,), phrase, "0.bias", "bias1")
        second = file.values((heads, hidden), phrase.replace("first", "second"), "2.weight", "weight2")
        bias2 = file.values((len(second),), "the second layer's bias", "2.bias", "bias2")
        numbers = {
            word: Fraction(float(array.rows(0, 1).ravel()[0]))
            for key, array in file.arrays.items()
            if (word := key.rpartition(".")[2]) in ("c", "init_L", "L_multiplier")
        }
        length = numbers.get("init_L", threshold) * numbers.get("L_multiplier", Fraction(1))
        return cls(first, bias1, second, bias2, abs(numbers.get("c", c)), abs(length))

    def of(self, ratios: Ratios, queries: dd.Points, keys: dd.Points, heads: range) -> Floats:
        """Return the values, (heads, q, k)."""
        numerators, divisors = ratios.numerators(queries, keys), ratios.divisors(queries)
        bends, slopes, offsets = self._pieces
        chosen = slice(heads.start, heads.stop)
        found = np.empty((len(heads), *numerators.shape))
        for query, (row, divisor) in enumerate(zip(numerators, divisors, strict=True)):
            piece = np.searchsorted(bends * divisor, row)
            np.multiply((slopes[chosen] / divisor)[:, piece], row, out=found[:, query])
            found[:, query] += offsets[chosen][:, piece]
        return found

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats, Floats]:
        """Return the bends of the function for x > 0, and slope and offset of each piece, (heads, m + 1)."""
        some = self.first != 0.0
        bend = np.where(some, -self.bias1 / np.where(some, self.first, 1.0), 0.0)
        bends = np.unique(bend[some & (bend > 0.0)])
        edges = np.concatenate(([0.0], bends, [np.inf]))
        slopes, offsets = np.zeros((self.heads, len(bends) + 1)), np.zeros((self.heads, len(bends) + 1))
        offsets += self.bias2[:, None]
        for unit, (w, b) in enumerate(zip(self.first.tolist(), self.bias1.tolist(), strict=True)):
            if w > 0.0:
                active = edges[:-1] >= bend[unit]
            elif w < 0.0:
                active = edges[1:] <= bend[unit]
            else:
                active = np.full(len(bends) + 1, b > 0.0)
            slopes += np.where(active, self.second[:, unit, None] * w, 0.0)
            offsets += np.where(active, self.second[:, unit, None] * b, 0.0)
        return bends, slopes, offsets


class Ratios:
    """The two logarithms that x is the quotient of, each correctly rounded but for about one in 2^40."""

    def __init__(self, c: Fraction, threshold: Fraction, epsilon: Fraction) -> None:
        self.c, self.threshold, self.epsilon = c, threshold, epsilon
        self._table = lru_cache(maxsize=2)(lambda unit, count: self._logarithm(np.arange(count), unit))

    def numerators(self, queries: dd.Points, keys: dd.Points) -> Floats:
        """Return ln(c abs(key - query) + 1), (q, k), from a table of the distances."""
        places = np.concatenate([keys.multiples, queries.multiples]) - keys.multiples[0]
        step = int(np.gcd.reduce(places)) or 1
        sizes, unit = np.abs(keys.multiples[None, :] - queries.multiples[:, None]) // step, keys.unit * step
        count = int(sizes.max(initial=0)) + 1
        if count > MAX_TABLE_LENGTH:
            few, index = np.unique(sizes, return_inverse=True)
            return np.asarray(self._logarithm(few, unit)[index].reshape(sizes.shape))
        return np.asarray(self._table(unit, max(MIN_TABLE_LENGTH, 1 << count.bit_length()))[sizes])

    def divisors(self, queries: dd.Points) -> Floats:
        """Return ln(c max(threshold, i) + 1) + epsilon, (q,)."""
        grown, least = queries.times([self.c]), dd.from_decimal([self.threshold * self.c])
        below = grown.hi < least.hi
        argument = dd.DoubleDouble(np.where(below, least.hi, grown.hi), np.where(below, least.lo, grown.lo))
        return dd.add(dd.log1p(argument), dd.from_decimal([self.epsilon])).hi[:, 0]

    def _logarithm(self, multiples: Integers, unit: Fraction) -> Floats:
        return dd.log1p(dd.Points(multiples, unit).times([self.c])).hi[:, 0]


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out the distances of one query as shares of its position; a file of weights may hold other numbers."""
    c, threshold, epsilon = (float(exercise.values[name]) for name in ("c", "threshold", "epsilon"))

    def cell(query: Fraction, key: Fraction) -> str:
        below = f"ln({short(c)} x {short(max(threshold, float(query)))} + 1) + {short(epsilon)}"
        return f"ln({short(c)} x {text_of(abs(query - key))} + 1) / ({below})"

    return exercise.of_family(None if exercise.values["weights"] else cell)
