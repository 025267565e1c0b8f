"""The catalogue asked what a sample may be: every encoding that recognises its own tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pecli.declare.guess import Guess
from pecli.encodings import CATALOGUE
from pecli.measures.evidence import Evidence

MOST_GUESSES = 256  # of one encoding that are looked at
MOST_TRIED = 48  # of them that are tried: of several hundred tables the right one was among the first ten


def guesses_of(evidence: Evidence, most: int = MOST_TRIED) -> Iterator[Guess]:
    """Yield what the encodings suggest, in the catalogue's order; of each so many, the cheapest."""
    for encoding in CATALOGUE.values():
        if encoding.declares("recognise"):
            found = islice(encoding.hook("recognise")(evidence), MOST_GUESSES)
            yield from sorted(found, key=lambda guess: guess.cost)[:most]
