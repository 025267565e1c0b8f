"""Stacks: rules about how they read a config differently from transformers, and the readings that follow.

A rule may have remedies, changes of the config with which both agree.  A stack that is known to have a scaling, and of
which no rule is known, reads it as transformers does; scalings it is not known to have are reported as not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Any

from pecli.errors import BadFile, UnknownName
from pecli.models import changes
from pecli.models.reading import ORIGINAL, VERSION, Change, ConfigReading, LayerReading, Params, RawConfig, Where
from pecli.models.stacks import MODULES, STACKS

HOLDERS = ("rope_scaling", "rope_parameters")

Config = dict[str, Any]


@dataclass(frozen=True)
class Remedy:
    """One change of a config; `text` is the instruction for it."""

    text: str
    change: Callable[[Config, Config], None]
    """Changes the keys of a part, and the dictionary of rope parameters within it, in place."""

    def applied(self, data: Mapping[str, Any]) -> Config:
        """Return a copy of a config with every part changed that has rope parameters."""
        found = {name: self.applied(value) if isinstance(value, dict) else value for name, value in data.items()}
        for name in HOLDERS:
            holder = found.get(name)
            if isinstance(holder, dict):
                kinds = [value for value in holder.values() if isinstance(value, dict)]
                for one in kinds or [holder]:
                    self.change(found, one)
                break
        return found


def leave(*names: str) -> Remedy:
    """Return the remedy of removing keys, inside and outside the rope parameters."""

    def change(part: Config, holder: Config) -> None:
        for name in names:
            holder.pop(name, None)
            part.pop(name, None)

    return Remedy(f"leave {' and '.join(names)} away", change)


def _betas(part: Config, holder: Config) -> None:
    holder.update({name: holder.get(name) or default for name, default in (("beta_fast", 32), ("beta_slow", 1))})


def _factor(part: Config, holder: Config) -> None:
    holder["factor"] = Decimal(f"{holder['factor']}.0") if isinstance(holder.get("factor"), int) else holder["factor"]


def _ratio(part: Config, holder: Config) -> None:
    length, original = part.get("max_position_embeddings"), part.get(ORIGINAL) or holder.get(ORIGINAL)
    if holder.get("factor") is None and isinstance(length, int) and isinstance(original or length, int):
        holder["factor"] = Decimal(length) / Decimal(original or length) + Decimal("0.0")


def _original(part: Config, holder: Config) -> None:
    holder[ORIGINAL] = part.get(ORIGINAL) or holder.get(ORIGINAL) or part.get("max_position_embeddings")


def _old_style(part: Config, holder: Config) -> None:
    found = part.get("rope_parameters")
    if isinstance(found, dict) and not any(isinstance(value, dict) for value in found.values()):
        del part["rope_parameters"]
        if "rope_theta" in found:
            part["rope_theta"] = found.pop("rope_theta")
        if "partial_rotary_factor" in found:
            part["partial_rotary_factor"] = found.pop("partial_rotary_factor")
        if found.get("rope_type", "default") != "default":
            part["rope_scaling"] = found


NO_ATTENTION_FACTOR = leave("attention_factor")
NO_MSCALE = leave("mscale", "mscale_all_dim")
NO_TRUNCATE = leave("truncate")
NO_SHARE = leave("partial_rotary_factor")
NO_FACTOR = leave("factor")
ONE_TYPE = leave("type")
BETAS = Remedy("write beta_fast and beta_slow out", _betas)
FLOAT_FACTOR = Remedy("write the factor with a decimal point", _factor)
GIVEN_FACTOR = Remedy(f"write the factor out: max_position_embeddings over {ORIGINAL}", _ratio)
INNER_ORIGINAL = Remedy(f"write {ORIGINAL} inside the rope parameters", _original)
OLD_STYLE = Remedy("write rope_theta and rope_scaling, the keys of transformers 4, for rope_parameters", _old_style)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One difference between a stack's and transformers' reading of a config.

    Parameters
    ----------
    scaling : str or tuple of str
        The scaling of the recipe that it concerns; () for any.
    key : str
        The key that decides.
    text : str
        What the stack does, to follow its name.
    source : str
        Where that was read.
    change : callable, optional
        Gives the recipe's parameters from those before it; without one the
        rule is a remark: it changes no table of this config.
    error : str
        What the stack raises, where it refuses the config.
    where : callable, optional
        Whether it concerns a config.
    remedies : tuple of Remedy
        Changes of the config with which the stack may agree.
    since, until : str
        First version that does so, first that no longer does; "" where that is not known.
    checked : str
        Version it was checked at, where that is not the stack's newest.
    """

    key: str
    text: str
    source: str
    scaling: str | tuple[str, ...] = ()
    change: Change | None = None
    error: str = ""
    where: Where | None = None
    remedies: tuple[Remedy, ...] = ()
    since: str = ""
    until: str = ""
    checked: str = ""

    def concerns(self, params: Params, written: RawConfig, version: str) -> bool:
        """Whether the rule applies to such a recipe, in this version."""
        scalings = (self.scaling,) if isinstance(self.scaling, str) else self.scaling
        if scalings and params.get("scaling", "none") not in scalings:
            return False
        if self.since and _numbers(version) < _numbers(self.since):
            return False
        if self.until and _numbers(version) >= _numbers(self.until):
            return False
        return self.where is None or self.where(written)


@dataclass(frozen=True, kw_only=True)
class Stack:
    """One stack: its rules, and what is known of it.

    Parameters
    ----------
    title : str
        Its own name for itself.
    version : str
        The newest version its rules were checked at: a release, or a commit with its date.
    rules : tuple of Rule
        How it departs from transformers.
    scalings : tuple of str
        Scalings that it is known to have, or to drop; others are reported as not known.
    encodings : tuple of str
        Encodings other than the rotary one that it is known to have.
    models : tuple of str
        Model types that its code knows; () for those of transformers.
    own_reader : bool
        Whether it reads the config itself, and not by transformers' config classes.
    words : mapping of str to str
        Rope types that it takes and transformers does not, by what they mean.
    conversion : str
        How a config reaches a stack that does not read config.json itself.
    run : bool
        Whether its code was run for these rules, and not only read.
    """

    title: str
    version: str
    rules: tuple[Rule, ...]
    scalings: tuple[str, ...]
    encodings: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    own_reader: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    conversion: str = ""
    run: bool = True

    def knows(self, model: str) -> bool:
        """Whether the stack's code has such a model."""
        return not self.models or model in self.models

    def chosen(self, asked: str, name: str) -> str:
        """Return the version named after the @ of ``--stack``; "" means the newest.

        Raises
        ------
        UnknownName
            For a version that nothing is known of: a newer one, or another commit.
        """
        newest = self.version.split()[0]
        if asked in ("", newest):
            return newest
        if not (_RELEASE.fullmatch(asked) and _RELEASE.fullmatch(newest)) or _numbers(asked) > _numbers(newest):
            raise UnknownName(f"version of {name}", asked, [self.version])
        return asked


@cache
def stack_of(name: str) -> Stack:
    """Return a stack by its name; transformers, which the others are measured by, is none."""
    found: Stack = import_module(f"pecli.models.stacks.{MODULES[name]}").STACKS[name]
    return found


TRANSFORMERS = "transformers"
SCALED = ("linear", "dynamic", "yarn", "longrope", "llama3")  # the rope types of transformers 4
EVERY = (*SCALED, "ntk", "proportional")
_RELEASE = re.compile(r"\d+(\.\d+)*")


def _numbers(version: str) -> tuple[int, ...]:
    """Return a release as numbers, without its last zeros: 0.30 is 0.30.0."""
    numbers = [int(part) for part in version.split(".")] if _RELEASE.fullmatch(version) else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


# ----- rules that several stacks have in the same words

NONE_TIMES = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'"
Scalings = str | tuple[str, ...]


def null_betas(source: str, error: str = NONE_TIMES, where: Where | None = None) -> Rule:
    """Return the refusal of a beta that is null, which transformers takes for the default."""
    null = changes.null("beta_fast", "beta_slow")
    return Rule(
        key="beta_fast", text="reckons with a beta that is null", source=source, scaling="yarn", error=error,
        where=changes.both(null, where) if where else null, remedies=(BETAS,),
    )  # fmt: skip


def null_factor(source: str, where: Where | None = None) -> Rule:
    """Return the refusal of a factor that is null, which transformers takes for the ratio of the lengths."""
    null = changes.null("factor")
    return Rule(
        key="factor", text="takes no factor that is null", source=source, scaling="yarn", error="TypeError",
        where=changes.both(null, where) if where else null, remedies=(GIVEN_FACTOR,),
    )  # fmt: skip


def whole_factor(source: str) -> Rule:
    """Return the refusal of a linear factor without a decimal point."""
    return Rule(
        key="factor", text="takes no whole number as a factor: only a float becomes a list", source=source,
        scaling="linear", error="TypeError: 'int' object is not iterable", where=changes.whole_factor,
        remedies=(FLOAT_FACTOR,),
    )  # fmt: skip


def inner_original(source: str, scaling: Scalings, where: Where | None = None) -> Rule:
    """Return the rule that the inner original length is preferred; transformers prefers the top-level one."""
    text = "takes the original length inside the scaling before the one at the top level"
    return Rule(
        key=ORIGINAL, text=text, source=source, scaling=scaling, change=changes.inner_original, where=where,
        remedies=(INNER_ORIGINAL,),
    )  # fmt: skip


def absent_original(length: int, source: str, scaling: Scalings, where: Where = changes.no_original) -> Rule:
    """Return a default for an original length that is absent, where transformers takes max_position_embeddings."""
    text = f"takes {length} for an original length that is absent where it looks"
    return Rule(
        key=ORIGINAL, text=text, source=source, scaling=scaling, where=where,
        change=changes.giving(original_max=str(length)), remedies=(INNER_ORIGINAL,),
    )  # fmt: skip


def ratio(source: str, where: Where | None = None) -> Rule:
    """Return DeepSeek's magnitude for every config."""
    text = "reads no attention_factor, and scales by mscale over mscale_all_dim, with 1 and 0 for what is absent"
    return Rule(
        key="attention_factor", text=text, source=source, scaling="yarn", change=changes.ratio, where=where,
        remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
    )  # fmt: skip


def whole_ends(source: str, where: Where | None = None) -> Rule:
    """Return a ramp between whole indices."""
    text = "rounds the ends of the ramp to whole indices, whatever truncate says"
    return Rule(
        key="truncate", text=text, source=source, scaling="yarn", change=changes.whole_ends, where=where,
        remedies=(NO_TRUNCATE,),
    )  # fmt: skip


def honoured_share(source: str, scaling: Scalings = "none", where: Where | None = None) -> Rule:
    """Return a rotating share that every model honours."""
    return Rule(
        key="partial_rotary_factor", text="rotates the given share of a head for every model", source=source,
        scaling=scaling, change=changes.honoured_share, where=where, remedies=(NO_SHARE,),
    )  # fmt: skip


TYPES = ("rope_type", "type")


@dataclass(frozen=True)
class StackReading:
    """One stack's reading of one kind of layer.

    Parameters
    ----------
    stack, version : str
        Whose, and of which release or commit.
    run : bool
        Whether the stack's code was run for its rules, and not only read.
    encoding : str
        The encoding.
    params : mapping of str to str, optional
        The recipe's parameters; None where the stack makes no table.
    differences : tuple of Rule
        The rules by which it departs from transformers.
    remarks : tuple of Rule
        What else is known of such a config there.
    """

    stack: str
    version: str
    run: bool
    encoding: str
    params: Params | None
    differences: tuple[Rule, ...] = field(default=())
    remarks: tuple[Rule, ...] = field(default=())


def split(word: str) -> tuple[str, str]:
    """Return the stack and the version of ``--stack NAME[@VERSION]``; "" for the newest that is known.

    Raises
    ------
    UnknownName
        For a stack, or a version of it, that is not known.
    """
    given, _, version = word.partition("@")
    name = given.lower()
    if name not in STACKS:
        raise UnknownName("stack", given, STACKS)
    if name != STACKS[0]:
        return name, stack_of(name).chosen(version, name)
    if version not in ("", VERSION):
        raise UnknownName("version of transformers", version, [VERSION])
    return name, VERSION


def read_as(layer: LayerReading, name: str, version: str = "") -> StackReading:
    """Return one stack's reading of a kind of layer.

    A rule that changes nothing here is no difference.
    """
    stack = stack_of(name)
    version = stack.chosen(version, name)
    params: Params = layer.params
    found: list[Rule] = []
    remarks: list[Rule] = []
    blank = StackReading(name, version, stack.run, layer.encoding, None)
    for rule in stack.rules if layer.encoding == "rope" else ():
        if not rule.concerns(params, layer.written, version):
            continue
        if rule.error:
            return replace(blank, differences=(*found, rule), remarks=tuple(remarks))
        changed = rule.change(params, layer.written) if rule.change else params
        if rule.change is None:
            remarks.append(rule)
        elif dict(changed) != dict(params):
            found.append(rule)
            params = changed
    missing = _undocumented(layer, stack)
    if missing is not None:
        return replace(blank, differences=(missing,))
    return replace(blank, params=params, differences=tuple(found), remarks=tuple(remarks))


def _undocumented(layer: LayerReading, stack: Stack) -> Rule | None:
    """Return a rule for an unknown outcome where a stack is not known to have such a table."""
    if layer.encoding == "none":
        return None
    if layer.encoding != "rope":
        known, key, what = layer.encoding in stack.encodings, "model_type", layer.encoding
    elif not stack.knows(layer.written.model):
        known, key, what = False, "model_type", f"model of type {layer.written.model}"
    else:
        scaling = layer.params.get("scaling", "none")
        known, key, what = scaling in stack.scalings, "rope_type", f"{scaling} scaling"
    text = f"documents no {what}: whether and how it makes this table is not known"
    return None if known else Rule(key=key, text=text, source="no public source shows it", error="not known")


def rule_text(rule: Rule, name: str, version: str, stack: Stack) -> str:
    """Return a rule as a sentence: whose, what, since when, where that was read."""
    places = [rule.source]
    if rule.since or rule.until:
        bounds = (rule.since and f"since {rule.since}", rule.until and f"until {rule.until}")
        places.append(" ".join(filter(None, bounds)))
    checked = rule.checked or stack.version.split()[0]
    if checked != version:
        places.append(f"checked at {checked}")
    if not stack.run:
        places.append("read, not run")
    refusal = f": {rule.error}" if rule.error else ""
    return f"{name} {version} {rule.text}{refusal} ({'; '.join(places)})"


def as_stack(reading: ConfigReading, word: str) -> ConfigReading:
    """Return a config's reading as another stack's, with its departures as notes.

    Raises
    ------
    BadFile
        If the stack makes no table of a kind of layer.
    """
    name, version = split(word)
    stack = stack_of(name)
    layers = {}
    for kind, layer in reading.layers.items():
        other = read_as(layer, name, version)
        notes = tuple(rule_text(rule, name, version, stack) for rule in (*other.differences, *other.remarks))
        if other.params is None:
            last = rule_text(other.differences[-1], name, version, stack)
            raise BadFile(reading.path, f"has no table in {name}: {last}")
        also = {word: {**_beyond(more, layer.params), **other.params} for word, more in layer.also.items()}
        layers[kind] = replace(layer, params=other.params, also=also, notes=(*layer.notes, *notes))
    known = "" if stack.run else ", whose code was read, not run"
    through = f"; a config reaches it by {stack.conversion}" if stack.conversion else ""
    whose = f"this is the table of {stack.title} {version}{known}{through}"
    warnings = (whose, *reading.warnings)
    return replace(reading, layers=layers, stack=name, version=version, warnings=warnings)


def _beyond(params: Params, own: Params) -> dict[str, str]:
    """Return the parameters of another encoding of the same keys that the layer's own lack."""
    return {name: text for name, text in params.items() if name not in own}


def renamed(data: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return a config whose old rope types, refused by transformers, are translated by `words`.

    The old word stays as ``type``, for rules that depend on it.
    """

    def holder(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        word = next((value[name] for name in TYPES if name in value), None)
        return {**value, "type": word, "rope_type": words[word]} if isinstance(word, str) and word in words else value

    found: dict[str, Any] = {}
    for name, value in data.items():
        inner = renamed(value, words) if isinstance(value, dict) and name not in HOLDERS else value
        found[name] = holder(inner) if name in HOLDERS else inner
    return found
