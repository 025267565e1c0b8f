"""``pecli verify FILE... [RECIPE]``: every value of a file, recomputed from its recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pecli.cli import options as shared
from pecli.cli.compare import ATOL, DIGITS, RTOL, ULP, allowed_by, difference_view
from pecli.cli.inspect import short_recipe
from pecli.cli.options import SCREEN, SourceOptions, argument, choice_of, flag, option, refuse_table
from pecli.cli.terminal.items import Fact, Item, Verdict
from pecli.cli.terminal.screen import answer, progress_for
from pecli.errors import BadParameter
from pecli.formats.paths import Kind, kind_of

if TYPE_CHECKING:
    from pecli.inspect.verification import Folder, Verified

Answer = tuple[dict[str, Any], list[Item]]  # what --json prints, and the report
MAX_PARTS = 8  # of a folder, that a short report lists


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(SourceOptions):
    """The options of ``verify``."""

    sources: tuple[str, ...] = argument(
        "Files or folders of parts; a recipe after them replaces the one that they hold.", "FILE... [RECIPE]"
    )
    atol: Decimal | None = option(ATOL)
    rtol: Decimal | None = option(RTOL)
    ulp: int | None = option(ULP)
    digits: int | None = option(DIGITS)
    all: bool = flag("Every part, place and statistic of what differs.", panel=SCREEN)
    get: str | None = option(shared.GET)
    layer_type: str | None = option(shared.LAYER_TYPE)
    stack: str | None = option(shared.STACK)
    quiet: bool = flag(shared.SILENT)


def command(options: VerifyOptions) -> int:
    """Verify one file after the other; return 0 if every value of each is right, else 1."""
    from pecli.tables.parts import is_dataset

    files, recipe = _files(options)
    choice = choice_of(options)
    if any(kind_of(text) is Kind.FOLDER for text in files):
        refuse_table(choice.items(), "is not for a folder of parts, whose recipes are in its files")
    good, answers, items = True, list[dict[str, Any]](), list[Item]()
    for text in files:
        folder = kind_of(text) is Kind.FOLDER and not is_dataset(text)
        result, seen = (_folder if folder else _file)(text, recipe, choice, options)
        good = good and result["verified"]
        answers.append(result)
        items += seen
    verdict = "verified" if good else "different"
    result = {"verdict": verdict, "verified": good, "sources": answers}
    if len(answers) == 1:
        result = {"verdict": verdict, **answers[0]}
    answer(options, lambda: result, lambda: items, verdict=True)
    return 0 if good else 1


def _files(options: VerifyOptions) -> tuple[Sequence[str], str | None]:
    """Return the files and the recipe that was given for them."""
    *files, last = options.sources
    recipe = last if files and kind_of(last) in (Kind.RECIPE, Kind.CONFIG) else None
    files = files if recipe else [*options.sources]
    for text in files:
        if kind_of(text) in (Kind.RECIPE, Kind.CONFIG):
            rule = "is a recipe: verify is for files, against the recipe that they hold or that follows them"
            raise BadParameter("SOURCE", text, rule)
    return files, recipe


def _file(text: str, recipe: str | None, choice: dict[str, str], options: VerifyOptions) -> Answer:
    from pecli.inspect.verification import verify
    from pecli.tables.sources import open_source, read_source

    if choice and (recipe is None or kind_of(recipe) is not Kind.CONFIG):
        read_source(text, **choice)  # which says why it has no effect
    table = open_source(text)
    with progress_for("verifying", options, table, table) as advance:  # which is read and computed
        found = verify(table, text, recipe, advance, allowed_by(options), **choice)
    return {"source": text, **found.as_dict()}, verified_view(found, recipe, every=options.all)


def _folder(path: str, recipe: str | None, _: dict[str, str], options: VerifyOptions) -> Answer:
    from pecli.inspect.verification import verify_folder

    found = verify_folder(path, recipe, tolerance=allowed_by(options))
    facts = {"source": path, "verified": found.good, "recipe": found.recipe, "count": found.count}
    parts = [part.as_dict() for part in found.parts]
    return {**facts, "findings": found.findings, "parts": parts}, folder_view(found, every=options.all)


def verified_view(found: Verified, given: str | None = None, *, every: bool = False) -> list[Item]:
    """Return whether a file holds what its recipe, or the one that was given, gives, why not, and where."""
    if found.problem or found.comparison is None:
        return [Verdict(f"not verified: {found.path}: {found.problem}", False)]
    recipe = [Fact("recipe", short_recipe(found.recipe))] if found.recipe else []  # one component has none
    if found.good:
        count = found.comparison.total.compared
        within = "" if found.comparison.tolerance.exact else f", within {found.comparison.tolerance}"
        text = f"verified: {count:,} values of {found.path} are what {given or 'its recipe'} gives{within}"
        return [Verdict(text, True), *recipe]
    items = difference_view(found.comparison, ("file", "recipe"), every=every)
    return [*items[:1], Fact("file", found.path), *recipe, *items[1:]]


def folder_view(found: Folder, *, every: bool = False) -> list[Item]:
    """Return whether the parts in a folder make up one table."""
    total = f"{len(found.parts)} of {found.count} parts" if found.count else f"{len(found.parts)} files"
    wrongly = "is not complete" if found.findings else "is whole and not right"
    verdict = "is complete and correct" if found.good else wrongly
    lead = "verified" if found.good else "different"
    items: list[Item] = [Verdict(f"{lead}: {found.path} {verdict}, {total}", found.good)]
    items += [f"  {text}" for text in found.findings]
    wrong = [f"  {one.path} is not verified: {_problem(one)}" for one in found.parts if not one.good and one.recipe]
    items += wrong if every else wrong[:MAX_PARTS]  # those without a recipe are findings
    if len(wrong) > MAX_PARTS and not every:
        items.append(f"  and {len(wrong) - MAX_PARTS} more parts, with --all")
    if every:
        items += [f"  {part.path} is verified" for part in found.parts if part.good]
    return [*items, Fact("recipe", short_recipe(found.recipe))] if found.recipe else items


def _problem(part: Verified) -> str:
    if part.problem or part.comparison is None:
        return part.problem or "it was not compared"
    count = part.comparison.total.beyond
    return f"{count:,} values differ" if count else part.comparison.verdict.removeprefix("different: ")
