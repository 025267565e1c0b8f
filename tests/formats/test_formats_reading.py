"""Files of any origin: what is read, and what is refused with a sentence."""

import contextlib
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from pecli.errors import BadFile, PecliError, UnknownName
from pecli.formats import FORMATS, open_table, write_table
from pecli.formats.decimals import shortest
from tests.conftest import ROOT, clean_environment
from tests.support.commands import streams
from tests.support.format_tables import ONE_SHAPE, Constant, absolute, bias, rotary, sampled, unequal

SUFFIX = {name: form.suffixes[0] for name, form in FORMATS.items()}


def values(shape=(50, 6), dtype="float32"):
    return np.random.default_rng(3).normal(size=shape).astype(dtype)


def read(path, name="array"):
    with open_table(path) as stored:
        return stored.read(name)


# Files that others wrote


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">f8", "<f2", ">f2", "<i4", ">i8", "|u1", "|b1", ">c8", "<c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_either_byte_order_and_layout(dtype, order, tmp_path):
    for shape in [(7,), (50, 6), (3, 20, 5), (2, 9, 4, 2)]:
        expected = np.asarray(values(shape) * 50).astype(dtype)
        np.save(tmp_path / "x.npy", np.asarray(expected, order=order))
        np.testing.assert_array_equal(read(tmp_path / "x.npy"), expected)
        with open_table(tmp_path / "x.npy") as stored:
            array = stored.arrays[0]
            found = stored.read_rows(["array"], 1, array.rows - 1)["array"]
        np.testing.assert_array_equal(found, expected.reshape(array.rows, *array.row_shape)[1:-1])


def test_npy_of_one_number_and_of_none(tmp_path):
    np.save(tmp_path / "x.npy", np.float32(2.5))
    assert read(tmp_path / "x.npy").shape == ()
    np.save(tmp_path / "x.npy", np.empty((0, 4), np.float32))
    assert read(tmp_path / "x.npy").shape == (0, 4)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_of_every_version(version, tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, values(), version=version)
    np.testing.assert_array_equal(read(tmp_path / "x.npy"), values())


def test_a_very_long_row_is_read_in_pieces(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 5_000_000), np.float32))
    with open_table(tmp_path / "x.npy") as stored:
        assert max(block.values["array"].nbytes for block in stored.blocks()) <= 16 << 20


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_that_numpy_wrote(save, tmp_path):
    save(tmp_path / "x.npz", cos=values(), sin=values() + 1, swapped=values().astype(">f8"), turned=values((4, 9, 5)).T)
    with open_table(tmp_path / "x.npz") as stored:
        assert [array.name for array in stored.arrays] == ["cos", "sin", "swapped", "turned"]
        np.testing.assert_array_equal(stored.read("sin"), values() + 1)
        np.testing.assert_array_equal(stored.read("swapped"), values().astype("f8"))
        np.testing.assert_array_equal(stored.read("turned"), values((4, 9, 5)).T)
        np.testing.assert_array_equal(stored.read_rows(["cos"], 40, 50)["cos"], values()[40:])
        np.testing.assert_array_equal(stored.read_rows(["cos"], 3, 9)["cos"], values()[3:9])  # backwards


def test_a_position_array_numbers_the_rows(tmp_path):
    np.savez(tmp_path / "x.npz", pe=values(), position=np.arange(50) * 3)
    with open_table(tmp_path / "x.npz") as stored:
        assert [array.name for array in stored.arrays] == ["pe"]
        assert stored.position(4, 6).tolist() == [12, 15]
    with open_table(f"{tmp_path}/x.npz::position") as stored:
        assert stored.read("position").tolist() == (np.arange(50) * 3).tolist()


def test_hdf5_that_h5py_wrote(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["plain"] = values()
        file["swapped"] = values().astype(">f8")
        file.create_dataset("deep/er/chunked", data=values((30, 40, 20)), chunks=(7, 9, 20), compression="gzip")
        file.create_dataset("lzf", data=values(), compression="lzf")
        file.create_dataset("compact", data=values((3, 2)), dcpl=compact())
        file["text"] = "no numbers"
        file["number"] = 1.5
        file.attrs["note"] = "\x1b[31mred"
        file.attrs["size"] = 7
    with open_table(tmp_path / "x.h5") as stored:
        assert {array.name for array in stored.arrays} == {
            "plain", "swapped", "deep/er/chunked", "lzf", "compact", "number",
        }  # fmt: skip
        for name in ("plain", "swapped", "lzf"):
            np.testing.assert_array_equal(stored.read(name), values())
        np.testing.assert_array_equal(stored.read("deep/er/chunked"), values((30, 40, 20)))
        found = stored.read_rows(["deep/er/chunked"], 33, 201)["deep/er/chunked"]
        np.testing.assert_array_equal(found, values((30, 40, 20)).reshape(1200, 20)[33:201])
        assert stored.read("number") == 1.5
        assert stored.metadata == {"note": "\x1b[31mred", "size": "7"}
        assert stored.recipe is None


def test_hdf5_behind_a_block_of_another_program(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.mat", "w", userblock_size=512) as file:
        file["pe"] = values()
        file.create_dataset("packed", data=values(), compression="gzip")
    with open(tmp_path / "x.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    assert (tmp_path / "x.mat").read_bytes().startswith(b"MATLAB 7.3")
    for name in ("pe", "packed"):
        np.testing.assert_array_equal(read(tmp_path / "x.mat", name), values())


def compact():
    from h5py import h5d, h5p

    plan = h5p.create(h5p.DATASET_CREATE)
    plan.set_layout(h5d.COMPACT)
    return plan


def test_parquet_that_pyarrow_wrote(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({
        "name": ["a"] * 50,
        "lists": pa.array(values().tolist(), pa.list_(pa.float32())),
        "large": pa.array(values((50, 2, 3)).tolist(), pa.large_list(pa.list_(pa.float64()))),
        "x0": values()[:, 0], "x1": values()[:, 1], "x2": values()[:, 2],
        "alone": pa.array(range(50), pa.int32()),
        "position": pa.array(range(7, 57), pa.int64()),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=17)
    with open_table(tmp_path / "x.parquet") as stored:
        assert {array.name: array.shape for array in stored.arrays} == {
            "lists": (50, 6), "large": (50, 2, 3), "x": (50, 3), "alone": (50,),
        }  # fmt: skip
        np.testing.assert_array_equal(stored.read("lists"), values())
        np.testing.assert_array_equal(stored.read("large"), values((50, 2, 3)).astype("f4").astype("f8"))
        np.testing.assert_array_equal(stored.read("x"), values()[:, :3])
        np.testing.assert_array_equal(stored.read_rows(["lists"], 30, 45)["lists"], values()[30:45])
        np.testing.assert_array_equal(stored.read_rows(["lists"], 3, 25)["lists"], values()[3:25])
        assert stored.position(0, 2).tolist() == [7, 8]


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_arrow_that_pyarrow_wrote(kind, compression, tmp_path):
    import pyarrow as pa

    batch = pa.record_batch({"pe": pa.array(values().tolist(), pa.list_(pa.float32(), 6)), "position": list(range(50))})
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(
        str(tmp_path / "x.arrow"), batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        for start in (0, 20, 35):
            writer.write_batch(batch.slice(start, 20 if start == 0 else 15))
    with open_table(tmp_path / "x.arrow") as stored:
        np.testing.assert_array_equal(stored.read("pe"), values())
        np.testing.assert_array_equal(stored.read_rows(["pe"], 18, 37)["pe"], values()[18:37])
        assert stored.position(19, 21).tolist() == [19, 20]


def test_safetensors_that_the_package_wrote(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a.weight": values(), "b": values((3,), "float16")}, tmp_path / "m.safetensors", {"format": "pt"})
    with open_table(tmp_path / "m.safetensors") as stored:
        np.testing.assert_array_equal(stored.read("a.weight"), values())
        np.testing.assert_array_equal(stored.read("b"), values((3,), "float16"))
        assert stored.metadata == {"format": "pt"}
    with open_table(f"{tmp_path}/m.safetensors::b") as stored:
        assert [array.name for array in stored.arrays] == ["b"]


def test_a_tensor_of_a_type_without_numbers_is_left_out(tmp_path):
    header = json.dumps({
        "f8": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]},
        "bf": {"dtype": "BF16", "shape": [2], "data_offsets": [2, 6]},
    }).encode()  # fmt: skip
    (tmp_path / "m.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header + bytes([1, 2, 0x80, 0x3F, 0, 0x40])
    )
    with open_table(tmp_path / "m.safetensors") as stored:
        assert [array.name for array in stored.arrays] == ["bf"]
        assert stored.read("bf").tolist() == [0x3F80, 0x4000]


def test_one_array_of_a_file_is_named_after_two_colons(tmp_path):
    write_table(rotary(), tmp_path / "cs.h5", threads=1)
    with open_table(f"{tmp_path}/cs.h5::sin") as stored:
        assert [array.name for array in stored.arrays] == ["sin"]
    with pytest.raises(UnknownName, match="did you mean 'sin'"):
        open_table(f"{tmp_path}/cs.h5::sine")
    odd = tmp_path / "odd::name.npy"
    write_table(absolute(), odd, threads=1)
    assert read(odd).shape == (70, 6)


def test_a_file_without_a_suffix_is_recognised_by_its_content(tmp_path):
    for name in FORMATS:
        write_table(absolute(), tmp_path / "cache", format=name, threads=1)
        with open_table(tmp_path / "cache") as stored:
            assert stored.format == name


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input_is_read_and_recognised(name, tmp_path):
    path = tmp_path / f"pe{SUFFIX[name]}"
    write_table(absolute(), path, threads=1)
    with streams(path.read_bytes()), open_table("-") as table:
        found = table.format, table.read(table.arrays[0].name)
    held = absolute().values["pe"]
    values = np.array(shortest(held), np.float64) if name == "csv" else held  # a text says no type
    assert found[0] == name
    np.testing.assert_array_equal(found[1], values.reshape(held.shape))


def test_a_fifo_is_read(tmp_path):
    whole = tmp_path / "whole.npy"
    write_table(absolute(), whole, threads=1)
    fifo = tmp_path / "fifo.npy"
    os.mkfifo(fifo)
    with subprocess.Popen(["cp", whole, "/dev/stdout"], stdout=subprocess.DEVNULL):
        pass
    with subprocess.Popen(f"cat '{whole}' > '{fifo}'", shell=True):
        np.testing.assert_array_equal(read(fifo), absolute().values["pe"])


def test_a_stored_table_can_be_written_again_in_any_format(tmp_path):
    table = bias()
    write_table(table, tmp_path / "first.npz", threads=1, compress=True)
    path = tmp_path / "first.npz"
    for name in (*(name for name in FORMATS if name not in ("npy", "npz")), "npz"):
        with open_table(path) as stored:
            if path.suffix == ".csv":
                assert stored.take_type("float32")
            target = tmp_path / f"next-{name}{SUFFIX[name]}"
            write_table(stored, target, threads=4)
        path = target
    with open_table(path) as stored:
        np.testing.assert_array_equal(stored.read("bias"), table.values["bias"])


@pytest.mark.parametrize(
    "name", sampled(*(name for name in FORMATS if name != "json"), often=("hdf5", "parquet", "csv"))
)
def test_reading_takes_little_memory(name, tmp_path):
    size = 8_000_000 if name == "csv" else 300_000_000
    path = tmp_path / f"pe{SUFFIX[name]}"
    write_table(Constant(size // 4 // 512, 512), path, threads=1)
    code = (
        "import sys, pecli.formats\n"
        "with pecli.formats.open_table(sys.argv[1]) as table:\n"
        "    for block in table.blocks(): pass\n"
        "print(next(line for line in open('/proc/self/status') if 'VmHWM' in line).split()[1])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, path], cwd=ROOT, env=clean_environment(), capture_output=True, check=True
    )
    assert int(result.stdout) < 230 << 10


# Files that are refused


def read_all(path, form):
    with open_table(path, format=form) as table:
        for array in table.arrays:
            table.read(array.name)


def refused(path, *words, form=None):
    with pytest.raises(PecliError) as caught:
        read_all(path, form)
    message = str(caught.value)
    assert isinstance(caught.value, BadFile)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def test_what_is_not_there_or_no_file_is_refused(tmp_path):
    refused(tmp_path / "missing.npy", "does not exist")
    refused(tmp_path, "is a folder")
    (tmp_path / "empty.npy").write_bytes(b"")
    refused(tmp_path / "empty.npy", "is empty")
    refused(tmp_path / "p\0.npy", "cannot be read")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
def test_a_file_that_is_not_what_its_suffix_says_is_refused(name, other, tmp_path):
    path = tmp_path / f"pe{SUFFIX[other]}"
    write_table(absolute(), path, format=name, threads=1)
    if name != other:
        refused(path)
        refused(path, form=other)


def test_the_refusal_says_what_the_file_is(tmp_path):
    write_table(absolute(), tmp_path / "pe.npy", format="hdf5", threads=1)
    refused(tmp_path / "pe.npy", "holds HDF5, and its name says NumPy array: name it .h5")
    (tmp_path / "x.npy").write_bytes(b"\x1f\x8b\x08" + bytes(50))
    refused(tmp_path / "x.npy", "is a gzip file: unpack it first")
    (tmp_path / "x.npy").write_bytes(b"no table at all\n")
    refused(tmp_path / "x.npy", "is no NumPy array file")
    (tmp_path / "x").write_bytes(bytes(range(200, 250)) * 4)
    refused(tmp_path / "x", "is of no known format")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_cut_anywhere_is_refused(name, tmp_path):
    whole = tmp_path / f"whole{SUFFIX[name]}"
    write_table(absolute(rows=300), whole, threads=1)
    data = whole.read_bytes()
    path = tmp_path / f"cut{SUFFIX[name]}"
    cuts = [1, 5, 11, 64, 100, len(data) // 3, len(data) // 2, len(data) - 9, len(data) - 1]
    if name == "csv":  # every line of which is whole
        cuts = [1, data.rstrip().rindex(b"\n") + 12]
    if name == "json":
        cuts.pop()  # the newline at the end
    for cut in cuts:
        path.write_bytes(data[:cut])
        refused(path)


def test_an_arrow_stream_cut_between_two_batches_is_refused(tmp_path):
    import pyarrow as pa

    path = tmp_path / "x.arrow"
    with open_table(write_stream(tmp_path)) as stored:
        assert stored.arrays[0].rows == 10_000
    with pa.OSFile(str(tmp_path / "whole.arrow")) as file:
        reader = pa.ipc.open_stream(file)
        reader.read_next_batch()
        place = file.tell()
    path.write_bytes((tmp_path / "whole.arrow").read_bytes()[:place])
    with pa.OSFile(str(path)) as file:
        assert pa.ipc.open_stream(file).read_all().num_rows == 4096  # nobody else notices
    refused(path, "says 10000 rows and holds 4096: it is truncated")


def write_stream(tmp_path):
    path = tmp_path / "whole.arrow"
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(f"cat '{tmp_path}/fifo' > '{path}'", shell=True):
        write_table(absolute(rows=10_000), tmp_path / "fifo", format="arrow", threads=1)
    return path


class Dangerous:
    def __reduce__(self):
        return (os.mkdir, ("unpickled",))


def test_pickles_are_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.array([Dangerous()], dtype=object), allow_pickle=True)
    refused("x.npy", "Python objects", "never unpickled")
    np.savez("x.npz", allow_pickle=True, a=np.array([Dangerous()], dtype=object))
    refused("x.npz", "Python objects")
    with open("x.pkl", "wb") as file:
        pickle.dump(Dangerous(), file)
    refused("x.pkl", "is a Python pickle")
    with zipfile.ZipFile("model.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Dangerous()))
    refused("model.pt", "holds no tensor")
    assert not os.path.exists("unpickled")


def npy(header, data=b""):
    text = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 512)}", "says 2,048,000,000,000,000 bytes"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 64)}", "no array can have"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}", "no array can have"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4)}", "no array can have"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': 7}", "not NumPy's"),
        ("{'descr': '<f4', 'fortran_order': 'no', 'shape': (1,)}", "not NumPy's"),
        ("{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", "NumPy saves bfloat16 so"),
        ("{'descr': '|S4', 'fortran_order': False, 'shape': (1,)}", "not a known number type"),
        ("{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", "not a known number type"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "objects or records"),
        ("{'descr': 'O', 'fortran_order': False, 'shape': (1,)}", "Python objects"),
        ("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,)}", "not NumPy's"),
        ("{'shape': (1,)}", "not NumPy's"),
        ("__import__('os').mkdir('x')", "not NumPy's"),
        ("(" * 3000, "not NumPy's"),
        ("{'descr': " + " " * 20_000, "not NumPy's"),
    ],
)
def test_an_absurd_npy_header_is_refused(header, word, tmp_path):
    (tmp_path / "x.npy").write_bytes(npy(header, bytes(64)))
    refused(tmp_path / "x.npy", word)


def test_an_npy_of_a_future_version_is_refused(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x09\x00" + bytes(100))
    refused(tmp_path / "x.npy", "not NumPy's")


def test_a_member_that_claims_more_than_it_holds_is_refused(tmp_path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000,)}\n"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
            archive.writestr("a.npy", npy(header, bytes(1000)))
        refused(tmp_path / "x.npz", "says 400,000,000,000 bytes of values")


def test_a_zip_bomb_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000,)}\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(header, bytes(1000)))
    data = path.read_bytes()
    at = data.index(b"PK\x01\x02")
    size = 70 + 400_000_000_000
    extra = struct.pack("<HHQ", 1, 8, size)  # the directory claims a size that no deflated data of this length have
    entry = bytearray(data[at : data.index(b"PK\x05\x06")])
    entry[24:28] = b"\xff\xff\xff\xff"
    entry[30:32] = struct.pack("<H", len(extra))
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    end[12:16] = struct.pack("<I", len(entry) + len(extra))
    path.write_bytes(data[:at] + bytes(entry) + extra + bytes(end))
    refused(path, "more than it can hold")


def test_a_damaged_deflated_member_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=values())
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[200:230] = bytes(30)
    (tmp_path / "x.npz").write_bytes(data)
    refused(tmp_path / "x.npz", "damaged")


def test_links_and_other_files_are_not_followed_from_hdf5(tmp_path):
    import h5py

    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["pe"] = values()
    for link in (h5py.ExternalLink("other.h5", "/pe"), h5py.SoftLink("/own")):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file["pe"] = link
        refused(tmp_path / "x.h5", "holds no array of numbers")
        with h5py.File(tmp_path / "x.h5", "a") as file:
            file["own"] = values()
        with open_table(tmp_path / "x.h5") as stored:
            assert [*stored] == ["own"]
    layout = h5py.VirtualLayout((50, 6), "f4")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "pe", (50, 6))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_virtual_dataset("pe", layout)
    refused(tmp_path / "x.h5", "in other files")
    (tmp_path / "raw.bin").write_bytes(bytes(1200))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("pe", (50, 6), "f4", external=[(str(tmp_path / "raw.bin"), 0, 1200)])
    refused(tmp_path / "x.h5", "in other files")


def test_hdf5_in_a_circle_ends(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/pe"] = values()
        file["a/self"] = file["a"]
        file["a/root"] = file["/"]
    with open_table(tmp_path / "x.h5") as stored:
        assert [array.name for array in stored.arrays] == ["a/pe"]


def test_hdf5_values_that_were_never_written_are_refused(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("pe", (1 << 40, 512), "f4")
    refused(tmp_path / "x.h5", "does not hold them")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("pe", (1000, 512), "f4", chunks=(100, 512))[:300] = 1
    refused(tmp_path / "x.h5", "lacks chunks of 'pe'")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("pe", (1 << 20, 1 << 10), "f4", chunks=(1 << 19, 1 << 9))
    refused(tmp_path / "x.h5", "has chunks of")


def test_a_file_without_numbers_is_refused(tmp_path):
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["text"] = "words"
    refused(tmp_path / "x.h5", "holds no array of numbers")
    pq.write_table(pa.table({"a": ["b"]}), tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", "holds no array of numbers")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("readme.txt", "words")
    refused(tmp_path / "x.npz", "holds no array of numbers")
    (tmp_path / "x.json").write_text('{"model_type": "llama"}')
    refused(tmp_path / "x.json", "holds no array of numbers")


def test_a_missing_float_is_nan_as_pandas_writes_it_and_a_missing_integer_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    lists = pa.array([[1.0, None], [None, 4.0], [5.0, 6.0]], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"pe": lists}), path)
    with open_table(path) as stored:
        np.testing.assert_array_equal(stored.read("pe"), np.array([[1, np.nan], [np.nan, 4], [5, 6]], np.float32))
    pq.write_table(pa.table({"d0": [1.0, None, 3.0], "d1": [4.0, 5.0, None]}), path)
    with open_table(path) as stored:
        np.testing.assert_array_equal(stored.read("d"), [[1, 4], [np.nan, 5], [3, np.nan]])
    for positions in ([0, None], [0.0, None]):
        pq.write_table(pa.table({"position": positions, "d0": [1.0, 2.0]}), path)
        with pytest.raises(BadFile, match="missing values in the column 'position'"), open_table(path) as stored:
            stored.position(0, 2)


def test_lists_of_unequal_length_and_missing_lists_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    for rows, word in [([[1.0, 2.0], [3.0]], "unequal length"), ([[1.0], None], "missing values")]:
        pq.write_table(pa.table({"pe": pa.array(rows, pa.list_(pa.float32()))}), path)
        refused(path, word, "'pe'")
    (tmp_path / "x.json").write_text("[[1, 2], [3]]")
    refused(tmp_path / "x.json", "unequal length")


def test_damaged_parquet_pages_are_refused(tmp_path):
    path = tmp_path / "x.parquet"
    write_table(absolute(rows=3000), path, threads=1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    refused(path, "is truncated or damaged")


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}, "says 9 bytes of values and holds 8"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [4, 8]}, "4 bytes where its shape takes 8"),
        ({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}, "cannot be"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}, "-8 bytes"),
        ({"dtype": "F32", "shape": [2]}, "cannot be"),
        ([], "not an object"),
    ],
)
def test_an_absurd_safetensors_header_is_refused(entry, word, tmp_path):
    header = json.dumps({"pe": entry}).encode()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    refused(tmp_path / "x.safetensors", word)


def test_a_safetensors_header_longer_than_the_file_is_refused(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", 1 << 62) + b"{}")
    refused(tmp_path / "x.safetensors", form="safetensors")


def test_random_damage_is_refused_or_read_but_never_a_crash(tmp_path):
    rng = np.random.default_rng(1)
    for name in (name for name in FORMATS if name != "hdf5"):
        whole = tmp_path / f"whole{SUFFIX[name]}"
        write_table(absolute(rows=40) if name in ONE_SHAPE else unequal(), whole, threads=1)
        data = whole.read_bytes()
        path = tmp_path / f"damaged{SUFFIX[name]}"
        for _ in range(60):
            damaged = bytearray(data)
            for place in rng.integers(0, min(len(data), 400), size=3):
                damaged[place] = rng.integers(256)
            path.write_bytes(damaged)
            with contextlib.suppress(PecliError):
                read_all(path, None)


def test_objects_beside_arrays_of_an_npz_are_left_out(tmp_path):
    np.savez(tmp_path / "cache.npz", cos=np.ones((4, 2)), config=np.array([{"theta": 10000}], object))
    with open_table(tmp_path / "cache.npz") as held:
        assert [array.name for array in held.arrays] == ["cos"]
    np.savez(tmp_path / "only.npz", config=np.array([{"theta": 10000}], object))
    with pytest.raises(BadFile, match="objects or records, which are never unpickled"):
        open_table(tmp_path / "only.npz")


@pytest.mark.parametrize(("first", "text"), [
    ("[Content_Types].xml", "<x/>"), ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
])  # fmt: skip
def test_a_spreadsheet_is_told_what_to_save(tmp_path, first, text):
    with zipfile.ZipFile(tmp_path / "sheet.xlsx", "w") as archive:
        archive.writestr(first, text)
    with pytest.raises(BadFile, match=r"spreadsheet .*: save the sheet as csv"):
        open_table(tmp_path / "sheet.xlsx")
