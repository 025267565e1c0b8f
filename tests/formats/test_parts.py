"""Folders of parts, patterns and rows of a file as sources."""

import json

import numpy as np
import pytest

from pecli.errors import BadFile, BadRecipe
from pecli.formats import write_table
from pecli.tables.parts import open_path
from pecli.tables.table import Table


def parts(folder, text, suffix, count=3, names="{}"):
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(count):
        write_table(Table.parse(f"{text},shard={k}/{count}"), folder / f"{names.format(k)}{suffix}")
    return folder


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("sinusoidal:dim=4,len=10", ".parquet"),
        ("sinusoidal:dim=4,len=10", ".npy"),
        ("rope:dim=8,len=11,start=3", ".h5"),
        ("rope:dim=8,len=11", ".npz"),
        ("alibi:heads=3,len=7", ".h5"),
        ("alibi:heads=3,len=7", ".npz"),
        ("t5:heads=2,len=9", ".npz"),
        ("fourier:dim=8,len=6", ".npz"),
    ],
)
def test_a_folder_of_parts_is_the_whole_table(text, suffix, tmp_path):
    whole, found = Table.parse(text), open_path(str(parts(tmp_path / "p", text, suffix)))
    held = {array.name: found.read(array.name) for array in found.arrays}
    expected = {array.name: whole.read(array.name) for array in whole.arrays}
    if suffix == ".npy":
        held = dict(zip(expected, held.values(), strict=True))
    assert held.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(held[name], values)
    if suffix != ".npy":
        assert found.recipe == whole.recipe


def test_parts_are_taken_in_the_order_of_their_shards_whatever_their_names(tmp_path):
    for k, name in enumerate("cab"):
        write_table(Table.parse(f"sinusoidal:dim=4,len=10,shard={k}/3"), tmp_path / f"{name}.npz")
    np.testing.assert_array_equal(
        open_path(str(tmp_path)).read("pe"), Table.parse("sinusoidal:dim=4,len=10").read("pe")
    )


def test_parts_without_a_recipe_are_taken_in_the_order_of_the_numbers_in_their_names(tmp_path):
    folder = parts(tmp_path / "p", "sinusoidal:dim=4,len=30", ".npy", count=12, names="part-{}")
    np.testing.assert_array_equal(
        open_path(str(folder)).read("array"), Table.parse("sinusoidal:dim=4,len=30").read("pe")
    )


def test_a_partitioned_dataset_and_a_pattern_are_such_tables(tmp_path):
    text = "sinusoidal:dim=4,len=10"
    for k in range(3):
        parts_of = tmp_path / "set" / f"shard={k}"
        parts_of.mkdir(parents=True)
        write_table(Table.parse(f"{text},shard={k}/3"), parts_of / "part-0.parquet")
    (tmp_path / "set" / "_SUCCESS.json").write_text("")
    for source in ("set", "set/*/*.parquet", "set/shard=*/part-?.parquet"):
        np.testing.assert_array_equal(open_path(str(tmp_path / source)).read("pe"), Table.parse(text).read("pe"))


def test_a_dataset_that_arrow_partitioned_is_one_table_again(pecli, tmp_path):
    parquet, dataset = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.dataset")
    text = "sinusoidal:dim=4,len=12"
    write_table(Table.parse(text), tmp_path / "whole.parquet")
    table = parquet.read_table(tmp_path / "whole.parquet")
    for name, part in (("set", [i // 4 for i in range(12)]), ("mixed", [i % 3 for i in range(12)])):
        parted = table.append_column("part", [part])
        dataset.write_dataset(parted, tmp_path / name, format="parquet", partitioning=["part"])
    np.testing.assert_array_equal(open_path(str(tmp_path / "set")).read("pe"), Table.parse(text).read("pe"))
    assert pecli("compare", "set", text).returncode == 0
    assert "verified: 48 values of set" in pecli("inspect", "set", "--verify").stdout
    with pytest.raises(BadFile, match=r"whose positions lie among those of .*: sort them first"):
        open_path(str(tmp_path / "mixed"))
    (tmp_path / "set" / "1" / "part-0.parquet").unlink()
    with pytest.raises(BadFile, match="holds 8 rows of 12: a part is missing"):
        open_path(str(tmp_path / "set"))


@pytest.mark.parametrize(
    ("stray", "words"),
    [
        ("sinusoidal:dim=6,len=10", "x.npz, which does not belong: it has pe n x 6 float32"),
        ("sinusoidal:dim=4,len=10", "x.npz, which does not belong|parts that overlap"),
        ("sinusoidal:dim=4,len=10,shard=1/3", "parts that overlap: .*1.npz, .*x.npz"),
        ("sinusoidal:dim=4,base=500,len=10,shard=1/3", "x.npz, which does not belong"),
    ],
)
def test_a_stray_file_is_named(stray, words, tmp_path):
    folder = parts(tmp_path / "p", "sinusoidal:dim=4,len=10", ".npz")
    write_table(Table.parse(stray), folder / "x.npz")
    with pytest.raises(BadFile, match=words):
        open_path(str(folder))


def test_a_damaged_part_and_a_missing_one_are_named(tmp_path):
    folder = parts(tmp_path / "p", "sinusoidal:dim=4,len=10", ".npz")
    (folder / "1.npz").write_bytes(b"PK")
    with pytest.raises(BadFile, match=r"1\.npz, which is not part of a table"):
        open_path(str(folder))
    (folder / "1.npz").unlink()
    with pytest.raises(BadFile, match="lacks part 1 of 3: make it with --shard 1/3"):
        open_path(str(folder))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [("::pe[3:7]", slice(3, 7)), ("::[3:7]", slice(3, 7)), ("::pe[:2]", slice(0, 2)), ("::pe[-2:]", slice(8, 10))],
)
def test_rows_of_an_array_are_a_source(rows, expected, tmp_path):
    table = Table.parse("sinusoidal:dim=4,len=10")
    write_table(table, tmp_path / "pe.h5")
    found = open_path(f"{tmp_path / 'pe.h5'}{rows}")
    np.testing.assert_array_equal(found.read("pe"), table.read("pe")[expected])
    first, last = found.position(0, found.arrays[0].rows)[[0, -1]]
    assert (first, last + 1) == (expected.start, expected.stop)


def test_rows_of_a_bias_are_its_queries(tmp_path):
    table = Table.parse("alibi:heads=3,len=7")
    write_table(table, tmp_path / "b.h5")
    found = open_path(f"{tmp_path / 'b.h5'}::bias[2:5]")
    np.testing.assert_array_equal(found.read("bias"), table.read("bias")[:, 2:5])


def test_rows_that_are_not_there_are_refused(tmp_path):
    write_table(Table.parse("sinusoidal:dim=4,len=10"), tmp_path / "pe.h5")
    with pytest.raises(BadRecipe, match="there are 10, counted from 0"):
        open_path(f"{tmp_path / 'pe.h5'}::pe[50:60]")


def test_commands_take_folders_and_rows(pecli, tmp_path):
    parts(tmp_path / "p", "sinusoidal:dim=4,len=10", ".h5")
    assert pecli("compare", "p", "sinusoidal:dim=4").returncode == 0
    assert pecli("convert", "p", "-q", "-o", "whole.h5").returncode == 0
    assert pecli("compare", "whole.h5", "p/*.h5").returncode == 0
    assert pecli("compare", "whole.h5::pe[3:7]", "sinusoidal:dim=4").returncode == 0
    assert json.loads(pecli("inspect", "p", "--json").stdout)["arrays"][0]["shape"] == [10, 4]
    assert pecli("apply", "p", "whole.h5::pe", "-q", "-o", "sum.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "sum.npy"), 2 * open_path(str(tmp_path / "whole.h5")).read("pe"))


def test_several_sources_are_verified_with_one_status(pecli, tmp_path):
    parts(tmp_path / "p", "sinusoidal:dim=4,len=10", ".h5")
    write_table(Table.parse("rope:dim=8,len=5"), tmp_path / "a.npz")
    done = pecli("inspect", "a.npz", "p", "--verify", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["verified"], [f["source"] for f in found["sources"]]) == (0, True, ["a.npz", "p"])
    write_table(Table.parse("rope:dim=8,len=5"), tmp_path / "b.npy")
    done = pecli("inspect", "b.npy", "a.npz", "--verify", "--recipe", "rope:dim=8,base=99")
    assert done.returncode == 1
    assert pecli("inspect", "a.npz", "b.npy").returncode == 2
