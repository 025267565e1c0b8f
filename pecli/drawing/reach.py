"""Reports of extrapolation as charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pecli.drawing.charts import Axis, BarChart, BarLayer, Chart, LineChart, Mark, Trace, some_of
from pecli.extrapolation.coverage import Coverage
from pecli.extrapolation.extrapolation import Extrapolation
from pecli.extrapolation.reach import BiasReach
from pecli.extrapolation.scalings import Scaled
from pecli.extrapolation.waves import Curve, WaveReach

if TYPE_CHECKING:
    from pecli.extrapolation.trial.probe import Probe

DISTANCE = "distance (positions)"
HEADS = 8


def charts_of(reports: Iterable[Extrapolation]) -> list[Chart]:
    """Return what of these reports can be drawn: coverage, scores and scalings, biases by distance."""
    found: list[Chart] = []
    for report in reports:
        if report.waves is not None:
            found += _of_waves(report, report.waves)
        if report.bias is not None:
            found.append(_of_bias(report, report.bias))
        if any(scaled.reach for scaled in report.scalings):
            found += _of_scalings(report, report.scalings)
    return found


def _of_waves(report: Extrapolation, reach: WaveReach) -> list[Chart]:
    coverage = BarChart(
        f"Phases of {report.source}: seen in training and new",
        Axis("pair (0 turns fastest)"),
        Axis("share of the circle", low=0.0, high=1.0),
        (
            BarLayer(f"seen up to {report.train}", [p.seen for p in reach.pairs]),
            BarLayer(f"new up to {report.test}", [p.unseen for p in reach.pairs], strength=0.45),
        ),
    )
    score = _score(f"Score against distance of {report.source}", report, [(report.source, reach)])
    return [coverage, score]


def _score(title: str, report: Extrapolation, made: Sequence[tuple[str, WaveReach]]) -> LineChart:
    series = [Trace(name, reach.score.distances[1:], reach.score.values[1:]) for name, reach in made]
    where = Axis(DISTANCE, log=True, low=1.0)
    squared = " x magnitude^2" if any(reach.magnitude != 1 for _, reach in made) else ""
    return LineChart(title, where, Axis(f"mean cosine of the pairs{squared}"), series, (_trained(report),))


def _trained(report: Extrapolation) -> Mark:
    return Mark(report.train, f"trained to {report.train}")


def _of_bias(report: Extrapolation, reach: BiasReach) -> LineChart:
    """Return the weights that biases leave, of many heads the first, the last and some between."""
    count = len(reach.curves)
    shown = some_of(count, HEADS)
    series = [Trace(f"head {h}", reach.curves[h].distances[1:], _weights(reach.curves[h], reach)) for h in shown]
    title = f"Weight of a key against its distance, {report.source}"
    up = Axis("weight over the largest", low=0.0, high=1.0)
    return LineChart(title, Axis(DISTANCE, log=True, low=1.0), up, series, (_trained(report),))


def _weights(curve: Curve, reach: BiasReach) -> list[float]:
    top = max(curve.values)
    if reach.multiplies:
        return [value / top if top else 0.0 for value in curve.values[1:]]
    return [math.exp(value - top) for value in curve.values[1:]]


def _of_scalings(report: Extrapolation, scalings: Sequence[Scaled]) -> list[Chart]:
    made = [(s.scaling, s.reach) for s in scalings if s.reach is not None]
    pair = Axis("pair (0 turns fastest)", low=0, high=max(len(reach.pairs) for _, reach in made) - 1)

    def by_pair(title: str, up: Axis, figure: Callable[[Coverage], float]) -> LineChart:
        lines = [Trace(name, [p.index for p in reach.pairs], list(map(figure, reach.pairs))) for name, reach in made]
        return LineChart(title, pair, up, lines)

    seen, ratio = Axis("share", low=0, high=1), Axis("frequency over that in training", log=True, halves=True)
    new, title = report.test - report.train, f"New phases that training saw, {report.source} to {report.test}"
    return [
        by_pair(title, seen, lambda p: 1 - p.outside / new),
        by_pair("How much slower a scaling makes a pair", ratio, lambda p: p.frequency / p.trained if p.trained else 1),
        _score("Score against distance by scaling", report, made),
    ]


def charts_of_probe(probe: Probe, bin_size: int = 4) -> list[Chart]:
    """Return the loss by position, mean over the seeds and over `bin_size` values."""
    settings = probe.settings
    series = []
    for trial in probe.trials:
        mean = [sum(values) / len(values) for values in zip(*trial.losses, strict=True)]
        series.append(_binned(trial.name, probe.positions, mean, bin_size))
    series.append(_binned("the best possible", probe.positions, probe.floor, bin_size))
    mark = Mark(settings.train, f"trained to {settings.train}")
    title = f"Loss by position of small models on a toy language ({len(settings.seeds)} seeds)"
    where, loss = Axis("position (tokens)", low=0.0, high=settings.test), Axis("loss (nats)", low=0.0)
    return [LineChart(title, where, loss, series, (mark,))]


def _binned(name: str, positions: Sequence[int], values: Sequence[float], size: int) -> Trace:
    starts = range(0, len(values) - size + 1, size)
    x = [sum(positions[i : i + size]) / size for i in starts]
    return Trace(name, x, [sum(values[i : i + size]) / size for i in starts])
