"""Vectors of frequencies, as modules keep them (``inv_freq``): radians a position of each pair."""

from __future__ import annotations

import numpy as np

from pecli.judge.arithmetic import MAX_FREQUENCY_UNITS
from pecli.judge.description import Identification
from pecli.judge.planes import EPSILON, effective_dtype, planes_of, rounded, unit
from pecli.judge.waves import LEVELS, exactly
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import Floats, Named, Pairs
from pecli.spec.recipe import join_recipe
from pecli.spec.tabular import Tabular

MIN_SURE_PAIRS = 8
# Fitted digits of a vector that is certainly a rotary one; powers of a half have base 2^n.
MAX_SURE_COST = 2.5
# Frequencies that a rule is read from; two numbers follow many.
MIN_PAIRS = 3


def identify_vector(table: Tabular) -> Identification | None:
    """Return the recipe whose frequencies a vector holds; None where no array is a falling vector of real numbers."""
    for array in table.arrays:
        if array.dtype.startswith(("int", "uint", "bool", "complex")) or not array.bytes:
            continue
        (plane, *more) = planes_of(table, array)
        if more or min(plane.rows, plane.width) != 1 or max(plane.rows, plane.width) < MIN_PAIRS:
            continue
        values = plane.read(0, plane.rows).ravel()
        falling = np.isfinite(values).all() and (values >= 0).all() and values[0] > 0 and (np.diff(values) <= 0).all()
        if falling and (np.diff(values)[values[1:] > 0] < 0).all():
            dtype = effective_dtype(values, array.dtype)
            found = _named(values, dtype, array.name)
            if found is not None:
                return found
    return None


def _named(values: Floats, dtype: str, array: str) -> Identification | None:
    best: tuple[float, float, str, str] | None = None
    pairs = Pairs(values, EPSILON[dtype] * values, values == 0, magnitude=np.nan)
    for error in LEVELS.values():
        for encoding in CATALOGUE.values():
            if not encoding.declares("identify_waves"):
                continue
            for named in encoding.hook("identify_waves")(pairs.at(error)):
                exact = exactly(encoding.name, named) if named.step == 1 else None
                if exact is None:
                    continue
                kind, worst = _arithmetic(values, exact, dtype)
                if worst <= MAX_FREQUENCY_UNITS:
                    found = (named.fitted, worst, join_recipe(encoding.name, exact.keys), kind)
                    best = min(best, found) if best is not None else found
        if best is not None:
            break
    if best is None:
        return None
    cost, worst, recipe, kind = best
    confidence = "sure" if len(values) >= MIN_SURE_PAIRS and cost <= MAX_SURE_COST else "likely"
    close = f"each within {worst:g} ulp of {kind} arithmetic's" if worst else "all are equal to the exact ones"
    notes = ("the frequencies of its pairs (inv_freq), not a table", close)
    return Identification(recipe, confidence, None, None, kind, notes, (), len(values), (array,))


def _arithmetic(values: Floats, named: Named, dtype: str) -> tuple[str, float]:
    """Return the arithmetic that gives the frequencies, and by how many units at most they differ from it."""
    ways = [("exact", named.frequencies)]
    ways += [("float32", rounded(named.frequencies, "float32"))] if dtype != "float64" else []
    size = unit(np.maximum(values, 2.0**-100), dtype)
    gaps = [(float((np.abs(rounded(w, dtype) - values) / size).max()), kind) for kind, w in ways]
    worst, kind = min(gaps, key=lambda gap: gap[0])
    return kind, worst
