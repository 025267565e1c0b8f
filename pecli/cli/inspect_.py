"""``pecli inspect SOURCE``: what a table holds, where it comes from, and whether it is right."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pecli.cli.options import Json, LayerType, Quiet, Stack, flag_option, text_option
from pecli.cli.output import print_json
from pecli.errors import BadRecipe

DEFAULT_ROWS = 128

SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A file, file::name, - for standard input, or a recipe.")
]
Flag = flag_option


def command(
    source: SourceArgument,
    length: text_option("--len", "Rows of a recipe (default 128).", metavar="N") = None,  # type: ignore[valid-type]
    sha256: flag_option("--sha256", "Print the hash of the little-endian values.") = None,  # type: ignore[valid-type]
    layer_type: LayerType = None,
    stack: Stack = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what a table holds: arrays, recipe, statistics; identify it, verify it, draw it."""
    from pecli.analysis.inspection import inspect_table
    from pecli.analysis.preview import preview
    from pecli.analysis.sources import is_config, read_source

    if is_config(source):
        from pecli.cli.explain import explain

        return explain(source, layer_type=layer_type, stack=stack or "transformers", json=json)
    table = open_for_inspection(read_source(source), length=length)
    found = inspect_table(source, table, sha256=bool(sha256))
    if json:
        print_json(as_dict(found))
        return 0
    if not quiet:
        from pecli.cli.render import show_inspection

        show_inspection(found, preview(table))
    return 0


def open_for_inspection(source: Any, **options: Any) -> Any:
    """Open a source; a recipe that does not say its length gets a short one."""
    try:
        return source.open(**options)
    except BadRecipe:
        if not source.is_recipe or source.given.keys() & {"len", "positions"}:
            raise
        return source.open(**{**options, "length": DEFAULT_ROWS})


def as_dict(found: Any) -> dict[str, Any]:
    """Return what --json prints of an inspection."""
    arrays = [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in found.arrays]
    result = {
        "source": found.source,
        "format": found.format,
        "arrays": arrays,
        "recipe": found.recipe,
        "metadata": found.metadata,
        "statistics": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in found.statistics},
    }
    if found.slopes is not None:
        result["slopes"] = found.slopes
    return result
