"""Stacks: rules about how they read a config differently from transformers, and the readings that follow.

A rule may have remedies, changes of the config with which both agree.  A stack that is known to have a scaling, and of
which no rule is known, reads it as transformers does; scalings it is not known to have are reported as not known.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from pecli.errors import BadFile, UnknownName
from pecli.models import changes
from pecli.models.families import DATA
from pecli.models.reading import ORIGINAL, VERSION, Change, ConfigReading, LayerReading, Params, RawConfig, Where
from pecli.models.stacks import STACKS

HOLDERS = ("rope_scaling", "rope_parameters")

Config = dict[str, Any]


@dataclass(frozen=True)
class Remedy:
    """One change of a config; `text` is the instruction for it."""

    text: str
    # Changes the keys of a part, and the dictionary of rope parameters within it, in place.
    change: Callable[[Config, Config], None]

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
        part.update({name: found.pop(name) for name in ("rope_theta", "partial_rotary_factor") if name in found})
        if found.get("rope_type", "default") != "default":
            part["rope_scaling"] = found


REMEDIES = {
    "no_attention_factor": leave("attention_factor"),
    "no_mscale": leave("mscale", "mscale_all_dim"),
    "no_truncate": leave("truncate"),
    "no_share": leave("partial_rotary_factor"),
    "no_factor": leave("factor"),
    "one_type": leave("type"),
    "betas": Remedy("write beta_fast and beta_slow out", _betas),
    "float_factor": Remedy("write the factor with a decimal point", _factor),
    "given_factor": Remedy(f"write the factor out: max_position_embeddings over {ORIGINAL}", _ratio),
    "inner_original": Remedy(f"write {ORIGINAL} inside the rope parameters", _original),
    "old_style": Remedy(
        "write rope_theta and rope_scaling, the keys of transformers 4, for rope_parameters", _old_style
    ),
}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One difference between a stack's and transformers' reading of a config.

    Parameters
    ----------
    scaling : tuple of str
        The scalings of the recipe that it concerns; () for any.
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
    scaling: tuple[str, ...] = ()
    change: Change | None = None
    error: str = ""
    where: Where | None = None
    remedies: tuple[Remedy, ...] = ()
    since: str = ""
    until: str = ""
    checked: str = ""

    def concerns(self, params: Params, written: RawConfig, version: str) -> bool:
        """Whether the rule applies to such a recipe, in this version."""
        if self.scaling and params.get("scaling", "none") not in self.scaling:
            return False
        numbers = _numbers(version)
        if numbers < _numbers(self.since) or (self.until and numbers >= _numbers(self.until)):
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
    """Return a stack by its name, from its file; transformers, which the others are measured by, has none."""
    data = _toml(f"stacks/{name}.toml")
    for key in ("scalings", "encodings", "models"):
        data[key] = _words(data.get(key, ""))
    return Stack(**{**data, "rules": tuple(map(_rule, data["rules"]))})


def _rule(entry: dict[str, Any]) -> Rule:
    """Return a rule of a file; ``like`` names one of common_rules.toml that it completes."""
    common = _toml("common_rules.toml")[entry.pop("like")] if "like" in entry else {}
    conditions = [_condition(text) for one in (common, entry) for text in _listed(one.get("where", ()))]
    fields = {**common, **entry}
    found = [_function(text) for text in _listed(fields.get("change", ()))]
    fields.update(
        scaling=_words(fields.get("scaling", "")), change=changes.after(*found) if found else None,
        where=(lambda written: all(holds(written) for holds in conditions)) if conditions else None,
        remedies=tuple(REMEDIES[text] for text in _listed(fields.get("remedies", ()))),
    )  # fmt: skip
    return Rule(**fields)


@cache
def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def _words(text: str) -> tuple[str, ...]:
    """Return words, with ``every`` and ``scaled`` written out."""
    return tuple(name for word in text.split() for name in {"every": EVERY, "scaled": SCALED}.get(word, (word,)))


def _function(text: str) -> Any:
    """Return the function of `pecli.models.changes` that a text names, called with the words behind its name."""
    name, *words = text.split()
    found = getattr(changes, name)
    return found(*words) if words else found


def _condition(text: str) -> Where:
    holds: Where = _function(text.removeprefix("not "))
    return (lambda written: not holds(written)) if text.startswith("not ") else holds


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


class StackReading(NamedTuple):
    """One stack's reading of one kind of layer.

    Parameters
    ----------
    version : str
        Of which release or commit.
    params : mapping of str to str, optional
        The recipe's parameters; None where the stack makes no table.
    differences : tuple of Rule
        The rules by which it departs from transformers.
    remarks : tuple of Rule
        What else is known of such a config there.
    """

    version: str
    params: Params | None = None
    differences: tuple[Rule, ...] = ()
    remarks: tuple[Rule, ...] = ()


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
    for rule in stack.rules if layer.encoding == "rope" else ():
        if not rule.concerns(params, layer.written, version):
            continue
        if rule.error:
            return StackReading(version, None, (*found, rule), tuple(remarks))
        if rule.change is None:
            remarks.append(rule)
        elif dict(changed := rule.change(params, layer.written)) != dict(params):
            found.append(rule)
            params = changed
    missing = _undocumented(layer, stack)
    if missing is not None:
        return StackReading(version, None, (missing,))
    return StackReading(version, params, tuple(found), tuple(remarks))


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
        also = {word: {**changes.without(more, *layer.params), **other.params} for word, more in layer.also.items()}
        layers[kind] = replace(layer, params=other.params, also=also, notes=(*layer.notes, *notes))
    known = "" if stack.run else ", whose code was read, not run"
    through = f"; a config reaches it by {stack.conversion}" if stack.conversion else ""
    whose = f"this is the table of {stack.title} {version}{known}{through}"
    warnings = (whose, *reading.warnings)
    return replace(reading, layers=layers, stack=name, version=version, warnings=warnings)


def renamed(data: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return a config whose old rope types, refused by transformers, are translated by `words`.

    The old word stays as ``type``, for rules that depend on it.
    """
    found = {name: renamed(value, words) if isinstance(value, dict) else value for name, value in data.items()}
    for name in HOLDERS:
        holder = found.get(name)
        if isinstance(holder, dict) and (word := changes.type_of(holder)) in words:
            found[name] = {**holder, "type": word, "rope_type": words[word]}
    return found
