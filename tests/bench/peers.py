"""The same tables and rotations made by other libraries, where they are installed: ``make bench-peers``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from pecli.tables.table import Table
from tests.bench.rotations import SHAPE, ours
from tests.bench.rows import Row, best_of

ROWS, WIDTH, HEAD = 32_768, 1024, 128
LONG = 131_072
THREADS = 2


def sinusoid() -> object:
    """Make a sinusoid with pecli."""
    return Table.parse(f"sinusoidal:dim={WIDTH}", length=ROWS).read("pe")


def rotary() -> object:
    """Make cosines and sines with pecli, as wide as Llama's module gives them."""
    table = Table.parse(f"rope:dim={HEAD}", length=LONG, layout="half")
    return table.read_rows(["cos", "sin"], 0, LONG)


def positional_encodings() -> Callable[[], object]:
    """Return the sinusoid of positional-encodings, whose module keeps the last table: a new one each time."""
    import torch
    from positional_encodings.torch_encodings import PositionalEncoding1D

    shape = torch.empty(1, ROWS, WIDTH)
    return lambda: PositionalEncoding1D(WIDTH)(shape)


def diffusers() -> Callable[[], object]:
    """Return the sinusoid of diffusers."""
    import torch
    from diffusers.models.embeddings import get_1d_sincos_pos_embed_from_grid

    positions = torch.arange(ROWS)
    return lambda: get_1d_sincos_pos_embed_from_grid(WIDTH, positions, output_type="pt")


def llama() -> Callable[[], object]:
    """Return the cosines and sines of transformers' Llama."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(hidden_size=HEAD, num_attention_heads=1, max_position_embeddings=LONG)
    module, x, positions = LlamaRotaryEmbedding(config), torch.empty(1), torch.arange(LONG)[None]
    return lambda: module(x, positions)


def llama_rotated() -> Callable[[], object]:
    """Return the rotation of transformers' Llama, with a table that is ready."""
    import torch
    from transformers.models.llama.modeling_llama import rotate_half

    x = torch.from_numpy(queries())
    angles = torch.arange(SHAPE[2])[:, None] * 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    cos, sin = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
    return lambda: x * cos + rotate_half(x) * sin


def queries() -> Any:
    """Return float32 queries."""
    return np.random.default_rng(0).standard_normal(SHAPE, dtype=np.float32)


PEERS = (
    ("positional_encodings", positional_encodings, sinusoid, f"sinusoid {ROWS} x {WIDTH}"),
    ("diffusers", diffusers, sinusoid, f"sinusoid {ROWS} x {WIDTH}"),
    ("transformers", llama, rotary, f"Llama's cos and sin {LONG} x {HEAD}"),
    ("transformers", llama_rotated, None, "queries 2 x 16 x 8192 x 128 rotated by Llama's, its table ready"),
)


def rows() -> Iterator[Row]:
    """Measure; each row is a ratio.  The peers' values are rounded in float32 steps, pecli's once."""
    x = queries()
    for package, make, mine, what in PEERS:
        said = f"{what}: {package.replace('_', '-')} / ours"
        if find_spec("torch") is None or find_spec(package) is None:
            yield Row(said, None, "x faster", 1)
            continue
        import torch

        torch.set_num_threads(THREADS)
        with torch.no_grad():
            times = best_of({"peer": make(), "ours": mine or (lambda: ours(x, "half"))})
        yield Row(said, times["peer"] / times["ours"], "x faster", 1)
