"""Modules of diffusers and timm, and windows as Swin's: their own attributes describe the table, and no config does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

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
