"""Small arrays of every kind: identify and compare must neither crash nor warn nor be sure of nonsense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reallife.build import F16, F32, F64, bf16, shaw_index, slopes, t5_index
from tests.reallife.cases import small

SIZES = (1, 2, 3, 4, 5, 8, 16)
KINDS: tuple[tuple[str, Any], ...] = (
    ("bool", bool),
    ("int8", np.int8),
    ("uint8", np.uint8),
    ("int64", np.int64),
    ("float16", F16),
    ("float32", F32),
    ("float64", F64),
    ("complex64", np.complex64),
)


def family(name: str, make: Callable[[int], np.ndarray], sizes: tuple[int, ...] = SIZES) -> None:
    """Register one kind of matrix in several sizes."""
    for n in sizes:
        small(f"{name} {n}", lambda n=n: make(n))


def _with(array: np.ndarray, where: Any, value: float) -> np.ndarray:
    array = np.array(array, F32)
    array[where] = value
    return array


def _blocks(n: int) -> np.ndarray:
    return np.kron(np.eye(2), np.ones((n, n))).astype(F32)


for _kind, _dtype in KINDS:
    for _shape in ((4, 4), (1, 8), (8, 1), (6,), (2, 3, 4)):
        small(
            f"zeros {_kind} {_shape}",
            lambda s=_shape, t=_dtype: np.zeros(s, t),
            ("none:dim=4", "none:dim=8", "none:dim=1", "unknown"),
        )
    small(f"ones {_kind}", lambda t=_dtype: np.ones((5, 6), t))
    small(f"ramp {_kind}", lambda t=_dtype: np.arange(24).reshape(6, 4).astype(t))

family("ones", lambda n: np.ones((n, n), F32))
family("constant 0.5", lambda n: np.full((n, 8), 0.5, F32))
family("constant -1", lambda n: np.full((n, n), -1, F32))
family("identity", lambda n: np.eye(n, dtype=F32))
family("lower triangle", lambda n: np.tril(np.ones((n, n), F32)))
family("upper triangle", lambda n: np.triu(np.ones((n, n), F32)))
family("boolean causal mask", lambda n: np.tril(np.ones((n, n), bool)))
family("causal mask of -inf", lambda n: np.triu(np.full((n, n), -np.inf, F32), 1))
family("causal mask of float32 min", lambda n: np.triu(np.full((n, n), np.finfo(F32).min, F32), 1))
family("sliding window mask", lambda n: (np.abs(np.arange(n)[:, None] - np.arange(n)) <= 2).astype(F32))
family("block diagonal", _blocks, (1, 2, 3, 4))
family("block diagonal mask", lambda n: np.where(_blocks(n) > 0, 0, -np.inf).astype(F32), (1, 2, 3, 4))
family("checkerboard", lambda n: (np.add.outer(np.arange(n), np.arange(n)) % 2).astype(F32))
family("signs", lambda n: np.where(np.add.outer(np.arange(n), np.arange(n)) % 2, -1, 1).astype(F32))
family("ramp of a column", lambda n: np.arange(n, dtype=F32)[:, None])
family("ramp of a row", lambda n: np.arange(n, dtype=F32)[None])
family("ramp in one axis", lambda n: np.arange(n))
family("ramp divided", lambda n: (np.arange(n * 4, dtype=F64) / max(n * 4 - 1, 1)).reshape(n, 4))
family("linspace -1 to 1", lambda n: np.linspace(-1, 1, n * 2, dtype=F32).reshape(n, 2))
family("one NaN", lambda n: _with(np.ones((n, n)), (0, 0), np.nan))
family("all NaN", lambda n: np.full((n, n), np.nan, F32))
family("one infinity", lambda n: _with(np.zeros((n, n)), (n - 1, 0), np.inf))
family("all infinite", lambda n: np.full((n, n), np.inf, F64))
family("huge", lambda n: np.full((n, n), 3e38, F32))
family("denormal", lambda n: np.full((n, n), 1e-45, F32))
family("negative zero", lambda n: -np.zeros((n, n), F32))
family("distance", lambda n: np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
family("signed distance", lambda n: np.subtract.outer(np.arange(n), np.arange(n)))
family("distance in float32", lambda n: -np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(F32))
family("geometric", lambda n: (2.0 ** -np.arange(n * 3)).reshape(n, 3).astype(F32))
family("powers of ten", lambda n: (10.0 ** -np.arange(n * 2)).reshape(2, n))
for n in SIZES:
    small(f"slopes alone {n}", lambda n=n: slopes(n).astype(F32), (f"alibi:heads={n},form=slopes", "unknown"))
    small(
        f"slopes as a column {n}",
        lambda n=n: slopes(n).astype(F64)[:, None],
        (f"alibi:heads={n},form=slopes", "unknown"),
    )
family("noise", lambda n: np.random.default_rng(n).normal(size=(n, 6)).astype(F32))
family("noise in one axis", lambda n: np.random.default_rng(n).normal(size=n))
family("noise uniform", lambda n: np.random.default_rng(n).uniform(size=(n, n)))
family("random bits", lambda n: np.random.default_rng(n).integers(0, 2, (n, 8)))
family("random integers", lambda n: np.random.default_rng(n).integers(0, 100, (n, n)))
family("permutation matrix", lambda n: np.eye(n)[np.random.default_rng(n).permutation(n)])
family("one-hot rows", lambda n: np.eye(8, dtype=F32)[np.arange(n) % 8])
family("sine of one column", lambda n: np.sin(np.arange(n, dtype=F32))[:, None])
family("cosine of one row", lambda n: np.cos(np.arange(n, dtype=F64))[None])
family("hadamard", lambda n: np.array([[-1.0 if (i & j).bit_count() % 2 else 1.0 for j in range(n)] for i in range(n)]))
family("hilbert", lambda n: 1 / (1 + np.add.outer(np.arange(n), np.arange(n))))
family("vandermonde", lambda n: np.vander(np.linspace(0, 1, n), 4))
family(
    "softmax of noise",
    lambda n: (lambda e: e / e.sum(1, keepdims=True))(np.exp(np.random.default_rng(n).normal(size=(n, n)))),
)
family("cumulative", lambda n: np.cumsum(np.ones((n, 4)), 0))
for n in (2, 3, 4):
    small(f"shaw index {n}", lambda n=n: shaw_index(n, 2), (f"shaw:dim=1,clip=2,len={n},form=index", "unknown"))
family("t5 index", lambda n: t5_index(n), (2, 3, 5))
family("three axes of zeros", lambda n: np.zeros((n, n, n), F32), (1, 2, 3))
family("four axes of ones", lambda n: np.ones((1, n, n, 4)), (1, 2, 3))
family("cos of 1 and sin of 0", lambda n: {"cos": np.ones((n, 4), F32), "sin": np.zeros((n, 4), F32)})
family("cos and sin of NaN", lambda n: {"cos": np.full((n, 4), np.nan, F32), "sin": np.full((n, 4), np.nan, F32)})
family(
    "cos and sin of noise",
    lambda n: dict(zip(("cos", "sin"), np.random.default_rng(n).normal(size=(2, n, 4)), strict=True)),
)
family(
    "pe of two values",
    lambda n: {"pe": np.where(np.random.default_rng(n).uniform(size=(n, 8)) < 0.5, -1, 1).astype(F32)},
)
family("bfloat16 noise", lambda n: bf16(np.random.default_rng(n).normal(size=(n, 8))))
for _shape in ((0,), (0, 8), (8, 0), (0, 0), (1, 0, 4), (2, 0)):
    small(f"empty {_shape}", lambda s=_shape: np.zeros(s, F32))
small("scalar array", lambda: np.array(0.0, F32))
small("cos alone of one value", lambda: {"cos": np.ones((1, 1), F32)})
small("texts", lambda: np.array([["a", "b"], ["c", "d"]]))
small("objects", lambda: np.array([[1, None], [2, 3]], dtype=object))
