"""Tables as lazy arrays of Dask, which computes and stores them on a cluster; workers receive only the recipe.

>>> from pecli.dask import array  # doctest: +SKIP
>>> array("alibi:heads=32,len=131072").to_zarr("bias.zarr")  # doctest: +SKIP
"""

from __future__ import annotations

import itertools
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli import api
from pecli.errors import BadParameter
from pecli.formats.layout import block_shape
from pecli.numbers.dtypes import storage
from pecli.spec.catalogue import declared_in, load_file
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Array
from pecli.tables.table import Table

if TYPE_CHECKING:
    import dask.array

__all__ = ["array"]

CHUNK_BYTES = 64 << 20  # of a lazy array's chunk, where nobody says another


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
    recipe = made.recipe if isinstance(made, Table) else None
    if recipe is None or "positions=@" in recipe:
        rule = "has no recipe from which workers could compute it: write a recipe's table, by one process"
        raise BadParameter("source", made.title, rule)
    if name is None and len(made.arrays) != 1:
        raise BadParameter("name", None, f"is needed: one of {', '.join(made)}")
    found = made.array(name or made.arrays[0].name)
    if found.dtype == "bfloat16":
        raise BadParameter("dtype", found.dtype, "is no type of Dask's: give float32")
    dtype = storage(found.dtype)
    sizes = da.core.normalize_chunks(_chunks(found) if chunks is None else chunks, found.shape, dtype=dtype)
    plugin = declared_in(split_recipe(recipe)[0])  # workers load it from the same path
    block = partial(_block, recipe, plugin, found.name)
    return da.map_blocks(
        block, chunks=sizes, dtype=dtype, meta=np.empty((0,) * len(found.shape), dtype),
        name=f"pecli-{tokenize(recipe, found.name, sizes)}",
    )  # fmt: skip


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
