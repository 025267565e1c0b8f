"""Declarations: an encoding's function with parameters, facts, sources and hooks, and the decorator that joins them.

An encoding is declared once, as a function whose keyword-only parameters are its options, annotated with
:class:`Param` where type and default do not say all.  Its docstring holds what people read of it, in the sections
Formula, Parameters, Source, Used by, Use it, Not and Not recognised.  The sub-command and its options, recipes, the
metadata in files, ``pecli list``, the man pages, the README's catalogue, the facts that ``pecli compare`` prints and
the contract tests all derive from it.

A declaration names its hooks, which describe an encoding beyond its values.  Each is a function,
or the text "module:function" of one whose module is imported when the hook is first asked for; one that begins with a
dot lies in the declaration's package, and without a module the function is in the declaration's own module.
Asking for a hook that nobody declared is an error; `Encoding.declares` says whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cached_property, wraps
from importlib import import_module
from typing import Any, Literal, NamedTuple

from pecli.errors import BadParameter, BadRecipe, MissingParameter, PecliError, UndeclaredHook, UnknownName
from pecli.spec.parameter import GIVEN, Param, Parameter, Value, parameters_of, sections
from pecli.spec.plans import Plan


class Family(Enum):
    """Kind of a table by the meaning of its rows; the order is the order of every listing."""

    ABSOLUTE = ("absolute", "Absolute: a vector for each position, added to the embedding")
    ROTARY = ("rotary", "Rotary: cos and sin for each position, rotating queries and keys")
    BIAS = ("bias", "Bias: one number for each head, query and key, added to the logits")
    RELATIVE = ("relative", "Relative: a vector for each clipped distance")
    CONDITIONAL = ("conditional", "Conditional: from position and content")
    NONE = ("none", "None: no positions")

    def __init__(self, word: str, title: str) -> None:
        self.word, self.title = word, title

    @property
    def pairs(self) -> bool:
        """Whether a value belongs to two positions, a query's and a key's."""
        return self in (Family.BIAS, Family.RELATIVE)


@dataclass(frozen=True)
class Facts:
    """Properties of an encoding; every field is measured by a test.

    Parameters
    ----------
    learned : bool
        Whether its values are trained (the table is then their start).
    beyond : {"defined", "ends"}
        Whether there are values past the length it was made for.
    bounded : bool
        Whether values stay within one range at every position.
    unique : bool
        Whether all rows of a table differ.
    relative : {"no", "rotation", "distance"}
        How a shift acts: not at all alike at every position; as one matrix
        M_k with PE(p + k) = M_k PE(p); or the values depend on the distance alone.
    multi_scale : bool
        Whether columns (or heads) change at different rates.
    parameters : str
        Number of trained values, as a formula in the encoding's parameters.
    longest : str
        Number of positions that have a value, as such a formula; "unlimited".
    cost : str
        Values computed for n positions (for a bias, n queries and n keys), as a formula in n.
    """

    learned: bool = False
    beyond: Literal["defined", "ends"] = "defined"
    bounded: bool = True
    unique: bool = True
    relative: Literal["no", "rotation", "distance"] = "no"
    multi_scale: bool = True
    parameters: str = "0"
    longest: str = "unlimited"
    cost: str = "n * dim"

    @property
    def words(self) -> dict[str, str]:
        """Each property as a word; yes or no for what holds or does not."""
        plain = {True: "yes", False: "no"}
        return {name: plain[fact] if isinstance(fact, bool) else fact for name, fact in asdict(self).items()}


class Work(NamedTuple):
    """Extra cost of an encoding in a model, beyond the usual cost of its family; each formula is checked by a test.

    Names in formulas are the encoding's parameters, n (positions), h (heads of the model), width (of the model) and
    pairs (of a rotary table).

    Parameters
    ----------
    kernel : str
        Values that a kernel holds; empty where it holds the whole table.
    additions, products : str
        For n positions in one layer; empty for the family's.
    every_layer : bool, optional
        Whether it works in every layer; None for what is usual in the family.
    """

    kernel: str = ""
    additions: str = ""
    products: str = ""
    every_layer: bool | None = None


# Keys of a recipe's text that are the table's own.
TABLE_KEYS = (
    "len", "start", "step", "positions", "dtype", "layout", "form", "shard", "queries", "keys", "align", "arithmetic",
    "name", "lead", "with",
)  # fmt: skip

# Properties of a table that inspect --expect checks.
EXPECTATIONS = ("finite", "unique", "bounded", "relative", "smooth")

# Kinds of picture of a table.
PICTURES = ("heatmap", "waves", "similarity", "rotation", "patches", "bias", "slopes", "buckets")

# Pictures that extrapolate draws of its reports; the last three compare scalings.
REACHES = ("phases", "score", "reach", "ramps")


HookName = Literal[
    "lesson", "identify", "identify_waves", "identify_axes", "identify_arrays", "layout", "differences", "words",
    "mistakes", "emulate", "scale", "extend", "apply",
]  # fmt: skip
Hook = Callable[..., Any] | str
Hooks = Mapping[HookName, Hook]


def checked(function: Callable[..., Any], name: HookName) -> Callable[..., Any]:
    """Return a hook of a user's encoding that raises BadRecipe, with its line, where it returns something else."""
    from pecli.spec.hooks import Effect, Reach, Step
    from pecli.spec.measured import Named
    from pecli.spec.profiles import Candidate

    one = {"apply": Effect, "extend": Reach}.get(name)
    each = {"lesson": Step, "identify": Candidate, "identify_waves": Named}.get(name)

    @wraps(function)
    def call(*given: Any) -> Any:
        made = function(*given)
        made = made if each is None else list(made)
        for part in [made] if each is None else made:
            if (kind := one or each) is not None and not isinstance(part, kind):
                place = f"{function.__code__.co_filename}, line {function.__code__.co_firstlineno}"
                raise BadRecipe(f"{place}: {name} gave {type(part).__name__}, where {kind.__name__} is needed")
        return made

    return call


def load(hook: Hook, home: str) -> Callable[..., Any]:
    """Return the function of a hook.

    Parameters
    ----------
    hook : callable or str
        The function itself, or "module:function".
    home : str
        The module of the declaration, from which a relative name starts.

    Raises
    ------
    TypeError
        If the text names no function: a fault of the declaration.
    """
    if not isinstance(hook, str):
        return hook
    module, _, name = hook.partition(":")
    package = import_module(home).__package__ if module.startswith(".") else None
    found: Callable[..., Any] | None = getattr(import_module(module or home, package), name, None)
    if found is None:
        raise TypeError(f"{home} declares the hook '{hook}', which is not there")
    return found


__all__ = [
    "GIVEN", "REGISTRY", "Encoding", "Facts", "Family", "Param", "Parameter", "Preset", "Value", "encoding",
]  # fmt: skip


LAST = 1 << 16  # the place of an encoding that names none


class Preset(NamedTuple):
    """A word that sets several parameters at once, such as a framework's convention.

    It is expanded where it is given, explicit parameters win, and it is no
    part of the identity.
    """

    help: str
    sets: Mapping[str, Mapping[str, object]]
    name: str = "convention"

    @property
    def parameter(self) -> Parameter:
        """The parameter as the command line and recipes see it."""
        return Parameter(self.name, "choice", None, False, Param(self.help), tuple(self.sets))


@dataclass(frozen=True)
class Encoding:
    """An encoding: its function, and everything that was declared with it."""

    name: str
    family: Family
    title: str
    formula: tuple[str, ...]
    source: tuple[str, ...]
    facts: Facts
    users: str
    example: str
    function: Callable[..., Any]
    presets: tuple[Preset, ...] = ()
    description: str = ""
    place: int = LAST
    hooks: Hooks = field(default_factory=dict, hash=False, compare=False)
    use_when: str = ""
    not_when: str = ""
    unrecognised: str = ""
    unrecognised_with: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    work: Work | None = None

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters of the encoding's function by name; read at first use, since a listing needs none of them."""
        return parameters_of(self.function)

    @cached_property
    def usual(self) -> str:
        """The recipe with sizes of models where its parameters declare them, else the example; for lines to copy."""
        sizes = {p.option: p.param.usual for p in self.options if p.required}
        if not all(sizes.values()):
            return self.example
        return self.name if not sizes else f"{self.name}:{','.join(f'{key}={size}' for key, size in sizes.items())}"

    def as_dict(self) -> dict[str, object]:
        """Return everything declared as data, for JSON."""
        own = ("name", "title", "formula", "users", "example")
        return {
            **{name: getattr(self, name) for name in own},
            "family": self.family.word,
            "summary": self.description.splitlines()[0],
            "source": list(self.source),
            "facts": asdict(self.facts),
            "unrecognised": self.unrecognised or None,
            "unrecognised_with": dict(self.unrecognised_with),
            "guidance": {"when": self.use_when, "unless": self.not_when} if self.use_when else None,
            "parameters": [parameter.as_dict() for parameter in self.options],
        }

    def declares(self, name: HookName) -> bool:
        """Whether the declaration names this hook."""
        return name in self.hooks

    def hook(self, name: HookName) -> Callable[..., Any]:
        """Return the function of a hook, importing its module.

        Raises
        ------
        UndeclaredHook
            If the declaration names none: there is no default.
        """
        if name not in self.hooks:
            raise UndeclaredHook(self.name, name)
        home = self.function.__module__
        function = load(self.hooks[name], home)
        return function if home.startswith("pecli.") else checked(function, name)

    @property
    def options(self) -> tuple[Parameter, ...]:
        """Parameters and presets that a user can give: required ones, presets, optional ones."""
        required = [p for p in self.parameters.values() if p.required]
        others = [p for p in self.parameters.values() if not p.required]
        return (*required, *(preset.parameter for preset in self.presets), *others)

    def bind(self, given: Mapping[str, object], defaults: Mapping[str, object] | None = None) -> dict[str, Value]:
        """Return all parameters, checked and with defaults filled in, by the names of the function.

        Parameters missing in `given` come from `defaults` (a model's config), then
        from the function; those of `defaults` without effect are dropped.

        Raises
        ------
        UnknownName
            For a key that is no parameter.
        BadParameter
            For a value outside its range, or one without effect, given the others.
        BadRecipe
            For a required parameter left out.
        """
        typed = {name: self._parsed(name, value, given) for name, value in self._expand(given).items()}
        explicit = list(typed)
        for name, value in self._expand(defaults or {}).items():
            typed.setdefault(name, self.parameters[name].parse(value))
        missing = [p for p in self.parameters.values() if p.required and p.name not in typed]
        if missing:
            needs = " and ".join(f"{p.option}={p.metavar} ({p.param.help.rstrip('.').lower()})" for p in missing)
            raise MissingParameter(f"{self.name} needs {needs}; for example {self.usual}")
        for parameter in self.parameters.values():
            typed.setdefault(parameter.name, parameter.default)
        for name in explicit:
            self._check_effect(self.parameters[name], typed)
        for name in defaults or {}:
            idle = self.parameters.get(name.replace("-", "_"))
            if idle and not self.applies(idle, typed) and not idle.required:
                typed[idle.name] = idle.default
        return {name: typed[name] for name in self.parameters}

    def _parsed(self, name: str, value: object, given: Mapping[str, object]) -> Value:
        """Return the checked value of a parameter; an error names the word that the user gave."""
        parameter = self.parameters[name]
        try:
            return parameter.parse(value)
        except BadParameter as error:
            word = next((key for key in given if key.replace("_", "-") in parameter.param.names), None)
            raise error if word is None else BadParameter(word, error.value, error.rule) from None

    def _expand(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the given values by the function's parameter names, presets replaced by the values that they set."""
        names = {p.option.replace("-", "_"): p.name for p in self.options}
        others = {word.replace("-", "_"): p.name for p in self.options for word in p.param.names}
        found: dict[str, object] = {}
        for key, value in given.items():
            typed = key.replace("-", "_").rstrip("_")
            name = names.get(typed, others.get(typed))
            if name is None:
                raise self._unknown(key, value)
            if name in found:
                raise BadParameter(key, value, f"says again what {name.replace('_', '-')}= says: leave one of them out")
            found[name] = value
        for preset in reversed(self.presets):
            word = found.pop(preset.name, None)
            if word is not None:
                found = {**preset.sets[str(preset.parameter.parse(word))], **found}
        return found

    def _unknown(self, key: str, value: object) -> PecliError:
        """Return the error of a word that is no parameter, with the right one where the declaration knows it."""
        for parameter in self.options:
            for word, rule in parameter.param.wrong:
                if word == key.replace("_", "-"):
                    return BadParameter(word, value, rule)
        return UnknownName(f"parameter of {self.name}", key, [*(p.option for p in self.options), *TABLE_KEYS[:5]])

    @property
    def other_words(self) -> list[str]:
        """Words that are accepted besides the parameters' names, or refused with the right name."""
        own = {p.option for p in self.options}
        typed = [word for p in self.options for word in (*p.param.names, *(word for word, _ in p.param.wrong))]
        return [word for word in dict.fromkeys(typed) if word not in own]

    def _check_effect(self, parameter: Parameter, typed: Mapping[str, Value]) -> None:
        """Raise BadParameter where a given value changes nothing."""
        when = parameter.param.when
        if typed[parameter.name] is None or when is None or self.applies(parameter, typed):
            return
        other = self.parameters[when[0]]
        while other.param.when is not None and not self.applies(other, typed):  # which has no effect either
            when, other = other.param.when, self.parameters[other.param.when[0]]
        need = "a value" if when[1] is GIVEN else " or ".join(map(other.text, when[1]))
        value, have = parameter.text(typed[parameter.name]), other.text(typed[other.name])
        rule = f"has no effect with {other.option}={have}: it needs {other.option}={need}"
        raise BadParameter(parameter.option, value, rule)

    def applies(self, parameter: Parameter, typed: Mapping[str, Value]) -> bool:
        """Whether a parameter has an effect, given the values of the others."""
        when = parameter.param.when
        if when is None:
            return True
        value = typed[when[0]]
        holds = value is not None if when[1] is GIVEN else value in when[1]
        return holds and self.applies(self.parameters[when[0]], typed)

    def plan(self, values: Mapping[str, Value]) -> Plan:
        """Return the plan for checked values; runs the checks that join several parameters."""
        plan = self.function(**values)
        if not isinstance(plan, Plan):
            code = self.function.__code__
            place = f"{code.co_filename}, line {code.co_firstlineno}"
            raise BadRecipe(f"{place}: {self.name} returned {type(plan).__name__}, which is not a plan")
        return plan


REGISTRY: dict[str, Encoding] = {}


def encoding(
    *,
    family: Family,
    title: str,
    example: str,
    facts: Facts = Facts(),
    name: str | None = None,
    presets: tuple[Preset, ...] = (),
    place: int = LAST,
    hooks: Hooks | None = None,
    unrecognised_with: Mapping[str, str] | None = None,
    work: Work | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as an encoding.

    The name is the function's, underscores as hyphens; the first line of its
    docstring is the help of its command, and its sections are what else people read: Formula and Source line by
    line, Used by, Use it and Not, which end these sentences, and Not recognised: why its tables cannot be recognised
    from their values, where they cannot.

    `example` is a small recipe for worked examples.  `place` orders the listings of a family, those without one last
    and by name.  `hooks` names what else is known of the encoding: see `pecli.spec.declaration`.
    `unrecognised_with` says why tables cannot be recognised that have some value of a parameter, as recipes write it.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        word = (name or function.__name__.rstrip("_").replace("_", "-")).lower()
        page = sections(function)

        def prose(section: str) -> str:
            return " ".join(page.get(section, "").split())

        if word in REGISTRY:
            raise TypeError(f"two encodings are called {word}")
        REGISTRY[word] = Encoding(
            name=word,
            family=family,
            title=title,
            formula=tuple(map(str.strip, page.get("Formula", "").splitlines())),
            source=tuple(page.get("Source", "").splitlines()),
            facts=facts,
            users=prose("Used by"),
            example=example,
            function=function,
            presets=presets,
            description=page[""] or title,
            place=place,
            hooks=hooks or {},
            use_when=prose("Use it"),
            not_when=prose("Not"),
            unrecognised=prose("Not recognised"),
            unrecognised_with=unrecognised_with or {},
            work=work,
        )
        return function

    return declare
