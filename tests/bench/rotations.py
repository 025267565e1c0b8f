"""Queries rotated by ``apply``, each value rounded once, against NumPy's float32 with a ready table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.apply.apply import apply
from pecli.apply.tensors import ApplyOptions, tensor_of
from pecli.spec.tabular import InMemory
from pecli.tables.sources import read_source
from tests.bench.rows import Row, best_of

SHAPE = (2, 16, 8192, 128)
Singles = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def ours(x: Singles, pairs: str) -> object:
    """Turn it, the table included."""
    return apply(
        read_source("rope:dim=128"), [tensor_of(InMemory({"q": x}), "q")], ApplyOptions(pairs=pairs)
    ).outputs.read("q")


def halves(x: Singles, cos: Singles, sin: Singles) -> object:
    """Turn halves as models do: x cos + rotate_half(x) sin."""
    return x * cos + np.concatenate([-x[..., 64:], x[..., :64]], -1) * sin


def neighbours(x: Singles, cos: Singles, sin: Singles) -> object:
    """Turn neighbours as models do, even columns and odd ones."""
    out, a, b = np.empty_like(x), x[..., 0::2], x[..., 1::2]
    out[..., 0::2], out[..., 1::2] = a * cos - b * sin, a * sin + b * cos
    return out


def rows() -> Iterator[Row]:
    """Measure; each row is a ratio."""
    x = np.random.default_rng(0).standard_normal(SHAPE, dtype=np.float32)
    angle = np.arange(SHAPE[2])[:, None] * 10000.0 ** (-np.arange(0, 128, 2) / 128)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    points = cos + 1j * sin
    wide = np.tile(cos, 2), np.tile(sin, 2)
    times = best_of(
        {
            "half": lambda: ours(x, "half"),
            "halves": lambda: halves(x, *wide),
            "interleaved": lambda: ours(x, "interleaved"),
            "neighbours": lambda: neighbours(x, cos, sin),
            "complex": lambda: x.view(np.complex64) * points,
        }
    )
    what = "of 32 x 8192 x 128 float32 rotated, rounded once"
    gigabyte = x.nbytes / 1e9
    yield Row(f"half-split pairs {what}: seconds for a GB", times["half"] / gigabyte, "s", 0.5)
    yield Row(f"interleaved pairs {what}: seconds for a GB", times["interleaved"] / gigabyte, "s", 0.5)
    yield Row(
        "half-split pairs against NumPy's float32 with a ready table", times["halves"] / times["half"], "x faster", 1
    )
    first = times["neighbours"] / times["interleaved"]
    yield Row("interleaved pairs against NumPy's float32 by columns, with a ready table", first, "x faster", 1)
    second = times["complex"] / times["interleaved"]
    yield Row("interleaved pairs against NumPy's complex64 product, with a ready table", second, "x faster", 1)
