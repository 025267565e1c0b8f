"""Facts of encodings side by side: for ``pecli compare`` of recipes alone."""

from __future__ import annotations

from collections.abc import Sequence

from pecli.cli.terminal.output import print_json
from pecli.spec.declaration import Encoding
from pecli.spec.recipe import Recipe, split_recipe


def chosen(sources: Sequence[str]) -> list[tuple[Encoding, Recipe | None]] | None:
    """Return the encodings that the sources name, with the recipe of each; None if one is a file.

    A bare name stands for its encoding; only a recipe with parameters is measured.
    """
    from pecli.sources.alignment import open_alone
    from pecli.sources.kinds import Kind, kind_of
    from pecli.sources.sources import read_source
    from pecli.spec.catalogue import CATALOGUE
    from pecli.tables.request import take_table_keys

    found: list[tuple[Encoding, Recipe | None]] = []
    for text in sources:
        if kind_of(text) is not Kind.RECIPE:
            return None
        encoding, recipe = CATALOGUE[text.partition(":")[0]], None
        if ":" in text:
            name, keys = split_recipe(text)
            take_table_keys(name, keys)
            if "config" in keys:
                return None
            recipe = Recipe.bind(name, **keys)
            open_alone(read_source(text), 2)  # what it says of its table has no effect here, but must be right
        found.append((encoding, recipe))
    return found


def show_facts(items: Sequence[tuple[Encoding, Recipe | None]], *, json: bool) -> int:
    """Print declared facts and measured figures of encodings; return 0."""
    from pecli.inspect.facts import TITLES, figures, sheet

    items = list({_name(e, r): (e, r) for e, r in items}.values())  # who names one twice sees it once
    sheets = {_name(e, r): {**sheet(e), **(figures(r) if r else {})} for e, r in items}
    if json:
        print_json({"encodings": sheets})
        return 0
    from pecli.cli.terminal.items import grid
    from pecli.cli.terminal.screen import show

    keys = list(dict.fromkeys(key for facts in sheets.values() for key in facts))
    if len(items) <= 4:  # a column each; more of them are rows
        rows = [[TITLES.get(key, key), *(facts.get(key, "-") for facts in sheets.values())] for key in keys]
        show(grid([("", "left"), *((name, "left") for name in sheets)], rows))
    else:
        for part in (keys[:6], keys[6:12]):
            rows = [[name, *(facts.get(key, "-") for key in part)] for name, facts in sheets.items()]
            show(grid([("encoding", "left"), *((TITLES.get(key, key), "left") for key in part)], rows))
    return 0


def _name(encoding: Encoding, recipe: Recipe | None) -> str:
    return encoding.name if recipe is None else recipe.short
