"""Showing what a model's config says: for ``pecli inspect config.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, ScreenTable, grid

if TYPE_CHECKING:
    from pecli.inspection.checkpoint import Checkpoint
    from pecli.inspection.config_report import ConfigReport, Frequency, LayerReport

SHOWN = 12  # frequencies of a layer that are printed; --json has all


def explanation(found: ConfigReport) -> list[Item]:
    """Return what a config says: its layers, keys, warnings, and the models within it."""
    items: list[Item] = [
        f"{found.path}: {found.model_type or 'no model_type'}, as {found.stack} {found.version} reads it"
    ]
    for layer in found.layers:
        items += _layer(layer)
    for title, keys in (("Keys used", found.used), ("Keys without effect", found.ignored)):
        if keys:
            items += [f"\n{title}", grid([("key", LEFT), ("what it is", LEFT)], ((key.name, key.text) for key in keys))]
    for title, lines in (("Warnings", found.warnings), ("Faults of the stack that this table follows", found.faults)):
        if lines:
            items += [f"\n{title}", *(f"  {line}" for line in lines)]
    for inner in found.parts:
        items += ["", *explanation(inner)]
    return items


def checkpoint_view(found: Checkpoint) -> list[Item]:
    """Return what a checkpoint's folder holds: its config, the tables it stores, who reads the config otherwise."""
    items = explanation(found.config)
    items.append("\nStored tables" if found.tables else "\nNo table of positions is stored.")
    for table in found.tables:
        shape = " x ".join(map(str, table.shape))
        many = f", {table.count} of them" if table.count > 1 else ""
        place = f"{table.file}::{table.name} ({table.what}, {shape} {table.dtype}{many})"
        items.append(f"  {place}: {table.text}")
    return [*items, "", *found.otherwise]


def _layer(layer: LayerReport) -> list[Item]:
    items: list[Item] = [f"\nLayers: {layer.name}", Fact("recipe", layer.recipe)]
    if layer.layout:
        items.append(Fact("layout", f"{layer.layout} (pairs: {layer.pairing})"))
    if layer.length is not None:
        later = f", the first token at {layer.first}" if layer.first else ""
        items.append(Fact("positions", f"{layer.length}{later}"))
    if layer.magnitude != 1:
        items.append(Fact("magnitude", f"{layer.magnitude!r}, on cos and sin"))
    items += [Fact("note", note) for note in layer.notes]
    if layer.frequencies:
        items.append(frequencies_grid(layer.frequencies))
    return items


def frequencies_grid(found: Sequence[Frequency], most: int = SHOWN) -> ScreenTable:
    """Return a row for each frequency; of many, the first and the last."""
    rows = [[f.index, f.radians, f.wavelength, "" if f.turns is None else f.turns] for f in found]
    columns = [("pair", RIGHT), ("radians/position", 9), ("wavelength", 6), ("turns seen", 4)]
    made = grid(columns, rows)
    if len(rows) > most:
        made.rows[most // 2 : -most // 2] = [["…"] * len(columns)]
    return made
