"""Showing what a model's config says: for ``pecli inspect config.json``."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from pecli.cli.terminal.output import clean, print_json, say

if TYPE_CHECKING:
    from pecli.inspection.config_report import ConfigReport, LayerReport

SHOWN = 12  # frequencies of a layer that are printed; --json has all


def explain(path: str, *, layer_type: str | None = None, stack: str = "transformers", json: bool = False) -> int:
    """Print what a config says of its positions; return the exit status.

    Raises
    ------
    PecliError
        If it cannot be read, or is of a model without positions.
    """
    from pecli.inspection.config_report import report
    from pecli.models import read_config

    found = report(read_config(path, layer_type=layer_type, stack=stack))
    if json:
        print_json({"source": path, "format": "config", **asdict(found)})
        return 0
    _show(found, "")
    return 0


def _show(found: ConfigReport, part: str) -> None:
    name = f"{found.path}{part}: {found.model_type or 'no model_type'}, as {found.stack} reads it"
    say(clean(name))
    for layer in found.layers:
        _show_layer(layer, found.path)
    for title, keys in (("Keys used", found.used), ("Keys without effect", found.ignored)):
        if keys:
            say(f"\n{title}")
            width = max(len(key.name) for key in keys)
            for key in keys:
                say(_wrapped(f"  {key.name:<{width}}  ", key.text))
    for title, lines in (("Warnings", found.warnings), ("Faults of the stack that this table follows", found.faults)):
        if lines:
            say(f"\n{title}")
            for line in lines:
                say(_wrapped("  ", line))
    for inner in found.parts:
        say("")
        _show(inner, "")


def _wrapped(lead: str, text: str) -> str:
    return textwrap.fill(clean(text), 80, initial_indent=clean(lead), subsequent_indent=" " * len(lead))


def _show_layer(layer: LayerReport, path: str) -> None:
    say(f"\nLayers: {clean(layer.name)}")
    say(_wrapped("  recipe     ", layer.recipe))
    if layer.layout:
        say(f"  layout     {clean(layer.layout)} (pairs: {clean(layer.pairing)})")
    if layer.length is not None:
        say(f"  positions  {layer.length}" + (f", the first token at {layer.first}" if layer.first else ""))
    if layer.magnitude != 1:
        say(f"  magnitude  {layer.magnitude!r}, on cos and sin")
    for note in layer.notes:
        say(_wrapped("  note       ", note))
    if layer.frequencies:
        from pecli.cli.terminal.render import grid, show

        chosen = _chosen(len(layer.frequencies))
        rows = [
            ("…", "", "", "") if i is None else (
                str(i), f"{layer.frequencies[i].radians:.9g}", f"{layer.frequencies[i].wavelength:.6g}",
                "" if layer.frequencies[i].turns is None else f"{layer.frequencies[i].turns:.4g}",
            )
            for i in chosen
        ]  # fmt: skip
        heads = [(word, "right") for word in ("pair", "radians/position", "wavelength", "turns seen")]
        show(grid(heads, rows))


def _chosen(count: int) -> list[int | None]:
    if count <= SHOWN:
        return list(range(count))
    return [*range(SHOWN // 2), None, *range(count - SHOWN // 2, count)]
