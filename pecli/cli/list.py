"""``pecli list``: the catalogue, recommendations by task, and one encoding in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import TYPE_CHECKING

from pecli.cli import options as shared
from pecli.cli.options import flag, option, refuse
from pecli.cli.terminal.items import LEFT, Fact, Item, ScreenTable
from pecli.cli.terminal.layout import wrapped
from pecli.cli.terminal.output import prose_width
from pecli.cli.terminal.screen import answer
from pecli.spec.catalogue import find
from pecli.spec.recipe import split_recipe

if TYPE_CHECKING:
    from pecli.spec.declaration import Encoding, Family
    from pecli.teach.choosing import Recommendations


def tasks_table(found: Iterable[Recommendations]) -> list[Item]:
    """Return a table with a row for each task and its encodings, best first."""
    rows = [[one.name, ", ".join(dict.fromkeys(_short(recipe) for recipe, _ in one.choose))] for one in found]
    return [
        "Recommendations by task: pecli list --choose TASK",
        ScreenTable([("task", LEFT), ("encodings", LEFT)], rows),
    ]


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


MAX_LINES = 50  # of one encoding


def _names() -> Iterable[str]:
    from pecli.spec.catalogue import CATALOGUE

    return CATALOGUE


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of ``list``."""

    encoding: str | None = option("Show this one in full.", "ENCODING", words=_names, argument=True)
    choose: bool = flag("Recommendations by task; with a task, as in list --choose images, the reasons.")
    where: str | None = option("Those with these facts, such as relative=yes,learned=no.", "FACT=WORD[,...]")
    all: bool = flag("All of it: every option, and the whole example.")
    format: str | None = option(shared.TABLE_FORMAT)
    json: bool = flag(shared.JSON)
    quiet: bool = flag(shared.QUIET)


def command(options: ListOptions) -> int:
    """List the encodings, or show one: formula, parameters, source, facts."""
    from pecli.spec.catalogue import CATALOGUE
    from pecli.teach.choosing import task, tasks, where

    if options.choose:
        refuse("has no effect with --choose", options, "all", "where")
        found = list(tasks().values()) if options.encoding is None else [task(options.encoding)]
        view = (
            tasks_table(found) if options.encoding is None else task_report(found[0], table=options.format is not None)
        )
        answer(options, lambda: {"tasks": [asdict(one) for one in found]}, lambda: view)
        return 0
    if options.encoding is not None:
        refuse("is about all of them: leave ENCODING out", options, "where")
        one = find(options.encoding)
        answer(options, lambda: as_dict(one), lambda: [full_text(one, everything=options.all)])
        return 0
    refuse("is about one of them: name it, as in pecli list rope", options, "all")
    shown = where(CATALOGUE.values(), options.where) if options.where is not None else list(CATALOGUE.values())
    answer(options, lambda: {"encodings": [as_dict(e) for e in shown]}, lambda: overview(shown))
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


def as_dict(encoding: Encoding) -> dict[str, object]:
    """Return what --json prints of an encoding."""
    return {
        "name": encoding.name,
        "family": encoding.family.word,
        "title": encoding.title,
        "summary": encoding.description.splitlines()[0],
        "formula": encoding.formula,
        "source": [str(s) for s in encoding.source],
        "users": encoding.users,
        "example": encoding.example,
        "facts": asdict(encoding.facts),
        "unrecognised": encoding.unrecognised or None,
        "unrecognised_with": dict(encoding.unrecognised_with),
        "guidance": asdict(encoding.guidance) if encoding.guidance else None,
        "parameters": [
            {
                "name": p.option,
                "kind": p.kind,
                "help": p.param.help,
                "default": None if p.default is None else p.text(p.default),
                "required": p.required,
                "choices": p.choices,
                "range": p.param.range_text,
            }
            for p in encoding.options
        ],
    }


def full_text(encoding: Encoding, *, everything: bool = False) -> str:
    """Return an encoding as plain text: its formula and an example first, its options by name, or all of it."""
    from pecli.cli.generate import option_help

    width, first, *more = prose_width(), *encoding.description.split("\n\n")
    head = wrapped(f"{encoding.name}: {encoding.title} ({encoding.family.word})", width)
    head += [line for part in (first, *(more if everything else ())) for line in _prose(part, "")]
    head += ["", "Formula", *(line for f in encoding.formula for line in wrapped(f, width, "  ", "    "))]
    tail = ["", "Source", *(line for source in encoding.source for line in _prose(str(source)))]
    if encoding.users:
        tail += ["Used by", *_prose(encoding.users)]
    if encoding.guidance:
        tail += ["Use it", *_prose(encoding.guidance.when), "Not", *_prose(encoding.guidance.unless)]
    facts = (f"{name.replace('_', ' ')} {_word(value)}" for name, value in asdict(encoding.facts).items())
    unknown = [encoding.unrecognised] if encoding.unrecognised else []
    unknown += [f"{choice}, {reason}" for choice, reason in encoding.unrecognised_with.items()]
    tail += [line for reason in unknown for line in _prose(f"Not recognised from values: {reason}", "")]
    tail += ["Facts", *_prose(", ".join(facts)), "", "Options"]
    for p in encoding.options:
        if everything or p.required:
            tail += ["  " + f"--{p.option} {p.metavar}".rstrip(), *_prose(option_help(p), "      ")]
    others = [f"--{p.option}" for p in encoding.options if not p.required]
    if others and not everything:
        lead = "and " if len(others) < len(encoding.options) else ""
        tail += _prose(f"{lead}{', '.join(others)}: pecli list {encoding.name} --all")
    command = wrapped(f"all of it: pecli explain {quote(encoding.example)}", width, "  ", "    ")
    room = None if everything else MAX_LINES - len(head) - len(tail) - len(command) - 2
    shown = ["", "Example", *_example(encoding, room), *command]
    return "\n".join([*head, *shown, *tail])


def _prose(text: str, lead: str = "  ") -> list[str]:
    return wrapped(" ".join(text.split()), prose_width(), lead, lead)


def _example(encoding: Encoding, room: int | None) -> list[str]:
    """Return the declared example, worked through as far as there is room."""
    from pecli.cli.explain import example_lines
    from pecli.spec.recipe import Recipe
    from pecli.teach.examples import work_through

    return example_lines(work_through(Recipe.parse(encoding.example)), room, prose_width())


def _word(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
