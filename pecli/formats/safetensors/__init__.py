"""safetensors: a JSON header, and a tensor for each array; the other file that holds bfloat16.

The recipe stands as JSON under the key ``pecli`` of ``__metadata__``.
"""

from pecli.formats.common.format import INTEGERS, REALS, Format

FORMAT = Format(
    name="safetensors",
    title="safetensors",
    suffixes=(".safetensors",),
    reader=".read:SafetensorsTable",
    place=8,
    dtypes=("bfloat16", *REALS, "complex64", *INTEGERS),
)
