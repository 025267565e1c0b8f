"""zarr: a folder, or a place in an object store, of many objects, which several processes write at once.

Arrays are cut into shards of about 4 MiB, and those into chunks of at most 1 MiB; every axis is named and numbered, so
that xarray opens it.  The recipe is an attribute of the root, which is written last: a part of a store has no root.
"""

from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Format

FORMAT = Format(
    name="zarr", title="zarr", suffixes=(".zarr",), reader=".read:ZarrTable", place=9,
    dtypes=(*REALS, *COMPLEX, *INTEGERS), package="zarr", extra=True, compresses=True, many=True,
)  # fmt: skip
