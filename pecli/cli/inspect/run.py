"""``pecli inspect``: from options to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pecli.cli.terminal.output import print_json
from pecli.declare.words import PICTURES
from pecli.errors import BadParameter, UnknownName

if TYPE_CHECKING:
    from pecli.declare.tabular import Tabular
    from pecli.drawing.pictures import Chart
    from pecli.inspection.statistics import Inspection
    from pecli.numbers.positions import Positions
    from pecli.sources.sources import NamedSource

DEFAULT_ROWS = 128
LARGEST = 16 << 30  # bytes of a recipe's values, computed in some ten seconds; a file may have any size
SHOWN = 4  # positions of a worked example that begins elsewhere


@dataclass(frozen=True)
class Wanted:
    """What the command was asked for."""

    identify: bool = False
    verify: bool = False
    recipe: str | None = None
    properties: bool = False
    steps: bool = False
    sha256: bool = False
    plot: str | None = None
    picture: str | None = None
    rows: str | None = None
    columns: str | None = None
    precision: str | None = None
    json: bool = False
    quiet: bool = False

    @property
    def words(self) -> list[str]:
        """The pictures asked for."""
        return self.picture.split("+") if self.picture else []


def inspect_source(text: str, wanted: Wanted, table: Mapping[str, Any], choice: Mapping[str, str]) -> int:
    """Do what was asked; return the exit status.

    `table` holds options of a recipe's table, `choice` what is read of a config.
    """
    from pecli.sources.kinds import Kind, kind_of
    from pecli.sources.sources import read_source

    if wanted.recipe is not None and not wanted.verify:
        raise BadParameter("recipe", wanted.recipe, "is for --verify: give both, or compare the file with the recipe")
    if wanted.picture is not None and wanted.plot is None:
        raise BadParameter("picture", wanted.picture, "says what --plot draws: give --plot PATH, or - for the terminal")
    if wanted.plot is not None:
        _check_drawing(wanted)
    if kind_of(text) is Kind.FOLDER:
        if not wanted.verify:
            raise BadParameter("SOURCE", text, "is a folder: name a file in it, or --verify its parts")
        return _verify_folder(text, wanted)
    _check_steps(wanted)
    source = read_source(text, **choice)
    if table and not source.is_recipe and not (wanted.identify and set(table) == {"positions"}):
        name = next(iter(table))
        raise BadParameter(name.replace("length", "len"), table[name], "is for recipes: a file has its own")
    if wanted.verify:
        return _verify(text, source, wanted)
    if wanted.steps:
        return _steps(source, wanted, table)
    return _look(source, wanted, table)


def _verify(text: str, source: NamedSource, wanted: Wanted) -> int:
    from pecli.cli.terminal.screen import progress_for
    from pecli.inspection.verification import verify

    if source.is_recipe:
        raise BadParameter("SOURCE", text, "is a recipe: --verify is for files, against their recipe")
    table = source.open()
    total = 2 * sum(array.bytes for array in table.arrays)
    with progress_for(total, quiet=wanted.quiet or wanted.json) as advance:
        found = verify(table, text, wanted.recipe, advance)
    if wanted.json:
        print_json({"source": text, **found.as_dict()})
    elif not wanted.quiet:
        from pecli.cli.inspect.view import show_verified

        show_verified(found)
    return 0 if found.good else 1


def _verify_folder(path: str, wanted: Wanted) -> int:
    from pecli.inspection.verification import verify_folder

    found = verify_folder(path, wanted.recipe)
    if wanted.json:
        parts = [part.as_dict() for part in found.parts]
        result = {"source": path, "verified": found.good, "recipe": found.recipe, "count": found.count}
        print_json({**result, "findings": found.findings, "parts": parts})
    elif not wanted.quiet:
        from pecli.cli.inspect.view import show_folder

        show_folder(found)
    return 0 if found.good else 1


def _check_steps(wanted: Wanted) -> None:
    """Raise for what says nothing beside a worked example."""
    others = {
        "identify": wanted.identify, "verify": wanted.verify, "properties": wanted.properties, "sha256": wanted.sha256,
        "rows": wanted.rows, "columns": wanted.columns, "precision": wanted.precision,
    }  # fmt: skip
    for name, value in others.items() if wanted.steps else ():
        if value not in (None, False):
            raise BadParameter(name, str(value).lower(), "cannot stand with --steps: ask for one after the other")


def _steps(source: NamedSource, wanted: Wanted, table: Mapping[str, Any]) -> int:
    from pecli.lessons.lesson import work_through
    from pecli.numbers.text import parse_integer

    if source.recipe is None:
        raise BadParameter("steps", "true", "works an example of a recipe: give one, such as rope:dim=4")
    given = {**source.given, **table}
    length = given.get("length", given.get("len"))
    rows = None if length is None else parse_integer("len", length)
    charts = [] if wanted.plot is None else _charts(open_table_of(source, table), source.text, wanted)
    found = work_through(source.recipe, _board_positions(given, rows), rows)
    if wanted.json:
        print_json({"source": source.text, **found.as_dict(), "recipe": str(source.recipe)})
    elif not wanted.quiet:
        from pecli.cli.inspect.lesson_view import text_of
        from pecli.cli.terminal.output import say

        say(text_of(found))
    _draw(charts, wanted)
    return 0


def _board_positions(given: Mapping[str, Any], rows: int | None) -> Positions | None:
    """Return the positions to work out, where they are given: a list, or a start and a step."""
    from pecli.numbers.positions import Positions
    from pecli.numbers.text import parse_number

    if given.get("positions") is not None:
        return Positions.parse(str(given["positions"]))
    first, by = given.get("start"), given.get("step")
    if first is None and by is None:
        return None
    start, step = (parse_number(n, v) for n, v in (("start", first or 0), ("step", by or 1)))
    return Positions.arange(min(rows or SHOWN, SHOWN), start, step)


def open_table_of(source: NamedSource, table: Mapping[str, Any]) -> Tabular:
    """Open a source; a recipe that does not say its length gets a short one."""
    from pecli.sources.alignment import open_alone

    if not source.is_recipe:
        return source.open()  # positions, if given, are for its identification
    if table.keys() & {"length", "positions"} or source.says_length:
        return source.open(**table)
    return open_alone(source, DEFAULT_ROWS, **table)


def _look(source: NamedSource, wanted: Wanted, options: Mapping[str, Any]) -> int:
    """Report statistics, and what else was asked for."""
    from pecli.cli.terminal.screen import progress_for, size_text
    from pecli.inspection.statistics import inspect_table

    table = open_table_of(source, options)
    total = sum(array.bytes for array in table.arrays)
    if source.is_recipe and total > LARGEST:
        rule = f"makes {size_text(total)} of values to go through: look at a part with --len N, or at --start P"
        raise BadParameter("len", max(array.rows for array in table.arrays), rule)
    more: dict[str, Any] = {}
    if wanted.identify:
        from pecli.identification.identification import identify

        more["identity"] = identify(table, _given_positions(source, options))
    if wanted.properties:
        from pecli.inspection.properties import measure_properties

        more["properties"] = measure_properties(table)
    charts = _charts(table, source.text, wanted)
    if wanted.plot == "-" and not (more or wanted.sha256):  # the picture is the answer
        _draw(charts, wanted)
        return 0
    with progress_for(total, quiet=wanted.quiet or wanted.json) as advance:
        found = inspect_table(source.text, table, sha256=wanted.sha256, progress=advance)
    if wanted.json:
        print_json(as_dict(found, more))
    elif not wanted.quiet:
        _show(found, more, table, wanted)
    _draw(charts, wanted)
    return 0


def _given_positions(source: NamedSource, options: Mapping[str, Any]) -> Any:
    """Return the positions that the command gives to the rows of a file."""
    if source.is_recipe or "positions" not in options:
        return None
    from pecli.numbers.positions import Positions

    given = Positions.parse(options["positions"])
    return given.numbers(0, given.count)


def _show(found: Inspection, more: Mapping[str, Any], table: Tabular, wanted: Wanted) -> None:
    from pecli.cli.inspect.view import show_inspection
    from pecli.cli.terminal.screen import whole_number
    from pecli.inspection.preview import preview

    rows = whole_number("rows", wanted.rows, 1, 100_000) or 8
    columns = whole_number("columns", wanted.columns, 1, 10_000) or 8
    precision = whole_number("precision", wanted.precision, 0, 17)
    show_inspection(found, more, preview(table, rows=rows, columns=columns), 4 if precision is None else precision)


def _check_drawing(wanted: Wanted) -> None:
    """Raise for words that cannot be drawn, before anything is read."""
    from pecli.drawing.pictures import check_picture

    assert wanted.plot is not None
    check_picture(wanted.plot)
    for word in wanted.words:
        if word not in PICTURES:
            raise UnknownName("picture", word, PICTURES)
    if wanted.plot == "-" and wanted.json:
        raise BadParameter("plot", "-", "prints to where --json prints: name a file, .svg or .png")
    if wanted.verify:
        raise BadParameter("plot", wanted.plot, "cannot stand with --verify: draw the file in a command of its own")


def _charts(table: Tabular, text: str, wanted: Wanted) -> list[Chart]:
    """Return the pictures asked for, before anything is printed."""
    if wanted.plot is None:
        return []
    from pecli.drawing.tables import charts_of_table

    return charts_of_table(table, text, wanted.words)


def _draw(charts: Sequence[Chart], wanted: Wanted) -> None:
    if wanted.plot is not None:
        from pecli.cli.terminal.drawing import show_charts

        show_charts(charts, wanted.plot, quiet=wanted.quiet)


def as_dict(found: Inspection, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return what --json prints of an inspection."""
    arrays = [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in found.arrays]
    result: dict[str, Any] = {
        "source": found.source,
        "format": found.format,
        "arrays": arrays,
        "recipe": found.recipe,
        "metadata": found.metadata,
        "statistics": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in found.statistics},
    }
    if found.positions is not None:
        result["positions"] = found.positions
    if found.slopes is not None:
        result["slopes"] = found.slopes
    if found.statistics and found.statistics[0].sha256 is not None:
        result["sha256"] = {s.name: s.sha256 for s in found.statistics}
    if "identity" in more:
        result |= more["identity"].as_dict()
    if "properties" in more:
        from pecli.inspection.properties import as_dicts

        result["properties"] = as_dicts(more["properties"])
    return result
