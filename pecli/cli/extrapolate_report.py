"""Reports of ``extrapolate``, and the longer tables and checkpoints that it writes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pecli.cli.extrapolate_options import ExtrapolateOptions
from pecli.cli.options import refuse
from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, grid, size_text
from pecli.cli.terminal.output import line, print_json, tell
from pecli.cli.terminal.screen import show
from pecli.cli.terminal.writing import deliver
from pecli.errors import BadParameter
from pecli.extrapolate.reach import spans
from pecli.extrapolate.report import (
    Extrapolation,
    Subject,
    check_rows,
    extrapolate,
    lengths_of,
    read_subjects,
    report,
    rules_of,
)
from pecli.extrapolate.resize import Extension, Resized, extension_reach, trained_rows
from pecli.extrapolate.scalings import Scaled, chosen, scaled_recipe
from pecli.numbers.printing import at_least, figure, padded, percent
from pecli.numbers.reader import shown
from pecli.spec.tabular import Tabular
from pecli.tables.sources import make_table

if TYPE_CHECKING:
    from pecli.extrapolate.coverage import Coverage, WaveReach
    from pecli.extrapolate.reach import BiasReach, IndexReach
    from pecli.extrapolate.resize import ExtensionReach

PAIRS = 14
HEADS = 12


def reports_view(reports: Sequence[Extrapolation]) -> list[Item]:
    """Return reports, and the rules of the verdicts that occur."""
    items: list[Item] = []
    for one in reports:
        items += [*([""] if items else []), *_report(one)]
    return [*items, "\nrules", *(f"  {name}: {rule}" for name, rule in rules_of(reports).items())]


def _report(report: Extrapolation) -> list[Item]:
    items: list[Item] = [
        f"{report.source}   trained on {report.train} positions, tried on {report.test}",
        f"{report.verdict}: {report.finding}",
    ]
    if report.remedy:
        items.append(f"remedy: {report.remedy}")
    items.append(f"longer table: {report.longer}")
    if report.waves:
        items += _waves(report.waves, report.train, report.test)
    if report.bias:
        items += _bias(report.bias, report.train, report.test)
    if report.index:
        items += _index(report.index, report.test)
    if report.scalings:
        items += _scalings(report.scalings, report)
    return items


def _waves(reach: WaveReach, train: int, test: int) -> list[Item]:
    whole = reach.critical_dimension
    facts = [
        ("critical dimension", f"{whole} of {reach.columns}: so many columns make a whole turn in training"),
        ("new phases seen", percent(reach.inside, 2)),
        ("neighbours apart", f"{figure(reach.resolution, 4)}, {100 * reach.resolution_kept:.1f} % of that in training"),
        ("magnitude", figure(reach.magnitude)),
        ("score at a distance", ", ".join(f"{padded(reach.score.at(d), 3)} at {d}" for d in (1, train - 1, test - 1))),
        ("score beyond", _beyond(reach, train)),
    ]
    columns = [(name, RIGHT) for name in ("pair", "wavelength", "turns", "seen", "new", "outside", "first")]
    return ["", *(Fact(name, text, 21) for name, text in facts), "", grid(columns, _pair_rows(reach.pairs))]


def _beyond(reach: WaveReach, train: int) -> str:
    """Return the range of the sampled scores beyond the training length."""
    found = [v for d, v in zip(reach.score.distances, reach.score.values, strict=True) if d >= train]
    return f"{padded(min(found), 3)} to {padded(max(found), 3)} at {len(found)} distances from {train} on"


def _pair_rows(pairs: Sequence[Coverage]) -> list[list[str]]:
    """Return a row for each pair with unseen phases, those without collapsed to runs."""
    rows: list[list[str]] = []
    run: list[Coverage] = []
    shown = [p for p in pairs if p.outside]
    skipped = set()
    if len(shown) > PAIRS:
        head = PAIRS // 2
        skipped = {p.index for p in shown[head : len(shown) - (PAIRS - head)]}
    for pair in pairs:
        if not pair.outside:
            run.append(pair)
            continue
        rows += _run_row(run)
        run = []
        if pair.index in skipped:
            if rows[-1][0] != "…":
                rows.append(["…"] * 7)
            continue
        rows.append([
            str(pair.index), _length(pair.wavelength), _turns(pair.turns), percent(pair.seen, 1),
            percent(pair.unseen, 1), str(pair.outside), str(pair.first),
        ])  # fmt: skip
    return rows + _run_row(run)


def _run_row(run: Sequence[Coverage]) -> list[list[str]]:
    """Return one row for neighbouring pairs that stay inside."""
    if not run:
        return []
    first, last = run[0], run[-1]

    def both(a: str, b: str) -> str:
        return a if a == b else f"{a} to {b}"

    return [[
        spans([p.index for p in run]), both(_length(first.wavelength), _length(last.wavelength)),
        both(_turns(first.turns), _turns(last.turns)), both(percent(first.seen, 0), percent(last.seen, 0)),
        percent(max(p.unseen for p in run), 0), "0", "",
    ]]  # fmt: skip


def _length(wavelength: float) -> str:
    return (
        "none" if wavelength == float("inf") else padded(wavelength, 1) if wavelength < 1e6 else figure(wavelength, 4)
    )


def _turns(turns: float) -> str:
    return f"{turns:.0f}" if turns >= 100 else padded(turns, 3)


def _bias(reach: BiasReach, train: int, test: int) -> list[Item]:
    title = (
        f"Keys behind the query: the farthest that is reached, above {100 * reach.threshold:g} % of the largest "
        "weight; how many distances share the last one's bias; share of new distances whose bias lies below, above all "
        "in training"
    )
    names = ("head", "least in training", "largest", f"at {test - 1}", "reached", "sharing", "below", "above")
    sides = (RIGHT, 4, 4, 4, RIGHT, RIGHT, RIGHT, RIGHT)
    rows = [
        [
            h.head, h.trained[0], h.trained[1], h.last, h.window, h.shared, percent(h.below, 0),
            percent(h.above, 0),
        ]
        for h in reach.heads
    ]  # fmt: skip
    made = grid(list(zip(names, sides, strict=True)), rows, title=title)
    if len(rows) > HEADS:
        made.rows[HEADS // 2 : -HEADS // 2] = [["…"] * len(names)]
    return [made]


def _index(reach: IndexReach, test: int) -> list[Item]:
    used = f"{reach.rows_trained} in training, {reach.rows_test} when tested, {reach.new} of them new"
    facts = [
        ("rows used", f"{used}; behind the query"),
        ("shared row", f"{reach.shared} distances, {reach.shared_from} to {test - 1}, have the same"),
    ]
    return ["", *(Fact(name, text, 21) for name, text in facts)]


def _scalings(scalings: Sequence[Scaled], report: Extrapolation) -> list[Item]:
    figures = [("scaling", LEFT), ("factor", 4), ("inside", RIGHT), ("step", RIGHT), ("magnitude", 4),
               ("factor ≥", RIGHT), ("base ≥", RIGHT)]  # fmt: skip
    rows: list[list[object]] = []
    pairs = []
    for s in scalings:
        if s.reach is None:
            rows.append([s.scaling, *["-"] * 6])
            continue
        rows.append([
            s.scaling, "-" if s.factor is None else float(s.factor), percent(s.reach.inside, 2),
            f"{100 * s.reach.resolution_kept:.1f} %", s.reach.magnitude, _least(s.smallest_factor),
            _least(s.smallest_base),
        ])  # fmt: skip
        pairs.append([s.scaling, *(spans(part) or "-" for part in (s.kept, s.blended, s.interpolated))])
    title = (
        f"A model trained unscaled on {report.train} positions, scaled for {report.test}: share of new phases inside, "
        "distance of neighbours left, and the least factor or base that keeps every phase inside"
    )
    missing = [f"  {s.scaling}: {s.missing}" for s in scalings if s.missing]
    treatments = [(name, LEFT) for name in ("scaling", "kept", "blended", "interpolated")]
    return [grid(figures, rows, title=title), *missing, grid(treatments, pairs, title="What it does to pairs")]


def _least(value: float | None) -> str:
    return "-" if value is None else at_least(value)


def extensions_view(found: Sequence[ExtensionReach]) -> list[Item]:
    """Return what longer tables are like."""
    names = [("", LEFT), ("rows", RIGHT), ("mean length of a row", 4), ("mean step to the next", 4)]
    items: list[Item] = []
    for e in found:
        rows = [
            ["trained", e.rows, e.norm, e.step],
            ["extended", e.new_rows, e.new_norm, e.new_step],
        ]
        items += [
            f"{e.source}   {e.name} {' x '.join(map(str, e.shape))} {e.dtype} by {e.way}",
            grid(names, rows),
            f"  {e.repeated} of {e.looked_at} rows repeat an earlier one; -o FILE writes the table",
        ]
    return items


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

    started, written = time.perf_counter(), [0]

    def progress(count: int) -> None:
        written[0] += count

    assert options.output is not None
    file = file_with(path, name)
    new = extended(f"{file}::{name}")
    replace_array(path, options.output, name, new, clobber=not options.no_clobber, progress=progress)
    seconds, (array,) = time.perf_counter() - started, new.arrays
    if options.json:
        facts = {"path": options.output, "format": "safetensors", "recipe": None, "replaced": {name: array.shape}}
        print_json({**facts, "bytes": written[0], "seconds": seconds})
    elif not options.quiet:
        what = f"{name} extended by {options.extend} to {array.shape[0]} rows, every other tensor as it was"
        tell(line(f"wrote {options.output}: {what}, {size_text(written[0])}, {seconds:.2f} s"))
        if (Path(path) / "config.json").is_file():
            tell("pecli: config.json is as it was: its number of positions is yours to change")
    return 0


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
