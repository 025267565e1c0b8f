"""Audit and replacement of the positional tables of live models."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from pecli import api
from pecli.errors import PecliError
from pecli.numbers.rounding import allowance
from pecli.spec.declaration import Family
from pecli.tables.comparison import Comparison
from pecli.tables.sources import NamedSource
from pecli.torch.modules import BiasModule, RotaryModule, TableModule, name_of, tensor

FREQUENCIES = "inv_freq"
EMBEDDINGS = ("wpe", "embed_positions", "position_embeddings", "position_embedding", "pos_embed", "pos_emb")
"""Names of modules that hold rows of positions."""


@dataclass
class Live:
    """One table of a model.

    Attributes
    ----------
    name : str
        Of the module.
    source : NamedSource or None
        What the config says.
    dtype : str
        Of its values.
    values : callable
        Of a number of positions, the values and the position of the first; None for those that cannot be read.
    put : callable
        Puts the exact table there; returns why it could not, or nothing.
    trained : bool
    whole : bool
        Whether the values are whole numbers.
    keys : dict of str
        The table's own keys that make the recipe's table like the values.
    note : str
        Why it cannot be compared; nothing where it can.
    """

    name: str
    source: NamedSource | None
    dtype: str = "float32"
    values: Callable[[int], tuple[Any, int]] = lambda length: (None, 0)
    put: Callable[[], str] = lambda: "it is compared alone: what makes it belongs to no module"
    trained: bool = False
    whole: bool = False
    keys: dict[str, str] | None = None
    note: str = ""

    def expected(self, start: int) -> NamedSource:
        """Return the source of the exact values from a position on."""
        assert self.source is not None
        more = {"start": str(start)} if start else {}
        return dataclasses.replace(self.source, keys={**self.source.given, **(self.keys or {}), **more})


def _source(module: Any, model: Any, **choice: str) -> NamedSource | None:
    config = getattr(module, "config", None) or getattr(model, "config", None)
    try:
        return api.source_of(config, **choice)
    except PecliError:
        return None


def _takes(module: Any) -> list[str]:
    """Return the parameter names of a module's forward."""
    return [name for name in inspect.signature(module.forward).parameters if name != "kwargs"]


def rotary(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the rotary tables of a module that holds frequencies, one for each kind of layer that it knows."""
    held = [key for key in dict(module.named_buffers(recurse=False)) if key.endswith(FREQUENCIES)]
    kinds = [key.removesuffix(FREQUENCIES).rstrip("_") for key in held if "original" not in key]
    if isinstance(module, RotaryModule):
        return
    for kind in kinds:
        source = _source(module, model, **({"layer_type": kind} if kind else {}))
        called = f"{name}.{kind}" if kind else name
        if source is None:
            yield Live(called, None, note=UNSAID, put=lambda: UNSAID)
            continue
        if source.recipe is None or source.recipe.encoding.family is not Family.ROTARY:
            continue
        yield Live(
            called, source, values=lambda length, kind=kind: (_called(module, model, length, kind), 0),  # type: ignore[misc]
            put=_putter(model, name, kinds, module, source),
        )  # fmt: skip


UNSAID = "it holds frequencies, and its config does not say which table they make"


def _called(module: Any, model: Any, length: int, kind: str) -> Any:
    """Return a rotary module's outputs at the first positions, (n, width) each; None where its call is not known."""
    device = next(module.buffers()).device
    match _takes(module):
        case ["x" | "hidden_states", "position_ids", *_]:
            x = torch.zeros(1, length, 1, dtype=torch.float32, device=device)
            places = torch.arange(length, device=device)[None]
            return tuple(module(x, places, kind) if kind else module(x, places))
        case ["hidden_states"]:  # a pair with axes of length 1, from the number of rows
            made = module(torch.zeros(1, length, 1, device=device))
            return tuple(part.reshape(length, -1) for part in made) if len(made) == 2 else None
        case ["pixel_values"]:  # an image's patches
            config = getattr(module, "config", None) or model.config
            side = config.image_size
            sides = (side, side) if isinstance(side, int) else tuple(side)
            return tuple(module(torch.zeros(1, getattr(config, "num_channels", 3), *sides, device=device)))
    return None


def _putter(model: Any, name: str, kinds: list[str], module: Any, source: NamedSource) -> Callable[[], str]:
    def put() -> str:
        if isinstance(model.get_submodule(name), RotaryInPlace):
            return ""
        takes = _takes(module)
        if takes[:2] != ["x", "position_ids"]:
            return f"its module is called with {', '.join(takes)}, not with x and position_ids"
        if source.recipe is None or source.recipe.open_parameters:
            return "its frequencies depend on the length of the sequence at hand"
        if source.model_layout not in DOUBLED:
            return f"its module returns the layout {source.model_layout}"
        sources = {kind: _source(module, model, **({"layer_type": kind} if kind else {})) for kind in kinds}
        try:
            made = RotaryInPlace(sources, module)
            why = made.fault(module)
        except (PecliError, RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
            return f"its module could not be tried beside the exact one: {error}"
        if not why:
            model.set_submodule(name, made)
        return why

    return put


DOUBLED: dict[str | None, Callable[[torch.Tensor], torch.Tensor]] = {
    "half": lambda part: torch.cat((part, part), -1),
    "interleaved": lambda part: part.repeat_interleave(2, -1),
}
"""How a model's own module lays the pairs out."""

TRIED = 8
"""Positions at which a module is tried."""


class RotaryInPlace(torch.nn.Module):
    """Replacement of a rotary module of transformers, with exact tables.

    Of a model with several streams of positions (time, height, width), which stream a column belongs to is read off
    the module in whose place it stands.

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
        self.streams = 0
        found = _streams(module, [*sources])
        if found is not None:
            self.streams = int(found.max()) + 1
            self.register_buffer("stream_of_column", found, persistent=False)

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor, layer_type: str | None = None) -> Any:
        """Return cos and sin of the positions, as wide as the model's module has them, in the type of x."""
        kind = layer_type or ""
        table, double = self.tables[kind or "all"], DOUBLED[self.layouts[kind]]
        return tuple(self._of_streams(double(part)).to(x.dtype) for part in table(position_ids))

    def _of_streams(self, part: torch.Tensor) -> torch.Tensor:
        """Return the columns of each stream (s, b, n, d) side by side, (b, n, d)."""
        if part.ndim != 4 or not self.streams:
            return part
        if len(part) == 1:
            return part[0]
        found, column = part[0], self.get_buffer("stream_of_column")
        for stream in range(1, self.streams):
            found = torch.where(column == stream, part[stream], found)
        return found

    def fault(self, module: torch.nn.Module) -> str:
        """Return how this module differs from the replaced one at the same positions; empty where they agree."""
        device = next(module.buffers()).device
        x = torch.zeros(2, TRIED, 4, device=device)
        places = torch.arange(TRIED, device=device)
        tries = [places[None], torch.stack((places, places + 3))]
        if self.streams:
            tries.append(torch.stack([places * (1 + s) + s for s in range(self.streams)])[:, None])
        kept = next(value for key, value in module.named_buffers() if key.endswith(FREQUENCIES)).dtype
        for kind in self.layouts:
            for ids in tries:
                old, new = ((m(x, ids, kind) if kind else m(x, ids)) for m in (module, self))
                if not isinstance(old, tuple) or len(old) != len(new):
                    return f"its module returns {type(old).__name__}, not cos and sin"
                last = int(ids.max())
                for one, other in zip(old, new, strict=True):
                    if one.shape != other.shape or one.dtype != other.dtype:
                        return f"of positions {_sides(ids)} its module makes {_side(one)}, the exact one {_side(other)}"
                    loss = last * torch.finfo(kept).eps  # of frequencies that were rounded to the module's type
                    size = max(1.0, float(other.abs().max()))
                    gap = float((one - other).abs().max())
                    if not gap <= size * (4 * loss + allowance(1.0, "float32", last)):
                        return f"its values are up to {gap:.2g} from the exact ones at positions 0 to {last}"
        return ""


def _sides(x: torch.Tensor) -> str:
    return " x ".join(map(str, x.shape))


def _side(x: torch.Tensor) -> str:
    return f"{_sides(x)} {name_of(x.dtype)}"


def _streams(module: Any, kinds: list[str]) -> torch.Tensor | None:
    """Return the stream of positions of each column; None if the module takes a single stream."""
    device = next(module.buffers()).device
    x = torch.zeros(1, TRIED, 4, device=device)
    places = torch.arange(TRIED, device=device)
    for count in (3, 4):
        ids = torch.stack([places * (7 + s) + 1000 * 3**s for s in range(count)])[:, None]
        try:
            made = [module(x, ids, kind) if kind else module(x, ids) for kind in kinds]
            alone = [[module(x, one, kind) if kind else module(x, one) for one in ids] for kind in kinds]
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        whole, singles = made[0][1], [one[1] for one in alone[0]]
        if whole.shape != singles[0].shape:
            continue
        same = torch.stack([(whole == one).all(dim=0).all(dim=0) for one in singles])  # (streams, columns)
        if same.any(0).all():
            return same.int().argmax(0)
    return None


def alibi(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the bias of a model that makes one for the keys: from an attention mask, as BLOOM, or from their number."""
    method = next((word for word in ALIBI if hasattr(module, word)), None)
    function = getattr(sys.modules.get(type(module).__module__), ALIBI[0], None)
    if method is None and (function is None or not getattr(module, "use_alibi", False)):
        return
    source = _source(module, model)
    if source is None or source.recipe is None or source.recipe.encoding.family is not Family.BIAS:
        return
    heads = int(source.recipe.keys()["heads"])

    def values(length: int) -> tuple[Any, int]:
        if method == ALIBI[1]:
            return module.build_mpt_alibi_tensor(heads, length, model.config.attn_config.alibi_bias_max), 0
        made: Any = getattr(module, method) if method else function
        return made(torch.ones(1, length), heads, torch.float32).reshape(heads, 1, length), 0

    def put() -> str:
        if method is None:
            return f"it is made by a function of {type(module).__module__}, which other models use"
        exact = BiasModule(source, 512)
        if method == ALIBI[1]:

            def of_number(num_heads: int, sequence_length: int, _most: float = 8, device: Any = None) -> torch.Tensor:
                row: torch.Tensor = exact(1, sequence_length)[:num_heads]
                return row.to(device)

            setattr(module, method, of_number)
            return ""

        def build(mask: torch.Tensor, num_heads: int, dtype: torch.dtype) -> torch.Tensor:
            places = ((mask.cumsum(-1) - 1) * mask).long()
            if exact.dtype != dtype:
                exact.to(dtype)
            row = exact.to(mask.device)(1, int(places.max()) + 1)[:num_heads, 0]
            made = row[:, places] * mask[None].to(dtype)  # (heads, batch, keys)
            return made.transpose(0, 1).reshape(-1, 1, mask.shape[-1])

        module.build_alibi_tensor = build
        return ""

    yield Live(name or type(module).__name__, source, values=values, put=put, keys={"queries": "1"})


ALIBI = ("build_alibi_tensor", "build_mpt_alibi_tensor")
"""Names of functions that make the bias: of an attention mask, heads and a type; of heads, a number of keys and the
bias's maximum.
"""


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

    known = inspect.signature(rule).parameters
    if "bidirectional" not in known:  # UMT5's reads them off the module
        sides = {}

    def values(length: int) -> tuple[Any, int]:
        places = torch.arange(length)
        return rule(places[None] - places[:, None], **sides), 0

    def put() -> str:
        exact = BiasModule(source, 512)

        def chosen(relative_position: torch.Tensor, **_ignored: Any) -> torch.Tensor:
            queries, keys = relative_position.shape[-2:]
            first = int(relative_position[..., 0, 0])  # of the first key, minus that of the first query
            exact(max(keys, queries - first))  # which makes the table long enough
            index: torch.Tensor = exact.get_buffer("index")[-first : queries - first, :keys]
            return index.to(relative_position.device)

        places = torch.arange(TRIED)
        for tried in (places[None] - places[:, None], places[None] - places[-1:, None]):
            if not torch.equal(chosen(tried), rule(tried, **sides)):
                return "its buckets are not those of its config"
        module._relative_position_bucket = chosen
        return ""

    yield Live(f"{name}.buckets", source, values=values, put=put, whole=True, keys={"form": "index"})
    yield Live(f"{name}.relative_attention_bias", source, trained=True)


def rows(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the rows of positions that a module holds: its weight, fixed or trained, or a buffer."""
    last = name.rpartition(".")[2]
    weight = getattr(module, "weight", getattr(module, "weights", None)) if last in EMBEDDINGS else None
    held = {"": weight} | {key: value for key, value in module.named_buffers(recurse=False) if key in EMBEDDINGS}
    for key, values in held.items():
        if isinstance(values, torch.Tensor) and values.ndim == 2 and not isinstance(module, TableModule):
            yield from _rows(".".join(filter(None, (name, key))), values, module, model)


def _rows(name: str, held: torch.Tensor, module: Any, model: Any) -> Iterator[Live]:
    side = next((part for part in name.split(".") if part in ("encoder", "decoder")), None)
    source = (_source(module, model, layer_type=side) if side else None) or _source(module, model)
    if source is None or source.recipe is None:
        return
    family, layout = source.recipe.encoding.family, source.model_layout
    if family not in (Family.ABSOLUTE, Family.ROTARY) or (family is Family.ROTARY and layout not in SINGLE):
        return
    if source.recipe.encoding.facts.learned:
        yield Live(name, source, trained=True)
        return
    keys = {"layout": str(layout)} if family is Family.ROTARY else {}

    def values(length: int) -> tuple[Any, int]:
        return held[: min(length, len(held))].detach(), 0

    def put() -> str:
        exact = source.open(length=len(held), dtype=name_of(held.dtype), **keys)
        array = exact.arrays[0]
        made = tensor(exact.read(array.name), array.dtype)
        if made.shape != held.shape:
            return f"it has {_sides(held)} values, the exact table {_sides(made)}"
        seen, size = held.detach().float().cpu(), max(1.0, float(made.float().abs().max()))
        gap = float((seen - made.float()).abs().max())
        if not gap <= allowance(size, name_of(held.dtype), len(held)):
            return f"its values are up to {gap:.2g} from the exact ones"
        held.data.copy_(made)
        return ""

    yield Live(name, source, name_of(held.dtype), values, put, keys=keys)


SINGLE = ("sin-cos", "concat")
"""Layouts of a rotary table in one array."""

GRID = (2, 3, 4)
"""Frames, rows and columns at which the modules of diffusers are tried."""


def axes(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the table of a module of diffusers, which its own attributes describe: the config does not."""
    kind = type(module).__name__
    if kind not in DIFFUSERS or not type(module).__module__.startswith("diffusers."):
        return
    recipe, keys, called = DIFFUSERS[kind](module)

    def values(_length: int) -> tuple[Any, int]:
        found = called()
        parts = (found.real, found.imag) if getattr(found, "is_complex", bool)() else found
        return (tuple(p.flatten(0, -2) for p in parts) if isinstance(parts, tuple) else parts), 0

    why = "it is compared alone: it is called with sizes or coordinates, not with positions"
    yield Live(name, api.source_of(recipe), values=values, put=lambda: why, keys=keys)


def _of_axes(widths: Iterable[int], theta: float, more: str = "") -> str:
    sides = GRID[-len(widths := list(widths)) :]
    return f"rope-axes:axes={'+'.join(map(str, widths))},grid={'x'.join(map(str, sides))},base={theta}{more}"


def _latents(*patches: int) -> torch.Tensor:
    """Return the latents of one video that has GRID patches, (1, 1, frames, rows, columns)."""
    return torch.zeros(1, 1, *(side * patch for side, patch in zip(GRID, patches, strict=True)))


def _frames(module: Any) -> tuple[str, dict[str, str], Callable[[], Any]]:
    """Return CogVideoX's sinusoids of text, which has none, frames, rows and columns."""
    patch, each = module.patch_size, module.patch_size_t or 1
    frames = (module.sample_frames - 1) // module.temporal_compression_ratio + 1
    grid = f"{-(-frames // each)}x{module.sample_height // patch}x{module.sample_width // patch}"
    space, time = module.spatial_interpolation_scale, module.temporal_interpolation_scale
    text = f"sincos3d:dim={module.embed_dim},grid={grid},prefix={module.max_text_seq_length}"
    held = module.pos_embedding[0]
    return f"{text},grid-scale={time}+{space}+{space}", {}, lambda: held


DOUBLE = {"layout": "interleaved"}
DIFFUSERS: dict[str, Callable[[Any], tuple[str, dict[str, str], Callable[[], Any]]]] = {
    "FluxPosEmbed": lambda m: (
        _of_axes(m.axes_dim, m.theta), DOUBLE,
        lambda: m(torch.cartesian_prod(*(torch.arange(side) for side in GRID[-len(m.axes_dim) :]))),
    ),
    "WanRotaryPosEmbed": lambda m: (
        _of_axes((m.t_dim, m.h_dim, m.w_dim), 10000), DOUBLE, lambda: m(_latents(*m.patch_size)),
    ),
    "HunyuanVideoRotaryPosEmbed": lambda m: (
        _of_axes(m.rope_dim, m.theta), DOUBLE, lambda: m(_latents(m.patch_size_t, m.patch_size, m.patch_size)),
    ),
    "QwenEmbedRope": lambda m: (
        _of_axes(m.axes_dim, m.theta, ",centred=0+1+1" if m.scale_rope else ""), {},
        lambda: m([GRID], device=torch.device("cpu"), max_txt_seq_len=1)[0],
    ),
    "CogVideoXPatchEmbed": _frames,
}  # fmt: skip
"""Recipe, keys and values of the classes of diffusers that are compared."""

KINDS = (rotary, alibi, buckets, rows, axes)


@dataclass(frozen=True, repr=False)
class Audited:
    """Comparison of one table of a live model with the exact one.

    Attributes
    ----------
    name : str
        The module, or the kind of layer where the config says a table that no module of the model holds.
    recipe : str
    comparison : Comparison or None
        None where there is nothing to compare.
    note : str
        Why there is not: the table is trained, or was not found.
    trained : bool
    """

    name: str
    recipe: str
    comparison: Comparison | None = None
    note: str = ""
    trained: bool = False

    @property
    def good(self) -> bool:
        """Whether the table equals its config's, or is trained; false if it was not found."""
        return self.trained or (self.comparison is not None and self.comparison.equal)

    def __bool__(self) -> bool:
        return self.good

    def __repr__(self) -> str:
        against = f" against {self.recipe}" if self.recipe else ""
        return f"{self.name}{against}\n  {self.note or repr(self.comparison)}"


def audit(model: torch.nn.Module, length: int = 64) -> list[Audited]:
    """Compare every positional table of a live transformers model with its own config.

    Rotary modules are called as the model calls them; of ALiBi, T5's buckets and fixed sinusoids the model's own
    functions and weights are read. Trained tables are named and not judged. Positional modules that cannot be compared,
    as those of diffusers, are named, with the reason.

    Parameters
    ----------
    model : torch.nn.Module
        With a `config` of transformers; the tables of other models are only named.
    length : int
        Positions compared, at most those that the table has.

    Returns
    -------
    list of Audited
        One for each table; its comparison, within what float32 arithmetic may lose, says what was done where they
        differ.
    """
    found = [_audited(live, length) for live in _tables(model)]
    recipes = {one.recipe for one in found}
    for kind, source in _sources(model).items():
        assert source.recipe is not None
        recipe = source.recipe.short
        if recipe not in recipes and source.recipe.encoding.family is not Family.NONE:
            found.append(
                Audited(kind, recipe, note="the config says it, and no module of the model was found to hold it")
            )
    return found


class Replaced(list[str]):
    """Names of the replaced modules.

    Attributes
    ----------
    left : dict of str to str
        What was left as it is, by its name, and why.
    """

    def __init__(self, names: Iterable[str], left: dict[str, str]) -> None:
        super().__init__(names)
        self.left = left

    def __repr__(self) -> str:
        lines = [f"{name} is left as it is: {why}" for name, why in self.left.items()]
        return "\n  ".join([f"replaced: {', '.join(self) or 'nothing'}", *lines])


def replace(model: torch.nn.Module) -> Replaced:
    """Put pecli's exact tables in the place of a live transformers model's own; return the names of the modules.

    Rotary modules and the functions that make biases are exchanged, which then are exact in every type that the model
    is moved to; fixed sinusoids are written over. Each is first tried beside the model's own on the same arguments:
    where shapes, types or values differ, and where a scaling depends on the sequence at hand, the model's own stays,
    and `left` of what is returned says why. Trained tables stay.
    """
    found = {live.name: live.put() for live in _tables(model) if not live.trained}
    return Replaced([name for name, why in found.items() if not why], {name: why for name, why in found.items() if why})


def _tables(model: torch.nn.Module) -> list[Live]:
    modules = dict(model.named_modules())
    found = [live for name, module in modules.items() for kind in KINDS for live in kind(name, module, model)]
    is_rotary = getattr(getattr(model, "config", None), "use_rotary_positional_embeddings", True)  # of CogVideoX
    unread = [word for word in _takes(model) if "rotary_emb" in word and is_rotary]
    known = [live.name for live in found]
    for name, module in modules.items():
        if isinstance(module, (TableModule, RotaryInPlace)) or _related(name, known):
            continue
        buffers = dict(module.named_buffers(recurse=False))
        if any(key.endswith(FREQUENCIES) for key in buffers):  # of another family's config, which leaves them unused
            continue
        if POSITIONAL.search(type(module).__name__):
            names = [name or type(module).__name__]
        else:
            names = [".".join(filter(None, (name, key))) for key in buffers if key in BUFFERS]
        known += names
        found += [Live(one, None, note=UNREAD, put=lambda: UNREAD) for one in names]
    return found + [Live(word, None, note=PASSED, put=lambda: PASSED) for word in unread]


def _related(name: str, known: list[str]) -> bool:
    """Return whether a module, a part of it or what it is a part of has a table among the known ones."""
    return any(f"{name}.".startswith(f"{one}.") or (name and one.startswith(f"{name}.")) for one in known)


POSITIONAL = re.compile("(Rotary|Rope|PosEmbed|Position(al)?Embed|EmbedND)(?!.*(Attention|Layer|Block|Encoder|Model))")
"""Classes that hold or make a positional table, by their names."""

BUFFERS = (*EMBEDDINGS, "pos_embedding")
UNREAD = "not compared: pecli does not know how this module makes its table"
PASSED = "not compared: the caller makes this table and passes it to the model's forward"


def _sources(model: torch.nn.Module) -> dict[str, NamedSource]:
    """Return the config's source for each kind of layer."""
    config = getattr(model, "config", None)
    try:
        layers = api.read_config(config).layers
        return {kind: api.source_of(config, **({"layer_type": kind} if len(layers) > 1 else {})) for kind in layers}
    except PecliError:
        return {}


def _audited(live: Live, length: int) -> Audited:
    source = live.source
    if source is None:
        return Audited(live.name, "", note=live.note)
    text = source.recipe.short if source.recipe else source.text
    if live.trained:
        return Audited(live.name, text, note="trained, not judged", trained=True)
    try:
        values, start = live.values(length)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        return Audited(live.name, text, note=f"not compared: its module could not be called: {error}")
    if values is None:
        return Audited(live.name, text, note="not compared: nobody knows how its module is called")
    largest = max(1.0, float(abs(values[0] if isinstance(values, tuple) else values).max()))
    atol = allowance(largest, live.dtype, length)
    return Audited(live.name, text, api.compare(values, live.expected(start), atol=0.0 if live.whole else atol))
