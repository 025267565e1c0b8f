"""Tables as charts: heat map, waves, similarity of positions, rotation of pairs, bias matrix, slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pecli.declare.tabular import Tabular
from pecli.declare.words import PICTURES
from pecli.drawing.biases import bias, slopes
from pecli.drawing.charts import Chart, Heat, Span
from pecli.drawing.choice import check_words, chosen
from pecli.drawing.turning import rotation, turned, waves
from pecli.drawing.views import CELLS, frame, in_turn, is_bias, matrix, shrunk, side_by_side
from pecli.errors import BadParameter
from pecli.inspect.pairs import Sample, take

OF_ROWS = ("heatmap", "waves", "similarity", "rotation", "turned")
OF_BIAS = ("bias", "slopes")


def charts_of_table(table: Tabular, name: str, words: Sequence[str] = (), channels: Sequence[int] = ()) -> list[Chart]:
    """Return pictures of a table: those named, or those that suit it; waves of these channels.

    Raises
    ------
    UnknownName
        For a word that is no picture.
    BadParameter
        For a picture or a channel that the table has not.
    """
    check_words(words, PICTURES)
    sample = take(table)
    suited = OF_BIAS if is_bias(sample) else OF_ROWS
    makers: dict[str, Callable[[Sample, str], list[Chart]]] = {
        "heatmap": _heat, "waves": partial(waves, channels=channels), "similarity": _similarity,
        "rotation": rotation, "turned": turned, "bias": bias, "slopes": slopes,
    }  # fmt: skip
    if channels and "waves" not in (words or suited):
        raise BadParameter(
            "channels", "+".join(map(str, channels)), "chooses the columns of waves, which are not drawn"
        )
    found = chosen({word: partial(makers[word], sample, name) for word in suited}, words, name)
    if not found:
        raise BadParameter("plot", name, "has nothing to draw: it needs rows and columns of numbers")
    return found


def _heat(sample: Sample, name: str) -> list[Chart]:
    values = matrix(sample)
    if values.shape[0] < 2 or values.shape[1] < 2 or not np.isfinite(values).any():
        return []
    rows = min(len(values), 2 * CELLS)
    map_ = shrunk(np.where(np.isfinite(values[:rows]), values[:rows], np.nan))
    ends, where, part = frame(sample, rows)
    centred = bool(np.nanmin(map_) < 0)
    title = f"Values of {name}{part}"
    spans = _spans(sample, values.shape[1])
    return [Heat(title, _columns(sample), where, map_.tolist(), "value", spans, ends, centred=centred)]


def _spans(sample: Sample, columns: int) -> list[Span]:
    """Return the true numbers of the map's columns: pairs in turn stand apart, and so do several arrays."""
    arrays = side_by_side(sample)
    if len(arrays) > 1:
        return [Span(0.0, values.shape[1] - 1.0, values.shape[1], word) for word, values in arrays]
    reading = in_turn(sample)
    if reading is None:
        return [Span(0.0, columns - 1.0, columns)]
    names = ("sines", "cosines") if reading.sine_first else ("cosines", "sines")
    half = columns // 2
    return [Span(first, first + 2.0 * (half - 1), half, names[k]) for k, first in enumerate((0.0, 1.0))]


def _columns(sample: Sample) -> str:
    """Return what the columns of the map are, in their order there."""
    arrays = side_by_side(sample)
    if len(arrays) > 1:
        return f"column of {', then of '.join(name for name, _ in arrays)}"
    reading = in_turn(sample)
    if reading is None:
        return "column"
    sines, cosines = ("sines", "cosines") if reading.sine_first else ("cosines", "sines")
    return f"columns 0, 2, 4 .. ({sines}), then columns 1, 3, 5 .. ({cosines})"


def _similarity(sample: Sample, name: str) -> list[Chart]:
    """Return the cosine of every two rows."""
    values = matrix(sample)
    values = values[: min(len(values), CELLS)]
    norms = np.linalg.norm(values, axis=1)
    if len(values) < 3 or values.shape[1] < 2 or not np.isfinite(norms).all() or not norms.any():
        return []
    unit = values / np.where(norms == 0, np.nan, norms)[:, None]  # a row of zeros has no direction: it is left grey
    ends, where, part = frame(sample, len(values))
    cells = np.clip(unit @ unit.T, -1, 1)
    low = float(np.nanmin(cells))
    low = low if low < 1 - 1e-6 else 0.0  # rows that all point one way differ by rounding alone
    title = f"Similarity of {'positions' if where == 'position' else 'rows'} in {name}{part}"
    value = "cosine of two rows" + (" (grey: a row of zeros)" if (norms == 0).any() else "")
    span: dict[str, Any] = {"centred": True} if low < -0.2 else {"centred": False, "low": low}
    return [
        Heat(title, where, where, cells.tolist(), value, [Span(*ends, len(cells))], ends, high=1.0, square=True, **span)
    ]
