"""How other stacks read the same config, where they differ on purpose or by fault.

A stack that is known to have a scaling, and of which no rule is known, reads
it as transformers does; of what it is not known to have, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pecli.errors import BadFile, UnknownName
from pecli.models.reading import VERSION, ConfigReading, LayerReading, Params
from pecli.models.stack import HOLDERS, Rule, Stack
from pecli.models.stacks import STACKS, stack_of

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
    """Return what is to be said where a stack is not known to have such a table."""
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
    """Return what another encoding of the same keys has beside a layer's own parameters."""
    return {name: text for name, text in params.items() if name not in own}


def renamed(data: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return a config whose old rope types, which transformers refuses, are called by what they mean to a stack.

    The old word stays as ``type``, for rules that hang on it.
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
