"""What ``generate`` does with its options: make the table, then write, describe or print it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.cli.generate.options import TableOptions
from pecli.cli.options import refuse
from pecli.cli.terminal.items import preview_grid, shapes_text
from pecli.cli.terminal.output import clean, print_json, tell
from pecli.cli.terminal.screen import show
from pecli.cli.terminal.writing import deliver, describe, report
from pecli.errors import BadParameter
from pecli.numbers.decimals import shorten
from pecli.spec.declaration import Encoding

if TYPE_CHECKING:
    from pecli.models.reading import LayerReading
    from pecli.spec.recipe import Recipe
    from pecli.spec.tabular import Tabular
    from pecli.tables.table import Table

LONGEST_LABEL = 240  # characters; a list of points may stand in a recipe


def produce(encoding: Encoding, own: dict[str, Any], options: TableOptions) -> int:
    """Make the table of an encoding, then write it, describe it, or print it; return the exit status."""
    table, label = _tables(encoding, own, options)
    if options.output is None and options.format is None:
        refuse("has no effect without -o", options, "compress", "wide", "no_clobber", "threads")
        return _on_screen(table, label, options)
    refuse("is for the screen: leave it out with -o or --format", options, "rows", "columns", "precision")
    return deliver(table, label, options)


def _tables(encoding: Encoding, own: dict[str, Any], options: TableOptions) -> tuple[Tabular, str]:
    """Return the table (of a config with several kinds of layers, all of them) and what to call it."""
    from pecli.spec.recipe import Recipe

    if options.config is None:
        refuse("has no effect without --config", options, "layer_type", "stack")
        table = _table(Recipe.bind(encoding.name, **own), options, None)
        return table, shorten(table.label, LONGEST_LABEL)
    from pecli.models.stacks import STACKS
    from pecli.sources.configs import configured, every_layer
    from pecli.tables.grouped import Grouped

    stack = options.stack or STACKS[0]
    if options.layer_type == "all":
        found = every_layer(options.config, encoding.name, own, stack)
        reading = next(iter(found.values())).reading
        made: Tabular = Grouped({name: _table(one.recipe, options, one.layer) for name, one in found.items()})
        label = options.config
    else:
        one = configured(
            options.config, encoding=encoding.name, given=own, layer_type=options.layer_type, stack=stack
        )  # fmt: skip
        reading = one.reading
        table = _table(one.recipe, options, one.layer)
        made, label = table, table.label
        if one.layer.chosen and not options.silent:
            tell(f"pecli: {one.layer.chosen}")
    if not options.silent:
        for warning in reading.warnings:
            if warning in reading.misspelled:
                continue
            tell(clean(f"pecli: warning: {warning}"))
    return made, label


def _table(recipe: Recipe, options: TableOptions, layer: LayerReading | None) -> Table:
    """Return the table of a recipe at the positions and in the form that the options give."""
    from pecli.tables.table import Table

    length: Any = options.len
    if length is None and layer is not None and options.positions is None and recipe.rows is None:
        length = layer.length
    layout = options.layout
    if layout == "model":
        if layer is None or not layer.layout:
            raise BadParameter(
                "layout", layout, "is what a model's own module returns: it needs --config of one whose layout is known"
            )
        layout = layer.layout
    return Table.make(
        recipe,
        length=length,
        start=options.start,
        step=options.step,
        positions=options.positions,
        dtype=options.dtype or "float32",
        layout=layout,
        form=options.form,
        shard=options.shard,
        arithmetic=options.arithmetic or "exact",
        queries=options.queries,
        keys=options.keys,
        align=options.align,
        name=options.name,
        lead=options.lead,
        beside=options.beside,
    )


def _on_screen(table: Tabular, label: str, options: TableOptions) -> int:
    """Print the table for a person, or as JSON its rounded head and tail."""
    from pecli.inspect.statistics import preview

    if options.dry_run:
        return describe(table, label, options)
    seen = preview(table, rows=options.rows or 12, columns=options.columns or 8)
    if options.json:
        print_json(report(table, [part.as_dict() for part in seen]))
    else:
        show(f"{label}   {shapes_text(table.arrays)}", *map(preview_grid, seen))
    return 0
