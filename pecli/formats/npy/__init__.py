"""npy: NumPy's own file, a short header and the values; several arrays of one shape are stacked.

It holds no recipe.
"""

from pecli.formats.common.format import Format

FORMAT = Format(
    name="npy", title="NumPy array", suffixes=(".npy",), reader=".read:NpyTable", place=1, magic=(b"\x93NUMPY",)
)
