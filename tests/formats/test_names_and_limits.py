"""Names that are no UTF-8 or that a spreadsheet would compute, little memory, and sizes that cannot be read back."""

import csv
import io
import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pecli.cli.run import run
from pecli.errors import BadFile, BadParameter
from pecli.formats import csv as csv_files
from pecli.formats import open_table, stored, write_table
from pecli.spec.tabular import InMemory

FORMULAS = ["=HYPERLINK(1)", "@SUM(1)", "+1x", "-1x", "=", "'=x"]


def in_arrow(path, table):
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)


@pytest.mark.parametrize("write", [lambda path, table: pq.write_table(table, path), in_arrow], ids=["parquet", "arrow"])
def test_a_whole_file_with_a_name_that_is_no_utf8_is_not_called_damaged(write, tmp_path):
    path = tmp_path / "x"
    write(path, pa.table({"peZb": pa.array(np.zeros(4, np.float32))}))
    path.write_bytes(path.read_bytes().replace(b"peZb", b"pe\xffb"))
    with pytest.raises(BadFile, match="a name in it is not UTF-8 text; rename it") as error:
        open_table(path)
    assert "damaged" not in str(error.value)


@pytest.mark.parametrize(
    "error", [MemoryError("x"), pa.lib.ArrowMemoryError("malloc of size 64 failed"), OSError(12, "x")]
)
def test_too_little_memory_is_said(error, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise error

    pq.write_table(pa.table({"pe": pa.array(np.zeros(4, np.float32))}), tmp_path / "x.parquet")
    monkeypatch.setattr("pecli.formats.deferred.pq.ParquetFile", fail)
    with pytest.raises(BadFile, match=r"there is too little memory here, or it is damaged; allow more \(ulimit -v\)"):
        open_table(tmp_path / "x.parquet")


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on Linux")
def test_pages_of_names_that_are_no_utf8(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    try:
        os.mkdir("parts")
        name = os.fsdecode(b"parts/p\xff.npz")
        open(name, "wb").close()
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    assert run(["generate", "rope:dim=4,len=8", "--shard", "0/1", "-o", name]) == 0
    assert run(["inspect", "parts", "--verify"]) == 0
    for picture in ("x.html", "x.svg"):
        assert run(["inspect", name, "--plot", picture]) == 0
        with open(picture, encoding="utf-8") as file:
            assert "udcff" in file.read() or picture == "x.svg"
    assert "internal error" not in capfd.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on Linux")
@pytest.mark.parametrize("suffix", ["npz", "h5", "parquet", "arrow", "arrows", "json", "safetensors"])
def test_a_path_that_is_no_utf8_is_verified_and_compared(suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"t\xff.") + suffix
    assert run(["generate", "rope:dim=8,len=4", "-o", name, "-q"]) == 0
    assert run(["verify", name, "-q"]) == 0
    assert run(["compare", name, "rope:dim=8", "-q"]) == 0


def test_the_memory_of_a_process_is_no_target(capfd):
    assert run(["generate", "rope:dim=8,len=4", "-o", "memory://pe.npy"]) == 2
    assert "is lost when it ends: name a file" in capfd.readouterr().err


@pytest.mark.parametrize("name", FORMULAS)
def test_a_header_of_csv_is_no_formula(name, tmp_path):
    """Of one array and of columns that are numbered; the name comes back."""
    values = np.arange(6, dtype=np.float32).reshape(3, 2) / 4
    write_table(InMemory({name: values}), tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text()
    header = next(csv.reader(io.StringIO(text)))
    assert not any(cell.startswith(("=", "@", "+", "-", "\t", "\r")) for cell in header)
    with open_table(tmp_path / "x.csv") as found:
        assert [array.name for array in found.arrays] == [name]
        np.testing.assert_array_equal(found.read(name), values)


def test_csv_is_written_only_where_it_can_be_read_back(tmp_path, monkeypatch):
    assert csv_files.MAX_ARRAYS == stored.MAX_ARRAYS == 1 << 16
    for module in (csv_files, stored):
        monkeypatch.setattr(module, "MAX_ARRAYS", 2048)
    with pytest.raises(BadParameter, match=r"at most 2,048 columns, and this table has 2,049: use npy"):
        write_table(InMemory({"pe": np.zeros((1, 2048), np.float32)}), tmp_path / "x.csv")
    assert not os.listdir(tmp_path)
    write_table(InMemory({"pe": np.ones((1, 2047), np.float32)}), tmp_path / "x.csv")
    with open_table(tmp_path / "x.csv") as found:
        assert found.arrays[0].shape == (1, 2047)


@pytest.mark.parametrize("line", [b"\n", b"\r\n", b" \n", b"\t \n", b"#\n", b"# none\r\n"])
@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.sample(3)
def test_ten_megabytes_of_nothing_take_no_time(line, place, tmp_path):
    """Each line was read by itself: 40 s."""
    nothing = line * (10_000_000 // len(line))
    if place == "last" and line.startswith(b"#"):
        return
    data = nothing + b"a,b\n1,2\n3,4\n" if place == "first" else b"a,b\n1,2\n3,4\n" + nothing
    (tmp_path / "x.csv").write_bytes(data)
    start = time.process_time()
    with open_table(tmp_path / "x.csv") as found:
        assert found.arrays[0].rows == 2
    assert time.process_time() - start < 3
