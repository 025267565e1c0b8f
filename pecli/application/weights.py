"""Query and key weights whose rows are put in the order of another pairing.

A head's row i of W_q makes number i of the query.  For the other pairing rows move: from neighbours to halves row i
comes from row 2i and row i + d/2 from 2i + 1; from halves to neighbours the other way, which is another permutation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.pairing import PAIRINGS, members
from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.dtypes import DTYPES
from pecli.tables.selection import View

Integers = NDArray[np.int64]

_PART = (
    r"(?:^|.*[./])(?:attn_|self_|to_)?(?:{0}_proj|w{0}|{0}|{1}|{0}_lin|{0}_norm|{0}_layernorm|{1}_norm|{1}_layernorm)"
)
_END = r"(?:\.(?P<end>.+))?$"
QUERY, KEY = (re.compile(_PART.format(letter, word) + _END) for letter, word in (("q", "query"), ("k", "key")))
OTHERS = re.compile(r"(?:^|.*[./])(?:attn_|to_)?(?:v_proj|o_proj|wv|wo|v|o|value|out_proj|output|dense)(?:\..+)?$")
FUSED = re.compile(r"(?:^|.*[./])(?:attn_)?(?:qkv(?:_proj)?|Wqkv|query_key_value|c_attn|in_proj)(?:[._].+)?$")
ENDS = re.compile(r"weight|bias|lora_B\.(?:\w+\.)?weight")
UNTOUCHED = re.compile(r"lora_A\.(?:\w+\.)?weight")
"""The half of a low-rank update that meets the input."""


@dataclass(frozen=True)
class HeadRows:
    """How the rows of queries and keys move.

    Attributes
    ----------
    taken, given : {"half", "interleaved"}
        The pairing that the weights were made for, and the one that they are wanted for.
    heads, kv_heads : int
        Of queries and keys.
    rotary_dim : int, optional
        Rows of a head that turn; the others stay (default: all).
    tensors : str, optional
        Regular expression of the names (default: those that queries and keys usually have).
    head_dim : int, optional
        Rows of a head, where something says so; norms of one head have as many.
    """

    taken: str
    given: str
    heads: int
    kv_heads: int
    rotary_dim: int | None = None
    tensors: str | None = None
    head_dim: int | None = None

    def __post_init__(self) -> None:
        for name, word in (("from-pairs", self.taken), ("to-pairs", self.given)):
            if word not in PAIRINGS:
                raise BadParameter(name, word, "must be half or interleaved")
        if self.taken == self.given:
            raise BadParameter("to-pairs", self.given, "is what the weights are made for already")

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The names that are asked for."""
        try:
            return None if self.tensors is None else re.compile(self.tensors)
        except re.error as error:
            raise BadParameter("tensors", self.tensors, f"is no regular expression: {error}") from None

    def chosen(self, arrays: Mapping[str, Array], left_out: tuple[str, ...] = ()) -> dict[str, int]:
        """Return the number of heads of each array whose rows move.

        Raises
        ------
        BadParameter, BadRecipe
            For values and outputs, packed or fused tensors, and shapes that do not fit the heads.
        """
        found: dict[str, int] = {}
        head_dim = self.head_dim
        for name in sorted((*arrays, *left_out), key=lambda name: "norm" in name):  # weights tell the width of a head
            role = self._role(name, alone=len(arrays) + len(left_out) == 1)
            if role is None:
                continue
            array = arrays.get(name)
            if array is None or array.dtype not in DTYPES or len(array.shape) > 2:
                kind = "a type of its own" if array is None else f"type {array.dtype}"
                rule = f"is of {kind}, packed or quantised: its rows cannot be moved; convert the unpacked weights"
                raise BadParameter("tensors", name, rule)
            found[name] = self._heads_of(array, self.heads if role == "query" else self.kv_heads, head_dim)
            head_dim = head_dim or array.shape[0] // found[name]
        return found

    def _role(self, name: str, *, alone: bool) -> str | None:
        if self.pattern is not None and not self.pattern.search(name):
            return None
        if FUSED.fullmatch(name):
            rule = "holds queries, keys and values in one: split it first, its order differs from model to model"
            raise BadParameter("tensors", name, rule)
        for role, names in (("query", QUERY), ("key", KEY)):
            if match := names.fullmatch(name):
                end = match["end"] or "weight"
                if UNTOUCHED.fullmatch(end):
                    return None
                if not ENDS.fullmatch(end):
                    rule = "belongs to a packed weight: its rows cannot be moved; convert the unpacked weights"
                    raise BadParameter("tensors", name, rule)
                return role
        if self.pattern is not None or alone:
            if OTHERS.fullmatch(name):
                raise BadParameter("tensors", name, "are values or outputs: their rows do not turn, and stay")
            return "query"
        return None

    def _heads_of(self, array: Array, heads: int, head_dim: int | None) -> int:
        rows = array.shape[0]
        if "norm" in array.name and rows == head_dim:
            return 1
        if rows % (2 * heads) or (head_dim is not None and rows != heads * head_dim):
            expected = "" if head_dim is None else f" of {head_dim} rows each"
            raise BadParameter("heads", heads, f"do not fit {array.name} of {rows} rows: give those it has{expected}")
        self.order(rows // heads)
        return heads

    def order(self, head_dim: int) -> Integers:
        """Return which row of a head each of its new rows is, (head_dim,)."""
        width = self.rotary_dim or head_dim
        if width > head_dim or width % 2:
            raise BadParameter("rotary-dim", width, f"must be even and at most {head_dim}, the rows of a head")
        rows = np.arange(head_dim)
        new = rows.copy()
        for old, target in zip(members(rows, width, self.taken), members(new, width, self.given), strict=True):
            target[...] = old
        return new


class PermutedRows(View):
    """A table whose chosen arrays have their rows in the order of another pairing.

    Parameters
    ----------
    source : Tabular
        Weights (rows, in) or (rows,).
    rows : HeadRows
        How they move.
    """

    def __init__(self, source: Tabular, rows: HeadRows) -> None:
        super().__init__(source, source.arrays)
        self.rows, self.heads = rows, rows.chosen({array.name: array for array in source.arrays})
        if not self.heads:
            raise none_found("the file", rows)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        self.source.fill(start, stop, {name: target for name, target in out.items() if name not in self.heads})
        for name, target in out.items():
            if name in self.heads:
                array = self.array(name)
                target[...] = self._moved(name).reshape(array.rows, *array.row_shape)[start:stop]

    def _moved(self, name: str) -> NDArray[Any]:
        whole = self.source.read(name)
        by_head = whole.reshape(self.heads[name], -1, prod(whole.shape[1:]))
        return by_head[:, self.rows.order(by_head.shape[1])].reshape(whole.shape)


def none_found(what: str, rows: HeadRows) -> BadRecipe:
    """Return the error for weights without queries and keys."""
    sought = "no name of queries or keys, such as q_proj.weight" if rows.tensors is None else rows.tensors
    return BadRecipe(f"{shorten(what)} has {sought}: name its tensors with --tensors REGEX")
