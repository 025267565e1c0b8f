"""What an unknown table is, found from its values alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pecli.analysis.arithmetics import Arithmetic
from pecli.analysis.guesses import Guess, Trial, try_guess
from pecli.analysis.samples import Sample, take
from pecli.tabular import Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Identification:
    """What was found.

    Attributes
    ----------
    recipe : str or None
        Text that reproduces the table.
    confidence : {"sure", "likely", "unknown"}
        "sure": every value is reproduced to the bit and the numbers in the recipe are determined by the
        values; "likely": within the errors of a known arithmetic.
    residual : float or None
        Largest absolute difference from the recipe's values.
    equal : float
        Share of the values that are equal; None where they are trained and only their pattern counts.
    arithmetic : str
        How the values were computed.
    notes : tuple of str
        What else was seen.
    """

    recipe: str | None
    confidence: str
    residual: float | None
    equal: float | None
    arithmetic: str
    notes: tuple[str, ...] = ()
    guess: Guess | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return what --json prints."""
        return {
            "recipe": self.recipe,
            "confidence": self.confidence,
            "residual": self.residual,
            "equal_share": self.equal,
            "arithmetic": self.arithmetic,
            "notes": self.notes,
        }


Explain = Callable[[Guess], Arithmetic | None]
NEARLY = 0.9  # share of equal values that rounded parameters leave
CHECKED_ROWS = 512  # that a guess is tried on
MOST_BYTES = 4 << 30  # of a table that is compared in every row
MOSTLY = 0.999  # share of equal values where a library's cosine is off by a unit now and then
WHOLE_SPREAD = 12.0  # roundings of an angle
FLOAT32_ANGLES = 2e-5  # largest difference of a table over a grid, whose angles stay below a hundred
UNKNOWN = Identification(None, "unknown", None, 0.0, "unknown")


def identify(table: Tabular, positions: NDArray[Any] | None = None) -> Identification:
    """Return the recipe that reproduces a table, or say that none is known.

    Parameters
    ----------
    table : Tabular
        What is asked about; its values alone are used, and its positions if it has any.
    positions : (n,) ndarray, optional
        Those of its rows, where the table does not say and they are not evenly spaced.
    """
    if len(table.arrays) > 1 and {array.name for array in table.arrays} != {"cos", "sin"}:
        return _several(table)
    from pecli.analysis.scattered import evenly_spaced, identify_scattered

    sample = take(table)
    known = sample.positions if positions is None else positions
    if not evenly_spaced(known):
        return identify_scattered(table, _identify_plain, known) or UNKNOWN
    found = _identify_plain(table)
    if found.confidence == "unknown" and len(table.arrays) <= 2:
        return identify_scattered(table, _identify_plain, None) or found
    return found


def _identify_plain(table: Tabular) -> Identification:
    """Identify a table whose rows are evenly spaced."""
    sample = take(table)
    if not sample.planes or not all(plane.values.size for plane in sample.planes):
        return UNKNOWN
    best: Identification | None = None
    whole = sample.dtype.startswith(("int", "uint", "bool"))
    for find in (_values, _biases) if whole else (_waves, _biases, _values, _grids):
        for own, guess, explain in find(sample):
            trial = try_guess(guess, own)
            if trial is None:
                continue
            found = _judged(guess, trial, own, explain)
            if found.confidence == "sure":
                return over_all_rows(table, found)
            if found.confidence == "likely" and (best is None or (found.equal or 0) > (best.equal or 0)):
                best = found
    return over_all_rows(table, best) if best is not None else UNKNOWN


def _several(table: Tabular) -> Identification:
    """Identify a table of several arrays: cosines and sines together, or else the array that is known best."""
    from pecli.analysis.decays_found import with_scale

    names = [array.name for array in table.arrays]
    found = UNKNOWN
    if {"cos", "sin"} <= set(names):
        found = identify(Selection(table, ("cos", "sin")))
        if "scale" in names and found.guess is not None:
            better = with_scale(table, found)
            return better or replace(found, notes=(*found.notes, "the array 'scale' follows no known rule"))
    order = ("unknown", "likely", "sure")
    for name in names:
        if order.index(found.confidence) < 2 and name not in ("cos", "sin", "position"):
            one = identify(Selection(table, (name,)))
            if order.index(one.confidence) > order.index(found.confidence):
                found = replace(one, notes=(f"this is the array '{name}'", *one.notes))
    return found


def over_all_rows(table: Tabular, found: Identification) -> Identification:
    """Compare a table with its recipe in every row (of a huge one, the first): what was found holds for the head so far."""
    from pecli.analysis.comparison import Tolerance, compare_tables
    from pecli.errors import PecliError
    from pecli.table import Table

    guess = found.guess
    if found.recipe is None or guess is None or guess.partition or guess.exchanged or found.equal is None:
        return found
    if table.arrays[0].rows <= CHECKED_ROWS or sum(a.bytes for a in table.arrays) > MOST_BYTES:
        return found
    try:
        whole = compare_tables(table, Table.parse(found.recipe), Tolerance())
    except PecliError:
        return found
    compared = sum(array.compared for array in whole.arrays)
    unequal = sum(array.unequal for array in whole.arrays)
    if not compared or not whole.complete:
        return found
    found = replace(found, residual=max(found.residual or 0.0, whole.max_abs or 0.0), equal=1 - unequal / compared)
    first = whole.first
    if found.confidence != "sure" or first is None or _as_before(found, whole.max_ulp or 0, table):
        return found
    note = f"not all the way: row {first.index[0] if first.index else 0} is the first that differs"
    return replace(found, confidence="likely", notes=(*found.notes, note))


def _as_before(found: Identification, units: int, table: Tabular) -> bool:
    """Whether the rows after the head are as near as the arithmetic that was found leaves them."""
    assert found.residual is not None
    assert found.equal is not None
    if found.arithmetic.startswith("exact"):
        return units <= 1 and found.equal > MOSTLY
    rows = table.arrays[0].rows
    roundings = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
    start = abs(float(found.guess.table.get("start", 0))) if found.guess is not None else 0.0
    angle = (start + rows) * max(1.0, float(found.guess.table.get("step", 1)) if found.guess is not None else 1.0)
    return found.residual <= 2 * WHOLE_SPREAD * roundings.get(found.arithmetic, 1.0) * (1 + angle)


class Selection(Tabular):
    """Some of a table's arrays."""

    def __init__(self, table: Tabular, names: Sequence[str]) -> None:
        self.table, self.recipe, self.metadata = table, None, {}
        self.arrays = tuple(table.array(name) for name in names)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.tabular.Tabular.fill`."""
        self.table.fill(start, stop, out)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of rows."""
        return self.table.position(start, stop)


def _judged(guess: Guess, trial: Trial, sample: Sample, explain: Explain) -> Identification:
    """Return how much a guess is worth."""
    if trial.equal == 1.0:
        how = "exact" if sample.grain == _real(sample.dtype) else f"exact, rounded to {sample.grain}"
        confidence = "sure" if guess.determined else "likely"
        return Identification(trial.recipe, confidence, trial.residual, 1.0, how, guess.notes, guess)
    if guess.partition:
        return Identification(trial.recipe, "sure", None, None, "trained", guess.notes, guess)
    how = explain(guess)
    if how is None:
        return _judged_by_distance(guess, trial, sample)
    notes = (*guess.notes, how.words())
    guess, trial = _emulated(guess, trial, how, sample)
    double = sample.grain == "float64" and guess.arithmetic in ("exact", "float64")  # as near as doubles get
    arithmetic = how.name
    if how.fits or double:
        confidence = "sure" if guess.determined else "likely"
    elif guess.arithmetic == "exact" and trial.equal > NEARLY:
        confidence, arithmetic = "likely", "exact"
        notes = (*guess.notes, "nearly every value is reproduced: the numbers in the recipe are approximate")
    else:
        confidence = "likely" if guess.arithmetic in ("float64", "float32") else "unknown"
    return Identification(trial.recipe, confidence, trial.residual, trial.equal, arithmetic, notes, guess)


def _judged_by_distance(guess: Guess, trial: Trial, sample: Sample) -> Identification:
    """Return a guess whose arithmetic is not reproduced: likely if its values are as near as float32 angles leave."""
    if trial.residual <= FLOAT32_ANGLES and sample.grain == "float32" and guess.determined:
        notes = (*guess.notes, "as near as angles in float32 leave")
        return Identification(trial.recipe, "likely", trial.residual, trial.equal, "float32", notes, guess)
    if trial.equal < NEARLY or trial.units > 2:
        return UNKNOWN
    return Identification(trial.recipe, "likely", trial.residual, trial.equal, "unknown", guess.notes, guess)


def _emulated(guess: Guess, trial: Trial, how: Arithmetic, sample: Sample) -> tuple[Guess, Trial]:
    """Return the guess with a framework's arithmetic in its recipe, where that reproduces more values."""
    if guess.name != "rope" or how.name not in ("float32", "bfloat16"):
        return guess, trial
    own = replace(guess, table={**guess.table, "arithmetic": how.name})
    again = try_guess(own, sample)
    return (own, again) if again is not None and again.equal > trial.equal else (guess, trial)


def _real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


Finding = tuple[Sample, Guess, Explain]


def _waves(sample: Sample) -> Iterator[Finding]:
    from pecli.analysis import waves_found

    length = {"length": str(sample.planes[0].rows)}
    for wave in waves_found.waves(sample):
        for guess in waves_found.guesses(wave):
            yield sample, replace(guess, table={**guess.table, **length}), partial(waves_found.arithmetic, wave, sample)


def _biases(sample: Sample) -> Iterator[Finding]:
    from pecli.analysis import biases_found

    whole = take(sample.table, unstack=False) if sample.stacked else sample
    if len(whole.planes) == 1:
        for guess in biases_found.guesses(whole):
            yield whole, guess, _no_arithmetic


def _values(sample: Sample) -> Iterator[Finding]:
    from pecli.analysis import values_found

    if len(sample.planes) == 1:
        for guess in values_found.guesses(sample):
            length = {} if guess.name == "window" else {"length": str(sample.planes[0].rows)}
            yield sample, replace(guess, table={**guess.table, **length}), _no_arithmetic


def _grids(sample: Sample) -> Iterator[Finding]:
    from pecli.analysis import grids_found

    for own in (sample, take(sample.table, unstack=False)) if sample.stacked else (sample,):
        for guess in grids_found.guesses(own):
            yield own, guess, _no_arithmetic


def _no_arithmetic(_guess: Guess) -> None:
    return None
