"""How pecli's types stand in HDF5, bfloat16 among them, for which NumPy has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.numbers.types import storage

if TYPE_CHECKING:
    from h5py import h5d, h5t

_BFLOAT16_FIELDS = (15, 7, 8, 0, 7)  # places of sign, exponent (8 bits) and fraction (7 bits)


def file_type(dtype: str) -> h5t.TypeID:
    """Return the HDF5 type that stores `dtype`."""
    from h5py import h5t

    if dtype != "bfloat16":
        return h5t.py_create(storage(dtype), logical=True)
    kind = h5t.IEEE_F32LE.copy()
    kind.set_fields(*_BFLOAT16_FIELDS)
    kind.set_size(2)
    kind.set_ebias(127)
    return kind


def stored_type(dataset: h5d.DatasetID) -> str | None:
    """Return pecli's name of a dataset's type; None for what is no number that NumPy has."""
    from h5py import h5t

    from pecli.formats.common.stored import dtype_name

    kind = dataset.get_type()
    if isinstance(kind, h5t.TypeFloatID) and kind.get_size() == 2 and kind.get_fields() == _BFLOAT16_FIELDS:
        return "bfloat16"
    try:
        return dtype_name(kind.dtype)
    except (TypeError, ValueError):
        return None
