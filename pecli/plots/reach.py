"""Reports of extrapolation as charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from pecli.extrapolate.coverage import Curve, WaveReach
from pecli.extrapolate.reach import BiasReach
from pecli.extrapolate.report import Extrapolation
from pecli.inspect.pairs import some_of
from pecli.plots.charts import Axis, Chart, LineChart, Mark, Trace, chosen
from pecli.spec.declaration import REACHES

DISTANCE = Axis("distance (positions)", 10, low=1.0)
PAIR = Axis("pair (0 is the fastest)", whole=True)
Made = Sequence[tuple[str, WaveReach]]  # each by its name
HEADS = 8


def charts_of(reports: Iterable[Extrapolation], words: Sequence[str] = ()) -> list[Chart]:
    """Return the charts of these reports, or the kinds that the user named, each kind for every report in turn.

    Raises
    ------
    UnknownName, BadParameter
        For a word that is no picture, and for one that these reports have not.
    """
    every = list(reports)
    waves = [(report, report.waves) for report in every if report.waves is not None]
    biases = [(report, report.bias) for report in every if report.bias is not None]
    scaled = [(report, made) for report in every if (made := _made(report)) and report.scalings]
    makers: dict[str, Callable[[], list[Chart]]] = {
        "phases": lambda: [_phases(report, reach) for report, reach in waves],
        "score": lambda: [_score(report, _made(report)) for report, _ in waves],
        "reach": lambda: [_of_bias(report, reach) for report, reach in biases],
        "ramps": lambda: [_ramps(made) for _, made in scaled],
    }
    return chosen(makers, words, REACHES, " and ".join(report.source for report in every))


def _phases(report: Extrapolation, reach: WaveReach) -> LineChart:
    pairs = [float(p.index) for p in reach.pairs]
    reached = Trace(f"new up to {report.test}", pairs, [p.seen + p.unseen for p in reach.pairs])
    seen = Trace(f"seen up to {report.train}", pairs, [p.seen for p in reach.pairs])
    title = f"Phases of {report.source}: seen in training and new"
    return LineChart(title, PAIR, Axis("share of the circle", low=-0.02, high=1.02), [reached, seen], style="areas")


def _made(report: Extrapolation) -> Made:
    """Return the scalings of a report, or where none was asked for its own frequencies."""
    own = [] if report.scalings or report.waves is None else [(report.source, report.waves)]
    return own or [(s.scaling, s.reach) for s in report.scalings if s.reach is not None]


def _score(report: Extrapolation, made: Made) -> LineChart:
    series = [Trace(name, reach.score.distances[1:], reach.score.values[1:]) for name, reach in made]
    up = "mean cosine of the pairs" + " x magnitude^2" * any(reach.magnitude != 1 for _, reach in made)
    title = f"Score against distance of {report.source}{' by scaling' if report.scalings else ''}"
    return LineChart(title, DISTANCE, Axis(up), series, (_trained(report),), apart=True)


def _trained(report: Extrapolation) -> Mark:
    return report.train, f"trained to {report.train}"


def _of_bias(report: Extrapolation, reach: BiasReach) -> LineChart:
    """Return the weights that biases leave, of many heads the first, the last and some between."""
    count = len(reach.curves)
    shown = some_of(count, HEADS)
    series = [Trace(f"head {h}", reach.curves[h].distances[1:], _weights(reach.curves[h], reach)) for h in shown]
    title = f"Weight of a key against its distance, {report.source}"
    up = Axis("weight over the largest", low=-0.02, high=1.02)
    return LineChart(title, DISTANCE, up, series, (_trained(report),))


def _weights(curve: Curve, reach: BiasReach) -> list[float]:
    top = max(curve.values)
    if reach.multiplies:
        return [value / top if top else 0.0 for value in curve.values[1:]]
    return [math.exp(value - top) for value in curve.values[1:]]


def _ramps(made: Made) -> LineChart:
    lines = [
        Trace(name, [p.index for p in reach.pairs], [p.frequency / p.trained if p.trained else 1 for p in reach.pairs])
        for name, reach in made
    ]
    up = Axis("frequency divided by that in training", 2)
    return LineChart("How much slower each scaling makes each pair", PAIR, up, lines, apart=True)
