"""Lists of frequencies (``inv_freq``), of their reciprocals, and of the divisors by which a scaling divides them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from pecli.formats.decimals import digits_text, how_printed, last_digits, printed_digits
from pecli.judge import waves
from pecli.judge.description import Identification
from pecli.judge.planes import EPSILON, effective_dtype, planes_of, rounded, unit
from pecli.numbers.rounding import Floats
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import PUBLISHED_BASES, Named, Pairs
from pecli.spec.recipe import join_recipe, split_recipe
from pecli.spec.tabular import Tabular

BASES = (10000, 500000, 1000000, 100, 1000)
MIN_SURE_FREQUENCIES = 8
# Fitted digits of a vector that is certainly a rotary one; powers of a half have base 2^n.
MAX_SURE_COST = 2.5
# Digits of a list of frequencies that was printed.
MAX_FREQUENCY_DIGITS = 12
# Frequencies that a rule is read from; two numbers follow many.
MIN_PAIRS = 3


# Relative distance of two lists of frequencies that are the same but for rounding.
MAX_REPEAT_GAP = 1e-4


def identify_vector(table: Tabular) -> Identification | None:
    """Return the recipe whose frequencies a vector holds; None where no array is a falling vector of real numbers."""
    for array in table.arrays:
        if array.dtype.startswith(("int", "uint", "bool", "complex")) or not array.bytes:
            continue
        (plane, *more) = planes_of(table, array)
        if more or min(plane.rows, plane.width) != 1 or max(plane.rows, plane.width) < MIN_PAIRS:
            continue
        values = plane.read(0, plane.rows).ravel()
        falls = values[0] > values[-1] and (np.diff(values) <= 0).all()  # narrow types repeat the smallest
        if other := _divisors(values, array.name) or _otherwise(values, array.name):
            return other
        if 0 < values[0] < np.inf and (values >= 0).all() and falls:
            dtype = effective_dtype(values, array.dtype)
            found = _named(values, dtype, array.name)
            if found is None or _is_slopes(found.recipe, len(values)):
                continue
            if dtype in waves.LOW_TYPES and dtype != array.dtype:
                note = f"the values have the precision of {dtype}, the file holds {array.dtype}"
                return replace(found, recipe=f"{found.recipe},dtype={dtype}", notes=(note, *found.notes))
            coarse = (f"in {dtype}, which is too coarse for angles at far positions",) * (dtype in waves.LOW_TYPES)
            return replace(found, notes=(*found.notes, *coarse))
    return None


def _ascends_from_one(values: Floats) -> bool:
    return bool(values[0] == 1 < values[-1] < np.inf and (np.diff(values) >= 0).all())


def _divisors(values: Floats, array: str) -> Identification | None:
    """Return the recipe of a scaling that divides the frequencies by a vector, or multiplies them by it; else None."""
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values != 0)
    for name, divisors in (("divisors", values), ("reciprocals of the divisors", inverse)):
        for base in PUBLISHED_BASES[: len(BASES)] if _ascends_from_one(divisors) else ():
            plain = float(base) ** (-np.arange(len(values)) / len(values))
            found = _named(rounded(plain / divisors, "float32"), "float32", array)
            keys = split_recipe(found.recipe)[1] if found is not None and found.recipe else {}
            if found is not None and "scaling" in keys and keys.get("base", "10000") == base:
                note = f"the {name} of its frequencies (rope_freqs), not a table"
                return replace(found, notes=(note,), equal=None)
    return None


def _otherwise(values: Floats, array: str) -> Identification | None:
    """Return the recipe whose frequencies a vector holds twice, in reverse, as reciprocals or in another unit."""
    if len(values) < MIN_SURE_FREQUENCIES or not (values > 0).all():
        return None
    half, ways, of = len(values) // 2, dict[str, Floats](), "the frequencies of its pairs (inv_freq)"
    if _ascends_from_one(values):
        ways["the reciprocals of its frequencies, by which positions are divided (MLX's _freqs)"] = 1 / values
    if np.array_equal(values[:half], values[half:]):
        ways[f"{of} each stands twice (half-split)"] = values[:half]
    if np.array_equal(values[::2], values[1::2]):
        ways[f"{of} each stands twice (interleaved)"] = values[::2]
    if not ways and values[-1] == 1:
        ways[f"{of} in reverse order"] = values[::-1]
    if not ways and values[0] != 1:
        ways[f"{of} over 2 pi, as turns"] = values * (2 * np.pi)
        ways[f"{of} as wavelengths, 2 pi over each"] = 2 * np.pi / values
    for note, own in ways.items():
        found = _named(rounded(own, "float32"), "float32", array) if own[0] > own[-1] else None
        if found is not None and found.confidence == "sure":
            return replace(found, notes=(f"{note}, not a table",), equal=None)
    return None


def _is_slopes(recipe: str | None, count: int) -> bool:
    """Whether frequencies are rather slopes counted from head 0: ALiBi's, of a power of 2 heads, or halves."""
    base = Decimal(split_recipe(recipe)[1].get("base", "10000")) if recipe else Decimal(10000)
    return base == 1 << count or (base == 256 and count.bit_count() == 1)


def _named(values: Floats, dtype: str, array: str) -> Identification | None:
    found: list[tuple[float, float, str, str, str]] = []
    errors = unit(values, dtype) / 2
    trials = [(errors, level) for level in waves.LEVELS.values()]
    printed = printed_digits(values, EPSILON[dtype], MIN_SURE_FREQUENCIES, MAX_FREQUENCY_DIGITS)
    if printed is not None:
        last = last_digits(values, *printed)
        trials[1:] = [(some, waves.LEVELS["float32"]) for some in (last / 2, last)]  # rounded, or cut
    for slack, level in trials:
        pairs = Pairs(values, slack, values == 0, magnitude=np.nan, level=level)
        for encoding in CATALOGUE.values():
            if not encoding.declares("identify_waves"):
                continue
            for named in encoding.hook("identify_waves")(pairs):
                exact = waves.exactly(encoding.name, named) if named.step == 1 else None
                if exact is None:
                    continue
                kind, worst = _arithmetic(values, exact, dtype)
                how = how_printed(values, exact.frequencies, level * values, printed) if printed else ""
                if worst <= waves.MAX_FREQUENCY_UNITS or how:
                    found.append((named.fitted, worst, join_recipe(encoding.name, exact.keys), kind, how))
        if found and min(found)[0] <= MAX_SURE_COST:
            break
    if not found:
        return None
    cost, worst, recipe, kind, how = min(found)
    confidence = "sure" if len(values) >= MIN_SURE_FREQUENCIES and cost <= MAX_SURE_COST else "likely"
    which = f"the exact one, rounded to {dtype}" if kind == "exact" else f"what {kind} arithmetic gives"
    close = (f"each within {worst:g} ulp of {which}",) if worst else ()
    equal = None if worst else 1.0
    if worst > waves.MAX_FREQUENCY_UNITS and printed is not None:
        equal, kind = 0.0, digits_text(*printed)
        close = (f"each is the exact one {how} to {kind}",)
    notes = ("the frequencies of its pairs (inv_freq), not a table", *close)
    return Identification(recipe, confidence, None, equal, kind, notes, (), len(values), (array,))


def _arithmetic(values: Floats, named: Named, dtype: str) -> tuple[str, float]:
    """Return the arithmetic that gives the frequencies, and by how many units at most they differ from it."""
    ways = {"exact": named.frequencies}
    if dtype != "float64":
        ways["float32"] = rounded(named.frequencies, "float32")
    size = unit(np.maximum(values, 2.0**-100), dtype)
    gaps = {kind: float((np.abs(rounded(w, dtype) - values) / size).max()) for kind, w in ways.items()}
    return min(gaps.items(), key=lambda gap: gap[1])
