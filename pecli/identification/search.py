"""The catalogue asked what a sample may be: every encoding that recognises its own tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pecli.declare.guess import Guess
from pecli.encodings import CATALOGUE
from pecli.measures.evidence import Evidence

MOST_GUESSES = 256  # of one encoding that are tried


def guesses_of(evidence: Evidence) -> Iterator[Guess]:
    """Yield what the encodings suggest, in the catalogue's order."""
    for encoding in CATALOGUE.values():
        if encoding.declares("recognise"):
            yield from islice(encoding.hook("recognise")(evidence), MOST_GUESSES)
