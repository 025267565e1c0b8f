"""What an unknown table is, found from its values alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Tabular
from pecli.identification.finders.guesses import Guess, try_guess
from pecli.identification.judging import UNKNOWN, Explain, Identification, judged, over_all_rows
from pecli.measures.samples import Sample, take
from pecli.numbers.types import real_type
from pecli.tables.selection import InMemory, Selection

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD = 96  # rows that a rule shows in, where later ones follow none

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
    if len(table.arrays) > 1 and {array.name for array in table.arrays} != {"cos", "sin"}:
        return _several(table)
    from pecli.identification.finders.scattered import evenly_spaced, identify_scattered

    sample = take(table)
    known = sample.positions if positions is None else positions
    if not evenly_spaced(known):
        return identify_scattered(table, _identify_plain, known) or UNKNOWN
    found = _identify_plain(table)
    if found.confidence == "unknown" and len(table.arrays) <= 2:
        return identify_scattered(table, _identify_plain, None) or _by_head(table, sample)
    return found


def _by_head(table: Tabular, sample: Sample) -> Identification:
    """Identify a long table by its first rows alone: those after them may be wrong."""
    rows = len(sample.planes[0].values)
    if rows < 2 * HEAD or any(plane.values.ndim != 2 for plane in sample.planes):
        return UNKNOWN
    found = _identify_plain(InMemory({p.name: p.values[:HEAD] for p in sample.planes}))
    if found.guess is None or found.confidence != "sure":
        return UNKNOWN
    guess = replace(found.guess, table={**found.guess.table, "length": str(sample.planes[0].rows)})
    plain = real_type(sample.dtype)
    return over_all_rows(table, replace(found, recipe=guess.make(plain).recipe, guess=guess))


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
            found = judged(guess, trial, own, explain)
            if found.confidence == "sure":
                return over_all_rows(table, found)
            if found.confidence == "likely" and (best is None or (found.equal or 0) > (best.equal or 0)):
                best = found
    return over_all_rows(table, best) if best is not None else UNKNOWN


def _several(table: Tabular) -> Identification:
    """Identify a table of several arrays: cosines and sines together, or else the array that is known best."""
    from pecli.identification.finders.decays import with_scale

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


Finding = tuple[Sample, Guess, Explain]


def _waves(sample: Sample) -> Iterator[Finding]:
    from pecli.identification.finders import waves

    length = {"length": str(sample.planes[0].rows)}
    for wave in waves.waves(sample):
        for guess in waves.guesses(wave):
            yield sample, replace(guess, table={**guess.table, **length}), partial(waves.arithmetic, wave, sample)


def _biases(sample: Sample) -> Iterator[Finding]:
    from pecli.identification.finders import biases

    whole = take(sample.table, unstack=False) if sample.stacked else sample
    if len(whole.planes) == 1:
        for guess in biases.guesses(whole):
            yield whole, guess, _no_arithmetic


def _values(sample: Sample) -> Iterator[Finding]:
    from pecli.identification.finders import plain

    if len(sample.planes) == 1:
        for guess in plain.guesses(sample):
            length = {} if guess.name == "window" else {"length": str(sample.planes[0].rows)}
            yield sample, replace(guess, table={**length, **guess.table}), _no_arithmetic


def _grids(sample: Sample) -> Iterator[Finding]:
    from pecli.identification.finders import grids

    for own in (sample, take(sample.table, unstack=False)) if sample.stacked else (sample,):
        for guess in grids.guesses(own):
            yield own, guess, _no_arithmetic


def _no_arithmetic(_guess: Guess) -> None:
    return None
