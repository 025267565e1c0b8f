"""A module for each family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from pecli.declare.encoding import Family
from pecli.errors import BadParameter
from pecli.held import Held, Stored, turned
from pecli.torch.saved import take_saved


def tensor(values: Any, dtype: str) -> torch.Tensor:
    """Return values of a table, (..) as stored, as a tensor of this type; bfloat16 from its bits."""
    found = torch.from_numpy(values)
    return found.view(torch.bfloat16) if dtype == "bfloat16" else found


def name_of(dtype: torch.dtype) -> str:
    """Return pecli's name of a type."""
    return str(dtype).removeprefix("torch.")


class TableModule(torch.nn.Module):
    """A table as non-persistent buffers, one for each array; what a model trains as parameters, drawn by pecli.

    `.to(dtype)` computes the buffers anew and rounds them once from the real numbers; it never rounds a rounded value.
    `load_state_dict` takes what others saved of such a table, whatever they called it: trained values are loaded,
    and computed ones compared, an error where they are another table's.

    Parameters
    ----------
    subject : recipe, path or config
    length : int, optional
        Positions 0 to length - 1; by default those that the config, or a trained table, has.
    dtype : torch.dtype, optional
        float32 by default.
    device : optional
    grow : bool
        Whether a longer table is made when a position lies past the end; else that raises IndexError.
    """

    family: Family

    def __init__(
        self, subject: Any, length: int | None = None, *, dtype: torch.dtype = torch.float32, device: Any = None,
        grow: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.held, self.dtype = Held(subject, self.family, length, grow), dtype
        for name, stored in self.held.start(name_of(dtype)).items():
            self.register_parameter(name, torch.nn.Parameter(tensor(*stored).clone().to(device)))
        self.constants: tuple[str, ...] = ()
        self._make(device)

    @property
    def length(self) -> int:
        """How many positions it holds at present."""
        return self.held.length

    def _make(self, device: Any) -> None:
        made = self.held.constants(name_of(self.dtype))
        for name, stored in made.items():
            self._hold(name, stored, device)
        self.constants = tuple(made)

    def _hold(self, name: str, stored: Stored, device: Any) -> None:
        self.register_buffer(name, tensor(*stored).to(device), persistent=False)

    @property
    def _device(self) -> torch.device:
        held: Iterator[torch.Tensor] = iter((*self.buffers(), *self.parameters()))
        return next(held).device

    def _apply(self, fn: Any, recurse: bool = True) -> TableModule:
        """Move as PyTorch asks; where the type changes, the table is computed in it."""
        probe = fn(torch.zeros(1, dtype=self.dtype, device=self._device))
        if probe.dtype != self.dtype and probe.dtype.is_floating_point:
            self.dtype = probe.dtype
            self._make(probe.device)
        super()._apply(fn, recurse)
        return self

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        local, strict, missing, unexpected, errors = rest
        taken, faults = take_saved(self.held, state, prefix)
        errors += faults
        super()._load_from_state_dict({**state, **taken}, prefix, local, strict, missing, unexpected, errors)
        names = {*self._parameters, *taken, *(key.removeprefix(prefix) for key in taken)}
        unexpected[:] = [key for key in unexpected if key not in taken and key.removeprefix(prefix) not in names]

    def reach(self, last: int) -> None:
        """Make the table longer, by at least half, if position `last` lies past it.

        Raises
        ------
        IndexError
            Where the module may not grow.
        PecliError
            Where the encoding has no value there.
        """
        if self.held.reach(last):
            self._make(self._device)

    def _rows(self, positions: Any, offset: int, count: int) -> Any:
        """Return what selects rows: a slice from an offset, or positions of any shape."""
        if positions is None:
            self.held.check_first(offset)
            self.reach(offset + count - 1)
            return slice(offset, offset + count)
        if not torch.compiler.is_compiling() and positions.numel():
            self.held.check_first(int(positions.min()))
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


class EmbeddingModule(AbsoluteModule):
    """Rows of an absolute table, in place of a ``torch.nn.Embedding`` of positions."""

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None, offset: int = 0) -> torch.Tensor:
        """Return pe of the positions `x` (..), whole numbers: (.., dim)."""
        return self.pe[self._rows(x if positions is None else positions, offset, 0)]


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
        cos, sin = self(positions, offset, x.shape[-2])
        if cos.ndim == 3:
            cos, sin = cos[:, None], sin[:, None]
        made: torch.Tensor = turned(x, cos, sin, pairs, _join, _weave)
        return made


def _join(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return torch.cat(parts, -1)


def _weave(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.stack((a, b), -1).flatten(-2)


class BiasModule(TableModule):
    """The bias of queries and keys, (heads, q, k), for logits (batch, heads, q, k).

    Of T5 and whatever else looks its numbers up, those are the parameter ``weight`` and the table their index.
    """

    family = Family.BIAS

    def forward(self, queries: int, keys: int | None = None) -> torch.Tensor:
        """Return the bias of the last `queries` of `keys` positions, as in decoding with a cache."""
        keys = queries if keys is None else keys
        self.held.check_first(keys - queries)
        self.reach(keys - 1)
        rows = slice(keys - queries, keys)
        if self.held.by_index:
            found: torch.Tensor = self._parameters["weight"][self._buffers["index"][rows, :keys]]
            return found.permute(2, 0, 1)
        return self._buffers["bias"][:, rows, :keys]


class RelativeModule(TableModule):
    """Vectors of the distances of queries and keys, (q, k, dim); trained ones are the parameter ``vector``.

    Raises
    ------
    BadParameter
        For an encoding with several such tables, as one for each axis of an image.
    """

    family = Family.RELATIVE

    def __init__(self, subject: Any, length: int | None = None, **options: Any) -> None:
        super().__init__(subject, length, **options)
        if not hasattr(self, "vector") or not hasattr(self, "index"):
            rule = "has other arrays than vector and index: open it with pecli.table"
            raise BadParameter("subject", self.held.source.text, rule)

    def forward(self, queries: int, keys: int | None = None) -> torch.Tensor:
        """Return the vectors of the last `queries` of `keys` positions."""
        keys = queries if keys is None else keys
        self.held.check_first(keys - queries)
        self.reach(keys - 1)
        found: torch.Tensor = self.vector[self.index[keys - queries : keys, :keys]]
        return found
