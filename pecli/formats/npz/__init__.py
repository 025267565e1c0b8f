"""npz: a zip of npy files, one for each array, and the recipe as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.tabular import Tabular
from pecli.formats.common.format import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules, raw_bytes

if TYPE_CHECKING:
    from pecli.formats.common.output import Output
    from pecli.formats.common.stored import Source, StoredTable

RULES = Rules("npz", (*REALS, *COMPLEX, *INTEGERS))
RECIPE = "recipe.json"


def draft(table: Tabular, options: Options) -> Draft:
    """Write one member per array, stored unless compression is asked for."""
    RULES.check(table)
    size = sum(array.bytes for array in table.arrays)
    least = size // 1100 if options.compress else size
    return Draft(lambda output: _write(table, output, options), None, least)


def _write(table: Tabular, output: Output, options: Options) -> None:
    import zipfile

    from pecli.formats.common.facts import facts_json
    from pecli.formats.common.places import in_order
    from pecli.formats.npy import header

    method = zipfile.ZIP_DEFLATED if options.compress else zipfile.ZIP_STORED
    archive = zipfile.ZipFile(output, "w", method, compresslevel=1)
    try:
        for array in table.arrays:
            with archive.open(f"{array.name}.npy", "w", force_zip64=True) as member:
                member.write(header(array.dtype, array.shape))
                for values in in_order(table, array, options):
                    member.write(raw_bytes(values))
        with archive.open(
            RECIPE, "w"
        ) as member:  # unlike writestr this dates every member 1980, the first that zip knows
            member.write(facts_json(table).encode())
    except BaseException:
        output.abandon()
        raise
    finally:
        archive.close()


def open_npz(source: Source) -> StoredTable:
    """Open an npz file."""
    from pecli.formats.npz.read import NpzTable

    return NpzTable(source)


NPZ = Format(
    name="npz",
    title="npz",
    suffixes=(".npz",),
    draft=draft,
    open=open_npz,
    dtypes=RULES.dtypes,
    magic=(b"PK\x03\x04", b"PK\x05\x06"),
    stores="one npy member for each array, stored (`--compress`: deflated), dated 1980",
    metadata="the member recipe.json",
    compresses=True,
)
