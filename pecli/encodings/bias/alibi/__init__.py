"""ALiBi: a penalty in proportion to the distance.

H heads.  The distance is key minus query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Annotated, Literal

from pecli.encodings.shared.biases import Mask, minus
from pecli.encodings.shared.deferred import Floats, Real, dd, lessons, np, rounding
from pecli.encodings.shared.parameters import Heads, conventions
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, decimal_of, geometric, number_text
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change, Item, SmallTable, Step, exact_text
from pecli.spec.plans import Bias

SlopeType = Literal["exact", "bfloat16", "float16", "float32"]
Arithmetic = Literal["exact", "float32", "bfloat16"]


@encoding(
    family=Family.BIAS,
    title="ALiBi",
    facts=Facts(bounded=False, unique=True, relative="distance", multi_scale=True, cost="heads * n * n"),
    work=Work(kernel="heads"),
    example="alibi:heads=8",
    place=1,
    hooks={"identify": ".identify:identify", "words": ".identify:words", "lesson": ":lesson", "mistakes": ":mistakes"},
    presets=(conventions("bias", "alibi"),),
)
def alibi(
    *,
    heads: Heads,
    slopes: Literal["frameworks", "paper"] = "frameworks",
    bias_max: Annotated[Decimal, Param(gt=0, le=1000, names=("alibi-bias-max",))] = Decimal(8),
    bias: Literal["symmetric", "key-position", "last-key"] = "symmetric",
    mask: Mask = "none",
    slope_dtype: SlopeType = "exact",
    slope_values: Annotated[tuple[Decimal, ...] | None, Param(ge=0, le=1e30)] = None,
    alibi_heads: Annotated[int | None, Param(ge=1, le=1 << 16)] = None,
    arithmetic: Arithmetic = "exact",
) -> Bias:
    """Penalty proportional to the distance, with one slope per head.

    Formula
    -------
    bias(h, i, j) = -m_h abs(j - i)
    m_h = 2^(-bias-max h / P), h = head + 1 = 1 .. P, P the largest power of two that is at most H
    then, for the other H - P heads, the 1st, 3rd, 5th .. of 2^(-bias-max h / (2P))
    with slopes paper: m_h = 2^(-bias-max h / H)
    with bias key-position: m_h j; last-key: m_h (j - last key)

    Parameters
    ----------
    slopes
        Slopes if the number of heads is not a power of two: the code's, or the paper's.
    bias_max
        Exponent of the smallest slope.
    bias
        -m abs(j - i), BLOOM's m j or MPT's m (j - last key); equal after a causal softmax.
    slope_dtype
        Round the slopes to a type before multiplying.
    slope_values
        Slopes to use instead, one for each head.
    alibi_heads
        Number of heads with a slope; the others have slope 0 (default: all).
    arithmetic
        Exact, or slopes, positions and products rounded as BLOOM (float32) and Falcon (bfloat16) do.

    Source
    ------
    Press et al. 2021, arXiv:2108.12409, section 3 and the authors' get_slopes

    Used by
    -------
    BLOOM (to 176B parameters), MPT, Falcon-RW, Baichuan 13B

    Use it
    ------
    if texts get longer than in training and near tokens matter most

    Not
    ---
    if distant tokens must be found: their weight vanishes
    """
    active = heads if alibi_heads is None else alibi_heads
    if active > heads:
        raise BadParameter("alibi-heads", active, f"must be at most heads={heads}")
    if slope_values is not None and len(slope_values) != active:
        rule = f"must be {active}, one for each head with a slope"
        raise BadParameter("slope-values", f"({len(slope_values)} slopes)", rule)
    if slope_values is not None:
        found = [Fraction(value) for value in slope_values]
    elif arithmetic == "exact":
        found = alibi_slopes(active, bias_max, slopes)
    else:
        found = _slopes_in_float32(active, bias_max, slopes)
    stored = "bfloat16" if arithmetic == "bfloat16" and slope_dtype == "exact" else slope_dtype
    exact = as_stored(found, stored) + [Fraction(0)] * (heads - active)

    def penalty(points: dd.Points, chosen: range) -> Real:
        if arithmetic == "exact":
            return points.times([exact[h] for h in chosen]).T
        return _rounded_products(points, [exact[h] for h in chosen], arithmetic)

    def symmetric(distances: dd.Points, chosen: range) -> Real:
        return minus(penalty(distances.size(), chosen))

    return Bias(
        heads,
        symmetric if bias == "symmetric" else penalty,
        by="distance" if bias == "symmetric" else "key" if bias == "key-position" else "last",
        causal=mask == "causal",
        slopes=lambda: exact,
    )


def alibi_slopes(heads: int, bias_max: Decimal, rule: Literal["frameworks", "paper"]) -> list[Fraction]:
    """Return the slope of each head, to the digits of the decimal context."""
    top = Fraction(bias_max)
    if rule == "paper":
        return _geometric(top / heads, range(1, heads + 1))
    whole = 1 << (heads.bit_length() - 1)
    first = _geometric(top / whole, range(1, whole + 1))
    return first + _geometric(top / (2 * whole), range(1, 2 * (heads - whole), 2))


def _geometric(step: Fraction, exponents: range) -> list[Fraction]:
    """Return 2^(-step k), exact where the exponent is whole."""
    if not exponents:
        return []
    powers = geometric(Decimal(2), step, exponents[-1] + 1)
    return [Fraction(1, 2 ** int(step * k)) if (step * k).denominator == 1 else Fraction(powers[k]) for k in exponents]


def _slopes_in_float32(heads: int, bias_max: Decimal, rule: Literal["frameworks", "paper"]) -> list[Fraction]:
    """Return the slopes as transformers' BLOOM and Falcon take them: rounded powers of a rounded first slope.

    torch's power is not correctly rounded: about one slope in a hundred differs by one unit in the last place.
    """
    whole = heads if rule == "paper" else 1 << (heads.bit_length() - 1)
    found = []
    for count, exponents in ((whole, range(1, whole + 1)), (2 * whole, range(1, 2 * (heads - whole), 2))):
        (base,) = as_stored(_geometric(Fraction(bias_max) / count, range(1, 2)), "float32")
        first = decimal_of(base)
        found += as_stored([Fraction(CONTEXT.power(first, Decimal(k))) for k in exponents], "float32")
    return found


def as_stored(values: Sequence[Fraction], dtype: SlopeType) -> list[Fraction]:
    """Return exact values as `dtype` holds them."""
    if dtype == "exact" or not values:
        return list(values)

    pair = dd.from_decimal(values)
    return [Fraction(value) for value in rounding.widen(rounding.narrow(pair.hi, pair.lo, dtype), dtype).tolist()]


def _rounded_products(points: dd.Points, slopes: Sequence[Fraction], dtype: SlopeType) -> Floats:
    """Return slopes times positions, (heads, m), both factors and the product rounded to `dtype`."""
    exact = points.times([Fraction(1)])
    where = rounding.widen(rounding.narrow(exact.hi[:, 0], exact.lo[:, 0], dtype), dtype)
    factors = np.array([float(slope) for slope in slopes])
    # two significands of at most 24 bits: float64 holds their product
    return rounding.widen(rounding.narrow(factors[:, None] * where, None, dtype), dtype)


CLIPS = (8, 16, 32, 64, 128, 256, 512, 1024)  # distances at which windows end


def _distances() -> dict[str, Callable[[Floats], Floats]]:
    """Return mistaken functions of the distance by their descriptions."""
    return {
        "the distance is squared": np.square,
        "the square root of the distance is taken": np.sqrt,
        "the logarithm of 1 + the distance is taken": np.log1p,
        "the distance is counted from 1": lambda distance: distance + 1,
        "the distance is taken less 1": lambda distance: np.maximum(distance - 1, 0),
        **{f"distances beyond {end} count as {end}": partial(np.minimum, end) for end in CLIPS},
    }


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield other functions of the distance; slopes of another power, sorted, or of more heads than a power of two."""
    by = "distances" if keys["bias"] == "symmetric" else "positions of keys"
    for kind in ("bfloat16", "float16"):
        yield Change("distance", f"{by} were rounded to {kind}", values=partial(_distanced, partial(_coarse, kind)))
    if keys["bias"] == "symmetric":
        for phrase, function in _distances().items():
            yield Change("distance", phrase, values=partial(_distanced, function))
        phrase = "the distance keeps its sign: keys after the query have a bonus for it"
        yield Change("distance", phrase, values=_signed)
    if "slope-values" in keys or "alibi-heads" in keys or keys["slopes"] != "frameworks":
        return
    heads, most = int(keys["heads"]), Decimal(keys["bias-max"])
    yield Change(
        "slopes", "powers of e taken where powers of 2 were expected", {"bias-max": number_text(most / CONTEXT.ln(2))}
    )
    if heads == 1:
        return
    slopes, more = alibi_slopes(heads, most, "frameworks"), 1 << (heads - 1).bit_length()
    if 8 != heads <= 64:
        halved = [Fraction(1, 1 << head) for head in range(heads)]
        yield _slopes(halved, "the slopes are 1, 1/2, 1/4 .., each half of the one before")
    if more == heads:
        yield _slopes([Fraction(1), *slopes[:-1]], "the slopes count heads from 0: the first slope is 1")
        return
    falling = sorted(slopes, reverse=True)
    for order, word in ((falling, "largest"), (falling[::-1], "smallest")):
        yield _slopes(order, f"the slopes are sorted, the {word} first")
    every = alibi_slopes(more, most, "frameworks")
    yield _slopes(every[:heads], f"the slopes are the first {heads} of those of {more} heads")
    half = more // 2
    text = f"heads {half} to {heads - 1} have the first slopes of {more} heads, where every other one was expected"
    yield _slopes([*slopes[:half], *every[: heads - half]], text)


def _distanced(function: Callable[[Floats], Floats], name: str, values: Floats, _first: int) -> Floats:
    """Return the bias with a function of the distance; the distance is read off: a row's smallest is distance 1."""
    if name != "bias":
        return values
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), np.inf).min(axis=-1, keepdims=True)
    size = np.where(np.isinf(size), np.roll(size, -1, axis=0), size)  # of a query that sees itself alone: the next one
    finite = np.isfinite(values) & np.isfinite(size)
    distance = np.round(np.divide(np.abs(values), size, out=np.zeros_like(values), where=finite))
    return np.where(finite, np.where(values > 0, size, -size) * function(distance), values)


def _coarse(kind: str, distance: Floats) -> Floats:
    """Return distances rounded to a type."""
    return rounding.floats(rounding.narrow(distance, None, kind), kind).astype(np.float64)


def _signed(name: str, values: Floats, first: int) -> Floats:
    """Return a square penalty, head by head, whose sign is changed for keys after their query."""
    keys = np.arange(values.shape[-1])
    queries = (first + np.arange(len(values))) % len(keys)
    return np.where(keys > queries[:, None], -values, values) if name == "bias" and values.ndim == 2 else values


def _slopes(slopes: Sequence[Fraction], phrase: str) -> Change:
    return Change("slopes", phrase, {"slope-values": "+".join(number_text(decimal_of(m)) for m in slopes)})


HEADS = 16  # slopes that fit a board


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out ALiBi: slopes, one row of head 0, its matrix, what the softmax makes of it."""
    at, how = exercise.places(), exercise.values["bias"]
    exact = list(exercise.plan.slopes())
    m, last = exact_text(exact[0]), text_of(at[-1])

    def cell(query: Fraction, key: Fraction) -> str:
        i, j = text_of(query), text_of(key)
        if how == "symmetric":
            return f"-{m} x |{j} - {i}| = -{m} x {text_of(abs(key - query))}"
        return f"{m} x {j}" if how == "key-position" else f"{m} x ({j} - {last})"

    softmax = _softmax(how, at, exercise.arrays(at)["bias"], len(at) // 2)
    return [
        Step("a slope for each head", _slope_lines(exact)),
        *exercise.of_family(cell),
        Step("equal logits with this bias: the softmax of that row", softmax),
    ]


def _slope_lines(exact: Sequence[Fraction]) -> list[str]:
    lines = []
    for head, slope in enumerate(exact[:HEADS]):
        power = power_of_two(slope)
        lines.append(f"head {head}: m_{head + 1} = {f'2^({power}) = ' if power is not None else ''}{exact_text(slope)}")
    if len(exact) > HEADS:
        lines.append(f".. {len(exact)} heads in all; pecli inspect --json has every slope")
    return lines


def power_of_two(slope: Fraction) -> Fraction | None:
    """Return the exponent x with slope = 2^x, a fraction of small numbers; None if none fits."""
    if slope <= 0:
        return None
    exponent = math.log2(float(slope))
    simple = Fraction(exponent).limit_denominator(256)
    return simple if abs(float(simple) - exponent) < 1e-12 else None


def _softmax(how: str, at: Sequence[Fraction], bias: Floats, query: int) -> list[Item]:
    """Return the weights; a bias by the key's position alone is only meant under a causal mask."""
    if how == "symmetric":
        return [_weights(at, bias[:, query])]
    seen = np.where([key <= at[query] for key in at], bias[:, query], -np.inf)
    return ["keys after the query are masked, as in the decoders that this form is for", _weights(at, seen)]


def _weights(at: Sequence[Fraction], bias: Floats) -> SmallTable:
    rows: list[list[str | float]] = []
    for head in dict.fromkeys((0, len(bias) - 1)):
        size = np.exp(bias[head] - bias[head].max())
        rows.append([f"head {head}", *(size / size.sum()).tolist()])
    return SmallTable(["key", *map(text_of, at)], rows)
