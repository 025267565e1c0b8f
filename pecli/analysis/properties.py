"""Properties of a table, measured from its values and not asserted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.analysis.facts import relative_residual
from pecli.analysis.readings import Reading, readings
from pecli.analysis.samples import Floats, Sample, take
from pecli.tabular import Tabular

ROWS = 512  # enough for every distance that is reported, and every product of rows fits the memory
SHIFTS = (1, 2, 4, 8, 16, 32, 64)
PAIRS = 64  # of query and key positions whose scores are compared
SEED = 7


@dataclass(frozen=True)
class Property:
    """One measured property.

    Attributes
    ----------
    name : str
        What it is called.
    holds : bool or None
        Whether it does; None where it is a number without a verdict.
    text : str
        The measurement in words.
    figures : dict
        The numbers.
    """

    name: str
    holds: bool | None
    text: str
    figures: dict[str, Any] = field(default_factory=dict)


def measure_properties(table: Tabular) -> list[Property]:
    """Return what the values of a table's first rows show."""
    sample = take(table, ROWS)
    planes = [plane.values.reshape(len(plane.values), -1) for plane in sample.planes]
    rows = min((len(p) for p in planes), default=0)
    if rows < 2:
        return []
    values = np.concatenate([p[:rows] for p in planes], axis=1)
    finite = np.where(np.isfinite(values), values, 0.0)
    found = [_bounded(values), *_rows(finite)]
    reading = next(iter(readings(sample)), None)
    if reading is not None and (reading.rows.start, reading.rows.stop) == (0, len(planes[0])):
        found += list(_turning(reading, sample))
    found += _shift(finite)
    if set(np.unique(values)) <= {-1.0, 0.0, 1.0}:
        found.append(_hamming(values))
    return found


def _bounded(values: Floats) -> Property:
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=math.inf)), float(finite.max(initial=-math.inf))
    first, last = values[: len(values) // 2], values[len(values) // 2 :]
    growth = _largest(last) / (_largest(first) or 1.0)
    text = f"values from {low:.6g} to {high:.6g}; the second half of the rows reaches {growth:.3g} times the first"
    return Property("bounded", growth < 1.5, text, {"minimum": low, "maximum": high, "growth": growth})


def _largest(values: Floats) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _rows(values: Floats) -> Iterator[Property]:
    """Yield how far rows are apart: the nearest two, and neighbours."""
    square = np.einsum("ij,ij->i", values, values)
    distances = square[:, None] + square[None, :] - 2 * values @ values.T
    distances[np.diag_indices_from(distances)] = np.inf
    i, j = divmod(int(distances.argmin()), len(values))
    nearest = float(np.linalg.norm(values[i] - values[j]))
    text = f"the nearest two rows, {min(i, j)} and {max(i, j)}, are {nearest:.4g} apart"
    yield Property("unique rows", nearest > 0, text, {"nearest": nearest, "rows": [min(i, j), max(i, j)]})
    gaps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    far = float(np.sqrt(2 * np.var(values, axis=0).sum())) or 1.0
    text = f"neighbours are {gaps.min():.4g} to {gaps.max():.4g} apart, two rows at random {far:.4g}"
    figures = {"smallest": float(gaps.min()), "largest": float(gaps.max()), "random": far}
    yield Property("smooth", bool(gaps.max() < 0.75 * far), text, figures)
    norms = np.sqrt(square)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = values / norms[:, None]
    if np.isfinite(unit).all():
        means = {k: float(np.einsum("ij,ij->i", unit[:-k], unit[k:]).mean()) for k in SHIFTS if k < len(unit)}
        text = ", ".join(f"{k}: {v:.4f}" for k, v in means.items())
        yield Property("similarity by distance", None, f"mean cosine at distance {text}", {"cosine": means})


def _turning(reading: Reading, sample: Sample) -> Iterator[Property]:
    """Yield what holds of pairs that turn: their size, scores of distances, and how independent they are."""
    sizes = np.sqrt(reading.first**2 + reading.second**2)
    spread = float(np.abs(sizes / reading.magnitude - 1).max())
    word = "preserved" if abs(reading.magnitude - 1) < 1e-3 else f"multiplied by {reading.magnitude:.6g}"
    text = f"the norm of a rotated vector is {word}, within {spread:.1e}"
    figures = {"magnitude": reading.magnitude, "spread": spread}
    yield Property("norm preserved", abs(reading.magnitude - 1) < 1e-3 and spread < 0.02, text, figures)
    off = score_spread(reading)
    text = f"the score of a rotated query and key changes by {off:.1e} between positions of the same distance"
    yield Property("score depends on distance alone", off < 0.02, text, {"spread": off})
    yield _orthogonal(reading)


def score_spread(reading: Reading) -> float:
    """Return how much scores of one distance differ over positions, relative to the largest score."""
    rng = np.random.default_rng(SEED)
    m = reading.first.shape[1]
    q, k = (rng.standard_normal(m) + 1j * rng.standard_normal(m) for _ in range(2))
    turning = reading.first + 1j * reading.second
    worst = 0.0
    n = len(turning)
    scale = float(np.abs((q * k.conj()).sum())) or 1.0
    for distance in (d for d in (0, 1, 3, 10, 50) if d < n // 2):
        at = np.linspace(0, n - 1 - distance, min(PAIRS, n - distance)).astype(int)
        scores = ((turning[at + distance] * q) * (turning[at] * k).conj()).real.sum(axis=1)
        worst = max(worst, float(np.ptp(scores)) / max(scale, float(np.abs(scores).max())))
    return worst


def _orthogonal(reading: Reading) -> Property:
    """Return how far the pairs' oscillations are from orthogonal over the rows."""
    turning = reading.turning
    gram = np.abs(turning.conj().T @ turning) / len(turning)
    gram[np.diag_indices_from(gram)] = 0.0
    near = float((gram > 0.5).sum() / max(1, gram.size - len(gram)))
    text = f"{1 - near:.1%} of the pairs of frequencies are nearly orthogonal over {len(turning)} rows"
    return Property("orthogonal frequencies", near < 0.1, text, {"largest": float(gram.max(initial=0)), "alike": near})


def _shift(values: Floats) -> list[Property]:
    """Return the residual of the best matrix M_k with PE(p + k) = M_k PE(p), per k."""
    varying = values[:, np.ptp(values, axis=0) > 0]
    if varying.shape[1] == 0 or len(varying) // 2 <= varying.shape[1] + max(SHIFTS[:3]):
        return []
    residuals = {k: relative_residual(varying, k) for k in SHIFTS if len(varying) - k > 2 * varying.shape[1] + 2}
    text = ", ".join(f"k={k}: {v:.1e}" for k, v in residuals.items())
    holds = max(residuals.values(), default=1.0) < 1e-3
    return [Property("relative property", holds, f"best M_k with PE(p+k) = M_k PE(p) is off by {text}", {"residual": residuals})]


def _hamming(values: Floats) -> Property:
    """Return how many bits neighbours differ in."""
    changes = (np.diff(values, axis=0) != 0).sum(axis=1)
    text = f"neighbours differ in {changes.min()} to {changes.max()} bits, {changes.mean():.3g} in the mean"
    figures = {"smallest": int(changes.min()), "largest": int(changes.max()), "mean": float(changes.mean())}
    return Property("neighbours differ in one bit", bool(changes.max() == 1), text, figures)


def as_dicts(found: Sequence[Property]) -> list[dict[str, Any]]:
    """Return what --json prints."""
    return [{"name": p.name, "holds": p.holds, "text": p.text, **p.figures} for p in found]


Array = NDArray[np.float64]
