"""Arrow: the columns of Parquet as they lie in memory; a file on the disk, a stream in a pipe.

The recipe stands as JSON under the key ``pecli`` of the schema's metadata.
"""

from pecli.formats.common.format import Format

FORMAT = Format(
    name="arrow",
    title="Arrow IPC",
    suffixes=(".arrow", ".feather", ".arrows"),
    reader=".read:ArrowTable",
    place=7,
    magic=(b"ARROW1\0\0", b"\xff\xff\xff\xff"),
    package="pyarrow",
    room=192 << 20,
    compresses=True,
    rereads=True,
)
