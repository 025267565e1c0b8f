"""Every format: what is written, and that others read it."""

import hashlib
import json
import shutil
import subprocess
import zipfile

import numpy as np
import pytest

from pecli.errors import BadParameter, UnknownName
from pecli.formats import FORMATS, format_for, open_table, write_table
from pecli.formats.io import blocks as pump
from tests.support.format_tables import (
    FACTS,
    ONE_SHAPE,
    RECIPE,
    TABLES,
    WITHOUT_POSITIONS,
    Formula,
    absolute,
    bias,
    distances,
    pairs,
    rotary,
    rotations,
    unequal,
)

SUFFIX = {name: form.suffixes[0] for name, form in FORMATS.items()}
WAYS = [{}, {"compress": True}, {"wide": True}]


def held(form, table):
    """Whether a format holds a table, as the documents say."""
    dtypes = {array.dtype for array in table.arrays}
    if not dtypes <= set(form.dtypes):
        return False
    shapes = {array.shape for array in table.arrays}
    return len(shapes) == 1 or form.name not in ONE_SHAPE


def cases():
    for kind, make in TABLES.items():
        for name, form in FORMATS.items():
            if held(form, make()):
                yield from (
                    pytest.param(kind, name, way, id=f"{kind}-{name}-{'-'.join(way)}")
                    for way in WAYS
                    if all(form.compresses if option == "compress" else form.widens for option in way)
                )


UNTYPED = {"float16": "float64", "float32": "float64", "complex64": "complex128", "int32": "int64"}


def write(table, tmp_path, name, **options):
    path = tmp_path / f"table{SUFFIX[name]}"
    size = write_table(table, path, threads=2, **options)
    assert size == path.stat().st_size
    return path


@pytest.mark.parametrize(("kind", "name", "way"), list(cases()))
def test_a_table_comes_back_as_it_was_written(kind, name, way, tmp_path):
    table = TABLES[kind]()
    with open_table(write(table, tmp_path, name, **way)) as stored:
        assert stored.format == name
        if name == "npy":
            expected = [table.values[array.name] for array in table.arrays]
            np.testing.assert_array_equal(
                stored.read("array"), expected[0] if len(expected) == 1 else np.stack(expected)
            )
            return
        for array in table.arrays:
            found = stored.array(array.name)
            if name == "csv":  # says no type: its decimals are float64, and narrow to what was written
                assert (found.shape, found.lead) == (array.shape, array.lead)
                assert found.dtype == UNTYPED.get(array.dtype, array.dtype)
                np.testing.assert_array_equal(
                    stored.read(array.name).astype(table.values[array.name].dtype), table.values[array.name]
                )
                continue
            assert (found.shape, found.dtype, found.lead) == (array.shape, array.dtype, array.lead)
            assert stored.read(array.name).tobytes() == np.ascontiguousarray(table.values[array.name]).tobytes()
            rows = stored.read_rows([array.name], array.rows // 3, array.rows // 2)[array.name]
            np.testing.assert_array_equal(
                rows, table.read_rows([array.name], array.rows // 3, array.rows // 2)[array.name]
            )
        if name != "csv":
            assert stored.recipe == RECIPE
            assert stored.metadata == FACTS


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in WITHOUT_POSITIONS])
def test_positions_stand_beside_the_values(name, tmp_path):
    for table in (absolute(), rotary(), bias()):
        with open_table(write(table, tmp_path, name)) as stored:
            np.testing.assert_array_equal(stored.position(3, 9), table.positions[3:9])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.sample(3)
def test_the_same_table_gives_the_same_bytes_with_any_number_of_threads(name, tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "cores", lambda: 8)
    table = Formula(9000, 40, names=("cos", "sin"))
    digests = set()
    for threads in (1, 5):
        path = tmp_path / f"table{SUFFIX[name]}"
        write_table(table, path, threads=threads)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


@pytest.mark.parametrize("way", [{}, {"compress": True}])
def test_hdf5_of_two_runs_is_equal(way, tmp_path):
    first = write(Formula(9000, 40), tmp_path, "hdf5", **way).read_bytes()
    assert write(Formula(9000, 40), tmp_path, "hdf5", **way).read_bytes() == first


def test_several_threads_compute_but_no_more_than_there_are_cores(tmp_path, monkeypatch):
    for cores in (1, 3):
        monkeypatch.setattr(pump, "cores", lambda n=cores: n)
        table = Formula(200_000, 64)
        write_table(table, tmp_path / "pe.npy", threads=16)
        assert len(table.threads) == 1 if cores == 1 else 1 < len(table.threads) <= 3


def test_progress_counts_every_byte(tmp_path):
    for name in FORMATS:
        seen = []
        table = Formula(3000, 8)
        write_table(table, tmp_path / f"pe{SUFFIX[name]}", threads=2, progress=seen.append)
        assert sum(seen) == 3000 * 8 * 4, name


# Readers that are not ours


def test_numpy_reads_npy(tmp_path):
    table = absolute()
    path = write(table, tmp_path, "npy")
    np.testing.assert_array_equal(np.load(path, allow_pickle=False), table.values["pe"])
    assert path.read_bytes()[:8] == b"\x93NUMPY\x01\x00"
    reference = tmp_path / "reference.npy"
    np.save(reference, table.values["pe"])
    assert path.read_bytes() == reference.read_bytes()


def test_numpy_unpacks_a_rotary_pair(tmp_path):
    table = rotary()
    cos, sin = np.load(write(table, tmp_path, "npy"), allow_pickle=False)
    np.testing.assert_array_equal(cos, table.values["cos"])
    np.testing.assert_array_equal(sin, table.values["sin"])


@pytest.mark.parametrize("compress", [False, True])
def test_numpy_reads_npz(compress, tmp_path):
    table = unequal()
    path = write(table, tmp_path, "npz", compress=compress)
    with np.load(path, allow_pickle=False) as found:
        assert found.files == ["vector", "index", "recipe"]
        assert {name: found[name].shape for name in found.files} == {"vector": (9, 4), "index": (5, 5), "recipe": ()}
        np.testing.assert_array_equal(found["vector"], table.values["vector"])
        np.testing.assert_array_equal(found["index"], table.values["index"])
        assert json.loads(str(found["recipe"]))["recipe"] == RECIPE
    with zipfile.ZipFile(path) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.testzip() is None


@pytest.mark.parametrize("compress", [False, True])
def test_h5py_reads_hdf5(compress, tmp_path):
    import h5py

    table = bias()
    with h5py.File(write(table, tmp_path, "hdf5", compress=compress)) as file:
        dataset = file["bias"]
        np.testing.assert_array_equal(dataset[...], table.values["bias"])
        assert dataset.dtype == "<f4"
        assert [dimension.label for dimension in dataset.dims] == ["head", "query", "key"]
        assert [dimension[0].name for dimension in dataset.dims] == ["/head", "/query", "/key"]
        np.testing.assert_array_equal(file["query"][...], table.positions)
        assert dict(file.attrs) == {"pecli_recipe": RECIPE, **FACTS}
        assert (dataset.compression, dataset.shuffle) == (("gzip", True) if compress else (None, False))
        assert (dataset.chunks is not None) == compress


def test_hdf5_values_stand_in_one_piece(tmp_path):
    import h5py

    table = absolute(rows=30_000, width=64)
    path = write(table, tmp_path, "hdf5")
    with h5py.File(path) as file:
        offset = file["pe"].id.get_offset()
    assert offset % 4096 == 0
    np.testing.assert_array_equal(np.memmap(path, "<f4", "r", offset, (30_000, 64)), table.values["pe"])


def test_h5py_reads_bfloat16_as_floats(tmp_path):
    import h5py

    table = absolute("bfloat16")
    with h5py.File(write(table, tmp_path, "hdf5")) as file:
        found = file["pe"].astype("float32")[...]
    np.testing.assert_array_equal(found.view(np.uint32) >> 16, table.values["pe"])


def test_h5py_reads_complex(tmp_path):
    import h5py

    table = rotations()
    with h5py.File(write(table, tmp_path, "hdf5")) as file:
        np.testing.assert_array_equal(file["cis"][...], table.values["cis"])


def test_hdf5_in_chunks_of_every_kind(tmp_path):
    import h5py

    from pecli.spec.tabular import Array
    from tests.support.format_tables import Given

    shapes = [
        ((7, 300, 300), 2),
        ((3, 600_000), 1),
        ((2, 3, 400_000), 2),
        ((5, 900, 2, 300), 2),
        ((300_001,), 1),
        ((1, 1), 1),
    ]
    for shape, lead in shapes:
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        table = Given([Array("x", shape, "float32", tuple("abcd"[: len(shape)]), lead)], {"x": values})
        path = write(table, tmp_path, "hdf5", compress=True)
        with h5py.File(path) as file:
            assert np.prod(file["x"].chunks) * 4 <= 1 << 20
            np.testing.assert_array_equal(file["x"][...], values)
        with open_table(path) as stored:
            np.testing.assert_array_equal(stored.read("x"), values)


@pytest.mark.skipif(shutil.which("h5dump") is None, reason="h5dump is not installed")
def test_h5dump_prints_bfloat16(tmp_path):
    path = write(absolute("bfloat16"), tmp_path, "hdf5")
    result = subprocess.run(["h5dump", "-d", "/pe", path], capture_output=True, text=True, check=True)
    assert "16-bit little-endian floating-point" in result.stdout


def test_pyarrow_reads_parquet(tmp_path):
    import pyarrow.parquet as pq

    table = absolute(rows=10_000, width=16)
    path = write(table, tmp_path, "parquet")
    file = pq.ParquetFile(path)
    schema = file.schema_arrow
    assert [str(schema.field(i)) for i in range(2)] == [
        "pyarrow.Field<position: int64 not null>",
        "pyarrow.Field<pe: fixed_size_list<element: float not null>[16] not null>",
    ]
    meta = file.metadata
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [4096, 4096, 1808]
    position, values = meta.row_group(1).column(0), meta.row_group(1).column(1)
    assert (position.statistics.min, position.statistics.max) == (4096 + 5, 8191 + 5)
    assert (values.is_stats_set, values.compression, values.encodings) == (False, "ZSTD", ("RLE", "BYTE_STREAM_SPLIT"))
    assert not values.has_dictionary_page
    assert json.loads(schema.metadata[b"pecli"])["recipe"] == RECIPE
    found = np.stack(file.read().column("pe").combine_chunks().flatten().to_numpy().reshape(-1, 16))
    np.testing.assert_array_equal(found, table.values["pe"])


def test_a_row_group_holds_at_most_eight_megabytes(tmp_path):
    import pyarrow.parquet as pq

    meta = pq.ParquetFile(write(Formula(1000, 16_384), tmp_path, "parquet")).metadata
    assert {meta.row_group(i).num_rows for i in range(meta.num_row_groups)} == {128, 1000 % 128}


def test_duckdb_reads_parquet(tmp_path):
    import duckdb

    table = absolute(rows=50, width=4)
    path = write(table, tmp_path, "parquet")
    rows = duckdb.sql(f"select position, pe from '{path}' order by position").fetchall()
    np.testing.assert_array_equal(np.array([row[1] for row in rows], np.float32), table.values["pe"])
    assert [row[0] for row in rows] == list(range(5, 55))
    ((_, value),) = duckdb.sql(f"select key, value from parquet_kv_metadata('{path}') where key = 'pecli'").fetchall()
    assert json.loads(value)["formula"] == "θ = p ω"


def test_an_npz_with_words_beside_its_numbers_is_read(tmp_path):
    np.savez(tmp_path / "a.npz", pe=np.ones((3, 2)), names=np.array(["a", "bc"]), recipe=np.array("no json"))
    with open_table(tmp_path / "a.npz") as found:
        assert (found.keys(), found.recipe) == (("pe",), None)


def test_duckdb_reads_wide_parquet(tmp_path):
    import duckdb

    table = absolute(rows=50, width=4)
    path = write(table, tmp_path, "parquet", wide=True)
    assert duckdb.sql(f"select * from '{path}'").columns == ["position", "pe0", "pe1", "pe2", "pe3"]
    column = duckdb.sql(f"select pe2 from '{path}' order by position").fetchall()
    np.testing.assert_array_equal(np.array(column, np.float32)[:, 0], table.values["pe"][:, 2])


def test_parquet_of_a_bias_has_a_row_for_each_head_and_query(tmp_path):
    import duckdb

    table = bias()
    path = write(table, tmp_path, "parquet")
    assert duckdb.sql(f"select * from '{path}'").columns == ["head", "query", "bias"]
    ((row,),) = duckdb.sql(f"select bias from '{path}' where head = 2 and query = 9").fetchall()  # queries begin at 2
    np.testing.assert_array_equal(np.array(row, np.float32), table.values["bias"][2, 7])


def test_parquet_of_distances_numbers_them_from_below_zero(tmp_path):
    import duckdb

    table = distances()
    path = write(table, tmp_path, "parquet")
    ((row,),) = duckdb.sql(f"select bias from '{path}' where head = 1 and distance = -19").fetchall()
    assert np.float32(row) == table.values["bias"][1, 0]


def test_parquet_holds_complex_values_as_pairs(tmp_path):
    import pyarrow.parquet as pq

    table = rotations()
    found = pq.read_table(write(table, tmp_path, "parquet")).column("cis").to_pylist()
    np.testing.assert_array_equal(np.array(found, np.float32).view(np.complex64)[..., 0], table.values["cis"])


def test_pyarrow_reads_arrow(tmp_path):
    import pyarrow as pa

    table = pairs()
    with pa.OSFile(str(write(table, tmp_path, "arrow"))) as file:
        found = pa.ipc.open_file(file).read_all()
    np.testing.assert_array_equal(np.array(found.column("cos_sin").to_pylist(), np.float32), table.values["cos_sin"])
    assert found.column("position").to_pylist() == list(range(70))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_safetensors_reads_safetensors(dtype, tmp_path):
    from safetensors.numpy import load_file

    table = rotary(dtype)
    found = load_file(write(table, tmp_path, "safetensors"))
    np.testing.assert_array_equal(found["cos"], table.values["cos"])
    np.testing.assert_array_equal(found["sin"], table.values["sin"])


def test_safetensors_holds_bfloat16_and_its_recipe(tmp_path):
    from safetensors import deserialize, safe_open

    table = absolute("bfloat16")
    path = write(table, tmp_path, "safetensors")
    (name, tensor), *rest = deserialize(path.read_bytes())
    assert (name, tensor["dtype"], tensor["shape"], rest) == ("pe", "BF16", [70, 6], [])
    assert bytes(tensor["data"]) == table.values["pe"].tobytes()
    with safe_open(path, "numpy") as file:
        assert json.loads(file.metadata()["pecli"])["recipe"] == RECIPE
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0


def test_duckdb_reads_csv(tmp_path):
    import duckdb

    table = absolute(rows=20, width=3)
    path = write(table, tmp_path, "csv")
    assert path.read_text().splitlines()[0] == "position,pe0,pe1,pe2"
    rows = np.array(duckdb.sql(f"select * from '{path}'").fetchall())
    np.testing.assert_array_equal(rows[:, 1:].astype(np.float32), table.values["pe"])


def test_json_is_one_object_of_recipe_and_arrays(tmp_path):
    table = bias()
    found = json.loads(write(table, tmp_path, "json").read_text())
    assert list(found) == ["recipe", "metadata", "arrays"]
    assert found["recipe"] == RECIPE
    values = found["arrays"]["bias"]["values"]
    assert values[0][3][4] == "-inf"
    assert np.float32(values[2][1][0]) == table.values["bias"][2, 1, 0]


# Which format


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.npy", "npy"), ("b.NPZ", "npz"), ("c.h5", "hdf5"), ("c.hdf5", "hdf5"), ("d.parquet", "parquet"), ("-", "npy"),
     ("/dev/null", "npy"), ("e.csv", "csv"), ("f.json", "json"), ("g.arrow", "arrow"),
     ("h.safetensors", "safetensors")],
)  # fmt: skip
def test_the_suffix_means_the_format(path, name):
    assert format_for(path).name == name
    assert format_for(path, "csv").name == "csv"


def test_an_unknown_format_or_suffix_names_the_nearest():
    with pytest.raises(UnknownName, match=r"did you mean '.parquet'"):
        format_for("pe.parqet")
    with pytest.raises(UnknownName, match=r"did you mean 'hdf5'"):
        format_for("pe.npy", "hdf")


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if "bfloat16" not in form.dtypes])
def test_bfloat16_is_refused_where_there_is_none(name, tmp_path):
    with pytest.raises(BadParameter, match=r"has no bfloat16.*use hdf5.*safetensors"):
        write(absolute("bfloat16"), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ONE_SHAPE)
def test_arrays_of_unequal_shape_are_refused_where_they_do_not_fit(name, tmp_path):
    with pytest.raises(BadParameter, match=r"vector .*9x4, index .*5x5.*use npz or hdf5"):
        write(unequal(), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_an_option_that_a_format_has_no_use_for_is_refused(tmp_path):
    with pytest.raises(BadParameter, match=r"compress=true has no effect on npy"):
        write(absolute(), tmp_path, "npy", compress=True)
    with pytest.raises(BadParameter, match=r"wide=true has no effect on hdf5: .* parquet"):
        write(absolute(), tmp_path, "hdf5", wide=True)


def test_a_wide_table_of_too_many_columns_is_refused(tmp_path):
    write(Formula(4096 * 2, 600), tmp_path, "parquet", wide=True)
    with pytest.raises(BadParameter, match="wide=true would make 18,001,800 column chunks"):
        write(Formula(100 * 2**20, 600), tmp_path, "parquet", wide=True)


def test_an_empty_array_is_refused(tmp_path):
    for name in FORMATS:
        with pytest.raises(BadParameter, match="nothing to write of 'pe': it is empty"):
            write(Formula(0, 4), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_listing_the_formats_loads_no_heavy_package():
    import sys

    code = "import sys, pecli.formats; print(*[m for m in ('numpy', 'h5py', 'pyarrow') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
