"""What a table does to tensors, where that is more than its family says: the vocabulary of the hook `apply`.

A rotary table turns queries and keys, an absolute one is added to embeddings, a bias to logits.  The hook, of a
recipe, gives an `Effect` that says what there is beyond that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pecli.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

Map = Callable[["Integers"], "Integers"]


@dataclass(frozen=True)
class Term:
    """One inner product of a score.

    Attributes
    ----------
    content : str
        "query" or "key", or an array (heads, d) of the table, whose row is the head.
    against : str
        "key", or an array of vectors of the table, (rows, d) or (rows, heads d).
    index : str
        The array (q, k) that says which vector belongs to a query and a key.
    rows : callable, optional
        Of its integers, gives the rows of the vectors.
    queries, keys : callable, optional
        Of queries and keys, numbered, give its rows and columns: those of one axis of a grid.
    scaled : bool
        Whether the term is divided as the product of query and key is.
    projection : str, optional
        The array (rows, d) of the table that projects the vectors first; one named NAME_bias is added.
    """

    content: str
    against: str
    index: str = "index"
    rows: Map | None = None
    queries: Map | None = None
    keys: Map | None = None
    scaled: bool = True
    projection: str | None = None


PLAIN = (Term("query", "key"),)


@dataclass(frozen=True)
class Effect:
    """What a table does beyond its family.

    Attributes
    ----------
    factor : str, optional
        Array of the table, (n, 1) or (n, pairs), that multiplies queries.
    opposed : bool
        Whether keys are divided by it; otherwise they stay as they are.
    logits : {"add", "multiply"}
        What a bias does to logits.
    decay : str, optional
        Array of a rotary table that weighs scores: (heads, n) by distance, or (heads, n, n).
    decay_added : bool
        Whether it is a logarithm, which is added.
    terms : tuple of Term
        What a score is the sum of.
    divisor : int
        Scores are divided by sqrt(divisor d).
    scale : float, optional
        What multiplies the products instead: 1 for T5, which does not divide.
    unscored : str
        Why queries and keys alone do not give its scores; nothing where they do.
    values : str, optional
        The array of vectors that values take beside their own, by the same index.
    content : {"replaces", "adds"}, optional
        Of a table that needs content: whether its rows, made of the input, take the input's place or are added to it.
    note : str
        What to say of it.
    """

    factor: str | None = None
    opposed: bool = False
    logits: Literal["add", "multiply"] = "add"
    decay: str | None = None
    decay_added: bool = False
    terms: tuple[Term, ...] = PLAIN
    divisor: int = 1
    scale: float | None = None
    unscored: str = ""
    values: str | None = None
    content: Literal["replaces", "adds"] | None = None
    note: str = ""

    def factor_of(self, width: int) -> float:
        """Return what multiplies products of vectors of this width."""
        return 1 / math.sqrt(self.divisor * width) if self.scale is None else self.scale
