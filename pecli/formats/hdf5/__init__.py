"""HDF5: one dataset per array, ``/position`` as dimension scale, the recipe as an attribute of the root.

Datasets are contiguous, or (compressed) shuffled and deflated.
"""

from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Format

FORMAT = Format(
    name="hdf5",
    title="HDF5",
    suffixes=(".h5", ".hdf5"),
    reader=".read:Hdf5Table",
    place=3,
    dtypes=("bfloat16", *REALS, *COMPLEX, *INTEGERS),
    magic=(b"\x89HDF\r\n\x1a\n",),
    magic_at=(0, 512, 1024, 2048),  # behind a block of the user's
    package="h5py",
    compresses=True,
)
