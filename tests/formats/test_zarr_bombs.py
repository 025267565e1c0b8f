"""Chunks of zarr stores that inflate to gigabytes; `make reach` installs what this needs."""

import re
import shutil

import numpy as np
import pytest

from pecli.errors import BadFile
from pecli.formats import open_table
from tests.formats.measured import measured
from tests.formats.test_bombs import BOMB, MOST, deflated

numcodecs = pytest.importorskip("numcodecs", reason="zarr is not installed: make reach installs it")
zarr = pytest.importorskip("zarr", reason="zarr is not installed: make reach installs it")

VALUES = np.arange(16, dtype=np.float32).reshape(4, 4)
CODECS = {"gzip": zarr.codecs.GzipCodec, "zstd": zarr.codecs.ZstdCodec, "blosc": zarr.codecs.BloscCodec}


def store(path, kind):
    """Write an array of 64 bytes in one chunk."""
    root = zarr.open_group(path, mode="w")
    root.create_array("pe", shape=(4, 4), chunks=(4, 4), dtype="f4", compressors=CODECS[kind]())[:] = VALUES
    return path / "pe/c/0/0"


def inflating(kind, size):
    """What inflates to so many zeros."""
    if kind == "gzip":
        return deflated(size, wbits=31)
    return bytes({"zstd": numcodecs.Zstd(1), "blosc": numcodecs.Blosc("zstd")}[kind].encode(bytes(size)))


INSPECT_EACH = "import sys; from pecli.cli.run import run; print([run(['inspect', path]) for path in sys.argv[1:]])"


def test_a_chunk_inflates_to_little_more_than_its_values(tmp_path):
    """One process inspects a store of each codec."""
    stores = {f"{kind}.zarr": kind for kind in CODECS}
    for name, kind in stores.items():
        chunk = store(tmp_path / name, kind)
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


@pytest.mark.filterwarnings("ignore")  # zarr's own, of a codec that its specification lacks
def test_codecs_that_nothing_bounds_are_named(tmp_path):
    others = pytest.importorskip("zarr.codecs.numcodecs")
    root = zarr.open_group(tmp_path / "x.zarr", mode="w")
    codec = others.BZ2()
    root.create_array("pe", shape=(4, 4), chunks=(4, 4), dtype="f4", compressors=codec)[:] = VALUES
    with pytest.raises(BadFile, match=r"compresses 'pe' with numcodecs\.bz2"):
        open_table(tmp_path / "x.zarr")


def test_version_2_is_refused_with_the_remedy(tmp_path):
    root = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=2)
    root.create_array("pe", shape=(4, 4), chunks=(4, 4), dtype="f4")[:] = VALUES
    with pytest.raises(BadFile, match="holds 'pe' in version 2 of zarr: rewrite it in version 3"):
        open_table(tmp_path / "x.zarr")


def test_the_codecs_of_other_code_are_left_alone(tmp_path):
    store(tmp_path / "x.zarr", "zstd")
    open_table(tmp_path / "x.zarr").close()
    shutil.rmtree(tmp_path / "x.zarr")
    store(tmp_path / "x.zarr", "zstd")
    found = zarr.open_array(tmp_path / "x.zarr/pe", mode="r")
    assert type(found.metadata.codecs[-1]) is zarr.codecs.ZstdCodec


@pytest.mark.parametrize("shape", [[4, 999999999], [999999999, 4]])
def test_objects_that_a_shape_needs_must_be_there(shape, tmp_path):
    store(tmp_path / "a.zarr", "zstd")
    about = tmp_path / "a.zarr" / "pe" / "zarr.json"
    about.write_text(re.sub(r'"shape": \[\s*4,\s*4\s*\]', f'"shape": {shape}', about.read_text(), count=1))
    with pytest.raises(BadFile, match="says 250,000,000 objects of values in 'pe' and has 2"):
        open_table(tmp_path / "a.zarr")


def test_a_long_row_of_one_object_is_refused(tmp_path):
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("pe", shape=(2, 1 << 27), chunks=(1, 1 << 20), dtype="f4", attributes={"lead": 1})
    with pytest.raises(BadFile, match="rows of 536,870,912 bytes in 'pe', of which at most 256 MiB are read"):
        open_table(tmp_path / "a.zarr")
