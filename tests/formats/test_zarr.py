"""zarr: written and read by pecli, read by zarr itself and by xarray; whole or not there.

A package that is not installed is skipped with a word; `make reach` installs them.
"""

import itertools
import json
import os

import numpy as np
import pytest

from pecli import table
from pecli.errors import BadFile, BadParameter, WriteFailed
from pecli.formats import open_table, write_table
from pecli.inspect.verification import verify, verify_folder
from pecli.spec.tabular import InMemory

SHAPES = [(5,), (700, 3), (2, 300, 5), (3, 2, 700, 11), (3, 700_000), (2, 1_500_000), (5000, 700), (2, 2, 2, 600_000)]


def need(package):
    """The package, or a skip that names it."""
    return pytest.importorskip(package, reason=f"{package} is not installed: make reach installs it")


@pytest.mark.parametrize(
    "recipe", ["rope:dim=64,len=3000,start=7", "alibi:heads=3,len=500", "alibi:heads=2,form=slopes"]
)
@pytest.mark.parametrize("compress", [False, True])
def test_zarr_reads_what_pecli_writes(tmp_path, recipe, compress):
    zarr = need("zarr")
    made = table(recipe)
    write_table(made, tmp_path / "pe.zarr", compress=compress)
    root = zarr.open_group(tmp_path / "pe.zarr", mode="r")
    for array in made.arrays:
        np.testing.assert_array_equal(root[array.name][...], made.read(array.name))
        assert root[array.name].metadata.dimension_names == array.axes
    assert root.attrs["pecli_recipe"] == made.recipe
    with open_table(tmp_path / "pe.zarr") as found:
        assert [(a.name, a.shape, a.axes, a.lead) for a in found.arrays] == [
            (a.name, a.shape, a.axes, a.lead) for a in made.arrays
        ]
        assert verify(found, "pe.zarr").good


@pytest.mark.parametrize("shape", SHAPES)
def test_shards_are_all_rows_once_and_values_land_where_they_belong(tmp_path, shape):
    zarr = need("zarr")
    from pecli.formats.zarr import shard_rows

    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    made = InMemory({"pe": values})
    spans = list(shard_rows(made.arrays[0]))
    assert [span[0] for span in spans] == [0, *itertools.accumulate(b - a for a, b in spans)][:-1]
    assert spans[-1][1] == made.arrays[0].rows
    write_table(made, tmp_path / "pe.zarr", threads=2)
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "pe.zarr", mode="r")["pe"][...], values)
    with open_table(tmp_path / "pe.zarr") as found:
        np.testing.assert_array_equal(found.read("pe"), values)


def test_xarray_opens_it_by_the_names_of_the_axes(tmp_path):
    need("zarr")
    xarray = need("xarray")
    write_table(table("rope:dim=8,len=20,start=100"), tmp_path / "pe.zarr")
    found = xarray.open_zarr(tmp_path / "pe.zarr", consolidated=False, chunks=None)
    assert found["cos"].dims == ("position", "pair")
    np.testing.assert_array_equal(
        found["cos"].sel(position=105).values, table("rope:dim=8,len=1,start=105").read("cos")[0]
    )


def test_two_runs_give_the_same_bytes(tmp_path):
    need("zarr")

    def content(name):
        write_table(table("alibi:heads=2,len=600"), tmp_path / name, threads=2)
        root = tmp_path / name
        return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    assert content("a.zarr") == content("b.zarr")


def test_a_wrong_value_and_a_missing_object_are_found(tmp_path):
    zarr = need("zarr")
    write_table(table("sinusoidal:dim=512,len=10000"), tmp_path / "pe.zarr")
    (tmp_path / "pe.zarr" / "pe" / "c" / "1" / "0").unlink()
    with open_table(tmp_path / "pe.zarr") as found:
        assert verify(found, "pe.zarr").comparison.total.beyond == 512 * 2048
    zarr.open_group(tmp_path / "pe.zarr")["pe"][:] = 1.0
    with open_table(tmp_path / "pe.zarr") as found:
        assert not verify(found, "pe.zarr").good


def test_a_run_that_fails_leaves_nothing_and_what_is_there_stays(tmp_path):
    need("zarr")

    def fail(_count):
        raise RuntimeError("stop")

    path = tmp_path / "pe.zarr"
    with pytest.raises(WriteFailed, match="stop"):
        write_table(table("sinusoidal:dim=512,len=10000"), path, progress=fail)
    assert list(tmp_path.iterdir()) == []
    write_table(table("rope:dim=4,len=3"), path)
    with pytest.raises(WriteFailed, match="is not replaced"):
        write_table(table("rope:dim=4,len=3"), path)
    os.unlink(path / "zarr.json")
    with pytest.raises(WriteFailed, match="without the root"):
        write_table(table("rope:dim=4,len=3"), path)
    with pytest.raises(BadFile, match="was not written completely"):
        open_table(path)


def test_a_chunk_behind_a_link_is_read_as_a_chunk(tmp_path):
    """docs/security.md says so; a file of another size is none."""
    need("zarr")
    write_table(made := table("sinusoidal:dim=4,len=8"), tmp_path / "pe.zarr")
    chunk, other = tmp_path / "pe.zarr" / "pe" / "c" / "0" / "0", tmp_path / "elsewhere"
    chunk.rename(other)
    chunk.symlink_to(other)
    with open_table(tmp_path / "pe.zarr") as found:
        np.testing.assert_array_equal(found.read("pe"), made.read("pe"))
    other.write_bytes(b"root:x:0:0")
    with pytest.raises(BadFile), open_table(tmp_path / "pe.zarr") as found:
        found.read("pe")


def test_stores_are_parts_like_files(tmp_path):
    need("zarr")
    whole = table("sinusoidal:dim=8,len=100")
    for part in range(3):
        write_table(table(f"sinusoidal:dim=8,len=100,shard={part}/3"), tmp_path / f"{part}.zarr")
    assert verify_folder(str(tmp_path)).good
    from pecli.tables.parts import open_path

    joined = open_path(str(tmp_path))
    np.testing.assert_array_equal(joined.read("pe"), whole.read("pe"))


def test_bfloat16_is_refused_with_what_holds_it(tmp_path):
    need("zarr")
    with pytest.raises(BadParameter, match="safetensors"):
        write_table(table("rope:dim=4,len=3,dtype=bfloat16"), tmp_path / "pe.zarr")


def test_a_store_of_another_makes_is_read(tmp_path):
    zarr = need("zarr")
    root = zarr.create_group(tmp_path / "x.zarr")
    values = np.random.default_rng(1).normal(size=(30, 4, 6)).astype("f8")
    root.create_array("group/w", data=values, chunks=(7, 2, 6))
    with open_table(tmp_path / "x.zarr") as found:
        assert [array.name for array in found.arrays] == ["group/w"]
        np.testing.assert_array_equal(found.read("group/w"), values)


def test_damage_is_one_sentence(tmp_path):
    need("zarr")
    path = tmp_path / "pe.zarr"
    write_table(table("rope:dim=4,len=3000"), path)
    described = path / "cos" / "zarr.json"
    good = described.read_text()
    for bad in ("{}", "[", good.replace('"float32"', '"float99"')):
        described.write_text(bad)
        with pytest.raises(BadFile):
            open_table(path)
    facts = json.loads(good)
    facts["shape"] = [1 << 61, 1 << 61]
    described.write_text(json.dumps(facts))
    with pytest.raises(BadFile, match="cannot be"):
        open_table(path)
    described.write_text(good)
    piece = next(p for p in (path / "cos" / "c").rglob("*") if p.is_file())
    piece.write_bytes(piece.read_bytes()[:100])
    with open_table(path) as found, pytest.raises(BadFile):
        found.read("cos")
