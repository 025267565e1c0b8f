"""What an unknown table is, found from its values alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pecli.declare.encoding import REGISTRY, Family
from pecli.declare.tabular import Tabular
from pecli.identification.changed import identify_changed, with_change
from pecli.identification.fitting import refitted
from pecli.identification.rivals import PAIR, fitted_once, likely, with_aliases, with_names, with_rivals
from pecli.identification.scattered import evenly_spaced, identify_scattered
from pecli.identification.search import guesses_of
from pecli.identification.trial import Trial, try_guess
from pecli.identification.vectors import best_vector, identify_vector
from pecli.identification.verdict import NEARLY_ALL, UNKNOWN, Identification, verdict, verdict_of_arithmetic
from pecli.identification.windows import HEAD, grains, windows
from pecli.identification.worth import long, worth
from pecli.measures.drawn import statistics_of
from pecli.measures.evidence import Evidence
from pecli.measures.floats import floats
from pecli.measures.lanes import lane_of
from pecli.measures.samples import Sample, take
from pecli.tables.layouts import cosines_and_sines
from pecli.tables.selection import InMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Part = tuple[list[str], dict[str, NDArray[np.float64]]]

MOST_VERDICTS = 6  # on guesses that reproduce no sample to the bit
MOST_BYTES = 1 << 26  # of a table that is turned over
LEAST = 2  # rows and columns of one
FEW_VERDICTS = 2  # by some rows alone
CONSTANT = "every value is"
MASK_VALUES = 2  # distinct values of a mask
BLOCK_VALUES = 1 << 20  # read at once while distinct values are counted
HUGE = 1e16  # above which a number is written with an exponent
TWO_WAYS = 1e-9  # largest difference of two ways to compute a table in double precision
BESIDE = 512  # rows of further arrays that an encoding looks at, where these have
ALL_BESIDE = 1 << 23  # bytes and more

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
    with np.errstate(all="ignore"):  # a file may hold any number, and no warning of it helps anybody
        few = _few_values(table)
        if few is not None:
            constant = few.startswith(CONSTANT) and few != f"{CONSTANT} 0"  # no table of positions is
            found = UNKNOWN if constant else _identified(table, positions)[0]
            return found if _of_few_values(found) else replace(UNKNOWN, notes=(few,))
        found, told = _identified(table, positions)
        for turned, note in _turned(table) if found.confidence == "unknown" and positions is None else ():
            other, _ = _identified(turned, None, plainly=True)
            if other.recipe and other.guess is not None and not other.guess.listed:
                return replace(other, notes=(note, *other.notes))
        if found.recipe is None and positions is None:
            found = _changed(table)
        return replace(found, notes=told) if found.recipe is None else found


def _few_values(table: Tabular) -> str | None:
    """Say that a table holds one value or two alone, as masks do; None where it holds more."""
    values: NDArray[Any] = np.zeros(0)
    lanes = [lane_of(table, array) for array in table.arrays if array.bytes]
    for lane in lanes:
        step = max(1, BLOCK_VALUES // max(1, lane.row_size))
        for start in range(0, lane.rows, step):
            block = floats(lane.read(start, min(start + step, lane.rows)), lane.dtype)
            values = np.unique(np.concatenate([values, np.unique(block)]))
            if len(values) > MASK_VALUES or np.isnan(values).any():
                return None
    if not len(values) or sum(lane.rows * lane.row_size for lane in lanes) <= MASK_VALUES:
        return None
    shown = [np.format_float_positional(v, trim="-") if abs(v) < HUGE else f"{v:.6g}" for v in values]
    if len(values) == 1:
        return f"{CONSTANT} {shown[0]}"
    return f"only two values, {shown[0]} and {shown[1]}, as a mask has"


def _of_few_values(found: Identification) -> bool:
    """Whether a recipe is one that a table of one or two values may be: bits of positions, or zeros, all of them."""
    if found.guess is None or found.equal != 1.0 or "positions" in found.guess.table:
        return False
    family = REGISTRY[found.guess.name].family
    return family is Family.NONE or (family is Family.ABSOLUTE and not found.guess.listed)


def _changed(table: Tabular) -> Identification:
    """Return what a table is that was changed later, as it stands or with its axes exchanged; unknown if none."""
    tall = all(len(array.shape) == 2 and array.shape[0] > array.shape[1] for array in table.arrays if array.bytes)
    turned = () if tall else _turned(table)  # more positions than columns, as tables have
    for seen, notes in ((table, ()), *((other, (note,)) for other, note in turned)):
        for names, beside in (parts := list(_parts(seen))):
            found = identify_changed(seen, names, beside)
            if found.recipe is not None:
                return _of_the_file(replace(found, notes=(*notes, *found.notes)), names, parts, seen)
    return UNKNOWN


def _turned(table: Tabular) -> Iterator[tuple[Tabular, str]]:
    """Yield the table with axes exchanged where it may be one of positions then, and what is to be said of that."""
    arrays = [array for array in table.arrays if array.bytes]
    shapes = [tuple(side for side in array.shape if side != 1) for array in arrays]
    large = sum(array.bytes for array in arrays) > MOST_BYTES
    flat = [a for a in arrays if len(a.shape) == 2]  # others may stand beside a pair
    beside = len(flat) == len(arrays) or cosines_and_sines([a.name for a in flat])
    least = PAIR if len(flat) == PAIR else LEAST
    if large or not arrays:
        return
    values = {a.name: table.read_rows([a.name], 0, a.rows)[a.name].reshape(a.shape) for a in arrays}
    if flat and beside and all(min(a.shape) == 1 or min(a.shape) >= least for a in flat):
        turned = {name: np.ascontiguousarray(v.T) if v.ndim == 2 else v for name, v in values.items()}
        yield InMemory(turned), "rows and columns are exchanged"
    elif len(arrays) == 1 and len(shapes[0]) == 3 and shapes[0][0] % 4 == 0:  # as convolutions have images
        image = values[arrays[0].name].reshape(shapes[0][0], -1)
        yield InMemory({arrays[0].name: np.ascontiguousarray(image.T)}), "channels come before rows and columns"


def _identified(
    table: Tabular, positions: NDArray[Any] | None, *, plainly: bool = False
) -> tuple[Identification, tuple[str, ...]]:
    """Return what a table is as it stands, and its statistics where that is unknown.

    `plainly`: by all its rows together, or the first ones, at equal distance.
    """
    best = UNKNOWN
    told: tuple[str, ...] = ()
    parts = list(_parts(table))
    for names, beside in parts:
        sample = take(table, names=names)
        if not sample.planes or not all(plane.values.size for plane in sample.planes):
            continue
        known = sample.positions if positions is None else positions
        if plainly:
            found = _by(Evidence(sample, beside))
            head = slice(0, HEAD) if len(sample.planes[0].values) >= 2 * HEAD else None
            if found.confidence == "unknown" and head is not None:
                found = _by(Evidence(sample, beside, window=head))
        elif evenly_spaced(known):
            found = identify_evidence(Evidence(sample, beside))
            if found.confidence == "unknown":
                found = identify_scattered(Evidence(sample, beside), None)
            found = with_change(found, Evidence(sample, beside))
        else:
            found = identify_scattered(Evidence(sample, beside), known)
        if ORDER.index(found.confidence) > ORDER.index(best.confidence):
            part = len(parts) > 1 and len(names) == 1
            said = replace(found, notes=(f"this is the array '{names[0]}'", *found.notes)) if part else found
            best = _of_the_file(said, names, parts, table)
        whole = {*best.arrays} >= {name for own, _ in parts for name in own}
        if found.confidence == "sure" or (best.recipe and (best.equal == 1.0 or whole)):
            break
        if best.recipe is None:
            told = told or statistics_of(sample)
    return best, told


ORDER = ("unknown", "likely", "sure")
NAMED_ARRAYS = 3  # of those that an answer says nothing of


def _of_the_file(found: Identification, names: list[str], parts: list[Part], table: Tabular) -> Identification:
    """Return an answer with the names of arrays that it does not speak of: with any it is at most likely."""
    others = [name for own, _ in parts for name in own if name not in (*names, *found.arrays)]
    vectors = {name: _frequencies_of(found, take(table, names=[name])) for name in others}
    for name in (name for name, right in vectors.items() if right is False):
        note = f"the array '{name}' holds other numbers than the recipe's frequencies"
        found = replace(found, confidence="likely", notes=(*found.notes, note))
    others = [name for name, right in vectors.items() if right is None]
    if not others:
        return found
    listed = ", ".join(f"'{name}'" for name in others[:NAMED_ARRAYS])
    more = f" and {len(others) - NAMED_ARRAYS} more" if len(others) > NAMED_ARRAYS else ""
    note = (
        f"the array {listed} was not compared" if len(others) == 1 else f"the arrays {listed}{more} were not compared"
    )
    return replace(found, confidence="likely", notes=(*found.notes, note))


def _frequencies_of(found: Identification, sample: Sample) -> bool | None:
    """Whether an array holds the recipe's frequencies, as modules keep them; None where it has another shape."""
    evidence = Evidence(sample)
    if found.guess is None or evidence.integral or evidence.rows is None or min(evidence.rows.shape) != 1:
        return None
    if str(2 * evidence.rows.size) != found.guess.keys.get("dim"):
        return None
    return identify_vector(replace(found.guess, vector=True, free=()), evidence).equal == 1.0


def _parts(table: Tabular) -> Iterator[Part]:
    """Yield the arrays that belong together, and what stands beside them: cosines and sines, else one by one."""
    arrays = {array.name: array for array in table.arrays if array.bytes}
    pair = cosines_and_sines(list(arrays))
    whole = [array.name for array in arrays.values() if array.dtype.startswith(("int", "uint", "bool"))]
    shapes = [array.shape for array in arrays.values() if array.name not in whole]
    if not pair and len(shapes) == len(arrays) == PAIR and len(shapes[0]) > 1 and shapes[0] == shapes[1]:
        yield list(arrays), {}  # whatever their names
    largest = sorted(arrays, key=lambda name: (name in whole, -arrays[name].bytes))  # indices and positions last
    alone = [name for name in largest if name not in ("position", *pair)]
    if pair:
        beside = {}
        for name in alone:
            rows = arrays[name].rows if arrays[name].bytes <= ALL_BESIDE else min(arrays[name].rows, BESIDE)
            raw = floats(table.read_rows([name], 0, rows)[name], arrays[name].dtype).astype(np.float64)
            beside[name] = raw.reshape(arrays[name].shape) if rows == arrays[name].rows else raw
        yield pair, beside
    yield from (([name], {}) for name in alone)


def identify_evidence(evidence: Evidence) -> Identification:
    """Identify a table whose rows are evenly spaced; by some of its rows where all together tell nothing."""
    best = UNKNOWN
    samples = list(grains(evidence))
    for window in (None, *windows(evidence)):
        for sample in samples:
            best = max((best, _by(replace(evidence, sample=sample, window=window))), key=_rank)
            if best.confidence != "unknown" and not _far_fetched(best):
                return best
    return best


def _far_fetched(found: Identification) -> bool:
    """Whether some rows alone may show a shorter base: not where it gives nearly all."""
    gives = found.equal is None or found.equal > NEARLY_ALL or (found.residual or 0.0) < TWO_WAYS
    return not gives and found.guess is not None and "base" in found.guess.free and long(found.guess)


def _by(evidence: Evidence) -> Identification:
    """Return the best verdict on what the encodings suggest, first on what accounts for arrays beside a pair."""
    guesses, most = list(guesses_of(evidence)), MOST_VERDICTS if evidence.window is None else FEW_VERDICTS
    vectors = [identify_vector(guess, evidence) for guess in guesses if guess.vector]
    trials = [t for guess in guesses if not guess.vector and (t := try_guess(guess, evidence)) is not None]
    if any(found.recipe for found in vectors) and not any(t.intact == 1.0 and not t.guess.listed for t in trials):
        return best_vector(vectors)
    beside = [t for t in trials if len(t.pairs) > PAIR]  # arrays that would be passed over
    found = _judged(beside, evidence, most) if beside else UNKNOWN
    found = found if found.recipe else _judged(trials, evidence, most)
    return with_names(found, trials, evidence) if found.equal else found


def _judged(trials: list[Trial], evidence: Evidence, most: int) -> Identification:
    """Return the best verdict on trials: exact, else of an arithmetic, else nearly so."""
    if not any(t.equal == 1.0 for t in trials):
        again = [g for guess in fitted_once(likely(trials, most + 1)) for g in refitted(guess, evidence)]
        trials += [t for guess in again if (t := try_guess(guess, evidence)) is not None]
    exact = sorted((t for t in trials if t.equal == 1.0), key=lambda t: (t.guess.listed, -len(t.pairs), t.guess.cost))
    if exact:
        found = with_aliases(verdict(exact[0], evidence), exact)
        all_equal = found.equal is None or found.equal == 1.0
        if all_equal and not ("base" in exact[0].guess.free and long(exact[0].guess)):
            return found
        ways = (way for trial in likely(trials, most) for way in _computed(trial, evidence))
        return max((found, *ways), key=_rank)  # before numbers that happen to fit
    return _best_of(likely(trials, most), evidence)


def _best_of(trials: list[Trial], evidence: Evidence) -> Identification:
    """Return the best verdict on guesses that reproduce no sample to the bit."""
    best, nearly = UNKNOWN, None
    for trial in trials:
        if best.equal == 1.0 and best.guess is not None and best.guess.cost <= trial.guess.cost:
            continue  # no other is worth more
        near = verdict(trial, evidence, ranged=False)
        found = max((best, near, *_computed(trial, evidence)), key=_rank)
        best, nearly = found, nearly if found is best else trial if found is near else None
    best = best if nearly is None else verdict(nearly, evidence)
    computed = nearly is None and best.guess is not None
    return with_rivals(best, trials, evidence) if computed and best.confidence == "likely" else best


def _computed(trial: Trial, evidence: Evidence) -> Iterator[Identification]:
    """Yield what a guess is worth with roundings; by all rows too, whose later ones show those of positions."""
    yield verdict_of_arithmetic(trial, evidence)
    if evidence.window is not None:
        yield verdict_of_arithmetic(trial, replace(evidence, window=None))


def _rank(found: Identification) -> tuple[bool, bool, float, float, int]:
    """Return what makes one verdict better than another: arrays beside a pair, values, how few digits, and how sure."""
    cost, sure = found.guess.cost if found.guess else 0.0, ORDER.index(found.confidence)
    equal = float(sure == 2) if found.equal is None else found.equal
    return sure > 0, len(found.arrays) > PAIR, equal - worth(equal, found.count, sure=sure == 2) * cost, -cost, sure
