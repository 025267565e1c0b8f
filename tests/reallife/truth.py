"""Tables of named recipes in plain float64 NumPy, independent of pecli, and whether a file holds one."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from tests.reallife.build import dynamic_base, inv64, llama3, ntk_base, slopes, widen, yarn

CONVENTIONS = {
    "fairseq": {"shift": "1", "order": "sin-cos", "pad-row": "1"},
    "whisper": {"shift": "1", "order": "sin-cos"},
    "tensor2tensor": {"shift": "1", "order": "sin-cos"},
    "diffusers-unet": {"order": "cos-sin"},
    "diffusers-function": {"shift": "1", "order": "sin-cos"},
    "musicgen": {"shift": "1", "order": "cos-sin"},
}


def keys_of(recipe: str) -> tuple[str, dict[str, str]]:
    """Name of a recipe and its keys as written."""
    name, _, rest = recipe.partition(":")
    return name, dict(part.split("=", 1) for part in re.findall(r'[\w-]+=(?:"[^"]*"|[^,]*)', rest))


def _frequencies(keys: dict[str, str], rows: int) -> tuple[np.ndarray, float] | None:
    number = {k: float(v) for k, v in keys.items() if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", v)}
    head = int(number["dim"])
    dim = int(number.get("rotary-dim", int(head * number.get("partial", 1))))
    base, kind, factor = number.get("base", 10000.0), keys.get("scaling", "none"), number.get("factor", 1.0)
    if kind == "none":
        return inv64(dim, base), 1.0
    if kind == "linear":
        return inv64(dim, base) / factor, 1.0
    if kind == "ntk":
        return inv64(dim, ntk_base(base, number.get("alpha", factor), dim)), 1.0
    if kind == "dynamic":
        longest = max(int(number.get("seq-len", rows)), int(number["max-position"]))
        return inv64(dim, dynamic_base(base, factor, dim, longest, int(number["max-position"]))), 1.0
    original = number.get("original-max", 0.0)
    if kind == "llama3":
        low, high = number.get("low-freq-factor", 1.0), number.get("high-freq-factor", 4.0)
        return llama3(inv64(dim, base), factor, low, high, original), 1.0
    if kind == "yarn" and keys.get("ramp", "index") == "index":
        w = yarn(
            dim, base, factor, original, fast=number.get("beta-fast", 32), slow=number.get("beta-slow", 1),
            truncate=keys.get("truncate", "true") == "true", dtype=np.float64,
        )  # fmt: skip
        over = 0.1 * number.get("mscale-all-dim", 0) * math.log(factor) + 1
        coefficient = number.get("coefficient", 0.1) * number.get("mscale", 1)
        return w, number.get("attention-factor", (coefficient * math.log(factor) + 1) / over)
    return None


def plain_table(recipe: str, rows: int) -> list[np.ndarray] | None:
    """Arrays of a recipe, or None where this file has no formula for it."""
    name, keys = keys_of(recipe)
    keys = {**CONVENTIONS.get(keys.get("convention", ""), {}), **keys}
    rows = int(keys.get("len", rows))
    positions = float(keys.get("start", 0)) + float(keys.get("step", 1)) * np.arange(rows)
    if {"positions", "frequencies", "max-timescale", "matrix", "streams"} & keys.keys():
        return None
    if name == "alibi" and not {"slope-values", "alibi-heads", "slope-dtype"} & keys.keys():
        m = slopes(int(keys["heads"]), float(keys.get("bias-max", 8)))[:, None, None]
        if keys.get("slopes", "frameworks") != "frameworks" or keys.get("mask", "none") != "none":
            return None
        key, query = positions[None, None], positions[None, -int(keys.get("queries", rows)) :, None]
        kind = keys.get(
            "bias", {"bloom": "key-position", "mpt": "last-key"}.get(keys.get("convention", ""), "symmetric")
        )
        return [m * {"symmetric": -np.abs(key - query), "key-position": key, "last-key": key - positions[-1]}[kind]]
    if (
        name == "sinusoidal"
        and "odd" not in keys
        and int(keys["dim"]) % 2 == 0
        and keys.get("turns", "false") == "false"
    ):
        k = int(keys["dim"]) // 2
        shift = float(keys.get("shift", 1 if keys.get("spacing") == "endpoint" else 0))
        if keys.get("convention") in ("marian", "pegasus", "xlm", "ctrl", "trocr", "timesfm", "diffusers-1d"):
            return None
        w = float(keys.get("base", 10000)) ** (-np.arange(k) / (k - shift)) * float(keys.get("scale", 1))
        sin, cos = np.sin(positions[:, None] * w), np.cos(positions[:, None] * w)
        order = keys.get("order", "interleaved")
        pe = np.stack([sin, cos], -1).reshape(rows, -1) if order == "interleaved" else np.concatenate([sin, cos], 1)
        pe = np.concatenate([cos, sin], 1) if order == "cos-sin" else pe
        if "pad-row" in keys:
            pe[positions == float(keys["pad-row"])] = 0
        return [pe * float(keys.get("amplitude", 1))]
    if name == "rope":
        found = _frequencies(keys, rows)
        layout = keys.get("layout", "split")
        if found is None or layout not in ("split", "half", "interleaved", "concat", "sin-cos", "complex"):
            return None
        angle = widen(np.multiply.outer(positions, found[0]), layout)
        cos, sin = np.cos(angle) * found[1], np.sin(angle) * found[1]
        joined = {"concat": (cos, sin), "sin-cos": (sin, cos)}
        if layout in joined:
            return [np.concatenate(joined[layout], 1)]
        return [cos + 1j * sin] if layout == "complex" else [cos, sin]
    return None


def values_of(subject: Any) -> dict[str, np.ndarray]:
    """Arrays of a case's file as float64 or complex128."""
    if isinstance(subject, Path):
        from pecli import open_table

        table = open_table(subject)
        bits = {name: np.asarray(table[name]) for name in table}
        return {n: (a.astype(np.uint32) << 16).view(np.float32) if a.dtype == np.uint16 else a for n, a in bits.items()}
    return dict(subject) if isinstance(subject, dict) else {"pe": np.asarray(subject)}


def share_held(subject: Any, recipe: str) -> float | None:
    """Share of a file's values that a recipe's table gives within the file's dtype, or None where that is open."""
    arrays = values_of(subject)
    shapes = [tuple(n for n in a.shape if n != 1) for a in arrays.values()]
    if not shapes or len(shapes[0]) < 2:
        return None
    made = plain_table(recipe, shapes[0][0])
    if made is None or (len(made) != len(arrays) and set(arrays) - {"cos", "sin"}):
        return None
    if len(made) == 2:
        made = [made[("cos", "sin").index(name)] for name in arrays if name in ("cos", "sin")]
    good, total = 0, 0
    for array, table in zip(arrays.values(), made, strict=False):
        array = array.reshape([n for n in array.shape if n != 1])
        table = table.reshape([n for n in table.shape if n != 1])
        if array.shape != table.shape or not np.isfinite(array).all():
            return None
        keys = keys_of(recipe)[1]
        largest = abs(float(keys.get("start", 0))) + max(1.0, abs(float(keys.get("step", 1)))) * len(table)
        allowed = (_grain(array) + 2.0**-22 * (1 + largest)) * max(1.0, float(np.abs(table).max()))
        good += int(np.count_nonzero(np.abs(array - table) <= allowed))
        total += array.size
    return good / total if total else None


def _grain(array: np.ndarray) -> float:
    """Half a unit in the last place of 1 in the narrowest type that holds the values, doubled."""
    real = np.ascontiguousarray(array.real if np.iscomplexobj(array) else array, np.float32)
    if not np.any(real.view(np.uint32) & np.uint32(0xFFFF)):
        return 2.0**-8
    with np.errstate(over="ignore"):
        return 2.0**-10 if np.array_equal(real.astype(np.float16).astype(np.float32), real) else 2.0**-23
