"""A C header: each array as ``static const``, in decimals that a compiler rounds back to the same values.

float16 and bfloat16, which C lacks, stand as the floats that they are exactly.
"""

from pecli.formats.common.format import INTEGERS, REALS, Format

FORMAT = Format(
    name="c", title="a C header", suffixes=(".h",), reader=None, place=20, dtypes=("bfloat16", *REALS, *INTEGERS)
)
