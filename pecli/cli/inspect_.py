"""``pecli inspect SOURCE``: what a table holds, where it comes from, and whether it is right."""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.options import Dtype, Json, Layout, LayerType, Quiet, Stack, flag_option, text_option
from pecli.words import PICTURES

LOOK, ASK, TABLE, SCREEN = "What to look for", "What to look at", "Of a recipe", "Screen"

SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A file, file::name, a folder of parts, -, or a recipe.")
]


def command(
    source: SourceArgument,
    identify: flag_option("--identify", "Find out what a table is from its values alone.", panel=LOOK) = None,  # type: ignore[valid-type]
    verify: flag_option("--verify", "Recompute every value from the recipe; status 1 if one differs.", panel=LOOK) = None,  # type: ignore[valid-type]
    recipe: text_option("--recipe", "What --verify recomputes, where the file does not say.", metavar="RECIPE", panel=LOOK) = None,  # type: ignore[valid-type]
    properties: flag_option("--properties", "Measure what the values show: bounds, distances, shifts.", panel=LOOK) = None,  # type: ignore[valid-type]
    steps: flag_option("--steps", "Work an example of a recipe, step by step.", panel=LOOK) = None,  # type: ignore[valid-type]
    sha256: flag_option("--sha256", "Print the hash of the little-endian values.", panel=LOOK) = None,  # type: ignore[valid-type]
    plot: text_option("--plot", "Draw to a file (.svg, .png), or - for the terminal.", metavar="PATH", panel=LOOK) = None,  # type: ignore[valid-type]
    picture: text_option("--picture", f"What to draw, joined with +: {', '.join(PICTURES)}.", metavar="WORD", panel=LOOK, words=PICTURES) = None,  # type: ignore[valid-type]
    length: text_option("--len", "Rows (default 128).", metavar="N", panel=TABLE) = None,  # type: ignore[valid-type]
    start: text_option("--start", "First position (default 0).", metavar="P", panel=TABLE) = None,  # type: ignore[valid-type]
    step: text_option("--step", "Distance of neighbouring positions (default 1).", metavar="S", panel=TABLE) = None,  # type: ignore[valid-type]
    positions: text_option("--positions", "Positions instead: 0,5,9.5, or @FILE.", metavar="LIST", panel=TABLE) = None,  # type: ignore[valid-type]
    dtype: Dtype = None,
    layout: Layout = None,
    form: text_option("--form", "Form of a bias or of relative vectors.", metavar="WORD", panel=TABLE) = None,  # type: ignore[valid-type]
    layer_type: LayerType = None,
    stack: Stack = None,
    rows: text_option("--rows", "Rows to print (default 8).", metavar="N", panel=SCREEN) = None,  # type: ignore[valid-type]
    columns: text_option("--columns", "Columns to print (default 8).", metavar="N", panel=SCREEN) = None,  # type: ignore[valid-type]
    precision: text_option("--precision", "Decimals to print (default 4).", metavar="N", panel=SCREEN) = None,  # type: ignore[valid-type]
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what a table holds; identify it, verify it, measure it, draw it."""
    from pecli.analysis.sources import is_config
    from pecli.cli.inspect_run import Wanted, inspect_source

    asked = identify or verify or recipe or properties or steps or sha256 or plot or picture
    if is_config(source) and not asked:
        from pecli.cli.explain import explain

        return explain(source, layer_type=layer_type, stack=stack or "transformers", json=json)
    wanted = Wanted(
        identify=bool(identify), verify=bool(verify), recipe=recipe, properties=bool(properties), steps=bool(steps),
        sha256=bool(sha256), plot=plot, picture=picture, rows=rows, columns=columns, precision=precision,
        json=json, quiet=quiet,
    )  # fmt: skip
    table = {
        "length": length, "start": start, "step": step, "positions": positions, "dtype": dtype, "layout": layout,
        "form": form,
    }  # fmt: skip
    choice = {name: word for name, word in (("layer_type", layer_type), ("stack", stack)) if word is not None}
    return inspect_source(source, wanted, {name: value for name, value in table.items() if value is not None}, choice)
