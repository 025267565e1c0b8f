"""ONNX: a model of one RotaryEmbedding, whose initialisers are the cosines and sines.

The package makes the model without its caches, whose values follow in blocks: a serialised message may be continued by
further fields of the same message, and each cache is one more field of the graph.
"""

from __future__ import annotations

from typing import Any

from pecli.errors import BadParameter
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.layout import FileLayout
from pecli.formats.stored import KEY, facts_json
from pecli.spec.tabular import Array, Tabular

MAX_BYTES = (1 << 31) - 1  # bytes that its readers take
OPSET, IR = 23, 10  # the first that has RotaryEmbedding, and the version of the container that goes with it
GRAPH, INITIALIZER, RAW = 7, 5, 9  # numbers of the fields, in the published definition of the container
BYTES = 2  # how a field of bytes is marked


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan a model that rotates X (batch, heads, sequence, head size) by position_ids (batch, sequence).

    Columns i and i + dim/2 rotate together: a table does not state that, and the node's attribute ``interleaved`` does.
    """
    caches = {array.name: array for array in table.arrays}
    if set(caches) != {"cos", "sin"} or any(len(a.shape) != 2 for a in caches.values()):
        shapes = ", ".join(f"{a.name} {' x '.join(map(str, a.shape))}" for a in table.arrays)
        rule = f"holds cos and sin of width dim/2, the layout split of a rotary table, and this is {shapes}"
        raise BadParameter("format", "onnx", rule)
    head = _model(table)
    pieces, at, offsets = [(0, head)], len(head), {}
    for array in table.arrays:
        tensor = _described(array)
        inner = _field(RAW, array.bytes)
        outer = _field(INITIALIZER, len(tensor) + len(inner) + array.bytes)
        mark = _field(GRAPH, len(outer) + len(tensor) + len(inner) + array.bytes) + outer + tensor + inner
        pieces.append((at, mark))
        offsets[array.name] = at + len(mark)
        at = offsets[array.name] + array.bytes
    if at > MAX_BYTES:
        raise BadParameter("format", "onnx", f"holds at most {MAX_BYTES:,} bytes, this takes {at:,}: give fewer rows")
    return FileLayout(at, tuple(pieces), offsets).draft(table, options)


def _model(table: Tabular) -> bytes:
    from onnx import TensorProto, helper

    cos = table.array("cos")
    kind = getattr(TensorProto, {"float32": "FLOAT"}.get(cos.dtype, cos.dtype.upper()))
    width = 2 * cos.shape[1]
    names = ["X", "cos", "sin", "position_ids"]
    node = helper.make_node("RotaryEmbedding", names, ["Y"], rotary_embedding_dim=width, interleaved=0)
    shape = ["batch", "heads", "sequence", "head_size"]
    graph = helper.make_graph(
        [node],
        "rotary",
        [
            helper.make_tensor_value_info("X", kind, shape),
            helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "sequence"]),
        ],
        [helper.make_tensor_value_info("Y", kind, shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    model.producer_name = "pecli"
    helper.set_model_props(model, {KEY: facts_json(table)})
    return bytes(model.SerializeToString(deterministic=True))


def _described(array: Array) -> bytes:
    """Return a tensor without its values."""
    from onnx import TensorProto

    kind = getattr(TensorProto, {"float32": "FLOAT"}.get(array.dtype, array.dtype.upper()))
    tensor = TensorProto(name=array.name, dims=array.shape, data_type=kind)
    return bytes(tensor.SerializeToString(deterministic=True))


def _field(number: int, size: int) -> bytes:
    """Return the tag and length of a field of `size` bytes."""
    return _varint(number << 3 | BYTES) + _varint(size)


def _varint(number: int) -> bytes:
    found: list[Any] = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
