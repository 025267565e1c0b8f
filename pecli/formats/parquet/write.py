"""Writing Parquet: one row per position, values as lists of fixed size, compressed; wide floats as byte streams."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter
from pecli.formats.common.columns import TableColumns, batches, row_axes, schema
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import HeldOutput, Output

if TYPE_CHECKING:
    import pyarrow as pa

RELEASE = 4  # row groups between two times that the allocator gives back what it keeps, some 20 MB
MOST_CHUNKS = 1 << 16  # pyarrow was seen to take 1.6 kB for each


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write row group after row group."""
    columns = TableColumns(table, "parquet")
    if options.wide:
        _check_chunks(columns)
    least = sum(array.bytes for array in columns.arrays) // 2000  # biases of few values were seen at 1 : 500
    return Draft(lambda output: _write(columns, output, options), None, least)


def _check_chunks(columns: TableColumns) -> None:
    """Refuse what would have so many chunks that the list of them, kept until the end, outgrows the memory."""
    width = sum(math.prod(row_axes(array)) for array in columns.arrays)
    chunks = width * -(-columns.rows // columns.group_rows())
    if chunks > MOST_CHUNKS:
        rule = f"would make {chunks:,} column chunks, and {MOST_CHUNKS:,} are the most: leave it out"
        raise BadParameter("wide", "true", rule)


def writer_options(plan: pa.Schema, keys: list[str]) -> dict[str, Any]:
    """Return the options of pyarrow's writer for columns of this schema.

    Statistics on the keys alone let a reader find one row among millions; on
    the values they cost and help nobody.  Dictionaries never pay for values
    that hardly repeat.
    """
    encodings = {}
    for field in plan:
        path, kind = field.name, field.type
        while hasattr(kind, "value_type"):
            path, kind = f"{path}.list.element", kind.value_type
        if field.name in keys and str(kind) == "int64":
            encodings[path] = "DELTA_BINARY_PACKED"
        elif str(kind) not in ("bool", "halffloat"):  # DuckDB reads no float16 that is split
            encodings[path] = "BYTE_STREAM_SPLIT"
    return {
        "version": "2.6",
        "compression": "zstd",
        "use_dictionary": False,
        "column_encoding": encodings,
        "write_statistics": keys,
        "write_page_index": True,
        "write_page_checksum": True,
        "store_schema": True,
    }


def _write(columns: TableColumns, output: Output, options: WriteOptions) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    plan, held = schema(columns, options.wide), HeldOutput(output)
    pool = pa.default_memory_pool()
    writer = pq.ParquetWriter(held, plan, **writer_options(plan, [name for name, _ in columns.keys]))
    with contextlib.closing(writer), batches(columns, options.wide, options) as found:
        for number, batch in enumerate(found):
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=batch.num_rows)
            held.release()
            if number % RELEASE == 0:
                pool.release_unused()
    held.release()
