"""RetNet: rotation with a decay per head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import dd, np
from pecli.encodings.shared.parameters import HEAD_COUNT, Base, HeadDim
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Effect
from pecli.spec.plans import Fixed, Waves, rotation
from pecli.spec.recipe import Recipe

MAX_LENGTH = 1 << 31
PLAIN_HEADS = 30  # heads before whose 1 - 2^(-5-h) the logarithm is taken as it stands
MAX_HEADS = 900  # of later ones ln gamma, or its smaller half, would not be a float64


def effect(recipe: Recipe) -> Effect:
    """Return the effect: scores are weighted by the decay of their head."""
    if recipe.values["decay"] == "none":
        return Effect()
    added = recipe.values["apply"] == "log"
    note = f"the decay {'is added to' if added else 'multiplies'} scores, which go without a softmax"
    return Effect(decay="decay", decay_added=added, note=note)


@encoding(
    family=Family.ROTARY,
    title="RetNet",
    facts=Facts(relative="rotation", cost="n * dim + heads * n"),
    work=Work(products="8 * n * h * pairs + heads * n * n"),
    example="retnet:dim=4,heads=2,max-len=8",
    place=5,
    hooks={"apply": effect},
)
def retnet(
    *,
    dim: HeadDim,
    heads: Annotated[int, Param(ge=1, le=MAX_HEADS, names=HEAD_COUNT)],
    base: Base = Decimal(10000),
    decay: Literal["distance", "dense", "none"] = "distance",
    max_len: Annotated[
        int | None, Param(ge=1, lt=MAX_LENGTH, of_table="length", when=("decay", ("distance", "dense")))
    ] = None,
    apply: Annotated[Literal["multiply", "log"], Param(when=("decay", ("distance", "dense")))] = "multiply",
    normalize: Annotated[bool, Param(when=("apply", ("multiply",)))] = False,
) -> Waves:
    """Rotation with frequencies down to 1/base, and a decay for each head.

    Formula
    -------
    w_i = base^(-i / (dim/2 - 1)), i = 0 .. dim/2 - 1; cos(p w_i), sin(p w_i)
    gamma_h = 1 - 2^(-5 - h), h = 0 .. heads - 1
    decay(h, i, j) = gamma_h^(i - j) for a key j up to the query i, 0 after it; apply log: (i - j) ln gamma_h
    normalize: each query's row is divided by the square root of its sum

    Parameters
    ----------
    heads
        Number of attention heads.
    decay
        Decay by distance, for each query and key (dense), or none.
    max_len
        Number of distances of the decay (default: the table's length).
    apply
        Store the decay, which multiplies scores, or its logarithm, which is added.
    normalize
        Divide each query's row by the square root of its sum.

    Source
    ------
    Sun et al. 2023, arXiv:2307.08621, section 2 and the authors' torchscale

    Used by
    -------
    RetNet, torchscale

    Use it
    ------
    for retention, whose decay needs no softmax

    Not
    ---
    for plain attention

    Not recognised
    --------------
    its cosines and sines are named as those of rope; the decays have no rule
    """
    half = dim // 2
    frequencies = geometric(base, Fraction(1, max(1, half - 1)), half)
    if decay == "none":
        return rotation(frequencies)
    if normalize and decay != "dense":
        raise BadParameter("normalize", "true", f"needs the rows of decay=dense, and decay={decay} has none")
    fading = Fading(max_len or 1, apply == "log", normalize)
    if decay == "distance":
        array = Fixed("decay", (heads, fading.length), ("head", "distance"), fading.by_distance, lead=2)
    else:
        shape = (heads, fading.length, fading.length)
        array = Fixed("decay", shape, ("head", "query", "key"), fading.by_pair, lead=2)
    return rotation(frequencies, fixed=(array,))


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

    def by_distance(self, start: int, stop: int) -> dd.DoubleDouble:
        """Return values head * length + distance, (stop - start,)."""
        return dd.concatenate([self._distances(head, low, high) for head, low, high in self._heads(start, stop)])

    def by_pair(self, start: int, stop: int) -> dd.DoubleDouble:
        """Return rows head * length + query, (stop - start, length); zero (log: minus infinity) after the query."""
        found = dd.DoubleDouble(np.empty((stop - start, self.length)), np.empty((stop - start, self.length)))
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
        return dd.multiply(found, self._shares(start, stop)) if self.normalize else found

    def _heads(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield each head with the range of its positions between two flat indices."""
        while start < stop:
            head, low = divmod(start, self.length)
            high = min(self.length, low + stop - start)
            yield head, low, high
            start += high - low

    def _distances(self, head: int, low: int, high: int) -> dd.DoubleDouble:

        points, rate = dd.Points(np.arange(low, high, dtype=np.int64)), _log_gamma(head)
        found = points.times([Fraction(rate)]) if self.log else dd.Powers([rate]).at(points).doubled()
        return found[:, 0]

    def _shares(self, start: int, stop: int) -> dd.DoubleDouble:
        """Return one over the root of each row's sum, (rows, 1).

        The sum 1 + gamma + .. + gamma^i is (1 - gamma^(i+1)) / (1 - gamma), and 1 - gamma is 2^(-5-h).
        """
        pieces = []
        for head, low, high in self._heads(start, stop):
            powers = dd.Points(np.arange(low + 1, high + 1, dtype=np.int64)).times([Fraction(_log_gamma(head))])[:, 0]
            pieces.append(dd.exp(dd.log(-dd.expm1(powers).scaled(2.0 ** (5 + head))).scaled(-0.5)))
        return dd.concatenate(pieces)[:, None]


@cache
def _log_gamma(head: int) -> Decimal:
    """Return ln(1 - x) of x = 2^(-5 - head): where 1 - x would lose digits of x, -x - x^2/2 - x^3/3 .."""
    x = CONTEXT.divide(Decimal(1), Decimal(2 ** (5 + head)))
    if head < PLAIN_HEADS:
        return CONTEXT.ln(CONTEXT.subtract(Decimal(1), x))
    total, power, k = Decimal(0), x, 1
    while (term := CONTEXT.divide(power, Decimal(k))) > x.scaleb(-CONTEXT.prec, CONTEXT):
        total, power, k = CONTEXT.subtract(total, term), CONTEXT.multiply(power, x), k + 1
    return total
