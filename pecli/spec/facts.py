"""Facts: the family of an encoding, its source, typed facts, advice, and the words that help and completion need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class Family(Enum):
    """What a row of a table means; the order is the order of every listing."""

    ABSOLUTE = ("absolute", "Absolute: a vector for each position, added to the embedding")
    ROTARY = ("rotary", "Rotary: cos and sin for each position, rotating queries and keys")
    BIAS = ("bias", "Bias: one number for each head, query and key, added to the logits")
    RELATIVE = ("relative", "Relative: a vector for each clipped distance")
    CONDITIONAL = ("conditional", "Conditional: from position and content")
    NONE = ("none", "None: no positions")

    def __init__(self, word: str, title: str) -> None:
        self.word = word
        self.title = title

    @property
    def pairs(self) -> bool:
        """Whether a value belongs to two positions, a query's and a key's."""
        return self in (Family.BIAS, Family.RELATIVE)


@dataclass(frozen=True)
class Source:
    """Where a formula comes from."""

    authors: str
    where: str
    part: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.authors, self.where, self.part)))


@dataclass(frozen=True)
class Facts:
    """What holds of an encoding; every field is measured by a test.

    Parameters
    ----------
    learned : bool
        Whether its values are trained (the table is then their start).
    beyond : {"defined", "ends"}
        Whether there are values past the length it was made for.
    bounded : bool
        Whether values stay within one range at every position.
    unique : bool
        Whether all rows of a table differ.
    relative : {"no", "rotation", "distance"}
        How a shift acts: not at all alike at every position; as one matrix
        M_k with PE(p + k) = M_k PE(p); or the values depend on the distance alone.
    multi_scale : bool
        Whether columns (or heads) change at different rates.
    parameters : str
        Number of trained values, as a formula in the encoding's parameters.
    longest : str
        Number of positions that have a value, as such a formula; "unlimited".
    cost : str
        Values computed for n positions (for a bias, n queries and n keys), as a formula in n.
    """

    learned: bool = False
    beyond: Literal["defined", "ends"] = "defined"
    bounded: bool = True
    unique: bool = True
    relative: Literal["no", "rotation", "distance"] = "no"
    multi_scale: bool = True
    parameters: str = "0"
    longest: str = "unlimited"
    cost: str = "n * dim"


@dataclass(frozen=True)
class Work:
    """What an encoding costs a model beyond what is usual in its family; each formula is checked by a test.

    Names in formulas are the encoding's parameters, n (positions), h (heads of the model), width (of the model) and
    pairs (of a rotary table).

    Parameters
    ----------
    kernel : str
        Values that a kernel holds; empty where it holds the whole table.
    additions, products : str
        For n positions in one layer; empty for the family's.
    every_layer : bool, optional
        Whether it works in every layer; None for what is usual in the family.
    """

    kernel: str = ""
    additions: str = ""
    products: str = ""
    every_layer: bool | None = None


@dataclass(frozen=True)
class Guidance:
    """Advice to whoever chooses an encoding.

    Parameters
    ----------
    when : str
        What it is a good choice for, as the end of "use it".
    unless : str
        What it is no good choice for, as the end of "not".
    """

    when: str
    unless: str


USUAL_BASES = (
    "10000", "500000", "1000000", "100", "100000", "5000000", "10000000", "1000", "50000", "160000", "150000", "250000",
    "20000", "8000000", "50000000", "1e8", "200000", "600000", "40000", "20",
)  # fmt: skip
"""Bases of rotary and sinusoidal frequencies that models have, the most usual first."""

EXPECTATIONS = ("finite", "unique", "bounded", "relative", "smooth")
"""What inspect --expect checks of a table."""

PICTURES = ("heatmap", "waves", "similarity", "rotation", "turned", "bias", "slopes")
"""What inspect draws of a table."""

REACHES = ("phases", "score", "reach", "inside", "ramps", "scores")
"""What extrapolate draws of its reports; the last three with scalings beside each other."""
