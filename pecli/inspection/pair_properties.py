"""What holds of pairs that turn: their size, scores by distance, how independent they are, what a shift does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.inspection.property import Property
from pecli.inspection.readings import PairReading
from pecli.numbers.printing import figure

SEED = 7
ALIKE = 0.5  # mean product of two oscillations, above which they are not called independent
MOST_PAIRS = 1024  # of which every two are multiplied


def turning_properties(reading: PairReading, *, rotates: bool) -> Iterator[Property]:
    """Yield what holds of pairs that turn; with `rotates`, what a rotation by them does to vectors."""
    if rotates:
        yield from _of_rotation(reading)
    yield from _orthogonal(reading)


def _of_rotation(reading: PairReading) -> Iterator[Property]:
    size = reading.magnitude
    spread = float(np.abs(np.hypot(reading.first, reading.second) / size - 1).max())
    word = "preserved" if abs(size - 1) < 1e-3 else f"multiplied by {figure(size)}"
    text = f"the norm of a vector that is rotated so is {word}, within {spread:.1e}"
    good = abs(size - 1) < 1e-3 and spread < 0.02
    yield Property("norm preserved", good, text, {"magnitude": size, "spread": spread})
    off = score_spread(reading)
    text = f"scores of one rotated query and key at the same m - n differ by {off:.1e} of their size at most"
    yield Property("score depends on m - n alone", off < 0.02, text, {"spread": off})


def score_spread(reading: PairReading) -> float:
    """Return how much scores of one distance differ over positions, relative to the size of query and key."""
    rng = np.random.default_rng(SEED)
    m = reading.first.shape[1]
    q, k = (rng.standard_normal(m) + 1j * rng.standard_normal(m) for _ in range(2))
    keys = reading.first + 1j * reading.second
    queries, n = keys * (q * np.conj(k)), len(keys)
    scores = queries.real @ keys.real.T + queries.imag @ keys.imag.T
    worst = max(float(np.ptp(scores.diagonal(distance))) for distance in range(1 - n, n))
    return worst / (float(np.linalg.norm(q) * np.linalg.norm(k)) * reading.magnitude**2)


def _orthogonal(reading: PairReading) -> Iterator[Property]:
    """Yield how far the pairs' oscillations are from orthogonal over the rows, where there are two pairs or more."""
    turning, every = reading.turning, reading.turning.shape[1]
    if every < 2:
        return
    turning = turning[:, np.linspace(0, every - 1, min(every, MOST_PAIRS)).astype(int)]
    gram = np.abs(turning.conj().T @ turning) / len(turning)
    gram[np.diag_indices_from(gram)] = 0.0
    pairs, alike = gram.size - len(gram), gram > ALIKE
    mean, some = float(gram.sum() / pairs), int(alike.sum()) // 2
    turns = np.abs(np.angle(turning[1:] * turning[:-1].conj())).sum(axis=0) / (2 * np.pi)
    slow = figure(float(turns[alike.any(axis=0)].max(initial=0.0)), 3)
    which = f" of {len(gram):,} of the {every:,}" if len(gram) < every else ""
    text = f"over {len(turning)} rows the mean product of two pairs' oscillations{which} is {mean:.3f} (0: orthogonal)"
    text += f"; none of {pairs // 2:,} exceeds {ALIKE}" if not some else ""
    text += f"; {some:,} of {pairs // 2:,} exceed {ALIKE}, all of pairs that turn {slow} times or less" if some else ""
    figures = {"mean": mean, "largest": float(gram.max()), "alike": some / (pairs // 2)}
    yield Property("orthogonal frequencies", None, text, figures)
