"""``extrapolate --probe``: train the models of the trial and report their losses."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pecli.cli.terminal.output import clean, is_terminal, print_json, tell
from pecli.cli.terminal.screen import show
from pecli.errors import BadParameter

if TYPE_CHECKING:
    from pecli.cli.extrapolate.options import ExtrapolateOptions
    from pecli.encodings.recipe import Recipe
    from pecli.extrapolation.trial.probe import Settings


def run_trial(options: ExtrapolateOptions) -> int:
    """Train, try and report; return the exit status."""
    # Small products lose more to waiting threads than they gain; it must be said before NumPy is loaded.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from pecli.extrapolation.scalings import chosen, scaled_recipes, scalings_of
    from pecli.extrapolation.trial.probe import DEFAULTS, RULES, Settings, run_probe

    settings = _settings(options, Settings())
    recipes = [_recipe(text, settings.train) for text in options.sources or DEFAULTS]

    def scaled(recipe: Recipe) -> list[Recipe]:
        if options.scaling is None or not scalings_of(recipe):
            return []
        names = chosen(options.scaling, recipe)
        return scaled_recipes(recipe, names, settings.train, settings.test, options.factor)

    loud = not options.quiet and is_terminal(sys.stderr)
    found = run_probe(recipes, settings, scaled, (lambda text: tell(clean(text))) if loud else None)
    if options.plot is not None:
        from pecli.cli.terminal.drawing import show_charts
        from pecli.drawing.reach import charts_of_probe

        show_charts(charts_of_probe(found), options.plot, clobber=not options.no_clobber, quiet=options.quiet)
    if options.json:
        print_json({"probe": asdict(found), "rules": RULES})
    elif options.plot != "-":
        from pecli.cli.extrapolate.view import probe_view

        show(*probe_view(found))
    return 0


def _recipe(text: str, train: int) -> Recipe:
    """Return the recipe of a source in the model's size; a bare name has its defaults."""
    from pecli.encodings import CATALOGUE
    from pecli.extrapolation.subjects import subject_of
    from pecli.extrapolation.trial.placing import fitted, fitted_by_name
    from pecli.sources.sources import read_source

    if text in CATALOGUE:
        return fitted_by_name(text, train)
    recipe = subject_of(read_source(text)).recipe
    if recipe is None:
        raise BadParameter("SOURCE", text, "has no recipe: the probe trains encodings, not tables")
    return fitted(recipe, train)


def _settings(options: ExtrapolateOptions, default: Settings) -> Settings:
    train = default.train if options.train_len is None else options.train_len
    test = 4 * train if options.test_len is None else options.test_len
    for name, value, low, high in (("train-len", train, 16, 256), ("test-len", test, train + 4, 2048)):
        if not low <= value <= high or value % 4:
            rule = f"must be a multiple of 4 from {low} to {high} with --probe, whose models train in seconds"
            raise BadParameter(name, value, rule)
    return replace(default, train=train, test=test)
