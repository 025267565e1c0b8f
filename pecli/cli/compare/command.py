"""``pecli compare SOURCE SOURCE...``: how far tables are apart, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.options import Atol, Json, LayerType, Quiet, Rtol, Ulp, completer
from pecli.declare.words import PURPOSES
from pecli.errors import BadParameter, BadRecipe


def command(
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE...", help="Two sources or more.", show_default=False)
    ] = None,
    atol: Atol = None,
    rtol: Rtol = None,
    ulp: Ulp = None,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Of a model's config.json: which stacks agree, and on what it hangs.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="The facts of every encoding.")] = False,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="PURPOSE",
            show_default=False,
            autocompletion=completer(PURPOSES),
            help=f"Mark the encodings whose facts fit: {', '.join(PURPOSES)}.",
        ),
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="Compare the values of recipes, not their facts.")] = False,
    layer_type: LayerType = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare tables: how far they are apart, where, and why; status 1 where they differ."""
    sources = _sources(sources, all_)
    if stacks:
        from pecli.cli.compare.stacks_view import show_stacks

        if len(sources) != 1:
            raise BadParameter("stacks", len(sources), "is for one config.json: name it alone")
        return show_stacks(sources[0], layer_type=layer_type, json=json, quiet=quiet)
    from pecli.cli.compare.facts_view import chosen, show_facts

    named = None if values else chosen(sources)
    if named is not None:
        return show_facts(named, purpose=purpose, json=json, quiet=quiet)
    if purpose is not None:
        raise BadParameter("for", purpose, "is for encodings: compare recipes alone, or use --all")
    from pecli.cli.compare.run import compare_sources, tolerance_of

    return compare_sources(sources, tolerance_of(atol, rtol, ulp), json=json, quiet=quiet)


def _sources(given: list[str] | None, every: bool) -> list[str]:
    """Return the sources; ``--all`` stands for the whole catalogue."""
    if every:
        if given:
            raise BadParameter("all", "true", "stands for every encoding: name no sources beside it")
        from pecli.encodings import CATALOGUE

        return list(CATALOGUE)
    if not given:
        raise BadRecipe("compare needs two sources or more: files, recipes, or --all")
    return given
