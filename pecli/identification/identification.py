"""What an unknown table is, found from its values alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pecli.declare.tabular import Tabular
from pecli.identification.scattered import evenly_spaced, identify_scattered
from pecli.identification.search import guesses_of
from pecli.identification.trial import Trial, try_guess
from pecli.identification.verdict import UNKNOWN, Identification, verdict
from pecli.measures.evidence import Evidence
from pecli.measures.floats import floats
from pecli.measures.samples import take

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD = 96  # rows that a rule shows in, where others follow none
MOST_VERDICTS = 4  # on guesses that reproduce no sample to the bit
BESIDE = 512  # rows of further arrays that an encoding looks at

__all__ = ["UNKNOWN", "Identification", "identify"]


def identify(table: Tabular, positions: NDArray[Any] | None = None) -> Identification:
    """Return the recipe that reproduces a table, or say that none is known.

    Parameters
    ----------
    table : Tabular
        What is asked about; its values alone are used, and its positions if it has any.
    positions : (n,) ndarray, optional
        Those of its rows, where the table does not say and they are not evenly spaced.
    """
    best = UNKNOWN
    parts = list(_parts(table))
    for names, beside in parts:
        sample = take(table, names=names)
        if not sample.planes or not all(plane.values.size for plane in sample.planes):
            continue
        known = sample.positions if positions is None else positions
        if evenly_spaced(known):
            found = identify_evidence(Evidence(sample, beside))
            if found.confidence == "unknown":
                found = identify_scattered(Evidence(sample, beside), None)
        else:
            found = identify_scattered(Evidence(sample, beside), known)
        if ORDER.index(found.confidence) > ORDER.index(best.confidence):
            part = len(parts) > 1 and len(names) == 1
            best = replace(found, notes=(f"this is the array '{names[0]}'", *found.notes)) if part else found
        if best.confidence == "sure":
            break
    return best


ORDER = ("unknown", "likely", "sure")


def _parts(table: Tabular) -> Iterator[tuple[list[str], dict[str, NDArray[np.float64]]]]:
    """Yield the arrays that belong together, and what stands beside them: cosines and sines, else one by one."""
    arrays = {array.name: array for array in table.arrays if array.bytes}
    names = list(arrays)
    pair = [name for name in names if name in ("cos", "sin")]
    alone = [name for name in names if name not in ("position", *(pair if len(pair) == 2 else ()))]
    if len(pair) == 2:
        beside = {}
        for name in alone:
            rows = min(arrays[name].rows, BESIDE)
            raw = floats(table.read_rows([name], 0, rows)[name], arrays[name].dtype).astype(np.float64)
            beside[name] = raw.reshape(arrays[name].shape) if rows == arrays[name].rows else raw
        yield pair, beside
    yield from (([name], {}) for name in alone)


def identify_evidence(evidence: Evidence) -> Identification:
    """Identify a table whose rows are evenly spaced; by some of its rows where all together tell nothing."""
    best = UNKNOWN
    for window in (None, *_windows(evidence)):
        best = _by(replace(evidence, window=window))
        if best.confidence != "unknown":
            break
    return best


def _windows(evidence: Evidence) -> Iterator[slice]:
    """Yield rows that may be right where others are spoiled: the first ones, the last ones, those in the middle."""
    rows = len(evidence.sample.planes[0].values)
    if not evidence.integral and all(p.values.ndim == 2 and len(p.values) == rows for p in evidence.sample.planes):
        for size in (HEAD, HEAD // 4):
            if rows >= 2 * size:
                yield from (slice(start, start + size) for start in (0, rows - size, rows // 2 - size // 2))


def _by(evidence: Evidence) -> Identification:
    """Return the best verdict on what the encodings suggest."""
    trials = [trial for guess in guesses_of(evidence) if (trial := try_guess(guess, evidence)) is not None]
    exact = sorted((t for t in trials if t.equal == 1.0), key=lambda t: (t.guess.listed, -len(t.pairs), t.guess.cost))
    if exact:
        return _with_aliases(verdict(exact[0], evidence), exact)
    best = UNKNOWN
    for trial in sorted(trials, key=lambda t: (t.guess.listed, t.guess.cost, -t.equal))[:MOST_VERDICTS]:
        found = verdict(trial, evidence)
        if ORDER.index(found.confidence) > ORDER.index(best.confidence):
            best = found
    return best


def _with_aliases(found: Identification, exact: list[Trial]) -> Identification:
    """Add the recipes of other encodings that reproduce the sample too."""
    assert found.guess is not None
    others = {trial.guess.name: trial for trial in reversed(exact) if trial.guess.name != found.guess.name}
    return replace(found, aliases=tuple(trial.recipe for trial in others.values() if not trial.guess.listed))
