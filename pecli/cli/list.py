"""``pecli list``: the catalogue, and one encoding in full."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from pecli.cli.options import Json, Option, refuse
from pecli.cli.terminal.output import print_json, say
from pecli.records import dataclass

if TYPE_CHECKING:
    from pecli.declare.encoding import Encoding

EXAMPLE_LINES = 24


def _names() -> Iterable[str]:
    from pecli.encodings import CATALOGUE

    return CATALOGUE


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """What ``list`` may be given."""

    encoding: Annotated[str | None, Option("Show this one in full.", "ENCODING", words=_names, argument=True)] = None
    choose: Annotated[bool, Option("Questions that lead to an encoding.")] = False
    where: Annotated[
        str | None, Option("Those with these facts, such as relative=yes,learned=no.", "FACT=WORD[,...]")
    ] = None
    why: Annotated[bool, Option("Why it is as it is: questions that people ask, answered.")] = False
    json: Json = False


def command(options: ListOptions) -> int:
    """List the encodings, or show one: formula, parameters, source, facts."""
    from pecli.encodings import CATALOGUE, find

    if options.encoding is not None:
        refuse("is about all of them: leave ENCODING out", options, "choose", "where")
        one = find(options.encoding)
        if options.why:
            return _why(one, json=options.json)
        if options.json:
            print_json(as_dict(one))
        else:
            say(full_text(one))
        return 0
    refuse("is about one of them: name it, as in pecli list rope --why", options, "why")
    from pecli.inspection.choosing import tree, where

    shown = where(CATALOGUE.values(), options.where) if options.where is not None else list(CATALOGUE.values())
    if options.choose:
        from pecli.cli.advice import tree_text

        root = tree(shown)
        print_json(root.as_dict()) if options.json else say(tree_text(root))
    elif options.json:
        print_json({"encodings": [as_dict(e) for e in shown]})
    else:
        say(overview(shown) if shown else "none: no encoding has all of these facts")
    return 0


def _why(encoding: Encoding, *, json: bool) -> int:
    from pecli.cli.advice import why_text
    from pecli.encodings.shared.reasons import reasons

    found = reasons(encoding)
    if json:
        print_json({"name": encoding.name, "reasons": [asdict(r) for r in found]})
    else:
        say(why_text(f"{encoding.name}: why it is as it is", found))
    return 0


def overview(encodings: Iterable[Encoding]) -> str:
    """Return a line for each encoding, under the title of its family."""
    lines: list[str] = []
    family = None
    width = max(len(e.name) for e in encodings)
    for e in encodings:
        if e.family is not family:
            lines += [*([""] if lines else []), e.family.title]
            family = e.family
        lines.append(f"  {e.name:<{width}}  {e.description.splitlines()[0]}")
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


def full_text(encoding: Encoding) -> str:
    """Return an encoding in full, as plain text of at most 80 columns."""
    from pecli.cli.generate.options import option_help

    def indent(text: str, by: str = "  ") -> str:
        return textwrap.fill(text, 80, initial_indent=by, subsequent_indent=by)

    lines = [f"{encoding.name}: {encoding.title} ({encoding.family.word})", ""]
    lines += [textwrap.fill(" ".join(part.split()), 80) + "\n" for part in encoding.description.split("\n\n")]
    lines += [
        "Formula",
        *(textwrap.fill(f, 80, initial_indent="  ", subsequent_indent="    ") for f in encoding.formula),
        "",
    ]
    lines += ["Source", *(indent(str(source)) for source in encoding.source), ""]
    if encoding.users:
        lines += ["Used by", indent(encoding.users), ""]
    if encoding.guidance:
        lines += ["Use it", indent(encoding.guidance.when), "Not", indent(encoding.guidance.unless), ""]
    lines.append("Parameters")
    for p in encoding.options:
        name = f"--{p.option}" if p.kind == "flag" else f"--{p.option} {p.metavar}"
        lines += [f"  {name}", indent(option_help(p), "      ")]
    lines += ["", "Facts"]
    lines += [f"  {name.replace('_', ' '):<12}  {_word(value)}" for name, value in asdict(encoding.facts).items()]
    lines += ["", "Example", _example(encoding), "", f"All of it: pecli inspect '{encoding.example}' --steps"]
    return "\n".join(lines)


def _example(encoding: Encoding) -> str:
    """Return the first steps of the declared example, worked through."""
    from pecli.cli.inspect.lesson_view import text_of
    from pecli.encodings.recipe import Recipe
    from pecli.lessons.lesson import work_through

    return text_of(work_through(Recipe.parse(encoding.example)), formula=False, most=EXAMPLE_LINES)


def _word(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
