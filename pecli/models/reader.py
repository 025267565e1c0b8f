"""config.json -> Reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pecli.models.families import Family, rotary_family
from pecli.models.keys import Keys, load_config
from pecli.models.notes import Notes
from pecli.models.reading import Reading
from pecli.models.rotary import rotary_layers


def read_config(path: str | Path, *, layer_type: str | None = None, stack: str = "transformers") -> Reading:
    data = load_config(path)
    return read_keys(data, path)


def read_keys(data: dict[str, Any], path: str | Path, where: str = "") -> Reading:
    model_type = str(data.get("model_type") or "")
    notes = Notes()
    family = rotary_family(model_type)
    if family is None:
        family = Family(model_type, honours=True)
    keys = Keys(data, path, family.names, where)
    layers = rotary_layers(keys, family, notes)
    used, ignored = notes.keys()
    return Reading(str(path), model_type, layers, "", {}, used, ignored, tuple(notes.warnings), tuple(notes.faults))
