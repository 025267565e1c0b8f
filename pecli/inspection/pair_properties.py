"""What holds of pairs that turn: their size, scores by distance, how independent they are, what a shift does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.inspection.property import Property
from pecli.measures.readings import Reading
from pecli.numbers.printing import figure

PLACES = 64  # of query and key positions whose scores are compared
DISTANCES = (0, 1, 3, 10, 50)
SEED = 7
ALIKE = 0.5  # mean product of two oscillations, above which they are not called independent
MOST_PAIRS = 1024  # of which every two are multiplied


def turning_properties(reading: Reading) -> Iterator[Property]:
    """Yield what holds of pairs that turn."""
    size = reading.magnitude
    spread = float(np.abs(np.hypot(reading.first, reading.second) / size - 1).max())
    word = "preserved" if abs(size - 1) < 1e-3 else f"multiplied by {figure(size)}"
    text = f"the norm of a vector that is rotated so is {word}, within {spread:.1e}"
    good = abs(size - 1) < 1e-3 and spread < 0.02
    yield Property("norm preserved", good, text, {"magnitude": size, "spread": spread})
    off = score_spread(reading)
    text = f"scores of one rotated query and key at the same m - n differ by {off:.1e} of their size at most"
    yield Property("score depends on m - n alone", off < 0.02, text, {"spread": off})
    yield _orthogonal(reading)


def score_spread(reading: Reading) -> float:
    """Return how much scores of one distance differ over positions, relative to the size of query and key."""
    rng = np.random.default_rng(SEED)
    m = reading.first.shape[1]
    q, k = (rng.standard_normal(m) + 1j * rng.standard_normal(m) for _ in range(2))
    turning = reading.first + 1j * reading.second
    n, worst = len(turning), 0.0
    scale = float(np.linalg.norm(q) * np.linalg.norm(k)) * reading.magnitude**2
    for distance in (d for d in DISTANCES if d < n // 2):
        at = np.linspace(0, n - 1 - distance, min(PLACES, n - distance)).astype(int)
        scores = ((turning[at + distance] * q) * (turning[at] * k).conj()).real.sum(axis=1)
        worst = max(worst, float(np.ptp(scores)) / scale)
    return worst


def _orthogonal(reading: Reading) -> Property:
    """Return how far the pairs' oscillations are from orthogonal over the rows."""
    turning, every = reading.turning, reading.turning.shape[1]
    turning = turning[:, np.linspace(0, every - 1, min(every, MOST_PAIRS)).astype(int)]
    gram = np.abs(turning.conj().T @ turning) / len(turning)
    gram[np.diag_indices_from(gram)] = 0.0
    pairs = max(1, gram.size - len(gram))
    alike = float((gram > ALIKE).sum() / pairs)
    mean = float(gram.sum() / pairs)
    some = f" of {len(gram):,} of the {every:,}" if len(gram) < every else ""
    text = (
        f"over {len(turning)} rows the mean product of two pairs' oscillations{some} is {mean:.3f} "
        f"(0: orthogonal); {alike:.1%} of them, the slow ones among each other, exceed {ALIKE}"
    )
    figures = {"mean": mean, "largest": float(gram.max(initial=0)), "alike": alike}
    return Property("orthogonal frequencies", None, text, figures)
