"""Modules of PyTorch that hold pecli's tables: exact, rounded once for each type, and checked at their ends.

>>> from pecli.torch import RotaryModule  # doctest: +SKIP
>>> cos, sin = RotaryModule("rope:dim=64,base=500000", 4096)(positions)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from pecli import api
from pecli.comparison.results import Comparison
from pecli.declare.encoding import Family
from pecli.errors import BadParameter
from pecli.tables.table import Table

__all__ = ["AbsoluteModule", "Audited", "BiasModule", "RotaryModule", "TableModule", "audit", "tensor"]

SAVED = ("pe", "pe.weight", "weight", "inv_freq", "cos_cached", "sin_cached", "position_ids")
"""What others save of such a table."""


def tensor(values: Any, dtype: str) -> torch.Tensor:
    """Return values of a table, (..) as stored, as a tensor of this type; bfloat16 from its bits."""
    found = torch.from_numpy(values)
    return found.view(torch.bfloat16) if dtype == "bfloat16" else found


class TableModule(torch.nn.Module):
    """A table as non-persistent buffers, one for each array.

    `.to(dtype)` computes the values anew and rounds them once from the real numbers; it never rounds a rounded value.

    Parameters
    ----------
    subject : recipe, path or config
    length : int
        Positions 0 to length - 1.
    dtype : torch.dtype, optional
        float32 by default.
    device : optional
    grow : bool
        Whether a longer table is made when a position lies past the end; else that raises IndexError.
    """

    family: Family

    def __init__(
        self, subject: Any, length: int, *, dtype: torch.dtype = torch.float32, device: Any = None, grow: bool = True
    ) -> None:
        super().__init__()
        self.source, self.length, self.grow = api.source_of(subject), length, grow
        recipe = self.source.recipe
        if recipe is None or recipe.encoding.family is not self.family:
            what = "a file" if recipe is None else recipe.encoding.family.word
            raise BadParameter("subject", self.source.text, f"is {what}: this module is for {self.family.word} ones")
        self._make(length, dtype, device)

    def _table(self, length: int, dtype: torch.dtype) -> Table:
        found = self.source.open(length=length, dtype=str(dtype).removeprefix("torch."))
        assert isinstance(found, Table)
        return found

    def _make(self, length: int, dtype: torch.dtype, device: Any) -> None:
        table = self._table(length, dtype)
        for array in table.arrays:
            self.register_buffer(array.name, tensor(table.read(array.name), array.dtype).to(device), persistent=False)
        self.length, self.dtype = length, dtype

    def _apply(self, fn: Any, recurse: bool = True) -> TableModule:
        """Move as PyTorch asks; where the type changes, the table is computed in it."""
        probe = fn(torch.zeros(1, dtype=self.dtype, device=next(self.buffers()).device))
        if probe.dtype != self.dtype and probe.dtype.is_floating_point:
            self._make(self.length, probe.dtype, probe.device)
        super()._apply(fn, recurse)
        return self

    def _load_from_state_dict(self, state: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """Take what others saved for the same table without complaint: it is computed here, not loaded."""
        unexpected = rest[3]
        super()._load_from_state_dict(state, prefix, *rest)
        own = {prefix + name for name in (*SAVED, *self._buffers)}
        unexpected[:] = [name for name in unexpected if name not in own]

    def reach(self, last: int) -> None:
        """Make the table longer, by at least half, if position `last` lies past it.

        Raises
        ------
        IndexError
            Where the module may not grow.
        PecliError
            Where the encoding has no value there.
        """
        if last < self.length:
            return
        if not self.grow:
            raise IndexError(f"position {last} lies past the {self.length} of {self.source.text}")
        assert self.source.recipe is not None
        high = self.source.recipe.domain.high
        wanted = max(last + 1, self.length * 3 // 2)
        self._make(wanted if high is None else max(last + 1, min(wanted, int(high) + 1)), self.dtype,
                   next(self.buffers()).device)  # fmt: skip

    def _rows(self, positions: Any, offset: int, count: int) -> Any:
        """Return what selects rows: a slice from an offset, or positions of any shape."""
        if positions is None:
            self.reach(offset + count - 1)
            return slice(offset, offset + count)
        if not torch.compiler.is_compiling():
            self.reach(int(positions.max()))
        return positions


class AbsoluteModule(TableModule):
    """Adds rows of an absolute table to embeddings (batch, n, dim)."""

    family = Family.ABSOLUTE
    pe: torch.Tensor

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None, offset: int = 0) -> torch.Tensor:
        """Return x + pe of positions offset .. offset + n - 1, or of `positions` (n) or (batch, n)."""
        rows = self._rows(positions, offset, x.shape[-2])  # first: the table may grow
        return x + self.pe[rows]


class RotaryModule(TableModule):
    """Cosines and sines of positions, and what they do to queries and keys."""

    family = Family.ROTARY
    cos: torch.Tensor
    sin: torch.Tensor

    def forward(
        self, positions: torch.Tensor | None = None, offset: int = 0, count: int = 1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cos and sin, (.., dim/2), of `positions` of any shape, or of `count` from `offset`."""
        rows = self._rows(positions, offset, count)
        return self.cos[rows], self.sin[rows]

    def rotate(
        self, x: torch.Tensor, pairs: str, positions: torch.Tensor | None = None, offset: int = 0
    ) -> torch.Tensor:
        """Return x (batch, heads, n, dim) turned; `pairs` is "half" (x_i, x_(i+d/2)) or "interleaved" (x_2i, x_2i+1).

        `positions` is (n) or (batch, n).
        """
        if pairs not in ("half", "interleaved"):
            raise BadParameter("pairs", pairs, "must be half or interleaved")
        cos, sin = self(positions, offset, x.shape[-2])
        if cos.ndim == 3:
            cos, sin = cos[:, None], sin[:, None]
        turned, rest = x[..., : 2 * cos.shape[-1]], x[..., 2 * cos.shape[-1] :]
        a, b = turned.chunk(2, -1) if pairs == "half" else (turned[..., 0::2], turned[..., 1::2])
        parts = a * cos - b * sin, b * cos + a * sin
        made = torch.cat(parts, -1) if pairs == "half" else torch.stack(parts, -1).flatten(-2)
        return torch.cat((made, rest), -1)


class BiasModule(TableModule):
    """The bias of queries and keys, (heads, q, k), for logits (batch, heads, q, k)."""

    family = Family.BIAS
    bias: torch.Tensor

    def forward(self, queries: int, keys: int | None = None) -> torch.Tensor:
        """Return the bias of the last `queries` of `keys` positions, as in decoding with a cache."""
        keys = queries if keys is None else keys
        self.reach(keys - 1)
        return self.bias[:, keys - queries : keys, :keys]


@dataclass(frozen=True, repr=False)
class Audited:
    """One table of a live model beside the exact one."""

    name: str
    recipe: str
    comparison: Comparison

    def __repr__(self) -> str:
        return f"{self.name} against {self.recipe}\n  {self.comparison!r}"


def audit(model: torch.nn.Module, length: int = 64, *, ulp: int = 2) -> list[Audited]:
    """Compare every rotary module of a live transformers model with its own config.

    Parameters
    ----------
    model : torch.nn.Module
        With a `config` of transformers; its rotary modules are called with positions, as the model calls them.
    length : int
        Positions compared.
    ulp : int
        Units in the last place that may lie between the model's and what float32 arithmetic makes of the config.

    Returns
    -------
    list of Audited
        One for each module, whose comparison says what was done where they differ.
    """
    return list(_audited(model, length, ulp))


def _audited(model: torch.nn.Module, length: int, ulp: int) -> Iterator[Audited]:
    for name, module in model.named_modules():
        if not hasattr(module, "inv_freq") or isinstance(module, TableModule):
            continue
        config = getattr(module, "config", getattr(model, "config", None))
        source = api.source_of(config)
        x = torch.zeros(1, length, 1, dtype=torch.float32, device=module.inv_freq.device)
        cos, sin = module(x, torch.arange(length, device=x.device)[None])
        yield Audited(
            name, source.recipe.short if source.recipe else source.text, api.compare((cos, sin), source, ulp=ulp)
        )
