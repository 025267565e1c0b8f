"""``pecli explain ENCODING|RECIPE``: a worked example, questions and answers, or code for a framework."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from pecli.cli.options import PRECISION, TABLE_FORMAT, TableChoice, absent, argument, choice_of, flag, option, refuse
from pecli.cli.terminal.items import LEFT, RIGHT, Item, ScreenTable
from pecli.cli.terminal.output import clean, prose_width, say
from pecli.cli.terminal.screen import answer
from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.formats.paths import Kind, kind_of
from pecli.numbers.decimals import parse_count, parse_number, parse_position
from pecli.numbers.positions import Positions
from pecli.numbers.printing import DECIMALS, column
from pecli.spec.catalogue import CATALOGUE, every_question, find, questions, ranked, unknown_encoding
from pecli.spec.hooks import NOISE, SmallTable, Step
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.tables.sources import NamedSource, read_source
from pecli.teach.code import FRAMEWORKS, code_of

if TYPE_CHECKING:
    from pecli.teach.examples import Example

MAX_POSITIONS = 4  # of a worked example that begins elsewhere than at 0
INDENT = "  "
ANSWERS = "Other answers"
SAME_FRAMEWORK = {"pytorch": "torch", "np": "numpy", "tensorflow": "keras", "tf": "keras"}


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(TableChoice):
    """The options of ``explain``."""

    source: str = argument("An encoding, a recipe, a config.json, or a question.", "SOURCE")
    words: tuple[str, ...] = argument("Search its questions and answers.", "[WORD...]", default=())
    why: bool = flag("Common questions about the encoding, with answers.", panel=ANSWERS)
    code: str | None = option("A short module that needs no pecli: {}.", "FRAMEWORK", ANSWERS, FRAMEWORKS)
    precision: int | None = option(PRECISION)
    format: str | None = option(TABLE_FORMAT)
    dtype: str | None = option("No effect on a worked example.", "TYPE", hidden=True)


def command(options: ExplainOptions) -> int:
    """Work through an example of a recipe, answer questions about its encoding, or print code for it."""
    if options.code is not None:
        refuse("is another answer than --code: ask for one after the other", options, "why", "words")
        return _code(options)
    return _why(options) if options.why or options.words or _is_question(options.source) else _example(options)


def _source(options: ExplainOptions) -> NamedSource:
    """Read a recipe or a config; of an encoding, or of a choice such as yarn, its declared example."""
    text, kind = options.source, kind_of(options.source)
    if kind is Kind.RECIPE and ":" not in text:
        text = find(text).example
    elif kind is Kind.FILE and not os.path.exists(text):
        text = _example_of_choice(text) or text
        if kind_of(text) is Kind.FILE:
            raise absent(text)
    source = read_source(text, **choice_of(options))
    if source.recipe is None:
        raise BadParameter("SOURCE", text, "is a file, and explain works through a recipe such as rope:dim=4")
    return source


def _example_of_choice(word: str) -> str | None:
    """Return a recipe with this choice of a parameter, as ``scaling=yarn`` is one; None if no encoding has it."""
    from pecli.cli.generate import completed

    meant = unknown_encoding(word).meant or ""
    name, colon, _ = meant.partition(":")
    return join_recipe(name, completed(CATALOGUE[name], split_recipe(meant)[1])[0]) if colon else None


def _is_question(text: str) -> bool:
    """Whether a source is none, but words that questions and answers have."""
    word = text.partition(":")[0]
    return (
        word not in CATALOGUE
        and kind_of(text) is Kind.FILE
        and not os.path.exists(text)
        and bool(" " in text.strip() or ranked(every_question(), [word]))
    )


def _example(options: ExplainOptions) -> int:
    """Work through an example of a recipe; of an encoding without parameters, of its declared example."""
    from pecli.teach.examples import work_through

    source = _source(options)
    assert source.recipe is not None
    refuse("has no effect on a worked example: leave it out", options, "dtype", "layout", "form")
    given = {**source.given, **options.table}
    length = given.get("length", given.get("len"))
    rows = None if length is None else parse_count("len", length)
    found = work_through(source.recipe, _chosen_positions(given, rows), rows)
    result = {"source": source.text, **found.as_dict(), "recipe": str(source.recipe)}
    if ":" in options.source:
        found = found._replace(recipe=options.source)
    elif usual := _other_defaults(source.recipe):
        found = found._replace(recipe=f"{found.recipe}\nThis example is small: the defaults are {usual}")
    answer(options, lambda: result, lambda: example_view(found, prose_width()), prose=True)
    return 0


def _other_defaults(recipe: Recipe) -> str:
    """Return the defaults of the parameters for which an example has other values."""
    encoding, keys = recipe.encoding, recipe.keys()
    known = {p.option: p.text(p.default) for p in encoding.options if p.default is not None}
    return ", ".join(f"{key}={word}" for key, word in known.items() if keys.get(key, word) != word)


def _chosen_positions(given: Mapping[str, Any], rows: int | None) -> Positions | None:
    """Return the positions to work out, where they are given: a list, or a start and a step."""
    if given.get("positions") is not None:
        return Positions.parse(str(given["positions"]))
    first, by = given.get("start"), given.get("step")
    if first is None and by is None:
        return None
    start, step = parse_position("start", first or 0), parse_number("step", by or 1)
    return Positions.arange(min(rows or MAX_POSITIONS, MAX_POSITIONS), start, step)


def example_view(example: Example, width: int = 80) -> list[Item]:
    """Return a worked example: its recipe, its formula, then its steps."""
    items: list[Item] = [f"{example.title}: {example.recipe}", "\nFormula"]
    items += [f"{INDENT}{line}" for line in example.formula]
    return [*items, *(item for step in example.steps for item in _step(step, width))]


def _step(step: Step, width: int) -> list[Item]:
    items: list[Item] = ["", step.title]
    for number, item in enumerate(step.items):
        items += [""] if number and not isinstance(item, str) else []
        if isinstance(item, SmallTable):
            items.append(_table(item))
        else:
            lines = [item] if isinstance(item, str) else item.lines(width - len(INDENT))
            items.append("\n".join(INDENT + line for line in lines))
    return items


def _table(table: SmallTable) -> ScreenTable:
    """Return a table; one that counts something along its columns leaves out those in the middle if it must."""
    decimals, digits = table.decimals or DECIMALS, 6 if table.decimals is None else None
    texts = [column(items, decimals, digits=digits, noise=NOISE) for items in zip(*table.rows, strict=True)]
    columns = [(heading, RIGHT if place else LEFT) for place, heading in enumerate(table.columns)]
    counted = all(heading.replace(".", "").lstrip("-").isdigit() or heading == "…" for heading, _ in columns[1:])
    rows = [list(row) for row in zip(*texts, strict=True)]
    return ScreenTable(columns, rows, elide=counted, indent=INDENT)


def _why(options: ExplainOptions) -> int:
    """Print questions with their answers, and the command that shows each: about an encoding, or with some words."""
    name, words = options.source.partition(":")[0], options.words
    asked, advice = "", False
    if name in CATALOGUE:
        name = CATALOGUE[name].name
        found, title = questions(CATALOGUE[name]), f"{name}: questions and answers"
        rule = f"occurs in no answer about {name}: pecli explain {name} --why prints all of them"
    else:
        words = (options.source, *words)
        found, title = every_question(), f"Questions and answers for: {clean(' '.join(words))}"
        advice = _asks_for_a_choice(asked := " ".join(words))
        name, rule = asked, "is no encoding, and no answer has most of these words: pecli list names the encodings"
    if words and not (found := ranked(found, words)) and not advice:
        raise BadRecipe(f"{clean(' '.join(words))} {rule}")

    def view() -> Iterator[str]:
        yield title
        yield from (("", "Recommendations", f"{INDENT}$ pecli list {quote(asked)}") if advice else ())
        for one in found:
            yield from ("", one.question, INDENT + one.answer.replace("\n", " "))
            if one.see:
                yield f"{INDENT}$ pecli {one.see}"

    answer(options, lambda: {"name": name, "reasons": [asdict(one) for one in found]}, view, prose=True)
    return 0


def _asks_for_a_choice(question: str) -> bool:
    """Whether a question is which encoding suits a task."""
    from pecli.teach.choosing import named_tasks

    if {"which", "best", "choose", "recommend", "should"}.isdisjoint(question.lower().split()):
        return False
    with suppress(UnknownName):
        return bool(named_tasks(question))
    return False


def _code(options: ExplainOptions) -> int:
    """Print a module, or the lines that load a table where there is none, of a recipe or an encoding's example."""
    framework = SAME_FRAMEWORK.get(word := options.code or "", word)
    if framework not in FRAMEWORKS:
        raise UnknownName("framework", framework, FRAMEWORKS)
    recipe = _source(options).recipe
    assert recipe is not None
    code = code_of(recipe, framework).rstrip("\n")
    if options.json:
        answer(options, lambda: {"recipe": str(recipe), "framework": framework, "code": code}, list)
    else:
        say(code)
    return 0
