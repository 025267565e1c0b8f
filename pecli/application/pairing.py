"""Which two numbers of a head turn together: halves, or neighbours; taken one way and given another where asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter

Integers = NDArray[np.int64]

PAIRINGS = ("half", "interleaved")
OF_LAYOUT = {"half": "half", "concat": "half", "interleaved": "interleaved"}
"""The pairing that a stored layout was made for; the others say none."""

OF_MODEL = {"half": "half", "adjacent": "interleaved", "deinterleave": "interleaved:half"}
"""A model's pairing, as its config is read."""


@dataclass(frozen=True)
class HeadPairs:
    """How pairs stand in a vector.

    Attributes
    ----------
    taken, given : {"half", "interleaved"}
        In the input, and in the output: x_i with x_(i + d/2), or x_2i with x_(2i+1).
    """

    taken: str
    given: str

    @classmethod
    def parse(cls, text: str) -> HeadPairs:
        """Return what "half", "interleaved" or "interleaved:half" says.

        Raises
        ------
        BadParameter
            For another word.
        """
        taken, colon, given = text.partition(":")
        given = given if colon else taken
        if taken not in PAIRINGS or given not in PAIRINGS:
            raise BadParameter("pairs", text, "must be half or interleaved, or two of them: taken:given")
        return cls(taken, given)

    def __str__(self) -> str:
        return self.taken if self.taken == self.given else f"{self.taken}:{self.given}"

    def back(self) -> HeadPairs:
        """Return the pairing of what undoes it."""
        return HeadPairs(self.given, self.taken)


def members(vectors: NDArray[Any], width: int, pairing: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return views of the first and second members of the pairs in the first `width` columns, (n, width/2) each.

    half:        [a0 a1 b0 b1 | rest] -> a, b
    interleaved: [a0 b0 a1 b1 | rest] -> a, b
    """
    if pairing == "half":
        return vectors[..., : width // 2], vectors[..., width // 2 : width]
    return vectors[..., 0:width:2], vectors[..., 1:width:2]


def block_order(parts: tuple[int, ...]) -> Integers:
    """Return the columns of the first members of all pairs, then those of the second, where blocks have own halves.

    parts (1, 2): [a0 b0 | a1 a2 b1 b2] -> 0 2 3 1 4 5
    """
    first: list[int] = []
    second: list[int] = []
    at = 0
    for pairs in parts:
        first += range(at, at + pairs)
        second += range(at + pairs, at + 2 * pairs)
        at += 2 * pairs
    return np.array(first + second, np.int64)
