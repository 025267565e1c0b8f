"""``pecli list``: the catalogue, recommendations by task, and one encoding in full."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from shlex import quote

from pecli.cli.options import JSON, QUIET, TABLE_FORMAT, argument, flag, option, refuse
from pecli.cli.terminal.items import LEFT, Fact, Item, ScreenTable
from pecli.cli.terminal.screen import answer
from pecli.errors import UnknownName
from pecli.spec.catalogue import CATALOGUE, find
from pecli.spec.declaration import Encoding, Family
from pecli.spec.recipe import split_recipe
from pecli.teach.choosing import Recommendations, named_tasks, tasks, where


def _short(recipe: str) -> str:
    """Return the encoding of a recipe, with its scaling."""
    name, keys = split_recipe(recipe)
    return f"{name} with {keys['scaling']}" if "scaling" in keys else name


def task_report(one: Recommendations, *, table: bool) -> list[Item]:
    """Return the recommendations for a task with their reasons, what to avoid, and the sources; or a `table` alone."""
    if table:
        return [ScreenTable([("recipe", LEFT), ("reason", LEFT)], [[*pair] for pair in one.choose], one.title)]
    found: list[Item] = [one.title]
    for number, (recipe, why) in enumerate(one.choose, 1):
        found += [f"{number}. {recipe}", Fact("", why, 3)]
    return [*found, Fact("Avoid", one.avoid, 9), Fact("Sources", ", ".join(f"arXiv {n}" for n in one.sources), 9)]


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of ``list``."""

    encoding: str | None = argument("Describe this one, or recommend some for this task.", "[ENCODING]", default=None)
    choose: bool = flag("Recommend encodings for a task, with reasons: list --choose images.")
    where: str | None = option("Only encodings with these properties: relative=yes,learned=no.", "KEY=WORD,..")
    all: bool = flag("Every option of the encoding.")
    format: str | None = option(TABLE_FORMAT)
    json: bool = flag(JSON)
    quiet: bool = flag(QUIET)


def command(options: ListOptions) -> int:
    """List the encodings, or show one: formula, parameters, source, facts."""
    if options.choose:
        return _choose(options)
    if options.encoding is not None:
        refuse("is for the list of all encodings: leave ENCODING out", options, "where")
        try:
            one = find(options.encoding)
        except UnknownName:
            with suppress(UnknownName):
                return _choose(options)
            named = {CATALOGUE[w].name for w in re.findall(r"[\w-]+", options.encoding.lower()) if w in CATALOGUE}
            if len(named) != 1:
                raise
            one = CATALOGUE[named.pop()]
        answer(options, one.as_dict, lambda: full_view(one, everything=options.all), prose=True)
        return 0
    refuse("needs an encoding: pecli list rope --all", options, "all")
    shown = where(CATALOGUE.values(), options.where) if options.where is not None else list(CATALOGUE.values())
    answer(options, lambda: {"encodings": [e.as_dict() for e in shown]}, lambda: overview(shown))
    return 0


def _choose(options: ListOptions) -> int:
    """Print the recommendations for a task, or a table of all tasks."""
    refuse("has no effect with --choose", options, "all", "where")
    if options.encoding is None:
        found = list(tasks().values())
        rows = [[one.name, ", ".join(dict.fromkeys(_short(recipe) for recipe, _ in one.choose))] for one in found]
        table = ScreenTable([("task", LEFT), ("encodings", LEFT)], rows)
        view: list[Item] = ["Recommendations by task: pecli list --choose TASK", table]
    else:
        found = named_tasks(options.encoding)
        view = [item for one in found for item in ("", *task_report(one, table=options.format is not None))][1:]
    answer(options, lambda: {"tasks": [asdict(one) for one in found]}, lambda: view)
    return 0


def overview(encodings: Sequence[Encoding]) -> list[Item]:
    """Return a table for each family, with a row for each encoding."""
    families: dict[Family, list[list[str]]] = {}
    for e in encodings:
        families.setdefault(e.family, []).append([e.name, e.description.splitlines()[0]])
    wide = max((len(e.name) for e in encodings), default=0)
    heads = [(f"{'encoding':<{wide}}", LEFT), ("what it is", LEFT)]
    tables: list[Item] = [ScreenTable(heads, rows, family.title) for family, rows in families.items()]
    return tables or ["none: no encoding has all of these facts"]


def full_view(encoding: Encoding, *, everything: bool = False) -> list[Item]:
    """Return what an encoding is: description, formula, source, properties, and its options by name or in full."""
    paragraphs = [" ".join(text.split()) for text in encoding.description.split("\n\n")]
    facts = (f"{name.replace('_', ' ')} {word}" for name, word in encoding.facts.words.items())
    unknown = [encoding.unrecognised] if encoding.unrecognised else []
    unknown += [f"{choice}, {reason}" for choice, reason in encoding.unrecognised_with.items()]
    named = [
        ("source", "\n".join(encoding.source)), ("used by", encoding.users), ("use it", encoding.use_when),
        ("not", encoding.not_when), ("properties", ", ".join(facts)), ("not recognised", "\n".join(unknown)),
        ("needs", "\n".join(f"--{p.option} {p.metavar}: {p.help_text}" for p in encoding.options if p.required)),
    ]  # fmt: skip
    title = "" if encoding.title.lower() in (encoding.name, encoding.family.word) else f": {encoding.title}"
    items: list[Item] = [f"{encoding.name}{title} ({encoding.family.word})", *paragraphs[: None if everything else 1]]
    items += ["\nFormula", *(f"  {line}" for line in encoding.formula), "", *(Fact(*pair) for pair in named if pair[1])]
    others = [p for p in encoding.options if not p.required]
    if everything:
        items += [Fact(f"--{p.option}", f"{p.metavar} {p.help_text}".strip(), 24) for p in others]
    elif others:
        items.append(Fact("options", f"{', '.join(f'--{p.option}' for p in others)}; explained by --all"))
    return [*items, Fact("example", f"pecli explain {quote(encoding.example)}")]
