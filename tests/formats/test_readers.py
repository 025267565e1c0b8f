"""What other programs make of pecli's files: every reader that the README names, with the files that it names there.

A reader that is not installed is skipped with a word; `make readers` installs those that Python has.
"""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pecli.formats import write_table
from pecli.tables.table import Table

ROPE = "rope:dim=8,len=40,start=5"
SUFFIX = {"npy": ".npy", "npz": ".npz", "hdf5": ".h5", "parquet": ".parquet", "wide parquet": ".parquet", "csv": ".csv"}
SUFFIX |= {"json": ".json", "arrow": ".arrow", "safetensors": ".safetensors"}


def need(package):
    """The package, or a skip that names it."""
    return pytest.importorskip(package, reason=f"{package} is not installed: make readers installs it")


def columns(frame, names):
    """Columns cos0, cos1 .. of a frame as arrays."""
    return {n: np.stack([np.asarray(frame[f"{n}{i}"]) for i in range(4)], 1) for n in names}


def numpy_npy(path):
    return dict(zip(("cos", "sin"), np.load(path), strict=True))


def numpy_mmap(path):
    values = np.load(path, mmap_mode="r")
    assert isinstance(values, np.memmap)
    return {"cos": values[0], "sin": values[1]}


def numpy_npz(path):
    with np.load(path) as found:
        assert {k: found[k].shape for k in found.files} == {"cos": (40, 4), "sin": (40, 4), "recipe": ()}
        return {"cos": found["cos"], "sin": found["sin"]}


def numpy_csv(path):
    return columns(np.genfromtxt(path, delimiter=",", names=True), ("cos", "sin"))


def json_json(path):
    import json

    return {n: np.array(a["values"]) for n, a in json.loads(path.read_text())["arrays"].items() if n != "position"}


def h5py_hdf5(path):
    with need("h5py").File(path) as file:
        assert [d[0].name for d in file["cos"].dims] == ["/position", "/pair"]
        return {"cos": file["cos"][...], "sin": file["sin"][...]}


def h5dump_hdf5(path):
    if shutil.which("h5dump") is None:
        pytest.skip("h5dump is not installed: Debian's package hdf5-tools has it")
    raw = path.with_suffix(".raw")
    found = {}
    for name in ("cos", "sin"):
        subprocess.run(["h5dump", "-d", name, "-b", "LE", "-o", raw, path], check=True, capture_output=True)
        found[name] = np.fromfile(raw, "<f4").reshape(40, 4)
    return found


def ncdump_hdf5(path):
    if shutil.which("ncdump") is None:
        pytest.skip("ncdump is not installed: Debian's package netcdf-bin has it")
    shown = subprocess.run(["ncdump", "-p", "9", path], check=True, capture_output=True, text=True).stdout
    assert "float cos(position, pair) ;" in shown
    data = shown[shown.index("data:") :]
    texts = {name: re.search(rf" {name} =(.*?);", data, re.DOTALL)[1] for name in ("cos", "sin", "position")}
    assert [int(word) for word in texts["position"].split(",")] == list(range(5, 45))
    return {n: np.array(texts[n].split(","), dtype="f4").reshape(40, 4) for n in ("cos", "sin")}


def octave(path, script):
    """What GNU Octave makes of a file and writes as raw float32, column after column."""
    if shutil.which("octave-cli") is None:
        pytest.skip("octave-cli is not installed: Debian's package octave has it")
    raw = path.with_suffix(".raw")
    script = f"{script} f = fopen('{raw}', 'w'); fwrite(f, m, 'single'); fclose(f);"
    subprocess.run(
        ["octave-cli", "--no-history", "-qf", "--eval", script], check=True, capture_output=True, cwd=path.parent
    )
    return np.fromfile(raw, "<f4")


def octave_hdf5(path):
    """Octave's matrices are HDF5's with the axes in the other order, which is the same bytes."""
    return {n: octave(path, f"s = load('{path.name}'); m = s.{n};").reshape(40, 4) for n in ("cos", "sin")}


def octave_csv(path):
    rows = octave(path, f"m = dlmread('{path.name}', ',', 1, 0)';").reshape(40, 9)
    assert rows[:, 0].tolist() == list(range(5, 45))
    return {"cos": rows[:, 1:5], "sin": rows[:, 5:]}


def netcdf4_hdf5(path):
    with need("netCDF4").Dataset(path) as file:
        assert file["cos"].dimensions == ("position", "pair")
        assert file["position"][...].tolist() == list(range(5, 45))
        return {n: np.asarray(file[n][...]) for n in ("cos", "sin")}


def xarray_hdf5(engine):
    def read(path):
        need({"netcdf4": "netCDF4", "h5netcdf": "h5netcdf"}[engine])
        with need("xarray").open_dataset(path, engine=engine) as found:
            assert found["cos"].dims == ("position", "pair")
            assert found["position"].values.tolist() == list(range(5, 45))
            assert found.attrs["pecli_recipe"].startswith("rope:dim=8,")
            assert found["cos"].sel(position=7).shape == (4,)
            return {n: found[n].values for n in ("cos", "sin")}

    return read


def lists(table):
    """Two columns of lists of a table of Arrow."""
    return {n: np.array(table.column(n).to_pylist(), np.float32) for n in ("cos", "sin")}


def pyarrow_parquet(path):
    return lists(need("pyarrow.parquet").read_table(path))


def pyarrow_arrow(path):
    return lists(need("pyarrow.ipc").open_file(path).read_all())


def pyarrow_csv(path):
    return columns(need("pyarrow.csv").read_csv(path).to_pydict(), ("cos", "sin"))


def duckdb_lists(path):
    rows = need("duckdb").sql(f"select cos, sin from '{path}' order by position").fetchall()
    return {n: np.array([row[i] for row in rows], np.float32) for i, n in enumerate(("cos", "sin"))}


def duckdb_columns(path):
    return columns(need("duckdb").sql(f"select * from '{path}' order by position").fetchnumpy(), ("cos", "sin"))


def polars_lists(kind):
    def read(path):
        frame = getattr(need("polars"), f"read_{kind}")(path)
        return {n: frame[n].to_numpy() for n in ("cos", "sin")}

    return read


def polars_csv(path):
    return columns(need("polars").read_csv(path).to_dict(), ("cos", "sin"))


def polars_wide(path):
    return columns(need("polars").read_parquet(path).to_dict(), ("cos", "sin"))


def pandas_parquet(path):
    frame = need("pandas").read_parquet(path)
    return {n: np.stack(frame[n].to_list()) for n in ("cos", "sin")}


def pandas_csv(path):
    return columns(need("pandas").read_csv(path), ("cos", "sin"))


def safetensors_numpy(path):
    return need("safetensors.numpy").load_file(path)


READERS = {
    ("numpy", "npy"): numpy_npy,
    ("numpy (mmap)", "npy"): numpy_mmap,
    ("numpy", "npz"): numpy_npz,
    ("numpy", "csv"): numpy_csv,
    ("json", "json"): json_json,
    ("h5py", "hdf5"): h5py_hdf5,
    ("h5dump", "hdf5"): h5dump_hdf5,
    ("ncdump", "hdf5"): ncdump_hdf5,
    ("Octave", "hdf5"): octave_hdf5,
    ("Octave", "csv"): octave_csv,
    ("netCDF4", "hdf5"): netcdf4_hdf5,
    ("xarray (netcdf4)", "hdf5"): xarray_hdf5("netcdf4"),
    ("xarray (h5netcdf)", "hdf5"): xarray_hdf5("h5netcdf"),
    ("pyarrow", "parquet"): pyarrow_parquet,
    ("pyarrow", "arrow"): pyarrow_arrow,
    ("pyarrow", "csv"): pyarrow_csv,
    ("DuckDB", "parquet"): duckdb_lists,
    ("DuckDB", "wide parquet"): duckdb_columns,
    ("DuckDB", "csv"): duckdb_columns,
    ("polars", "parquet"): polars_lists("parquet"),
    ("polars", "wide parquet"): polars_wide,
    ("polars", "arrow"): polars_lists("ipc"),
    ("polars", "csv"): polars_csv,
    ("pandas", "parquet"): pandas_parquet,
    ("pandas", "csv"): pandas_csv,
    ("safetensors", "safetensors"): safetensors_numpy,
}


def written(tmp_path, form, text=ROPE):
    path = tmp_path / f"rope{SUFFIX[form]}"
    write_table(Table.parse(text), path, wide=form.startswith("wide"))
    return path


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(("reader", "form"), READERS, ids=str)
def test_a_reader_sees_the_values_that_were_written(reader, form, tmp_path):
    table, found = Table.parse(ROPE), READERS[reader, form](written(tmp_path, form))
    assert set(found) == {"cos", "sin"}
    for name, values in found.items():
        np.testing.assert_array_equal(np.asarray(values).astype(np.float32), table.read(name))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sinusoidal:dim=4,len=6", {"pe": ("position", "channel")}),
        ("sinusoidal:dim=4,len=6,dtype=bfloat16", {"pe": ("position", "channel")}),
        ("alibi:heads=2,len=5", {"bias": ("head", "query", "key")}),
        ("alibi:heads=2,len=5,form=distance", {"bias": ("head", "distance")}),
        ("shaw:dim=4,clip=3,len=5", {"vector": ("row", "channel"), "index": ("query", "key")}),
        (
            "transformer-xl:dim=8,heads=2,len=5",
            {
                "vector": ("row", "channel"),
                "index": ("query", "key"),
                "u": ("head", "channel_u"),  # of another width
                "v": ("head", "channel_u"),
            },
        ),
    ],
)
def test_xarray_calls_every_axis_by_its_name(text, shown, engine, tmp_path):
    xarray, _ = need("xarray"), need({"netcdf4": "netCDF4", "h5netcdf": "h5netcdf"}[engine])
    with xarray.open_dataset(written(tmp_path, "hdf5", text), engine=engine) as found:
        assert {name: held.dims for name, held in found.data_vars.items()} == shown
        assert all(name in found.coords for dims in shown.values() for name in dims)


def test_h5netcdf_reads_float16_which_netcdf_itself_has_not(tmp_path):
    xarray, _ = need("xarray"), need("h5netcdf")
    path = written(tmp_path, "hdf5", "sinusoidal:dim=4,len=6,dtype=float16")
    with xarray.open_dataset(path, engine="h5netcdf") as found:
        assert (found["pe"].dtype, found["pe"].dims) == (np.float16, ("position", "channel"))


def test_netcdf4_ends_its_process_on_float16(tmp_path):
    """Which `generate` and docs/files.md say; where this fails, netCDF has been mended and they may be too."""
    need("netCDF4")
    path = written(tmp_path, "hdf5", "rope:dim=4,len=6,dtype=float16")
    code = "import netCDF4, sys; [held[:] for held in netCDF4.Dataset(sys.argv[1]).variables.values()]"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False, capture_output=True).returncode < 0


def test_duckdb_reads_float16_parquet(tmp_path):
    text = "sinusoidal:dim=4,len=6,dtype=float16"
    rows = need("duckdb").sql(f"select pe from '{written(tmp_path, 'parquet', text)}' order by position").fetchall()
    np.testing.assert_array_equal(np.array([row[0] for row in rows], np.float16), Table.parse(text).read("pe"))


def test_the_keys_of_a_part_are_numbered_by_their_positions(tmp_path):
    with need("h5py").File(written(tmp_path, "hdf5", "alibi:heads=2,len=6,start=10,shard=1/2")) as file:
        assert (file["query"][...].tolist(), file["key"][...].tolist()) == ([13, 14, 15], list(range(10, 16)))


def test_the_readers_of_the_readme_are_those_that_are_tested():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    named = set()
    for line in readme[readme.index("| read by |") :].splitlines()[2:]:
        if not line.startswith("|"):
            break
        form, readers = (cell.strip() for cell in line.strip("|").split("|"))
        named |= {(reader.strip(), form) for reader in readers.split(",")}
    assert named == set(READERS)
    assert {form for _, form in READERS} == set(SUFFIX)
    assert importlib.import_module("pecli.formats").FORMATS.keys() == {form.removeprefix("wide ") for form in SUFFIX}
