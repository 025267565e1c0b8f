"""Audit and replacement of the positional tables of live models, and of tensors that are named as such tables.

Of modules of diffusers and timm, and of windows as Swin has them, their own attributes describe the table, and no
config does.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch

from pecli import api
from pecli.errors import BadParameter, PecliError
from pecli.inspect.checkpoints import FREQUENCIES as FREQUENCY_NAMES
from pecli.inspect.checkpoints import TRAINED, Compared, compared, named_tables, sources_of
from pecli.models.reading import ConfigReading
from pecli.numbers.printing import limit
from pecli.numbers.rounding import allowance
from pecli.spec.declaration import Family
from pecli.tables.foreign import to_numpy
from pecli.tables.sources import NamedSource
from pecli.torch.modules import BiasModule, RotaryModule, TableModule, name_of, tensor

# Frames, rows and columns at which modules are tried that take any.
GRID = (2, 3, 4)


class Described(NamedTuple):
    """A module's table.

    Parameters
    ----------
    recipe : str
    keys : dict of str
        The table's own keys that make the recipe's table like the values.
    values : callable
        Calls the module.
    whole : bool
        Whether the values are whole numbers.
    """

    recipe: str
    keys: dict[str, str]
    values: Callable[[], Any]
    whole: bool = False


def described(module: Any) -> Described | None:
    """Return what a module's attributes say about its table; None for a module of another kind."""
    for kind in type(module).__mro__:
        make = CLASSES.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
        if make is not None:
            return make(module)
    return _window(module)


def _of_axes(widths: Iterable[int], theta: float, more: str = "") -> str:
    sides = GRID[-len(widths := list(widths)) :]
    return f"rope-axes:axes={'+'.join(map(str, widths))},grid={'x'.join(map(str, sides))},base={theta}{more}"


def _pair(found: Any) -> Any:
    """Return cosines and sines, (n, width) each, of complex numbers, or of a pair that has more axes."""
    found = (found.real, found.imag) if getattr(found, "is_complex", bool)() else found
    return tuple(part.flatten(0, -2) for part in found)


def _latents(*patches: int) -> torch.Tensor:
    """Return the latents of one video that has GRID patches, (1, 1, frames, rows, columns)."""
    return torch.zeros(1, 1, *(side * patch for side, patch in zip(GRID, patches, strict=True)))


def _frames(module: Any) -> Described:
    """Return CogVideoX's sinusoids of text, which has none, frames, rows and columns."""
    patch, each = module.patch_size, module.patch_size_t or 1
    frames = (module.sample_frames - 1) // module.temporal_compression_ratio + 1
    grid = f"{-(-frames // each)}x{module.sample_height // patch}x{module.sample_width // patch}"
    space, time = module.spatial_interpolation_scale, module.temporal_interpolation_scale
    text = f"sincos3d:dim={module.embed_dim},grid={grid},prefix={module.max_text_seq_length}"
    return Described(f"{text},grid-scale={time}+{space}+{space}", {}, lambda: module.pos_embedding[0])


def _of_timm(module: Any, text: str) -> Described:
    """Return a table of timm, sines before cosines, at the module's own grid or at one of any size."""
    height, width = module.feat_shape or GRID[1:]
    order = "xy" if module.grid_indexing == "xy" else "yx"
    recipe = f"rope2d:dim={module.dim},grid={height}x{width},axis-order={order}{text}"
    layout = "half" if getattr(module, "rotate_half", False) else "interleaved"

    def values() -> Any:
        shape = None if getattr(module, "_use_cached_embed", False) else [height, width]
        found = module.get_embed(shape)
        sin, cos = found if isinstance(found, tuple) else found.chunk(2, -1)
        return cos, sin

    return Described(recipe, {"layout": layout}, values)


def _by_grid(module: Any) -> Described | None:
    """Return the table of timm's rotary modules whose coordinates are indices, pixels or centres."""
    kind = getattr(module, "grid_type", None) or ("pixel" if module.in_pixels else "index")
    if module.in_pixels:
        if kind != "pixel":
            return None
        series = ",series=pixel" if module.linear_bands else ""
        return _of_timm(module, f",convention=timm-pixel{series},max-resolution={module.max_res}")
    if kind != "index":
        return None
    text = f",base={module.temperature}"
    if module.grid_offset:
        text += f",first={module.grid_offset}"
    if module.ref_feat_shape is not None:
        text += f",reference={'x'.join(map(str, module.ref_feat_shape))}"
    return _of_timm(module, text)


def _dinov3(module: Any) -> Described | None:
    if module.temperature is None or module.grid_offset:
        return None
    return _of_timm(module, f",convention=dinov3,base={module.temperature},coordinates={module.normalize_coords}")


def _window(module: Any) -> Described | None:
    """Return the index of offsets of a module with windows, as Swin, Swin v2 and BEiT have it."""
    index: Any = getattr(module, "relative_position_index", None)
    sides: Any = getattr(module, "window_size", None)
    if not torch.is_tensor(index) or index.ndim != 2 or sides is None:
        return None
    height, width = sides if isinstance(sides, tuple | list) else (sides, sides)
    cls = ",cls=true" if len(index) == int(height) * int(width) + 1 else ""
    return Described(f"window:grid={height}x{width}{cls}", {"form": "index"}, lambda: index, whole=True)


DOUBLE = {"layout": "interleaved"}
# What the classes of other libraries say about their tables, by package and class.
CLASSES: dict[str, Callable[[Any], Described | None]] = {
    "diffusers.FluxPosEmbed": lambda m: Described(
        _of_axes(m.axes_dim, m.theta), DOUBLE,
        lambda: _pair(m(torch.cartesian_prod(*(torch.arange(side) for side in GRID[-len(m.axes_dim) :])))),
    ),
    "diffusers.WanRotaryPosEmbed": lambda m: Described(
        _of_axes((m.t_dim, m.h_dim, m.w_dim), 10000), DOUBLE, lambda: _pair(m(_latents(*m.patch_size))),
    ),
    "diffusers.HunyuanVideoRotaryPosEmbed": lambda m: Described(
        _of_axes(m.rope_dim, m.theta), DOUBLE, lambda: _pair(m(_latents(m.patch_size_t, m.patch_size, m.patch_size))),
    ),
    "diffusers.QwenEmbedRope": lambda m: Described(
        _of_axes(m.axes_dim, m.theta, ",centred=0+1+1" if m.scale_rope else ""), {},
        lambda: _pair(m([GRID], device=torch.device("cpu"), max_txt_seq_len=1)[0]),
    ),
    "diffusers.CogVideoXPatchEmbed": _frames,
    "timm.RotaryEmbedding": _by_grid,
    "timm.RotaryEmbeddingCat": _by_grid,
    "timm.RotaryEmbeddingDinoV3": _dinov3,
}  # fmt: skip


FREQUENCIES = "inv_freq"


@dataclass
class Live:
    """One table of a model.

    Attributes
    ----------
    name : str
        Of the module.
    judge : callable
        Of a number of positions, the table beside its config's.
    put : callable
        Puts the exact table there; returns why it could not, nothing where it did, and None for a table that is none
        of pecli's to replace.
    """

    name: str
    judge: Callable[[int], Compared]
    put: Callable[[], str | None]


def unseen(name: str, why: str, trained: bool = False) -> Live:
    """Return a table that is only named, with the reason."""
    return Live(name, lambda _length: Compared(note=why, trained=trained), lambda: None if trained else why)


def call_judge(
    source: NamedSource, values: Callable[[int], Any], *, whole: bool = False, **keys: str
) -> Callable[[int], Compared]:
    """Return the judge of a table that a function makes for a number of positions; `whole` numbers must be equal.

    `keys` are the table's own, which make the recipe's table like the values.
    """
    text = source.recipe.short if source.recipe else source.text
    exact = dataclasses.replace(source, given={**source.given, **keys})

    def judge(length: int) -> Compared:
        try:
            made = values(length)
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
            return Compared(text, note=f"not compared: its module could not be called: {error}")
        if made is None:
            return Compared(text, note="not compared: nobody knows how its module is called")
        largest = max(1.0, float(abs(made[0] if isinstance(made, tuple) else made).max().detach()))
        atol = 0.0 if whole else allowance(largest, "float32", length)
        return Compared(text, api.compare(made, exact, atol=atol))

    return judge


def _source(module: Any, model: Any, **choice: str) -> NamedSource | None:
    config = getattr(module, "config", None) or getattr(model, "config", None)
    try:
        source = api.source_of(config, **choice)
    except PecliError:
        return None
    return dataclasses.replace(source, model_length=None) if "grid" in choice else source


def _takes(module: Any) -> list[str]:
    """Return the parameter names of a module's forward."""
    return [name for name in inspect.signature(module.forward).parameters if name != "kwargs"]


def rotary(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the rotary tables of a module that holds frequencies, one for each kind of layer that it knows."""
    held = [key for key in dict(module.named_buffers(recurse=False)) if key.endswith(FREQUENCIES)]
    kinds = {key.removesuffix(FREQUENCIES).rstrip("_"): key for key in held if "original" not in key}
    if isinstance(module, RotaryModule):
        return
    for kind, key in kinds.items():
        source = _source(module, model, **({"layer_type": kind} if kind else {}))
        called = f"{name}.{kind}" if kind else name
        grid = _source(module, model, **PATCHES, merge="1", prefix="0", first="0")
        if grid is not None and grid.recipe is not None and _takes(module)[:2] == ["x", "position_ids"]:
            yield Live(called, partial(_patches_compared, module, grid), lambda: ALONE)
        elif source is None:
            yield unseen(called, UNSAID)
        elif source.recipe is not None and source.recipe.encoding.family is Family.ROTARY:
            call = _caller(module, model, kind)
            if call is None and getattr(getattr(module, "config", None), "sub_configs", None):
                yield unseen(called, UNREAD)  # the config's table is that of one of its parts
                continue
            buffers = {FREQUENCIES: module.get_buffer(key)}  # of a module of which nobody knows how it is called
            judge = call_judge(source, call) if call else partial(_compared, buffers, FREQUENCY_NAMES, {"": source})
            yield Live(called, judge, _putter(model, name, [*kinds], module, source))


def _patches_compared(module: Any, source: NamedSource, length: int) -> Compared:
    """Return the table of a rotary module of images beside its config's, whichever coordinate its caller puts first."""
    assert source.recipe is not None
    dim = source.recipe.values.get("dim")
    patches = torch.cartesian_prod(*map(torch.arange, SIDES)).to(next(module.buffers()).device)

    def values(places: torch.Tensor, _length: int) -> Any:
        for given in (places.T[None], places):
            made = tuple(module(torch.zeros(1, 1, 1, device=places.device), given))
            if len(made) == 2 and made[0].shape[-2:] == (len(places), dim):
                return made
        return None

    found = [call_judge(source, partial(values, places))(length) for places in (patches, patches.flip(1))]
    return next((one for one in found if one.equal), found[0])


UNSAID = "it holds frequencies, and its config does not say which table they make"


def _caller(module: Any, model: Any, kind: str) -> Callable[[int], Any] | None:
    """Return the function that gives a rotary module's first rows, (n, width) each; None where its call is unknown."""
    device = next(module.buffers()).device
    match _takes(module):
        case ["x" | "hidden_states", "position_ids", *_]:

            def call(length: int) -> Any:
                x = torch.zeros(1, length, 1, dtype=torch.float32, device=device)
                places = torch.arange(length, device=device)[None]
                return tuple(module(x, places, kind) if kind else module(x, places))

        case ["hidden_states"]:  # a pair with axes of length 1, from the number of rows

            def call(length: int) -> Any:
                made = module(torch.zeros(1, length, 1, device=device))
                return tuple(part.reshape(length, -1) for part in made) if len(made) == 2 else None

        case ["pixel_values"]:  # an image's patches

            def call(length: int) -> Any:
                config = getattr(module, "config", None) or model.config
                side = config.image_size
                sides = (side, side) if isinstance(side, int) else tuple(side)
                return tuple(module(torch.zeros(1, getattr(config, "num_channels", 3), *sides, device=device)))

        case _:
            return None
    return call


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


# How a model's own module lays the pairs out.
DOUBLED: dict[str | None, Callable[[torch.Tensor], torch.Tensor]] = {
    "half": lambda part: torch.cat((part, part), -1),
    "interleaved": lambda part: part.repeat_interleave(2, -1),
    "split": lambda part: part,
}

# Positions at which a module is tried.
TRIED = 8


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
        tables = {kind or "all": RotaryModule(source, device=device) for kind, source in sources.items()}
        self.tables = torch.nn.ModuleDict(tables)
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
                        return f"its values are up to {limit(gap, 2)} from the exact ones at positions 0 to {last}"
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

    def values(length: int) -> Any:
        if method == ALIBI[1]:
            return module.build_mpt_alibi_tensor(heads, length, model.config.attn_config.alibi_bias_max)
        made: Any = getattr(module, method) if method else function
        return made(torch.ones(1, length), heads, torch.float32).reshape(heads, 1, length)

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
            row = exact.to(mask.device)(1, mask.shape[-1])[:num_heads, 0]
            made = row[:, places] * mask[None].to(dtype)  # (heads, batch, keys)
            return made.transpose(0, 1).reshape(-1, 1, mask.shape[-1])

        module.build_alibi_tensor = build
        return ""

    yield Live(name or type(module).__name__, call_judge(source, values, queries="1"), put)


# Names of functions that make the bias: of an attention mask, heads and a type; of heads, a number of keys and the
# bias's maximum.
ALIBI = ("build_alibi_tensor", "build_mpt_alibi_tensor")


def buckets(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the buckets of an attention as T5's."""
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

    if "bidirectional" not in inspect.signature(rule).parameters:  # UMT5's reads them off the module
        sides = {}

    def values(length: int) -> Any:
        places = torch.arange(length)
        return rule(places[None] - places[:, None], **sides)

    def put() -> str:
        exact = BiasModule(source, 512)

        def chosen(relative_position: torch.Tensor, **_ignored: Any) -> torch.Tensor:
            exact(max(relative_position.shape[-2:]))  # which makes the table long enough
            index: torch.Tensor = exact.get_buffer("index").to(relative_position.device)
            back, on = index[:, 0], index[0]
            return torch.where(
                relative_position < 0, back[-relative_position.clamp(max=0)], on[relative_position.clamp(min=0)]
            )

        places = torch.arange(TRIED)
        for tried in (places[None] - places[:, None], places[None] - places[-1:, None]):
            if not torch.equal(chosen(tried), rule(tried, **sides)):
                return "its buckets are not those of its config"
        module._relative_position_bucket = chosen
        return ""

    yield Live(f"{name}.buckets", call_judge(source, values, whole=True, form="index"), put)


def stored(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the tables that a module holds as a weight or a buffer, by their names: `NAMES` of checkpoints."""
    if isinstance(module, TableModule | RotaryInPlace):
        return
    parts = dict(module.named_parameters(recurse=False))
    parts |= {} if described(module) else dict(module.named_buffers(recurse=False))
    parts |= {key: value for key, value in vars(module).items() if key == "weights" and torch.is_tensor(value)}
    held = {".".join(filter(None, (name, key))): value for key, value in parts.items() if not key.endswith(FREQUENCIES)}
    reading = _reading(model)
    for names, what in named_tables(held).items():
        tensors = {key: held[key] for key in names}
        judge = partial(_compared, tensors, what, sources_of(reading, names[0]))
        called = "+".join(re.sub(r"\.weights?$", "", key) for key in names)
        yield Live(called, judge, partial(_written, tensors.values(), judge))


def _compared(
    tensors: Mapping[str, torch.Tensor], what: str, sources: Mapping[str, NamedSource], _length: int = 0
) -> Compared:
    """Return named tensors beside a config's tables; without one, only parameters are known to be trained."""
    found = compared(what, {key: to_numpy(value) for key, value in tensors.items()}, sources)
    is_known = not found.trained or all(isinstance(value, torch.nn.Parameter) for value in tensors.values())
    return found if is_known else Compared(note=UNREAD)


def _written(tensors: Iterable[torch.Tensor], found: Callable[[], Compared]) -> str | None:
    """Write the exact values over tensors that are a config's within rounding; return why not, if they are not."""
    one = found()
    if not one.equal or one.exact is None:
        return None if one.trained else one.text
    for held, array in zip(tensors, one.exact.arrays, strict=True):
        held.data.copy_(tensor(one.exact.read(array.name), array.dtype).reshape(held.shape))
    return ""


def sines(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the sines of rows and columns of DETR and its kin, and those of XLNet's distances."""
    distances = getattr(module, "relative_positional_encoding", None)
    if not distances and not type(module).__name__.endswith("SinePositionEmbedding"):
        return
    source = _source(module, model, **({} if distances else PATCHES))
    if source is None or source.recipe is None:
        return

    def values(_length: int) -> Any:
        if distances:
            return distances(TRIED, TRIED)[:, 0]
        patches = torch.zeros(1, 1, *SIDES)
        if _takes(module)[0] == "shape":
            return module(patches.shape, patches.device, patches.dtype)[0].flatten(1).T
        return module(patches, torch.ones(1, *SIDES))[0].flatten(1).T

    judge = call_judge(source, values)
    if distances:
        judge = call_judge(dataclasses.replace(source, array="vector"), values, len=str(TRIED))
    yield Live(name or type(module).__name__, judge, lambda: ALONE)


def attributes(name: str, module: Any, model: Any) -> Iterator[Live]:
    """Yield the table of a module of diffusers or timm, which its own attributes describe: the config does not."""
    found = described(module)
    if found is not None:
        recipe, keys, values, whole = found
        judge = call_judge(api.source_of(recipe), lambda _length: values(), whole=whole, **keys)
        yield Live(name, judge, lambda: ALONE)


SIDES = (4, 6)
# Rows and columns of patches at which modules of images are compared.
PATCHES = {"grid": "x".join(map(str, SIDES))}
ALONE = "it is compared alone: it is called with sizes or coordinates, not with positions"
KINDS = (rotary, alibi, buckets, stored, sines, attributes)


@dataclass(frozen=True, repr=False)
class Audited(Compared):
    """Comparison of one table of a live model with the exact one.

    Attributes
    ----------
    name : str
        The module or the tensors, or the kind of layer where the config says a table that was not found.
    recipe : str
    comparison : Comparison or None
        None where there is nothing to compare.
    note : str
        Why there is not: the table is trained, or was not found.
    trained : bool
    """

    name: str = ""

    @property
    def good(self) -> bool:
        """Whether the table equals its config's, or is trained; false if it was not found."""
        return self.trained or self.equal

    def __bool__(self) -> bool:
        return self.good

    def __repr__(self) -> str:
        against = f" against {self.recipe}" if self.recipe else ""
        return f"{self.name}{against}\n  {self.note or repr(self.comparison)}"


def audit(model: torch.nn.Module | Mapping[str, Any], length: int = 64, *, config: Any = None) -> list[Audited]:
    """Compare every positional table of a live transformers model, or of tensors given by name, with its config.

    Rotary modules are called as the model calls them; of ALiBi and T5's buckets the model's own functions are read;
    caches and fixed sinusoids are found by the names of weights and buffers, such as vLLM's ``cos_sin_cache``. Modules
    of diffusers and timm are compared with what their own attributes say. Trained tables are named and not judged. What
    cannot be compared is named, with the reason.

    Parameters
    ----------
    model : torch.nn.Module or mapping of str to tensor
        A model with a `config` of transformers; of other models positional tables are named. Or tensors by name, as a
        state dict and a safetensors file have them.
    length : int
        Positions at which modules are called.
    config : path, mapping or config object, optional
        Of tensors given by name, or of a model whose own is not meant.

    Returns
    -------
    list of Audited
        One for each table; its comparison, within what float32 arithmetic may lose, says what was done where they
        differ.

    Raises
    ------
    BadParameter
        If tensors are given without a config.
    """
    if isinstance(model, torch.nn.Module):
        found = [Audited(**vars(live.judge(length)), name=live.name) for live in _tables(model, config)]
        sources, holder = sources_of(_reading(model, config)), "module of the model was found to hold it"
    else:
        if config is None:
            raise BadParameter("config", None, "is needed with tensors: give the model's config, or a config.json")
        reading = api.read_config(config)
        found, known = [], named_tables(model)
        for names, what in known.items():
            arrays = {name: to_numpy(model[name]) for name in names}
            found.append(Audited(**vars(compared(what, arrays, sources_of(reading, names[0]))), name="+".join(names)))
        others = [name for name in model if POSITIONAL_NAME.search(name) and not any(name in one for one in known)]
        found += [Audited(note=UNNAMED, name=name) for name in others]
        sources, holder = sources_of(reading), "tensor was found to hold it"
    seen = {word for one in found for word in (one.recipe, one.recipe.partition(":")[0])}
    for kind, source in sources.items():
        assert source.recipe is not None
        encoding = source.recipe.encoding
        is_seen = source.text in seen or (encoding.facts.learned and encoding.name in seen)
        if not is_seen and encoding.family is not Family.NONE and "/" not in kind:  # a part may be another model's
            found.append(Audited(source.text, note=f"the config says it, and no {holder}", name=kind))
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
    found = {live.name: live.put() for live in _tables(model)}
    left = {name: why for name, why in found.items() if why}
    return Replaced([name for name, why in found.items() if why == ""], left)


def _reading(model: torch.nn.Module, config: Any = None) -> ConfigReading | None:
    try:
        return api.read_config(config if config is not None else getattr(model, "config", None))
    except PecliError:
        return None


def _tables(model: torch.nn.Module, config: Any = None) -> list[Live]:
    modules = dict(model.named_modules())
    found = [live for name, module in modules.items() for kind in KINDS for live in kind(name, module, model)]
    is_rotary = getattr(getattr(model, "config", None), "use_rotary_positional_embeddings", True)  # of CogVideoX
    unread = [word for word in _takes(model) if "rotary_emb" in word and is_rotary]
    known = [live.name for live in found]
    for name, module in modules.items():
        # a part of it, or what it is a part of, has a table that is known
        related = any(f"{name}.".startswith(f"{one}.") or (name and one.startswith(f"{name}.")) for one in known)
        if isinstance(module, TableModule | RotaryInPlace) or related:
            continue
        is_unused = any(key.endswith(FREQUENCIES) for key, _ in module.named_buffers(recurse=False))
        if POSITIONAL.search(type(module).__name__) and not is_unused:  # by a config of another family
            known.append(name or type(module).__name__)
            is_trained = any(True for _ in module.parameters(recurse=False))
            found.append(unseen(known[-1], TRAINED if is_trained else UNREAD, is_trained))
    return found + [unseen(word, PASSED) for word in unread]


# Classes that hold or make a positional table, by their names.
POSITIONAL = re.compile(
    "^(?!.*(Attention|Layer|Block|Encoder|Model)).*(Rotary|Rope|RelPos|PosEmbed|Position(al)?Embed|EmbedND)"
)

POSITIONAL_NAME = re.compile(r"(^|[._])(rope|rotary\w*|freqs?|pos\w*emb\w*|rel_pos\w*|alibi|slopes)([._]|$)")
UNREAD = "not compared: pecli does not know how this module makes its table"
UNNAMED = "not compared: pecli does not know which table has this name"
PASSED = "not compared: the caller makes this table and passes it to the model's forward"
