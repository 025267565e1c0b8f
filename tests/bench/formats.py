"""Writing files, against writing bytes that are ready and against pyarrow writing a table that is ready."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from pecli.formats import write_table
from pecli.formats.columns import TableColumns, array_type, arrow_array, schema
from pecli.formats.parquet import writer_options
from pecli.tables.table import Table
from tests.bench.rows import Row

SIZE = 1 << 30
REPEATS = 7
BUFFER = np.random.default_rng(0).integers(0, 256, 4 << 20, dtype=np.uint8)


def places() -> Iterator[tuple[str, str | None]]:
    """Yield a folder in memory, where there is one, and one on the disk."""
    if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK):
        yield "tmpfs", "/dev/shm"
    yield "disk", None


def ready_bytes(path: Path, size: int) -> None:
    """Write bytes that are ready, as plainly and as safely as one can."""
    with path.open("wb", buffering=0) as file:
        for start in range(0, size, BUFFER.nbytes):
            file.write(BUFFER[: size - start])
        os.fsync(file.fileno())


def best(things: Mapping[str, Callable[[Path], object]], folder: Path, repeats: int) -> dict[str, float]:
    """Return the best time of each thing, taken in turn; the file of the one before is gone."""
    found = dict.fromkeys(things, float("inf"))
    for _ in range(repeats):
        for name, run in things.items():
            path = folder / f"table.{name}"
            started = time.perf_counter()
            run(path)
            found[name] = min(found[name], time.perf_counter() - started)
            path.unlink()
    return found


def plain(folder: Path, size: int = SIZE, repeats: int = REPEATS) -> dict[str, float]:
    """Return the times of npy, HDF5 and safetensors of `size` bytes against ready bytes."""
    table = Table.parse("sinusoidal:dim=512", length=size // 2048)
    things: dict[str, Callable[[Path], object]] = {
        "ready": lambda path: ready_bytes(path, size),
        "npy": lambda path: write_table(table, path),
        "h5": lambda path: write_table(table, path),
        "safetensors": lambda path: write_table(table, path),
    }
    found = best(things, folder, repeats)
    return {name: found[name] / found["ready"] for name in ("npy", "h5", "safetensors")}


def dense_bias(folder: Path, size: int = SIZE, repeats: int = REPEATS) -> float:
    """Return the time of a bias (16, n, n) of about `size` bytes as npy against ready bytes."""
    table = Table.parse("alibi:heads=16", length=int((size / 64) ** 0.5))
    things: dict[str, Callable[[Path], object]] = {
        "ready": lambda path: ready_bytes(path, table.arrays[0].bytes),
        "npy": lambda path: write_table(table, path),
    }
    found = best(things, folder, repeats)
    return found["npy"] / found["ready"]


def parquet(folder: Path, size: int = SIZE, repeats: int = REPEATS) -> float:
    """Return the time of a Parquet file against pyarrow's own writer with a ready table and the same options."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = Table.parse("sinusoidal:dim=512", length=size // 2048)
    columns = TableColumns(table, "parquet")
    plan = schema(columns, wide=False)
    options = writer_options(plan, ["position"])
    position = arrow_array(np.arange(columns.rows), pa.int64())
    values = table.read("pe")
    ready = pa.Table.from_arrays([position, arrow_array(values, array_type(table.arrays[0]))], schema=plan)

    def peer(path: Path) -> None:
        with pq.ParquetWriter(path, plan, **options) as writer:
            writer.write_table(ready, row_group_size=columns.group_rows())
        with path.open("rb+") as file:
            os.fsync(file.fileno())

    found = best({"peer": peer, "parquet": lambda path: write_table(table, path)}, folder, repeats)
    return found["parquet"] / found["peer"]


def rows(folder: str | None = None, size: int = SIZE, repeats: int = REPEATS) -> list[Row]:
    """Measure in memory and on the disk, or in one folder."""
    found = []
    for name, place in [("folder", folder)] if folder else list(places()):
        with tempfile.TemporaryDirectory(dir=place) as temporary:
            where = Path(temporary)
            gib = f"{size / (1 << 30):.3g} GiB, {name}"
            for suffix, ratio in plain(where, size, repeats).items():
                found.append(Row(f".{suffix} of {gib}, against writing ready bytes", ratio, "x", 1.2, 1.05))
            ratio = parquet(where, size, repeats)
            found.append(Row(f"Parquet of {gib}, against pyarrow with a ready table", ratio, "x", 1.2, 1))
            ratio = dense_bias(where, size, repeats)
            found.append(Row(f"dense bias of {gib}, against writing ready bytes", ratio, "x", 1.2, 1.05))
    return found
