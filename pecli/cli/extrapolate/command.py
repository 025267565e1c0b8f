"""``pecli extrapolate SOURCE...``: what happens past the training length, and tables that reach there."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pecli.cli.extrapolate.options import ExtrapolateOptions, check_together
from pecli.cli.options import refuse
from pecli.cli.terminal.output import print_json, tell
from pecli.cli.terminal.screen import show
from pecli.cli.terminal.writing import deliver
from pecli.errors import BadParameter
from pecli.extrapolation.subjects import Subject, check_rows, lengths_of, read_subjects, report

if TYPE_CHECKING:
    from pecli.declare.tabular import Tabular
    from pecli.extrapolation.extrapolation import Extrapolation


def command(options: ExtrapolateOptions) -> int:
    """Measure what an encoding does beyond the length it was trained on, and write longer tables.

    Training saw positions 0 to N-1; positions N to M-1 are new.
    """
    check_together(options)
    if options.probe:
        from pecli.cli.extrapolate.trial import run_trial

        return run_trial(options)
    if options.plot is not None:
        from pecli.drawing.pictures import check_picture

        check_picture(options.plot)
    subjects = [subject for text in options.sources for subject in read_subjects(text, options.layer_type)]
    if options.output is not None:
        if len(subjects) > 1:
            rule = f"has {len(subjects)} kinds of layers, and -o writes one table: choose one with --layer-type"
            raise BadParameter("SOURCE", options.sources[0], rule)
        table, label = _longer(subjects[0], options)
        return deliver(table, label, options)
    if options.extend is not None:
        return _show_extensions(subjects, options)
    reports = [_report(subject, options) for subject in subjects]
    if not any(report.bias for report in reports):
        refuse("is for biases, and these sources have none: leave it out", options, "threshold")
    _draw(reports, options)
    if options.json:
        from pecli.extrapolation.extrapolation import rules_of

        print_json({"reports": [asdict(report) for report in reports], "rules": rules_of(reports)})
    elif options.plot != "-":
        from pecli.cli.extrapolate.view import reports_view

        show(*reports_view(reports))
    return 0


def _draw(reports: list[Extrapolation], options: ExtrapolateOptions) -> None:
    if options.plot is None:
        return
    from pecli.cli.terminal.drawing import show_charts
    from pecli.drawing.reach import charts_of

    charts = charts_of(reports)
    if not charts:
        raise BadParameter("plot", options.plot, "has nothing to draw: these sources have neither phases nor biases")
    show_charts(charts, options.plot, clobber=not options.no_clobber, quiet=options.quiet)


def _report(subject: Subject, options: ExtrapolateOptions) -> Extrapolation:
    return report(
        subject, options.train_len, options.test_len, scaling=options.scaling, factor=options.factor,
        threshold=options.threshold, tuned=options.tuned,
    )  # fmt: skip


def _longer(subject: Subject, options: ExtrapolateOptions) -> tuple[Tabular, str]:
    """Return the longer table and what to call it.

    Raises
    ------
    BadParameter
        If the encoding has no values there and no way to extend it is given.
    """
    from pecli.extrapolation.extrapolation import extrapolate
    from pecli.extrapolation.scalings import chosen, scaled_recipe
    from pecli.sources.sources import make_table

    if options.extend is not None:
        return _extended(subject, options), f"{subject.text} extended by {options.extend}"
    train, test = lengths_of(subject, options.train_len, options.test_len)
    if subject.recipe is None:
        rule = f"holds rows 0 to {train - 1} and none to {test - 1}: choose with --extend how to make them"
        raise BadParameter("SOURCE", subject.text, rule)
    recipe = subject.recipe
    if options.scaling is not None:
        names = chosen(options.scaling, recipe)
        if len(names) > 1:
            rule = f"is {len(names)} scalings, and -o writes one table: name one"
            raise BadParameter("scaling", options.scaling, rule)
        recipe = scaled_recipe(recipe, names[0], train, test, options.factor)
    found = extrapolate(subject.text, recipe, train, test)
    if found.verdict in ("ends", "untrained", "fixed"):
        rule = f"cannot reach {test} positions: {found.finding}; {found.remedy}"
        raise BadParameter("SOURCE", subject.text, rule)
    if found.bias is not None and not options.quiet:
        tell(f"{recipe.encoding.name} needs no longer table: its bias is computed for every distance")
    keys = {k: v for k, v in subject.source.given.items() if k not in ("len", "positions", "shard")}
    table = make_table(recipe, keys, length=test, dtype=options.dtype, layout=options.layout)
    return table, f"{recipe.short} ({found.verdict})"


def _extended(subject: Subject, options: ExtrapolateOptions) -> Tabular:
    """Return trained rows, of a file or a learned recipe, as another number of rows."""
    from pecli.extrapolation.resize import Extension, Resized, trained_rows

    assert options.extend is not None
    rule = "cannot stand with --extend: trained rows keep their type and have no recipe"
    refuse(rule, options, "scaling", "layout", "dtype")
    rows, array = trained_rows(_trained_table(subject, options))
    check_rows(options.train_len, len(rows))
    new = _new_rows(options)
    alpha = {} if options.alpha is None else {"alpha": options.alpha}
    extension = Extension(
        options.extend, options.prefix or 0, options.grid, options.to_grid, options.antialias, **alpha
    )  # fmt: skip
    return Resized(rows, array, extension, new, subject.text)


def _new_rows(options: ExtrapolateOptions) -> int:
    """Return how many rows are wanted: the test length, or what the grid and the prefix make."""
    if options.grid is not None and options.to_grid is not None:
        new = (options.prefix or 0) + options.to_grid[0] * options.to_grid[1]
        if options.test_len not in (None, new):
            raise BadParameter(
                "test-len", options.test_len, f"must be {new}, as --to-grid and --prefix say, or be left out"
            )
        return new
    refuse("needs --to-grid beside it", options, "grid")
    refuse("needs --grid beside it", options, "to_grid")
    if options.test_len is None:
        raise BadParameter("test-len", None, "must be given: how many rows are wanted; or --grid and --to-grid")
    return options.test_len


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


def _show_extensions(subjects: list[Subject], options: ExtrapolateOptions) -> int:
    """Say what the longer tables would be like."""
    from pecli.extrapolation.extension import extension_reach

    found = [
        extension_reach(s.text, _trained_table(s, options), _extended(s, options), options.extend or "")
        for s in subjects
    ]  # fmt: skip
    if options.json:
        print_json({"extensions": [asdict(f) for f in found]})
    else:
        from pecli.cli.extrapolate.view import extensions_view

        show(*extensions_view(found))
    return 0
