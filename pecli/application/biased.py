"""Logits with a bias added, or multiplied by a weight: each value rounded once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.application.addition import AddedRows
from pecli.application.biases import BiasRows, pair_table
from pecli.application.scores import GivenLogits, ScoreRows, WithBias
from pecli.application.tensors import Tensor, as_logits
from pecli.application.wishes import Application, Wish, axes_notes
from pecli.declare.effect import Effect
from pecli.errors import BadParameter
from pecli.sources.sources import NamedSource

Integers = NDArray[np.int64]


def biased(source: NamedSource, tensor: Tensor, wish: Wish, effect: Effect) -> Application:
    """Return logits with a bias; see :func:`pecli.application.apply.apply`."""
    if wish.scale is not None:
        raise BadParameter("input-scale", wish.scale, "is for absolute tables, whose rows are added")
    logits = as_logits(tensor)
    queries, keys = logits.side("q"), logits.side("k")
    table = pair_table(source, queries, keys, wish)
    rows = BiasRows(table, source.text)
    rows.check(logits.side("h"), queries, keys)
    notes = tuple(axes_notes([logits]))
    if wish.softmax:
        made = ScoreRows(GivenLogits(logits), [WithBias(rows, effect.logits)], wish)
        return Application(made, notes, lambda: made.error)

    def where(vectors: Integers) -> Integers:
        return logits.places(vectors, "h") % rows.heads * queries + logits.places(vectors, "q")

    dtype = wish.dtype or logits.dtype
    multiplied = effect.logits == "multiply"
    return Application(AddedRows(rows, logits, dtype, where=where, multiplied=multiplied, causal=wish.causal), notes)
