"""What ``extrapolate`` does with its options: report, or write a longer table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pecli.cli.extrapolate.subjects import Subject, check_rows, lengths_of, read_subjects
from pecli.cli.terminal.output import print_json, tell
from pecli.errors import BadParameter

if TYPE_CHECKING:
    from decimal import Decimal

    from pecli.declare.tabular import Tabular
    from pecli.extrapolation.extrapolation import Extrapolation


@dataclass(frozen=True)
class Options:
    """The options of the command, checked one by one."""

    train: int | None
    test: int | None
    threshold: float
    tuned: bool
    scaling: str | None
    factor: str | None
    extend: str | None
    prefix: int
    grid: tuple[int, int] | None
    to_grid: tuple[int, int] | None
    antialias: bool
    alpha: float
    output: str | None
    format: str | None
    dtype: str | None
    layout: str | None
    layer_type: str | None
    plot: str | None
    clobber: bool
    json: bool
    quiet: bool

    @property
    def exact_factor(self) -> Decimal | None:
        """The factor as written."""
        if self.factor is None:
            return None
        from pecli.numbers.text import parse_number

        value = parse_number("factor", self.factor)
        if not 0 < value <= 10**9:
            raise BadParameter("factor", self.factor, "must be above 0 and at most 1e9")
        return value


def run(texts: list[str], options: Options) -> int:
    """Report on sources, or write the longer table of one; return the exit status."""
    if options.plot is not None:
        from pecli.drawing.pictures import check_picture

        check_picture(options.plot)
    subjects = [subject for text in texts for subject in read_subjects(text, options.layer_type)]
    if options.output is not None:
        if len(subjects) > 1:
            rule = f"has {len(subjects)} kinds of layers, and -o writes one table: choose one with --layer-type"
            raise BadParameter("SOURCE", texts[0], rule)
        return _write(subjects[0], options)
    if options.extend is not None:
        return _show_extensions(subjects, options)
    reports = [_report(subject, options) for subject in subjects]
    _draw(reports, options)
    if options.json:
        from pecli.extrapolation.extrapolation import rules_of

        print_json({"reports": [asdict(report) for report in reports], "rules": rules_of(reports)})
    elif not options.quiet and options.plot != "-":
        from pecli.cli.extrapolate.view import show_reports

        show_reports(reports)
    return 0


def _draw(reports: list[Extrapolation], options: Options) -> None:
    if options.plot is None:
        return
    from pecli.cli.terminal.drawing import show_charts
    from pecli.drawing.reach import charts_of

    charts = charts_of(reports)
    if not charts:
        raise BadParameter("plot", options.plot, "has nothing to draw: these sources have neither phases nor biases")
    show_charts(charts, options.plot, clobber=options.clobber, quiet=options.quiet)


def _report(subject: Subject, options: Options) -> Extrapolation:
    from pecli.extrapolation.extrapolation import extrapolate, stored_rows
    from pecli.extrapolation.scalings import chosen

    train, test = lengths_of(subject, options.train, options.test)
    if subject.recipe is None:
        if options.scaling is not None:
            raise BadParameter("scaling", options.scaling, "is for recipes: trained rows have no frequencies to scale")
        return stored_rows(subject.text, train, test)
    names = chosen(options.scaling, subject.recipe) if options.scaling else ()
    return extrapolate(
        subject.text, subject.recipe, train, test, scalings=names, factor=options.exact_factor,
        strict=options.scaling not in (None, "all"), threshold=options.threshold, tuned=options.tuned,
    )  # fmt: skip


def _write(subject: Subject, options: Options) -> int:
    """Write the longer table."""
    from pecli.cli.terminal.writing import Delivery, deliver

    assert options.output is not None
    table, label = _longer(subject, options)
    where = Delivery(
        options.output, options.format, clobber=options.clobber, json=options.json, quiet=options.quiet
    )  # fmt: skip
    return deliver(table, label, where)


def _longer(subject: Subject, options: Options) -> tuple[Tabular, str]:
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
    train, test = lengths_of(subject, options.train, options.test)
    if subject.recipe is None:
        rule = f"holds rows 0 to {train - 1} and none to {test - 1}: choose with --extend how to make them"
        raise BadParameter("SOURCE", subject.text, rule)
    recipe = subject.recipe
    if options.scaling is not None:
        names = chosen(options.scaling, recipe)
        if len(names) > 1:
            rule = f"is {len(names)} scalings, and -o writes one table: name one"
            raise BadParameter("scaling", options.scaling, rule)
        recipe = scaled_recipe(recipe, names[0], train, test, options.exact_factor)
    found = extrapolate(subject.text, recipe, train, test)
    if found.verdict in ("ends", "untrained", "fixed"):
        rule = f"cannot reach {test} positions: {found.finding}; {found.remedy}"
        raise BadParameter("SOURCE", subject.text, rule)
    if found.bias is not None and not options.quiet:
        tell(f"{recipe.encoding.name} needs no longer table: its bias is computed for every distance")
    keys = {k: v for k, v in subject.source.given.items() if k not in ("len", "positions", "shard")}
    table = make_table(recipe, keys, length=test, dtype=options.dtype, layout=options.layout)
    return table, f"{recipe.short} ({found.verdict})"


def _extended(subject: Subject, options: Options) -> Tabular:
    """Return trained rows, of a file or a learned recipe, as another number of rows."""
    from pecli.extrapolation.resize import Extension, Resized, trained_rows

    assert options.extend is not None
    for name, value in (("scaling", options.scaling), ("layout", options.layout), ("dtype", options.dtype)):
        if value is not None:
            raise BadParameter(
                name, value, "cannot stand with --extend: trained rows keep their type and have no recipe"
            )
    rows, array = trained_rows(_trained_table(subject, options))
    check_rows(options.train, len(rows))
    new = _new_rows(options)
    extension = Extension(
        options.extend, options.prefix, options.grid, options.to_grid, options.antialias, options.alpha
    )  # fmt: skip
    return Resized(rows, array, extension, new, subject.text)


def _new_rows(options: Options) -> int:
    """Return how many rows are wanted: the test length, or what the grid and the prefix make."""
    if options.grid is not None and options.to_grid is not None:
        new = options.prefix + options.to_grid[0] * options.to_grid[1]
        if options.test not in (None, new):
            raise BadParameter(
                "test-len", options.test, f"must be {new}, as --to-grid and --prefix say, or be left out"
            )
        return new
    for name, other, value in (("grid", "to-grid", options.grid), ("to-grid", "grid", options.to_grid)):
        if value is not None:
            raise BadParameter(name, "x".join(map(str, value)), f"needs --{other} beside it")
    if options.test is None:
        raise BadParameter("test-len", "(none)", "must be given: how many rows are wanted; or --grid and --to-grid")
    return options.test


def _trained_table(subject: Subject, options: Options) -> Tabular:
    """Return the rows that are to be extended."""
    if subject.table is not None:
        return subject.table
    recipe = subject.recipe
    assert recipe is not None
    if recipe.encoding.name != "learned":
        rule = f"is for trained rows, and {recipe.encoding.name} is computed at every position: leave it out"
        raise BadParameter("extend", options.extend, rule)
    length = options.train if options.train is not None else recipe.values.get("max_len")
    if length is None:
        raise BadParameter("train-len", "(none)", "must be given: how many rows were trained")
    return subject.source.open(length=length)


def _show_extensions(subjects: list[Subject], options: Options) -> int:
    """Say what the longer tables would be like."""
    from pecli.extrapolation.extension import extension_reach

    found = [
        extension_reach(s.text, _trained_table(s, options), _extended(s, options), options.extend or "")
        for s in subjects
    ]  # fmt: skip
    if options.json:
        print_json({"extensions": [asdict(f) for f in found]})
    elif not options.quiet:
        from pecli.cli.extrapolate.view import show_extensions

        show_extensions(found)
    return 0
