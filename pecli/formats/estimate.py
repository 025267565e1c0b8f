"""Estimate of the memory and the time that writing a table takes, measured on the machine that is asked."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass
from itertools import cycle

from pecli.formats.format import Format
from pecli.formats.io.blocks import AHEAD_BYTES, BLOCK_BYTES, BUFFER_BYTES, Buffer, Task, fill
from pecli.spec.tabular import Tabular

MEASURED_SECONDS = 0.3  # that measuring takes
MEASURED_PLACES = 8  # of the table at which it is measured


@dataclass(frozen=True)
class WriteEstimate:
    """Objects, memory and time that writing a table will take.

    Parameters
    ----------
    parts : int
        Objects of values: one, but of a store of many.
    memory : int
        Bytes that a process takes at the most, by what this one takes.
    rate : float
        Bytes of values in a second that one thread computes here; the speed of the disk or the store is not in it.
    seconds : float
        That so many workers compute.
    workers : int
    """

    parts: int
    memory: int
    rate: float
    seconds: float
    workers: int


def estimate_write(table: Tabular, form: Format, workers: int) -> WriteEstimate:
    """Compute a few blocks of a table, and say what all of it takes."""
    size, rate = sum(array.bytes for array in table.arrays), _rate(table)
    parts = 1
    if form.many:
        from pecli.formats.zarr import shard_rows

        parts = sum(1 for array in table.arrays for _ in shard_rows(array))
    return WriteEstimate(parts, _resident() + BUFFER_BYTES + AHEAD_BYTES, rate, size / rate / workers, workers)


def _rate(table: Tabular) -> float:
    """Return the bytes of values that one thread computes in a second, at places all over the table."""
    blocks = []
    for group in table.groups():
        rows = max(1, BLOCK_BYTES // max(1, sum(array.row_bytes for array in group)))
        last = max(0, group[0].rows - rows)
        for place in range(MEASURED_PLACES):
            start = last * place // max(1, MEASURED_PLACES - 1)
            blocks.append(Task(tuple(group), start, min(group[0].rows, start + rows)))
    buffer, done, spent = Buffer(), 0, 0.0
    fill(table, blocks[0], buffer)  # what the first rows alone take
    for task in cycle(blocks):
        begun = time.perf_counter()
        fill(table, task, buffer)
        spent += time.perf_counter() - begun
        done += sum((task.stop - task.start) * array.row_bytes for array in task.arrays)
        if spent > MEASURED_SECONDS:
            break
    return max(1.0, done / spent)


def _resident() -> int:
    """Return the most memory that this process has taken, in bytes; `getrusage` alone counts in who started it."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next((int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:")), 100 << 20)
    try:
        import resource
    except ImportError:
        return 100 << 20
    taken: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return taken if sys.platform == "darwin" else taken << 10
