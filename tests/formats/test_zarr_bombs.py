"""Chunks of zarr stores that inflate to gigabytes; `make reach` installs what this needs."""

import re
import shutil
import zlib

import numpy as np
import pytest

from pecli.errors import BadFile
from pecli.formats import open_table
from tests.formats.measured import measured
from tests.formats.test_bombs import BOMB, MOST, deflated

numcodecs = pytest.importorskip("numcodecs", reason="zarr is not installed: make reach installs it")
zarr = pytest.importorskip("zarr", reason="zarr is not installed: make reach installs it")

VALUES = np.arange(16, dtype=np.float32).reshape(4, 4)
OF_VERSION_2 = {
    "gzip": numcodecs.GZip,
    "zlib": numcodecs.Zlib,
    "zstd": numcodecs.Zstd,
    "blosc": numcodecs.Blosc,
    "lz4": numcodecs.LZ4,
}
OF_VERSION_3 = {"gzip": zarr.codecs.GzipCodec, "zstd": zarr.codecs.ZstdCodec, "blosc": zarr.codecs.BloscCodec}
KINDS = [(3, kind) for kind in OF_VERSION_3] + [(2, kind) for kind in OF_VERSION_2]


def store(path, version, kind, **options):
    """Write an array of 64 bytes in one chunk."""
    root = zarr.open_group(path, mode="w", zarr_format=version)
    codec = (OF_VERSION_2 if version == 2 else OF_VERSION_3)[kind]()
    root.create_array("pe", shape=(4, 4), chunks=(4, 4), dtype="f4", compressors=codec, **options)[:] = VALUES
    return path / ("pe/0.0" if version == 2 else "pe/c/0/0")


def inflating(kind, size):
    """What inflates to so many zeros."""
    if kind in ("gzip", "zlib"):
        return deflated(size, wbits=31 if kind == "gzip" else zlib.MAX_WBITS)
    return bytes(
        {"zstd": numcodecs.Zstd(1), "blosc": numcodecs.Blosc("zstd"), "lz4": numcodecs.LZ4()}[kind].encode(bytes(size))
    )


INSPECT_EACH = "import sys; from pecli.cli.run import run; print([run(['inspect', path]) for path in sys.argv[1:]])"


@pytest.mark.parametrize("kinds", [KINDS[::4], pytest.param(KINDS, marks=pytest.mark.exhaustive)])
def test_a_chunk_inflates_to_little_more_than_its_values(kinds, tmp_path):
    """One process inspects a store of each version and codec."""
    stores = {f"{kind}{version}.zarr": (version, kind) for version, kind in kinds}
    for name, (version, kind) in stores.items():
        chunk = store(tmp_path / name, version, kind)
        with open_table(tmp_path / name) as table:
            np.testing.assert_array_equal(table.read("pe"), VALUES)
        chunk.write_bytes(inflating(kind, BOMB))
    status, said, peak = measured(tmp_path, *stores, program=("-c", INSPECT_EACH))
    assert (status, peak < MOST) == (0, True), (said, peak)
    assert str([2] * len(stores)) in said
    for name in stores:
        assert re.search(rf"{re.escape(name)}.*cannot be read at 'pe'", said), (name, said)


def test_a_chunk_in_a_shard_too(tmp_path):
    path = tmp_path / "x.zarr"
    root = zarr.open_group(path, mode="w")
    root.create_array(
        "pe", shape=(4, 4), shards=(4, 4), chunks=(2, 4), dtype="f4", compressors=zarr.codecs.ZstdCodec()
    )[:] = VALUES
    with open_table(path) as table:
        np.testing.assert_array_equal(table.read("pe"), VALUES)
    bomb = inflating("zstd", BOMB)
    import google_crc32c  # what zarr computes the checksum of an index with

    index = np.array([0, len(bomb), 0, len(bomb)], "<u8").tobytes()
    checksum = int(google_crc32c.value(index)).to_bytes(4, "little")
    (path / "pe/c/0/0").write_bytes(bomb + index + checksum)
    status, said, peak = measured(tmp_path, "inspect", "x.zarr")
    assert (status, peak < MOST) == (2, True), (said, peak)


def test_codecs_that_nothing_bounds_are_named(tmp_path):
    root = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=2)
    root.create_array("pe", shape=(4, 4), chunks=(4, 4), dtype="f4", compressors=numcodecs.BZ2())[:] = VALUES
    with pytest.raises(BadFile, match="compresses 'pe' with bz2"):
        open_table(tmp_path / "x.zarr")


def test_the_codecs_of_other_code_are_left_alone(tmp_path):
    store(tmp_path / "x.zarr", 3, "zstd")
    open_table(tmp_path / "x.zarr").close()
    shutil.rmtree(tmp_path / "x.zarr")
    store(tmp_path / "x.zarr", 3, "zstd")
    found = zarr.open_array(tmp_path / "x.zarr/pe", mode="r")
    assert type(found.metadata.codecs[-1]) is zarr.codecs.ZstdCodec


@pytest.mark.parametrize("shape", [[4, 999999999], [999999999, 4]])
def test_objects_that_a_shape_needs_must_be_there(shape, tmp_path):
    store(tmp_path / "a.zarr", 3, "zstd")
    about = tmp_path / "a.zarr" / "pe" / "zarr.json"
    about.write_text(re.sub(r'"shape": \[\s*4,\s*4\s*\]', f'"shape": {shape}', about.read_text(), count=1))
    with pytest.raises(BadFile, match="says 250,000,000 objects of values in 'pe' and has 2"):
        open_table(tmp_path / "a.zarr")


def test_a_long_row_of_one_object_is_refused(tmp_path):
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("pe", shape=(2, 1 << 27), chunks=(1, 1 << 20), dtype="f4", attributes={"lead": 1})
    with pytest.raises(BadFile, match="rows of 536,870,912 bytes in 'pe', of which at most 256 MiB are read"):
        open_table(tmp_path / "a.zarr")
