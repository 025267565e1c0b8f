"""A page to play with, in one file: a slider for the position, rotating hands, scalings to switch."""

from __future__ import annotations

import html
import json
import math
import re
from importlib.resources import files
from typing import Any

import numpy as np

from pecli.errors import PecliError
from pecli.extrapolate.scalings import scaled_recipe, scalings_of
from pecli.inspect.pairs import Floats, Sample, reading_of, take
from pecli.plots.tables import head_values, in_turn, is_bias, matrix, side_by_side
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table

ROWS, COLUMNS = 128, 64  # that a page shows of a table; more columns are left out evenly
HANDS, HEADS = 8, 16  # pairs that turn, heads to switch
LONGER = 4  # times the training length that scalings are shown for: a quarter of the rows shown
DIGITS = 6  # of values


def page_of(table: Tabular, name: str) -> str:
    """Return a self-contained page of a table.

    Parameters
    ----------
    table : Tabular
    name : str
        What to call it.

    Returns
    -------
    str
        HTML; of an encoding that has scalings, each of them beside the table itself.
    """
    own = _variant(table, "as it is")
    variants = [own, *(other for other in _scaled(table) if other.get("values") != own.get("values"))]
    title = f"pecli: {name}"
    page = files("pecli.plots").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps({"name": name, "variants": variants}, allow_nan=False).replace("<", "\\u003c")
    parts = {"{{title}}": html.escape(title), "{{data}}": data}  # at once: a name may hold either word
    return re.sub("{{title}}|{{data}}", lambda found: parts[found[0]], page)


def _scaled(table: Tabular) -> list[dict[str, Any]]:
    """Return the table with each scaling of its encoding that lengths alone can make."""
    if not isinstance(table, Table) or table.positions.count < LONGER:
        return []
    rows = min(table.positions.count, ROWS)
    found = []
    for scaling in scalings_of(table.source):
        try:
            scaled = scaled_recipe(table.source, scaling, rows // LONGER, rows).resolve(
                length=rows, last=rows - 1, whole=True
            )
            made = Table(scaled, table.extent, table.request)  # the same positions, type and layout
        except PecliError:  # it needs more than lengths
            continue
        found.append(_variant(made, scaling))
    return found


def _variant(table: Tabular, word: str) -> dict[str, Any]:
    """Return the data of one table for the page."""
    whole = take(table, unstack=False)
    made: dict[str, Any] = {"word": word, "recipe": str(table.recipe or ""), "formula": _formula(table)}
    if is_bias(take(table)):
        view = whole.views[0]
        shape = [side for side in view.shape if side != 1]
        heads = shape[0] if len(shape) == 3 else 1
        planes = [
            head_values(whole, h, shape) if len(shape) == 3 else whole.planes[0].values for h in range(min(heads, 16))
        ]
        cut = [np.atleast_2d(plane)[:ROWS, :ROWS] for plane in planes]
        sides = shape[-2:] if len(shape) > 1 else [1, *shape]
        return {**made, "kind": "bias", "of": sides, "heads": [_plain(values) for values in cut]}
    return {**made, "kind": "rows", **_rows(take(table))}


def _rows(sample: Sample) -> dict[str, Any]:
    of = [sample.planes[0].rows, matrix(sample).shape[1]]
    values = matrix(sample)[:ROWS]
    chosen = sorted(set(np.linspace(0, values.shape[1] - 1, min(COLUMNS, values.shape[1])).astype(int).tolist()))
    at = np.arange(len(values)) if sample.positions is None else sample.positions[: len(values)]
    names = [_column(sample, c) for c in chosen]
    shown = {"columns": names, "values": _plain(values[:, chosen])}
    made: dict[str, Any] = {"of": of, "at": [float(p) for p in at], **shown}
    reading = reading_of(sample)
    if reading is None:
        return made
    cos, sin = reading.turning.real, reading.turning.imag
    pairs = sorted(set(np.linspace(0, cos.shape[1] - 1, min(HANDS, cos.shape[1])).astype(int).tolist()))
    hands = [{"pair": i, "cos": _plain(cos[:ROWS, [i]])[0], "sin": _plain(sin[:ROWS, [i]])[0]} for i in pairs]
    return {**made, "hands": hands}


def _column(sample: Sample, column: int) -> str:
    """Return the true name of a column of the map: pairs in turn stand apart there."""
    arrays = side_by_side(sample)
    if len(arrays) > 1:
        for name, values in arrays:
            if column < values.shape[1]:
                return f"{name} {column}"
            column -= values.shape[1]
    reading = in_turn(sample)
    if reading is None:
        return f"column {column}"
    half = reading.first.shape[1]
    return f"column {2 * (column % half) + column // half}"


def _formula(table: Tabular) -> list[str]:
    if isinstance(table, Table):
        return list(table.source.encoding.formula)
    try:
        name = split_recipe(str(table.recipe))[0] if table.recipe else ""
    except PecliError:  # the recipe of another program
        return []
    return list(CATALOGUE[name].formula) if name in CATALOGUE else []


def _plain(values: Floats) -> list[list[float | None]]:
    """Return columns of numbers; None where there is none, for JSON has no infinity."""
    return [
        [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in column]
        for column in np.asarray(values).T.tolist()
    ]
