"""An interactive page in one file: a slider for the position, rotating hands, scalings to switch."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from importlib.resources import files
from itertools import groupby
from typing import Any

import numpy as np

from pecli.errors import BadParameter
from pecli.extrapolate.scalings import scaled_tables
from pecli.inspect.pairs import Sample, head_values, reading_of, some_of, take
from pecli.numbers.rounding import Floats
from pecli.plots.tables import CELLS, columns_of, computed, is_bias
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table

MAX_ROWS = 1 << 14  # of a page; a browser draws no picture that is much higher
MAX_VALUES = 1 << 20  # of a variant; where there are more, columns or heads are left out evenly
COLUMNS, HANDS, HEADS = 128, 8, 64  # columns, pairs that rotate, and heads to switch, at most
LONGER = 4  # the factor of the scalings: the rows of the page divided by the training length


def page_of(table: Tabular, name: str) -> str:
    """Return a self-contained page of all rows of a table.

    Parameters
    ----------
    table : Tabular
    name : str
        Its title.

    Returns
    -------
    str
        HTML; of an encoding that has scalings, with the table of each of them to switch to.

    Raises
    ------
    BadParameter
        If it has more rows than a page can hold.
    """
    own, others = _variant(table, "as it is", ""), list[dict[str, Any]]()
    if isinstance(table, Table) and (rows := table.positions.count) >= LONGER:
        said = f"trained on {rows // LONGER} positions, scaled by {LONGER} for {rows}"
        others = [_variant(made, scaling, said) for scaling, made in scaled_tables(table, LONGER)]
    variants = [own, *(other for other in others if other.get("values") != own.get("values"))]
    page = files("pecli.plots").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps({"name": name, "variants": variants}, allow_nan=False).replace("<", "\\u003c")
    parts = {"{{title}}": html.escape(f"pecli: {name}"), "{{data}}": data}  # at once: a name may hold either word
    return re.sub("{{title}}|{{data}}", lambda found: parts[found[0]], page)


def _variant(table: Tabular, word: str, said: str) -> dict[str, Any]:
    """Return the data of one table for the page."""
    made, sample = computed(table), take(table, MAX_ROWS)
    formula = list(made.source.encoding.formula) if made is not None else []
    data = {"word": word, "said": said, "recipe": str(table.recipe or ""), "formula": formula}
    return {**data, **(_bias(take(table, unstack=False)) if is_bias(sample) else _rows(sample))}


def _bias(sample: Sample) -> dict[str, Any]:
    shape = [side for side in sample.views[0].shape if side != 1]
    sides = shape[-2:] if len(shape) > 1 else [1, *shape]
    if max(sides) > 2 * CELLS:
        raise BadParameter("len", max(sides), f"is more than a page shows of a bias: choose at most {2 * CELLS}")
    count = shape[0] if len(shape) == 3 else 1
    heads = some_of(count, max(2, min(HEADS, MAX_VALUES // (sides[0] * sides[1]))))
    planes = [head_values(sample.views[0], h, shape[0]) if len(shape) == 3 else sample.planes[0].values for h in heads]
    shown = [_packed(plane.reshape(sides)) for plane in planes]
    return {"kind": "bias", "rows": sides[0], "width": sides[1], "heads": heads, "values": shown, "of": count}


def _rows(sample: Sample) -> dict[str, Any]:
    labels, values = columns_of(sample)
    if sample.planes[0].rows > len(values):
        rule = f"is more than a page holds of such rows: choose at most {len(values)}, as with FILE[0:{len(values)}]"
        raise BadParameter("len", sample.planes[0].rows, rule)
    chosen = some_of(len(labels), max(2, min(COLUMNS, MAX_VALUES // len(values))))
    at = np.arange(len(values)) if sample.positions is None else sample.positions[: len(values)]
    shown = [labels[c] for c in chosen]
    made: dict[str, Any] = {
        "kind": "rows", "rows": len(values), "width": len(chosen), "of": len(labels), "at": [float(p) for p in at],
        "columns": [f"{head} {number}" if head else f"column {number}" for head, number in shown],
        "spans": [[head, len(list(run))] for head, run in groupby(head for head, _ in shown)],
        "values": [_packed(values[:, chosen])],
    }  # fmt: skip
    found = reading_of(sample)
    if found is not None and len(found.first) == len(values):
        pairs = some_of(found.first.shape[1], HANDS)
        cos, sin = (part[:, pairs] for part in found.cos_and_sin)
        made["pairs"], made["hands"], made["size"] = pairs, _packed(np.arctan2(sin, cos)), found.magnitude
    return made


def _packed(values: Floats) -> str:
    """Return float32 values as text, column after column; NaN for what float32 has no finite value of."""
    columns = np.where(np.abs(values) <= np.finfo(np.float32).max, values, np.nan).T
    return b64encode(np.ascontiguousarray(columns, "<f4").tobytes()).decode()
