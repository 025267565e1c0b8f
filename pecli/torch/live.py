"""Where the models of transformers keep their positional tables, and how the exact ones get there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from pecli import api
from pecli.declare.encoding import Family
from pecli.errors import PecliError
from pecli.sources.sources import NamedSource
from pecli.torch.modules import BiasModule, RotaryModule, name_of, tensor

FREQUENCIES = "inv_freq"
EMBEDDINGS = ("wpe", "embed_positions", "position_embeddings", "position_embedding", "pos_embed", "pos_emb")
"""What modules that hold rows of positions are called."""


@dataclass
class Live:
    """One table of a model.

    Attributes
    ----------
    name : str
        Of the module.
    source : NamedSource
        What the config says.
    dtype : str
        Of its values.
    values : callable
        Of a number of positions, the values and the position of the first.
    put : callable
        Puts the exact table there; returns whether it could.
    trained : bool
    whole : bool
        Whether the values are whole numbers.
    keys : dict of str
        The table's own keys that make the recipe's table like the values.
    """

    name: str
    source: NamedSource
    dtype: str = "float32"
    values: Callable[[int], tuple[Any, int]] = lambda length: (None, 0)
    put: Callable[[], bool] = lambda: False
    trained: bool = False
    whole: bool = False
    keys: dict[str, str] | None = None

    def expected(self, start: int) -> NamedSource:
        """Return the source of the exact values from a position on."""
        more = {"start": str(start)} if start else {}
        return replace(self.source, keys={**self.source.given, **(self.keys or {}), **more})


def _source(module: Any, model: Any, **choice: str) -> NamedSource | None:
    config = getattr(module, "config", None) or getattr(model, "config", None)
    try:
        return api.source_of(config, **choice)
    except PecliError:
        return None


def rotary(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the rotary tables of a module that holds frequencies, one for each kind of layer that it knows."""
    held = [key for key in dict(module.named_buffers(recurse=False)) if key.endswith(FREQUENCIES)]
    kinds = [key.removesuffix(FREQUENCIES).rstrip("_") for key in held if "original" not in key]
    if isinstance(module, RotaryModule):
        return
    for kind in kinds:
        source = _source(module, model, **({"layer_type": kind} if kind else {}))
        if source is None or source.recipe is None or source.recipe.encoding.family is not Family.ROTARY:
            continue
        device = next(module.buffers()).device

        def values(length: int, kind: str = kind, device: Any = device) -> tuple[Any, int]:
            x = torch.zeros(1, length, 1, dtype=torch.float32, device=device)
            places = torch.arange(length, device=device)[None]
            return tuple(module(x, places, kind) if kind else module(x, places)), 0

        put = _putter(model, name, kinds, module, source)
        yield Live(f"{name}.{kind}" if kind else name, source, values=values, put=put)


def _putter(model: Any, name: str, kinds: list[str], module: Any, source: NamedSource) -> Callable[[], bool]:
    def put() -> bool:
        if isinstance(model.get_submodule(name), RotaryInPlace):
            return True
        waits = source.recipe is None or source.recipe.open_parameters  # for the sequence, as dynamic scaling does
        if waits or source.model_layout not in DOUBLED:
            return False
        sources = {kind: _source(module, model, **({"layer_type": kind} if kind else {})) for kind in kinds}
        model.set_submodule(name, RotaryInPlace(sources, module))
        return True

    return put


DOUBLED: dict[str | None, Callable[[torch.Tensor], torch.Tensor]] = {
    "half": lambda part: torch.cat((part, part), -1),
    "interleaved": lambda part: part.repeat_interleave(2, -1),
}
"""How a model's own module lays the pairs out."""


class RotaryInPlace(torch.nn.Module):
    """What a rotary module of transformers returns, from exact tables.

    Parameters
    ----------
    sources : mapping of str to NamedSource
        What each kind of layer has; "" where there is one kind.
    module : torch.nn.Module
        The one in whose place it stands.
    """

    def __init__(self, sources: Any, module: torch.nn.Module) -> None:
        super().__init__()
        device = next(module.buffers()).device
        self.config = getattr(module, "config", None)
        self.layouts = {kind: source.model_layout for kind, source in sources.items()}
        self.tables = torch.nn.ModuleDict(
            {kind or "all": RotaryModule(source, device=device) for kind, source in sources.items()}
        )

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor, layer_type: str | None = None) -> Any:
        """Return cos and sin of the positions, as wide as the model's module has them, in the type of x."""
        kind = layer_type or ""
        table, double = self.tables[kind or "all"], DOUBLED[self.layouts[kind]]
        return tuple(double(part).to(x.dtype) for part in table(position_ids))


def alibi(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the bias of a model that makes one for the keys from an attention mask, as BLOOM does."""
    if not hasattr(module, "build_alibi_tensor"):
        return
    source = _source(module, model)
    if source is None or source.recipe is None or source.recipe.encoding.family is not Family.BIAS:
        return
    heads = int(source.recipe.keys()["heads"])

    def values(length: int) -> tuple[Any, int]:
        return module.build_alibi_tensor(torch.ones(1, length), heads, torch.float32).reshape(heads, 1, length), 0

    def put() -> bool:
        exact = BiasModule(source, 512)

        def build(mask: torch.Tensor, num_heads: int, dtype: torch.dtype) -> torch.Tensor:
            places = ((mask.cumsum(-1) - 1) * mask).long()
            if exact.dtype != dtype:
                exact.to(dtype)
            row = exact.to(mask.device)(1, int(places.max()) + 1)[:num_heads, 0]
            made = row[:, places] * mask[None].to(dtype)  # (heads, batch, keys)
            return made.transpose(0, 1).reshape(-1, 1, mask.shape[-1])

        module.build_alibi_tensor = build
        return True

    yield Live(name or type(module).__name__, source, values=values, put=put, keys={"queries": "1"})


def buckets(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the buckets of an attention as T5's, and the trained numbers that they choose from."""
    rule = getattr(module, "_relative_position_bucket", None)
    if rule is None or not getattr(module, "has_relative_attention_bias", False):
        return
    side = "decoder" if getattr(module, "is_decoder", False) else "encoder"
    source = _source(module, model, layer_type=side)
    if source is None or source.recipe is None:
        return
    sides: dict[str, Any] = {
        "bidirectional": not getattr(module, "is_decoder", False),
        "num_buckets": module.relative_attention_num_buckets,
        "max_distance": module.relative_attention_max_distance,
    }

    def values(length: int) -> tuple[Any, int]:
        places = torch.arange(length)
        return rule(places[None] - places[:, None], **sides), 0

    def put() -> bool:
        exact = BiasModule(source, 512)

        def chosen(relative_position: torch.Tensor, **_said: Any) -> torch.Tensor:
            queries, keys = relative_position.shape[-2:]
            first = int(relative_position[..., 0, 0])  # of the first key, minus that of the first query
            exact(max(keys, queries - first))  # which makes the table long enough
            index: torch.Tensor = exact.get_buffer("index")[-first : queries - first, :keys]
            return index.to(relative_position.device)

        module._relative_position_bucket = chosen
        return True

    yield Live(f"{name}.buckets", source, values=values, put=put, whole=True, keys={"form": "index"})
    yield Live(f"{name}.relative_attention_bias", source, trained=True)


def absolute(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the rows of positions of a module, fixed or trained."""
    last = name.rpartition(".")[2]
    weight = getattr(module, "weight", getattr(module, "weights", None))
    if last not in EMBEDDINGS or not isinstance(weight, torch.Tensor) or weight.ndim != 2:
        return
    side = next((part for part in name.split(".") if part in ("encoder", "decoder")), None)
    source = (_source(module, model, layer_type=side) if side else None) or _source(module, model)
    if source is None or source.recipe is None or source.recipe.encoding.family is not Family.ABSOLUTE:
        return
    if source.recipe.encoding.facts.learned:
        yield Live(name, source, trained=True)
        return

    def values(length: int) -> tuple[Any, int]:
        return weight[: min(length, len(weight))].detach(), 0

    def put() -> bool:
        exact = source.open(length=len(weight), dtype=name_of(weight.dtype))
        array = exact.arrays[0]
        weight.data.copy_(tensor(exact.read(array.name), array.dtype))
        return True

    yield Live(name, source, name_of(weight.dtype), values, put)


KINDS = (rotary, alibi, buckets, absolute)
