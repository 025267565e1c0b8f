"""Parquet: one row per position (of a bias: head and query), values as lists of fixed size.

Split into byte streams, but for float16, and compressed in any case; the recipe stands as JSON under the
key ``pecli`` of the file's metadata.
"""

from pecli.formats.common.format import Format

FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    reader=".read:ParquetTable",
    place=4,
    magic=(b"PAR1",),
    package="pyarrow",
    room=192 << 20,
    compresses=True,
    widens=True,
)
