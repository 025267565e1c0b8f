"""``inspect --verify``: whether files, and folders of parts, hold what their recipes say; one status for all."""

from __future__ import annotations

from typing import Any

from pecli.cli.inspect.options import InspectOptions, refuse_table
from pecli.cli.inspect.view import folder_view, verified_view
from pecli.cli.terminal.items import Item
from pecli.cli.terminal.output import print_json
from pecli.cli.terminal.screen import progress_for, show
from pecli.errors import BadParameter


def verify_sources(options: InspectOptions) -> int:
    """Verify one source after the other; return 0 if every value of each is right, else 1."""
    from pecli.sources.kinds import Kind, kind_of
    from pecli.sources.parts import is_dataset

    if any(kind_of(text) is Kind.FOLDER for text in options.sources):
        for name, word in {**options.table, **options.choice}.items():
            rule = "is not for a folder of parts, which say themselves what they are"
            raise BadParameter(name.replace("length", "len").replace("_", "-"), word, rule)
    refuse_table(options)
    answers: list[dict[str, Any]] = []
    for text in options.sources:
        one = _folder if kind_of(text) is Kind.FOLDER and not is_dataset(text) else _file
        answer, items = one(text, options)
        answers.append(answer)
        if not options.json:
            show(*items)
    if options.json:
        good = all(answer["verified"] for answer in answers)
        print_json(answers[0] if len(answers) == 1 else {"verified": good, "sources": answers})
    return 0 if all(answer["verified"] for answer in answers) else 1


def _file(text: str, options: InspectOptions) -> tuple[dict[str, Any], list[Item]]:
    from pecli.inspect.verification import verify
    from pecli.sources.sources import read_source

    source = read_source(text, **options.choice)
    if source.is_recipe:
        raise BadParameter("SOURCE", text, "is a recipe: --verify is for files, against their recipe")
    table = source.open()
    total = 2 * sum(array.bytes for array in table.arrays)
    with progress_for(total, quiet=options.quiet or options.json) as advance:
        found = verify(table, text, options.recipe, advance)
    return {"source": text, **found.as_dict()}, verified_view(found)


def _folder(path: str, options: InspectOptions) -> tuple[dict[str, Any], list[Item]]:
    from pecli.inspect.verification import verify_folder

    found = verify_folder(path, options.recipe)
    facts = {"source": path, "verified": found.good, "recipe": found.recipe, "count": found.count}
    parts = [part.as_dict() for part in found.parts]
    return {**facts, "findings": found.findings, "parts": parts}, folder_view(found)
