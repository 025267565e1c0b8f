"""RetNet: rotation with a decay per head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import Floats, dd, np
from pecli.encodings.shared.parameters import HEAD_COUNT, Base, HeadDim
from pecli.numbers.decimals import CONTEXT, geometric
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change, Effect
from pecli.spec.plans import Fixed, Waves, rotation
from pecli.spec.recipe import Recipe

MAX_LENGTH = 1 << 31
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
    hooks={"apply": effect, "mistakes": ":mistakes"},
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
) -> Waves:
    """Rotation with frequencies down to 1/base, and a decay for each head.

    Formula
    -------
    w_i = base^(-i / (dim/2 - 1)), i = 0 .. dim/2 - 1; cos(p w_i), sin(p w_i)
    gamma_h = 1 - 2^(-5 - h), h = 0 .. heads - 1
    decay(h, i, j) = gamma_h^(i - j) for a key j up to the query i, 0 after it; apply log: (i - j) ln gamma_h

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
    length, log = max_len or 1, apply == "log"
    if decay == "distance":
        array = Fixed("decay", (heads, length), ("head", "distance"), partial(_by_distance, length, log), lead=2)
    else:
        shape, axes = (heads, length, length), ("head", "query", "key")
        array = Fixed("decay", shape, axes, partial(_by_pair, length, log), lead=2)
    return rotation(frequencies, fixed=(array,))


def _by_distance(length: int, log: bool, start: int, stop: int) -> dd.DoubleDouble:
    """Return the decays, or their logarithms, numbered head * length + distance."""
    first, last = -(-start // length), stop // length
    if last - first < 2:
        return dd.concatenate([_decays([head], low, high, log) for head, low, high in _heads(length, start, stop)])
    ends = [_by_distance(length, log, *part) if part[0] < part[1] else None
            for part in ((start, first * length), (last * length, stop))]  # fmt: skip
    whole = _decays(range(first, last), 0, length, log)
    return dd.concatenate([part for part in (ends[0], whole, ends[1]) if part is not None])


def _by_pair(length: int, log: bool, start: int, stop: int) -> dd.DoubleDouble:
    """Return rows head * length + query, (stop - start, length); zero (log: minus infinity) after the query."""
    found = []
    for head, low, high in _heads(length, start, stop):
        distances = np.arange(low, high)[:, None] - np.arange(length)
        after, values = distances < 0, _decays([head], 0, high, log)[np.maximum(distances, 0)]
        hidden = -np.inf if log else 0.0
        found.append(dd.DoubleDouble(np.where(after, hidden, values.hi), np.where(after, 0.0, values.lo)))
    return dd.concatenate(found)


def _heads(length: int, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield each head with the range of its distances or queries between two rows."""
    while start < stop:
        head, low = divmod(start, length)
        high = min(length, low + stop - start)
        yield head, low, high
        start += high - low


def _decays(heads: Sequence[int], low: int, high: int, log: bool) -> dd.DoubleDouble:
    """Return the decays of each head, or their logarithms, at distances from `low` to below `high`."""
    points, rates = dd.Points(np.arange(low, high, dtype=np.int64)), [_log_gamma(head) for head in heads]
    found = points.times([Fraction(rate) for rate in rates]) if log else dd.Powers(rates).at(points).doubled()
    return dd.DoubleDouble(found.hi.T.ravel(), found.lo.T.ravel())


@cache
def _log_gamma(head: int) -> Decimal:
    """Return ln(1 - 2^(-5 - head)), computed with the digits more that 1 - 2^(-5 - head) needs."""
    context = Context(CONTEXT.prec + (5 + head) // 3 + 2)  # 3.3 binary digits are a decimal one
    return CONTEXT.plus(context.ln(context.subtract(Decimal(1), context.power(Decimal(2), -5 - head))))


# Formulas taken for the gamma of head h = 0, 1, .. of `heads`, and what they are called.
GAMMAS: dict[str, Callable[[Floats, int], Floats]] = {
    "1 - exp(linspace(ln 1/32, ln 1/512, heads))": lambda h, heads: 1 - np.geomspace(1 / 32, 1 / 512, heads),
    "1 - 2^(-5 - h) with h from 1": lambda h, heads: 1 - 2 ** (-6 - h),
    "1 - 2^(-h) with h from 1": lambda h, heads: 1 - 2 ** (-1 - h),
    "1 - 2^(-8 (h + 1)/heads), with the slopes of ALiBi": lambda h, heads: 1 - 2 ** (-8 * (h + 1) / heads),
    "1 - 2^-5 in all heads": lambda h, heads: 0 * h + 1 - 2.0**-5,
}


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield decays by other gammas."""
    if keys["decay"] == "none":
        return
    for formula, gammas in GAMMAS.items():
        text = f"gamma is {formula} where 1 - 2^(-5 - h) was expected"
        yield Change("decay", text, values=partial(_decayed, keys["apply"] == "log", gammas))


def _decayed(log: bool, gammas: Callable[[Floats, int], Floats], name: str, values: Floats, first: int) -> Floats:
    """Return the decays of all heads (heads, ..) with other gammas; cosines and sines as they are."""
    if name != "decay":
        return values
    heads = len(values)
    h = np.arange(heads, dtype=float)
    times = (np.log(gammas(h, heads)) / np.log1p(-(2 ** (-5 - h)))).reshape(-1, *(1,) * (values.ndim - 1))
    return np.asarray(values * times if log else values**times)
