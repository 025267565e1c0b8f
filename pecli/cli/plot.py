"""``pecli plot SOURCE [-o FILE]``: pictures in the terminal, SVG, PNG and PDF files, and interactive pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pecli.cli.options import NO_CLOBBER, OUTPUT, TableChoice, argument, choice_of, flag, option, refuse, refuse_table
from pecli.cli.terminal.output import clean, print_json, say, screen_width, tell, wants_colour
from pecli.cli.terminal.writing import write_whole
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer
from pecli.numbers.reader import shown
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import PICTURES

if TYPE_CHECKING:
    from pecli.plots.charts import Chart

PICTURE = "Picture"


@dataclass(frozen=True, kw_only=True)
class PlotOptions(TableChoice):
    """The options of ``plot``."""

    source: str = argument("A file, a recipe or a config.json.", "SOURCE")
    kind: str | None = option("Pictures, joined with +: {} (default: what suits).", "WORD", PICTURE, (*PICTURES, "all"))
    channels: str | None = option("Columns, or pairs of rotation, to draw: 0,1,8,9.", "LIST", PICTURE)
    output: str = option(
        "Draw to .svg, .png, .pdf or .html (default: terminal).", "FILE", OUTPUT, names=("--output", "-o"), default="-"
    )
    no_clobber: bool = flag(NO_CLOBBER)


def command(options: PlotOptions) -> int:
    """Draw a table."""
    from pecli.cli.inspect import open_table_of
    from pecli.plots.figures import check_picture, is_page
    from pecli.plots.page import page_of
    from pecli.plots.tables import charts_of_table
    from pecli.tables.sources import read_source

    check_picture(options.output, page=True)
    words = options.kind.split("+") if options.kind else []
    page = is_page(options.output)
    if page:
        refuse("is for pictures: a page shows all values", options, "kind", "channels")
    if options.json and options.output == "-":
        raise BadParameter("output", "-", "is standard output, where --json prints: name a file")
    name = shown(options.source)
    name = CATALOGUE[name].usual if name in CATALOGUE else name  # which the title says
    source = read_source(name, **choice_of(options))
    if not source.is_recipe:
        refuse_table(options.table.items())
    table = open_table_of(source, options.table)
    columns = [parse_integer("channels", n) for n in (options.channels or "").replace("+", ",").split(",") if n]
    charts = page_of(table, name) if page else charts_of_table(table, name, words, columns)
    quiet = options.quiet or options.json
    show_charts(charts, options.output, clobber=not options.no_clobber, quiet=quiet)
    if options.kind is None and not (page or quiet or options.output == "-"):
        tell("  --kind all draws every picture that suits it, and --kind WORD another one")
    if options.json:
        titles = [] if isinstance(charts, str) else [chart.title for chart in charts]
        print_json({"source": name, "path": options.output, "pictures": titles})
    return 0


def check_plot(options: Any) -> None:
    """Refuse, before any work, a picture of --plot that cannot be drawn."""
    from pecli.plots.figures import check_picture

    if options.plot == "-" and options.json:
        raise BadParameter("plot", "-", "cannot go with --json: both use standard output")
    check_picture(options.plot)


def show_charts(charts: Sequence[Chart] | str, path: str, *, clobber: bool = True, quiet: bool = False) -> None:
    """Draw charts in the terminal ("-"), or write them, or a ready page, to a file, whole or not at all.

    Raises
    ------
    UnknownName, MissingPackage, WriteFailed, WouldOverwrite
        If the picture cannot be made or written.
    """
    from pecli.plots.figures import picture_bytes
    from pecli.plots.terminal import draw

    if path == "-" and not isinstance(charts, str):
        say(draw(charts, min(screen_width() or 80, 120), colour=wants_colour()))
        return
    write_whole(path, charts if isinstance(charts, str) else picture_bytes(charts, path), clobber=clobber)
    if not quiet:
        tell(clean(f"drew {path}"))
