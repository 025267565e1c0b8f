"""Context extensions of one encoding side by side: the same model and lengths, another scaling each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter, PecliError, UnknownName
from pecli.extrapolation.waves import WaveReach, base_of, wave_reach
from pecli.numbers.decimals import CONTEXT, power

SCALINGS = ("none", "linear", "ntk", "dynamic", "ntk-by-parts", "yarn", "longrope", "llama3")
SINUSOIDAL = ("none", "linear", "ntk", "dynamic")
RULES = {
    "kept": "turns as fast as in training",
    "interpolated": "is slowed by the whole factor or more",
    "blended": "is slowed by less than the factor",
}
SAME = 1e-9  # relative difference of two frequencies that are computed differently and mean the same
_SHORT = Context(prec=17)


@dataclass(frozen=True)
class Scaled:
    """One scaling of a model at the test length.

    Attributes
    ----------
    scaling, recipe : str
        Its name, and the recipe that makes its table.
    factor : float or None
        The factor it was given.
    reach : WaveReach or None
        Its phases against those of the unscaled training; None where it cannot be made.
    kept, blended, interpolated : tuple of int
        Indices of pairs, by `RULES`.
    smallest_factor : float or None
        Least factor of this scaling that keeps every frequency inside; None where none does.
    smallest_base : float or None
        The base that this factor stands for (ntk, dynamic).
    missing : str
        Why it cannot be made, and the remedy.
    """

    scaling: str
    recipe: str
    factor: float | None
    reach: WaveReach | None = None
    kept: tuple[int, ...] = ()
    blended: tuple[int, ...] = ()
    interpolated: tuple[int, ...] = ()
    smallest_factor: float | None = None
    smallest_base: float | None = None
    missing: str = ""


def scalings_of(recipe: Recipe) -> tuple[str, ...]:
    """Return the scalings that an encoding has; empty where it has none."""
    parameter = recipe.encoding.parameters.get("scaling")
    if parameter is not None and recipe.values.get("frequencies") is None:
        return tuple(name for name in SCALINGS if name in parameter.choices)
    timescales = recipe.values.get("max_timescale") is not None
    return SINUSOIDAL if recipe.encoding.name == "sinusoidal" and not timescales else ()


def chosen(text: str, recipe: Recipe) -> tuple[str, ...]:
    """Return the scalings that ``all`` or a list names.

    Raises
    ------
    UnknownName, BadParameter
        For a name that is no scaling, or one that the encoding does not have.
    """
    own = scalings_of(recipe)
    name = recipe.encoding.name
    if not own:
        rule = f"is not for {name}: it has no frequencies to scale; use it with rope or sinusoidal, or leave it out"
        raise BadParameter("scaling", text, rule)
    if text == "all":
        return own
    wanted = tuple(dict.fromkeys(word.strip() for word in text.replace("+", ",").split(",")))
    for word in wanted:
        if word not in SCALINGS:
            raise UnknownName("scaling", word, ("all", *SCALINGS))
        if word not in own:
            raise BadParameter("scaling", word, f"is none that {name} has: use {', '.join(own)}")
    return wanted


def unscaled(recipe: Recipe) -> Recipe:
    """Return the encoding as the model was first trained: without a scaling."""
    if recipe.values.get("scaling") in (None, "none"):
        return recipe
    parameters = recipe.encoding.parameters
    tied = {name for name, p in parameters.items() if p.param.when and p.param.when[0] in ("scaling", "ramp")}
    given = {k: v for k, v in recipe.values.items() if k != "scaling" and k not in tied and v is not None}
    kept = {k: v for k, v in given.items() if recipe.encoding.applies(parameters[k], recipe.values)}
    plain = Recipe.bind(recipe.encoding.name, **kept)
    if recipe.open_parameters or len(_plan(plain).frequencies) == len(_plan(recipe).frequencies):
        return plain
    # which pairs turn is the model's, and was so in training: only the factor is added after it
    return Recipe.bind(recipe.encoding.name, **{**recipe.keys(), "factor": 1})


def scaled_recipe(recipe: Recipe, scaling: str, train: int, test: int, factor: Decimal | None = None) -> Recipe:
    """Return a recipe with another scaling, from the lengths alone.

    The factor is test/train unless one is given.  A recipe that has this
    scaling already keeps what it says of it.

    Raises
    ------
    BadParameter
        If the scaling needs more than lengths, as longrope's lists.
    """
    times = factor if factor is not None else CONTEXT.divide(Decimal(test), Decimal(train))
    plain = unscaled(recipe)
    if scaling == "none":
        return plain
    if recipe.encoding.name == "sinusoidal":
        return _scaled_sinusoid(recipe, scaling, train, test, times)
    own = recipe.values.get("scaling") == scaling
    given: dict[str, Any] = {**(recipe.keys() if own else plain.keys()), "scaling": scaling}
    if factor is not None or not own:
        given["factor"] = times
    if scaling == "dynamic":
        given = {"max-position": train, **given, "seq-len": test}
    elif scaling in ("yarn", "ntk-by-parts", "llama3"):
        given = {"original-max": train, **given}
    elif scaling == "longrope":
        if not own:
            rule = "needs the lists that were searched for a model: give a recipe with long-factor and short-factor"
            raise BadParameter("scaling", "longrope", rule)
        given = {"original-max": train, **given, "seq-len": test}
    if scaling == "ntk" and own and "alpha" in given and factor is None:
        given.pop("factor", None)
    return Recipe.bind(recipe.encoding.name, **given)


def _scaled_sinusoid(recipe: Recipe, scaling: str, train: int, test: int, factor: Decimal) -> Recipe:
    """Scale the position (linear), or the base by ntk's rule with the sinusoid's own last exponent."""
    values = {k: v for k, v in recipe.values.items() if v is not None}
    if scaling == "linear":
        return Recipe.bind("sinusoidal", **{**recipe.keys(), "scale": CONTEXT.divide(_number(values["scale"]), factor)})
    if scaling == "dynamic":
        factor = CONTEXT.subtract(CONTEXT.multiply(factor, Decimal(test) / train), factor - 1)
    frequencies = _plan(recipe).frequencies
    half = len(frequencies)
    if half < 2:
        rule = "has one frequency, and ntk keeps the first: use a wider dim or linear"
        raise BadParameter("dim", values["dim"], rule)
    dim, shift = int(_number(values["dim"])), Fraction(_number(values["shift"]))
    last = (half - 1) / ((dim + dim % 2) // 2 - shift)
    base = CONTEXT.multiply(_number(values["base"]), power(factor, 1 / last))
    return Recipe.bind("sinusoidal", **{**recipe.keys(), "base": _SHORT.plus(base)})


def _number(value: object) -> Decimal:
    return Decimal(str(value))


def _plan(recipe: Recipe) -> Waves:
    plan = recipe.plan
    assert isinstance(plan, Waves)
    return plan


def compare_scalings(
    recipe: Recipe, names: Sequence[str], train: int, test: int, factor: Decimal | None = None, *, strict: bool = False
) -> tuple[Scaled, ...]:
    """Return each scaling's figures; training is always the unscaled encoding at the training length.

    Raises
    ------
    PecliError
        With `strict`, for a scaling that cannot be made; otherwise it says so in `Scaled.missing`.
    """
    found = []
    for name in names:
        try:
            found.append(_one(recipe, name, train, test, factor))
        except PecliError as error:
            if strict:
                raise
            found.append(Scaled(name, "", None, missing=str(error)))
    return tuple(found)


def _one(recipe: Recipe, name: str, train: int, test: int, factor: Decimal | None) -> Scaled:
    plain = unscaled(recipe)
    made = scaled_recipe(recipe, name, train, test, factor)
    before, after = _plan(plain), _plan(made)
    reach = wave_reach(after, train, test, before, base_of(plain))
    pairs = zip(before.frequencies, after.frequencies, strict=True)
    ratios = [float(CONTEXT.divide(new, old)) if old else 1.0 for old, new in pairs]
    value = made.values.get("factor") or made.values.get("alpha") or factor
    times = float(_number(value)) if value is not None else test / train
    kinds = [_kind(ratio, times) for ratio in ratios]
    need, base = _needed(reach, name, ratios, times, plain, train, test)
    return Scaled(
        scaling=name,
        recipe=made.short,
        factor=times if name != "none" else None,
        reach=reach,
        kept=_of_kind("kept", kinds),
        blended=_of_kind("blended", kinds),
        interpolated=_of_kind("interpolated", kinds),
        smallest_factor=need,
        smallest_base=base,
    )


def _of_kind(kind: str, kinds: Sequence[str]) -> tuple[int, ...]:
    return tuple(i for i, k in enumerate(kinds) if k == kind)


def _kind(ratio: float, factor: float) -> str:
    if abs(ratio - 1) <= SAME:
        return "kept"
    return "interpolated" if ratio <= (1 + SAME) / factor else "blended"


def _needed(
    reach: WaveReach, name: str, ratios: Sequence[float], factor: float, plain: Recipe, train: int, test: int
) -> tuple[float | None, float | None]:
    """Return the least factor, and base, with which this scaling keeps every frequency inside.

    A pair without a whole turn in training must slow down by s = test/train.
    """
    s = test / train
    binding = [p.index for p in reach.pairs if p.seen < 1 and p.trained]
    if not binding or name in ("none", "longrope"):
        return (1.0, None) if not binding and name not in ("none", "longrope") else (None, None)
    if name == "linear":
        return s, None
    if name in ("ntk", "dynamic"):
        base, first = base_of(plain), binding[0]
        need = _plan(plain).frequencies
        if base is None or first == 0 or reach.smallest_base is None:
            return None, None
        # A pair at share e of the way to the slowest is slowed by factor^e.
        share = math.log(float(need[0] / need[first])) / math.log(float(need[0] / need[-1]))
        least = s ** (1 / share)
        return (least if name == "ntk" else (least - 1) / (s - 1)), reach.smallest_base
    if factor == 1:
        return None, None
    # w' = w ((1 - r) + r/f), so that r, which does not depend on f, follows from the ratio at any f.
    wanted = []
    for i in binding:
        r = (1 - ratios[i]) / (1 - 1 / factor)
        rest = 1 / s - (1 - r)
        wanted.append(r / rest if rest > 0 else math.inf)
    least = max(wanted)
    return (least if least < math.inf else None), None
