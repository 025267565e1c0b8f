"""Writing npz: one npy member per array."""

from __future__ import annotations

import zipfile

import numpy as np

from pecli.declare.tabular import Tabular
from pecli.formats.common.facts import facts_json
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import Output
from pecli.formats.common.places import in_order
from pecli.formats.npy.write import header
from pecli.numbers.types import raw_bytes

RECIPE = "recipe"  # an array of text: every member of an npz should be an array
FORMER_RECIPE = "recipe.json"  # of earlier versions


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write one member per array, stored unless compression is asked for."""
    size = sum(array.bytes for array in table.arrays)
    least = size // 1100 if options.compress else size
    return Draft(lambda output: _write(table, output, options), None, least)


def recipe_name(table: Tabular) -> str:
    """Return the name of the array of text; an array of numbers may have the plain one."""
    name = RECIPE
    while any(array.name == name for array in table.arrays):
        name += "_"
    return name


def _text_member(text: str) -> bytes:
    """Return a text as npy: one Unicode string, which `numpy.load` gives as an array of no axes."""
    import io

    file = io.BytesIO()
    np.lib.format.write_array(file, np.array(text, dtype=f"<U{max(1, len(text))}"), version=(1, 0))
    return file.getvalue()


def _write(table: Tabular, output: Output, options: WriteOptions) -> None:
    method = zipfile.ZIP_DEFLATED if options.compress else zipfile.ZIP_STORED
    archive = zipfile.ZipFile(output, "w", method, compresslevel=1)
    try:
        for array in table.arrays:
            with archive.open(f"{array.name}.npy", "w", force_zip64=True) as member:
                member.write(header(array.dtype, array.shape))
                for values in in_order(table, array, options):
                    member.write(raw_bytes(values))
        with archive.open(f"{recipe_name(table)}.npy", "w") as member:  # writestr would date it now
            member.write(_text_member(facts_json(table)))
    except BaseException:
        output.abandon()
        raise
    finally:
        archive.close()
