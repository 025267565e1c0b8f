"""Reports of ``extrapolate``: coverage of phases, reach of biases, scalings, longer tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, Verdict, grid
from pecli.extrapolate.reach import spans
from pecli.extrapolate.report import Extrapolation, rules_of
from pecli.numbers.printing import figure, padded, percent

if TYPE_CHECKING:
    from pecli.extrapolate.coverage import Coverage, WaveReach
    from pecli.extrapolate.reach import BiasReach, IndexReach


def reports_view(reports: Sequence[Extrapolation], *, every: bool = False) -> list[Item]:
    """Return the verdict and the remedy of each report; with `every`, all figures, and the rules of the verdicts."""
    items: list[Item] = []
    for one in reports:
        items += [*([""] if items else []), *([one.source] if len(reports) > 1 else [])]
        items += [Verdict(f"{one.verdict}: {one.finding}"), *([f"remedy: {one.remedy}"] if one.remedy else [])]
        items += [f"trained on {one.train} positions: {one.basis}"] if one.basis else []
        items += _figures(one) if every else _scalings(one)[:1]
        items += [f"in config.json, {text}" for text in one.config]
    if every:
        return [*items, "\nrules", *(f"  {name}: {rule}" for name, rule in rules_of(reports).items())]
    return [
        *items,
        *(["all figures and the rules: --all"] if any(r.waves or r.bias or r.index for r in reports) else []),
    ]


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
    whole = reach.critical_dimension
    facts = [
        ("critical dimension", f"{whole} of {reach.columns}: columns that complete a turn in training"),
        ("new angles seen", percent(reach.inside, 2)),
        (
            "neighbour distance",
            f"{figure(reach.resolution, 4)}, {100 * reach.resolution_kept:.1f} % of that in training",
        ),
        ("magnitude", figure(reach.magnitude)),
        ("score at a distance", ", ".join(f"{padded(reach.score.at(d), 3)} at {d}" for d in (1, train - 1, test - 1))),
        ("score beyond", _beyond(reach, train)),
    ]
    columns = [(name, RIGHT) for name in ("pair", "wavelength", "turns", "seen", "new", "outside", "first")]
    return ["", *(Fact(name, text, 21) for name, text in facts), "", grid(columns, map(_pair_row, reach.pairs))]


def _beyond(reach: WaveReach, train: int) -> str:
    """Return the range of the sampled scores beyond the training length."""
    found = [v for d, v in zip(reach.score.distances, reach.score.values, strict=True) if d >= train]
    return f"{padded(min(found), 3)} to {padded(max(found), 3)} at {len(found)} distances from {train} on"


def _pair_row(pair: Coverage) -> list[str]:
    first = "" if pair.first is None else str(pair.first)
    return [
        str(pair.index), _length(pair.wavelength), _turns(pair.turns), percent(pair.seen, 1), percent(pair.unseen, 1),
        str(pair.outside), first,
    ]  # fmt: skip


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
