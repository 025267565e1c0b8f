"""Reports of ``extrapolate``, and the longer tables that it makes."""

from __future__ import annotations

from dataclasses import asdict

from pecli.cli.extrapolate.checkpoint import checkpoint_of, write_checkpoint
from pecli.cli.extrapolate.options import ExtrapolateOptions
from pecli.cli.extrapolate.view import extensions_view, reports_view
from pecli.cli.options import refuse
from pecli.cli.terminal.output import print_json, tell
from pecli.cli.terminal.screen import show
from pecli.cli.terminal.writing import deliver
from pecli.errors import BadParameter
from pecli.extrapolate.report import Subject, check_rows, extrapolate, lengths_of, read_subjects, report, rules_of
from pecli.extrapolate.resize import Extension, Resized, extension_reach, trained_rows
from pecli.extrapolate.scalings import chosen, scaled_recipe
from pecli.numbers.reader import shown
from pecli.sources.sources import make_table
from pecli.spec.tabular import Tabular


def run(options: ExtrapolateOptions) -> int:
    """Report, or make the longer table; return the exit status."""
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
        from pecli.cli.terminal.drawing import show_charts
        from pecli.plots.reach import charts_of

        charts = charts_of(reports, options.pictures)
        if not charts:
            rule = "has nothing to draw: these sources have neither phases nor biases"
            raise BadParameter("plot", options.plot, rule)
        show_charts(charts, options.plot, clobber=not options.no_clobber, quiet=options.quiet)
    if options.json:
        print_json({"reports": [asdict(report) for report in reports], "rules": rules_of(reports)})
    elif options.plot != "-":
        show(*reports_view(reports))
    return 0


def _longer(subject: Subject, options: ExtrapolateOptions) -> tuple[Tabular, str]:
    """Return the longer table and what to call it.

    Raises
    ------
    BadParameter
        If the encoding has no values there and no way to extend it is given.
    """
    if options.extend is not None:
        return _extended(subject, options, options.extend), f"{shown(subject.text)} extended by {options.extend}"
    train, test = lengths_of(subject, options.train_len, options.test_len)
    recipe = subject.recipe
    if recipe is None:
        rule = f"holds rows 0 to {train - 1} and none to {test - 1}: choose with --extend how to make them"
        raise BadParameter("SOURCE", subject.text, rule)
    if options.scaling is not None:
        names = chosen(options.scaling, recipe)
        if len(names) > 1:
            rule = f"is {len(names)} scalings, and -o writes one table: name one"
            raise BadParameter("scaling", options.scaling, rule)
        recipe = scaled_recipe(recipe, names[0], train, test, options.factor)
    found = extrapolate(shown(subject.text), recipe, train, test)
    if found.verdict in ("ends", "untrained", "fixed"):
        rule = f"cannot reach {test} positions: {found.finding}; {found.remedy}"
        raise BadParameter("SOURCE", subject.text, rule)
    if found.bias is not None and not options.silent:
        tell(f"{recipe.encoding.name} needs no longer table: its bias is computed for every distance")
    keys = {k: v for k, v in subject.source.given.items() if k not in ("len", "start", "step", "positions", "shard")}
    table = make_table(recipe, keys, length=test, dtype=options.dtype, layout=options.layout)
    return table, f"{recipe.short} ({found.verdict})"


def _extended(subject: Subject, options: ExtrapolateOptions, way: str) -> Tabular:
    """Return trained rows, of a file or a learned recipe, as another number of rows."""
    rule = "cannot stand with --extend: trained rows keep their type and have no recipe"
    refuse(rule, options, "scaling", "layout", "dtype")
    rows, array = trained_rows(_trained_table(subject, options))
    check_rows(options.train_len, len(rows))
    alpha = options.alpha or Extension.alpha
    extension = Extension(way, options.prefix or 0, options.grid, options.to_grid, options.antialias, alpha)
    return Resized(rows, array, extension, _new_rows(options), shown(subject.text))


def _new_rows(options: ExtrapolateOptions) -> int:
    """Return how many rows are wanted: the test length, or what the grid and the prefix make."""
    wanted = options.test_len
    if options.grid is not None and options.to_grid is not None:
        new = (options.prefix or 0) + options.to_grid[0] * options.to_grid[1]
        if wanted not in (None, new):
            raise BadParameter("test-len", wanted, f"must be {new}, as --to-grid and --prefix say, or be left out")
        return new
    refuse("needs --to-grid beside it", options, "grid")
    refuse("needs --grid beside it", options, "to_grid")
    if wanted is None:
        raise BadParameter("test-len", None, "must be given: how many rows are wanted; or --grid and --to-grid")
    return wanted


def _trained_table(subject: Subject, options: ExtrapolateOptions) -> Tabular:
    """Return the rows that are to be extended."""
    if subject.table is not None:
        return subject.table
    recipe = subject.recipe
    assert recipe is not None
    if recipe.encoding.hook("extend")(recipe).new != "rows":
        rule = f"is for trained rows, and {recipe.encoding.name} is computed at every position: leave it out"
        raise BadParameter("extend", options.extend, rule)
    length = options.train_len if options.train_len is not None else recipe.values.get("max_len")
    if length is None:
        raise BadParameter("train-len", None, "must be given: how many rows were trained")
    return subject.source.open(length=length)


def _show_extensions(subjects: list[Subject], options: ExtrapolateOptions, way: str) -> int:
    """Say what the longer tables would be like."""
    tables = [(shown(s.text), _trained_table(s, options), _extended(s, options, way)) for s in subjects]
    found = [extension_reach(*three, way) for three in tables]
    if options.json:
        print_json({"extensions": [asdict(f) for f in found]})
    else:
        show(*extensions_view(found))
    return 0
