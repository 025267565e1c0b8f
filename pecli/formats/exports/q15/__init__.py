"""A C header of 16-bit fixed-point numbers, for processors without floats: each array is integers and one scale.

A number is its integer times a power of two, the smallest with which all of an array fit; sines and cosines get 2^-15.
The largest itself, a cosine of 1 say, has no integer of its own and takes the one below, 32767.
"""

from pecli.formats.common.format import REALS, Format

FORMAT = Format(name="q15", title="a C header", suffixes=(), reader=None, place=21, dtypes=("bfloat16", *REALS))
