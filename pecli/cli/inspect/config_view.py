"""Showing what a model's config says: for ``pecli inspect config.json``."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import Item, grid
from pecli.cli.terminal.output import clean

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
            width = max(len(key.name) for key in keys)
            items += [f"\n{title}", *(_wrapped(f"  {key.name:<{width}}  ", key.text) for key in keys)]
    for title, lines in (("Warnings", found.warnings), ("Faults of the stack that this table follows", found.faults)):
        if lines:
            items += [f"\n{title}", *(_wrapped("  ", line) for line in lines)]
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
        items.append(_wrapped("  ", f"{place}: {table.text}"))
    return [*items, "", *(_wrapped("", line) for line in found.otherwise)]


def _wrapped(lead: str, text: str) -> str:
    return textwrap.fill(clean(text), 80, initial_indent=clean(lead), subsequent_indent=" " * len(lead))


def _layer(layer: LayerReport) -> list[Item]:
    items: list[Item] = [f"\nLayers: {layer.name}", _wrapped("  recipe     ", layer.recipe)]
    if layer.layout:
        items.append(f"  layout     {layer.layout} (pairs: {layer.pairing})")
    if layer.length is not None:
        items.append(f"  positions  {layer.length}" + (f", the first token at {layer.first}" if layer.first else ""))
    if layer.magnitude != 1:
        items.append(f"  magnitude  {layer.magnitude!r}, on cos and sin")
    items += [_wrapped("  note       ", note) for note in layer.notes]
    if layer.frequencies:
        rows = [_cells(f) for f in layer.frequencies]
        if len(rows) > SHOWN:
            rows[SHOWN // 2 : -SHOWN // 2] = [["…", "", "", ""]]
        items.append(grid([(word, "right") for word in ("pair", "radians/position", "wavelength", "turns seen")], rows))
    return items


def _cells(found: Frequency) -> list[str]:
    turns = "" if found.turns is None else f"{found.turns:.4g}"
    return [str(found.index), f"{found.radians:.9g}", f"{found.wavelength:.6g}", turns]
