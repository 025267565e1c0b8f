"""Showing what a model's config says, for ``pecli inspect config.json``; and the frequencies of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, ScreenTable, grid
from pecli.cli.terminal.output import print_json
from pecli.cli.terminal.screen import show
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.printing import between

if TYPE_CHECKING:
    from pecli.inspect.checkpoints import Checkpoint
    from pecli.inspect.configs import ConfigReport, Frequency, LayerReport
    from pecli.sources.sources import NamedSource

SHOWN = 12  # frequencies of a layer that are printed; --json has all
MOST_LAYERS, MOST_KEYS = 2, 16  # that a short answer shows


def brief(found: ConfigReport) -> list[Item]:
    """Return in few lines what a config says: its layers, the names of its keys, its warnings."""
    items: list[Item] = [_title(found)]
    for layer in found.layers[:MOST_LAYERS]:
        items += _layer(layer)
        if layer.frequencies:
            items.append(Fact("frequencies", _range(layer.frequencies)))
    if (more := len(found.layers) - MOST_LAYERS) > 0:
        items.append(f"and {more} more {'kind' if more == 1 else 'kinds'} of layers, with --all")
    for title, keys in (("keys used", found.used), ("no effect", found.ignored)):
        if keys:
            shown = ", ".join(key.name.rpartition(".")[2] for key in keys[:MOST_KEYS])
            items.append(Fact(title, shown + (f" and {len(keys) - MOST_KEYS} more" * (len(keys) > MOST_KEYS))))
    said = [*(Fact("warning", line) for line in found.warnings), *(Fact("fault", line) for line in found.faults)]
    items += said[:MOST_LAYERS]
    if (more := len(said) - MOST_LAYERS) > 0:
        items.append(f"and {more} more {'warning' if more == 1 else 'warnings'}, with --all")
    for inner in found.parts:
        items += ["", *(item for layer in inner.layers[:1] for item in [_title(inner), *_layer(layer)])]
    return items


def _title(found: ConfigReport) -> str:
    return f"{found.path}: {found.model_type or 'no model_type'}, as {found.stack} {found.version} reads it"


def _range(found: Sequence[Frequency]) -> str:
    """Return how many frequencies there are, and the longest and the shortest turn."""
    waves = [f.wavelength for f in found]
    return f"{len(found)}, one turn in {between(min(waves), max(waves), 4)} positions"


def explanation(found: ConfigReport, *, every: bool = False) -> list[Item]:
    """Return what a config says: its layers (with `every`, each frequency), keys, warnings, and the models within."""
    items: list[Item] = [_title(found)]
    for layer in found.layers:
        items += _layer(layer)
        if layer.frequencies:
            items.append(frequencies_grid(layer.frequencies, None if every else SHOWN))
    for title, keys in (("Keys used", found.used), ("Keys without effect", found.ignored)):
        if keys:
            items += [f"\n{title}", grid([("key", LEFT), ("what it is", LEFT)], ((key.name, key.text) for key in keys))]
    for title, lines in (("Warnings", found.warnings), ("Faults of the stack that this table follows", found.faults)):
        if lines:
            items += [f"\n{title}", *(f"  {line}" for line in lines)]
    for inner in found.parts:
        items += ["", *explanation(inner, every=every)]
    return items


def checkpoint_view(found: Checkpoint, *, short: bool = False) -> list[Item]:
    """Return what a checkpoint's folder holds: its config, the tables it stores, who reads the config otherwise."""
    items = (brief if short else explanation)(found.config)
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
    return items


def show_frequencies(source: NamedSource, length: int | None, *, json: bool) -> int:
    """Print every frequency of a recipe, its wavelength and its ratio to the one before; return 0.

    Raises
    ------
    BadParameter
        If it is no recipe, or one of what does not oscillate.
    """
    from pecli.inspect.configs import frequencies_of
    from pecli.spec.plans import Waves

    if source.recipe is None:
        raise BadParameter("frequencies", "true", "lists those of a recipe or a config: find one with --identify")
    if source.recipe.open_parameters and length is None:
        raise BadRecipe(f"{source.recipe.encoding.name} depends on the whole table: give len=N")
    rows = length or 1
    recipe = source.recipe.resolve(length=rows, last=rows - 1, whole=True)
    if not isinstance(recipe.plan, Waves):
        raise BadParameter("frequencies", "true", f"is for what oscillates, and {recipe.encoding.name} does not")
    found = frequencies_of(recipe.plan, length)
    magnitude = float(recipe.plan.magnitude)
    if json:
        listed = [asdict(one) for one in found]
        print_json({"source": source.text, "recipe": str(recipe), "magnitude": magnitude, "frequencies": listed})
    else:
        size = "" if magnitude == 1 else f", magnitude {magnitude!r} on cos and sin"
        show(f"{recipe.short}: {len(found)} frequencies{size}", frequencies_grid(found))
    return 0


def frequencies_grid(found: Sequence[Frequency], most: int | None = None) -> ScreenTable:
    """Return a row for each frequency; with `most`, the first and the last of more."""
    cells = [(f.index, f.radians, f.wavelength, f.ratio, f.turns) for f in found]
    heads = [("pair", RIGHT), ("radians/position", 9), ("wavelength", 6), ("ratio", 6), ("turns seen", 4)]
    used = [i for i, _ in enumerate(heads) if any(row[i] is not None for row in cells)]
    made = grid([heads[i] for i in used], [["" if row[i] is None else row[i] for i in used] for row in cells])
    if most is not None and len(cells) > most:
        made.rows[most // 2 : -most // 2] = [["…"] * len(used)]
    return made
