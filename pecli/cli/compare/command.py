"""``pecli compare SOURCE SOURCE...``: how far tables are apart, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pecli.cli.options import Json, LayerType, Option, Quiet, refuse
from pecli.declare.words import PURPOSES
from pecli.errors import BadParameter, BadRecipe

TOLERANCES = ("atol", "rtol", "ulp")


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What ``compare`` may be given."""

    sources: Annotated[tuple[str, ...], Option("Two sources or more.", "SOURCE...", argument=True)] = ()
    atol: Annotated[str | None, Option("Absolute tolerance.", "X")] = None
    rtol: Annotated[str | None, Option("Tolerance relative to the second value.", "X")] = None
    ulp: Annotated[str | None, Option("Tolerance in units in the last place.", "N")] = None
    stacks: Annotated[bool, Option("Of a model's config.json: which stacks agree, and on what it hangs.")] = False
    all: Annotated[bool, Option("The facts of every encoding.")] = False
    purpose: Annotated[
        str | None,
        Option(
            f"Mark the encodings whose facts fit: {', '.join(PURPOSES)}.", "PURPOSE", words=PURPOSES, names=("--for",)
        ),
    ] = None
    values: Annotated[bool, Option("Compare the values of recipes, not their facts.")] = False
    layer_type: LayerType = None
    json: Json = False
    quiet: Quiet = False


def command(options: CompareOptions) -> int:
    """Compare tables: how far they are apart, where, and why; status 1 where they differ."""
    sources = _sources(options)
    if options.stacks:
        from pecli.cli.compare.stacks_view import show_stacks

        if len(sources) != 1:
            raise BadParameter("stacks", len(sources), "is for one config.json: name it alone")
        refuse("has no effect with --stacks: leave it out", options, *TOLERANCES, "values")
        _no_purpose(options)
        return show_stacks(sources[0], layer_type=options.layer_type, json=options.json, quiet=options.quiet)
    refuse("is for --stacks: write it in the source, as NAME:config=FILE,layer-type=NAME", options, "layer_type")
    from pecli.cli.compare.facts_view import chosen, show_facts

    named = None if options.values else chosen(sources)
    if named is not None:
        refuse("is for values: give --values too, or leave it out", options, *TOLERANCES)
        return show_facts(named, purpose=options.purpose, json=options.json, quiet=options.quiet)
    _no_purpose(options)
    from pecli.cli.compare.run import compare_sources, tolerance_of

    tolerance = tolerance_of(options.atol, options.rtol, options.ulp)
    return compare_sources(sources, tolerance, json=options.json, quiet=options.quiet)


def _no_purpose(options: CompareOptions) -> None:
    if options.purpose is not None:
        raise BadParameter("for", options.purpose, "is for encodings: compare recipes alone, or use --all")


def _sources(options: CompareOptions) -> list[str]:
    """Return the sources; ``--all`` stands for the whole catalogue."""
    given = list(options.sources)
    if options.all:
        if given:
            raise BadParameter("all", "true", "stands for every encoding: name no sources beside it")
        from pecli.encodings import CATALOGUE

        return list(CATALOGUE)
    if not given:
        raise BadRecipe("compare needs two sources or more: files, recipes, or --all")
    return given
