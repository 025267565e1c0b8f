"""A module for each family, and the loading of saved state."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import torch

from pecli.errors import BadParameter, PecliError
from pecli.framework_tables import FrameworkTable, rotated_pairs
from pecli.inspect.checkpoints import CACHES, VECTORS, compared, named_tables
from pecli.spec.declaration import Family
from pecli.tables.foreign import to_numpy

WHOLE = ("pe", "pe.weight", "weight", "weights", "pos_embed", "position_embeddings.weight", "embed_positions.weight")
TRAINED = {"weight": ("weight", "relative_attention_bias.weight"), "vector": ("vector", "vector.weight", "weight")}
IGNORED = ("position_ids", "original_inv_freq")


def take_saved(held: FrameworkTable, state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], list[str]]:
    """Return the entries of a state dict that belong to a table, under the module's names, and their faults.

    Trained arrays get the module's names and lose axes of length 1. Computed ones are compared and left out: a value
    of None.
    """
    taken: dict[str, Any] = {}
    for name in held.trained:
        for key in (prefix + word for word in (*TRAINED.get(name, ()), *WHOLE * (name == "pe"))):
            if key in state:
                value = state[key]
                while value.ndim > 2 and value.shape[0] == 1:
                    value = value[0]
                taken[prefix + name] = value
                taken.setdefault(key, value)
                break
    if held.trained:
        return taken, []
    local = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    is_rotary = held.recipe.encoding.family is Family.ROTARY
    tables = named_tables(key for key in local if "." not in key) if is_rotary else {}
    tables |= {(word,): CACHES if is_rotary else VECTORS for word in WHOLE if word in local}
    faults: list[str] = []
    for names, what in tables.items():
        found = compared(what, {word: to_numpy(local[word]) for word in names}, {"": held.source})
        if not found.equal:
            why = found.note or repr(found.comparison)
            faults.append(f"{prefix}{names[0]}: what was saved is not {held.source.text}: {why}")
        taken |= {prefix + word: local[word] for word in names}
    return taken | {prefix + word: local[word] for word in IGNORED if word in local}, faults


def tensor(values: Any, dtype: str) -> torch.Tensor:
    """Return values of a table, (..) as stored, as a tensor of this type; bfloat16 from its bits."""
    found = torch.from_numpy(values)
    return found.view(torch.bfloat16) if dtype == "bfloat16" else found


def name_of(dtype: torch.dtype) -> str:
    """Return pecli's name of a type."""
    return str(dtype).removeprefix("torch.")


class TableModule(torch.nn.Module):
    """A table as one non-persistent buffer for each array; trained arrays are parameters, drawn by pecli.

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
        self.held, self.dtype = FrameworkTable(subject, self.family, length, grow), dtype
        for name, stored in self.held.start(name_of(dtype)).items():
            self.register_parameter(name, torch.nn.Parameter(tensor(*stored).clone().to(device)))
        self.constants: tuple[str, ...] = ()
        self._make(device)
        self.number = _numbered(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a copy, under a new number."""
        super().__setstate__(state)
        self.number = _numbered(self)

    def extra_repr(self) -> str:
        """Return the recipe, the number of positions and the type, which ``print(model)`` shows."""
        return f"{self.held.recipe.short}, {self.held.length} positions, {name_of(self.dtype)}"

    @property
    def length(self) -> int:
        """How many positions it holds at present."""
        return self.held.length

    def _make(self, device: Any, length: int | None = None) -> None:
        made = self.held.constants(name_of(self.dtype), length)
        for name, stored in made.items():
            self.register_buffer(name, tensor(*stored).to(device), persistent=False)
        self.constants = tuple(made)

    @property
    def _device(self) -> torch.device:
        held: Iterator[torch.Tensor] = iter((*self.buffers(), *self.parameters()))
        return next(held).device

    def _apply(self, fn: Any, recurse: bool = True) -> TableModule:
        """Apply PyTorch's conversion; constants whose type changes are computed in the new type.

        Coming from the meta device, where nothing has values, they are computed anew too.
        """
        before = self._device
        probe = fn(torch.zeros(1, dtype=self.dtype, device=before))
        kept = {name: self._buffers.pop(name) for name in self.constants}
        try:
            super()._apply(fn, recurse)
        finally:
            self._buffers |= kept
        changed = probe.dtype != self.dtype and probe.dtype.is_floating_point
        if changed:
            self.dtype = probe.dtype
        if changed or before.type == "meta":
            self._make(probe.device)
        else:
            self._buffers |= {name: None if one is None else one.to(probe.device) for name, one in kept.items()}
        return self

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *further: Any) -> None:
        local, strict, missing, unexpected, errors = further
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
        if last >= self.held.length:
            self._lengthen(last)

    @torch.compiler.disable
    def _lengthen(self, last: int) -> None:
        self.held.reach(last, lambda length: self._make(self._device, length))

    def take(self, names: list[str], positions: torch.Tensor | None, offset: int, count: int) -> list[torch.Tensor]:
        """Return rows of arrays, of `positions` of any shape, or of `count` from `offset`.

        What `torch.compile` makes of it grows the table too; what `torch.export` makes of it ends where the table does.
        """
        arrays, offset = [getattr(self, name) for name in names], offset + self.held.before
        if positions is not None and self.held.before:
            positions = positions + self.held.before
        if _traced():
            if positions is None:
                self.held.check_first(offset)
                if offset + count <= self.held.length:
                    return [array[offset : offset + count] for array in arrays]
                positions = torch.arange(offset, offset + count, device=arrays[0].device)
            if set(names) <= set(self.constants):
                found: list[torch.Tensor] = _rows(positions, " ".join(names), self.number)
                return found
            return [array[_checked(positions, self.number)] for array in arrays]
        if positions is None:
            self.held.cover(offset, offset + count - 1, self.reach)
            return [getattr(self, name)[offset : offset + count] for name in names]
        self.check(positions)
        return [getattr(self, name)[positions] for name in names]

    def check(self, positions: torch.Tensor) -> None:
        """Make the table reach positions whose values can be known; see `reach`."""
        if not torch.compiler.is_compiling() and positions.numel():
            while torch._C._functorch.is_batchedtensor(positions):  # of torch.vmap: all positions at once
                positions = torch._C._functorch.get_unwrapped(positions)
            self.held.cover(int(positions.min()), int(positions.max()), self.reach)


# Live modules by number, the handle that a compiled function passes.
MODULES: weakref.WeakValueDictionary[int, TableModule] = weakref.WeakValueDictionary()

_NUMBERS = itertools.count()


def _numbered(module: TableModule) -> int:
    number = next(_NUMBERS)
    MODULES[number] = module
    return number


def _exporting() -> bool:
    return bool(getattr(torch.compiler, "is_exporting", bool)())


def _traced() -> bool:
    """Return whether `torch.compile` traces, and not `torch.export`."""
    return bool(torch.compiler.is_dynamo_compiling() and not _exporting())


def _places(rows: slice, keys: int, held: torch.Tensor) -> tuple[Any, Any]:
    """Return the index of rows and keys; for `torch.export` as lists, since slices would fix a length that varies."""
    if not _exporting():
        return rows, slice(keys)
    return (torch.arange(rows.start, rows.stop, device=held.device)[:, None], torch.arange(keys, device=held.device))


def _capturing(positions: torch.Tensor) -> bool:
    """Return whether a CUDA graph is recorded, in which no value can be looked at."""
    return bool(positions.is_cuda and torch.cuda.is_current_stream_capturing())


@torch.library.custom_op("pecli::rows", mutates_args=())
def _rows(positions: torch.Tensor, names: str, number: int) -> list[torch.Tensor]:
    """Return rows of a module's arrays, which grow to the last position; a call opaque to the compiler."""
    module = MODULES[number]
    if not _capturing(positions):
        module.check(positions)
    return [module.get_buffer(name)[positions] for name in names.split()]


@_rows.register_fake
def _(positions: torch.Tensor, names: str, number: int) -> list[torch.Tensor]:
    held = [MODULES[number].get_buffer(name) for name in names.split()]
    return [positions.new_empty((*positions.shape, *one.shape[1:]), dtype=one.dtype) for one in held]


@torch.library.custom_op("pecli::checked", mutates_args=())
def _checked(positions: torch.Tensor, number: int) -> torch.Tensor:
    """Return the positions if a module's trained table has them; else raise IndexError."""
    if not _capturing(positions):
        MODULES[number].check(positions)
    return positions.clone()


@_checked.register_fake
def _(positions: torch.Tensor, number: int) -> torch.Tensor:
    return torch.empty_like(positions)


class AbsoluteModule(TableModule):
    """Adds rows of an absolute table to embeddings (batch, n, dim)."""

    family = Family.ABSOLUTE
    pe: torch.Tensor

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None, offset: int = 0) -> torch.Tensor:
        """Return x + pe of positions offset .. offset + n - 1, or of `positions` (n) or (batch, n)."""
        self.held.check_width(x.shape[-1])
        (rows,) = self.take(["pe"], positions, offset, x.shape[-2])
        return (x + rows).to(x.dtype)


class EmbeddingModule(AbsoluteModule):
    """Rows of an absolute table, in place of a ``torch.nn.Embedding`` of positions."""

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None, offset: int = 0) -> torch.Tensor:
        """Return pe of the positions `x` (..), whole numbers: (.., dim)."""
        return self.take(["pe"], x if positions is None else positions, offset, 0)[0]


class RotaryModule(TableModule):
    """Cosines and sines of positions, and the rotation of queries and keys by them."""

    family = Family.ROTARY
    cos: torch.Tensor
    sin: torch.Tensor

    def forward(
        self, positions: torch.Tensor | None = None, offset: int = 0, count: int = 1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cos and sin, (.., dim/2), of `positions` of any shape, or of `count` from `offset`."""
        cos, sin = self.take(["cos", "sin"], positions, offset, count)
        return cos, sin

    def rotate(
        self, x: torch.Tensor, pairs: str, positions: torch.Tensor | None = None, offset: int = 0
    ) -> torch.Tensor:
        """Return x (batch, heads, n, dim) rotated; `pairs` is "half" (x_i, x_(i+d/2)) or "interleaved" (x_2i, x_2i+1).

        `positions` is (n) or (batch, n). The result has the type of x.
        """
        self.held.check_width(x.shape[-1])
        cos, sin = self(positions, offset, x.shape[-2])
        made: torch.Tensor = rotated_pairs(x, cos, sin, pairs, torch)
        return made.to(x.dtype)


class BiasModule(TableModule):
    """The bias of queries and keys, (heads, q, k), for logits (batch, heads, q, k).

    Of T5 and whatever else looks its numbers up, those are the parameter ``weight`` and the table their index.
    """

    family = Family.BIAS
    weight: torch.Tensor

    def forward(self, queries: int, keys: int | None = None, *, causal: bool = False) -> torch.Tensor:
        """Return the bias of the last `queries` of `keys` positions, as in decoding with a cache.

        It is an `attn_mask` of ``torch.nn.functional.scaled_dot_product_attention``; `causal` puts minus infinity where
        a key comes after its query. T5 does not divide its products: give SDPA ``scale=1.0``.
        """
        rows, keys = self.held.query_rows(queries, keys, self.reach)
        held = self.get_buffer("index" if self.held.by_index else "bias")
        places = _places(rows, keys, held)
        found = self.weight[held[places]].permute(2, 0, 1) if self.held.by_index else held[(slice(None), *places)]
        if not causal:
            return found
        seen = torch.ones(found.shape[-2:], dtype=torch.bool, device=found.device).tril(keys - found.shape[-2])
        return found.masked_fill(~seen, -torch.inf)

    def score_mod(self, queries: int, keys: int | None = None, *, causal: bool = False) -> Any:
        """Return a `score_mod` of ``torch.nn.attention.flex_attention`` that adds the same bias.

        It looks up a row of distances where the bias depends on the distance alone, else the dense bias.
        """
        rows, keys = self.held.query_rows(queries, keys, self.reach)
        first, weight, by_index = rows.start, self._parameters.get("weight"), self.held.by_index
        name, zero = "index" if by_index else "bias", None
        held: Any = self._buffers[name]
        with suppress(PecliError):
            table = self.held.table(name_of(self.dtype), form="distance")
            held = tensor(table.read(name), table.array(name).dtype).to(self._device)
            zero = self.held.length - 1  # the place of distance 0

        def modified(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
            place = (query + first, key) if zero is None else (key - query - first + zero,)
            found = score + (weight[held[place], head] if by_index and weight is not None else held[(head, *place)])
            return torch.where(key > query + first, -torch.inf, found) if causal else found

        return modified


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
        rows, keys = self.held.query_rows(queries, keys, self.reach)
        found: torch.Tensor = self.vector[self.index[_places(rows, keys, self.index)]]
        return found
