"""Pictures of biases: the matrix of a head, slopes by head, and biases by distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pecli.declare.plan import Bias
from pecli.drawing.charts import Axis, Chart, Heat, LineChart, Span, Trace, some_of
from pecli.drawing.views import CELLS, shrunk
from pecli.inspection.profiles import profile_of
from pecli.inspection.samples import Floats, Sample, take
from pecli.numbers.rounding import floats
from pecli.tables.table import Table

HEADS = 8


def bias(sample: Sample, name: str) -> list[Chart]:
    """Return the matrix of the first head, and of the last."""
    whole = take(sample.table, unstack=False)
    view = whole.views[0]
    shape = [side for side in view.shape if side != 1]
    found: list[Chart] = []
    does = _does(sample)
    if len(shape) == 3:
        heads = dict.fromkeys((0, shape[0] - 1))
        found += [_bias_map(head_values(whole, h, shape), name, f"head {h} of {shape[0]}", does) for h in heads]
    elif len(shape) == 2 and view.name in ("bias", "array", "index") and shape[0] == shape[1]:
        found.append(_bias_map(whole.planes[0].values.reshape(shape), name, view.name, does))
    return found


def _does(sample: Sample) -> str:
    """Return what these numbers do to a logit, as the encoding that makes them declares it."""
    recipe = sample.table.source if isinstance(sample.table, Table) else None
    if recipe is not None and recipe.encoding.declares("apply"):
        effect = recipe.encoding.hook("apply")(recipe)
        return "multiplies the logit" if effect.logits == "multiply" else "added to the logit"
    return "added to the logit"


def head_values(sample: Sample, head: int, shape: Sequence[int]) -> Floats:
    """Return the first queries and keys of one head, (q, k)."""
    view = sample.views[0]
    per_head = view.rows // shape[0]
    rows = min(per_head, 2 * CELLS) if per_head > 1 else 1
    values = floats(view.read(head * per_head, head * per_head + rows), view.dtype).astype(np.float64)
    return values.reshape(-1, shape[2])[:, : 2 * CELLS]


def _bias_map(values: Floats, name: str, part: str, does: str) -> Heat:
    keys, queries = Span(0.0, values.shape[1] - 1.0, values.shape[1]), (0.0, values.shape[0] - 1.0)
    hidden = np.where(np.isfinite(values), values, np.nan)
    title = f"Bias of {name}, {part}"
    value = does + (" (grey: masked)" if np.isnan(hidden).any() else "")
    return Heat(
        title,
        "key",
        "query",
        shrunk(hidden).tolist(),
        value,
        [keys],
        queries,
        centred=bool(np.nanmin(hidden) < 0 < np.nanmax(hidden)),
        square=True,
    )


def slopes(sample: Sample, name: str) -> list[Chart]:
    """Return slopes by head where there are any, and the bias of each head by distance."""
    found: list[Chart] = []
    profile = profile_of(take(sample.table, unstack=False))
    plan = sample.table.plan if isinstance(sample.table, Table) else None
    by_head = [float(slope) for slope in plan.slopes()] if isinstance(plan, Bias) and plan.slopes else []
    if profile is not None and profile.by == "slopes" and len(sample.table.arrays[0].shape) == 1:
        by_head = profile.values[:, 0].tolist()
    if len(by_head) > 1:
        heads = [float(h) for h in range(len(by_head))]
        across = Axis("head", low=0.0, high=heads[-1], whole=True)
        up = Axis("penalty for each position of distance", log=True, halves=True)
        found.append(LineChart(f"Slopes of {name}", across, up, [Trace("slope", heads, by_head)], dots=True))
    if profile is None or profile.by != "distance":
        return found
    count = profile.heads
    shown = some_of(count, HEADS)
    keep = np.abs(profile.distances) <= CELLS // 2
    distances = [float(d) for d in profile.distances[keep]]
    series = [Trace(f"head {h}", distances, profile.values[h, keep].tolist()) for h in shown]
    across = Axis("distance: key minus query (positions)", low=min(distances), high=max(distances))
    return [*found, LineChart(f"Bias of {name} by distance", across, Axis(_does(sample)), series)]
