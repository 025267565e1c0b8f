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
from pecli.identification.vectors import identify_vector
from pecli.identification.verdict import UNKNOWN, Identification, verdict, verdict_of_arithmetic
from pecli.measures.evidence import Evidence
from pecli.measures.floats import floats
from pecli.measures.samples import take
from pecli.measures.spectra import LEVELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD = 96  # rows that a rule shows in, where others follow none
LEVEL = list(LEVELS)
MOST_VERDICTS = 6  # on guesses that reproduce no sample to the bit
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
    pair = _cosines_and_sines(list(arrays))
    alone = [name for name in arrays if name not in ("position", *pair)]
    if pair:
        beside = {}
        for name in alone:
            rows = min(arrays[name].rows, BESIDE)
            raw = floats(table.read_rows([name], 0, rows)[name], arrays[name].dtype).astype(np.float64)
            beside[name] = raw.reshape(arrays[name].shape) if rows == arrays[name].rows else raw
        yield pair, beside
    yield from (([name], {}) for name in alone)


def _cosines_and_sines(names: list[str]) -> list[str]:
    """Return the names of the cosines and the sines, in this order: cos, cos_cached, rotary_emb.cos_cached .."""
    for name in names:
        other = name.replace("cos", "sin")
        if "cos" in name and "sin" not in name and other in names:
            return [name, other]
    return []


def identify_evidence(evidence: Evidence) -> Identification:
    """Identify a table whose rows are evenly spaced; by some of its rows where all together tell nothing."""
    best = UNKNOWN
    for window in (None, *_windows(evidence)):
        best = _by(replace(evidence, window=window))
        if best.confidence != "unknown":
            break
    return best


def _windows(evidence: Evidence) -> Iterator[slice]:
    """Yield rows that may be right where others are spoiled, or follow a rule where rounding has blurred later ones."""
    rows = len(evidence.sample.planes[0].values)
    if not evidence.integral and all(p.values.ndim == 2 and len(p.values) == rows for p in evidence.sample.planes):
        if rows >= 2 * HEAD:
            yield from (slice(0, HEAD), slice(rows - HEAD, rows))
        if rows >= HEAD // 2:
            yield from (slice(0, HEAD // 4), slice(rows // 2, rows // 2 + HEAD // 4))


def _by(evidence: Evidence) -> Identification:
    """Return the best verdict on what the encodings suggest: exact, else of an arithmetic, else nearly so."""
    guesses = list(guesses_of(evidence))
    vectors = [identify_vector(guess, evidence) for guess in guesses if guess.vector]
    if any(found.recipe for found in vectors):
        return max(vectors, key=lambda found: found.equal or 0.0)
    trials = [t for guess in guesses if not guess.vector and (t := try_guess(guess, evidence)) is not None]
    exact = sorted((t for t in trials if t.equal == 1.0), key=lambda t: (t.guess.listed, -len(t.pairs), t.guess.cost))
    if exact:
        return _with_aliases(verdict(exact[0], evidence), exact)
    best = UNKNOWN
    likely = sorted(trials, key=lambda t: (t.guess.listed, LEVEL.index(t.guess.level), t.guess.cost, -t.equal))
    likely = _different(likely)[:MOST_VERDICTS]
    for judge in (verdict_of_arithmetic, verdict):
        found = [judge(trial, evidence) for trial in likely]
        best = max((UNKNOWN, *found), key=_rank)
        if best.confidence != "unknown":
            break
    return best


def _different(trials: list[Trial]) -> list[Trial]:
    """Return trials without those of the same numbers for the same rows under another encoding's name."""
    found: dict[tuple[object, ...], Trial] = {}
    for trial in trials:
        keys, table = trial.guess.keys, trial.guess.table
        numbers = tuple(keys.get(k) for k in ("base", "shift", "scaling", "factor", "original-max", "heads", "grid"))
        found.setdefault((*numbers, table.get("start"), table.get("step"), "shift" in keys or "decay" in keys), trial)
    return list(found.values())


def _rank(found: Identification) -> tuple[int, float, float]:
    """Return what makes one verdict better than another: how sure, how many values, and how few digits."""
    cost = found.guess.cost if found.guess else 0.0
    return ORDER.index(found.confidence), found.equal or 0.0, -cost


def _with_aliases(found: Identification, exact: list[Trial]) -> Identification:
    """Add the recipes of other encodings that reproduce the sample too."""
    assert found.guess is not None
    same = [t for t in exact if (t.guess.name, t.guess.cost) == (found.guess.name, found.guess.cost)]
    others_of_it = [t.recipe for t in same if t.guess.table == found.guess.table and t.recipe != found.recipe]
    if others_of_it:
        notes = (f"the values leave room for {len(others_of_it)} other choices, such as {others_of_it[0]}",)
        found = replace(found, confidence="likely", notes=(*found.notes, *notes))
    assert found.guess is not None
    others = {trial.guess.name: trial for trial in reversed(exact) if trial.guess.name != found.guess.name}
    return replace(found, aliases=tuple(trial.recipe for trial in others.values() if not trial.guess.listed))
