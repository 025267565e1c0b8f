"""Tables as lazy arrays of Dask, and stores that a cluster writes: the scheduler, retries and dashboard are Dask's.

>>> from pecli.dask import array  # doctest: +SKIP
>>> array("alibi:heads=32,len=131072").to_zarr("bias.zarr")  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli import api
from pecli.errors import BadParameter, PecliError, WriteFailed
from pecli.formats.format import Shard, Spread, WriteOptions
from pecli.formats.hdf5 import block_shape
from pecli.numbers.dtypes import storage
from pecli.numbers.reader import is_url
from pecli.spec.catalogue import declared_in, load_file
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Array, Tabular
from pecli.tables.table import Table

if TYPE_CHECKING:
    import dask.array
    import distributed

__all__ = ["array", "cluster", "spread"]

CHUNK_BYTES = 64 << 20  # of a lazy array's chunk, where nobody says another
AHEAD = 2  # shards that a worker's thread is given at a time
PATIENCE = 15  # seconds that a scheduler has to answer, and a first worker to come
RETRIES = 3
PAUSE = 0.02  # seconds between looks at what workers have finished; each has a shard ahead
# Ctrl-C reaches every process of a terminal, and is for the one that tells the others when to stop.
UNHEARD = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def array(subject: Any, name: str | None = None, *, chunks: Any = None) -> dask.array.Array:
    """Return an array of a table, whose chunks are computed where they are needed.

    Parameters
    ----------
    subject : recipe, table or config
        Such as "alibi:heads=32,len=131072"; a config.json has the length that the model declares.
    name : str, optional
        Which array, where there are several.
    chunks : optional
        As Dask takes them; by default whole rows, 64 MiB of them.

    Raises
    ------
    BadParameter
        If no name is given where there are several arrays, or the values are bfloat16, which Dask has not.

    Examples
    --------
    >>> array("rope:dim=64,len=1024", "cos", chunks=(256, 32)).numblocks  # doctest: +SKIP
    (4, 1)
    """
    import dask.array as da
    from dask.base import tokenize

    made = api.source_of(subject).open()
    recipe = _recipe(made)
    if name is None and len(made.arrays) != 1:
        raise BadParameter("name", None, f"is needed: one of {', '.join(made)}")
    found = made.array(name or made.arrays[0].name)
    if found.dtype == "bfloat16":
        raise BadParameter("dtype", found.dtype, "is no type of Dask's: give float32")
    dtype = storage(found.dtype)
    sizes = da.core.normalize_chunks(_chunks(found) if chunks is None else chunks, found.shape, dtype=dtype)
    block = partial(_block, recipe, _plugin(recipe), found.name)
    return da.map_blocks(
        block, chunks=sizes, dtype=dtype, meta=np.empty((0,) * len(found.shape), dtype),
        name=f"pecli-{tokenize(recipe, found.name, sizes)}",
    )  # fmt: skip


def spread(table: Tabular, client: distributed.Client) -> Spread:
    """Return a `Spread` for :func:`pecli.write_table` that lets the workers of a cluster write a store's shards.

    A shard whose worker dies is written again by another: it is the same bytes.

    Raises
    ------
    BadParameter
        If the table is not what its recipe says, so that no worker could compute it.
    """
    recipe = _recipe(table)

    def write(path: str, shards: Sequence[Shard], options: WriteOptions) -> None:
        from concurrent.futures import CancelledError

        from distributed import as_completed
        from distributed.comm import CommClosedError

        left = iter(shards)
        width = AHEAD * max(1, sum(client.nthreads().values()))
        place = path if is_url(path) else os.path.abspath(path)  # workers stand in folders of their own
        run = os.urandom(8).hex()
        submit = partial(client.submit, _write, recipe, _plugin(recipe), place, run, pure=False, retries=RETRIES)
        futures = [submit(shard) for shard in itertools.islice(left, width)]
        waiting, last = as_completed(futures), time.monotonic()
        try:
            while not waiting.is_empty():
                for future in waiting.next_batch(block=False):
                    options.progress(future.result())
                    last = time.monotonic()
                    for shard in itertools.islice(left, 1):
                        waiting.add(submit(shard))
                future = None  # and the scheduler forgets it
                time.sleep(PAUSE)
                if time.monotonic() - last > PATIENCE and not client.nthreads():
                    raise WriteFailed(path, "the scheduler has no worker any more: start some (dask worker)")
        except PecliError:
            raise
        except (CancelledError, CommClosedError) as error:
            raise WriteFailed(path, "the connection to the scheduler was lost: start it, and run this again") from error
        except Exception as error:
            raise WriteFailed(path, f"a worker could not write its part ({error}): see its log") from error
        finally:
            _wait_for_writers(client, waiting)

    return write


@contextlib.contextmanager
def cluster(workers: str) -> Iterator[distributed.Client]:
    """Give a client with this many processes here, or of the scheduler at this address.

    Raises
    ------
    BadParameter
        If no scheduler answers, or it has no worker.
    """
    import distributed

    for name in ("distributed", "distributed.client"):  # that a worker died is mended, and an error is reported once
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if workers.isdecimal():
            local = distributed.LocalCluster(
                n_workers=int(workers),
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                memory_limit=0,
                preload=UNHEARD,
                silence_logs=logging.CRITICAL,  # an error comes back, and is reported once
            )
            client = stack.enter_context(distributed.Client(stack.enter_context(local)))
        else:
            try:
                client = stack.enter_context(distributed.Client(workers, timeout=PATIENCE))
            except (OSError, ValueError, TimeoutError) as error:
                rule = "does not answer: check the address, or start one (dask scheduler, dask worker)"
                raise BadParameter("workers", workers, rule) from error
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError as error:
                raise BadParameter("workers", workers, "has no worker: start some (dask worker)") from error
        yield client


def _wait_for_writers(client: distributed.Client, waiting: Any) -> None:
    """Wait until no worker writes, so that the parts of a failed run can be deleted."""
    from distributed import wait

    left = [future for future in waiting.futures if not future.done()]
    if left:
        with contextlib.suppress(Exception):
            wait(left, timeout=PATIENCE)
        client.cancel(left)


def _recipe(table: Tabular) -> str:
    if not isinstance(table, Table) or table.recipe is None or "positions=@" in table.recipe:
        rule = "has no recipe from which workers could compute it: write a recipe's table, by one process"
        raise BadParameter("source", table.title, rule)
    return table.recipe


def _plugin(recipe: str) -> str | None:
    """Return the plugin file that declares the encoding; workers load it from the same path."""
    return declared_in(split_recipe(recipe)[0])


def _chunks(found: Array) -> tuple[int, ...]:
    """Return chunks of whole rows."""
    rows = max(1, CHUNK_BYTES // max(1, found.row_bytes))
    return (*block_shape(found.shape[: found.lead], rows), *found.row_shape)


@lru_cache(maxsize=4)
def _table(recipe: str, plugin: str | None) -> Table:
    if plugin is not None:
        load_file(plugin)
    return Table.parse(recipe)


def _block(recipe: str, plugin: str | None, name: str, *, block_info: Any) -> NDArray[Any]:
    """Compute one chunk."""
    table = _table(recipe, plugin)
    found = table.array(name)
    place = [slice(first, last) for first, last in block_info[None]["array-location"]]
    *outer, rows = place[: found.lead] or [slice(0, 1)]
    out = np.empty([part.stop - part.start for part in place], storage(found.dtype))
    inner = found.shape[found.lead - 1] if found.lead else 1
    targets = out.reshape(-1, rows.stop - rows.start, *out.shape[found.lead :])
    for target, corner in zip(targets, itertools.product(*(range(p.start, p.stop) for p in outer)), strict=True):
        first = int(np.ravel_multi_index(corner, found.shape[: len(corner)])) if corner else 0
        whole = out.shape[found.lead :] == found.row_shape
        values = target if whole else np.empty((len(target), *found.row_shape), out.dtype)
        table.fill(first * inner + rows.start, first * inner + rows.stop, {name: values})
        if not whole:
            target[...] = values[(slice(None), *place[found.lead :])]
    return out


@lru_cache(maxsize=4)
def _target(path: str, name: str, run: str) -> Any:
    """Return an array of a store, opened once per run; a later run may replace the store."""
    from pecli.formats.zarr import Target

    return Target(path, name)


def _write(recipe: str, plugin: str | None, path: str, run: str, shard: Shard) -> int:
    """Compute a shard and write it; the work of a worker."""
    from pecli.formats.io.blocks import Buffer
    from pecli.formats.zarr import write_shard

    return write_shard(_table(recipe, plugin), shard, _target(path, shard.array, run), Buffer())
