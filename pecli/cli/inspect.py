"""``pecli inspect SOURCE``: which question about a source its options ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pecli.cli.options import (
    refuse,
)  # fmt: skip
from pecli.cli.terminal.items import size_text
from pecli.cli.terminal.output import print_json, prose_width, say
from pecli.cli.terminal.screen import progress_for, show
from pecli.errors import BadParameter
from pecli.models.stacks import STACKS
from pecli.numbers.reader import shown
from pecli.spec.facts import PICTURES

if TYPE_CHECKING:
    from pecli.numbers.positions import Positions
    from pecli.plots.charts import Chart
    from pecli.spec.tabular import Tabular
    from pecli.tables.sources import NamedSource
from pecli.cli.inspect_options import InspectOptions, refuse_table

DEFAULT_ROWS = 128
LARGEST = 16 << 30  # bytes of a recipe's values, computed in some ten seconds; a file may have any size
BRIEF_ROWS = 4  # of the values, where nothing more was asked for
SHOWN = 4  # positions of a worked example that begins elsewhere
MODES = ("verify", "steps", "expect", "frequencies", "similarity", "shift_matrix")  # each gives an answer of its own
REPORTED = ("identify", "properties", "sha256")  # answers that one report holds together
QUESTIONS = (*REPORTED, "recipe", "plot", "picture", *(m for m in MODES if m != "frequencies"))
WRITTEN = ("similarity", "shift_matrix")  # tables of their own
VIEW = ("rows", "columns", "precision")  # how the head of the values is printed


def command(options: InspectOptions) -> int:
    """Say what a table holds; identify it, verify it, measure it, draw it."""
    from pecli.formats.paths import Kind, is_checkpoint, kind_of
    from pecli.tables.sources import read_source

    text, table, kind = options.source, options.table, kind_of(options.source)
    if kind is Kind.CONFIG and not table and not any(getattr(options, name) for name in (*QUESTIONS, *VIEW)):
        return _explain(options)
    _check(options)
    if options.verify:
        from pecli.cli.inspect_report import verify_sources

        return verify_sources(options)
    if kind is Kind.FOLDER and is_checkpoint(text):
        return _checkpoint(options)
    if options.steps and kind is Kind.RECIPE and ":" not in text:
        from pecli.spec.catalogue import find

        text = find(text).example  # who names an encoding alone is shown its declared example
    source = read_source(text, **options.choice)
    if table and not source.is_recipe and not (options.identify and set(table) == {"positions"}):
        refuse_table(options)
    if options.steps:
        return _steps(source, options)
    if options.expect is not None or options.similarity is not None or options.shift_matrix is not None:
        from pecli.cli.inspect_report import check_expectations, show_matrix

        return (show_matrix if options.expect is None else check_expectations)(table_of(source, options), options)
    if options.frequencies:
        from pecli.cli.inspect_report import show_frequencies

        return show_frequencies(source, _length({**source.given, **options.table}), json=options.json)
    return _look(source, options)


def _check(options: InspectOptions) -> None:
    """Raise for options that would have no effect beside each other, before anything is read."""
    if len(options.sources) > 1 and not options.verify:
        rule = "is one source too many: several are checked with --verify; for parts of one table quote the pattern"
        raise BadParameter("SOURCE", options.sources[1], rule)
    if not options.verify:
        refuse("is for --verify: give both, or compare the file with the recipe", options, "recipe")
    if options.plot is None:
        refuse("says what --plot draws: give --plot PATH, or - for the terminal", options, "picture", "channels")
    else:
        _check_drawing(options)
    mode = next((name for name in MODES if getattr(options, name)), None)
    if mode is not None:
        shown = VIEW if mode not in WRITTEN or options.output is not None else ()
        drawn = () if mode in ("steps", "verify") else ("plot",)
        every = (*REPORTED, *MODES, *shown, *drawn)
        others = [name for name in every if name != mode and (mode, name) != ("steps", "precision")]
        refuse(f"cannot stand with --{mode.replace('_', '-')}: ask for one after the other", options, *others)
    if mode not in WRITTEN:
        refuse("is for --similarity and --shift-matrix: inspect writes nothing else", options, "output", "format")
    if options.output is None:
        refuse("has no effect without -o", options, "no_clobber")
    if options.json:
        refuse("is for the screen: leave it out with --json", options, *VIEW)
    if options.frequencies:
        rule = "has no effect on frequencies: leave it out with --frequencies"
        refuse(rule, options, "start", "step", "positions", "dtype", "layout", "form")
    if options.steps and options.plot is None:
        refuse("has no effect on a worked example: leave it out with --steps", options, "dtype", "layout", "form")


def _explain(options: InspectOptions) -> int:
    """Say what a config says of its positions."""
    from pecli.cli.inspect_report import brief, explanation
    from pecli.inspect.configs import report
    from pecli.models.reader import read_config

    stack = options.stack or STACKS[0]
    found = report(read_config(options.source, layer_type=options.layer_type, stack=stack))
    if options.json:
        print_json({"source": options.source, "format": "config", **asdict(found)})
    else:
        whole = options.all or options.frequencies
        show(*(explanation(found, every=options.frequencies) if whole else brief(found)))
    return 0


def _checkpoint(options: InspectOptions) -> int:
    """Say what a checkpoint's folder holds of positions."""
    from pecli.cli.inspect_report import checkpoint_view
    from pecli.inspect.checkpoints import inspect_checkpoint

    rule = "is for tables, and this is a checkpoint's folder: name a file in it"
    refuse(rule, options, *QUESTIONS, "frequencies", "rows", "columns", "layer_type")
    refuse_table(options)
    found = inspect_checkpoint(options.source, options.stack or STACKS[0])
    if options.json:
        print_json({"source": options.source, "format": "checkpoint", **asdict(found)})
    else:
        show(*checkpoint_view(found, short=not options.all))
    return 0


def _steps(source: NamedSource, options: InspectOptions) -> int:
    """Work an example of a recipe."""
    from pecli.cli.inspect_report import text_of
    from pecli.teach.examples import work_through

    if source.recipe is None:
        raise BadParameter("steps", "true", "works an example of a recipe: give one, such as rope:dim=4")
    given = {**source.given, **options.table}
    rows = _length(given)
    charts = [] if options.plot is None else _charts(table_of(source, options), options)
    found = work_through(source.recipe, _board_positions(given, rows), rows)
    if options.json:
        print_json({"source": source.text, **found.as_dict(), "recipe": str(source.recipe)})
    else:
        say(text_of(found, width=prose_width()))
    _draw(charts, options)
    return 0


def _length(given: Mapping[str, Any]) -> int | None:
    from pecli.numbers.decimals import parse_count

    length = given.get("length", given.get("len"))
    return None if length is None else parse_count("len", length)


def _board_positions(given: Mapping[str, Any], rows: int | None) -> Positions | None:
    """Return the positions to work out, where they are given: a list, or a start and a step."""
    from pecli.numbers.decimals import parse_number, parse_position
    from pecli.numbers.positions import Positions

    if given.get("positions") is not None:
        return Positions.parse(str(given["positions"]))
    first, by = given.get("start"), given.get("step")
    if first is None and by is None:
        return None
    start, step = parse_position("start", first or 0), parse_number("step", by or 1)
    return Positions.arange(min(rows or SHOWN, SHOWN), start, step)


def table_of(source: NamedSource, options: InspectOptions) -> Tabular:
    """Open a source; a recipe that does not say its length gets a short one."""
    from pecli.tables.alignment import open_alone

    table = options.table
    if not source.is_recipe:
        return source.open()  # positions, if given, are for its identification
    if table.keys() & {"length", "positions"} or source.says_length:
        return source.open(**table)
    return open_alone(source, DEFAULT_ROWS, **table)


def _look(source: NamedSource, options: InspectOptions) -> int:
    """Report statistics, and what else was asked for."""
    from pecli.cli.inspect_report import as_dict, brief_view, full_view
    from pecli.inspect.statistics import inspect_table, preview

    table = table_of(source, options)
    total = sum(array.bytes for array in table.arrays)
    if source.is_recipe and total > LARGEST:
        rule = f"makes {size_text(total)} of values to go through: look at a part with --len N, or at --start P"
        raise BadParameter("len", max(array.rows for array in table.arrays), rule)
    more: dict[str, Any] = {}
    if options.identify:
        from pecli.judge.identify import identify
        from pecli.tables.alignment import take_type

        take_type(table, "float32")
        more["identity"] = identify(table, _given_positions(source, options))
    if options.properties:
        from pecli.inspect.properties import measure_properties

        more["properties"] = measure_properties(table)
    charts = _charts(table, options)
    if options.plot == "-" and not (more or options.sha256):  # the picture is the answer
        _draw(charts, options)
        return 0
    with progress_for(total, quiet=options.quiet or options.json) as advance:
        found = inspect_table(source.text, table, sha256=options.sha256, progress=advance)
    if options.json:
        print_json(as_dict(found, more))
    else:
        long = bool(more) or options.sha256 or options.all
        rows = options.rows or (8 if long else BRIEF_ROWS)
        parts = preview(table, rows=rows, columns=options.columns or 8)
        show(*(full_view(found, more, parts) if long else brief_view(found, parts)))
    _draw(charts, options)
    return 0


def _given_positions(source: NamedSource, options: InspectOptions) -> Any:
    """Return the positions that the command gives to the rows of a file."""
    if source.is_recipe or options.positions is None:
        return None
    from pecli.numbers.positions import Positions

    given = Positions.parse(options.positions)
    return given.numbers(0, given.count)


def _check_drawing(options: InspectOptions) -> None:
    """Raise for words that cannot be drawn, before anything is read."""
    from pecli.plots.charts import check_words
    from pecli.plots.images import check_picture, is_page

    assert options.plot is not None
    check_picture(options.plot, page=True)
    check_words(options.pictures, PICTURES)
    if options.plot == "-" and options.json:
        raise BadParameter("plot", "-", "prints to where --json prints: name a file, .svg or .png")
    if is_page(options.plot):
        refuse("is for pictures: a page shows the values and their pairs", options, "picture", "channels")
    if options.verify:
        raise BadParameter("plot", options.plot, "cannot stand with --verify: draw the file in a command of its own")


def _charts(table: Tabular, options: InspectOptions) -> list[Chart] | str:
    """Return the pictures asked for, or the page, before anything is printed."""
    if options.plot is None:
        return []
    from pecli.plots.images import is_page

    if is_page(options.plot):
        from pecli.plots.page import page_of

        return page_of(table, shown(options.source))
    from pecli.plots.tables import charts_of_table

    return charts_of_table(table, shown(options.source), options.pictures, options.columns_drawn)


def _draw(charts: Sequence[Chart] | str, options: InspectOptions) -> None:
    if options.plot is not None:
        from pecli.cli.terminal.drawing import show_charts

        show_charts(charts, options.plot, quiet=options.quiet)
