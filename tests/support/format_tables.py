"""Small tables for the tests of files: given values, or a cheap formula for tables of any length."""

import threading

import numpy as np
import pytest

from pecli.numbers.dtypes import storage
from pecli.spec.tabular import Array, Tabular

RECIPE = "some:dim=4,len=9"
FACTS = {"formula": "θ = p ω", "pecli_version": "0.1.0", "source": "A paper, 2017"}


class Given(Tabular):
    """A table of arrays in memory."""

    def __init__(self, arrays, values, positions=None, recipe=RECIPE, metadata=None):
        self.arrays, self.values, self.positions = tuple(arrays), values, positions
        self.recipe, self.metadata = recipe, FACTS if metadata is None else metadata

    def fill(self, start, stop, out):
        for name, target in out.items():
            array = self.array(name)
            target[...] = self.values[name].reshape(array.rows, *array.row_shape)[start:stop]

    def position(self, start, stop):
        return None if self.positions is None else self.positions[start:stop]


class Formula(Tabular):
    """A table of any length whose values are a function of row and column; counts its threads and may fail."""

    def __init__(self, rows, width, names=("pe",), dtype="float32", fail_at=None, wait=None):
        self.arrays = tuple(Array(name, (rows, width), dtype, ("position", "channel")) for name in names)
        self.recipe, self.metadata = RECIPE, FACTS
        self.fail_at, self.wait, self.threads = fail_at, wait, set()

    def fill(self, start, stop, out):
        self.threads.add(threading.get_ident())
        if self.wait is not None:
            self.wait(start)
        if self.fail_at is not None and start <= self.fail_at < stop:
            raise ZeroDivisionError("the formula failed")
        rows = np.arange(start, stop, dtype=np.int64)[:, None]
        for index, (name, target) in enumerate(out.items()):
            columns = np.arange(self.array(name).row_shape[0], dtype=np.int64)
            target[...] = (rows * 31 + columns * 7 + index) % 1021 / 1024

    def position(self, start, stop):
        return np.arange(start, stop, dtype=np.int64)


def values_of(dtype, shape, seed=0):
    """Random values of a storage type; finite, of many sizes."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, size=shape)
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype("<u2")
    if dtype == "bool":
        return values > 0
    if dtype.startswith("complex"):
        return (values + 1j * rng.normal(size=shape)).astype(dtype)
    return values.astype(storage(dtype))


def absolute(dtype="float32", rows=70, width=6):
    return Given(
        [Array("pe", (rows, width), dtype, ("position", "channel"))],
        {"pe": values_of(dtype, (rows, width))},
        np.arange(rows) + 5,
    )


def rotary(dtype="float32", rows=70, width=6):
    arrays = [Array(name, (rows, width), dtype, ("position", "pair")) for name in ("cos", "sin")]
    values = {"cos": values_of(dtype, (rows, width), 1), "sin": values_of(dtype, (rows, width), 2)}
    return Given(arrays, values, np.arange(rows) * 0.5)


def pairs(rows=70, width=3):
    array = Array("cos_sin", (rows, width, 2), "float32", ("position", "pair", "part"))
    return Given([array], {"cos_sin": values_of("float32", array.shape)}, np.arange(rows))


def rotations(dtype="complex64", rows=70, width=3):
    array = Array("cis", (rows, width), dtype, ("position", "pair"))
    return Given([array], {"cis": values_of(dtype, array.shape)}, np.arange(rows))


def bias(dtype="float32", heads=3, queries=20, keys=25):
    array = Array("bias", (heads, queries, keys), dtype, ("head", "query", "key"), lead=2)
    values = values_of(dtype, array.shape)
    values[:, 3, 4] = -np.inf
    return Given([array], {"bias": values}, np.arange(queries) + 2)


def distances():
    array = Array("bias", (3, 39), "float32", ("head", "distance"), lead=2)
    return Given([array], {"bias": values_of("float32", array.shape)}, np.arange(20))


def slopes():
    array = Array("slopes", (8,), "float32", ("head",))
    return Given([array], {"slopes": values_of("float32", (8,))}, np.arange(20))


def unequal():
    arrays = [
        Array("vector", (9, 4), "float32", ("distance", "channel")),
        Array("index", (5, 5), "int64", ("query", "key")),
    ]
    index = np.arange(25).reshape(5, 5)
    return Given(arrays, {"vector": values_of("float32", (9, 4)), "index": index}, None)


TABLES = {
    "absolute": absolute,
    "float16": lambda: absolute("float16"),
    "float64": lambda: absolute("float64"),
    "bfloat16": lambda: absolute("bfloat16"),
    "int64": lambda: absolute("int64"),
    "rotary": rotary,
    "pairs": pairs,
    "complex64": rotations,
    "complex128": lambda: rotations("complex128"),
    "bias": bias,
    "distances": distances,
    "slopes": slopes,
    "unequal": unequal,
}


class Constant(Formula):
    """A table of any length whose rows are all one row: nothing but the copy takes time or memory."""

    def fill(self, start, stop, out):
        for name, target in out.items():
            target[...] = np.arange(self.array(name).row_shape[0], dtype=np.float32)


ONE_SHAPE = ("npy", "parquet", "csv", "arrow")
"""Formats whose arrays must have one shape; a new format is expected to hold any."""
WITHOUT_POSITIONS = ("npy", "npz", "safetensors")
"""Formats without the positions of the rows; a new format is expected to hold them."""
WITHOUT_FACTS = ("npy", "csv")
"""Formats without recipe and metadata; a new format is expected to hold them."""

OFTEN = ("npy", "hdf5", "parquet", "csv")
"""Formats that write in different manners; with the others, tests in a process of its own are exhaustive."""


def sampled(*cases, often=OFTEN):
    """The cases of the formats that are named, and those of the others with the marker exhaustive."""
    split = [getattr(case, "values", (case,)) for case in cases]
    chosen = [name in often and not any(more) for name, *more in split]
    return [pytest.param(*v, marks=() if c else pytest.mark.exhaustive) for v, c in zip(split, chosen, strict=True)]
