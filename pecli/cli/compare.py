"""``pecli compare SOURCE SOURCE...``: how far tables are apart, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pecli.cli.options import Atol, Json, LayerType, Quiet, Rtol, Ulp
from pecli.cli.output import clean, print_json, say
from pecli.errors import BadParameter


def command(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Two sources or more.")],
    atol: Atol = None,
    rtol: Rtol = None,
    ulp: Ulp = None,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Of a model's config.json: which stacks agree, and on what it hangs.")
    ] = False,
    layer_type: LayerType = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare tables: how far they are apart, where, and why; status 1 where they differ."""
    from pecli.analysis.comparison import Tolerance, compare_tables
    from pecli.analysis.sources import read_source
    from pecli.text import parse_integer, parse_number

    if stacks:
        from pecli.cli.stacks_view import show_stacks

        if len(sources) != 1:
            raise BadParameter("stacks", len(sources), "is for one config.json: name it alone")
        return show_stacks(sources[0], layer_type=layer_type, json=json, quiet=quiet)
    if len(sources) != 2:
        raise BadParameter("SOURCE", len(sources), "must be two: give two files, or a file and a recipe")
    first, second = (read_source(text) for text in sources)
    tolerance = Tolerance(
        float(parse_number("atol", atol)) if atol else 0.0,
        float(parse_number("rtol", rtol)) if rtol else 0.0,
        parse_integer("ulp", ulp) if ulp else 0,
    )
    options: dict[str, Any] = {}
    if not first.is_recipe and second.is_recipe:
        opened = first.open()
        options = {"length": opened.arrays[0].rows} if "len" not in second.given else {}
        found = compare_tables(opened, second.open(**options), tolerance)
    elif first.is_recipe and not second.is_recipe:
        opened = second.open()
        options = {"length": opened.arrays[0].rows} if "len" not in first.given else {}
        found = compare_tables(first.open(**options), opened, tolerance)
    else:
        found = compare_tables(first.open(), second.open(), tolerance)
    if json:
        print_json(asdict(found))
    elif not quiet:
        say("equal" if found.equal else "different")
        say(f"max abs {found.max_abs:.17g}, mean abs {found.mean_abs:.17g}, worst {found.worst}")
        for line in found.findings:
            say(clean(line))
    return 0 if found.equal else 1
