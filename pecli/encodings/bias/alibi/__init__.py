"""ALiBi: a penalty in proportion to the distance.

H heads.  The distance is key minus query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pecli.encodings.shared import reaches
from pecli.encodings.shared.biases import Mask, minus
from pecli.encodings.shared.kernel_types import Floats, Points, Real
from pecli.encodings.shared.parameters import Heads
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric, number_text
from pecli.spec.declaration import Facts, Family, Param, Preset, Source, encoding
from pecli.spec.facts import Work
from pecli.spec.hooks import Change, other_choices, other_values
from pecli.spec.plans import Bias
from pecli.spec.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SlopeType = Literal["exact", "bfloat16", "float16", "float32"]


Arithmetic = Literal["exact", "float32", "bfloat16"]

CONVENTIONS = {
    "bloom": {"bias": "key-position"},
    "mpt": {"bias": "last-key"},
    "falcon": {"bias": "key-position", "arithmetic": "bfloat16"},
    "paper": {"mask": "causal"},
}


@encoding(
    family=Family.BIAS,
    title="ALiBi",
    formula="""
        bias(h, i, j) = -m_h abs(j - i)
        m_h = 2^(-bias-max h / P), h = head + 1 = 1 .. P, P the largest power of two that is at most H
        then, for the other H - P heads, the 1st, 3rd, 5th .. of 2^(-bias-max h / (2P))
        with slopes paper: m_h = 2^(-bias-max h / H)
        with bias key-position: m_h j; last-key: m_h (j - last key)
    """,
    source=Source("Press et al. 2021", "arXiv:2108.12409", "section 3 and the authors' get_slopes"),
    facts=Facts(bounded=False, unique=True, relative="distance", multi_scale=True, cost="heads * n * n"),
    work=Work(kernel="heads"),
    users="BLOOM, MPT, Falcon-RW, Baichuan 13B",
    example="alibi:heads=8",
    use_when="if texts get longer than in training and near tokens matter most",
    not_when="if distant tokens must be found: their weight vanishes",
    place=1,
    hooks={
        "identify": ".identify:identify",
        "words": ".identify:words",
        "lesson": ".lesson:steps",
        "extend": reaches.biases,
        "mistakes": ":mistakes",
        "code": ":code",
    },
    presets=(
        Preset(
            "Bias of a model: bloom m j, mpt m (j - last key), falcon m j in bfloat16, paper the masked distance.",
            CONVENTIONS,
        ),
    ),
)
def alibi(
    *,
    heads: Heads,
    slopes: Annotated[
        Literal["frameworks", "paper"],
        Param(
            "Rule for a number of heads that is no power of two: the code's, or as the paper prints.",
            mistaken=other_choices,
        ),
    ] = "frameworks",
    bias_max: Annotated[
        Decimal,
        Param(
            "Exponent of the smallest slope.",
            gt=0,
            le=1000,
            mistaken=other_values("4", "8", "16"),
            names=("alibi-bias-max",),
        ),
    ] = Decimal(8),
    bias: Annotated[
        Literal["symmetric", "key-position", "last-key"],
        Param(
            "-m abs(j - i), BLOOM's m j or MPT's m (j - last key); equal after a causal softmax.",
            mistaken=other_choices,
        ),
    ] = "symmetric",
    mask: Mask = "none",
    slope_dtype: Annotated[
        SlopeType, Param("Round the slopes to a type before multiplying.", mistaken=other_choices)
    ] = "exact",
    slope_values: Annotated[
        tuple[Decimal, ...] | None, Param("Slopes to use instead of the rule's, one for each head.", ge=0, le=1e30)
    ] = None,
    alibi_heads: Annotated[
        int | None, Param("Only the first N heads have a slope, the others 0 (default: all).", ge=1, le=1 << 16)
    ] = None,
    arithmetic: Annotated[
        Arithmetic,
        Param("Exact, or slopes, positions and products rounded as BLOOM (float32) and Falcon (bfloat16) do."),
    ] = "exact",
) -> Bias:
    """Penalty proportional to the distance, with one slope per head."""
    active = heads if alibi_heads is None else alibi_heads
    if active > heads:
        raise BadParameter("alibi-heads", active, f"must be at most heads={heads}")
    if slope_values is not None and len(slope_values) != active:
        raise BadParameter(
            "slope-values", f"({len(slope_values)} slopes)", f"must be {active}, one for each head with a slope"
        )
    if slope_values is not None:
        found = [Fraction(value) for value in slope_values]
    elif arithmetic == "exact":
        found = alibi_slopes(active, bias_max, slopes)
    else:
        found = _slopes_in_float32(active, bias_max, slopes)
    stored = "bfloat16" if arithmetic == "bfloat16" and slope_dtype == "exact" else slope_dtype
    exact = as_stored(found, stored) + [Fraction(0)] * (heads - active)

    def penalty(points: Points, chosen: range) -> Real:
        if arithmetic == "exact":
            return points.times([exact[h] for h in chosen]).T
        return _rounded_products(points, [exact[h] for h in chosen], arithmetic)

    def symmetric(distances: Points, chosen: range) -> Real:
        return minus(penalty(distances.size(), chosen))

    return Bias(
        heads,
        symmetric if bias == "symmetric" else penalty,
        by="distance" if bias == "symmetric" else "key" if bias == "key-position" else "last",
        even=bias == "symmetric",
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
        first = CONTEXT.divide(Decimal(base.numerator), Decimal(base.denominator))
        found += as_stored([Fraction(CONTEXT.power(first, Decimal(k))) for k in exponents], "float32")
    return found


def as_stored(values: Sequence[Fraction], dtype: SlopeType) -> list[Fraction]:
    """Return exact values as `dtype` holds them."""
    if dtype == "exact" or not values:
        return list(values)

    from pecli.numbers.double_double import from_decimal
    from pecli.numbers.rounding import narrow, widen

    pair = from_decimal(values)
    return [Fraction(value) for value in widen(narrow(pair.hi, pair.lo, dtype), dtype).tolist()]


def _rounded_products(points: Points, slopes: Sequence[Fraction], dtype: SlopeType) -> Floats:
    """Return slopes times positions, (heads, m), both factors and the product rounded to `dtype`."""
    import numpy as np

    from pecli.numbers.rounding import narrow, widen

    exact = points.times([Fraction(1)])
    where = widen(narrow(exact.hi[:, 0], exact.lo[:, 0], dtype), dtype)
    factors = np.array([float(slope) for slope in slopes])
    # two significands of at most 24 bits: float64 holds their product
    return widen(narrow(factors[:, None] * where, None, dtype), dtype)


CLIPS = (8, 16, 32, 64, 128, 256, 512, 1024)  # distances at which windows end


def _distances() -> dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
    """Return other functions of the distance, by what they are called."""
    import numpy as np

    found: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "the distance is squared": np.square,
        "the square root of the distance is taken": np.sqrt,
        "the logarithm of 1 + the distance is taken": np.log1p,
        "the distance is counted from 1": lambda distance: distance + 1,
        "the distance is taken less 1": lambda distance: np.maximum(distance - 1, 0),
    }
    clipped = {f"distances beyond {end} count as {end}": partial(np.minimum, end) for end in CLIPS}
    return {**found, **clipped}


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield other functions of the distance; slopes of another power, sorted, or of more heads than a power of two."""
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
    slopes, more = alibi_slopes(heads, most, "frameworks"), 1 << (heads - 1).bit_length()
    if more == heads:
        yield _slopes([Fraction(1), *slopes[:-1]], "heads are counted from 0 in the slopes: the first slope is 1")
        return
    falling = sorted(slopes, reverse=True)
    for order, word in ((falling, "largest"), (falling[::-1], "smallest")):
        yield _slopes(order, f"the slopes are sorted, the {word} first")
    first = alibi_slopes(more, most, "frameworks")[:heads]
    yield _slopes(first, f"the slopes are the first {heads} of those of {more} heads")


def _distanced(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], name: str, values: NDArray[np.float64], _first: int
) -> NDArray[np.float64]:
    """Return a penalty of another distance, which it holds itself: its row's smallest one is that of distance 1."""
    import numpy as np

    if name != "bias":
        return values
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), np.inf).min(axis=-1, keepdims=True)
    finite = np.isfinite(values) & np.isfinite(size)
    distance = np.round(np.divide(np.abs(values), size, out=np.zeros_like(values), where=finite))
    return np.where(finite, -size * function(distance), values)


def _signed(name: str, values: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """Return a square penalty, head by head, whose sign is changed for keys after their query."""
    import numpy as np

    keys = np.arange(values.shape[-1])
    queries = (first + np.arange(len(values))) % len(keys)
    return np.where(keys > queries[:, None], -values, values) if name == "bias" and values.ndim == 2 else values


def _slopes(slopes: Sequence[Fraction], phrase: str) -> Change:
    texts = (number_text(CONTEXT.divide(Decimal(m.numerator), Decimal(m.denominator))) for m in slopes)
    return Change("slopes", phrase, {"slope-values": "+".join(texts)})


TABLE = '''
HEADS, BIAS_MAX = {heads}, {most}


def slopes():
    """Return the slope of each head; of a number that is no power of two, first those of the one below."""
    whole = 1 << (HEADS.bit_length() - 1)
    first = [2.0 ** (-BIAS_MAX * k / whole) for k in range(1, whole + 1)]
    return first + [2.0 ** (-BIAS_MAX * k / (2 * whole)) for k in range(1, 2 * (HEADS - whole), 2)]


def table(length, dtype=np.float32):
    """Return the bias of each head, query and key, (HEADS, length, length): add it to the logits."""
    distance = np.abs(np.arange(length) - np.arange(length)[:, None])
    return (-np.array(slopes())[:, None, None] * distance).astype(dtype)
'''


def code(recipe: Recipe, framework: str) -> str | None:
    """Return a module that makes the bias; None for another than the symmetric one of the frameworks' slopes."""
    from pecli.encodings.shared.code import ADD_BIAS, knows, module, number

    if not knows(recipe, ("heads", "bias_max")):
        return None
    values: Mapping[str, Any] = recipe.values
    made = TABLE.format(heads=values["heads"], most=number(values["bias_max"]))
    return module(recipe, framework, made, ADD_BIAS)
