"""Which guesses are worth a closer look, and other recipes that give the values as well as the one that was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pecli.declare.encoding import REGISTRY
from pecli.declare.guess import Guess
from pecli.errors import PecliError
from pecli.identification.fitting import room_for
from pecli.identification.trial import Trial, make, pairs_of, read_rows
from pecli.identification.verdict import Identification, holds_over_all, verdict_of_arithmetic
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats
from pecli.measures.spectra import LEVELS

PAIR = 2  # arrays of cosines and sines
LEVEL = list(LEVELS)
NARROWEST = LEVEL.index("float16")
SLIGHTLY = 0.05  # share of the values by which a shorter base may be worse
ALIKE = 16  # rows by which two recipes are seen to be one
SOME = 0.99  # share of the values that are equal, below which others are spoiled
BESIDE_SPOILED = 5e-3
MOST_RIVALS = 3  # recipes with another factor or shift that are compared with all values


def with_rivals(found: Identification, trials: list[Trial], evidence: Evidence) -> Identification:
    """Add recipes with another shift or factor that give as many values: a base of its own makes up for it."""
    assert found.guess is not None
    own, others = found.guess, list[tuple[float, str]]()
    rivals = [t for t in trials if _shifted(t.guess) != _shifted(own)]
    rivals += [t for t in trials if t.guess.name == own.name and _apart(t.guess) != _apart(own) and t not in rivals]
    for rival in sorted(rivals, key=lambda t: t.guess.cost)[:MOST_RIVALS]:
        other = verdict_of_arithmetic(rival, evidence)
        if other.recipe and other.guess is not None and _as_good(other, found):
            others.append((other.guess.cost, other.recipe))
    recipes = [recipe for _, recipe in sorted(others)]
    return replace(found, notes=(*found.notes, room_for(recipes))) if others else found


def _as_good(other: Identification, found: Identification) -> bool:
    """Whether one gives as many values; beside spoiled ones, which hide the best, nearly as many."""
    assert found.equal is not None
    loose = BESIDE_SPOILED if found.equal < SOME else 0.0
    return other.equal is not None and abs(other.equal - found.equal) <= loose


def _shifted(guess: Guess) -> bool:
    """Whether the exponents of a series reach the base's power itself."""
    return guess.keys.get("shift", "0") != "0" or "decay" in guess.keys


def _apart(guess: Guess) -> dict[str, str]:
    """Return the parameters of a guess but for the base."""
    return {name: value for name, value in guess.keys.items() if name != "base"}


def with_aliases(found: Identification, exact: list[Trial]) -> Identification:
    """Add the recipes of other encodings that reproduce the table too: the sample may lack most of its heads."""
    assert found.guess is not None
    equal = 1.0 if found.equal is None else found.equal
    same = [t for t in exact if (t.guess.name, t.guess.cost) == (found.guess.name, found.guess.cost)]
    rivals = [t for t in same if t.guess.table == found.guess.table and t.recipe != found.recipe]
    others_of_it = [t.recipe for t in rivals if holds_over_all(t, equal)]
    if others_of_it:
        found = replace(found, confidence="likely", notes=(*found.notes, room_for(others_of_it)))
    assert found.guess is not None
    others = {trial.guess.name: trial for trial in reversed(exact) if trial.guess.name != found.guess.name}
    also = (trial for trial in others.values() if not trial.guess.listed and holds_over_all(trial, equal))
    return replace(found, aliases=tuple(trial.recipe for trial in also))


def with_names(found: Identification, trials: list[Trial], evidence: Evidence) -> Identification:
    """Add the recipes of other encodings that have the same exact values, and so are computed alike."""
    own = found.guess
    if own is None or found.aliases:
        return found
    others: dict[str, str] = {}
    for trial in trials:
        name = trial.guess.name
        if name == own.name or name in others or trial.guess.listed or _shifted(trial.guess) != _shifted(own):
            continue
        base = {"base": own.keys["base"]} if "base" in own.keys and "base" in REGISTRY[name].parameters else {}
        other = replace(trial.guess, keys={**trial.guess.keys, **base})
        first, second = (_first_rows(guess, evidence) for guess in (own, other))
        if first and len(first) == len(second) and all(map(np.array_equal, first, second)):
            others[name] = make(other, evidence.sample.grain).recipe or ""
    return replace(found, aliases=tuple(others.values()))


def _first_rows(guess: Guess, evidence: Evidence) -> list[Floats]:
    """Return the first rows of a guess, exactly, array by array; none where it has others than the file."""
    try:
        pairs = pairs_of(guess, make(guess, "float64"), evidence)
    except PecliError:
        return []
    return [read_rows(mine, 0, min(ALIKE, mine.rows)) for _, mine in pairs or ()]


def likely(trials: list[Trial], most: int) -> list[Trial]:
    """Return the few trials that are worth a closer look."""

    def merit(trial: Trial) -> tuple[bool, bool, float, float, int, float]:
        level = min(LEVEL.index(trial.guess.level), NARROWEST)  # what fits one narrow type may be of the other
        return (
            trial.guess.listed,
            len(trial.pairs) <= PAIR,
            -round(trial.intact, 1),
            -round(trial.equal, 1),
            level,
            trial.guess.cost,
        )

    found = sorted(trials, key=merit)
    return _different(found)[:most]


def _different(trials: list[Trial]) -> list[Trial]:
    """Return trials without those of the same numbers for the same rows under another encoding's name.

    Of bases that are next to each other the shortest stands for all: which one it is shows in the roundings.
    """
    found: dict[tuple[object, ...], Trial] = {}
    for trial in trials:
        keys, table = trial.guess.keys, trial.guess.table
        base = keys.get("base", "10000") if "base" in REGISTRY[trial.guess.name].parameters else trial.recipe
        near = f"{float(base):.4e}" if base.replace(".", "", 1).isdigit() else base
        numbers = tuple(keys.get(k) for k in ("scaling", "factor", "original-max", "heads", "grid"))
        fitted = tuple(keys.get(name) for name in trial.guess.free if name != "base")
        rows = table.get("start"), table.get("step"), len(trial.pairs)
        own = (near, *numbers, fitted, *rows, "shift" in keys or "decay" in keys)
        first = found.setdefault(own, trial)
        as_good = trial.near >= first.near - SLIGHTLY
        if first.guess.cost > trial.guess.cost and as_good and _but_for_base(first) == _but_for_base(trial):
            found[own] = trial  # in the place of the first
    return list(found.values())


def _but_for_base(trial: Trial) -> tuple[object, ...]:
    guess = trial.guess
    return guess.name, {key: text for key, text in guess.keys.items() if key != "base"}, guess.table


def fitted_once(trials: list[Trial]) -> list[Guess]:
    """Return guesses that differ in more than the number that is fitted: from either the same is found."""
    found: dict[tuple[object, ...], Guess] = {}
    for guess in (trial.guess for trial in trials if not trial.guess.partition):
        keys = tuple(item for item in guess.keys.items() if item[0] not in guess.free[:1])
        found.setdefault((guess.name, keys, tuple(guess.table.items()), guess.arrays, guess.exchanged), guess)
    return list(found.values())
