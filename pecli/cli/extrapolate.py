"""``pecli extrapolate SOURCE...``: what happens past the training length."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pecli.cli.options import Json, Quiet, text_option
from pecli.cli.output import print_json
from pecli.errors import BadParameter


def command(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Recipes or files.")],
    train_len: text_option("--train-len", "Positions seen in training.", metavar="N") = None,  # type: ignore[valid-type]
    test_len: text_option("--test-len", "Positions wanted.", metavar="M") = None,  # type: ignore[valid-type]
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Measure what an encoding does beyond the length it was trained on."""
    from pecli.analysis.extrapolation import RULES, extrapolate
    from pecli.analysis.sources import read_source
    from pecli.cli.screen import whole_number

    train = whole_number("train-len", train_len, 1, 1 << 53)
    test = whole_number("test-len", test_len, 2, 1 << 53)
    if train is None or test is None:
        raise BadParameter("train-len" if train is None else "test-len", "(none)", "must be given")
    found = []
    for text in sources:
        source = read_source(text)
        recipe = source.recipe
        if recipe is None:
            from pecli.recipe import Recipe, split_recipe

            stored = source.open().recipe
            if stored is None:
                raise BadParameter("SOURCE", text, "is a table without a recipe: its rows end where the file ends")
            name, keys = split_recipe(stored)
            from pecli.table import KEYS

            recipe = Recipe.bind(name, **{k: v for k, v in keys.items() if k not in KEYS})
        found.append(extrapolate(text, recipe, train, test))
    if json:
        print_json({"reports": [asdict(f) for f in found], "rules": RULES})
    elif not quiet:
        for report in found:
            _show(report)
    return 0


def _show(report: Any) -> None:
    from pecli.cli.render import grid, show

    show(f"{report.source}: {report.verdict}: {report.finding}")
    if report.pairs:
        columns = [(name, "right") for name in ("pair", "wavelength", "seen", "outside", "first")]
        rows = [
            (p.index, f"{p.wavelength:.1f}", f"{p.seen:.3f}", p.outside, "" if p.first is None else p.first)
            for p in report.pairs
        ]
        show(grid(columns, rows))
