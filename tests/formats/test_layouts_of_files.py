"""Files of cosines and sines as other programs keep them, in another layout or type: values in, values out."""

import numpy as np
import pytest

from pecli import apply, open_table

ANGLES = np.arange(6)[:, None] * 10000.0 ** (-np.arange(4) / 4)
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
FILES = {
    "split": {"cos": COS, "sin": SIN},
    "half": {"cos": np.tile(COS, 2), "sin": np.tile(SIN, 2)},
    "interleaved": {"cos": COS.repeat(2, 1), "sin": SIN.repeat(2, 1)},
    "concat": {"cos_sin": np.hstack([COS, SIN])},
    "sin-cos": {"sin_cos": np.hstack([SIN, COS])},
    "pairs": {"cos_sin": np.stack([COS, SIN], -1)},
    "complex": {"cis": (COS + 1j * SIN).astype(np.complex64)},
}


@pytest.mark.parametrize("after", [name for name in FILES if name != "complex"])
@pytest.mark.parametrize("before", FILES)
def test_a_file_in_one_layout_becomes_another_to_the_bit(before, after, pecli, tmp_path):
    np.savez(tmp_path / "a.npz", **FILES[before])
    done = pecli("convert", "a.npz", "--layout", after, "-o", "b.npz")
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "b.npz")
    for name, values in FILES[after].items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("before", ["split", "half", "interleaved"])
def test_cosines_and_sines_stacked_in_one_array_are_told_apart(before, pecli, tmp_path):
    np.save(tmp_path / "a.npy", np.stack(list(FILES[before].values())))
    done = pecli("convert", "a.npy", "--from-layout", before, "--layout", "concat", "-o", "b.csv")
    assert done.returncode == 0, done.stderr
    with open_table(tmp_path / "b.csv") as table:
        np.testing.assert_array_equal(np.float32(table.read(table.arrays[0].name)), FILES["concat"]["cos_sin"])


@pytest.mark.parametrize(("name", "dtype"), [("split", np.float16), ("concat", np.float32)])
def test_a_complex_table_takes_the_type_that_is_asked_for(name, dtype, pecli, tmp_path):
    np.savez(tmp_path / "a.npz", **{key: values.astype(dtype) for key, values in FILES[name].items()})
    words = ("--from-layout", name, "--layout", "complex", "--dtype", "float64")
    done = pecli("convert", "a.npz", *words, "-o", "b.npz")
    assert done.returncode == 0, done.stderr
    expected = COS.astype(dtype).astype(np.float64) + 1j * SIN.astype(dtype)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npz")["cis"], expected)
    done = pecli("convert", "b.npz", "--dtype", "float32", "-o", "c.npz")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "c.npz")["cis"], expected.astype(np.complex64))


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("complex", "--dtype float16", "has no complex type for cis: use float32 or float64"),
        ("constant", "--layout half", "give pecli convert --from-layout"),
        ("split", "--from-layout pairs --layout half", "does not fit the arrays cos (6, 4), sin (6, 4)"),
        ("split", "--from-layout split --layout angles", "generate that table instead"),
        ("split", "--from-layout half-split --layout half", "half-split"),
        ("concat", "--from-layout split --layout half", "needs cos and sin, and cos_sin has shape (6, 8)"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(name, words, says, refuses, tmp_path):
    np.savez(tmp_path / "a.npz", **FILES.get(name, {"cos": np.ones((6, 8)), "sin": np.zeros((6, 8))}))
    refuses("convert", "a.npz", *words.split(), "-o", "b.npz", says=says)


@pytest.mark.parametrize("layout", ["split", "half", "interleaved"])
def test_a_pair_of_any_layout_rotates(layout, tmp_path):
    q = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    np.savez(tmp_path / "a.npz", **FILES[layout])
    x, y = q[:, :4], q[:, 4:]
    expected = np.hstack([x * COS - y * SIN, y * COS + x * SIN])
    found = apply(tmp_path / "a.npz", q, pairs="half")["array"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_half_precision_is_not_made_complex(refuses, tmp_path):
    np.savez(tmp_path / "a.npz", **{key: values.astype(np.float16) for key, values in FILES["split"].items()})
    words = ("--from-layout", "split", "--layout", "complex")
    refuses("convert", "a.npz", *words, "-o", "b.npz", says="needs float32 or float64 values, and these are float16")


@pytest.mark.parametrize("suffix", ["h5", "npz", "parquet", "arrow", "json", "csv", "safetensors"])
def test_a_mask_of_truth_values_keeps_them(suffix, pecli, tmp_path):
    mask = np.tril(np.ones((5, 11), bool))
    np.save(tmp_path / "mask.npy", mask)
    done = pecli("convert", "mask.npy", "-o", f"b.{suffix}")
    assert done.returncode == 0, done.stderr
    with open_table(tmp_path / f"b.{suffix}") as table:
        np.testing.assert_array_equal(table.read(table.arrays[0].name).astype(bool), mask)


def test_a_single_number_goes_with_the_table_into_hdf5(pecli, tmp_path):
    np.savez(tmp_path / "a.npz", pe=COS, scale=np.float32(0.5))
    done = pecli("convert", "a.npz", "-o", "b.h5")
    assert done.returncode == 0, done.stderr
    with open_table(tmp_path / "b.h5") as table:
        assert table.read("scale") == 0.5
        np.testing.assert_array_equal(table.read("pe"), COS)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_an_array_that_is_named_as_the_positions_comes_back(suffix, pecli, tmp_path):
    np.savez(tmp_path / "a.npz", position=COS, sin=SIN)
    done = pecli("convert", "a.npz", "-o", f"b.{suffix}")
    assert done.returncode == 0, done.stderr
    with open_table(tmp_path / f"b.{suffix}") as table:
        for name, values in (("position", COS), ("sin", SIN)):
            np.testing.assert_array_equal(np.float32(table.read(name)), values)
