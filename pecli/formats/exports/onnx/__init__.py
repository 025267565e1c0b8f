"""ONNX: a model of one RotaryEmbedding, whose initialisers are the cosines and sines."""

from pecli.formats.common.format import Format

FORMAT = Format(
    name="onnx", title="an ONNX model", suffixes=(".onnx",), reader=None, place=23,
    dtypes=("bfloat16", "float16", "float32"), package="onnx", extra=True,
)  # fmt: skip
