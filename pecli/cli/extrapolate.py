"""``pecli extrapolate SOURCE...``: reports beyond the trained length, and longer tables and checkpoints."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecli.cli import options as shared
from pecli.cli.options import LONGEST, OUTPUT, SCREEN, argument, flag, option, positions, refuse, whole
from pecli.cli.plot import check_plot, show_charts
from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, Verdict, grid
from pecli.cli.terminal.layout import TABLE_FORMATS
from pecli.cli.terminal.output import tell
from pecli.cli.terminal.screen import answer
from pecli.cli.terminal.writing import Writing, deliver, deliver_checkpoint
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer, parse_number
from pecli.numbers.printing import figure, padded, percent
from pecli.numbers.reader import shown
from pecli.spec.declaration import REACHES
from pecli.spec.tabular import Tabular

if TYPE_CHECKING:
    from pecli.extrapolate.coverage import Coverage, WaveReach
    from pecli.extrapolate.reach import BiasReach, IndexReach
    from pecli.extrapolate.report import Extrapolation
    from pecli.tables.sources import NamedSource

LENGTHS, SCALINGS, LONGER = "Lengths", "Context extensions", "Longer tables"
WAYS = ("linear", "cubic", "nearest", "tile")
LARGEST_SIDE = 1 << 20  # patches


def grid_size(name: str, given: str) -> tuple[int, int]:
    """Return the sides that ``HxW`` writes."""
    try:
        height, width = (parse_integer(name, side) for side in given.lower().split("x"))
    except ValueError:  # of another number of sides, or of text that is no number
        height = width = 0
    if not (0 < height < LARGEST_SIDE and 0 < width < LARGEST_SIDE):
        raise BadParameter(name, given, "must be two whole numbers, height x width, such as 14x14")
    return height, width


def scaling_factor(name: str, given: str) -> Decimal:
    """Return a factor as written."""
    value = parse_number(name, given)
    if not 0 < value <= 10**9:
        raise BadParameter(name, given, "must be above 0 and at most 1e9")
    return value


@dataclass(frozen=True, kw_only=True)
class ExtrapolateOptions(Writing):
    """The options of ``extrapolate``."""

    sources: tuple[str, ...] = argument("Recipes, models' config.json, or files.", "SOURCE...")
    train_len: int | None = option("Length in training (default: the source's).", "N", LENGTHS, check=positions(1))
    test_len: int | None = option("Positions wanted.", "M", LENGTHS, check=positions(2))
    threshold: float | None = option(
        "Smallest weight that counts, relative to the nearest key's (default 0.01).",
        "X",
        LENGTHS,
        check=lambda name, given: float(parse_number(name, given)),
    )
    tuned: bool = flag("The model was trained with the scaling in the recipe.", panel=LENGTHS)
    scaling: str | None = option("Compare context extensions: all, or linear,yarn.", "LIST", SCALINGS)
    factor: Decimal | None = option("Factor of these extensions (default M/N).", "X", SCALINGS, check=scaling_factor)
    extend: str | None = option("Extend trained rows: {}.", "WAY", LONGER, WAYS)
    to_grid: tuple[int, int] | None = option("Resize patches to this grid: 24x24.", "HxW", LONGER, check=grid_size)
    grid: tuple[int, int] | None = option(
        "Grid of the rows (default: the square that fits).", "HxW", LONGER, check=grid_size
    )
    prefix: int | None = option(
        "Leading rows that are not resized (default: those before a grid).", "K", LONGER, check=whole(0, LONGEST)
    )
    antialias: bool = flag("Antialias when a grid shrinks (linear, cubic).", panel=LONGER)
    format: str | None = option(f"Print tables as {', '.join(TABLE_FORMATS)}; with -o, its format.", "WORD", OUTPUT)
    dtype: str | None = option(shared.DTYPE)
    layout: str | None = option(shared.LAYOUT)
    layer_type: str | None = option(shared.LAYER_TYPE)
    plot: str | None = option("Draw the figures to a .svg, .png or .pdf; - is the terminal.", "FILE")
    kind: str | None = option("What --plot draws, joined with +: {} (default: all).", "WORD", words=REACHES)
    precision: int | None = option(shared.PRECISION)
    all: bool = flag("Every pair, head and statistic, and the rules.", panel=SCREEN)


def check_together(options: ExtrapolateOptions) -> None:
    """Refuse options that would have no effect together."""
    if options.plot is None:
        refuse("says what --plot draws: give --plot PATH, or - for the terminal", options, "kind")
    extending = ("grid", "to_grid", "antialias", "prefix")
    measuring = ("threshold", "tuned", "all")
    writing = (*(() if options.format in TABLE_FORMATS else ("format",)), "dtype", "layout")
    if options.output is not None or options.extend is not None:
        refuse("draws reports, and -o and --extend make a table instead: leave one out", options, "plot")
        refuse("is for reports, and -o and --extend make a table instead: leave one out", options, *measuring)
    if options.output is None:
        refuse("has no effect without -o", options, *writing, *(() if options.plot else ("no_clobber",)))
    elif len(options.sources) > 1:
        raise BadParameter("SOURCE", len(options.sources), "sources cannot share -o: extend one at a time")
    if options.to_grid is None:
        refuse("needs --to-grid too", options, "grid")
    if options.extend is None:
        refuse(f"needs --extend: {', '.join(WAYS)}", options, *extending)
    if options.scaling is None:
        refuse("needs --scaling all, or a list of scalings", options, "factor")


def checkpoint_of(options: ExtrapolateOptions) -> tuple[str, str] | None:
    """Return a checkpoint and the array in it to extend, where the output is to be a checkpoint too."""
    path, _, name = options.sources[0].partition("::")
    output = options.output
    if output is None or options.extend is None or not name or name.endswith("]") or len(options.sources) > 1:
        return None
    folder = os.path.isdir(path) and not Path(output).suffix
    file = path.endswith(".safetensors") and output.endswith(".safetensors") and os.path.isfile(path)
    return (path, name) if (folder or file) and options.format in (None, "safetensors") else None


def write_checkpoint(path: str, name: str, options: ExtrapolateOptions) -> int:
    """Write it, and say what was done."""
    from pecli.apply.checkpoints import file_with, replace_array
    from pecli.extrapolate.report import read_sources

    new = _extended(read_sources(f"{file_with(path, name)}::{name}", options.layer_type)[0], options)
    (array,) = new.arrays

    def write() -> tuple[dict[str, Any], str, int]:
        size = replace_array(path, str(options.output), name, new, clobber=not options.no_clobber)
        text = f"{name} extended by {options.extend} to {array.shape[-2]} rows, every other tensor as it was"
        return {"replaced": {name: array.shape}}, text, size

    deliver_checkpoint(write, options)
    if (Path(path) / "config.json").is_file() and not (options.json or options.quiet):
        tell("pecli: config.json is unchanged: change its number of positions yourself")
    return 0


def command(options: ExtrapolateOptions) -> int:
    """Measure what an encoding does beyond the length it was trained on, or make the longer table."""
    from pecli.extrapolate.report import read_sources, report, rules_of

    if options.to_grid is not None and options.extend is None:
        options = replace(options, extend="cubic")
    check_together(options)
    if options.plot is not None:
        check_plot(options)
    if (whole := checkpoint_of(options)) is not None:
        return write_checkpoint(*whole, options)
    sources = [source for text in options.sources for source in read_sources(text, options.layer_type)]
    if options.output is not None:
        if len(sources) > 1:
            rule = f"has {len(sources)} kinds of layers, and -o writes one table: choose one with --layer-type"
            raise BadParameter("SOURCE", options.sources[0], rule)
        table, label = _longer(sources[0], options)
        return deliver(table, label, options)
    if options.extend is not None:
        return _show_extensions(sources, options)
    reports = [
        report(
            source, options.train_len, options.test_len, scaling=options.scaling, factor=options.factor,
            threshold=options.threshold, tuned=options.tuned,
        )
        for source in sources
    ]  # fmt: skip
    if not any(report.bias for report in reports):
        refuse("is for biases, and these sources have none: leave it out", options, "threshold")
    if options.plot is not None:
        from pecli.plots.reach import charts_of

        charts = charts_of(reports, options.kind.split("+") if options.kind else ())
        if not charts:
            rule = "has nothing to draw: these sources have neither phases nor biases"
            raise BadParameter("plot", options.plot, rule)
        show_charts(charts, options.plot, clobber=not options.no_clobber, quiet=options.quiet)
    rules = rules_of(reports)
    result = {"reports": [asdict(report) for report in reports], "rules": rules}
    every = options.all or options.format is not None
    if options.json or options.plot != "-":
        answer(options, lambda: result, lambda: reports_view(reports, rules if every else None))
    return 0


def _longer(source: NamedSource, options: ExtrapolateOptions) -> tuple[Tabular, str]:
    """Return the longer table and what to call it."""
    from pecli.extrapolate.longer import longer_table

    if options.extend is not None:
        return _extended(source, options), f"{shown(source.text)} extended by {options.extend}"
    found, table = longer_table(
        source, options.train_len, options.test_len, options.scaling, options.factor, options.dtype, options.layout
    )
    if found.bias is not None and not options.silent:
        tell(f"{found.encoding} has a bias for every distance: its table need not grow")
    return table, f"{table.label} ({found.verdict})"


def _extended(source: NamedSource, options: ExtrapolateOptions) -> Tabular:
    """Return trained rows, of a file or a learned recipe, as another number of rows."""
    from pecli.extrapolate.longer import extended_rows
    from pecli.extrapolate.resize import Extension

    way = str(options.extend)
    rule = "cannot go with --extend: trained rows keep their type and have no recipe"
    refuse(rule, options, "scaling", "layout", "dtype")
    if options.output is not None and options.to_grid is None and way != "tile" and not options.silent:
        tell(f"pecli: {way} spreads the trained rows over the new length, so that most of the old positions "
             "get another row; --extend tile keeps and repeats them")  # fmt: skip
    extension = Extension(way, options.prefix or 0, options.grid, options.to_grid, options.antialias)
    return extended_rows(source, options.train_len, options.test_len, extension, find_prefix=options.prefix is None)


def _show_extensions(sources: list[NamedSource], options: ExtrapolateOptions) -> int:
    """Say which longer tables would be made."""
    way, made = options.extend, [(shown(source.text), _extended(source, options).arrays[0]) for source in sources]
    lines = [f"{text}   {a.name} {' x '.join(map(str, a.shape))} {a.dtype} by {way}" for text, a in made]
    found = [{"source": text, "way": way, "name": a.name, "shape": a.shape, "dtype": a.dtype} for text, a in made]
    answer(options, lambda: {"extensions": found}, lambda: [*lines, "-o FILE writes the table"])
    return 0


def reports_view(reports: Sequence[Extrapolation], rules: Mapping[str, str] | None = None) -> list[Item]:
    """Return the verdict and the remedy of each report; with the `rules` of the verdicts, all figures too."""
    items: list[Item] = []
    for one in reports:
        items += [*([""] if items else []), *([one.source] if len(reports) > 1 else [])]
        items += [Verdict(f"{one.verdict}: {one.finding}"), *([f"remedy: {one.remedy}"] if one.remedy else [])]
        items += [f"trained on {one.train} positions: {one.basis}"] if one.basis else []
        items += _scalings(one)[:1] if rules is None else _figures(one)
        items += [f"in config.json, {text}" for text in one.config]
    if rules is not None:
        return [*items, "\nrules", *(f"  {name}: {rule}" for name, rule in rules.items())]
    more = any(one.waves or one.bias or one.index for one in reports)
    return [*items, "all figures and the rules: --all"] if more else items


def _figures(report: Extrapolation) -> list[Item]:
    items: list[Item] = [
        f"{report.source}   trained on {report.train} positions, tested at {report.test}",
        f"longer table: {report.longer}",
    ]
    if report.waves:
        items += _waves(report.waves, report.train, report.test)
    if report.bias:
        items += _bias(report.bias, report.train, report.test)
    if report.index:
        items += _index(report.index, report.test)
    return items + _scalings(report)


def _waves(reach: WaveReach, train: int, test: int) -> list[Item]:
    whole, kept = reach.critical_dimension, 100 * reach.resolution_kept
    beyond = [v for d, v in zip(reach.score.distances, reach.score.values, strict=True) if d >= train]
    facts = [
        ("critical dimension", f"{whole} of {reach.columns}: columns that complete a turn in training"),
        ("new angles seen", percent(reach.inside, 2)),
        ("neighbour distance", f"{figure(reach.resolution, 4)}, {kept:.1f} % of that in training"),
        ("magnitude", figure(reach.magnitude)),
        ("score at a distance", ", ".join(f"{padded(reach.score.at(d), 3)} at {d}" for d in (1, train - 1, test - 1))),
        (
            "score beyond",
            f"{padded(min(beyond), 3)} to {padded(max(beyond), 3)} at {len(beyond)} distances from {train} on",
        ),
    ]
    columns = [(name, RIGHT) for name in ("pair", "wavelength", "turns", "seen", "new", "outside", "first")]
    return ["", *(Fact(name, text, 21) for name, text in facts), "", grid(columns, map(_pair_row, reach.pairs))]


def _pair_row(pair: Coverage) -> list[str]:
    first = "" if pair.first is None else str(pair.first)
    length = padded(pair.wavelength, 1) if pair.wavelength < 1e6 else figure(pair.wavelength, 4)
    length = "none" if pair.wavelength == math.inf else length
    turns = f"{pair.turns:.0f}" if pair.turns >= 100 else padded(pair.turns, 3)
    return [str(pair.index), length, turns, percent(pair.seen, 1), percent(pair.unseen, 1), str(pair.outside), first]


def _bias(reach: BiasReach, train: int, test: int) -> list[Item]:
    title = (
        f"Keys behind the query: the farthest that is reached, above {100 * reach.threshold:g} % of the largest "
        "weight; how many distances share the last one's bias; share of new distances whose bias lies below, above all "
        "in training"
    )
    names = ("head", "least in training", "largest", f"at {test - 1}", "reached", "sharing", "below", "above")
    sides = (RIGHT, 4, 4, 4, RIGHT, RIGHT, RIGHT, RIGHT)
    rows = [
        [h.head, *h.trained, h.last, h.window, h.shared, percent(h.below, 0), percent(h.above, 0)] for h in reach.heads
    ]
    return [grid(list(zip(names, sides, strict=True)), rows, title=title)]


def _index(reach: IndexReach, test: int) -> list[Item]:
    used = f"{reach.rows_trained} in training, {reach.rows_test} when tested, {reach.new} of them new"
    facts = [
        ("rows used", f"{used}; behind the query"),
        ("shared row", f"{reach.shared} distances, {reach.shared_from} to {test - 1}, have the same"),
    ]
    return ["", *(Fact(name, text, 21) for name, text in facts)]


def _scalings(report: Extrapolation) -> list[Item]:
    """Return a table of the scalings, what is missing for some, and a table of what they do to pairs."""
    from pecli.extrapolate.reach import spans

    if not report.scalings:
        return []
    figures = [("scaling", LEFT), ("factor", 4), ("angles seen", RIGHT), ("step kept", RIGHT), ("magnitude", 4)]
    rows: list[list[object]] = []
    pairs = []
    for s in report.scalings:
        if s.reach is None:
            rows.append([s.scaling, *["-"] * 4])
            continue
        rows.append([
            s.scaling, "-" if s.factor is None else float(s.factor), percent(s.reach.inside, 2),
            f"{100 * s.reach.resolution_kept:.1f} %", s.reach.magnitude,
        ])  # fmt: skip
        pairs.append([s.scaling, *(spans(part) or "-" for part in (s.kept, s.blended, s.interpolated))])
    title = f"A model trained unscaled on {report.train} positions, scaled for {report.test}"
    meaning = (
        "  angles seen: share of the new angles that training saw; step kept: of the distance between neighbouring "
        "positions in training"
    )
    missing = [f"  {s.scaling}: {s.missing}" for s in report.scalings if s.missing]
    treatments = [(name, LEFT) for name in ("scaling", "kept", "blended", "interpolated")]
    return [grid(figures, rows, title=title), meaning, *missing, grid(treatments, pairs, title="What it does to pairs")]
