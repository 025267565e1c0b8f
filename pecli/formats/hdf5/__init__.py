"""HDF5: one dataset per array, a dimension scale of positions, the recipe as an attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.tabular import Tabular
from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules

if TYPE_CHECKING:
    from pecli.formats.common.stored import Source, StoredTable

RULES = Rules("hdf5", ("bfloat16", *REALS, *COMPLEX, *INTEGERS))


def draft_hdf5(table: Tabular, options: Options) -> Draft:
    """Plan a contiguous file, or a compressed one."""
    from pecli.formats.hdf5.write import draft

    return draft(table, options)


def open_hdf5(source: Source) -> StoredTable:
    """Open an HDF5 file."""
    from pecli.formats.hdf5.read import Hdf5Table

    return Hdf5Table(source)


HDF5 = Format(
    name="hdf5",
    title="HDF5",
    suffixes=(".h5", ".hdf5"),
    draft=draft_hdf5,
    open=open_hdf5,
    dtypes=RULES.dtypes,
    magic=(b"\x89HDF\r\n\x1a\n",),
    places=(0, 512, 1024, 2048),  # behind a block of the user's
    stores="a dataset for each array, contiguous (`--compress`: shuffle and gzip), and `/position` as dimension scale",
    metadata="attributes of the root: pecli_recipe, formula, source, pecli_version",
    package="h5py",
    compresses=True,
)
