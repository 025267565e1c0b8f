"""Which two numbers of a head turn together: halves, or neighbours; taken one way and given another where asked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import prod
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


Columns = slice | Integers


def columns(width: int, pairing: str, parts: tuple[int, ...] = ()) -> tuple[Columns, Columns]:
    """Return the columns of the first and of the second members of the pairs among the first `width`.

    half:        [a0 a1 b0 b1 | rest] -> a, b; of parts (1, 2), blocks with halves of their own:
                 [a0 b0 | a1 a2 b1 b2 | rest]
    interleaved: [a0 b0 a1 b1 | rest] -> a, b
    """
    if pairing == "interleaved":
        return slice(0, width, 2), slice(1, width, 2)
    if len(parts) < 2:
        return slice(0, width // 2), slice(width // 2, width)
    counts = np.array(parts)
    first = np.arange(width // 2) + np.repeat(np.cumsum(counts) - counts, counts)  # past the second members before
    return first, first + np.repeat(counts, counts)


def members(vectors: NDArray[Any], width: int, pairing: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return views of the first and second members of the pairs in the first `width` columns, (.., width/2) each."""
    first, second = columns(width, pairing)
    return vectors[..., first], vectors[..., second]


def put_apart(pairs: NDArray[Any], target: NDArray[Any], given: tuple[Columns, Columns]) -> None:
    """Store pairs that lie side by side: first members in some columns, second ones in others.

    Parameters
    ----------
    pairs : (k + 1,) ndarray
        The pairs of each row of `target` in turn, and one number that is not used.
    target : (.., m) ndarray
        Where to, of the same type.
    given : (columns, columns)
        Where first and second members belong.

    Notes
    -----
    Numbers at every other place are gathered one by one.  Many at once are cut out of pairs that are seen as integers
    of twice the width, whose lower half is the first member; seen from one number further on, it is the second.
    """
    size = pairs.itemsize
    shape = *target.shape[:-1], (len(pairs) - 1) // (2 * prod(target.shape[:-1]))
    if size == 8 or sys.byteorder != "little":
        target[..., given[0]], target[..., given[1]] = (pairs[k:-1:2].reshape(shape) for k in (0, 1))
        return
    bits = target.view(f"u{size}")
    for k in (0, 1):
        bits[..., given[k]] = np.ndarray(shape, f"u{2 * size}", pairs, offset=k * size)
