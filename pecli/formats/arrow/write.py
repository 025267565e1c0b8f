"""Writing Arrow's inter-process format: a file to the disk, a stream to a pipe."""

from __future__ import annotations

from pecli.declare.tabular import Tabular
from pecli.formats.common.columns import TableColumns, batches, schema
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import HeldOutput, Output


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write record batch after record batch."""
    columns = TableColumns(table, "arrow")
    size = sum(array.bytes for array in columns.arrays)
    return Draft(lambda output: _write(columns, output, options), None, size // 2000 if options.compress else size)


def _write(columns: TableColumns, output: Output, options: WriteOptions) -> None:
    import pyarrow as pa

    plan, held = schema(columns), HeldOutput(output)
    how = pa.ipc.IpcWriteOptions(compression="zstd" if options.compress else None)
    new = pa.ipc.new_file if output.kept else pa.ipc.new_stream
    with new(held, plan, options=how) as writer, batches(columns, False, options) as found:
        for batch in found:
            writer.write_batch(batch)
            held.release()
    held.release()
