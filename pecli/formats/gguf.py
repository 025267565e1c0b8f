"""GGUF: a tensor for each array, and the keys of a rotary table as runtimes of that container name them.

The package makes the header, the values follow in blocks.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from pecli.formats.format import Draft, WriteOptions
from pecli.formats.layout import FileLayout
from pecli.formats.stored import KEY, facts_json
from pecli.numbers.dtypes import storage
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Tabular

ARCHITECTURE = "pecli"  # a table is no model: its keys stand where a model of this name would have them
IN_KEYS = ("linear", "yarn")  # scalings that runtimes compute from keys; others take the factors of a tensor
KEYS = {"factor": "FACTOR", "original_max": "ORIG_CTX_LEN", "attention_factor": "ATTN_FACTOR"}
YARN = {"beta_fast": "YARN_BETA_FAST", "beta_slow": "YARN_BETA_SLOW"}
FACTORS = "rope_freqs.weight"


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan the header, and each tensor at a multiple of the alignment behind it."""
    import gguf

    writer = gguf.GGUFWriter(None, ARCHITECTURE)
    writer.add_string(KEY, facts_json(table))
    for key, value in _rotary(table, gguf.Keys.Rope):
        add = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}[type(value)]
        add(key.format(arch=ARCHITECTURE), value)
    factors = _factors(table)
    small = {} if factors is None else {FACTORS: factors}
    align, at, places = writer.data_alignment, 0, {}
    sizes = [(name, values.shape, "float32", values.nbytes) for name, values in small.items()]
    for name, shape, dtype, size in [*sizes, *((a.name, a.shape, a.dtype, a.bytes) for a in table.arrays)]:
        raw = gguf.GGMLQuantizationType.BF16 if dtype == "bfloat16" else None
        writer.add_tensor_info(name, shape or (1,), storage(dtype), size, raw)
        places[name] = at
        at += size + -size % align
    head = _header(writer)
    head += bytes(-len(head) % align)
    literals = [(0, head), *((len(head) + places[name], values.tobytes()) for name, values in small.items())]
    offsets = {array.name: len(head) + places[array.name] for array in table.arrays}
    return FileLayout(len(head) + at, tuple(literals), offsets).draft(table, options)


def _header(writer: Any) -> bytes:
    """Return the bytes of a GGUF file before the tensors, as the package gguf writes them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "header")
        writer.write_header_to_file(path)
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        writer.close()
        with open(path, "rb") as file:
            return file.read()


def _rotary(table: Tabular, keys: Any) -> Iterator[tuple[str, str | int | float]]:
    """Yield the keys of a rotary table."""
    recipe = _recipe(table)
    if recipe is None or recipe.encoding.family is not Family.ROTARY or "base" not in recipe.values:
        return
    values = recipe.values
    if not isinstance(recipe.plan, Waves) or isinstance(values["base"], tuple):  # a base for each axis has no key
        return
    yield keys.DIMENSION_COUNT, 2 * recipe.plan.width
    yield keys.FREQ_BASE, float(values["base"])
    scaling = values.get("scaling")
    if scaling not in IN_KEYS:
        return
    yield keys.SCALING_TYPE, str(scaling)
    for name, key in {**KEYS, **(YARN if scaling == "yarn" else {})}.items():
        value = values.get(name)
        if value is not None:
            yield getattr(keys, f"SCALING_{key}"), int(value) if name == "original_max" else float(value)


def _recipe(table: Tabular) -> Recipe | None:
    """Return the recipe of a computed table."""
    source = getattr(table, "source", None)
    return source if isinstance(source, Recipe) else None


def _factors(table: Tabular) -> np.ndarray[Any, Any] | None:
    """Return the divisor that runtimes apply to each frequency; None without scaling, or if a key gives the scaling."""
    recipe = _recipe(table)
    if recipe is None or recipe.values.get("scaling", "none") in ("none", *IN_KEYS):
        return None
    values = recipe.values
    plain = {key: values[key] for key in ("dim", "rotary_dim", "partial", "base")}
    given = {key.replace("_", "-"): str(value) for key, value in plain.items() if value is not None}
    plans = Recipe.bind(recipe.encoding.name, **given).plan, recipe.plan
    bands = [plan.bands[0] for plan in plans if isinstance(plan, Waves) and len(plan.bands) == 1]
    if len(bands) != 2 or any(band.turns for band in bands):
        return None
    pairs = zip(*(band.frequencies for band in bands), strict=True)
    return np.array([float(Decimal(one) / Decimal(other)) if other else np.inf for one, other in pairs], np.float32)
