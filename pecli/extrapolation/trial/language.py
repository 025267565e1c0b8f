"""A synthetic language whose best possible loss is known at every position.

A sequence is pairs of a key and a value.  Keys are drawn at random; a key shows
the value that it showed last, but with probability `CHANGE` it is bound to a
new random one.  To predict a value the model must find the *latest* showing of
its key, `2 KEYS` tokens back on average and often much further: by content, and
by position, since older bindings of the same key are stale.  The predictor that
does so perfectly gives the floor that every loss is held against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEYS, VALUES = 6, 8
CHANGE = 0.2
TOKENS = KEYS + VALUES


@dataclass(frozen=True)
class Text:
    """Sequences of the language.

    Attributes
    ----------
    tokens : (batch, n) int64
        Keys 0 .. KEYS-1 at even positions, values KEYS .. TOKENS-1 at odd ones.
    floor : (batch, n/2) float64
        Loss, in nats, of the perfect predictor of each value.
    """

    tokens: NDArray[np.int64]
    floor: NDArray[np.float64]


def speak(random: np.random.Generator, batch: int, length: int) -> Text:
    """Return `batch` sequences of `length` tokens (even)."""
    pairs = length // 2
    keys = random.integers(0, KEYS, (batch, pairs))
    drawn = random.integers(0, VALUES, (batch, pairs))
    keeps = random.random((batch, pairs)) >= CHANGE
    bound = np.full((batch, KEYS), -1)
    values = np.empty((batch, pairs), np.int64)
    floor = np.empty((batch, pairs))
    stays = 1 - CHANGE + CHANGE / VALUES
    rows = np.arange(batch)
    for t in range(pairs):
        last = bound[rows, keys[:, t]]
        known = last >= 0
        value = np.where(known & keeps[:, t], last, drawn[:, t])
        chance = np.where(known, np.where(value == last, stays, CHANGE / VALUES), 1 / VALUES)
        floor[:, t] = -np.log(chance)
        values[:, t] = bound[rows, keys[:, t]] = value
    tokens = np.empty((batch, 2 * pairs), np.int64)
    tokens[:, ::2], tokens[:, 1::2] = keys, KEYS + values
    return Text(tokens, floor)
