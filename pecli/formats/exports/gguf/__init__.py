"""GGUF: a tensor for each array, and the keys of a rotary table as runtimes of that container name them."""

from pecli.formats.common.format import REALS, Format

FORMAT = Format(
    name="gguf", title="GGUF", suffixes=(".gguf",), reader=None, place=22,
    dtypes=("bfloat16", *REALS, "int8", "int16", "int32", "int64"), package="gguf", extra=True,
)  # fmt: skip
