"""Tables under the names and in the shapes that other programs load: --name, --lead, --with."""

import json

import mpmath
import numpy as np
import pytest

from pecli import compare, identify, open_table, table, write_table
from pecli.errors import BadParameter, UnknownName

CACHE = "rope:dim=8,len=16,layout=half,name=m.cos_cached+m.sin_cached,lead=2,with=inv_freq"


def test_what_a_state_dict_wants_is_written(pecli, tmp_path):
    path = tmp_path / "pe.safetensors"
    said = pecli("generate", "sinusoidal", "--dim", "8", "--len", "16", "--name", "pe", "--lead", "1", "-o", str(path))
    assert "pe 1 x 16 x 8 float32" in said.stderr
    from safetensors.numpy import load_file

    found = load_file(path)
    assert {name: array.shape for name, array in found.items()} == {"pe": (1, 16, 8)}
    assert (found["pe"][0] == table("sinusoidal:dim=8,len=16")["pe"]).all()
    assert pecli("inspect", str(path), "--verify").returncode == 0


@pytest.mark.parametrize("suffix", ["safetensors", "h5", "npz", "json"])
def test_names_and_axes_read_back_and_verify(suffix, pecli, tmp_path):
    path = tmp_path / f"cache.{suffix}"
    write_table(table(CACHE), path)
    found = open_table(path)
    assert {(a.name, a.shape) for a in found.arrays} == {
        ("m.cos_cached", (1, 1, 16, 8)), ("m.sin_cached", (1, 1, 16, 8)), ("m.inv_freq", (4,))
    }  # fmt: skip
    assert json.loads(pecli("inspect", str(path), "--verify", "--json").stdout)["verified"]
    assert compare(path, "rope:dim=8").equal
    assert identify(path).confidence == "sure"


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_frequencies_are_rounded_once_from_the_real_ones(dtype):
    made = table("rope:dim=8,base=12345,scaling=linear,factor=3,len=1,with=inv_freq", dtype=dtype)
    with mpmath.workdps(40):
        exact = [mpmath.mpf(12345) ** (-mpmath.mpf(i) / 4) / 3 for i in range(4)]
        wide = [float(w) for w in exact]
    found = made.read("inv_freq")
    assert made.array("inv_freq").dtype == ("float64" if dtype == "float64" else "float32")
    assert found.tolist() == (wide if dtype == "float64" else np.float32(wide).tolist())


def test_frequencies_are_a_frameworks_where_the_table_is():
    made = table("rope:dim=128,len=2,arithmetic=float32,with=inv_freq")
    exponents = np.arange(0, 128, 2, dtype=np.float32) / np.float32(128)
    powers = np.array([float(mpmath.mpf(10000) ** float(e)) for e in exponents]).astype(np.float32)
    assert (made["inv_freq"] == np.float32(1) / powers).all()


def test_slices_and_types_keep_the_names():
    made = table("rope:dim=8,len=16,name=a+b,lead=1")
    assert made[4:6].keys() == ("a", "b")
    assert made[4:6]["a"].shape == (1, 2, 4)
    assert (made[4:6]["b"][0] == table("rope:dim=8,len=16")["sin"][4:6]).all()
    assert made.as_type("float64").recipe.endswith("name=a+b,lead=1")
    assert table(made.recipe).recipe == made.recipe


def test_a_wrong_table_under_other_names_is_told_why():
    wrong = compare(table(CACHE), "rope:dim=8,base=500000")
    assert "base 10000 where 500000 was expected" in repr(wrong)
    values = dict(table(CACHE))
    values["m.inv_freq"] = values["m.inv_freq"] * 2
    assert "m.inv_freq: every frequency is 2 times the expected one" in repr(compare(values, CACHE))


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("rope:dim=8,len=2,name=a", BadParameter, "2 names, for cos and sin"),
        ("rope:dim=8,len=2,name=a+a", BadParameter, "two arrays one name"),
        ("sinusoidal:dim=8,len=2,name=a/b", BadParameter, "letters, digits"),
        ("sinusoidal:dim=8,len=2,lead=5", BadParameter, "from 0 to 4"),
        ("sinusoidal:dim=8,len=2,with=inv_freq", BadParameter, "is for rotary tables"),
        ("rope2d:dim=8,grid=3x3,with=inv_freq", BadParameter, "one frequency for each pair"),
        ("rope:dim=8,len=2,with=freqs", UnknownName, "inv_freq"),
    ],
)
def test_what_cannot_be_is_refused(text, error, says):
    with pytest.raises(error, match=says):
        table(text)


@pytest.mark.parametrize("names", [("freq_cis_real", "freq_cis_imag"), ("a", "b"), ("cos", "sin")])
def test_two_arrays_of_one_shape_are_cosines_and_sines_whatever_their_names(tmp_path, names):
    angles = np.arange(200)[:, None] * 500000.0 ** (-np.arange(32) / 32)
    parts = (np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))
    np.savez(tmp_path / "cache.npz", **dict(zip(names, parts, strict=True)))
    found = identify(tmp_path / "cache.npz")
    assert (found.confidence, found.notes) == ("sure", ())
    assert found.recipe == "rope:dim=64,base=500000,len=200"


def test_of_positions_beside_a_table_the_table_is_named(tmp_path):
    angles = np.arange(200)[:, None] * 10000.0 ** (-np.arange(32) / 32)
    values = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    np.savez(tmp_path / "both.npz", positions=np.arange(200), pe=values)
    found = identify(tmp_path / "both.npz")
    assert found.recipe.startswith("sinusoidal:dim=64,order=sin-cos,")
    assert found.notes == ("this describes 'pe'; not compared: 'positions'",)


def test_whole_numbers_were_not_rounded(tmp_path):
    for values in (np.arange(100), np.arange(100, dtype=np.int32)):
        np.save(tmp_path / "positions.npy", values)
        assert identify(tmp_path / "positions.npy").confidence in ("sure", "likely", "unknown")


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_square_of_one_number_that_is_none_is_unknown(tmp_path, value):
    np.save(tmp_path / "square.npy", np.full((8, 8), value))
    assert identify(tmp_path / "square.npy").recipe is None


@pytest.mark.parametrize("layout", ["complex", "concat"])
def test_other_names_of_a_table_are_said_in_whatever_arithmetic(tmp_path, layout):
    w = np.float32(1) / np.power(10000.0, np.arange(0, 40, 2) / 40).astype(np.float32)
    angles = (np.arange(100, dtype=np.float32)[:, None] * w).astype(np.float64)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    np.save(tmp_path / "cache.npy", cos + 1j * sin if layout == "complex" else np.concatenate([cos, sin], axis=1))
    found = identify(tmp_path / "cache.npy")
    assert found.arithmetic == "float32"
    assert f"rope:dim=40,len=100,layout={layout}" in (found.recipe, *found.aliases)
