"""npz: a zip of npy files, one for each array, stored or deflated, dated 1980; the recipe is an array of text."""

from pecli.formats.common.format import Format

FORMAT = Format(
    name="npz",
    title="npz",
    suffixes=(".npz",),
    reader=".read:NpzTable",
    place=2,
    magic=(b"PK\x03\x04", b"PK\x05\x06"),
    compresses=True,
)
