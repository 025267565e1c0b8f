"""``pecli list``: the catalogue, recommendations by task, and answers about one encoding."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from pecli.cli.options import Json, Option, Quiet, refuse
from pecli.cli.terminal.layout import wrapped
from pecli.cli.terminal.output import print_json, prose_width, say, screen_width
from pecli.encodings.shared.code import FRAMEWORKS
from pecli.errors import UnknownName
from pecli.spec.catalogue import find
from pecli.spec.recipe import split_recipe

if TYPE_CHECKING:
    from pecli.encodings.questions import Question
    from pecli.spec.declaration import Encoding
    from pecli.teach.choosing import Recommendations


def tasks_text(found: Iterable[Recommendations]) -> str:
    """Return a line for each task with its encodings, best first."""
    lines = [*wrapped("Recommendations by task: pecli list --choose TASK", screen_width()), ""]
    for one in found:
        names = ", ".join(dict.fromkeys(_short(recipe) for recipe, _ in one.choose))
        lines += wrapped(f"{one.name:<21}{names}", screen_width(), "", " " * 21)
    return "\n".join(lines)


def _short(recipe: str) -> str:
    """Return the encoding of a recipe, with its scaling."""
    name, keys = split_recipe(recipe)
    return f"{name} with {keys['scaling']}" if "scaling" in keys else name


def task_text(one: Recommendations) -> str:
    """Return the recommendations for a task with their reasons, what to avoid, and the sources."""
    lines = [one.title]
    for number, (recipe, why) in enumerate(one.choose, 1):
        lines += [f"{number}. {recipe}", *_prose(why, "   ")]
    sources = ", ".join(f"arXiv {number}" for number in one.sources)
    return "\n".join([*lines, *_wrapped(f"Avoid {one.avoid}.", "", ""), *_wrapped(f"Sources: {sources}", "", "")])


def why_text(title: str, reasons: Sequence[Question]) -> str:
    """Return questions with their answers, and what to run to see it."""
    lines = [title]
    for reason in reasons:
        lines += ["", *_wrapped(reason.question, "", ""), *_wrapped(reason.answer, "  ", "  ")]
        lines += [f"  $ pecli {reason.see}"] if reason.see else []
    return "\n".join(lines)


def _wrapped(text: str, first: str, then: str) -> list[str]:
    width = prose_width()
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )


MOST_LINES = 50  # of one encoding


def _names() -> Iterable[str]:
    from pecli.spec.catalogue import CATALOGUE

    return CATALOGUE


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """What ``list`` may be given."""

    encoding: Annotated[str | None, Option("Show this one in full.", "ENCODING", words=_names, argument=True)] = None
    choose: Annotated[
        bool, Option("Recommendations for a task: pecli list --choose images. Without a task, all of them.")
    ] = False
    where: Annotated[
        str | None, Option("Those with these facts, such as relative=yes,learned=no.", "FACT=WORD[,...]")
    ] = None
    why: Annotated[bool, Option("Why it is as it is: questions that people ask, answered.")] = False
    code: Annotated[
        str | None,
        Option(f"A short module that needs no pecli: {', '.join(FRAMEWORKS)}. ENCODING may be a recipe.", "WORD",
               None, FRAMEWORKS),
    ] = None  # fmt: skip
    all: Annotated[bool, Option("All of it: every option, and the whole example.")] = False
    json: Json = False
    quiet: Quiet = False


def command(options: ListOptions) -> int:
    """List the encodings, or show one: formula, parameters, source, facts."""
    from pecli.spec.catalogue import CATALOGUE

    if options.choose:
        refuse("has no effect with --choose", options, "why", "all", "code", "where")
        return _choose(options.encoding, json=options.json)
    if options.encoding is not None and options.code is not None:
        refuse("has no effect with --code", options, "why", "all", "where")
        return _code(options.encoding, options.code, json=options.json)
    if options.encoding is not None:
        refuse("is about all of them: leave ENCODING out", options, "where")
        one = find(options.encoding)
        if options.why:
            return _why(one, json=options.json)
        if options.json:
            print_json(as_dict(one))
        else:
            say(full_text(one, everything=options.all))
        return 0
    refuse("is about one of them: name it, as in pecli list rope", options, "why", "all", "code")
    from pecli.teach.choosing import where

    shown = where(CATALOGUE.values(), options.where) if options.where is not None else list(CATALOGUE.values())
    if options.json:
        print_json({"encodings": [as_dict(e) for e in shown]})
    else:
        say(overview(shown) if shown else "none: no encoding has all of these facts")
    return 0


def _choose(word: str | None, *, json: bool) -> int:
    from pecli.teach.choosing import task, tasks

    found = [task(word)] if word is not None else list(tasks().values())
    if json:
        print_json({"tasks": [asdict(one) for one in found]})
    else:
        say(tasks_text(found) if word is None else task_text(found[0]))
    return 0


def _why(encoding: Encoding, *, json: bool) -> int:
    from pecli.encodings.questions import questions

    found = questions(encoding)
    if json:
        print_json({"name": encoding.name, "reasons": [asdict(r) for r in found]})
    else:
        say(why_text(f"{encoding.name}: why it is as it is", found))
    return 0


def _code(text: str, framework: str, *, json: bool) -> int:
    """Print a module, or the lines that load a table where there is none, of a recipe or an encoding's example."""
    from pecli.encodings.shared.code import loading
    from pecli.spec.recipe import Recipe

    if framework not in FRAMEWORKS:
        raise UnknownName("framework", framework, FRAMEWORKS)
    one = find(split_recipe(text)[0])
    recipe = Recipe.parse(text if ":" in text else one.example)
    made = one.hook("code")(recipe, framework) if one.declares("code") else None
    found = made or loading(recipe, framework)
    if json:
        print_json({"recipe": str(recipe), "framework": framework, "code": found})
    else:
        say(found.rstrip("\n"))
    return 0


def overview(encodings: Iterable[Encoding]) -> str:
    """Return a line for each encoding, under the title of its family."""
    lines: list[str] = []
    family = None
    width = max(len(e.name) for e in encodings)
    for e in encodings:
        if e.family is not family:
            lines += [*([""] if lines else []), *wrapped(e.family.title, screen_width())]
            family = e.family
        lines += wrapped(e.description.splitlines()[0], screen_width(), f"  {e.name:<{width}}  ", " " * 6)
    return "\n".join(lines)


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
    tail += ["Facts", *_prose(", ".join(facts)), "", "Options"]
    for p in encoding.options:
        if everything or p.required:
            tail += ["  " + f"--{p.option} {p.metavar}".rstrip(), *_prose(option_help(p), "      ")]
    others = [f"--{p.option}" for p in encoding.options if not p.required]
    if others and not everything:
        lead = "and " if len(others) < len(encoding.options) else ""
        tail += _prose(f"{lead}{', '.join(others)}: pecli list {encoding.name} --all")
    room = None if everything else MOST_LINES - len(head) - len(tail) - 4
    command = wrapped(f"all of it: pecli inspect {quote(encoding.example)} --steps", width, "  ", "    ")
    shown = ["", "Example", *_example(encoding, room), *command]
    return "\n".join([*head, *shown, *tail])


def _prose(text: str, lead: str = "  ") -> list[str]:
    return wrapped(" ".join(text.split()), prose_width(), lead, lead)


def _example(encoding: Encoding, room: int | None) -> list[str]:
    """Return the declared example, worked through as far as there is room."""
    from pecli.cli.inspect_report import text_of
    from pecli.spec.recipe import Recipe
    from pecli.teach.examples import work_through

    example = work_through(Recipe.parse(encoding.example))
    return text_of(example, formula=False, most=room, width=prose_width()).split("\n")


def _word(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
