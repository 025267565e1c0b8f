"""What a model's config says of its positions, key by key."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pecli.declare.plan import Waves
from pecli.errors import BadRecipe
from pecli.models.reading import ConfigReading, Key
from pecli.sources.configs import of_layer


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
        notes = (*notes, str(error))
    else:
        length = layer.length or 1  # what the whole table decides is, for a model, the length it declares
        recipe = recipe.resolve(length=length, last=length - 1, whole=True)
        text, plan = recipe.short, recipe.plan
        if isinstance(plan, Waves):
            magnitude, frequencies = float(plan.magnitude), frequencies_of(plan, layer.length)
    return LayerReport(
        name, layer.encoding, text, layer.layout, layer.pairing, layer.length, layer.first, magnitude, frequencies,
        notes,
    )  # fmt: skip


def frequencies_of(plan: Waves, length: int | None = None) -> tuple[Frequency, ...]:
    """Return the frequencies of what oscillates, each beside the one before it; turns within `length` positions."""
    radians = [float(w) * (2 * math.pi if band.turns else 1) for band in plan.bands for w in band.frequencies]
    found = []
    for index, (before, now) in enumerate(zip([0.0, *radians], radians, strict=False)):
        wavelength = 2 * math.pi / abs(now) if now else math.inf
        turns = None if length is None else length * abs(now) / (2 * math.pi)
        found.append(Frequency(index, now, wavelength, turns, before / now if before and now else None))
    return tuple(found)
