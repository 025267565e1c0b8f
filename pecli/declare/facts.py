"""What is said of an encoding beside its formula: its family, where it comes from, and typed facts."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pecli.records import dataclass


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
