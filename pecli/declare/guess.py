"""A guess: a recipe that a sample of values suggests, before it is put to the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any

from pecli.declare.encoding import REGISTRY
from pecli.records import dataclass

SHIFTED = 1.9  # digits that a shift counts for: a base that fits by chance is two digits shorter once in a hundred


@dataclass(frozen=True)
class Guess:
    """A recipe that may reproduce a table.

    Attributes
    ----------
    name : str
        Of the encoding.
    keys : mapping of str to str
        Its parameters.
    table : mapping of str to str
        length, start, step, positions, layout, form.
    cost : float
        Digits that were chosen to fit; of guesses that fit alike the cheapest is meant.
    level : str
        The arithmetic within whose errors the sample fits: a key of `pecli.measures.spectra.LEVELS`.
    notes : tuple of str
        What the recipe does not say: parts exchanged, a finding about the values.
    exchanged : bool
        Whether the two arrays hold each other's values.
    free : tuple of str
        Parameters whose numbers were fitted to the values: these may leave them a range.
    listed : bool
        Whether numbers stand for the values one by one, as any table could have them.
    partition : bool
        Whether only which values are equal is tested: the values themselves are trained.
    arrays : tuple of str
        Those of its arrays that the table holds; empty for all.
    vector : bool
        Whether the table holds the frequencies of its pairs, and no values.
    spans : mapping of str to (str, str)
        Parameters that may as well be another number: from which to which the values are the same.
    open : bool
        Whether somebody may have chosen other numbers that give these values.
    """

    name: str
    keys: Mapping[str, str]
    table: Mapping[str, str] = field(default_factory=dict)
    cost: float = 0.0
    level: str = "exact"
    notes: tuple[str, ...] = ()
    exchanged: bool = False
    free: tuple[str, ...] = ()
    listed: bool = False
    partition: bool = False
    arrays: tuple[str, ...] = ()
    vector: bool = False
    spans: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    open: bool = False


Recognise = Callable[[Any], Iterator[Guess]]
"""What a declaration's hook is: of a `pecli.measures.evidence.Evidence`, the recipes that it suggests."""


def combinations(name: str, *choices: str, **given: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield every combination of parameters of an encoding.

    Parameters
    ----------
    name : str
        Of the encoding.
    choices : str
        Parameters of which every declared choice is taken, flags off and on.
    given : sequence of str
        What other parameters may be.
    """
    declared = REGISTRY[name].parameters
    every = {choice: declared[choice].choices or ("false", "true") for choice in choices} | given
    for words in product(*every.values()):
        yield dict(zip((key.replace("_", "-") for key in every), words, strict=True))


def conventions(name: str) -> tuple[str, ...]:
    """Return the conventions that an encoding declares."""
    (preset,) = (preset for preset in REGISTRY[name].presets if preset.name == "convention")
    return tuple(preset.sets)
