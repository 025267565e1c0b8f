"""A model's config.json as a recipe: what the config gives, beneath what the user gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pecli.errors import BadFile
from pecli.models.reader import read_config
from pecli.models.reading import ConfigReading, LayerReading
from pecli.spec.recipe import Recipe


@dataclass(frozen=True)
class Configured:
    """A recipe that came from a config, and what else the config said.

    Attributes
    ----------
    recipe : Recipe
        The encoding with the config's parameters, and the user's over them.
    layer : LayerReading
        What the config says of this kind of layer: layout, length, first position.
    reading : ConfigReading
        Everything the config says: keys used and ignored, warnings.
    """

    recipe: Recipe
    layer: LayerReading
    reading: ConfigReading


def configured(
    path: str | Mapping[str, Any],
    *,
    encoding: str | None = None,
    given: Mapping[str, object] | None = None,
    layer_type: str | None = None,
    stack: str = "transformers",
) -> Configured:
    """Return the recipe of a model's config.

    Parameters
    ----------
    path : str or mapping
        The config.json, or what it holds.
    encoding : str, optional
        The encoding wanted; an error names the config's own where it is another.
    given : mapping, optional
        Parameters that win over the config's.
    layer_type : str, optional
        Which kind of layer, where they differ.
    stack : str
        Whose reading of the config.

    Raises
    ------
    BadFile, UnknownName, BadParameter
        If it is no config, is of a model without positions, or a value breaks a rule.
    """
    reading = read_config(path, stack=stack)
    return of_layer(reading, reading.select(layer_type, encoding), given or {})


def of_layer(reading: ConfigReading, layer: LayerReading, given: Mapping[str, object]) -> Configured:
    """Return the recipe of one kind of layer."""
    return Configured(Recipe.with_defaults(layer.encoding, given, layer.params), layer, reading)


def every_layer(
    path: str, encoding: str, given: Mapping[str, object], stack: str = "transformers"
) -> dict[str, Configured]:
    """Return the recipe of every kind of layer that has this encoding, by its name.

    Raises
    ------
    BadFile
        If no kind of layer has it.
    """
    reading = read_config(path, stack=stack)
    found = {name: layer.of(encoding) for name, layer in reading.layers.items()}
    made = {name: of_layer(reading, layer, given) for name, layer in found.items() if layer is not None}
    if not made:
        raise BadFile(path, f"has no {encoding} table in any kind of layer ({', '.join(reading.layers)})")
    return made
