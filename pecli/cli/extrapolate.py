"""``pecli extrapolate SOURCE...``: reports beyond the trained length, and longer tables and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pecli.cli import options as shared
from pecli.cli.options import LONGEST, OUTPUT, SCREEN, argument, flag, option, positions, refuse, share, whole
from pecli.cli.plot import check_plot, show_charts
from pecli.cli.terminal.layout import TABLE_FORMATS
from pecli.cli.terminal.output import tell
from pecli.cli.terminal.screen import answer
from pecli.cli.terminal.writing import Writing, checkpoint_written, deliver
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer, parse_number
from pecli.numbers.reader import shown
from pecli.spec.declaration import REACHES

if TYPE_CHECKING:
    from pecli.extrapolate.report import Subject
    from pecli.spec.tabular import Tabular

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
        "Smallest weight that counts, relative to the nearest key's (default 0.01).", "X", LENGTHS, check=share
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

    @property
    def pictures(self) -> list[str]:
        """The pictures asked for."""
        return self.kind.split("+") if self.kind else []


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


def checkpoint_of(options: ExtrapolateOptions) -> tuple[str, str, str] | None:
    """Return a checkpoint, the array in it and how to extend it, where the output is to be a checkpoint too."""
    path, _, name = options.sources[0].partition("::")
    output = options.output
    if output is None or options.extend is None or not name or name.endswith("]") or len(options.sources) > 1:
        return None
    folder = os.path.isdir(path) and not Path(output).suffix
    file = path.endswith(".safetensors") and output.endswith(".safetensors") and os.path.isfile(path)
    return (path, name, options.extend) if (folder or file) and options.format in (None, "safetensors") else None


def write_checkpoint(path: str, name: str, options: ExtrapolateOptions, extended: Callable[[str], Tabular]) -> int:
    """Write it, and say what was done."""
    from pecli.apply.checkpoints import file_with, replace_array

    assert options.output is not None
    file = file_with(path, name)
    new = extended(f"{file}::{name}")
    (array,) = new.arrays
    with checkpoint_written(options) as done:
        replace_array(path, options.output, name, new, clobber=not options.no_clobber, progress=done.progress)
        done.facts = {"replaced": {name: array.shape}}
        done.text = f"{name} extended by {options.extend} to {array.shape[-2]} rows, every other tensor as it was"
    if (Path(path) / "config.json").is_file() and not (options.json or options.quiet):
        tell("pecli: config.json is unchanged: change its number of positions yourself")
    return 0


def command(options: ExtrapolateOptions) -> int:
    """Measure what an encoding does beyond the length it was trained on, or make the longer table."""
    from pecli.cli.extrapolate_report import reports_view
    from pecli.extrapolate.report import read_subjects, report, rules_of
    from pecli.plots.charts import check_words

    if options.to_grid is not None and options.extend is None:
        options = replace(options, extend="cubic")
    check_together(options)
    if options.plot is not None:
        check_plot(options)
        check_words(options.pictures, REACHES)
    if (whole := checkpoint_of(options)) is not None:
        path, name, way = whole
        return write_checkpoint(
            path, name, options, lambda text: _extended(read_subjects(text, options.layer_type)[0], options, way)
        )
    subjects = [subject for text in options.sources for subject in read_subjects(text, options.layer_type)]
    if options.output is not None:
        if len(subjects) > 1:
            rule = f"has {len(subjects)} kinds of layers, and -o writes one table: choose one with --layer-type"
            raise BadParameter("SOURCE", options.sources[0], rule)
        table, label = _longer(subjects[0], options)
        return deliver(table, label, options)
    if options.extend is not None:
        return _show_extensions(subjects, options, options.extend)
    reports = [
        report(
            subject, options.train_len, options.test_len, scaling=options.scaling, factor=options.factor,
            threshold=options.threshold, tuned=options.tuned,
        )
        for subject in subjects
    ]  # fmt: skip
    if not any(report.bias for report in reports):
        refuse("is for biases, and these sources have none: leave it out", options, "threshold")
    if options.plot is not None:
        from pecli.plots.reach import charts_of

        charts = charts_of(reports, options.pictures)
        if not charts:
            rule = "has nothing to draw: these sources have neither phases nor biases"
            raise BadParameter("plot", options.plot, rule)
        show_charts(charts, options.plot, clobber=not options.no_clobber, quiet=options.quiet)
    result = {"reports": [asdict(report) for report in reports], "rules": rules_of(reports)}
    every = options.all or options.format is not None
    if options.json or options.plot != "-":
        answer(options, lambda: result, lambda: reports_view(reports, every=every))
    return 0


def _longer(subject: Subject, options: ExtrapolateOptions) -> tuple[Tabular, str]:
    """Return the longer table and what to call it."""
    from pecli.extrapolate.longer import longer_table

    if options.extend is not None:
        return _extended(subject, options, options.extend), f"{shown(subject.text)} extended by {options.extend}"
    found, table = longer_table(
        subject, options.train_len, options.test_len, options.scaling, options.factor, options.dtype, options.layout
    )
    if found.bias is not None and not options.silent:
        tell(f"{found.encoding} has a bias for every distance: its table need not grow")
    return table, f"{table.label} ({found.verdict})"


def _extended(subject: Subject, options: ExtrapolateOptions, way: str) -> Tabular:
    """Return trained rows, of a file or a learned recipe, as another number of rows."""
    from pecli.extrapolate.longer import extended_rows
    from pecli.extrapolate.resize import Extension

    rule = "cannot go with --extend: trained rows keep their type and have no recipe"
    refuse(rule, options, "scaling", "layout", "dtype")
    if options.output is not None and options.to_grid is None and way != "tile" and not options.silent:
        tell(f"pecli: {way} spreads the trained rows over the new length, so that most of the old positions "
             "get another row; --extend tile keeps and repeats them")  # fmt: skip
    extension = Extension(way, options.prefix or 0, options.grid, options.to_grid, options.antialias)
    return extended_rows(subject, options.train_len, options.test_len, extension, find_prefix=options.prefix is None)


def _show_extensions(subjects: list[Subject], options: ExtrapolateOptions, way: str) -> int:
    """Say which longer tables would be made."""
    made = [(shown(subject.text), _extended(subject, options, way).arrays[0]) for subject in subjects]
    lines = [f"{text}   {a.name} {' x '.join(map(str, a.shape))} {a.dtype} by {way}" for text, a in made]
    found = [{"source": text, "way": way, "name": a.name, "shape": a.shape, "dtype": a.dtype} for text, a in made]
    answer(options, lambda: {"extensions": found}, lambda: [*lines, "-o FILE writes the table"])
    return 0
