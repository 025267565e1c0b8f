"""Rotary encodings: position -> cos and sin that rotate pairs of queries and keys.

d is the rotary width; pair i of position p rotates by p w_i radians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pecli.encodings.rotary.rope import scalings
from pecli.encodings.rotary.rope.scalings import PlainSeries, Scaling, scaling_of
from pecli.encodings.shared.deferred import Float32, NDArray, lessons, np, rounding
from pecli.encodings.shared.parameters import HEAD_WIDTH, NO_MODEL, THETA, WIDEST
from pecli.errors import BadParameter
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import CONTEXT, number_text, parse_number
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Change, Rescaling, SmallTable, Step, instead, other_values
from pecli.spec.parameter import param_of
from pecli.spec.plans import Waves, rotation

_COMPUTED = ("frequencies", (None,))


@encoding(
    family=Family.ROTARY,
    title="Rotary",
    facts=Facts(relative="rotation", cost="n * 2 * ((dim + 1) // 2)"),
    example="rope:dim=4",
    place=1,
    hooks={
        "identify_waves": ".identify:identify",
        "layout": ".identify:layout",
        "differences": ".identify:differences",
        "mistakes": ":mistakes",
        "lesson": ":lesson",
        "emulate": ":emulate",
        "scale": ":scale",
    },
    unrecognised_with=scalings.UNRECOGNISED,
)
@scalings.with_scalings
def rope(
    *,
    dim: Annotated[int, Param(ge=1, le=WIDEST, names=HEAD_WIDTH, wrong=NO_MODEL, usual="128")],
    rotary_dim: Annotated[int | None, Param(ge=1, le=WIDEST, when=_COMPUTED, names=("rotary-ndims",))] = None,
    partial: Annotated[
        Decimal | None,
        Param(
            gt=0, le=1, when=("rotary_dim", (None,)), names=("partial-rotary-factor", "rotary-pct", "rotary-percent")
        ),
    ] = None,
    base: Annotated[Decimal, Param(ge=1e-6, le=1e30, when=_COMPUTED, names=THETA)] = Decimal(10000),
    scaling: Annotated[str, Param(when=_COMPUTED, names=("rope-type", "rope-scaling"))] = "none",
    frequencies: Annotated[tuple[Decimal, ...] | None, Param(file=True)] = None,
    **of_scaling: Any,
) -> Waves:
    """Rotation of each pair of a head by an angle proportional to the position.

    After rotation, the product of a query at m and a key at n depends on
    n - m alone.  One frequency per pair, geometrically spaced.

    Formula
    -------
    w_i = base^(-2i/d), i = 0 .. d/2 - 1
    cos(p, i) = cos(p w_i), sin(p, i) = sin(p w_i)
    pair i of query and key rotates by p w_i: the product depends on the distance alone
    a scaling replaces w_i, and multiplies cos and sin by one magnitude

    Parameters
    ----------
    dim
        Width of one attention head.
    rotary_dim
        Columns that rotate, rounded up to whole pairs.
    partial
        Share of columns that rotate: int(dim * share).
    base
        Base of the frequencies, theta.
    scaling
        Scaling for longer contexts.
    frequencies
        Frequencies in radians per position: a list or a file.

    Source
    ------
    Su et al. 2021, arXiv:2104.09864, section 3.2
    Chen et al. 2023, arXiv:2306.15595, linear
    Peng et al. 2023, arXiv:2309.00071, ntk, dynamic, ntk-by-parts, yarn
    Ding et al. 2024, arXiv:2402.13753, longrope
    Llama team 2024, arXiv:2407.21783 and its code, llama3

    Used by
    -------
    Llama, Mistral, PaLM, Qwen, Gemma, DeepSeek, Phi, GPT-NeoX, GPT-J, Cohere and most decoders since 2022

    Use it
    ------
    for decoders: most of them have used it since 2022

    Not
    ---
    past the training length without a scaling
    """
    if frequencies is not None:
        if len(frequencies) > (dim + 1) // 2:
            rule = f"are too many for dim={dim}: it has {(dim + 1) // 2} pairs"
            raise BadParameter("frequencies", f"{len(frequencies)} numbers", rule)
        return rotation(frequencies)
    scaled = scaling_of(scaling)
    series = PlainSeries(dim, rotary_width(dim, rotary_dim, partial, scaled), base)
    return rotation(*scaled.rotation(series, of_scaling))


def series_of(values: Mapping[str, Any]) -> PlainSeries:
    """Return the unscaled series of checked parameters."""
    width = rotary_width(values["dim"], values["rotary_dim"], values["partial"], scaling_of(values["scaling"]))
    return PlainSeries(values["dim"], width, values["base"])


def rotary_width(dim: int, rotary_dim: int | None, partial: Decimal | None, scaling: Scaling) -> int:
    """Return the width that rotates."""
    if rotary_dim is not None:
        if rotary_dim > dim:
            raise BadParameter("rotary-dim", rotary_dim, f"must be at most dim={dim}, of which it is a part")
        return rotary_dim
    if partial is not None:
        width = int(dim * partial)
        if width == 0:
            raise BadParameter("partial", partial, f"leaves no column of dim={dim} to rotate: use at least 2/{dim}")
        return width
    if dim % 2 and not scaling.odd_heads:
        pairs = (dim + 1) // 2
        several = f"{pairs} pairs" if pairs > 1 else "one pair"
        rule = f"must be even: use {dim + 1}, or rotary-dim={dim} for {several}, one column more than the head has"
        raise BadParameter("dim", dim, rule)
    return dim


def scale(keys: Mapping[str, str]) -> dict[str, Rescaling]:
    """Return the scalings that suit a rope with these keys; its own scaling keeps the parameters given."""
    if "frequencies" in keys:
        return {}
    own = scaling_of(keys["scaling"])
    if own.extends:
        plain = {key: text for key, text in keys.items() if key != "scaling" and key not in scalings.SCALING_OPTIONS}
        others = [scaling for scaling in scalings.SCALINGS.values() if scaling.parameters and scaling.extends]
    else:  # which pairs turn is the model's, and was so in training: only the factor is added after it
        plain = {key: text for key, text in keys.items() if key != "factor"}
        others = [own]
    found: dict[str, Rescaling] = {"none": lambda _train, _test, _factor: (plain, None)}
    for scaling in others:
        found[scaling.name] = partial(_rescaled, scaling, keys if scaling is own and own.extends else None, plain)
    return found


def _rescaled(
    scaling: Scaling, own: Mapping[str, str] | None, plain: Mapping[str, str], train: int, test: int,
    factor: Decimal | None,
) -> tuple[Mapping[str, object], Decimal]:  # fmt: skip
    """Return the parameters of a scaling, completed from the two lengths, and the factor."""
    times = CONTEXT.divide(Decimal(test), Decimal(train)) if factor is None else factor
    given: dict[str, object] = {**(plain if own is None else own), "scaling": scaling.name}
    if "factor" in scaling.options and (own is None or factor is not None):
        given["factor"] = times
    for option, parameter in scaling.options.items():
        if param_of(parameter).of_table:
            given[option] = test
    lengths = {"max-position": train, "original-max": train}
    given |= {option: lengths[option] for option in scaling.required if option in lengths and option not in given}
    missing = [option for option in scaling.required if option not in given]
    if missing:
        rule = f"needs the lists that were searched for a model: give a recipe with {' and '.join(sorted(missing))}"
        raise BadParameter("scaling", scaling.name, rule)
    return given, Decimal(parse_number("factor", given.get("factor", times)))


# Factors of position interpolation that people add to a model.
LINEAR_FACTORS = (2, 4, 8, 16, 32)
# Ratios of a mistaken training length to the true one: a model's longer context, and the other way round.
LENGTH_RATIOS = (Decimal(2), Decimal(4), Decimal(8), Decimal(16), Decimal(32), Decimal("0.5"), Decimal("0.25"))

FACTORS = ("2", "4", "8", "16", "32", "64", "1.5", "3", "5", "6", "10", "12", "20", "40", "128", "1")


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield common mistakes in a rope with these keys."""
    name = keys.get("scaling", "none")
    if name == "none":
        for factor in LINEAR_FACTORS:
            phrase = f"linear factor {factor} where none was expected"
            yield Change("scaling", f"scaling {phrase}", {"scaling": "linear", "factor": str(factor)})
        return
    scaling = scaling_of(name)
    plain: dict[str, str | None] = {**{key: None for key in keys if key in scalings.SCALING_OPTIONS}, "scaling": "none"}
    yield Change("scaling", f"scaling {name} is missing: the frequencies are unscaled", plain)
    both = f"scaling {name} and the base are missing: base 10000, unscaled"
    yield Change("scaling", both, {**plain, "base": None})
    factor_given = keys.get("factor")
    if factor_given is not None:
        squared = number_text(Decimal(factor_given) * Decimal(factor_given))
        text = f"{name} factor {squared} where {factor_given} was expected"
        text += ", as if it were applied twice" * (scaling.required == ["factor"])  # else the ramp is another one
        yield Change("factor", text, {"factor": squared})
        for other in scalings.SCALINGS.values():
            if other.extends and other.required == ["factor"] and other is not scaling:
                own = {**plain, "scaling": other.name, "factor": factor_given}
                yield Change("scaling", f"scaling {other.name} where {name} was expected", own)
    yield from scaling.mistakes(keys)
    if factor_given is not None:
        yield from other_values(keys, "factor", *FACTORS)
    for text, blend in BLENDS.items():
        yield Change("scaling", text, waves=partial(_blended, keys, blend))
    if "original-max" in keys:
        from pecli.spec.measured import LENGTHS  # loads NumPy

        times = Decimal(keys.get("factor", 1))
        ratios = [str(int(int(keys["original-max"]) * ratio)) for ratio in (times, 1 / times, *LENGTH_RATIOS)]
        yield from other_values(keys, "original-max", *dict.fromkeys(ratios))
        others = (length for length in LENGTHS if str(length) not in (keys["original-max"], *ratios))
        for length in sorted(others, key=_is_unusual):  # where the ends of the ramp are whole, several give the same
            near = " or one near it" * (_is_unusual(length) and keys.get("truncate") == "true")
            text = f"original-max {length}{near} where {keys['original-max']} was expected"
            yield Change("original-max", text, {"original-max": str(length)})
    yield from _defaults(scaling, keys)
    for factor in LINEAR_FACTORS:
        phrase = f"linear factor {factor} applied beside scaling {name}: every angle is {factor} times too small"
        yield Change("scaling", phrase, step=Fraction(1, factor))


def _is_unusual(length: int) -> bool:
    """Whether a length is neither a power of two nor a multiple of 8192, as models have."""
    return length % 8192 != 0 and length & (length - 1) != 0


# What is made of a plain frequency, the scaled one and the factor by a wrong formula, and the words for it.
BLENDS: dict[str, Callable[[Decimal, Decimal, Decimal], Decimal]] = {
    "the scaling multiplies the frequencies by what it should divide them by": lambda w, s, f: w * w / s,
    "the factor multiplies the frequencies that it should divide": lambda w, s, f: w + f * (w - s),
    "the weights of the ramp are exchanged": lambda w, s, f: w + w / f - s if w / f < s < w else s,
    "the ramp runs the other way: fast pairs are slowed, slow ones are not": lambda w, s, f: w + w / f - s,
    "the ramp mixes wavelengths where frequencies were expected": lambda w, s, f: w * w / (w + w * f - s * f),
}


def _blended(keys: Mapping[str, str], blend: Callable[[Decimal, Decimal, Decimal], Decimal], waves: Waves) -> Waves:
    """Return waves with a wrong formula of the scaling."""
    plain = PlainSeries.of(keys).frequencies
    factor = Decimal(keys.get("factor", "1"))
    scaled = [w for w in waves.bands[0].frequencies if isinstance(w, Decimal)]
    if len(waves.bands) > 1 or len(plain) != len(scaled) or not all(scaled):
        return waves
    with localcontext(CONTEXT):
        made = tuple(blend(w, s, factor) for w, s in zip(plain, scaled, strict=True))
    return replace(waves, bands=(waves.bands[0]._replace(frequencies=made),))


def _defaults(scaling: Scaling, keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the defaults of a scaling's numbers, taken where others were meant."""
    for option, parameter in scaling.options.items():
        if isinstance(parameter.default, Decimal) and option in keys:
            usual = number_text(parameter.default)
            if keys[option] != usual:
                yield instead(option, usual, keys[option], kind="scaling")


Arithmetic = Literal["float32", "bfloat16"]
BLOCK = 1 << 18  # angles computed at once: their float64 copies stay in the caches


class Emulation(NamedTuple):
    """Frequencies and magnitude in a framework's arithmetic, with the values computed from them.

    Attributes
    ----------
    frequencies : (pairs,) float32 ndarray
        The module's ``inv_freq``; with ``arithmetic="bfloat16"`` each rounded to bfloat16.
    magnitude : float32
        Multiplies cos and sin.
    arithmetic : {"float32", "bfloat16"}
        With bfloat16, as after ``model.to(torch.bfloat16)`` casts buffers and
        positions too, every angle and value is rounded to it.
    """

    frequencies: Float32
    magnitude: np.float32
    arithmetic: Arithmetic = "float32"

    @property
    def _rounded(self) -> Callable[[Any], Any]:
        return bfloat16_values if self.arithmetic == "bfloat16" else lambda values: values

    def angles(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Return the angles of positions (n,), (n, pairs) float32."""
        return np.asarray(self._rounded(self._rounded(positions.astype(np.float32))[:, None] * self.frequencies))

    def fill(self, positions: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any]) -> None:
        """Write the rows of these positions.

        Parameters
        ----------
        positions : (n,) ndarray
            Integers or float64.
        cos, sin : (n, pairs) ndarray
            Where to; float32 takes the values as they are, another type rounds them once more.
        """
        rounded = self._rounded
        for rows in in_blocks(0, len(positions), BLOCK // max(1, len(self.frequencies))):
            angles = self.angles(positions[rows]).astype(np.float64)
            for out, function in ((cos, np.cos), (sin, np.sin)):
                values = rounded(function(angles).astype(np.float32))
                out[rows] = values if self.magnitude == 1 else rounded(values * self.magnitude)


def emulate(plan: Waves, values: Mapping[str, Any], arithmetic: Arithmetic = "float32") -> Emulation:
    """Return a framework's arithmetic for a table of ``rope``, or of ``mrope`` where all streams are the position.

    Parameters
    ----------
    plan : Waves
        The exact plan of the table.
    values : mapping
        Its checked parameters, whose steps are followed one by one; frequencies from a file are rounded to float32.
    arithmetic : {"float32", "bfloat16"}
        Type of the steps.

    Raises
    ------
    UnknownName
        For an undeclared scaling.
    """
    magnitude = np.float32(float(plan.magnitude))
    if values["frequencies"] is not None:
        frequencies = scalings.nearest(plan.frequencies)
    else:
        frequencies = scaling_of(values["scaling"]).steps(series_of(values), values)
    if arithmetic == "bfloat16":
        frequencies, magnitude = bfloat16_values(frequencies), bfloat16_values(np.atleast_1d(magnitude))[0]
    return Emulation(frequencies, magnitude, arithmetic)


def bfloat16_values(values: Float32) -> Float32:
    """Return float32 values rounded to the nearest bfloat16, ties to even; still float32."""
    bits, _ = rounding.halve(np.ascontiguousarray(values, np.float32), "bfloat16")
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


DEFAULT = (1, 3)


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out rotations; for a scaled series also the derivation of its frequencies."""
    values, found = exercise.values, exercise.of_family()
    scaling = scaling_of(values["scaling"])
    if values["frequencies"] is not None or not scaling.formula:
        return found
    rows = 1 + max(0, *(int(p) for p in exercise.at(DEFAULT)))
    given = exercise.resolved(max(exercise.length or 0, rows)).values
    series = series_of(given)
    scaled, _ = scaling.rotation(series, given)
    last = len(scaled) - 1
    pairs = sorted({round(k * last / (lessons.PAIRS - 1)) for k in range(lessons.PAIRS)})
    plain = PlainSeries(series.dim, series.dim if scaling.odd_heads else series.width, series.base).frequencies
    ratios: list[list[str | float]] = [[i, *map(float, (plain[i], scaled[i], scaled[i] / plain[i]))] for i in pairs]
    table = SmallTable(["pair", "unscaled", "w", "ratio"], ratios, None)
    first, *rest = found
    title = f"{first.title}, scaled by {scaling.name}"
    return [Step(title, [first.items[0], table, *scaling.formula]), *rest]
