"""What ``generate`` does with its options: make the table, then write, describe or print it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.cli.terminal.output import clean, print_json, tell
from pecli.cli.terminal.screen import whole_number
from pecli.cli.terminal.writing import Delivery, deliver, describe
from pecli.declare.encoding import Encoding
from pecli.errors import BadParameter
from pecli.numbers.text import shorten

if TYPE_CHECKING:
    from pecli.declare.tabular import Tabular
    from pecli.encodings.recipe import Recipe
    from pecli.models import LayerReading
    from pecli.tables.table import Table

Options = dict[str, Any]
LONGEST_LABEL = 240  # characters; a list of points may stand in a recipe


def produce(encoding: Encoding, own: Options, given: Options) -> int:
    """Make the table of an encoding, then write it, describe it, or print it; return the exit status."""
    table, label = _tables(encoding, own, given)
    if given["output"] is None and given["format"] is None:
        return _on_screen(table, label, given)
    for option in ("rows", "columns", "precision"):
        if given[option] is not None:
            raise BadParameter(option, given[option], "is for the screen: leave it out with -o or --format")
    return deliver(
        table,
        label,
        Delivery(
            given["output"] or "-",
            given["format"],
            threads=whole_number("threads", given["threads"], 1, 256),
            compress=bool(given["compress"]),
            wide=bool(given["wide"]),
            clobber=not given["no_clobber"],
            dry_run=bool(given["dry_run"]),
            json=bool(given["json"]),
            quiet=bool(given["quiet"]),
        ),
    )


def _tables(encoding: Encoding, own: Options, given: Options) -> tuple[Tabular, str]:
    """Return the table (of a config with several kinds of layers, all of them) and what to call it."""
    from pecli.encodings.recipe import Recipe

    if given["config"] is None:
        if given["layer_type"] is not None:
            raise BadParameter("layer-type", given["layer_type"], "has no effect without --config")
        if given["stack"] is not None:
            raise BadParameter("stack", given["stack"], "has no effect without --config")
        table = _table(Recipe.bind(encoding.name, **own), given, None)
        return table, shorten(table.label, LONGEST_LABEL)
    from pecli.declare.words import STACKS
    from pecli.sources.configs import configured, every_layer
    from pecli.tables.grouped import Grouped

    stack = given["stack"] or STACKS[0]
    if given["layer_type"] == "all":
        found = every_layer(given["config"], encoding.name, own, stack)
        reading = next(iter(found.values())).reading
        made: Tabular = Grouped({name: _table(one.recipe, given, one.layer) for name, one in found.items()})
        label = given["config"]
    else:
        one = configured(
            given["config"], encoding=encoding.name, given=own, layer_type=given["layer_type"], stack=stack
        )
        reading = one.reading
        table = _table(one.recipe, given, one.layer)
        made, label = table, table.label
    if not given["quiet"]:
        for warning in reading.warnings:
            tell(clean(f"pecli: warning: {warning}"))
    return made, label


def _table(recipe: Recipe, given: Options, layer: LayerReading | None) -> Table:
    """Return the table of a recipe at the positions and in the form that the options give."""
    from pecli.tables.table import Table

    length = given["len"]
    if length is None and layer is not None and given["positions"] is None:
        length = layer.length
    layout = given.get("layout")
    if layout == "model":
        if layer is None or not layer.layout:
            raise BadParameter("layout", layout, "is what a model's own module returns: it needs --config")
        layout = layer.layout
    return Table.make(
        recipe,
        length=length,
        start=given["start"],
        step=given["step"],
        positions=given["positions"],
        dtype=given["dtype"] or "float32",
        layout=layout,
        form=given.get("form"),
        shard=given["shard"],
        arithmetic=given.get("arithmetic") or "exact",
        queries=given.get("queries"),
        keys=given.get("keys"),
        align=given.get("align"),
    )


def _on_screen(table: Tabular, label: str, given: Options) -> int:
    """Print the table for a person, or as JSON its rounded head and tail."""
    from pecli.inspection.preview import preview

    for option in ("compress", "wide", "no_clobber", "threads"):
        if given[option]:
            value = "true" if given[option] is True else given[option]
            raise BadParameter(option.replace("_", "-"), value, "has no effect without -o")
    rows = whole_number("rows", given["rows"], 1, 1000) or 12
    columns = whole_number("columns", given["columns"], 1, 1000) or 8
    precision = whole_number("precision", given["precision"], 0, 17)
    precision = 4 if precision is None else precision
    if given["dry_run"]:
        return describe(table, label, None, None, None, json=bool(given["json"]), quiet=False)
    seen = preview(table, rows=rows, columns=columns)
    if given["json"]:
        arrays = [part.as_dict() for part in seen]
        size = sum(array.bytes for array in table.arrays)
        print_json(
            {"path": None, "format": None, "recipe": table.recipe, "arrays": arrays, "bytes": size, "seconds": None}
        )
        return 0
    from pecli.cli.terminal.render import show_preview

    show_preview(table, label, seen, precision)
    return 0
