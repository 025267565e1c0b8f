"""Small files that inflate to gigabytes, or state lengths by which a library takes memory: both are bounded."""

import itertools
import struct
import zlib

import h5py
import numpy as np
import pytest

from pecli.cli.run import run
from pecli.errors import BadFile, BadParameter
from pecli.formats import open_table
from pecli.numbers.positions import Positions
from tests.formats.measured import measured

MOST = 160  # MiB of a command that refuses a bomb; it takes 50 for itself
BOMB = 256 << 20


def deflated(size, **options):
    """A stream of zeros."""
    stream = zlib.compressobj(9, **options)
    piece = bytes(1 << 24)
    return b"".join(stream.compress(piece) for _ in range(size >> 24)) + stream.flush()


def with_chunk(path, data, side=4, **filters):
    """Write a square dataset in one chunk, whose bytes in the file are `data`."""
    with h5py.File(path, "w") as file:
        made = file.create_dataset("pe", (side, side), "f4", chunks=(side, side), **filters)
        made.id.write_direct_chunk((0, 0), data)


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param({"compression": "gzip"}, marks=pytest.mark.exhaustive, id="deflate"),
        pytest.param({"compression": "gzip", "shuffle": True}, id="deflate and shuffle"),
    ],
)
def test_a_chunk_of_hdf5_inflates_to_no_more_than_its_values(tmp_path, filters):
    """The library inflated all of it, and the table read as zeros, with status 0."""
    with_chunk(tmp_path / "bomb.h5", deflated(BOMB), 64, **filters)  # of less, older versions cannot write it
    status, said, peak = measured(tmp_path, "inspect", "bomb.h5")
    assert status == 2
    assert "a chunk of 'pe' that does not inflate to its 16,384 bytes" in said
    assert peak < MOST


@pytest.mark.parametrize(
    "data", [deflated(0) + b"", zlib.compress(bytes(60)), zlib.compress(bytes(65)), b"\x78\x9c\xff"]
)
def test_a_chunk_of_hdf5_that_inflates_to_another_size_is_damaged(tmp_path, data):
    with_chunk(tmp_path / "x.h5", data, compression="gzip")
    with open_table(tmp_path / "x.h5") as table, pytest.raises(BadFile, match="does not inflate to its 64 bytes"):
        table.read("pe")


@pytest.mark.parametrize(
    "filters",
    [
        {"compression": "gzip"}, {"compression": "gzip", "shuffle": True, "fletcher32": True}, {"fletcher32": True},
        {"shuffle": True}, {"compression": "lzf"}, {"compression": "lzf", "shuffle": True, "fletcher32": True},
    ],
    ids=lambda filters: "-".join(filters),
)  # fmt: skip
def test_filtered_chunks_are_read_as_before(tmp_path, filters):
    """Whole and in parts of every length, where chunks stand over the edges of the dataset."""
    shapes = [((37, 5), (8, 3)), ((3, 7, 6), (2, 3, 6)), ((50,), (7,)), ((4, 4, 4, 2), (2, 3, 1, 2))]
    for (shape, chunks), rows in itertools.product(shapes, (1, 3, 1000)):
        values = np.random.default_rng(1).integers(-9, 9, shape).astype("f4")
        path = tmp_path / f"{len(shape)}-{rows}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("pe", data=values, chunks=chunks, **filters)
        with open_table(path) as table:
            (array,) = table.arrays
            parts = [
                table.read_rows(["pe"], start, min(start + rows, array.rows))["pe"]
                for start in range(0, array.rows, rows)
            ]
        np.testing.assert_array_equal(np.concatenate(parts).reshape(shape), values)


def test_a_text_in_hdf5_that_states_gigabytes_is_damaged(tmp_path):
    """The length of a text stands before the address and the number of what holds it: the library believed 2.9 GB."""
    assert run(["generate", "rope:dim=8,len=9", "-o", str(tmp_path / "x.h5")]) == 0
    data = bytearray((tmp_path / "x.h5").read_bytes())
    heap = data.index(b"GCOL")
    places = [at for at in range(len(data) - 12) if data[at : at + 8] == struct.pack("<Q", heap)]
    lengths = [at - 4 for at in places if 0 < int.from_bytes(data[at - 4 : at], "little") < 4096]
    assert len(lengths) > 4  # names of axes, for one
    for at in (lengths[0], lengths[-1]):
        changed = data[: at + 3] + b"\xb0" + data[at + 4 :]
        (tmp_path / "bomb.h5").write_bytes(changed)
        status, said, peak = measured(tmp_path, "inspect", "bomb.h5")
        assert (status, peak < MOST) == (2, True), (at, said, peak)
        assert "damaged" in said


@pytest.mark.parametrize("dtype", ["f4", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("i8", "f8"))])
def test_a_list_of_positions_takes_no_more_than_the_limit(tmp_path, dtype):
    """50 Mi of them are 60 KB in a compressed file; each was made a fraction of its own."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset("p", (50 << 20,), dtype, chunks=(1 << 20,), compression="gzip")
        chunk = zlib.compress(bytes(made.dtype.itemsize << 20))
        for start in range(0, 50 << 20, 1 << 20):
            made.id.write_direct_chunk((start,), chunk)
    status, said, peak = measured(tmp_path, "generate", "sinusoidal:dim=4", "--positions", "@x.h5", "-o", "x.npy")
    assert status == 2
    assert "--limit" in said
    assert peak < MOST


def test_a_million_fractional_positions_take_a_second(tmp_path):
    values = np.arange(1 << 20) / 4
    np.save(tmp_path / "p.npy", values)
    import time

    start = time.process_time()
    found = Positions.parse(f"@{tmp_path / 'p.npy'}")
    assert (found.lowest, found.highest) == (0, values[-1])
    np.testing.assert_array_equal(found.numbers(1000, 2000), values[1000:2000])
    assert time.process_time() - start < 1  # it was five


@pytest.mark.parametrize(
    "values",
    [
        [0.1, 0.2, -3.5], [0, 1, 2], [1e15 + 0.5, 2.0**-60], [5e-324, 1], [-(2.0**52) - 0.5], [0], [-0.0, 2.0**-52],
        [2.0**52, 2.0**-10], [2.0**53 - 1, 2.0**-11],
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_binary_positions_are_what_their_fractions_are(values, dtype):
    from fractions import Fraction

    with np.errstate(over="ignore"):
        array = np.array(values).astype(dtype)
    if not np.isfinite(array).all() or (np.abs(array.astype(float)) >= 2.0**53).any():
        return
    exact = [Fraction(v.item()) for v in array]
    found, expected = Positions.listed(array), Positions.listed(exact)
    assert list(found) == exact
    assert (found.lowest, found.highest) == (expected.lowest, expected.highest)
    np.testing.assert_array_equal(found.numbers(0, len(exact)), expected.numbers(0, len(exact)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 2.0**53, -(2.0**53)])
def test_arrays_of_what_are_no_positions_are_refused(wrong):
    with pytest.raises(BadParameter, match=r"finite|2\^53"):
        Positions.listed(np.array([1.0, wrong]))


@pytest.mark.parametrize("wrong", [1 << 53, -(1 << 53), -(1 << 63)])
def test_arrays_of_whole_numbers_beyond_positions_are_refused(wrong):
    with pytest.raises(BadParameter, match=r"2\^53"):
        Positions.listed(np.array([1, wrong]))
