"""Writing npz: one npy member per array."""

from __future__ import annotations

import zipfile

from pecli.declare.tabular import Tabular
from pecli.formats.common.facts import facts_json
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import Output
from pecli.formats.common.places import in_order
from pecli.formats.npy.write import header
from pecli.numbers.types import raw_bytes

RECIPE = "recipe.json"


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write one member per array, stored unless compression is asked for."""
    size = sum(array.bytes for array in table.arrays)
    least = size // 1100 if options.compress else size
    return Draft(lambda output: _write(table, output, options), None, least)


def _write(table: Tabular, output: Output, options: WriteOptions) -> None:
    method = zipfile.ZIP_DEFLATED if options.compress else zipfile.ZIP_STORED
    archive = zipfile.ZipFile(output, "w", method, compresslevel=1)
    try:
        for array in table.arrays:
            with archive.open(f"{array.name}.npy", "w", force_zip64=True) as member:
                member.write(header(array.dtype, array.shape))
                for values in in_order(table, array, options):
                    member.write(raw_bytes(values))
        with archive.open(RECIPE, "w") as member:  # unlike writestr it dates every member 1980, the first year of zip
            member.write(facts_json(table).encode())
    except BaseException:
        output.abandon()
        raise
    finally:
        archive.close()
