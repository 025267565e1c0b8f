"""Every scaling of rotary frequencies: each `Scaling` that a module of this folder defines.

The formulas follow the authors' code, as transformers 5.23 does; where a paper prints another formula, both are
included.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pecli.encodings.shared.deferred import Float32, np
from pecli.errors import MissingParameter, UnknownName
from pecli.numbers.decimals import CONTEXT, geometric
from pecli.spec.hooks import Mistakes
from pecli.spec.parameter import declared, param_of, sections

# Reader of the rope parameters of one kind of layer in a model's config: `pecli.models.rotary.Rope`.
Reader = Any


class RopeType(NamedTuple):
    """Rope type of transformers, and its translation to a scaling.

    Parameters
    ----------
    name : str
        As ``rope_type`` has it.
    read : callable
        Of a reader and the width that rotates, the recipe's parameters as text.
    needs_head_dim : bool
        Whether transformers divides by a ``head_dim`` that the config must then give.
    original_outside : bool
        Whether the original length may be a top-level key, or the config's own length.
    whole_pairs : bool
        Whether the share that rotates is one of pairs.
    """

    name: str
    read: Callable[[Reader, int], dict[str, str]]
    needs_head_dim: bool = False
    original_outside: bool = False
    whole_pairs: bool = False


def powers(base: float | Decimal, d: int, stop: int | None = None) -> Float32:
    """Return base^(k/d) for k = 0, 2, .. below `stop` (default: d): base and exponent float32, the power rounded."""
    exponents = np.arange(0, d if stop is None else stop, 2, dtype=np.float32) / np.float32(d)
    rounded = Decimal(float(np.float32(float(base))))
    if rounded == 1:
        return np.ones(len(exponents), np.float32)
    logarithm = CONTEXT.ln(rounded)
    return nearest(CONTEXT.exp(CONTEXT.multiply(logarithm, Decimal(float(e)))) for e in exponents)


def inverse_powers(base: float | Decimal, d: int, stop: int | None = None) -> Float32:
    """Return one over the `powers`."""
    return np.asarray(np.float32(1) / powers(base, d, stop))


def nearest(values: Iterable[Decimal]) -> Float32:
    """Return exact values rounded to double precision, as Python holds a config's, and then to float32."""
    return np.array([float(value) for value in values], np.float32)


Frequencies = tuple[Decimal, ...]


@dataclass(frozen=True)
class PlainSeries:
    """The unscaled frequencies of a head, which a scaling replaces.

    Attributes
    ----------
    dim : int
        Width of the head.
    width : int
        How many of its columns rotate; an odd number gives ceil(width/2) pairs, as ``arange(0, d, 2) / d`` does.
    base : Decimal
        Of the geometric series.
    """

    dim: int
    width: int
    base: Decimal

    @classmethod
    def of(cls, keys: Mapping[str, str]) -> PlainSeries:
        """Return the series of a recipe's keys."""
        return cls(int(keys["dim"]), int(keys.get("rotary-dim", keys["dim"])), Decimal(keys["base"]))

    @cached_property
    def frequencies(self) -> Frequencies:
        """base^(-2i/width), radians per position, exact to the digits of `pecli.numbers.decimals`."""
        return geometric(self.base, Fraction(2, self.width), (self.width + 1) // 2)


@dataclass(frozen=True)
class Scaling:
    """One scaling of rotary frequencies.

    Parameters
    ----------
    name : str
        The choice of ``scaling``.
    place : int
        Orders them in every listing.
    frequencies : callable
        Of a `PlainSeries` and keyword-only parameters, declared as an encoding's are, the exact frequencies in
        radians per position, one for each pair.
    float32 : callable
        Of the same, ``inv_freq`` as a framework computes it step by step in float32, (pairs,).
    magnitude : callable, optional
        Of keyword-only parameters, what multiplies every cosine and sine; 1 where there is none.
    types : tuple of RopeType
        The rope types of a config that it is read from.
    mistakes : callable
        Of a recipe's keys, mistakes particular to this scaling, in addition to those of any scaling.
    extends : bool
        Whether it takes a trained model to longer contexts; what does not is the model's own, in training too.
    odd_heads : bool
        Whether a whole head of odd width may turn.
    unrecognised : str
        Why tables cannot be recognised from their values; empty where `rope.identify` finds the parameters.
    """

    name: str
    place: int
    frequencies: Callable[..., Frequencies]
    float32: Callable[..., Float32]
    magnitude: Callable[..., Decimal] | None = None
    types: tuple[RopeType, ...] = ()
    mistakes: Mistakes = lambda keys: ()
    extends: bool = True
    odd_heads: bool = False
    unrecognised: str = ""

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Parameters of the scaling, in the order of its functions' signatures."""
        return {**_declared(self.frequencies), **(_declared(self.magnitude) if self.magnitude else {})}

    @cached_property
    def options(self) -> dict[str, inspect.Parameter]:
        """The same by the keys of a recipe."""
        return {name.replace("_", "-"): parameter for name, parameter in self.parameters.items()}

    @property
    def formula(self) -> list[str]:
        """How the frequencies come about, and the magnitude, as the docstrings of the functions say it."""
        functions = filter(None, (self.frequencies, self.magnitude))
        return [line for function in functions for line in sections(function).get("Formula", "").splitlines()]

    @property
    def required(self) -> list[str]:
        """Parameters without a default, as keys of a recipe."""
        return [option for option, parameter in self.options.items() if parameter.default is parameter.empty]

    def rotation(self, series: PlainSeries, given: Mapping[str, Any]) -> tuple[Frequencies, Decimal]:
        """Return frequencies and magnitude for checked parameters, of which it takes its own.

        Raises
        ------
        MissingParameter, BadParameter
            If some are missing that it must have, or they do not fit together.
        """
        lacking = [option for option in self.required if given.get(option.replace("-", "_")) is None]
        if lacking:
            raise lacks(self.name, *lacking)
        frequencies = self.frequencies(series, **_own(self.frequencies, given))
        return frequencies, self.magnitude(**_own(self.magnitude, given)) if self.magnitude else Decimal(1)

    def steps(self, series: PlainSeries, given: Mapping[str, Any]) -> Float32:
        """Return the frequencies as a framework computes them in float32, for checked parameters."""
        with np.errstate(all="ignore"):  # a framework warns of nothing either
            return self.float32(series, **_own(self.frequencies, given))


# What a message gives as an example of each parameter that a scaling must have.
EXAMPLES = {
    "factor": "4", "original-max": "4096", "max-position": "4096", "seq-len": "16384", "short-factor": "short.npy",
    "long-factor": "long.npy",
}  # fmt: skip
# Names that papers and configs have for a scaling, and the one that it has here.
OTHER_NAMES = (
    *((word, "linear") for word in ("interpolation", "position-interpolation", "pi")),
    ("su", "longrope"), ("default", "none"), ("llama", "llama3"),
)  # fmt: skip


def lacks(scaling: str, *options: str) -> MissingParameter:
    """Return the error about parameters that a scaling needs, all of them, with an example of each."""
    example = {option: EXAMPLES[option] for option in options}
    given = ",".join(f"{key}={text}" for key, text in {"scaling": scaling, **example}.items())
    needs = " and ".join(f"{option}=" for option in options)
    return MissingParameter(
        f"scaling={scaling} needs {needs}; for example rope:dim=128,{given}", {"scaling": scaling, **example}
    )


_declared = cache(declared)


def _own(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _declared(function) if name in given}


def _found() -> dict[str, Scaling]:
    modules = (import_module(module.name) for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    scalings = (value for module in modules for value in vars(module).values() if isinstance(value, Scaling))
    return {scaling.name: scaling for scaling in sorted(scalings, key=lambda s: s.place)}


# By name, in the order of their places.
SCALINGS = _found()

# The parameters of all scalings, as keys of a recipe.
SCALING_OPTIONS = {option for scaling in SCALINGS.values() for option in scaling.options}

# Why tables of some are not recognised, by their parameter in a recipe.
UNRECOGNISED = {
    f"scaling={scaling.name}": scaling.unrecognised for scaling in SCALINGS.values() if scaling.unrecognised
}

# Scaling of each rope type of transformers.
ROPE_TYPES: dict[str, RopeType] = {kind.name: kind for scaling in SCALINGS.values() for kind in scaling.types}


def scaling_of(name: object) -> Scaling:
    """Return the scaling of this name.

    Raises
    ------
    UnknownName
        If there is none.
    """
    if name not in SCALINGS:
        raise UnknownName("scaling", str(name), SCALINGS, dict(OTHER_NAMES).get(str(name).lower()))
    return SCALINGS[str(name)]


def with_scalings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the choice of a scaling, and the parameters of all scalings, to a function's signature.

    Each appears once, with the scalings that it belongs to; all are optional, since a parameter that one scaling
    requires is not required by another.
    """
    found: dict[str, inspect.Parameter] = {}
    takers: dict[str, list[str]] = {}
    for scaling in SCALINGS.values():
        for name, parameter in scaling.parameters.items():
            if param_of(found.setdefault(name, parameter)) != param_of(parameter):
                raise TypeError(f"scalings declare {name} in two ways: {scaling.name} and {takers[name][-1]}")
            takers.setdefault(name, []).append(scaling.name)
    of_scalings = [_optional(parameter, takers[name]) for name, parameter in found.items()]
    parameters = list(declared(function).values())
    at = [parameter.name for parameter in parameters].index("scaling")
    words: Any = Literal.__getitem__(tuple(SCALINGS))
    choice = replace(param_of(parameters[at]), synonyms=OTHER_NAMES)
    parameters[at : at + 1] = [parameters[at].replace(annotation=Annotated[words, choice]), *of_scalings]
    function.__dict__["__signature__"] = inspect.Signature(parameters)
    return function


def _optional(parameter: inspect.Parameter, takers: list[str]) -> inspect.Parameter:
    """Return a scaling's parameter as an optional one, which affects only the scalings `takers`."""
    kind, param = get_args(parameter.annotation)
    if param.when is None:
        param = replace(param, when=("scaling", tuple(takers)))
    if parameter.default in (None, parameter.empty):
        return parameter.replace(annotation=Annotated[kind | None, param], default=None)
    return parameter.replace(annotation=Annotated[kind, param])
