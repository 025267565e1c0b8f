"""Report on a model's config.json: its tables, and which stacks make them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pecli.errors import BadFile, BadRecipe, PecliError
from pecli.models.config import load_config
from pecli.models.reader import of_layer, read_for
from pecli.models.reading import VERSION, ConfigReading, Key, LayerReading
from pecli.models.stack import TRANSFORMERS, Remedy, read_as, rule_text, stack_of
from pecli.models.stacks import STACKS
from pecli.numbers.printing import figure
from pecli.settings import notice
from pecli.spec.catalogue import find
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.tables.table import Table


@dataclass(frozen=True)
class Frequency:
    """One frequency of a table.

    Attributes
    ----------
    index : int
        Its pair.
    radians : float
        Radians per position.
    wavelength : float
        Positions per turn; infinite for a frequency of 0.
    turns : float or None
        Turns within the positions that the model declares, None where it declares none.
    ratio : float or None
        How many times larger the frequency before it is; None of the first, and where either is 0.
    """

    index: int
    radians: float
    wavelength: float
    turns: float | None
    ratio: float | None = None


@dataclass(frozen=True)
class LayerReport:
    """The encoding of one kind of layer, and its frequencies where it oscillates."""

    name: str
    encoding: str
    recipe: str
    layout: str
    pairing: str
    length: int | None
    first: int
    magnitude: float
    frequencies: tuple[Frequency, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ConfigReport:
    """Everything that ``pecli inspect config.json`` prints."""

    path: str
    model_type: str
    stack: str
    version: str
    layers: tuple[LayerReport, ...]
    used: tuple[Key, ...]
    ignored: tuple[Key, ...]
    warnings: tuple[str, ...]
    faults: tuple[str, ...]
    parts: tuple[ConfigReport, ...] = ()


def report(reading: ConfigReading) -> ConfigReport:
    """Return the report of a reading, kind of layer by kind of layer.

    Layers of one recipe stand together, by all their names.
    """
    names: dict[object, list[str]] = {}
    for name, layer in reading.layers.items():
        names.setdefault(layer.identity, []).append(name)
    layers = tuple(_layer(reading, ", ".join(group), group[0]) for group in names.values())
    return ConfigReport(
        reading.path, reading.model_type, reading.stack, reading.version, layers, reading.used, reading.ignored,
        reading.warnings, reading.faults, tuple(report(part) for part in reading.parts.values()),
    )  # fmt: skip


def _layer(reading: ConfigReading, name: str, key: str) -> LayerReport:
    layer = reading.layers[key]
    magnitude, notes = 1.0, layer.notes
    frequencies: tuple[Frequency, ...] = ()
    try:
        recipe = of_layer(reading, layer, {}).recipe
    except BadRecipe as error:  # a parameter that no config has, such as the grid of an image
        text = f"{layer.encoding}:" + ",".join(f"{option}={value}" for option, value in layer.params.items())
        needs, example, _ = str(error).partition("; for example ")
        usual = split_recipe(find(layer.encoding).example)[1]
        notes = (*notes, needs + (example and example + join_recipe(layer.encoding, {**usual, **layer.params})))
    else:
        recipe = recipe.of_length(layer.length or 1)  # what the whole table decides is, for a model, its length
        text, plan = recipe.short, recipe.plan
        if isinstance(plan, Waves):
            magnitude, frequencies = float(plan.magnitude), frequencies_of(plan, layer.length)
    return LayerReport(
        name, layer.encoding, text, layer.layout, layer.pairing, layer.length, layer.first, magnitude, frequencies,
        notes,
    )  # fmt: skip


def frequencies_of(plan: Waves, length: int | None = None) -> tuple[Frequency, ...]:
    """Return the frequencies of a plan with their ratios; turns are counted within `length` positions."""
    radians = [float(w) * (2 * math.pi if band.turns else 1) for band in plan.bands for w in band.frequencies]
    found = []
    for index, (before, now) in enumerate(zip([0.0, *radians], radians, strict=False)):
        wavelength = 2 * math.pi / abs(now) if now else math.inf
        turns = None if length is None else length * abs(now) / (2 * math.pi)
        found.append(Frequency(index, now, wavelength, turns, before / now if before and now else None))
    return tuple(found)


DEFAULT_LENGTH = 4096  # where the config declares none
SAMPLES = 64  # positions at which tables are compared, beside the first ones


@dataclass(frozen=True)
class StackRow:
    """Comparison of one stack's table with transformers' table.

    Attributes
    ----------
    stack, version : str
        Whose, and of which release or commit.
    run : bool
        Whether the stack's code was run for its rules, and not only read.
    recipe : str or None
        What it computes; None where it makes no table.
    equal : bool
        Whether frequencies and magnitude equal those of transformers.
    frequencies : float or None
        Largest relative difference of a frequency; None where widths differ or there is no table.
    magnitude : float or None
        What multiplies cos and sin.
    values : float or None
        Largest difference of a cos or sin over the sampled positions.
    keys, differences, sources : tuple of str
        Keys that decide, differences of the stack, and their sources.
    remedies : tuple of Remedy
        Changes of the config with which it may agree.
    remarks : tuple of str
        What else is known of such a config there.
    trouble : str
        Why there is no table, if there is none.
    known : bool
        Whether anything is known of such a table there.
    """

    stack: str
    version: str
    run: bool = True
    recipe: str | None = None
    equal: bool = False
    frequencies: float | None = None
    magnitude: float | None = None
    values: float | None = None
    keys: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    remarks: tuple[str, ...] = ()
    trouble: str = ""
    known: bool = True


@dataclass(frozen=True)
class Advice:
    """Advice about the stacks that differ.

    Attributes
    ----------
    text : str
        One sentence.
    change : str
        What to change in the config, "" where nothing in it helps.
    agree : int
        How many of the stacks of which anything is known then make one table.
    """

    text: str
    change: str
    agree: int


def compare_stacks(path: str, layer_type: str | None = None) -> Mapping[str, tuple[StackRow, ...]]:
    """Return the rows of every stack, by kind of layer; kinds of one recipe once.

    Raises
    ------
    PecliError
        If no stack can read the config, or it has no such kind of layer.
    """
    readings = _readings(load_config(path), path)
    for text in {text: None for one in readings.values() if isinstance(one, ConfigReading) for text in one.misspelled}:
        notice(f"warning: {path}: {text}")
    return _compared(readings, path, layer_type)


def _readings(data: Mapping[str, Any], path: str) -> dict[str, ConfigReading | PecliError]:
    """Return every stack's reading of a config, or why it has none."""
    readings: dict[str, ConfigReading | PecliError] = {}
    for name in STACKS:
        try:
            readings[name] = read_for(data, path, name)
        except PecliError as error:
            readings[name] = error
    return readings


def _compared(
    readings: Mapping[str, ConfigReading | PecliError], path: str, layer_type: str | None
) -> dict[str, tuple[StackRow, ...]]:
    first = next((one for one in readings.values() if isinstance(one, ConfigReading)), None)
    if first is None:
        refusal = readings[TRANSFORMERS]
        raise refusal if isinstance(refusal, PecliError) else BadFile(path, "is read by no stack")
    layers = {layer_type: first.select(layer_type)} if layer_type else dict(first.layers)
    kinds: dict[object, str] = {}
    for name, layer in layers.items():
        kinds.setdefault(layer.identity, name)
    return {kind: _rows(layers[kind], kind, readings) for kind in kinds.values() if layers[kind].encoding != "none"}


def _rows(layer: LayerReading, kind: str, readings: Mapping[str, ConfigReading | PecliError]) -> tuple[StackRow, ...]:
    length = layer.length or DEFAULT_LENGTH
    refusal = readings[TRANSFORMERS]
    own: Recipe | None = None
    if isinstance(refusal, PecliError):
        rows = [StackRow(TRANSFORMERS, VERSION, trouble=str(refusal))]
    else:
        own = _resolved(layer.encoding, layer.params, length)
        rows = [_stack_row(StackRow(TRANSFORMERS, VERSION), own, own, length)]
    for name, reading in readings.items():
        if name == TRANSFORMERS or not (stack := stack_of(name)).knows(layer.written.model):
            continue
        if isinstance(reading, PecliError):
            rows.append(StackRow(name, stack.version.split()[0], stack.run, trouble=f"refused: {reading}"))
        else:
            rows.append(_row(name, reading.layers.get(kind, layer), own, length))
    return tuple(rows)


def _resolved(encoding: str, params: Mapping[str, str], length: int) -> Recipe:
    return Recipe.bind(encoding, **params).of_length(length)


def _row(name: str, layer: LayerReading, own: Recipe | None, length: int) -> StackRow:
    stack, reading = stack_of(name), read_as(layer, name)
    rules = reading.differences
    row = StackRow(
        name, reading.version, stack.run, keys=tuple(rule.key for rule in rules),
        differences=tuple(rule.text for rule in rules), sources=tuple(rule.source for rule in rules),
        remedies=tuple(remedy for rule in rules for remedy in rule.remedies),
        remarks=tuple(rule_text(rule, name, reading.version, stack) for rule in reading.remarks),
    )  # fmt: skip
    if reading.params is None:
        return replace(row, trouble=f"{rules[-1].text}: {rules[-1].error}", known=rules[-1].error != "not known")
    try:
        return _stack_row(row, _resolved(layer.encoding, reading.params, length), own, length)
    except PecliError as error:
        return replace(row, trouble=str(error))


def _stack_row(row: StackRow, recipe: Recipe, own: Recipe | None, length: int) -> StackRow:
    """Return the row completed by comparing the recipe's table with transformers' table."""
    row = replace(row, recipe=recipe.short)
    plan = recipe.plan
    base = own.plan if own is not None else None
    if not isinstance(plan, Waves) or (own is not None and not isinstance(base, Waves)):
        return replace(row, equal=recipe == own)
    magnitude = float(plan.magnitude)
    if own is None or not isinstance(base, Waves):
        return replace(row, magnitude=magnitude)
    if len(plan.frequencies) != len(base.frequencies):
        trouble = f"turns {len(plan.frequencies)} pairs where transformers turns {len(base.frequencies)}"
        return replace(row, magnitude=magnitude, trouble=trouble)
    pairs = zip(plan.frequencies, base.frequencies, strict=True)
    relative = max((abs(float((a - b) / b)) for a, b in pairs if b), default=0.0)
    same = plan.frequencies == base.frequencies and plan.magnitude == base.magnitude
    values = 0.0 if same else _difference(recipe, own, length)
    return replace(row, equal=same, frequencies=relative, magnitude=magnitude, values=values)


def _difference(recipe: Recipe, own: Recipe, length: int) -> float:
    """Return the largest difference of a cos or sin at positions over the whole length."""
    over_all = np.linspace(0, length - 1, SAMPLES).astype(int)
    spread = np.unique(np.concatenate([np.arange(min(length, SAMPLES)), over_all]))
    positions = "+".join(map(str, spread))
    actual, expected = (Table.make(one, positions=positions, dtype="float64") for one in (recipe, own))
    names = zip(actual.arrays, expected.arrays, strict=True)
    return max(float(np.abs(actual.read(a.name) - expected.read(b.name)).max()) for a, b in names)


def advise(path: str, kind: str, rows: tuple[StackRow, ...]) -> Advice:
    """Return one sentence of advice: the difference, its size, and the change that makes most stacks agree.

    Every change that a rule names is tried: the config is read again with it, by every stack.
    """
    own, others = rows[0], [row for row in rows[1:] if row.known]
    agree = sum(row.equal for row in (own, *others))
    if own.recipe is None:
        refusal = own.trouble.rstrip("?.") + "."
        return Advice(f"transformers makes no table of this config: {refusal}", "", agree)
    apart = [row for row in others if not row.equal]
    if not apart:
        return Advice(f"All {agree} stacks that are known to make this table agree.", "", agree)
    tried: list[tuple[int, Remedy, StackRow]] = []
    for remedy in dict.fromkeys(remedy for row in apart for remedy in row.remedies):
        try:
            then = _compared(_readings(remedy.applied(load_config(path)), path), path, kind)[kind]
        except (PecliError, KeyError):  # refused with this change, or the kinds of layers are others
            continue
        tried.append((sum(row.equal for row in then), remedy, then[0]))
    best = max(tried, key=lambda one: one[0], default=None)
    if best is None or best[0] <= agree:
        return Advice(f"{_said(apart, own)}; no single change of the config makes more of them agree.", "", agree)
    count, remedy, then_own = best
    meant = [row for row in apart if remedy in row.remedies]
    of = f"{count} of {len(others) + 1} stacks" if count <= len(others) else f"all {count} stacks"
    text = f"{_said(meant, own)}; {remedy.text} and {of} make one table"
    if then_own.recipe != own.recipe:
        text += f", which is not the model's own any more: {_figure(then_own, own) or then_own.recipe}"
    return Advice(f"{text}.", remedy.text, count)


def _said(rows: list[StackRow], own: StackRow) -> str:
    """Return the difference of the first stack in words, with its size, and the names of the others."""
    one = rows[0]
    text = one.differences[-1].partition(":")[0] if one.differences else one.trouble
    names = ", ".join(stack_of(row.stack).title for row in rows[1:])
    others = f" ({' and '.join(names.rsplit(', ', 1))} differ{'s' * (len(rows) == 2)} too)" if names else ""
    return f"{stack_of(one.stack).title} {one.version} {text}: {_figure(one, own)}{others}"


def _figure(row: StackRow, own: StackRow) -> str:
    if row.recipe is None:
        done = row.differences[-1] if row.differences else ""
        return f"it makes no table ({row.trouble.removeprefix(f'{done}: ')})"
    if row.magnitude is not None and own.magnitude is not None and row.magnitude != own.magnitude:
        return f"magnitude {figure(row.magnitude, 4)} instead of {figure(own.magnitude, 4)}"
    if not row.frequencies:
        return row.trouble
    if row.frequencies > 1:
        return f"a frequency {figure(1 + row.frequencies, 4)} times too high"
    return f"a frequency {figure(100 * row.frequencies, 3)} % off"
