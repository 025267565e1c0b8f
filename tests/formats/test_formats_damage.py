"""Damaged and odd files: refused with a sentence, never with an exception of a library."""

import json
import struct
import zipfile

import h5py
import numpy as np
import pytest

from pecli import Table
from pecli.errors import BadFile, PecliError, UnknownName, WriteFailed
from pecli.formats import FORMATS, format_for, open_table, write_table
from pecli.spec.tabular import Array
from tests.support.format_tables import WITHOUT_FACTS, Given, absolute

SUFFIX = {name: form.suffixes[0] for name, form in FORMATS.items()}


def refused(path, words):
    with pytest.raises(BadFile, match=words) as caught:
        read_all(path)
    assert "\n" not in str(caught.value)


def read_all(path):
    with open_table(path) as stored:
        for array in stored.arrays:
            if array.bytes < 1 << 24:
                stored.read(array.name)
        if stored.arrays[0].rows:
            stored.position(0, 1)


def variants():
    for name, form in FORMATS.items():
        yield pytest.param(name, {}, id=name)
        if form.compresses and name != "parquet":
            yield pytest.param(name, {"compress": True}, id=f"{name}-compressed")
        if form.widens:
            yield pytest.param(name, {"wide": True}, id=f"{name}-wide")


@pytest.mark.parametrize(("name", "options"), list(variants()))
def test_flipped_bytes_are_refused_or_read_but_never_a_crash(name, options, tmp_path):
    """Half of them near the beginning, where the structure is; some files are cut as well."""
    rng = np.random.default_rng(21)
    whole, path = tmp_path / f"whole{SUFFIX[name]}", tmp_path / f"damaged{SUFFIX[name]}"
    write_table(Table.parse("rope:dim=6,len=40"), whole, **options)
    data = whole.read_bytes()
    survived = 0
    turns = (
        60 if name == "hdf5" else 200
    )  # where a length is hit, the HDF5 library may ask for gigabytes, which takes seconds
    for turn in range(turns):
        damaged = bytearray(data)
        for place in rng.integers(0, min(len(data), 2000 if turn % 2 else len(data)), size=1 + turn % 4):
            damaged[place] = rng.integers(256)
        if turn % 10 == 0:
            del damaged[rng.integers(1, len(data)) :]
        path.write_bytes(damaged)
        try:
            read_all(path)
        except PecliError as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:
            survived += 1
    assert survived < turns


def test_labels_of_more_axes_than_an_hdf5_dataset_has_are_left_alone(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["pe"] = np.zeros((3, 4), np.float32)
        file["pe"].attrs.create("DIMENSION_LABELS", ["a", "b", "c"], dtype=h5py.string_dtype())
        file["other"] = np.zeros((3, 4), np.float32)
        file["other"].attrs["DIMENSION_LABELS"] = np.arange(2)
    with open_table(tmp_path / "x.h5") as stored:
        assert [(a.name, a.axes) for a in stored.arrays] == [("other", ("axis0", "axis1")), ("pe", ("axis0", "axis1"))]


# What follows the values


def test_bytes_behind_an_npy_array_are_counted(tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.save(file, np.zeros((3, 4), np.float32))
        file.write(b"more")
    refused(tmp_path / "x.npy", "has 4 bytes behind its array")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_bytes_behind_an_array_of_an_npz_are_counted(method, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4), np.float32))
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
        archive.writestr("a.npy", (tmp_path / "a.npy").read_bytes() + b"more")
    refused(tmp_path / "x.npz", "has 4 bytes behind its array")


def test_bytes_behind_an_npz_are_refused_and_a_comment_is_not(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros((3, 4), np.float32))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.comment = b"a comment"
    read_all(tmp_path / "x.npz")
    with open(tmp_path / "x.npz", "ab") as file:
        file.write(b"more")
    refused(tmp_path / "x.npz", "goes on behind the end of its archive")


@pytest.mark.parametrize(
    ("places", "size", "words"),
    [
        ([(0, 8), (8, 16)], 20, "has 4 bytes behind its tensors"),
        ([(0, 8), (4, 12)], 12, "gives 't1' a place that overlaps 't0'"),
        ([(0, 8), (12, 20)], 20, "gives 't1' a place that leaves 4 bytes behind 't0'"),
        ([(4, 12), (12, 20)], 20, "gives 't0' a place that leaves 4 bytes behind the header"),
        ([(8, 16), (0, 8)], 16, None),
    ],
)
def test_tensors_that_overlap_or_leave_gaps_are_refused_as_by_the_package(places, size, words, tmp_path):
    from safetensors import SafetensorError, safe_open

    header = {f"t{i}": {"dtype": "F32", "shape": [2], "data_offsets": at} for i, at in enumerate(places)}
    text = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(size))
    if words is None:
        read_all(path)
        with safe_open(path, "numpy") as file:
            assert sorted(file.keys()) == ["t0", "t1"]
    else:
        refused(path, words)
        with pytest.raises(SafetensorError), safe_open(path, "numpy"):
            pass


# JSON


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 50_000 + "]" * 50_000, "is not JSON"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "is not JSON"),
        ("[" * 40 + "1" + "]" * 40, "has 40 levels of lists"),
        ('{"arrays":{"a":{"values":[1e39],"dtype":"float32"}}}', "holds '1e.39' in 'a', .* the largest float32"),
        ('{"arrays":{"a":{"values":[1, 300],"dtype":"uint8"}}}', "holds '300' in 'a', .* the largest uint8"),
        ('{"arrays":{"a":{"values":[1],"dtype":"S5"}}}', "says 'a' to be of type 'S5'"),
        ('{"arrays":{"a":{"values":[1],"dtype":[1]}}}', "says 'a' to be of type"),
        ('{"arrays":{"a":{"values":[1],"shape":5}}}', "says another shape"),
        ('{"arrays":{"a":{"values":[[1,2,3,4]],"dtype":"complex64"}}}', "that are not pairs"),
    ],
)
def test_json_that_cannot_be_is_refused(text, words, tmp_path):
    (tmp_path / "x.json").write_text(text)
    refused(tmp_path / "x.json", words)


# Texts that are no UTF-8


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in WITHOUT_FACTS])
def test_facts_that_are_no_text_are_written_as_escapes(name, tmp_path):
    path = tmp_path / f"x{SUFFIX[name]}"
    array = Array("pe", (2, 3), "float32", ("position", "channel"))
    table = Given([array], {"pe": np.ones((2, 3), np.float32)}, np.arange(2), "some:file=\udcff", {"formula": "\ud800"})
    write_table(table, path, threads=1)
    with open_table(path) as stored:
        assert stored.recipe == "some:file=\\udcff"
        assert stored.metadata["formula"] == "\\ud800"


def test_an_hdf5_attribute_of_any_bytes_can_be_written_on(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["p"] = np.zeros((3, 4), np.float32)
        file.attrs["note"] = b"\xff"
        file.attrs[b"n\xff"] = "named so"
        file.attrs.create("more", b"\xff", dtype=h5py.string_dtype())
    for name in FORMATS:
        with open_table(tmp_path / "x.h5") as stored:
            write_table(stored, tmp_path / f"y{SUFFIX[name]}", threads=1)
        read_all(tmp_path / f"y{SUFFIX[name]}")


def test_an_hdf5_name_that_is_no_text_can_be_read(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file[b"p\xff"] = np.zeros((3, 4), np.float32)
    with open_table(tmp_path / "x.h5") as stored:
        (name,) = stored
        assert name.encode()  # a text
        assert not stored.read(name).any()


def test_a_json_name_that_is_no_text_can_be_written_on(tmp_path):
    (tmp_path / "x.json").write_text('{"\\ud800": [[1.5]]}')
    with open_table(tmp_path / "x.json") as stored:
        write_table(stored, tmp_path / "x.safetensors", threads=1)
    read_all(tmp_path / "x.safetensors")


# Where it should go


def test_a_place_without_a_suffix_or_a_folder_is_said_to_be_one(tmp_path):
    with pytest.raises(WriteFailed, match=r"^pe: has no suffix: add one of \.npy \.npz .*, or give --format$"):
        format_for("pe")
    with pytest.raises(WriteFailed, match=r"^\.: is a folder: name a file in it$"):
        format_for(".")
    for suffix, meant in ((".pt", ".safetensors"), (".txt", ".csv")):
        with pytest.raises(UnknownName, match=rf"unknown suffix '{suffix}': did you mean '{meant}'"):
            format_for(f"x{suffix}")
    with pytest.raises(UnknownName, match=r"unknown suffix '\.npx'"):
        format_for("pe.npx")
    assert format_for("-").name == format_for("/dev/null").name == "npy"


def test_a_file_system_that_counts_no_space_is_not_called_full(tmp_path, monkeypatch):
    import shutil
    from types import SimpleNamespace

    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=0, used=0, free=0))
    write_table(absolute(), tmp_path / "x.npy", threads=1)
    assert (tmp_path / "x.npy").exists()


@pytest.mark.skipif(not hasattr(__import__("os"), "statvfs"), reason="no /proc")
def test_a_place_where_no_file_can_be_made_is_named_as_such():
    with pytest.raises(WriteFailed, match=r"^/proc/a\.npy: (cannot be written|the folder /proc)") as caught:
        write_table(absolute(), "/proc/a.npy", threads=1)
    assert "full" not in str(caught.value)


def test_the_nearest_name_is_the_one_with_the_same_letters():
    assert str(UnknownName("format", "nyp", FORMATS)) == "unknown format 'nyp': did you mean 'npy'?"
    assert str(UnknownName("format", "npx", FORMATS)) == "unknown format 'npx': did you mean 'npy'?"
    assert "known: npy, npz" in str(UnknownName("format", "zzz", FORMATS))
    assert str(UnknownName("name", "x", [])).startswith("unknown name 'x'")
