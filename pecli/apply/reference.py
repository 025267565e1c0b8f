"""Reference tensors for a kernel's test: random queries and keys, and one file with inputs, positions and results."""

from __future__ import annotations

import numpy as np

from pecli.apply.tensors import ApplyResult, RandomTensor, Tensor, tensor_of
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.parts import ConcatTable


def random_inputs(sides: str, kv_heads: int | None, dtype: str, seed: int) -> list[Tensor]:
    """Return random queries and keys of ``batch x heads x length x width``, keys with `kv_heads` heads.

    Raises
    ------
    BadParameter
        For another number of sides, and for heads that the heads of the keys do not divide.
    """
    shape = [parse_integer("random", side) for side in sides.lower().split("x")]
    if len(shape) != 4 or min(shape) < 1:
        raise BadParameter("random", sides, "must be four sides: batch x heads x length x width")
    batch, heads, length, width = shape
    keys = kv_heads or heads
    if heads % keys:
        raise BadParameter("kv-heads", keys, f"must divide the {heads} heads of the queries")
    shapes = {"q": (batch, heads, length, width), "k": (batch, keys, length, width)}
    tables = [RandomTensor(name, shape, dtype, seed, stream) for stream, (name, shape) in enumerate(shapes.items())]
    return [tensor_of(table, table.arrays[0].name, "bhsd") for table in tables]


def with_inputs(inputs: list[Tensor], made: ApplyResult) -> Tabular:
    """Return inputs, positions, cosines and sines, and results as one table."""
    parts = [(tensor.name, tensor.view.table, tensor.view.array.name) for tensor in inputs]
    if made.companion is not None:
        where = made.companion
        if "positions" not in where:
            found = where.position(0, where.arrays[0].rows)
            where = InMemory({"positions": np.arange(where.arrays[0].rows) if found is None else found})
        parts += [("positions", where, "positions"), *((name, made.companion, name) for name in ("cos", "sin"))]
    outputs = made.outputs
    ending = "" if "scores" in outputs else "_rotated"
    parts += [(f"{array.name}{ending}", outputs, array.name) for array in outputs.arrays]
    facts = dict(outputs.metadata)
    if "rotated" in facts:
        facts["rotated"] = " ".join(f"{name}_rotated" for name in facts["rotated"].split())
    return ConcatTable(parts, facts)
